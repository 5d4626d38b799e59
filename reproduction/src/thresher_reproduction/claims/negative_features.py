"""Claim (e), section 4.1: features that truly speak against a category are rare.

The paper says that negative weights could capture features whose presence indicates that a document is not in the
category, but that this rarely occurs in text. The main use of negative weights is to tolerate length.

Here Balanced Winnow without discarding learns from the first two thirds of Reuters' training documents. A feature is
truly negative for a category if its weight is negative and significantly fewer of its documents are in the category
than expected by chance. That requires a hypergeometric z below Z_LIMIT and at least MIN_EXPECTED expected documents.
Then the weights of these features, or all other negative weights, are set to zero, and the last third is scored.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.learners import BalancedWinnow
from thresher.metrics import pooled_break_even
from thresher.support.progress import Report
from thresher_reproduction.claims.claim import Claim, Plot, Series, track_stages
from thresher_reproduction.claims.collection import Part, Split, load_split, micro_f1, to_percent

Z_LIMIT, MIN_EXPECTED = -2.58, 5.0
LARGEST = 10  # largest categories to report in addition to all of them
RARE = 0.05  # the share of all features that still counts as rare

Truth = NDArray[np.bool_]


class Signs(NamedTuple):
    """Categories x features: weights, whether they are negative, whether the counts speak against, and testability."""

    weight: NDArray[np.float32]
    negative: Truth
    against: Truth
    testable: Truth


def run(quick: bool = False, seed: int = 0, progress: Report | None = None) -> Claim:
    """Count truly negative features; the run is deterministic and ignores the seed."""
    advance = track_stages("negative_features", 2, progress)
    data = load_split("choose", quick)
    learner = BalancedWinnow(discard=False)
    learner.fit(data.train.rows, data.train.labels, n_categories=len(data.categories))
    signs = _compute_signs(learner.weights_, data.train)
    advance()
    rows = [_count_signs(signs, number, data) for number in range(min(LARGEST, len(data.categories)))]
    without = _score_without(signs, learner, data)
    advance()
    return _judge(rows, signs, without)


def _compute_signs(weight: NDArray[np.float32], train: Part) -> Signs:
    """Compare how often features and categories co-occur with what chance would give."""
    n_documents, n_features = len(train.truth), train.rows.n_features
    owners = np.repeat(np.arange(n_documents), np.diff(train.rows.indptr))
    met = np.stack([np.bincount(train.rows.indices[column[owners]], minlength=n_features) for column in train.truth.T])
    documents = np.bincount(train.rows.indices, minlength=n_features)
    share = train.truth.mean(axis=0)[:, np.newaxis]
    expected = documents * share
    variance = expected * (1 - share) * (n_documents - documents) / (n_documents - 1)
    against = (met - expected) < Z_LIMIT * np.sqrt(np.maximum(variance, 0))
    testable = expected >= MIN_EXPECTED
    return Signs(weight, weight < 0, against & testable, testable)


def _count_signs(signs: Signs, category: int, data: Split) -> dict[str, Any]:
    """Return the row of one category, in percentages of all features."""
    parts = {
        "negative weight": signs.negative,
        "often enough to tell": signs.testable,
        "counts speak against": signs.against,
        "truly negative": signs.negative & signs.against,
    }
    return {"category": data.categories[category]} | {
        k: to_percent(float(v[category].mean())) for k, v in parts.items()
    }


def _score_without(signs: Signs, learner: BalancedWinnow, data: Split) -> dict[str, tuple[float, float]]:
    """Return break-even and F1 on the held-out documents with some of the negative weights set to zero."""
    truly = signs.negative & signs.against
    left_out = {"nothing": np.zeros_like(truly), "truly negative": truly, "other negative": signs.negative & ~truly}
    rows = learner.strengths(data.held_out.rows)
    measures = {}
    for name, dropped in left_out.items():
        weight = np.where(dropped, np.float32(0), signs.weight).T
        scores = np.stack([
            rows.data[start:stop] @ weight[rows.indices[start:stop]]
            for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        ])  # fmt: skip
        truth = data.held_out.truth
        measures[name] = pooled_break_even(scores, truth), micro_f1(scores, truth)
    return measures


def _judge(rows: list[dict[str, Any]], signs: Signs, without: dict[str, tuple[float, float]]) -> Claim:
    truly = signs.negative & signs.against
    overall, largest = float(truly.mean()), float(truly[:LARGEST].mean())
    share_of_testable = float(truly.sum() / max(np.count_nonzero(signs.testable), 1))
    loss = {name: without["nothing"][1] - measures[1] for name, measures in without.items()}
    tests = {
        f"of all features, at most {RARE:.0%} are truly negative for a category": overall <= RARE,
        f"so also for the {LARGEST} largest categories": largest <= RARE,
        "so also of those frequent enough to tell": share_of_testable <= RARE,
        "without the truly negative weights F1 falls less than without the other negative ones": (
            loss["truly negative"] < loss["other negative"]
        ),
    }
    because = (
        f"Truly negative are {overall:.2%} of the features, {largest:.1%} for the {LARGEST} largest categories and "
        f"{share_of_testable:.0%} of those frequent enough to tell; without their weights F1 falls by "
        f"{to_percent(loss['truly negative']):.1f} points, without the other negative ones by "
        f"{to_percent(loss['other negative']):.1f}."
    )
    table = rows + [
        {"left out": name, "break-even": to_percent(measures[0]), "F1": to_percent(measures[1])}
        for name, measures in without.items()
    ]
    claim = "Features that truly speak against a category are rare in text."
    return Claim("negative_features", "4.1", claim, tests, because, table, _plot_shares(rows))


def _plot_shares(rows: list[dict[str, Any]]) -> Plot:
    ranks = [float(number) for number in range(1, len(rows) + 1)]
    names = ("negative weight", "often enough to tell", "counts speak against", "truly negative")
    series = [Series(name, ranks, [row[name] for row in rows]) for name in names]
    return Plot("category, the largest first", "per cent of all features", series)
