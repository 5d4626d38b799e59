"""The paper's three learners and Regularized Winnow, for sparse rows: fit, partial_fit and score."""

from thresher.kernels.csr import Labels, Rows
from thresher.learners.balanced_winnow import BalancedWinnow
from thresher.learners.perceptron import Perceptron
from thresher.learners.positive_winnow import PositiveWinnow
from thresher.learners.regularized_winnow import RegularizedWinnow

__all__ = ["BalancedWinnow", "Labels", "Perceptron", "PositiveWinnow", "RegularizedWinnow", "Rows"]
