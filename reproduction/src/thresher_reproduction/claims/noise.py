"""Claim (b), sections 1 and 3.1: the Winnow family behaves exceptionally well in the presence of noise.

The paper cites theory for this (Littlestone 1991, Littlestone and Warmuth 1994). Here the target is a disjunction among
many irrelevant features. Labels are flipped or relevant features are lost, at increasing rates. After one pass over the
noisy examples each learner, with its best step, classifies examples without noise.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.support.progress import Report
from thresher_reproduction.claims.claim import Claim, Plot, group_series, track_stages
from thresher_reproduction.claims.examples import (
    Examples,
    Target,
    as_sets,
    draw_examples,
    new_basic_learner,
    new_generator,
)

TARGET = Target("disjunction of 5", 1, 5)
N_FEATURES, N_ACTIVE = 10**4, 464
N_EXAMPLES, N_CLEAN, DRAWS, QUICK_DRAWS = 3000, 1000, 5, 1
KINDS, RATES = ("labels flipped", "features lost"), (0.0, 0.02, 0.05, 0.1, 0.2)
STEPS = {"Positive Winnow": (1.1, 1.3, 2.0), "Balanced Winnow": (1.1, 1.3, 2.0), "Perceptron": (0.001, 0.01, 0.1)}
JUDGED_RATE = 0.1

Row = dict[str, str | float]


def run(quick: bool = False, seed: int = 0, progress: Report | None = None) -> Claim:
    """Measure errors on clean examples after learning from noisy ones."""
    draws = QUICK_DRAWS if quick else DRAWS
    advance = track_stages("noise", len(KINDS) * len(RATES), progress)
    rows: list[Row] = []
    for kind in KINDS:
        for rate in RATES:
            rows += _measure_errors(kind, rate, draws, seed)
            advance()
    return _judge(rows)


def _measure_errors(kind: str, rate: float, draws: int, seed: int) -> list[Row]:
    """Return each learner's error on clean examples with its best step, averaged over the draws."""
    wrong = {(name, step): 0.0 for name in STEPS for step in STEPS[name]}
    for number in range(draws):
        draw = new_generator(seed, number)
        clean = draw_examples(draw, TARGET, N_FEATURES, N_ACTIVE, N_CLEAN)
        noisy = _add_noise(draw_examples(draw, TARGET, N_FEATURES, N_ACTIVE, N_EXAMPLES), kind, rate, draw)
        for key in wrong:
            learner = new_basic_learner(*key, max_passes=1)
            learner.fit(noisy.rows, as_sets(noisy.labels), n_categories=1)
            wrong[key] += float(np.mean((learner.score(clean.rows)[:, 0] > learner.theta) != clean.labels)) / draws
    rows: list[Row] = []
    for name in STEPS:
        step = min(STEPS[name], key=lambda step: wrong[name, step])
        error = round(wrong[name, step], 4)
        rows.append({"noise": kind, "rate": rate, "learner": name, "error without noise": error, "step": step})
    return rows


def _add_noise(examples: Examples, kind: str, rate: float, draw: np.random.Generator) -> Examples:
    """Flip labels, or drop occurrences of the relevant features, each with probability `rate`."""
    if kind == "labels flipped":
        return examples._replace(labels=examples.labels ^ (draw.random(len(examples.labels)) < rate))
    rows = examples.rows
    remaining: NDArray[np.bool_] = (rows.indices >= TARGET.relevant) | (draw.random(len(rows.indices)) >= rate)
    before = np.append(0, np.cumsum(remaining))
    return examples._replace(
        rows=rows._replace(indptr=before[rows.indptr], indices=rows.indices[remaining], data=rows.data[remaining])
    )


def _judge(rows: list[Row]) -> Claim:
    errors = {(r["noise"], r["rate"], r["learner"]): float(r["error without noise"]) for r in rows}
    winnow = {
        (kind, rate): max(errors[kind, rate, name] for name in list(STEPS)[:2]) for kind in KINDS for rate in RATES
    }
    tests = {
        "both Winnows err less than the Perceptron, whatever the noise": all(
            winnow[kind, rate] < errors[kind, rate, "Perceptron"] for kind in KINDS for rate in RATES
        )
    }
    for kind in KINDS:
        tests[f"with {JUDGED_RATE:.0%} of {kind}, both Winnows err in less than that part without noise"] = (
            winnow[kind, JUDGED_RATE] < JUDGED_RATE
        )
    flipped, lost = (", ".join(f"{name} {errors[kind, JUDGED_RATE, name]:.1%}" for name in STEPS) for kind in KINDS)
    because = (
        f"With {JUDGED_RATE:.0%} of labels flipped the errors without noise are {flipped}; with as many relevant "
        f"features lost, {lost}."
    )
    lines = [row | {"line": f"{row['learner']}, {row['noise']}"} for row in rows]
    series = group_series(lines, "line", "rate", "error without noise")
    plot = Plot("rate of noise", "error without noise", series, cycle=len(STEPS))
    claim = "Winnow behaves exceptionally well in the presence of noise."
    return Claim("noise", "3.1", claim, tests, because, rows, plot)
