"""Conversion of a caller's matrix to validated rows that kernels can trust, and of counts to strengths."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import RowsError
from thresher.kernels.csr import Rows, copy_rows, find_faulty_row, normalize_rows
from thresher.kernels.dense_weights import MAX_STRENGTH
from thresher.rows.spilled import release

_MAX_FEATURES = 2**31 - 1
_AT_ONCE = 2**16  # rows copied together


def as_rows(source: Any) -> Rows:
    """Return validated rows from a `Rows` or from a CSR matrix (scipy's, or one like it).

    Zero entries are dropped: a feature is active or it is not.

    >>> as_rows(Rows([0, 2, 3], [0, 2, 1], [1, 2, 0], n_features=3)).indices
    array([0, 2], dtype=int32)
    """
    if isinstance(source, Rows):
        indptr, indices, data, n_features = source
    elif getattr(source, "format", None) == "csr":
        indptr, indices, data, n_features = source.indptr, source.indices, source.data, source.shape[1]
        if len(indptr) != source.shape[0] + 1:
            raise RowsError(f"indptr has {len(indptr)} entries for {source.shape[0]} rows", hint="it needs rows + 1")
    else:
        raise RowsError(
            f"rows must be a Rows or a matrix in csr form, not {type(source).__name__}", hint="convert with .tocsr()"
        )
    if isinstance(n_features, bool) or not hasattr(n_features, "__index__"):
        raise RowsError(f"n_features must be a whole number, not {n_features!r}")
    n_features = int(n_features)
    checked_indptr, checked_indices = check_structure(indptr, indices, n_features)
    faulty = find_faulty_row(checked_indptr, checked_indices, n_features)
    if faulty >= 0:
        problem = f"row {faulty}: indices must increase strictly within 0 .. {n_features - 1}"
        raise RowsError(problem, hint="sort them and sum duplicates, or set n_features")
    values = _check_values(data, len(checked_indices))
    return _without_zeros(Rows(checked_indptr, checked_indices, values, n_features))


def check_structure(indptr: Any, indices: Any, n_columns: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return indptr and indices as the types that kernels take, after the checks common to rows and columns."""
    pointers, columns = np.asarray(indptr), np.asarray(indices)
    for name, array in (("indptr", pointers), ("indices", columns)):
        if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size > 0):
            raise RowsError(f"{name} must be a flat array of whole numbers, not {array.dtype} of shape {array.shape}")
    if not 0 < n_columns <= _MAX_FEATURES:
        raise RowsError(f"n_features = {n_columns}: 0 feature(s) or too many", hint=f"allowed: 1 to {_MAX_FEATURES}")
    if len(pointers) == 0 or pointers[0] != 0:
        raise RowsError("indptr must start with 0")
    if np.any(pointers[1:] < pointers[:-1]):
        raise RowsError("indptr must not decrease")
    if pointers[-1] > len(columns):
        raise RowsError(f"indptr ends at {pointers[-1]} but there are {len(columns)} indices")
    columns = columns[: pointers[-1]]
    check_numbers("indices", columns, n_columns)
    return _writeable(pointers, np.int64), _writeable(columns, np.int32)


def check_numbers(name: str, numbers: NDArray[Any], count: int) -> None:
    """Raise a RowsError unless all numbers lie in 0 .. count - 1."""
    if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < count:
        raise RowsError(f"{name} reach from {numbers.min()} to {numbers.max()}", hint=f"allowed: 0 to {count - 1}")


def _check_values(data: Any, count: int) -> NDArray[np.float32]:
    values = np.asarray(data)
    if values.ndim != 1 or (values.dtype.kind not in "biuf" and values.size > 0):
        raise RowsError(f"data must be a flat array of real numbers, not {values.dtype} of shape {values.shape}")
    if len(values) < count:
        raise RowsError(f"data has {len(values)} entries for {count} indices")
    values = values[:count]
    if not np.all(np.isfinite(values)):
        raise RowsError("data contains NaN or infinity", hint="replace them before learning")
    if values.size and not -MAX_STRENGTH <= values.min() <= values.max() <= MAX_STRENGTH:
        raise RowsError(f"data reaches from {values.min():g} to {values.max():g}", hint=f"allowed: +-{MAX_STRENGTH:g}")
    return _writeable(values, np.float32)


def _writeable(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return the array in the one layout that kernels are compiled for; read-only memory is copied."""
    return np.require(array, dtype=dtype, requirements=["C", "W", "A"])


def _without_zeros(rows: Rows) -> Rows:
    active = rows.data != 0
    if active.all():
        return rows
    before = np.concatenate(([0], np.cumsum(active)))
    return Rows(before[rows.indptr], rows.indices[active], rows.data[active], rows.n_features)


def select_rows(rows: Rows, chosen: NDArray[np.integer]) -> Rows:
    """Return the chosen rows, in that order.

    >>> select_rows(Rows(np.array([0, 1, 3]), np.array([0, 1, 2]), np.ones(3), 3), np.array([1])).indices
    array([1, 2])
    """
    starts, stops = rows.indptr[chosen], rows.indptr[np.asarray(chosen) + 1]
    indptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(stops - starts)))
    indices, data = np.empty(indptr[-1], dtype=rows.indices.dtype), np.empty(indptr[-1], dtype=rows.data.dtype)
    for first in range(0, len(starts), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        copy_rows(starts[some], stops[some], rows.indices, rows.data, indptr[first], indices, data)
        release(rows.indices)
        release(rows.data)
    return Rows(indptr, indices, data, rows.n_features)


def split_rows(rows: Rows, size: int) -> list[Rows]:
    """Return the rows in parts of `size` rows, which share their memory.

    >>> [len(part.indptr) - 1 for part in split_rows(Rows(np.arange(4), np.arange(3), np.ones(3), 3), 2)]
    [2, 1]
    """
    n_rows = len(rows.indptr) - 1
    if n_rows <= size:
        return [rows]
    parts = []
    for first in range(0, n_rows, size):
        indptr = rows.indptr[first : first + size + 1]
        entries = slice(indptr[0], indptr[-1])
        parts.append(rows._replace(indptr=indptr - indptr[0], indices=rows.indices[entries], data=rows.data[entries]))
    return parts


def to_strengths(
    rows: Rows, strength: str, normalize: bool, checked: bool = False, out: NDArray[np.float32] | None = None
) -> Rows:
    """Return the rows with counts replaced by strengths (binary, linear or sqrt), divided by their sum if `normalize`.

    The order of operations is fixed, because normalized scores start at the threshold, where rounding decides. Counts
    and their square roots are float32. The sum of a row's strengths is float64, in the order of its features. Each
    strength is divided by it in float64 and rounded once to float32.

    If `checked`, the rows are known to have no negative counts. Square roots are written to `out`, if given.

    >>> to_strengths(as_rows(Rows([0, 2], [0, 1], [9, 1], n_features=2)), "sqrt", normalize=True).data
    array([0.75, 0.25], dtype=float32)
    """
    data = rows.data
    if strength == "binary":
        data = np.ones_like(data)
    elif strength == "sqrt":
        if not checked and np.any(data < 0):
            raise RowsError("strength='sqrt' takes counts, and data has negative ones", hint="use strength='linear'")
        data = np.sqrt(data, out=out)
    if normalize:
        if not checked and np.any(data < 0):
            raise RowsError("normalize=True divides by the sum of the strengths, and data has negative ones")
        data = normalize_rows(rows.indptr, data)
    return rows._replace(data=data)
