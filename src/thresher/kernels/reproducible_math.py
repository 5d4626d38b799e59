"""Logarithm, exponential and sigmoid that return the same bits on every processor.

Those of NumPy and the C library differ in the last bit between processors and versions. Such differences would enter
strengths and thresholds, and so the digest of a model. These functions use IEEE additions, multiplications and
divisions in a fixed order, and exact scaling by powers of two. They are accurate to a few units in the last place.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts, the first with its low bits zero
_LN2_LOW = 1.90821492927058770002e-10
_LOG_TERMS = 12
_EXP_TERMS = 14
_MAX_EXPONENT = 700.0


def logarithm(values: ArrayLike) -> Floats:
    """Return the natural logarithm of positive numbers.

    >>> logarithm([1.0, 2.0, 10.0])
    array([0.        , 0.69314718, 2.30258509])
    """
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    low = mantissa < np.sqrt(0.5)
    mantissa = np.where(low, mantissa * 2, mantissa)
    exponent = (exponent - low).astype(np.float64)
    z = (mantissa - 1) / (mantissa + 1)
    square, series = z * z, np.zeros_like(z)
    for term in range(_LOG_TERMS, -1, -1):
        series = series * square + 1 / (2 * term + 1)
    return np.asarray(exponent * _LN2_HIGH + (exponent * _LN2_LOW + 2 * z * series))


def exponential(values: ArrayLike) -> Floats:
    """Return e to the power of each number, clipped to -700 .. 700.

    >>> exponential([0.0, 1.0, -1.0])
    array([1.        , 2.71828183, 0.36787944])
    """
    x = np.clip(np.asarray(values, dtype=np.float64), -_MAX_EXPONENT, _MAX_EXPONENT)
    twos = np.rint(x * (1 / (_LN2_HIGH + _LN2_LOW)))
    rest = (x - twos * _LN2_HIGH) - twos * _LN2_LOW
    series = np.ones_like(rest)
    for term in range(_EXP_TERMS, 0, -1):
        series = series * rest / term + 1
    return np.asarray(np.ldexp(series, twos.astype(np.int32)))


def sigmoid(values: ArrayLike) -> Floats:
    """Return 1 / (1 + e^-x), the paper's probability of a score (section 4.2).

    >>> sigmoid([0.0, 100.0])
    array([0.5, 1. ])
    """
    return np.asarray(1 / (1 + exponential(-np.asarray(values, dtype=np.float64))))
