"""Claim (c), sections 1, 3.1 and 6: the Winnow family follows a target function that changes over time.

The paper cites theory (Herbster and Warmuth 1995) and concludes that the family adapts to new trends. Here the target
is a disjunction. After every thousand examples another one, on other features, replaces it, and the learners are not
notified. A learner that tracks the target makes about as many mistakes after each change as at the start.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.support.progress import Report
from thresher_reproduction.claims.claim import Claim, Plot, Series, track_stages
from thresher_reproduction.claims.examples import (
    Target,
    count_online_mistakes,
    draw_examples,
    new_basic_learner,
    new_generator,
)

TARGET = Target("disjunction of 5", 1, 5)
N_FEATURES, N_ACTIVE = 1000, 100
N_PHASES, PHASE, BATCH = 8, 1000, 100
DRAWS, QUICK_DRAWS = 5, 1
STEPS = {"Positive Winnow": (1.1, 1.3, 2.0), "Balanced Winnow": (1.1, 1.3, 2.0), "Perceptron": (0.001, 0.01, 0.1)}
END_BATCHES = 2  # batches that count as the end of a phase
MAX_RATIO, MAX_END_ERROR = 1.5, 0.05  # largest ratio of later to first mistakes; largest error at the end of a phase

Row = dict[str, str | float]


def run(quick: bool = False, seed: int = 0, progress: Report | None = None) -> Claim:
    """Count each learner's mistakes in batches of a stream whose target changes."""
    draws = QUICK_DRAWS if quick else DRAWS
    advance = track_stages("tracking", draws, progress)
    counts = {(name, step): np.zeros((N_PHASES, PHASE // BATCH)) for name in STEPS for step in STEPS[name]}
    for number in range(draws):
        draw = new_generator(seed, number)
        learners = {key: new_basic_learner(*key, average_active=N_ACTIVE) for key in counts}
        for phase, batch in np.ndindex(N_PHASES, PHASE // BATCH):
            examples = draw_examples(draw, TARGET, N_FEATURES, N_ACTIVE, BATCH, first=phase * TARGET.relevant)
            for key, learner in learners.items():
                counts[key][phase, batch] += count_online_mistakes(learner, examples) / draws
        advance()
    best = {}
    for name, steps in STEPS.items():
        totals = [counts[name, step].sum() for step in steps]
        best[name] = steps[int(np.argmin(totals))]
    return _judge({name: counts[name, step] for name, step in best.items()}, best)


def _judge(counts: dict[str, NDArray[np.float64]], steps: dict[str, float]) -> Claim:
    rows: list[Row] = []
    for name, mistakes in counts.items():
        phases = {f"phase {number}": round(float(sum_), 1) for number, sum_ in enumerate(mistakes.sum(axis=1), 1)}
        rows.append(
            {
                "learner": name,
                "step": steps[name],
                **phases,
                "error at the ends": round(_compute_end_error(mistakes), 4),
            }
        )
    ratios = {name: float(mistakes[1:].sum(axis=1).mean() / mistakes[0].sum()) for name, mistakes in counts.items()}
    totals = {name: float(mistakes.sum()) for name, mistakes in counts.items()}
    winnows = list(counts)[:2]
    ends = {name: _compute_end_error(mistakes) for name, mistakes in counts.items()}
    tests = {
        f"both Winnows make at most {MAX_RATIO} times as many mistakes after a change as at the start": all(
            ratios[name] <= MAX_RATIO for name in winnows
        ),
        f"at the end of every phase both err in at most {MAX_END_ERROR:.0%}": all(
            ends[name] <= MAX_END_ERROR for name in winnows
        ),
        "both make fewer mistakes than the Perceptron": all(totals[n] < totals["Perceptron"] for n in winnows),
    }
    figures = ", ".join(
        f"{name} {mistakes[0].sum():.0f} and then {mistakes[1:].sum(axis=1).mean():.0f}"
        for name, mistakes in counts.items()
    )
    because = f"Mistakes in the first {PHASE:,} examples, and in each {PHASE:,} after a change: {figures}."
    along = [float(BATCH * (number + 1)) for number in range(N_PHASES * PHASE // BATCH)]
    series = [Series(name, along, [float(n) for n in np.cumsum(mistakes)]) for name, mistakes in counts.items()]
    claim = "Winnow follows a target function that changes in time."
    return Claim("tracking", "3.1, 6", claim, tests, because, rows, Plot("examples", "mistakes so far", series))


def _compute_end_error(mistakes: NDArray[np.float64]) -> float:
    """Return the highest error over the last examples of any phase."""
    return float(mistakes[:, -END_BATCHES:].sum(axis=1).max()) / (END_BATCHES * BATCH)
