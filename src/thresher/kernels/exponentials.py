"""Exponential function over whole arrays, computed with additions and multiplications only.

Regularized Winnow and the calibration use it.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel

# 1.5 x 2**52: adding a number to it rounds the number to an integer, which is then in the last bits.
_ROUNDER = 6755399441055744.0
_LN2_HIGH, _LN2_LOW, _LOG2_E = 6.93147180369123816490e-01, 1.90821492927058770002e-10, 1.44269504088896338700


@kernel
def write_exponentials(values: NDArray[np.float64], rounded: NDArray[np.float64]) -> None:
    """Replace each value, from -700 to 700, by its exponential; `rounded` is scratch space of the same length.

    The loops run over whole arrays so that the compiler can vectorize them.
    """
    count = len(values)
    bits, powers = rounded.view(np.int64), values.view(np.int64)
    for j in range(count):
        x = values[j]
        rounded[j] = x * _LOG2_E + _ROUNDER
        twos = rounded[j] - _ROUNDER
        values[j] = (x - twos * _LN2_HIGH) - twos * _LN2_LOW
    for j in range(count):
        r = values[j]
        series = 1.0 / 39916800.0 * r + 1.0 / 3628800.0
        series = series * r + 1.0 / 362880.0
        series = series * r + 1.0 / 40320.0
        series = series * r + 1.0 / 5040.0
        series = series * r + 1.0 / 720.0
        series = series * r + 1.0 / 120.0
        series = series * r + 1.0 / 24.0
        series = series * r + 1.0 / 6.0
        series = series * r + 0.5
        series = series * r + 1.0
        values[j] = series * r + 1.0
    # All values now lie between 0.7 and 1.5. Adding to the exponent bits multiplies by a power of two, exactly.
    for j in range(count):
        powers[j] += bits[j] << np.int64(52)
