"""Precision-recall curve and average precision."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thresher.metrics.arguments import Floats, as_ranking
from thresher.metrics.counts import share


class Curve(NamedTuple):
    """`precision` and `recall` when scores of at least each of the `thresholds` are accepted.

    The thresholds are the distinct scores, in decreasing order.
    """

    precision: Floats
    recall: Floats
    thresholds: Floats


def precision_recall_curve(scores: ArrayLike, truth: ArrayLike) -> Curve:
    """Return the precision and recall of one category as the threshold falls through its `scores`.

    `truth` marks the documents that have the category.

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
    """Return the mean precision over the thresholds, weighted by the gain in recall; NaN without positives.

    `scores` and `truth` are arrays of shape (documents,).
    """
    precision, recall, _ = precision_recall_curve(scores, truth)
    return float((precision * np.diff(recall, prepend=0.0)).sum()) if recall.any() else float("nan")
