"""A collection as the experiments see it: training and test rows of counts, with their categories."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import metrics
from thresher.datasets.document import Document
from thresher.kernels.csr import Rows
from thresher.rows.labels import as_truth, number_categories
from thresher.rows.validation import select_rows
from thresher.text.limits import MAX_FEATURES
from thresher.text.vectorizer import TextFeatures

Remark = Callable[[str], None]  # takes a line about the progress


class Problem(NamedTuple):
    """Training rows and labels, test rows and truth, and the categories that have a training document."""

    rows: Rows
    labels: list[list[int]]
    test_rows: Rows
    truth: NDArray[np.bool_]
    categories: list[str]


class BreakEven(NamedTuple):
    """The pooled, micro and macro break-even points, as fractions."""

    pooled: float
    micro: float
    macro: float


def make_problem(
    train: list[Document], test: list[Document], analyser: Any, min_count: int = 3, max_features: int = MAX_FEATURES
) -> Problem:
    """Count features and return the problem.

    A test category without a training document is left out, as in the literature.
    """
    features = TextFeatures(analyser, min_count, max_features)
    rows = features.fit([document.text for document in train])
    test_rows = features.rows([document.text for document in test])
    categories = sorted({name for document in train for name in document.categories})
    return Problem(rows, number_labels(train, categories), test_rows, make_truth(test, categories), categories)


def number_labels(documents: list[Document], categories: list[str]) -> list[list[int]]:
    """Return the category numbers of each document."""
    return number_categories((document.categories for document in documents), categories)


def make_truth(documents: list[Document], categories: list[str]) -> NDArray[np.bool_]:
    """Return the truth table, documents x categories."""
    return as_truth(number_labels(documents, categories), len(categories))


def compute_break_even(scores: NDArray[Any], truth: NDArray[np.bool_]) -> BreakEven:
    """Return the three break-even points of the scores."""
    wide = scores.astype(np.float64)
    return BreakEven(
        metrics.pooled_break_even(wide, truth),
        metrics.micro_break_even(wide, truth),
        metrics.macro_break_even(wide, truth),
    )


def drop_rare_features(rows: Rows, others: Rows, min_count: int) -> tuple[Rows, Rows]:
    """Return both sets of rows without the features that occur fewer than `least` times in the first."""
    totals = np.bincount(rows.indices, weights=rows.data, minlength=rows.n_features)
    frequent = np.flatnonzero(totals >= min_count)
    numbers = np.full(rows.n_features, -1, dtype=np.int32)
    numbers[frequent] = np.arange(len(frequent), dtype=np.int32)
    return _renumber(rows, numbers, len(frequent)), _renumber(others, numbers, len(frequent))


def _renumber(rows: Rows, numbers: NDArray[np.int32], count: int) -> Rows:
    renumbered = numbers[rows.indices]
    inside = renumbered >= 0
    ends = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(inside, dtype=np.int64)))[rows.indptr]
    return Rows(ends, renumbered[inside], rows.data[inside], count)


def take_rows(rows: Rows, numbers: list[int]) -> Rows:
    """Return the rows with these numbers, in this order."""
    return select_rows(rows, np.array(numbers, dtype=np.int64))
