"""Kernels for calibration and cross-validation: a sigmoid that fits probabilities, and folds of documents.

`model.decisions` and `rows.folds` call them.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.exponentials import write_exponentials

_MAX_EXPONENT = 700.0
_NEWTON_STEPS = 60
_SMALLEST, _SMALLEST_SHARE = 1e-300, 2.0**-30


@kernel
def measure_spread(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean of the values and their standard deviation; sums are made in order."""
    total = 0.0
    for value in values:
        total += value
    mean, squares = total / len(values), 0.0
    for value in values:
        squares += (value - mean) * (value - mean)
    return mean, np.sqrt(squares / len(values))


@kernel
def differentiate(
    values: NDArray[np.float64],
    targets: NDArray[np.float64],
    line: tuple[float, float],
    prior: tuple[float, float],
    weights: tuple[float, float],
) -> tuple[float, float, float, float, float]:
    """Return the two first and the three second derivatives of the loss that `fit_sigmoid` minimizes."""
    slope, offset = line
    sigmoids, rounded = np.empty(len(values), dtype=np.float64), np.empty(len(values), dtype=np.float64)
    for j in range(len(values)):
        sigmoids[j] = min(max(-(slope * values[j] + offset), -_MAX_EXPONENT), _MAX_EXPONENT)
    write_exponentials(sigmoids, rounded)
    by_slope, by_offset = weights[0] * (slope - prior[0]), weights[1] * (offset - prior[1])
    slope_twice, both, offset_twice = weights[0], 0.0, weights[1]
    for j in range(len(values)):
        sigmoid = 1.0 / (1.0 + sigmoids[j])
        error, curvature = sigmoid - targets[j], sigmoid * (1.0 - sigmoid)
        by_slope += values[j] * error
        by_offset += error
        slope_twice += values[j] * values[j] * curvature
        both += values[j] * curvature
        offset_twice += curvature
    return by_slope, by_offset, slope_twice, both, offset_twice


@kernel
def fit_sigmoid(
    values: NDArray[np.float64],
    targets: NDArray[np.float64],
    prior: tuple[float, float],
    weights: tuple[float, float],
) -> tuple[float, float]:
    """Return the slope and the offset for which sigmoid(slope x value + offset) fits the targets best.

    The loss is the negative log-likelihood, plus half of each weight times the squared distance from the prior.
    Newton's method starts at the prior. A step is halved until the gradient becomes shorter. Sums are made in order.
    """
    slope, offset = prior
    by_slope, by_offset, slope_twice, both, offset_twice = differentiate(values, targets, prior, prior, weights)
    for _ in range(_NEWTON_STEPS):
        determinant = max(slope_twice * offset_twice - both * both, _SMALLEST)
        slope_step = (offset_twice * by_slope - both * by_offset) / determinant
        offset_step = (slope_twice * by_offset - both * by_slope) / determinant
        length, share, is_shorter = by_slope * by_slope + by_offset * by_offset, 1.0, False
        while not is_shorter and share > _SMALLEST_SHARE:
            line = (slope - share * slope_step, offset - share * offset_step)
            found = differentiate(values, targets, line, prior, weights)
            is_shorter = found[0] * found[0] + found[1] * found[1] < length
            share /= 2
        if not is_shorter:
            break
        slope, offset = line
        by_slope, by_offset, slope_twice, both, offset_twice = found
    return slope, offset


@kernel
def write_folds(
    rarest: NDArray[np.int64],
    labels: NDArray[np.bool_],
    order: NDArray[np.int64],
    n_folds: int,
    fold_of: NDArray[np.int64],
) -> None:
    """Write the fold of each document, placed in `order`, into `fold_of`.

    A document goes to the fold with the fewest positives of its rarest category or, in a tie, to the smallest of these.
    Fold sizes differ by at most one.
    """
    held = np.zeros((labels.shape[1], n_folds), dtype=np.int64)
    sizes, whole_rounds = np.zeros(n_folds, dtype=np.int64), len(order) // n_folds
    for placed in range(len(order)):
        document = order[placed]
        limit = whole_rounds + (placed >= whole_rounds * n_folds)
        positives, best = held[rarest[document]], 0
        for fold in range(n_folds):
            fewer = positives[fold] < positives[best] or (
                positives[fold] == positives[best] and sizes[fold] < sizes[best]
            )
            if sizes[fold] < limit and (fewer or sizes[best] >= limit):
                best = fold
        fold_of[document] = best
        for category in range(labels.shape[1]):
            held[category, best] += labels[document, category]
        sizes[best] += 1
