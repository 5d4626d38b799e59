"""Allowed values of the learners' parameters, one line per parameter, and their validation."""

from collections.abc import Callable, Mapping
from math import isfinite
from numbers import Integral, Real
from typing import Any, NamedTuple

from thresher.errors import ParameterError

LARGEST = 1e6
SMALLEST = 1e-6


class Range(NamedTuple):
    """The allowed values of a parameter, in words for the error message and as a test."""

    allowed: str
    test: Callable[[Any], bool]


def _number(value: Any) -> bool:
    real = isinstance(value, Real) and not isinstance(value, bool)
    return real and isfinite(value) and abs(value) <= LARGEST


def _between(low: float, high: float) -> Callable[[Any], bool]:
    """Return a test for a number above `low`, up to `high`."""
    return lambda value: _number(value) and low < value <= high


def _whole_from(low: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= low


def _ordered_pair(value: Any) -> bool:
    pair = isinstance(value, tuple | list) and len(value) == 2 and all(map(_number, value))
    return pair and bool(value[0] <= value[1])


def _switch(value: Any) -> bool:
    return type(value).__name__ in ("bool", "bool_")


def _none_or(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or test(value)


def _one_of(*names: object) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str | int) and not isinstance(value, bool) and value in names


WINNOW_STEPS = {
    "alpha": Range("above 1, up to 1e6", _between(1, LARGEST)),
    "beta": Range("above 1e-6, below 1", lambda value: _number(value) and SMALLEST < value < 1),
}
REGULARIZED_STEPS = {
    "size": Range("above 1e-6, up to 1e6", _between(SMALLEST, LARGEST)),
    "rate": Range("above 1e-6, up to 1e6", _between(SMALLEST, LARGEST)),
    "cap": Range("above 1e-6, up to 1e6", _between(SMALLEST, LARGEST)),
    "positive_cap": Range("above 1e-6, up to 1e6", _between(SMALLEST, LARGEST)),
}
PERCEPTRON_STEPS = {"alpha": Range("None or above 1e-6, up to 1e6", _none_or(_between(SMALLEST, LARGEST)))}
SHARED = {
    "theta": Range("above 1e-6, up to 1e6", _between(SMALLEST, LARGEST)),
    "threshold_range": Range("None or (low, high) with low <= high, within +-1e6", _none_or(_ordered_pair)),
    "average_active": Range("None or above 1e-6, up to 1e6", _none_or(_between(SMALLEST, LARGEST))),
    "strength": Range('"binary", "linear" or "sqrt"', _one_of("binary", "linear", "sqrt")),
    "normalize": Range("True or False", _switch),
    "max_passes": Range("a whole number from 1", _whole_from(1)),
    "shuffle": Range("True or False", _switch),
    "seed": Range("a whole number from 0", _whole_from(0)),
    "discard": Range("True or False", _switch),
    "discard_range": Range(
        '"initial", "zero" or (low, high) with low <= high, within +-1e6',
        lambda value: _one_of("initial", "zero")(value) or _ordered_pair(value),
    ),
    "discard_below": Range("from 0 to 1", lambda value: _number(value) and 0 <= value <= 1),
    "discard_by_pass": Range("a whole number from 1", _whole_from(1)),
    "discard_final": Range("True or False", _switch),
    "late_start": Range('"initial" or "zero"', _one_of("initial", "zero")),
    "sparse": Range("True or False", _switch),
    "average": Range("True or False", _switch),
    "n_threads": Range("None or a whole number from 1", _none_or(_whole_from(1))),
    "block_width": Range("None, 1, 2, 4, 8, 16 or 32", _none_or(_one_of(1, 2, 4, 8, 16, 32))),
}


def check_parameters(values: Mapping[str, Any], rules: Mapping[str, Range]) -> None:
    """Raise a ParameterError for the first parameter outside its range.

    >>> check_parameters({"alpha": 0.9}, WINNOW_STEPS)
    Traceback (most recent call last):
        ...
    thresher.errors.ParameterError: alpha=0.9 is out of range (allowed: above 1, up to 1e6)
    """
    for name, value in values.items():
        if not rules[name].test(value):
            raise ParameterError.of(name, value, f"is out of range (allowed: {rules[name].allowed})")
