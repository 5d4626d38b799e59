"""The vector-space model on sparse rows: unit length, sums over categories, products with weights; rivals call it."""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.rows import Labels, Rows


@kernel
def unit_rows(indptr: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values divided by their row's Euclidean length; a row of zeros stays one."""
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
    """Add each row to the columns of the categories that it has; writes `sums`, (features, categories)."""
    indptr, indices, data, _ = rows
    for i in range(len(indptr) - 1):
        for k in range(labels.indptr[i], labels.indptr[i + 1]):
            category = labels.categories[k]
            for j in range(indptr[i], indptr[i + 1]):
                sums[indices[j], category] += data[j]


@kernel
def add_products(rows: Rows, start: int, weights: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    """Add to each row of `scores`, from row `start` on, strength x weight of its features, in their order."""
    indptr, indices, data, _ = rows
    for i in range(len(scores)):
        own = scores[i]
        for j in range(indptr[start + i], indptr[start + i + 1]):
            weight, strength = weights[indices[j]], np.float64(data[j])
            for category in range(len(own)):
                own[category] += strength * weight[category]
