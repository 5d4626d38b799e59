"""Conversion of label sets to validated labels that kernels can trust; learners call it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError, RowsError
from thresher.kernels.csr import Labels

MAX_CATEGORIES = 2**24


def as_labels(source: Any, n_rows: int) -> Labels:
    """Return validated labels from a `Labels`, or from one complete collection of category numbers per row.

    >>> as_labels([[0, 2], [], [1]], n_rows=3).categories
    array([0, 2, 1], dtype=int32)
    """
    labels = source if isinstance(source, Labels) else _complete_labels(source)
    if np.ndim(labels.indptr) != 1 or len(labels.indptr) != n_rows + 1:
        raise RowsError(f"labels cover {np.size(labels.indptr) - 1} rows, but there are {n_rows} rows")
    _check_judgements(labels)
    return Labels(
        np.ascontiguousarray(labels.indptr, dtype=np.int64),
        np.ascontiguousarray(labels.categories, dtype=np.int32),
        np.ascontiguousarray(labels.signs, dtype=np.int8),
        int(labels.others),
    )


def select_labels(labels: Labels, categories: NDArray[np.int64], n_categories: int) -> Labels:
    """Return the labels of only some categories, numbered in that order.

    >>> select_labels(as_labels([[0, 2], [1]], n_rows=2), np.array([2]), 3).categories
    array([0], dtype=int32)
    """
    numbers = np.full(n_categories, -1, dtype=np.int32)
    numbers[categories] = np.arange(len(categories), dtype=np.int32)
    renumbered = numbers[labels.categories]
    kept = renumbered >= 0
    ends = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(kept, dtype=np.int64)))
    indptr = ends[labels.indptr]
    return Labels(indptr, renumbered[kept], labels.signs[kept], labels.others)


def label_one_row(signs: Mapping[int, int]) -> Labels:
    """Return the labels of one row that judge some categories, +1 or -1, and leave the rest unlabeled.

    >>> label_one_row({3: 1, 0: -1}).signs
    array([ 1, -1], dtype=int8)
    """
    categories, judged = list(signs), list(signs.values())
    ends = np.array([0, len(categories)], dtype=np.int64)
    return Labels(ends, np.array(categories, dtype=np.int32), np.array(judged, dtype=np.int8), others=0)


def make_labels(rows: list[list[int]]) -> Labels:
    """Return complete labels from rows that are known to be sorted and distinct category numbers.

    >>> make_labels([[0, 2], []]).indptr
    array([0, 2, 2])
    """
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)), out=indptr[1:])
    categories = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(indptr[-1]))
    return Labels(indptr, categories, np.ones(len(categories), dtype=np.int8), others=-1)


def number_categories(named: Iterable[Iterable[str]], names: Sequence[str]) -> list[list[int]]:
    """Return the numbers of each document's categories in the list `names`; other categories are left out.

    >>> number_categories([["wheat", "oil"], ["tin"]], ["oil", "wheat"])
    [[1, 0], []]
    """
    numbers = {name: number for number, name in enumerate(names)}
    return [[numbers[name] for name in row if name in numbers] for row in named]


def as_truth(labels: Sequence[Collection[int]], n_categories: int) -> NDArray[np.bool_]:
    """Return whether each document has each category, (documents, categories), from its category numbers.

    >>> as_truth([[1], []], 2).tolist()
    [[False, True], [False, False]]
    """
    truth = np.zeros((len(labels), n_categories), dtype=np.bool_)
    counts = np.fromiter(map(len, labels), dtype=np.int64, count=len(labels))
    numbers = np.fromiter(chain.from_iterable(labels), dtype=np.int64, count=int(counts.sum()))
    truth[np.repeat(np.arange(len(labels)), counts), numbers] = True
    return truth


def list_labels(truth: NDArray[np.bool_]) -> list[list[int]]:
    """Return each document's category numbers, sorted, from whether it has each category: the inverse of `as_truth`.

    >>> list_labels(np.array([[False, True], [False, False]]))
    [[1], []]
    """
    numbers, ends = np.nonzero(truth)[1].tolist(), np.cumsum(np.count_nonzero(truth, axis=1)).tolist()
    return [numbers[start:stop] for start, stop in pairwise([0, *ends])]


def count_categories(labels: Labels, n_categories: int | None, known: int) -> int:
    """Return the number of categories, whether they are known, named up front or listed by a row."""
    named = 0 if n_categories is None else n_categories
    if not isinstance(named, Integral) or not 0 <= named <= MAX_CATEGORIES:
        raise ParameterError.of("n_categories", n_categories, allowed=f"0 to {MAX_CATEGORIES}")
    listed = int(labels.categories.max()) + 1 if len(labels.categories) else 0
    count = max(known, listed, int(named))
    if count == 0:
        raise RowsError("there are no categories: no row has a label", hint="name their number with n_categories")
    return count


def count_positives(labels: Labels, n_categories: int) -> NDArray[np.int64]:
    """Return the number of positive rows of each category."""
    return np.bincount(labels.categories[labels.signs > 0], minlength=n_categories)


def _complete_labels(source: Any) -> Labels:
    try:
        rows = [list(row) for row in source]
    except TypeError:
        raise RowsError("labels must hold one collection of category numbers for each row") from None
    given = [c for row in rows for c in row]
    if any(issubclass(kind, bool | np.bool_) or not hasattr(kind, "__index__") for kind in set(map(type, given))):
        raise RowsError("labels must be category numbers: whole numbers from 0", hint="not names, and not an indicator")
    if given and not 0 <= min(given) <= max(given) < MAX_CATEGORIES:
        raise RowsError(f"labels must be category numbers from 0 to {MAX_CATEGORIES - 1}")
    sets = [sorted(set(map(int, row))) for row in rows]
    categories = [category for row in sets for category in row]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in sets], dtype=np.int64)))
    return Labels(indptr, np.array(categories, dtype=np.int32), np.ones(len(categories), dtype=np.int8), others=-1)


def _check_judgements(labels: Labels) -> None:
    indptr, categories, signs = (_array(part) for part in labels[:3])
    for name, part in (("indptr", indptr), ("categories", categories), ("signs", signs)):
        if part.ndim != 1 or (part.dtype.kind not in "iu" and part.size > 0):
            raise RowsError(f"labels: {name} must be a flat array of whole numbers, not {part.dtype}")
    if indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]) or not indptr[-1] == len(categories) == len(signs):
        raise RowsError("labels: indptr must start with 0, not decrease and end at the number of categories and signs")
    if categories.size and not 0 <= int(categories.min()) <= int(categories.max()) < MAX_CATEGORIES:
        raise RowsError(f"labels reach from {categories.min()} to {categories.max()}", hint="allowed: from 0")
    if not np.isin(signs, (-1, 1)).all() or labels.others not in (-1, 0):
        raise RowsError("labels: signs must be +1 or -1, and others -1 or 0")
    owners = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if len(np.unique(owners * MAX_CATEGORIES + categories)) != len(categories):
        raise RowsError("labels: a row lists a category twice")


def _array(part: Any) -> Any:
    return np.asarray(part)
