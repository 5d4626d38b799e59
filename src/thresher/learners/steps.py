"""The steps that a mistake takes, for rows that may count more or less than once; the learners choose one."""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.weights import LARGEST_WEIGHT, SMALLEST_WEIGHT, Steps


def multiplicative_steps(alpha: float, beta: float, times: NDArray[np.float64]) -> Steps:
    """Return alpha and beta to the power of each row's weight.

    >>> multiplicative_steps(2.0, 0.5, np.array([1.0, 3.0])).promotion
    array([2., 8.], dtype=float32)
    """

    def powers(base: float) -> NDArray[np.float32]:
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(np.power(base, times), SMALLEST_WEIGHT, LARGEST_WEIGHT).astype(np.float32)

    return Steps(powers(alpha), powers(beta))


def additive_steps(alpha: float, times: NDArray[np.float64]) -> Steps:
    """Return alpha, added or subtracted, times each row's weight.

    >>> additive_steps(0.5, np.array([1.0, 3.0])).demotion
    array([-0.5, -1.5], dtype=float32)
    """
    promotion = (alpha * times).astype(np.float32)
    return Steps(promotion, -promotion)
