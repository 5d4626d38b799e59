"""Claim (j), sections 2.2 and 3.1: updating only on mistakes is better than updating after every example.

The paper calls being mistake-driven a second important property of Winnow. It makes the algorithm sensitive to the
relations among features, which an algorithm that counts each feature separately cannot see. The paper contrasts this
with Lewis et al. (1996), whose algorithms update after every example.

Two such algorithms are implemented here in plain numpy. "Every example, same step" promotes Balanced Winnow's weights
after every positive document and demotes them after every negative one. The demotion is smaller by the ratio of
positives to negatives. The steps do not depend on the score, so a weight follows from two counts of its feature. "Every
example, step by error" is the exponentiated gradient with two weights per feature. Its step is proportional to the
error, with target scores of 0 and 2.

They are compared with the library's Balanced Winnow, with one threshold and with the threshold range from 0 to 2, which
has the same targets. All use binary strengths and no discarding. Break-even points are computed for each category
separately and averaged by positives, so scores need not be comparable between categories. Each algorithm uses the step
with the best break-even on the last third of Reuters' training documents. It then learns from all of them and scores
the test documents once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.learners import BalancedWinnow
from thresher.metrics import micro_break_even
from thresher.support.progress import Report
from thresher_reproduction.claims.claim import Claim, Plot, Series, track_stages
from thresher_reproduction.claims.collection import Split, fit_and_score, load_split, to_percent
from thresher_reproduction.claims.examples import BASIC

MISTAKES, IN_RANGE = "mistakes alone", "mistakes, range 0 to 2"
SAME_STEP, BY_ERROR = "every example, same step", "every example, step by error"
STEPS = {
    MISTAKES: (1.05, 1.1, 1.2, 1.3, 1.5),
    IN_RANGE: (1.02, 1.05, 1.1, 1.2),
    SAME_STEP: (1.1, 1.3, 2.0, 4.0, 8.0),
    BY_ERROR: (0.01, 0.03, 0.1, 0.3),
}
MAX_PASSES, QUICK_PASSES = 5, 2  # of the exponentiated gradient; Balanced Winnow keeps its 50
MAX_EXPONENT = 60.0
AIMS = (0.0, 2.0)

Floats = NDArray[np.float64]
Row = dict[str, Any]


def run(quick: bool = False, seed: int = 0, progress: Report | None = None) -> Claim:
    """Train the four algorithms; the run is deterministic and ignores the seed."""
    advance = track_stages("mistake_driven", sum(map(len, STEPS.values())) + len(STEPS), progress)
    passes = QUICK_PASSES if quick else MAX_PASSES
    rows: list[Row] = []
    reported: dict[str, float] = {}
    for name, scores in _list_algorithms(passes).items():
        tried = []
        for step in STEPS[name]:
            tried.append(_measure_break_even(scores, step, load_split("choose", quick)))
            rows.append({"updates after": name, "step": step, "break-even, chosen on": to_percent(tried[-1])})
            advance()
        best = STEPS[name][int(np.argmax(tried))]
        reported[name] = _measure_break_even(scores, best, load_split("report", quick))
        rows.append({"updates after": name, "step": best, "break-even, test": to_percent(reported[name])})
        advance()
    return _judge(rows, reported)


Algorithm = Callable[[float, Split], NDArray[Any]]


def _list_algorithms(passes: int) -> dict[str, Algorithm]:
    return {
        MISTAKES: _learn_on_mistakes,
        IN_RANGE: lambda step, data: _learn_on_mistakes(step, data, AIMS),
        SAME_STEP: _learn_after_every_example,
        BY_ERROR: lambda step, data: _learn_exponentiated_gradient(step, data, passes),
    }


def _measure_break_even(algorithm: Algorithm, step: float, data: Split) -> float:
    return micro_break_even(algorithm(step, data), data.held_out.truth)


def _learn_on_mistakes(alpha: float, data: Split, threshold_range: tuple[float, float] | None = None) -> NDArray[Any]:
    settings = BASIC | {"alpha": alpha, "beta": round(2 - alpha, 4), "threshold_range": threshold_range}
    settings |= {"n_threads": None}
    return fit_and_score(BalancedWinnow(**settings), data)


def _learn_after_every_example(alpha: float, data: Split) -> NDArray[Any]:
    """Return the scores after one pass that promotes on every positive and demotes on every negative."""
    train = data.train
    owners = np.repeat(np.arange(len(train.truth)), np.diff(train.rows.indptr))
    n_features = train.rows.n_features
    positives = np.stack(
        [np.bincount(train.rows.indices[column[owners]], minlength=n_features) for column in train.truth.T], axis=1
    )
    negatives = np.bincount(train.rows.indices, minlength=n_features)[:, np.newaxis] - positives
    sizes = train.truth.sum(axis=0)
    balanced = positives - negatives * (sizes / np.maximum(len(train.truth) - sizes, 1))
    exponents = np.clip(balanced * np.log(alpha), -MAX_EXPONENT, MAX_EXPONENT)
    base = 1 / (len(train.rows.indices) / len(train.truth))
    return _compute_scores(data.held_out.rows, base * (2 * np.exp(exponents) - np.exp(-exponents)))


def _learn_exponentiated_gradient(rate: float, data: Split, passes: int) -> NDArray[Any]:
    """Return the scores after `passes` in which every document moves the weights by its error."""
    rows, truth = data.train.rows, data.train.truth
    base = 1 / (len(rows.indices) / len(truth))
    exponents = np.zeros((rows.n_features, truth.shape[1]))
    for _ in range(passes):
        for number, (start, stop) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
            active = rows.indices[start:stop]
            row_exponents = exponents[active]
            score = (base * (2 * np.exp(row_exponents) - np.exp(-row_exponents))).sum(axis=0)
            # Clip the error at the distance between the two aims; otherwise scores far off would overshoot.
            error = np.clip(np.where(truth[number], AIMS[1], AIMS[0]) - score, -AIMS[1], AIMS[1])
            exponents[active] = np.clip(row_exponents + rate * error, -MAX_EXPONENT, MAX_EXPONENT)
    return _compute_scores(data.held_out.rows, base * (2 * np.exp(exponents) - np.exp(-exponents)))


def _compute_scores(rows: Rows, weights: Floats) -> NDArray[Any]:
    bounds = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    return np.stack([weights[rows.indices[start:stop]].sum(axis=0) for start, stop in bounds])


def _judge(rows: list[Row], reported: dict[str, float]) -> Claim:
    pairs = ((MISTAKES, SAME_STEP), (MISTAKES, BY_ERROR), (IN_RANGE, BY_ERROR))
    tests = {f"{one}: better than {other}": reported[one] > reported[other] for one, other in pairs}
    figures = "; ".join(f"{name}: {to_percent(break_even):.1f}" for name, break_even in reported.items())
    because = f"Break-even on the test documents by what is updated after: {figures}."
    claim = "Updating on mistakes alone is better than updating after every example."
    tried = [row for row in rows if "break-even, chosen on" in row]
    series = [Series(n, list(map(float, range(1, len(s) + 1))), _get_column(tried, n)) for n, s in STEPS.items()]
    plot = Plot("step tried, the smallest first", "break-even, per cent", series)
    return Claim("mistake_driven", "2.2, 3.1", claim, tests, because, rows, plot)


def _get_column(rows: list[Row], name: str) -> list[float]:
    return [float(row["break-even, chosen on"]) for row in rows if row["updates after"] == name]
