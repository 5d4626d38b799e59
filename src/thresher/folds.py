"""Documents dealt into parts for cross-validation, each category evenly."""

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.kernels.calibration import write_folds


def folds(truth: NDArray[np.bool_], n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each document, from the labels and the order of the documents alone.

    Documents of the rarest categories are placed first, each in the fold with the fewest positives of its rarest
    category and of these in the smallest. The sizes of two folds differ by at most one. Where no document has two
    categories, so do the positives that two folds have of a category; where documents have several, that is the aim.

    >>> folds(np.array([[1], [1], [0], [0], [1], [0]], dtype=bool), 3)
    array([0, 1, 0, 1, 2, 2])
    """
    if n_folds < 2:
        raise ParameterError(f"n_folds={n_folds!r} is out of range (allowed: a whole number from 2)")
    n_documents = len(truth)
    by_rarity = np.argsort(np.count_nonzero(truth, axis=0), kind="stable")
    # A document without categories belongs to a further one, the most frequent of all.
    rarest_first = np.column_stack((truth[:, by_rarity], np.ones(n_documents, dtype=np.bool_)))
    rarest = rarest_first.argmax(axis=1)
    fold_of = np.zeros(n_documents, dtype=np.int64)
    write_folds(rarest, rarest_first, np.argsort(rarest, kind="stable"), n_folds, fold_of)
    return fold_of
