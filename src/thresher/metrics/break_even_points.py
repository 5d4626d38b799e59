"""Break-even points of precision and recall: per category, pooled, micro- and macro-averaged."""

import numpy as np
from numpy.typing import ArrayLike

from thresher.metrics.arguments import Floats, Ints, Truth, as_ranking
from thresher.metrics.counts import mean_or_nan


def break_even(scores: ArrayLike, truth: ArrayLike) -> float:
    """Return the precision, and recall, of accepting as many documents as there are positives; NaN without positives.

    `scores` and `truth` are arrays of shape (documents,).

    A tie that spans the cut is shared out. If k1 documents with h1 positives score above the tie, and k2 documents with
    h2 positives score above it or in it, then P accepted documents hold h1 + (P - k1) / (k2 - k1) x (h2 - h1) of the P
    positives.

    >>> break_even([3.0, 2.0, 1.0, 0.0], [True, False, True, False])
    0.5
    >>> break_even([3.0, 1.0, 1.0, 1.0], [True, False, True, False]) == (1 + 1 / 3) / 2
    True
    """
    ranked, true = as_ranking(scores, truth, 1)
    return float(break_evens_of_columns(ranked[np.newaxis], true[np.newaxis])[0])


def break_evens(scores: ArrayLike, truth: ArrayLike) -> Floats:
    """Return the break-even of each category; NaN for categories without positives.

    `scores` and `truth` are arrays of shape (documents, categories).
    """
    ranked, true = as_ranking(scores, truth)
    return break_evens_of_columns(np.ascontiguousarray(ranked.T), np.ascontiguousarray(true.T))


def pooled_break_even(scores: ArrayLike, truth: ArrayLike) -> float:
    """Return the break-even of all pairs of document and category, ranked together.

    `scores` and `truth` are arrays of shape (documents, categories).
    """
    ranked, true = as_ranking(scores, truth)
    return break_even(ranked.ravel(), true.ravel())


def micro_break_even(scores: ArrayLike, truth: ArrayLike) -> float:
    """Return the mean of the categories' break-even points, weighted by their positives; NaN without positives.

    `scores` and `truth` are arrays of shape (documents, categories).
    """
    points, positives = break_evens(scores, truth), np.count_nonzero(truth, axis=0)
    real = positives > 0
    return float((points[real] * positives[real]).sum() / positives.sum()) if real.any() else float("nan")


def macro_break_even(scores: ArrayLike, truth: ArrayLike) -> float:
    """Return the unweighted mean of the break-even points of the categories with positives; NaN without positives.

    `scores` and `truth` are arrays of shape (documents, categories).
    """
    points = break_evens(scores, truth)
    return mean_or_nan(points[~np.isnan(points)])


def break_evens_of_columns(scores: Floats, truth: Truth) -> Floats:
    """Return the break-even of each row."""
    positives, points = np.count_nonzero(truth, axis=1), np.full(len(scores), np.nan)
    real = np.flatnonzero(positives)
    points[real] = expected_hits(scores[real], truth[real], positives[real]) / positives[real]
    return points


def expected_hits(scores: Floats, truth: Truth, sizes: Ints) -> Floats:
    """Return the expected number of positives among the `sizes` best of each row; a tie at the cut is shared out.

    Sizes are at least 1.
    """
    cuts = np.take_along_axis(np.sort(scores, axis=1), (scores.shape[1] - sizes)[:, np.newaxis], axis=1)
    above, tied = scores > cuts, scores == cuts
    missing = sizes - np.count_nonzero(above, axis=1)
    in_tie = missing * np.count_nonzero(truth & tied, axis=1) / np.count_nonzero(tied, axis=1)
    return np.asarray(np.count_nonzero(truth & above, axis=1) + in_tie, dtype=np.float64)
