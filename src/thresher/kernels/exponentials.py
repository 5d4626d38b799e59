"""The exponential over whole arrays, from sums and products alone; Regularized Winnow and the calibration call it."""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel

# 1.5 x 2**52: a number added to it is rounded to a whole one, which then stands in the last bits.
_ROUNDER = 6755399441055744.0
_LN2_HIGH, _LN2_LOW, _LOG2_E = 6.93147180369123816490e-01, 1.90821492927058770002e-10, 1.44269504088896338700


@kernel
def write_exponentials(values: NDArray[np.float64], rounded: NDArray[np.float64]) -> None:
    """Write e to the power of each value in its place, from -700 to 700; `rounded` is room to work in, as long.

    Loops over whole arrays, so that the compiler can take several numbers at once.
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
    # Now all lie between 0.7 and 1.5: adding to the exponent's bits multiplies by a power of two, exactly.
    for j in range(count):
        powers[j] += bits[j] << np.int64(52)
