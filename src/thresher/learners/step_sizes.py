"""Step sizes of mistakes, for rows that may count more or less than once."""

from decimal import Context, Decimal

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.dense_weights import MAX_WEIGHT, MIN_WEIGHT, Steps

# Decimal powers are the same on every machine, unlike those of the C library and of NumPy's vector code.
_DECIMAL = Context(prec=34, Emax=10**9, Emin=-(10**9), traps=[])


def power(base: float, exponent: float) -> np.float32:
    """Return base ** exponent, clamped to the range of weights and rounded to float32.

    >>> power(1.2, 1.0), power(1.2, 1e6)
    (np.float32(1.2), np.float32(1.1529215e+18))
    """
    exact = _DECIMAL.power(Decimal(base), Decimal(exponent))
    return np.float32(float(min(max(exact, Decimal(float(MIN_WEIGHT))), Decimal(float(MAX_WEIGHT)))))


def multiplicative_steps(alpha: float, beta: float, times: NDArray[np.float64]) -> Steps:
    """Return alpha and beta, each to the power of the row's weight.

    >>> multiplicative_steps(2.0, 0.5, np.array([1.0, 3.0])).promotion
    array([2., 8.], dtype=float32)
    """
    distinct, places = np.unique(times, return_inverse=True)
    promotions = np.array([power(float(alpha), float(k)) for k in distinct], dtype=np.float32)
    demotions = np.array([power(float(beta), float(k)) for k in distinct], dtype=np.float32)
    return Steps(promotions[places], demotions[places])


def additive_steps(alpha: float, times: NDArray[np.float64]) -> Steps:
    """Return +alpha and -alpha, each times the row's weight.

    >>> additive_steps(0.5, np.array([1.0, 3.0])).demotion
    array([-0.5, -1.5], dtype=float32)
    """
    promotion = (alpha * times).astype(np.float32)
    return Steps(promotion, -promotion)
