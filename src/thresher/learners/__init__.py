"""The paper's three learners and Regularized Winnow, for sparse rows: fit, partial_fit and score.

The names are imported when they are first used, so that the settings can be read without compiled code.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thresher.kernels.csr import Labels, Rows
    from thresher.learners.balanced_winnow import BalancedWinnow
    from thresher.learners.perceptron import Perceptron
    from thresher.learners.positive_winnow import PositiveWinnow
    from thresher.learners.regularized_winnow import RegularizedWinnow

_HOMES = {
    "BalancedWinnow": "thresher.learners.balanced_winnow",
    "Labels": "thresher.kernels.csr",
    "Perceptron": "thresher.learners.perceptron",
    "PositiveWinnow": "thresher.learners.positive_winnow",
    "RegularizedWinnow": "thresher.learners.regularized_winnow",
    "Rows": "thresher.kernels.csr",
}

__all__ = ["BalancedWinnow", "Labels", "Perceptron", "PositiveWinnow", "RegularizedWinnow", "Rows"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'thresher.learners' has no attribute {name!r}")
