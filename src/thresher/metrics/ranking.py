"""Ranking metrics: precision at k, R-precision and nDCG."""

import numpy as np
from numpy.typing import ArrayLike

from thresher.kernels.reproducible_math import logarithm
from thresher.metrics.arguments import Floats, check_whole, select_labelled
from thresher.metrics.break_even_points import break_evens_of_columns, expected_hits
from thresher.metrics.counts import mean_or_nan


def precision_at(scores: ArrayLike, truth: ArrayLike, k: int) -> float:
    """Return the precision of a document's `k` best categories, as the mean over documents that have categories.

    `scores` and `truth` are arrays of shape (documents, categories).
    """
    check_whole("k", k)
    ranked, true = select_labelled(scores, truth)
    sizes = np.full(len(ranked), min(k, ranked.shape[1]))
    return mean_or_nan(expected_hits(ranked, true, sizes) / k)


def r_precision(scores: ArrayLike, truth: ArrayLike) -> float:
    """Return the R-precision: the precision at k, where k is the number of categories that the document has.

    `scores` and `truth` are arrays of shape (documents, categories). The result is the mean over documents that have
    categories.
    """
    return mean_or_nan(break_evens_of_columns(*select_labelled(scores, truth)))


def ndcg(scores: ArrayLike, truth: ArrayLike, k: int | None = None) -> float:
    """Return the normalized discounted cumulative gain of a document's `k` best categories, or of all if None.

    `scores` and `truth` are arrays of shape (documents, categories).

    The category at rank r gains 1 / log2(r + 1) if it is correct. The sum is divided by the maximum. The result is the
    mean over documents that have categories.
    """
    ranked, true = select_labelled(scores, truth)
    discounts = logarithm(2) / logarithm(np.arange(2, ranked.shape[1] + 2))
    if k is not None:
        check_whole("k", k)
        discounts[k:] = 0
    order = np.argsort(-ranked, axis=1, kind="stable")
    gains = _average_ties(discounts, np.take_along_axis(ranked, order, axis=1))
    totals = np.sum(gains, axis=1, where=np.take_along_axis(true, order, axis=1))
    return mean_or_nan(totals / np.append(0, np.cumsum(discounts))[np.count_nonzero(true, axis=1)])


def _average_ties(values: Floats, ranked: Floats) -> Floats:
    """Return the values by rank for each row, with those of a tie replaced by their mean."""
    new = np.ones(ranked.shape, dtype=np.bool_)
    new[:, 1:] = ranked[:, 1:] < ranked[:, :-1]
    ties = np.cumsum(new.ravel()) - 1
    means = np.bincount(ties, weights=np.broadcast_to(values, ranked.shape).ravel()) / np.bincount(ties)
    return np.asarray(means[ties].reshape(ranked.shape), dtype=np.float64)
