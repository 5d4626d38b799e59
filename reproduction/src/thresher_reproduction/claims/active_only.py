"""Claim (i), section 3: updating only the weights of active features is far cheaper, and no worse.

The paper contrasts its Balanced Winnow with two others that allow negative features but change all weights on every
mistake (or n of 2n). One is Littlestone's Positive Winnow on duplicated features, where each absent feature makes its
twin active. The other also moves the weights of absent features, as Cohen and Singer's version does.

Both are implemented here in plain numpy: "duplicated features", and "all weights", which is Balanced Winnow on features
of +1 (present) and -1 (absent). They and the library's learner use binary strengths and one threshold. They learn the
ten largest categories from 2,000 of Reuters' training documents, with increasing numbers of words, and score 1,000
later training documents. Each uses the promotion with the best break-even there. Costs are counts of changed weights,
not seconds.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.metrics import pooled_break_even
from thresher.support.progress import Report
from thresher_reproduction.claims.claim import Claim, Plot, group_series, track_stages
from thresher_reproduction.claims.collection import Part, Split, fit_and_score, make_split, to_percent
from thresher_reproduction.claims.examples import new_basic_learner

SIZES, QUICK_SIZES = (250, 1000, 4000), (250, 1000)  # numbers of words, the most frequent ones
MAX_PASSES, QUICK_PASSES = 10, 3
ACTIVE, DUPLICATED, ALL = "active features only", "duplicated features", "all weights"
PROMOTIONS = {ACTIVE: (1.1, 1.2, 1.4), DUPLICATED: (1.01, 1.1, 1.3), ALL: (1.01, 1.1, 1.3)}
CHEAPER, TOLERANCE = 10.0, 0.5  # times fewer weights; points of break-even

Row = dict[str, Any]


class Outcome(NamedTuple):
    """The scores of the held-out documents, the number of mistakes, and the number of weights changed by them."""

    scores: NDArray[np.float32]
    mistakes: int
    changed: float


def run(quick: bool = False, seed: int = 0, progress: Report | None = None) -> Claim:
    """Train all versions at all sizes; the run is deterministic and ignores the seed."""
    sizes, passes = (QUICK_SIZES, QUICK_PASSES) if quick else (SIZES, MAX_PASSES)
    advance = track_stages("active_only", len(sizes) * len(PROMOTIONS), progress)
    rows = []
    for size in sizes:
        data = make_split("choose", True, "words", size)
        for version in PROMOTIONS:
            rows.append(_choose_promotion(version, data, passes))
            advance()
    return _judge(rows, sizes[-1])


def _choose_promotion(version: str, data: Split, passes: int) -> Row:
    """Return the row of the promotion with the best break-even."""
    rows = []
    for alpha in PROMOTIONS[version]:
        if version == ACTIVE:
            outcome = _train_active(data, alpha, passes)
        else:
            outcome = _train_dense(version, data, alpha, passes)
        point = to_percent(pooled_break_even(outcome.scores, data.held_out.truth))
        cost = round(outcome.changed / max(outcome.mistakes, 1))
        row = {"version": version, "features": data.train.rows.n_features, "alpha": alpha, "break-even": point}
        rows.append(row | {"mistakes": outcome.mistakes, "weights changed a mistake": cost})
    return max(rows, key=lambda row: float(row["break-even"]))


def _train_active(data: Split, alpha: float, passes: int) -> Outcome:
    """Train the library's Balanced Winnow; a mistake changes two weights of each active feature."""
    learner = new_basic_learner("Balanced Winnow", alpha, max_passes=passes)
    scores = fit_and_score(learner, data)
    mistakes = int(learner.mistakes_.sum())
    return Outcome(scores, mistakes, 2 * learner.average_active_ * mistakes)


def _train_dense(version: str, data: Split, alpha: float, passes: int) -> Outcome:
    """Train a version that changes a weight of every feature on a mistake."""
    train, held_out = (_represent(part, version) for part in (data.train, data.held_out))
    n_weights, signed = train.shape[1], version == ALL
    start = 2 / n_weights if version == DUPLICATED else 1 / n_weights
    positive = np.full((len(data.categories), n_weights), start)
    negative = np.full_like(positive, start if signed else 0.0)
    weights = positive - negative
    mistakes = 0
    for _ in range(passes):
        mistakes_in_pass = 0
        for features, truth in zip(train, data.train.truth, strict=True):
            wrong = np.flatnonzero((weights @ features > 1) != truth)
            for category in wrong:
                step = alpha ** (features if truth[category] else -features)
                positive[category] *= step
                negative[category] /= step
                weights[category] = positive[category] - negative[category]
            mistakes_in_pass += len(wrong)
        mistakes += mistakes_in_pass
        if mistakes_in_pass == 0:
            break
    scores = (held_out @ weights.T).astype(np.float32)
    return Outcome(scores, mistakes, float(mistakes * (2 * n_weights if signed else n_weights // 2)))


def _represent(part: Part, version: str) -> NDArray[np.float64]:
    """Return documents x features: presence and absence for duplicated features, otherwise +1 and -1."""
    present = np.zeros((len(part.truth), part.rows.n_features))
    present[np.repeat(np.arange(len(part.truth)), np.diff(part.rows.indptr)), part.rows.indices] = 1
    return np.concatenate((present, 1 - present), axis=1) if version == DUPLICATED else 2 * present - 1


def _judge(rows: list[Row], size: int) -> Claim:
    largest = {row["version"]: row for row in rows if row["features"] == size}
    active_only, others = largest[ACTIVE], [largest[DUPLICATED], largest[ALL]]
    cheaper = min(row["weights changed a mistake"] for row in others) / active_only["weights changed a mistake"]
    tests = {
        f"with {size:,} features a mistake changes at least {CHEAPER:g} times fewer weights": cheaper >= CHEAPER,
        f"the break-even is at most {TOLERANCE} points below the best of the others": (
            active_only["break-even"] >= max(row["break-even"] for row in others) - TOLERANCE
        ),
    }
    because = f"With {size:,} features: " + ", ".join(
        f"{name} {row['weights changed a mistake']:,} weights a mistake, break-even {row['break-even']:.1f}"
        for name, row in largest.items()
    )
    series = group_series(rows, "version", "features", "weights changed a mistake")
    plot = Plot("features", "weights changed a mistake", series, log_x=True, log_y=True)
    claim = "Updating active features alone is far cheaper than updating all weights, and no worse."
    return Claim("active_only", "3", claim, tests, because + ".", rows, plot)
