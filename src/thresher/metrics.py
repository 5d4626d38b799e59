"""How good decisions and rankings are: counts, precision, recall, F1, break-even, curves; `evaluation` calls it.

Arrays are documents x categories: `truth` and `accepted` hold bool, `scores` the reported scores, the higher the surer.
Where equal scores leave an order open, break-even and the measures of rankings take the mean over the orders, so that
none hangs on chance; curve and average precision have one point for each distinct score. A precision of nothing
accepted and a recall of no positives are 0, as in scikit-learn; a break-even, an average precision or a mean over
nothing is NaN.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.errors import ParameterError, RowsError
from thresher.kernels.elementary import logarithm

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Truth = NDArray[np.bool_]


class Rates(NamedTuple):
    """`precision`, `recall` and `f1`, their harmonic mean, from 0 to 1."""

    precision: float
    recall: float
    f1: float


class Counts:
    """The paper's four counts by category (section 2): decisions right and wrong, on positives and on negatives.

    Parameters
    ----------
    n_categories : int

    Notes
    -----
    In the paper's words true positives are p1, false negatives p2, true negatives n1 and false positives n2.

    Examples
    --------
    >>> counts = Counts(2).update([[True, False], [True, True]], [[True, False], [False, True]])
    >>> counts.true_positives, counts.recall()
    (array([1, 1]), array([0.5, 1. ]))
    >>> counts.micro().precision
    1.0
    """

    def __init__(self, n_categories: int) -> None:
        self.n_documents = 0
        self.true_positives: Ints = np.zeros(n_categories, dtype=np.int64)
        self.false_positives: Ints = np.zeros(n_categories, dtype=np.int64)
        self.false_negatives: Ints = np.zeros(n_categories, dtype=np.int64)

    def update(self, truth: ArrayLike, accepted: ArrayLike) -> Self:
        """Count the decisions on some more documents: `truth` and `accepted` are arrays (documents, categories)."""
        true, chosen = as_decisions(truth, accepted)
        if true.shape[1] != len(self.true_positives):
            raise RowsError(f"truth has the shape {true.shape}, and {len(self.true_positives)} categories are counted")
        self.n_documents += len(true)
        self.true_positives += np.count_nonzero(true & chosen, axis=0)
        self.false_positives += np.count_nonzero(chosen & ~true, axis=0)
        self.false_negatives += np.count_nonzero(true & ~chosen, axis=0)
        return self

    @property
    def true_negatives(self) -> Ints:
        """How many negatives were rejected, by category."""
        return self.n_documents - self.true_positives - self.false_positives - self.false_negatives

    @property
    def positives(self) -> Ints:
        """How many documents have the category, by category."""
        return self.true_positives + self.false_negatives

    @property
    def accepted(self) -> Ints:
        """How many documents were accepted, by category."""
        return self.true_positives + self.false_positives

    def precision(self) -> Floats:
        """Return by category which part of the accepted is right; 0 where nothing was accepted."""
        return share(self.true_positives, self.accepted)

    def recall(self) -> Floats:
        """Return by category which part of the positives was accepted; 0 where there are none."""
        return share(self.true_positives, self.positives)

    def f1(self) -> Floats:
        """Return by category the harmonic mean of precision and recall; 0 where both are."""
        return f1_of(self.true_positives, self.false_positives, self.false_negatives)

    def micro(self) -> Rates:
        """Return the rates of all decisions together."""
        counts = (self.true_positives, self.false_positives, self.false_negatives)
        right, wrong, missed = (int(count.sum()) for count in counts)
        rates = share(right, right + wrong), share(right, right + missed), f1_of(right, wrong, missed)
        return Rates(*map(float, rates))

    def macro(self) -> Rates:
        """Return the plain means over the categories that have a positive; NaN where none has."""
        real = self.positives > 0
        return Rates(*(_mean(rate[real]) for rate in (self.precision(), self.recall(), self.f1())))


def share(part: ArrayLike, whole: ArrayLike) -> Floats:
    """Return part / whole, and 0 where the whole is 0.

    >>> share([1, 0], [4, 0])
    array([0.25, 0.  ])
    """
    return np.asarray(part, dtype=np.float64) / np.maximum(whole, 1)


def f1_of(right: Any, wrong: Any, missed: Any) -> Floats:
    """Return F1 from how many were accepted rightly, accepted wrongly, and missed, as numbers or arrays of one shape.

    >>> f1_of(np.array([2, 0]), np.array([1, 0]), np.array([0, 0]))
    array([0.8, 0. ])
    """
    return share(2 * right, 2 * right + wrong + missed)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


# -- break-even --------------------------------------------------------------------------------------------------------


def break_even(scores: ArrayLike, truth: ArrayLike) -> float:
    """Return the precision, and recall, of accepting as many documents as there are positives; NaN if there are none.

    `scores` and `truth` are arrays (documents,).

    A tie that spans the cut is shared out: if k1 documents score above it with h1 positives among them, and k2 and h2
    count those in the tie as well, P accepted documents hold h1 + (P - k1) / (k2 - k1) x (h2 - h1) of the P positives.

    >>> break_even([3.0, 2.0, 1.0, 0.0], [True, False, True, False])
    0.5
    >>> break_even([3.0, 1.0, 1.0, 1.0], [True, False, True, False]) == (1 + 1 / 3) / 2
    True
    """
    ranked, true = as_ranking(scores, truth, 1)
    return float(_break_evens(ranked[np.newaxis], true[np.newaxis])[0])


def break_evens(scores: ArrayLike, truth: ArrayLike) -> Floats:
    """Return the break-even of each category; NaN for those without a positive.

    `scores` and `truth` are arrays (documents, categories).
    """
    ranked, true = as_ranking(scores, truth)
    return _break_evens(np.ascontiguousarray(ranked.T), np.ascontiguousarray(true.T))


def pooled_break_even(scores: ArrayLike, truth: ArrayLike) -> float:
    """Return the break-even of all pairs of document and category, ranked together.

    `scores` and `truth` are arrays (documents, categories).
    """
    ranked, true = as_ranking(scores, truth)
    return break_even(ranked.ravel(), true.ravel())


def micro_break_even(scores: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean of the categories' break-even points, weighted by their positives; NaN if there are none.

    `scores` and `truth` are arrays (documents, categories).
    """
    points, positives = break_evens(scores, truth), np.count_nonzero(truth, axis=0)
    real = positives > 0
    return float((points[real] * positives[real]).sum() / positives.sum()) if real.any() else float("nan")


def macro_break_even(scores: ArrayLike, truth: ArrayLike) -> float:
    """Return the plain mean of the break-even points of the categories that have a positive; NaN if none has.

    `scores` and `truth` are arrays (documents, categories).
    """
    points = break_evens(scores, truth)
    return _mean(points[~np.isnan(points)])


def _break_evens(scores: Floats, truth: Truth) -> Floats:
    """Return the break-even of each row."""
    positives, found = np.count_nonzero(truth, axis=1), np.full(len(scores), np.nan)
    real = np.flatnonzero(positives)
    found[real] = _hits(scores[real], truth[real], positives[real]) / positives[real]
    return found


def _hits(scores: Floats, truth: Truth, sizes: Ints) -> Floats:
    """Return how many positives each row has among its best, so many from 1; a tie at the cut is shared out."""
    cuts = np.take_along_axis(np.sort(scores, axis=1), (scores.shape[1] - sizes)[:, np.newaxis], axis=1)
    above, tied = scores > cuts, scores == cuts
    missing = sizes - np.count_nonzero(above, axis=1)
    in_tie = missing * np.count_nonzero(truth & tied, axis=1) / np.count_nonzero(tied, axis=1)
    return np.asarray(np.count_nonzero(truth & above, axis=1) + in_tie, dtype=np.float64)


# -- curves ------------------------------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """`precision` and `recall` of accepting the scores that reach one of the `thresholds`.

    These are the scores seen, the highest first.
    """

    precision: Floats
    recall: Floats
    thresholds: Floats


def precision_recall_curve(scores: ArrayLike, truth: ArrayLike) -> Curve:
    """Return how precision and recall change as the threshold falls through the `scores` of one category.

    `truth` tells which documents have it.

    >>> precision_recall_curve([2.0, 1.0, 1.0], [True, False, True])
    Curve(precision=array([1.        , 0.66666667]), recall=array([0.5, 1. ]), thresholds=array([2., 1.]))
    """
    ranked, true = as_ranking(scores, truth, 1)
    order = np.argsort(-ranked, kind="stable")
    values = ranked[order]
    last_of_equals = np.flatnonzero(np.append(values[1:] < values[:-1], True)) if len(values) else order
    hits = np.cumsum(true[order])[last_of_equals]
    return Curve(hits / (last_of_equals + 1), share(hits, np.count_nonzero(true)), values[last_of_equals])


def average_precision(scores: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean of the precisions at the thresholds, each weighted by its gain in recall; NaN if no positives.

    `scores` and `truth` are arrays (documents,).
    """
    precision, recall, _ = precision_recall_curve(scores, truth)
    return float((precision * np.diff(recall, prepend=0.0)).sum()) if recall.any() else float("nan")


# -- the categories of each document, ranked ---------------------------------------------------------------------------


def precision_at(scores: ArrayLike, truth: ArrayLike, k: int) -> float:
    """Return which part of a document's `k` best categories is right; the mean over documents that have categories.

    `scores` and `truth` are arrays (documents, categories).
    """
    check_whole("k", k)
    ranked, true = _labelled(scores, truth)
    sizes = np.full(len(ranked), min(k, ranked.shape[1]))
    return _mean(_hits(ranked, true, sizes) / k)


def r_precision(scores: ArrayLike, truth: ArrayLike) -> float:
    """Return the precision at as many categories as a document has; the mean over documents that have categories.

    `scores` and `truth` are arrays (documents, categories).
    """
    return _mean(_break_evens(*_labelled(scores, truth)))


def ndcg(scores: ArrayLike, truth: ArrayLike, k: int | None = None) -> float:
    """Return the normalised discounted cumulative gain of a document's `k` best categories; None: of all.

    `scores` and `truth` are arrays (documents, categories).

    The category at rank r gains 1 / log2(r + 1) if it is right; the sum is divided by the greatest possible. It is the
    mean over documents that have categories.
    """
    ranked, true = _labelled(scores, truth)
    discounts = logarithm(2) / logarithm(np.arange(2, ranked.shape[1] + 2))
    if k is not None:
        check_whole("k", k)
        discounts[k:] = 0
    order = np.argsort(-ranked, axis=1, kind="stable")
    gains = _shared_in_ties(discounts, np.take_along_axis(ranked, order, axis=1))
    found = np.sum(gains, axis=1, where=np.take_along_axis(true, order, axis=1))
    return _mean(found / np.append(0, np.cumsum(discounts))[np.count_nonzero(true, axis=1)])


def _shared_in_ties(values: Floats, ranked: Floats) -> Floats:
    """Return the values by rank for each row, those of a tie replaced by their mean."""
    new = np.ones(ranked.shape, dtype=np.bool_)
    new[:, 1:] = ranked[:, 1:] < ranked[:, :-1]
    ties = np.cumsum(new.ravel()) - 1
    means = np.bincount(ties, weights=np.broadcast_to(values, ranked.shape).ravel()) / np.bincount(ties)
    return np.asarray(means[ties].reshape(ranked.shape), dtype=np.float64)


def _labelled(scores: ArrayLike, truth: ArrayLike) -> tuple[Floats, Truth]:
    """Return the documents that have a category."""
    ranked, true = as_ranking(scores, truth)
    some = true.any(axis=1)
    return ranked[some], true[some]


# -- arguments at the door ---------------------------------------------------------------------------------------------


def as_truth(values: ArrayLike, name: str) -> Truth:
    """Return an array of bool, from bool or from 0 and 1."""
    array = np.asarray(values)
    if array.dtype != np.bool_ and not (array.size == 0 or (array.dtype.kind in "iu" and np.isin(array, (0, 1)).all())):
        raise RowsError(f"{name} must hold True and False alone, not {array.dtype} (compare with a threshold first)")
    return array.astype(np.bool_, copy=False)


def as_scores(values: ArrayLike) -> Floats:
    """Return an array of float64 without NaN."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise RowsError(f"scores must be numbers: {error}") from None
    if np.isnan(array).any():
        raise RowsError("scores hold NaN: what is not a number has no rank (score every document)")
    return array


def check_shapes(**arrays: NDArray[Any]) -> None:
    """Raise a RowsError unless all these arrays have one shape."""
    if len({array.shape for array in arrays.values()}) > 1:
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise RowsError(f"shapes differ: {found}")


def check_whole(name: str, number: Any, least: int = 1) -> None:
    """Raise a ParameterError unless this is a whole number, and great enough."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise ParameterError(f"{name}={number!r} is out of range (allowed: a whole number from {least})")


def as_ranking(scores: ArrayLike, truth: ArrayLike, n_dimensions: int = 2) -> tuple[Floats, Truth]:
    """Return scores and truth as arrays of one shape."""
    ranked, true = as_scores(scores), as_truth(truth, "truth")
    check_shapes(scores=ranked, truth=true)
    _check_dimensions("scores have", ranked, n_dimensions)
    return ranked, true


def as_decisions(truth: ArrayLike, accepted: ArrayLike) -> tuple[Truth, Truth]:
    """Return truth and decisions as arrays of one shape, (documents, categories)."""
    true, chosen = as_truth(truth, "truth"), as_truth(accepted, "accepted")
    check_shapes(truth=true, accepted=chosen)
    _check_dimensions("truth has", true, 2)
    return true, chosen


def _check_dimensions(what: str, array: NDArray[Any], n_dimensions: int) -> None:
    if array.ndim != n_dimensions:
        wanted = "documents" if n_dimensions == 1 else "documents, categories"
        raise RowsError(f"{what} the shape {array.shape} (wanted: {wanted})")
