"""Claim (k), section 3.1: multiplicative updates suit sparse targets, additive ones sparse instances.

The paper refers to Kivinen and Warmuth (1995). Multiplicative algorithms have the advantage where there are many
features and the target's weights are mostly zero. Additive ones have it where the instances are sparse (and the target
is not). Their bounds grow with k * k * ln n and with k * m, for k relevant features of n and m active ones.

Here half of the relevant features vote for the label and half against it. An example's label is the majority of the
active ones. Instances and targets range from sparse to dense. Balanced Winnow and the Perceptron see each stream once,
each with the step that makes the fewest mistakes.
"""

from math import log

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.support.progress import Report
from thresher_reproduction.claims.claim import Claim, Plot, group_series, track_stages
from thresher_reproduction.claims.examples import Examples, count_online_mistakes, new_basic_learner, new_generator

N_FEATURES, N_EXAMPLES, QUICK_EXAMPLES = 400, 4000, 1000
ACTIVE, RELEVANT = (4, 20, 200), (4, 20, 100, 400)
DRAWS, QUICK_DRAWS, BATCH = 5, 1, 2000
STEPS = {"Balanced Winnow": (1.1, 1.2, 1.5, 2.0, 4.0), "Perceptron": (0.01, 0.03, 0.1, 0.3)}
SPARSE = 20  # maximum number of active features of a sparse instance

Row = dict[str, str | int | float]


def run(quick: bool = False, seed: int = 0, progress: Report | None = None) -> Claim:
    """Count the mistakes of both learners for all densities."""
    advance = track_stages("additive_multiplicative", len(ACTIVE) * len(RELEVANT), progress)
    rows: list[Row] = []
    for active in ACTIVE:
        for relevant in RELEVANT:
            rows.append(_count_mistakes(active, relevant, seed, quick))
            advance()
    return _judge(rows)


def _count_mistakes(active: int, relevant: int, seed: int, quick: bool) -> Row:
    """Return each learner's mean mistakes with its best step, and their ratio."""
    totals = {(name, step): 0 for name in STEPS for step in STEPS[name]}
    draws = QUICK_DRAWS if quick else DRAWS
    for number in range(draws):
        examples = _draw_majorities(new_generator(seed, active, relevant, number), active, relevant, quick)
        for key in totals:
            totals[key] += count_online_mistakes(new_basic_learner(*key), examples)
    winnow, perceptron = (min(totals[name, step] for step in STEPS[name]) / draws for name in STEPS)
    return {
        "active": active,
        "relevant": relevant,
        "Balanced Winnow": winnow,
        "Perceptron": perceptron,
        "additive / multiplicative": round(perceptron / winnow, 3),
        "the same of the bounds": round(active / (relevant * log(N_FEATURES)), 3),
    }


def _draw_majorities(draw: np.random.Generator, active: int, relevant: int, quick: bool) -> Examples:
    """Draw instances with about `active` active features until enough have a majority among the relevant ones."""
    votes = np.zeros(N_FEATURES, dtype=np.int64)
    votes[:relevant] = np.where(np.arange(relevant) % 2, 1, -1)
    count = QUICK_EXAMPLES if quick else N_EXAMPLES
    instances, n_drawn = [], 0
    while n_drawn < count:
        drawn = draw.random((BATCH, N_FEATURES), dtype=np.float32) < active / N_FEATURES
        drawn = drawn[drawn @ votes != 0]
        instances.append(drawn)
        n_drawn += len(drawn)
    chosen: NDArray[np.bool_] = np.concatenate(instances)[:count]
    indptr = np.append(0, np.cumsum(np.count_nonzero(chosen, axis=1)))
    indices = np.nonzero(chosen)[1].astype(np.int32)
    return Examples(Rows(indptr, indices, np.ones(len(indices), dtype=np.float32), N_FEATURES), chosen @ votes > 0)


def _judge(rows: list[Row]) -> Claim:
    ratio = {(row["active"], row["relevant"]): float(row["additive / multiplicative"]) for row in rows}
    sparse_target = [ratio[active, RELEVANT[0]] for active in ACTIVE]
    dense_target = [ratio[active, RELEVANT[-1]] for active in ACTIVE if active <= SPARSE]
    tests = {
        f"with {RELEVANT[0]} relevant features the multiplicative rule makes fewer mistakes": min(sparse_target) > 1,
        f"with all relevant and at most {SPARSE} active, the additive rule does": max(dense_target) < 1,
    }
    because = (
        f"The Perceptron makes {min(sparse_target):.2f} to {max(sparse_target):.2f} times Balanced Winnow's mistakes "
        f"with {RELEVANT[0]} of {N_FEATURES} features relevant, and {min(dense_target):.2f} to {max(dense_target):.2f} "
        f"times with all relevant and sparse instances ({ratio[ACTIVE[-1], RELEVANT[-1]]:.2f} with dense ones)."
    )
    lines = [row | {"line": f"{row['active']} active features"} for row in rows]
    series = group_series(lines, "line", "relevant", "additive / multiplicative")
    plot = Plot("relevant features", "Perceptron's mistakes / Balanced Winnow's", series, log_x=True, log_y=True)
    claim = (
        "The additive rule wins where instances are sparse and targets dense, the multiplicative one on sparse targets."
    )
    return Claim("additive_multiplicative", "3.1", claim, tests, because, rows, plot)
