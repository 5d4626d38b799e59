"""The vector-space model on sparse rows: unit length, sums by category, products with weights.

The rivals call this module.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.csr import Labels, Rows


@kernel
def normalize_rows(indptr: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values divided by their row's Euclidean length; a row of zeros stays zero."""
    unit = values.copy()
    for i in range(len(indptr) - 1):
        squares = np.float64(0)
        for j in range(indptr[i], indptr[i + 1]):
            squares += values[j] * values[j]
        if squares > 0:
            length = np.sqrt(squares)
            for j in range(indptr[i], indptr[i + 1]):
                unit[j] = values[j] / length
    return unit


@kernel
def add_by_category(rows: Rows, labels: Labels, sums: NDArray[np.float64]) -> None:
    """Add each row to the columns of its categories; writes `sums`, (features, categories)."""
    indptr, indices, data, _ = rows
    for i in range(len(indptr) - 1):
        for k in range(labels.indptr[i], labels.indptr[i + 1]):
            category = labels.categories[k]
            for j in range(indptr[i], indptr[i + 1]):
                sums[indices[j], category] += data[j]


@kernel
def add_products(rows: Rows, start: int, weights: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    """Add strength x weight of each row's features to `scores`, whose first row is row `start` of the rows.

    The products are added in feature order.
    """
    indptr, indices, data, _ = rows
    for i in range(len(scores)):
        own = scores[i]
        for j in range(indptr[start + i], indptr[start + i + 1]):
            weight, strength = weights[indices[j]], np.float64(data[j])
            for category in range(len(own)):
                own[category] += strength * weight[category]
