"""From label sets to the labels that a kernel may trust; learners call it."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from thresher.errors import RowsError
from thresher.kernels.rows import Labels

_MOST_CATEGORIES = 2**31 - 1


def as_labels(source: Any, n_rows: int) -> Labels:
    """Return the checked labels of a `Labels`, or of one collection of category numbers a row, taken as complete.

    >>> as_labels([[0, 2], [], [1]], n_rows=3).categories
    array([0, 2, 1], dtype=int32)
    """
    labels = source if isinstance(source, Labels) else _complete_labels(source)
    if len(labels.indptr) != n_rows + 1:
        raise RowsError(f"there are labels for {len(labels.indptr) - 1} rows, and {n_rows} rows")
    _check_judgements(labels)
    return Labels(
        np.ascontiguousarray(labels.indptr, dtype=np.int64),
        np.ascontiguousarray(labels.categories, dtype=np.int32),
        np.ascontiguousarray(labels.signs, dtype=np.int8),
        int(labels.others),
    )


def corrections(accept: Iterable[int] = (), reject: Iterable[int] = ()) -> Labels:
    """Return the labels of one row that accept some categories, reject others and leave the rest alone.

    >>> corrections(accept=[3], reject=[0, 1]).signs
    array([ 1, -1, -1], dtype=int8)
    """
    accepted, rejected = list(accept), list(reject)
    categories = np.array(accepted + rejected, dtype=np.int32)
    signs = np.array([1] * len(accepted) + [-1] * len(rejected), dtype=np.int8)
    return Labels(np.array([0, len(categories)], dtype=np.int64), categories, signs, others=0)


def _complete_labels(source: Any) -> Labels:
    try:
        sets = [sorted(set(row)) for row in source]
    except TypeError:
        raise RowsError("labels must hold one collection of category numbers for each row") from None
    categories = [category for row in sets for category in row]
    if any(not isinstance(category, int | np.integer) for category in categories):
        raise RowsError("labels must be category numbers: whole numbers from 0")
    if any(not 0 <= category < _MOST_CATEGORIES for category in categories):
        raise RowsError(f"labels must be category numbers from 0 to {_MOST_CATEGORIES - 1}")
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in sets], dtype=np.int64)))
    return Labels(indptr, np.array(categories, dtype=np.int32), np.ones(len(categories), dtype=np.int8), others=-1)


def _check_judgements(labels: Labels) -> None:
    indptr, categories, signs = (np.asarray(part) for part in labels[:3])
    if indptr[0] != 0 or np.any(np.diff(indptr) < 0) or not indptr[-1] == len(categories) == len(signs):
        raise RowsError("labels: indptr must start with 0, not decrease and end at the number of categories and signs")
    if categories.size and not 0 <= int(categories.min()) <= int(categories.max()) < _MOST_CATEGORIES:
        raise RowsError(f"labels reach from {categories.min()} to {categories.max()} (allowed: from 0)")
    if not np.all(np.abs(signs.astype(np.int64)) == 1) or labels.others not in (-1, 0):
        raise RowsError("labels: signs must be +1 or -1, and others -1 or 0")
    owners = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if len(np.unique(np.stack((owners, categories)), axis=1).T) != len(categories):
        raise RowsError("labels: a row lists a category twice")
