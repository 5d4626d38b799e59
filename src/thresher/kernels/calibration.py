"""Kernels for calibration and cross-validation: the slope of a sigmoid, and folds of documents.

`model.decisions` and `rows.folds` call them.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.exponentials import write_exponentials

_MAX_EXPONENT = 700.0
_NEWTON_STEPS = 40
_NEWTON_ENDS = 1e-9


@kernel
def find_likeliest_slope(
    margins: NDArray[np.float64], targets: NDArray[np.float64], smallest: float, largest: float
) -> float:
    """Return the slope for which sigmoid(slope x margin) makes the targets most likely.

    Newton's method starts at `smallest` and moves upwards, to `largest` at most. Sums are made in the order of the
    array.
    """
    count = len(margins)
    sigmoids, rounded = np.empty(count, dtype=np.float64), np.empty(count, dtype=np.float64)
    slope = smallest
    for _ in range(_NEWTON_STEPS):
        for j in range(count):
            sigmoids[j] = min(max(-slope * margins[j], -_MAX_EXPONENT), _MAX_EXPONENT)
        write_exponentials(sigmoids, rounded)
        for j in range(count):
            sigmoids[j] = 1.0 / (1.0 + sigmoids[j])
        gradient, curvature = 0.0, 0.0
        for j in range(count):
            gradient += margins[j] * (sigmoids[j] - targets[j])
            curvature += margins[j] * margins[j] * sigmoids[j] * (1.0 - sigmoids[j])
        # The curvature falls as the slope grows, so a step from below never overshoots the zero of the gradient.
        if gradient >= 0 or slope == largest:
            break
        step = -gradient / max(curvature, 1e-300)
        slope = min(slope + step, largest)
        if step < _NEWTON_ENDS * slope:
            break
    return slope


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
