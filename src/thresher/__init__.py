"""Thresher sorts text into categories, learns from every correction, and says which words decided.

This module is the table of contents: its names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from thresher.support.version import __version__

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer
    from thresher.datasets.document import Document
    from thresher.datasets.reader import read_documents
    from thresher.errors import ThresherError
    from thresher.evaluation import evaluate
    from thresher.journal.journaled_model import JournaledModel
    from thresher.learners import BalancedWinnow, Labels, Perceptron, PositiveWinnow, RegularizedWinnow, Rows

_HOMES = {
    "Categorizer": "thresher.categorizer",
    "Document": "thresher.datasets.document",
    "JournaledModel": "thresher.journal.journaled_model",
    "ThresherError": "thresher.errors",
    "evaluate": "thresher.evaluation",
    "read_documents": "thresher.datasets.reader",
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
    "Document",
    "JournaledModel",
    "Labels",
    "Perceptron",
    "PositiveWinnow",
    "RegularizedWinnow",
    "Rows",
    "ThresherError",
    "__version__",
    "evaluate",
    "read_documents",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'thresher' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
