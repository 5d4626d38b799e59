"""One pass of the exponentiated gradient over the documents, for all categories at once.

`rivals.exponentiated_gradient` calls this module. An update multiplies only the weights of active features. The
division of all weights by their sum is deferred: a category's weights are its `parts` over their `total`. The sums for
the averages are updated when a feature is touched. A part that has not changed since the clock read s has added part x
(clock - s), where the clock advances by 1 / total with every example.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.csr import Labels, Rows
from thresher.kernels.reproducible_math import _EXP_TERMS, _LN2_HIGH, _LN2_LOW, _MAX_EXPONENT


class Parts(NamedTuple):
    """The undivided weights of all categories, (features, categories), and the sums for their averages.

    `part` / `total` is the current weight. `sums` adds up the weights over the examples, up to `since`: the value of
    the category's `clock` when the feature was last touched.
    """

    part: NDArray[np.float64]
    sums: NDArray[np.float64]
    since: NDArray[np.float64]
    total: NDArray[np.float64]
    clock: NDArray[np.float64]


class Bounds(NamedTuple):
    """The bounds of a category's undivided total, and the largest exponent of a single step."""

    low: np.float64
    high: np.float64
    exponent: np.float64


class Series(NamedTuple):
    """The constants of the exponential function.

    They are ln 2 in two parts, its inverse, the largest exponent, the terms of the series from the last one, and powers
    of two.
    """

    ln2_high: np.float64
    ln2_low: np.float64
    per_ln2: np.float64
    limit: np.float64
    terms: NDArray[np.float64]
    powers: NDArray[np.float64]


_MOST_TWOS = 1020
SERIES = Series(
    np.float64(_LN2_HIGH),
    np.float64(_LN2_LOW),
    np.float64(1 / (_LN2_HIGH + _LN2_LOW)),
    np.float64(_MAX_EXPONENT),
    np.arange(_EXP_TERMS, 0, -1, dtype=np.float64),
    np.ldexp(1.0, np.arange(-_MOST_TWOS, _MOST_TWOS + 1)),
)


@kernel
def write_exponentials(
    values: NDArray[np.float64], series: Series, scale: NDArray[np.float64], found: NDArray[np.float64]
) -> None:
    """Write e to the power of each value into `found`; overwrites `values`.

    The result has the same bits as `reproducible_math.exponential`.
    """
    ln2_high, ln2_low, per_ln2, limit, terms, powers = series
    # Compute one term for all values, not all terms for one value, so that the compiler can vectorize the loop.
    for i in range(len(values)):
        x = min(max(values[i], -limit), limit)
        twos = np.rint(x * per_ln2)
        values[i] = (x - twos * ln2_high) - twos * ln2_low
        found[i] = np.float64(1)
        scale[i] = powers[np.int64(twos) + len(powers) // 2]
    for k in range(len(terms)):
        for i in range(len(values)):
            found[i] = np.divide(found[i] * values[i], terms[k]) + np.float64(1)
    for i in range(len(values)):
        found[i] *= scale[i]


@kernel
def predict_row(
    rows: Rows, row: int, part: NDArray[np.float64], total: NDArray[np.float64], predictions: NDArray[np.float64]
) -> None:
    """Write the prediction for each category, the sum of strength x weight, into `predictions`."""
    indices, data = rows.indices, rows.data
    predictions[:] = np.float64(0)
    for j in range(rows.indptr[row], rows.indptr[row + 1]):
        own, strength = part[indices[j]], np.float64(data[j])
        for category in range(len(total)):
            predictions[category] += strength * own[category]
    for category in range(len(total)):
        predictions[category] /= total[category]


@kernel
def sum_parts(category: int, part: NDArray[np.float64]) -> np.float64:
    """Return the sum of a category's parts, in feature order."""
    total = np.float64(0)
    for feature in range(len(part)):
        total += part[feature, category]
    return total


@kernel
def settle(category: int, parts: Parts) -> None:
    """Update a category's sums and divide its parts by their total.

    Writes all of the category's values in `parts`.
    """
    part, sums, since, total, clock = parts
    for feature in range(len(part)):
        sums[feature, category] += part[feature, category] * (clock[category] - since[feature, category])
        since[feature, category] = np.float64(0)
        part[feature, category] /= total[category]
    total[category] = sum_parts(category, part)
    clock[category] = np.float64(0)


@kernel
def multiply_features(
    features: NDArray[np.int32],
    strengths: NDArray[np.float32],
    steps: NDArray[np.float64],
    most: np.float64,
    series: Series,
    parts: Parts,
) -> None:
    """Multiply the parts of the features by e^(step x strength); writes part, sums, since and total."""
    part, sums, since, total, clock = parts
    exponents, scale, factors = np.empty(len(steps)), np.empty(len(steps)), np.empty(len(steps))
    for j in range(len(features)):
        own, summed, touched = part[features[j]], sums[features[j]], since[features[j]]
        strength = np.float64(strengths[j])
        for category in range(len(steps)):
            exponents[category] = min(max(steps[category] * strength, -most), most)
        write_exponentials(exponents, series, scale, factors)
        for category in range(len(steps)):
            before = own[category]
            summed[category] += before * (clock[category] - touched[category])
            touched[category] = clock[category]
            own[category] = before * factors[category]
            total[category] += own[category] - before


@kernel
def run_exponentiated_gradient_pass(
    rows: Rows,
    labels: Labels,
    order: NDArray[np.int64],
    double_rate: np.float64,
    bounds: Bounds,
    series: Series,
    parts: Parts,
) -> None:
    """Learn the rows in `order`; writes `parts`.

    A category is settled when its total leaves the bounds.
    """
    indptr, indices, data, _ = rows
    total, clock = parts.total, parts.clock
    steps = np.empty(len(total))
    low, high, most = bounds
    for row in order:
        start, stop = indptr[row], indptr[row + 1]
        predict_row(rows, row, parts.part, total, steps)
        for k in range(labels.indptr[row], labels.indptr[row + 1]):
            steps[labels.categories[k]] -= np.float64(1)
        for category in range(len(steps)):
            steps[category] *= -double_rate
        multiply_features(indices[start:stop], data[start:stop], steps, most, series, parts)
        for category in range(len(steps)):
            within = low <= total[category] <= high
            if not within:  # a total that fell far has few correct digits left
                total[category] = sum_parts(category, parts.part)
            clock[category] += np.float64(1) / total[category]
            if not within:
                settle(category, parts)
