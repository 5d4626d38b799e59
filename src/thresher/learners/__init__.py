"""The paper's three learners and Regularized Winnow on sparse rows: state, fit, partial_fit and score."""

from thresher.kernels.rows import Labels, Rows
from thresher.learners.balanced_winnow import BalancedWinnow
from thresher.learners.perceptron import Perceptron
from thresher.learners.positive_winnow import PositiveWinnow
from thresher.learners.regularized_winnow import RegularizedWinnow

__all__ = ["BalancedWinnow", "Labels", "Perceptron", "PositiveWinnow", "RegularizedWinnow", "Rows"]
