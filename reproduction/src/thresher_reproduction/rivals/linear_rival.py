"""Base class of the linear rivals: checks the examples, keeps weights and thresholds, scores documents."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher.errors import NotFittedError, RowsError
from thresher.kernels.csr import Labels, Rows
from thresher.model.thresholds import tune_thresholds
from thresher.rows.labels import as_labels
from thresher.rows.validation import as_rows
from thresher_reproduction.kernels.vector_space import add_products
from thresher_reproduction.rivals.tables import Progress

Floats = NDArray[np.float64]

_ROWS_AT_ONCE = 2048


class Examples(NamedTuple):
    """Rows of counts with their labels, and the same labels as a truth table (documents, categories)."""

    rows: Rows
    labels: Labels
    truth: NDArray[np.bool_]


class LinearRival:
    """A system whose score of a document for a category is Σ strength × weight, minus the category's threshold.

    A subclass defines how to represent documents (`_represent`) and how to learn (`_learn`, which sets `weights_`,
    (features, categories), and `thresholds_`).
    """

    weights_: Floats
    thresholds_: Floats

    def fit(self, rows: Rows, labels: list[list[int]], *, n_categories: int, progress: Progress | None = None) -> Self:
        """Learn from rows of counts and the category numbers of each row; `progress` receives (done, total)."""
        examples = as_examples(rows, labels, n_categories)
        self._learn(examples, progress or _ignore_progress)
        return self

    def score(self, rows: Rows) -> NDArray[np.float32]:
        """Return the scores, (documents, categories); higher is surer, and acceptance begins at about 0."""
        if not hasattr(self, "weights_"):
            raise NotFittedError(f"{type(self).__name__} has learned nothing yet", hint="call fit first")
        checked = as_rows(rows)
        if checked.n_features != len(self.weights_):
            raise RowsError(f"rows have {checked.n_features} features, and {len(self.weights_)} were learned from")
        return (compute_products(self._represent(checked), self.weights_) - self.thresholds_).astype(np.float32)

    @property
    def size(self) -> int:
        """The number of non-zero weights, plus one threshold for each category."""
        return int(np.count_nonzero(self.weights_)) + len(self.thresholds_)

    @property
    def features_kept(self) -> int:
        """The number of features with a non-zero weight in any category."""
        return int(np.count_nonzero(self.weights_.any(axis=1)))

    def _represent(self, rows: Rows) -> Rows:
        raise NotImplementedError

    def _learn(self, examples: Examples, progress: Progress) -> None:
        raise NotImplementedError


def _ignore_progress(done: int, total: int) -> None:
    """Ignore a progress report."""


def as_examples(rows: Rows, labels: list[list[int]], n_categories: int) -> Examples:
    """Return the examples after checking rows and labels.

    >>> as_examples(Rows([0, 1, 1], [0], [3.0], 1), [[1], []], n_categories=2).truth.tolist()
    [[False, True], [False, False]]
    """
    checked = as_rows(rows)
    if np.any(checked.data < 0):
        raise RowsError("rows must hold counts, and data has negative ones")
    sets = as_labels(labels, len(checked.indptr) - 1)
    if sets.others != -1 or np.any(sets.signs < 0):
        raise RowsError("labels must be complete: all of a row's categories and nothing else")
    if np.any(sets.categories >= n_categories):
        raise RowsError(f"labels reach to {sets.categories.max()}, and n_categories is {n_categories}")
    truth = np.zeros((len(checked.indptr) - 1, n_categories), dtype=np.bool_)
    truth[np.repeat(np.arange(len(truth)), np.diff(sets.indptr)), sets.categories] = True
    return Examples(checked, sets, truth)


def compute_products(rows: Rows, weights: Floats) -> Floats:
    """Return Σ strength × weight, (documents, categories), summed in feature order."""
    scores = np.zeros((len(rows.indptr) - 1, weights.shape[1]))
    for start in range(0, len(scores), _ROWS_AT_ONCE):
        add_products(rows, start, weights, scores[start : start + _ROWS_AT_ONCE])
    return scores


def tune_break_even_thresholds(scores: Floats, truth: NDArray[np.bool_]) -> Floats:
    """Return for each category the threshold that accepts as many documents as have the category.

    A category without documents gets a threshold above every score seen.
    """
    return tune_thresholds(scores.astype(np.float32), truth, "break-even", fallback=0.0, few=1)
