"""Thresher sorts text into categories, learns from every correction, and says which words decided.

This module is the table of contents: its names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer
    from thresher.learners import BalancedWinnow, Labels, Perceptron, PositiveWinnow, RegularizedWinnow, Rows

__version__ = "0.1.0"

_HOMES = {
    "Categorizer": "thresher.categorizer",
    "BalancedWinnow": "thresher.learners",
    "Labels": "thresher.learners",
    "Perceptron": "thresher.learners",
    "PositiveWinnow": "thresher.learners",
    "RegularizedWinnow": "thresher.learners",
    "Rows": "thresher.learners",
}

__all__ = [
    "BalancedWinnow",
    "Categorizer",
    "Labels",
    "Perceptron",
    "PositiveWinnow",
    "RegularizedWinnow",
    "Rows",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'thresher' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
