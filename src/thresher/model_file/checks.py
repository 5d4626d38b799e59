"""The arrays of a model file, and the checks that each must pass before anything relies on it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ModelFileError
from thresher.text.tfidf import IDF_RANGE

Arrays = dict[str, NDArray[Any]]
MAX_COUNT = 2**53 - 1  # so that a model can keep counting and adding


class Rule(NamedTuple):
    """The type of an array, the name of an array of the same length, and the range of the values.

    The values may instead be indices of another array (`index_of`), or the ends of the parts of another (`ends_in`).
    """

    kind: type
    as_long_as: str = ""
    low: float = 0
    high: float | None = None
    index_of: str = ""
    ends_in: str = ""
    n_dimensions: int = 1


_COUNTS = Rule(np.int64, "categories.stops", 0, MAX_COUNT)
_DECISIONS = Rule(np.float64, "categories.stops")
_WEIGHTS = Rule(np.float32, "weights.features")
RULES = {
    "categories.letters": Rule(np.uint8),
    "categories.stops": Rule(np.int64, ends_in="categories.letters"),
    "decisions.midpoints": _DECISIONS,
    "decisions.rivalry": _DECISIONS,
    "decisions.slopes": _DECISIONS,
    "decisions.thresholds": _DECISIONS,
    "features.documents": Rule(np.int64, "features.stops", 0, MAX_COUNT),
    "features.idf": Rule(np.float32, "", *IDF_RANGE),
    "features.letters": Rule(np.uint8),
    "features.stops": Rule(np.int64, ends_in="features.letters"),
    "learner.examples": _COUNTS,
    "learner.mistakes": Rule(np.int64, "", 0, MAX_COUNT, n_dimensions=2),
    "learner.online_mistakes": _COUNTS,
    "learner.passes": Rule(np.int64, "", 0, MAX_COUNT),
    "learner.positives": _COUNTS,
    "reservoir.complete": Rule(np.bool_, "reservoir.stops"),
    "reservoir.counts": Rule(np.float32, "reservoir.features", 1, 2**31),
    "reservoir.features": Rule(np.int32, index_of="features.stops"),
    "reservoir.label_stops": Rule(np.int64, "reservoir.stops", ends_in="reservoir.labels"),
    "reservoir.labels": Rule(np.int32, index_of="categories.stops"),
    "reservoir.stops": Rule(np.int64, ends_in="reservoir.features"),
    "weights.discarded": Rule(np.uint8),
    "weights.features": Rule(np.int32, index_of="features.stops"),
    "weights.late": Rule(np.uint8),
    "weights.moment": Rule(np.float64, "weights.features"),
    "weights.negative": _WEIGHTS,
    "weights.positive": _WEIGHTS,
    "weights.stops": Rule(np.int64, "categories.stops", ends_in="weights.features"),
    "weights.weight": _WEIGHTS,
}


def require(fact: Any, otherwise: str) -> None:
    """Raise a ModelFileError with the message `otherwise` unless the fact holds."""
    if not fact:
        raise ModelFileError(otherwise)


def check_arrays(arrays: Arrays) -> None:
    """Raise a ModelFileError unless each array is known and its rule in `RULES` holds."""
    for name, array in arrays.items():
        require(name in RULES, f"{name} is not an array of a model")
        rule = RULES[name]
        is_right = array.dtype == rule.kind and array.ndim == rule.n_dimensions
        require(is_right, f"{name} has the type {array.dtype} and {array.ndim} dimensions")
        if rule.as_long_as:
            require(len(array) == len(arrays[rule.as_long_as]), f"{name} and {rule.as_long_as} differ in length")
        if rule.ends_in:
            ends = np.append(0, array)
            is_division = (ends[1:] >= ends[:-1]).all() and ends[-1] == len(arrays[rule.ends_in])
            require(is_division, f"{name} does not divide {rule.ends_in}")
        high = len(arrays[rule.index_of]) - 1 if rule.index_of else rule.high
        if high is not None and array.size:
            require(rule.low <= array.min() and array.max() <= high, f"{name} holds a value out of range")
