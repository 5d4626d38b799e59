"""Claim (a), sections 1 and 3.1: irrelevant features cost Winnow little, and it finds a separator if one exists.

The paper says that the bound on Winnow's mistakes grows linearly with the number of relevant features and only
logarithmically with the number of all features. The Perceptron's bound may grow much faster. It also says that Winnow
is guaranteed to find a perfect separator if one exists. Its examples are Boolean disjunctions and conjunctions of k
variables and r-of-k threshold functions.

Here a learner sees a stream of examples once and its mistakes are counted, for increasing numbers of features. An
example has n ** (2/3) irrelevant ones: from 22 of 100 to 10,000 of a million. Each learner uses the step with the
fewest mistakes. With many features, the streams end while the Perceptron still makes mistakes, so its growth is
understated. Then the basic learners pass over fixed examples until a pass makes no mistake.
"""

from collections.abc import Iterator
from math import log

import numpy as np

from thresher.support.progress import Report
from thresher_reproduction.claims.claim import Claim, Plot, group_series, track_stages
from thresher_reproduction.claims.examples import (
    LEARNERS,
    Examples,
    Target,
    as_sets,
    count_online_mistakes,
    draw_examples,
    new_basic_learner,
    new_generator,
)

TARGETS = (Target("disjunction of 5", 1, 5), Target("conjunction of 3", 3, 3), Target("2 of 5", 2, 5))
SIZES, QUICK_SIZES = (10**2, 10**3, 10**4, 10**5, 10**6), (10**2, 10**3, 10**4)
N_EXAMPLES, QUICK_EXAMPLES, BATCH = 6000, 2000, 500
ACTIVE_POWER = 2 / 3
DRAWS = {10**2: 5, 10**3: 5, 10**4: 5, 10**5: 2, 10**6: 1}  # streams to average over; large ones vary little
STEPS = {"Positive Winnow": (1.1, 1.3, 2.0), "Balanced Winnow": (1.1, 1.3, 2.0), "Perceptron": (0.01, 0.1, 1.0)}
SEPARATOR_SIZE, SEPARATOR_EXAMPLES, MAX_PASSES, SEPARATOR_STEPS = 10**4, 1000, 500, (1.1, 1.1, 0.01)
# A Winnow's mistakes may grow a quarter faster than ln n, because a mean over few streams is not a bound. The
# Perceptron's must grow faster than either Winnow's.
TOLERANCE, FASTER = 1.25, 1.5

Row = dict[str, str | int | float]


def run(quick: bool = False, seed: int = 0, progress: Report | None = None) -> Claim:
    """Count mistakes for all targets and sizes, and search for separators."""
    sizes = QUICK_SIZES if quick else SIZES
    advance = track_stages("attribute_efficiency", len(TARGETS) * (len(sizes) + 1), progress)
    rows: list[Row] = []
    for number, target in enumerate(TARGETS):
        for size in sizes:
            rows += _count_mistakes(target, size, number, seed, quick)
            advance()
    separators = []
    for number, target in enumerate(TARGETS):
        separators += _find_separators(target, number, seed)
        advance()
    return _judge(rows, separators, sizes)


def _count_mistakes(target: Target, size: int, number: int, seed: int, quick: bool) -> list[Row]:
    """Return each learner's mean mistakes over the streams, with the step that makes the fewest."""
    totals = {(name, step): 0 for name in STEPS for step in STEPS[name]}
    draws, active = 1 if quick else DRAWS[size], round(size**ACTIVE_POWER)
    for stream in range(draws):
        learners = {key: new_basic_learner(*key, average_active=active) for key in totals}
        for examples in _draw_stream(target, size, new_generator(seed, number, size, stream), quick):
            for key, learner in learners.items():
                totals[key] += count_online_mistakes(learner, examples)
    rows: list[Row] = []
    for name in STEPS:
        step = min(STEPS[name], key=lambda step: totals[name, step])
        best = totals[name, step] / draws
        rows.append({"target": target.name, "learner": name, "features": size, "mistakes": best, "step": step})
    return rows


def _draw_stream(target: Target, size: int, draw: np.random.Generator, quick: bool) -> Iterator[Examples]:
    for _ in range((QUICK_EXAMPLES if quick else N_EXAMPLES) // BATCH):
        yield draw_examples(draw, target, size, round(size**ACTIVE_POWER), BATCH)


def _find_separators(target: Target, number: int, seed: int) -> list[Row]:
    """Return the number of passes that each learner needs to make no mistake on fixed examples."""
    active = round(SEPARATOR_SIZE**ACTIVE_POWER)
    examples = draw_examples(new_generator(seed, number), target, SEPARATOR_SIZE, active, SEPARATOR_EXAMPLES)
    rows: list[Row] = []
    for name, step in zip(LEARNERS, SEPARATOR_STEPS, strict=True):
        learner = new_basic_learner(name, step, max_passes=MAX_PASSES)
        learner.fit(examples.rows, as_sets(examples.labels), n_categories=1)
        wrong = int(np.count_nonzero((learner.score(examples.rows)[:, 0] > learner.theta) != examples.labels))
        passes = int(learner.n_passes_[0])
        rows.append({"target": target.name, "learner": name, "passes to a separator": passes, "still wrong": wrong})
    return rows


def _judge(rows: list[Row], separators: list[Row], sizes: tuple[int, ...]) -> Claim:
    growth = _compute_growth(rows, sizes)
    by_learner = {name: [growth[target.name, name] for target in TARGETS] for name in LEARNERS}
    winnows = by_learner["Positive Winnow"] + by_learner["Balanced Winnow"]
    logarithm = log(sizes[-1]) / log(sizes[0])
    faster = [
        growth[t.name, "Perceptron"] / max(growth[t.name, name] for name in LEARNERS if name != "Perceptron")
        for t in TARGETS
    ]
    tests = {
        f"no Winnow's mistakes grow more than {TOLERANCE} times as much as ln n": max(winnows) <= TOLERANCE * logarithm,
        f"the Perceptron's grow at least {FASTER} times as much as either Winnow's": min(faster) >= FASTER,
        f"every learner separates the examples within {MAX_PASSES} passes": not any(
            r["still wrong"] for r in separators
        ),
    }
    passes = [row["passes to a separator"] for row in separators]
    because = (
        f"From {sizes[0]:,} to {sizes[-1]:,} features ln n grows {logarithm:.1f} times, the Winnows' mistakes "
        f"{min(winnows):.1f} to {max(winnows):.1f} times and the Perceptron's {min(by_learner['Perceptron']):.1f} to "
        f"{max(by_learner['Perceptron']):.1f} times; separators took {min(passes)} to {max(passes)} passes."
    )
    lines = [row | {"line": f"{row['learner']}, {row['target']}"} for row in rows]
    series = group_series(lines, "line", "features", "mistakes")
    plot = Plot("features", "mistakes", series, log_x=True, log_y=True, cycle=len(LEARNERS))
    claim = "Winnow's mistakes grow with the logarithm of the number of features, the Perceptron's much faster."
    return Claim("attribute_efficiency", "3.1", claim, tests, because, rows + separators, plot)


def _compute_growth(rows: list[Row], sizes: tuple[int, ...]) -> dict[tuple[str, str], float]:
    """Return the ratio of the mistakes at the largest size to those at the smallest, by target and learner."""
    mistakes = {(str(r["target"]), str(r["learner"]), r["features"]): float(r["mistakes"]) for r in rows}
    return {
        (t.name, name): mistakes[t.name, name, sizes[-1]] / max(mistakes[t.name, name, sizes[0]], 1)
        for t in TARGETS
        for name in LEARNERS
    }
