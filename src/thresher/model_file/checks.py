"""Checks of the arrays of a model file before anything relies on them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ModelFileError

Arrays = dict[str, NDArray[Any]]
MOST_COUNTED = 2**53  # upper limit for counts, so that a model can keep counting and adding


def require(fact: Any, otherwise: str) -> None:
    """Raise a ModelFileError with the message `otherwise` unless the fact holds."""
    if not fact:
        raise ModelFileError(otherwise)


def stops_of(arrays: Arrays, name: str, total: int | None = None) -> NDArray[np.int64]:
    """Return checked ends: increasing, the last one at the end of the array that they divide."""
    stops = arrays[f"{name}.stops"]
    if total is None:
        letters = arrays[f"{name}.letters"]
        require(letters.dtype == np.uint8, f"{name}.letters is not a list of letters")
        total = len(letters)
    require(stops.dtype == np.int64, f"{name}.stops is not a list of places")
    ordered = len(stops) == 0 or (stops[0] >= 0 and np.all(stops[1:] >= stops[:-1]))
    require(ordered, f"{name}.stops is negative or decreases")
    require((stops[-1] if len(stops) else 0) == total, f"{name}.stops does not end where its letters do")
    return stops


def are_between(numbers: NDArray[Any], low: float, high: float) -> bool:
    """Return whether these are float32 numbers, all from `low` to `high`."""
    return numbers.dtype == np.float32 and bool(((numbers >= low) & (numbers <= high)).all())


def are_within(numbers: NDArray[Any], count: int) -> bool:
    """Return whether these are int32 indices below `count`."""
    return numbers.dtype == np.int32 and (len(numbers) == 0 or bool(0 <= numbers.min() <= numbers.max() < count))


def are_counts(counts: NDArray[Any]) -> bool:
    """Return whether these are counts within the allowed range."""
    return counts.dtype == np.int64 and bool(((counts >= 0) & (counts < MOST_COUNTED)).all())
