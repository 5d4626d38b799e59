"""Precision, recall and F1, from counts of correct and wrong decisions."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from thresher.errors import RowsError
from thresher.metrics.arguments import Floats, Ints, as_decisions


class Rates(NamedTuple):
    """`precision`, `recall` and `f1`, their harmonic mean, from 0 to 1."""

    precision: float
    recall: float
    f1: float


class Counts:
    """True and false positives and negatives by category, the paper's four counts (section 2).

    Parameters
    ----------
    n_categories : int

    Notes
    -----
    The paper calls true positives p1, false negatives p2, true negatives n1 and false positives n2.

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
        """Count the decisions on more documents; `truth` and `accepted` are arrays of shape (documents, categories)."""
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
        """The number of negatives that were rejected, by category."""
        return self.n_documents - self.true_positives - self.false_positives - self.false_negatives

    @property
    def positives(self) -> Ints:
        """The number of documents that have the category, by category."""
        return self.true_positives + self.false_negatives

    @property
    def accepted(self) -> Ints:
        """The number of documents that were accepted, by category."""
        return self.true_positives + self.false_positives

    def precision(self) -> Floats:
        """Return the precision by category; 0 if nothing was accepted."""
        return share(self.true_positives, self.accepted)

    def recall(self) -> Floats:
        """Return the recall by category; 0 without positives."""
        return share(self.true_positives, self.positives)

    def f1(self) -> Floats:
        """Return the harmonic mean of precision and recall by category; 0 if both are 0."""
        return f1_of(self.true_positives, self.false_positives, self.false_negatives)

    def micro(self) -> Rates:
        """Return the rates of all decisions together."""
        counts = (self.true_positives, self.false_positives, self.false_negatives)
        right, wrong, missed = (int(count.sum()) for count in counts)
        rates = share(right, right + wrong), share(right, right + missed), f1_of(right, wrong, missed)
        return Rates(*map(float, rates))

    def macro(self) -> Rates:
        """Return the unweighted means over the categories with positives; NaN without positives."""
        real = self.positives > 0
        return Rates(*(mean_or_nan(rate[real]) for rate in (self.precision(), self.recall(), self.f1())))


def share(part: ArrayLike, whole: ArrayLike) -> Floats:
    """Return part / whole, or 0 where the whole is 0.

    >>> share([1, 0], [4, 0])
    array([0.25, 0.  ])
    """
    return np.asarray(part, dtype=np.float64) / np.maximum(whole, 1)


def f1_of(right: Any, wrong: Any, missed: Any) -> Floats:
    """Return F1 from true positives, false positives and false negatives, as numbers or arrays of one shape.

    >>> f1_of(np.array([2, 0]), np.array([1, 0]), np.array([0, 0]))
    array([0.8, 0. ])
    """
    return share(2 * right, 2 * right + wrong + missed)


def mean_or_nan(values: Floats) -> float:
    """Return the mean, or NaN if there are no values."""
    return float(values.mean()) if len(values) else float("nan")
