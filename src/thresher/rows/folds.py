"""Stratified folds of documents for cross-validation."""

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.kernels.calibration import write_folds


def assign_folds(truth: NDArray[np.bool_], n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each document, which depends only on the labels and the order of the documents.

    Documents of the rarest categories are placed first. Each goes to the fold with the fewest positives of its rarest
    category or, in a tie, to the smallest of these. The sizes of two folds differ by at most one. If no document has
    two categories, this also holds for the positives of each category; otherwise it is the aim.

    >>> assign_folds(np.array([[1], [1], [0], [0], [1], [0]], dtype=bool), 3)
    array([0, 1, 0, 1, 2, 2])
    """
    if n_folds < 2:
        raise ParameterError.of("n_folds", n_folds, allowed="a whole number from 2")
    n_documents = len(truth)
    by_rarity = np.argsort(np.count_nonzero(truth, axis=0), kind="stable")
    # Documents without categories get an extra one, which counts as the most frequent.
    rarest_first = np.column_stack((truth[:, by_rarity], np.ones(n_documents, dtype=np.bool_)))
    rarest = rarest_first.argmax(axis=1)
    fold_of = np.zeros(n_documents, dtype=np.int64)
    write_folds(rarest, rarest_first, np.argsort(rarest, kind="stable"), n_folds, fold_of)
    return fold_of
