"""Rows and labels in the forms that the experts, networks and trees work on."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import MissingPackageError, NotFittedError, RowsError
from thresher.kernels.csr import Rows
from thresher.kernels.reproducible_math import logarithm
from thresher.rows.labels import as_labels
from thresher.rows.validation import as_rows

Progress = Callable[[int, int], None]  # takes the number of finished categories, and of all


def make_truth_table(labels: Any, n_rows: int, n_categories: int) -> NDArray[np.bool_]:
    """Return whether each document is in each category, documents x categories.

    >>> make_truth_table([[1], []], n_rows=2, n_categories=2).tolist()
    [[False, True], [False, False]]
    """
    checked = as_labels(labels, n_rows)
    highest = int(checked.categories.max(initial=-1))
    if highest >= n_categories:
        raise RowsError(f"labels name category {highest}, and n_categories={n_categories}", hint="raise it")
    truth = np.zeros((n_rows, n_categories), dtype=np.bool_)
    truth[np.repeat(np.arange(n_rows), np.diff(checked.indptr)), checked.categories] = checked.signs > 0
    return truth


def check_rows(rows: Any, n_features: int | None) -> Rows:
    """Return the rows to score, after checking that they have the fitted features."""
    if n_features is None:
        raise NotFittedError("there is nothing to score with yet", hint="call fit first")
    checked = as_rows(rows)
    if checked.n_features != n_features:
        raise RowsError(
            f"rows have {checked.n_features} features, and {n_features} were fitted", hint="make both alike"
        )
    return checked


def as_matrix(rows: Rows, data: NDArray[Any] | None = None) -> Any:
    """Return the rows as a scipy CSR matrix of float64, or with `data` in place of the counts."""
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        raise MissingPackageError(
            "this rival needs scipy and scikit-learn", hint="pip install thresher-reproduction"
        ) from None
    values = rows.data.astype(np.float64) if data is None else data
    indptr = rows.indptr.astype(np.int32)  # the type that scikit-learn's solvers accept
    return csr_matrix((values, rows.indices, indptr), shape=(len(indptr) - 1, rows.n_features))


def count_documents(rows: Rows, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each feature the number of chosen documents that contain it.

    >>> count_documents(Rows(np.array([0, 1, 3]), np.array([1, 0, 1]), np.ones(3), 2), np.array([False, True]))
    array([1, 1])
    """
    listed = np.repeat(chosen, np.diff(rows.indptr))
    return np.bincount(rows.indices[listed], minlength=rows.n_features)


def prior_log_odds(positives: int, n_documents: int) -> float:
    """Return a category's log-odds with one document added to each side, the score of an empty document.

    >>> prior_log_odds(1, 2)
    0.0
    """
    return float(logarithm((positives + 1) / (n_documents - positives + 1)))
