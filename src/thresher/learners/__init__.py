"""The paper's three learners on sparse rows: state, fit, partial_fit and score, for all categories at once."""

from thresher.kernels.rows import Labels, Rows
from thresher.learners.balanced_winnow import BalancedWinnow
from thresher.learners.perceptron import Perceptron
from thresher.learners.positive_winnow import PositiveWinnow

__all__ = ["BalancedWinnow", "Labels", "Perceptron", "PositiveWinnow", "Rows"]
