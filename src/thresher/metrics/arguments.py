"""Validation of the arrays that metrics are computed from."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.errors import ParameterError, RowsError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Truth = NDArray[np.bool_]


def select_labelled(scores: ArrayLike, truth: ArrayLike) -> tuple[Floats, Truth]:
    """Return the scores and the truth of the documents that have a category."""
    ranked, true = as_ranking(scores, truth)
    some = true.any(axis=1)
    return ranked[some], true[some]


# -- validation --------------------------------------------------------------------------------------------------------


def as_truth(values: ArrayLike, name: str) -> Truth:
    """Return a bool array, from bool or from 0 and 1."""
    array = np.asarray(values)
    if array.dtype != np.bool_ and not (array.size == 0 or (array.dtype.kind in "iu" and np.isin(array, (0, 1)).all())):
        raise RowsError(
            f"{name} must hold only True and False, not {array.dtype}", hint="compare with a threshold first"
        )
    return array.astype(np.bool_, copy=False)


def as_scores(values: ArrayLike) -> Floats:
    """Return a float64 array without NaN."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise RowsError(f"scores must be numbers: {error}") from None
    if np.isnan(array).any():
        raise RowsError("scores hold NaN, which has no rank", hint="score every document")
    return array


def check_shapes(**arrays: NDArray[Any]) -> None:
    """Raise a RowsError unless all arrays have the same shape."""
    if len({array.shape for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise RowsError(f"shapes differ: {shapes}")


def check_whole(name: str, number: Any, least: int = 1) -> None:
    """Raise a ParameterError unless this is an integer of at least `least`."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise ParameterError.of(name, number, allowed=f"a whole number from {least}")


def as_ranking(scores: ArrayLike, truth: ArrayLike, n_dimensions: int = 2) -> tuple[Floats, Truth]:
    """Return scores and truth as arrays of the same shape."""
    ranked, true = as_scores(scores), as_truth(truth, "truth")
    check_shapes(scores=ranked, truth=true)
    _check_dimensions("scores have", ranked, n_dimensions)
    return ranked, true


def as_decisions(truth: ArrayLike, accepted: ArrayLike) -> tuple[Truth, Truth]:
    """Return truth and decisions as arrays of the same shape, (documents, categories)."""
    true, chosen = as_truth(truth, "truth"), as_truth(accepted, "accepted")
    check_shapes(truth=true, accepted=chosen)
    _check_dimensions("truth has", true, 2)
    return true, chosen


def _check_dimensions(what: str, array: NDArray[Any], n_dimensions: int) -> None:
    if array.ndim != n_dimensions:
        wanted = "documents" if n_dimensions == 1 else "documents, categories"
        raise RowsError(f"{what} the shape {array.shape}", hint=f"wanted: {wanted}")
