"""Sparse rows of features, the labels that go with them, and the checks that no compiled loop can do without."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel


class Rows(NamedTuple):
    """Documents as sparse rows: row i has the features indices[indptr[i]:indptr[i+1]], increasing, and their data."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]
    n_features: int


class Labels(NamedTuple):
    """The judgements on the rows: +1 or -1 for each listed category, and `others` for every category not listed.

    `others` is -1 where a document's labels are complete, 0 where categories not listed are left alone.
    """

    indptr: NDArray[np.int64]
    categories: NDArray[np.int32]
    signs: NDArray[np.int8]
    others: int


@kernel
def first_faulty_row(indptr: NDArray[np.int64], indices: NDArray[np.int32], n_features: int) -> int:
    """Return the first row whose indices do not increase strictly within 0 .. n_features - 1, or -1."""
    for i in range(len(indptr) - 1):
        previous = -1
        for j in range(indptr[i], indptr[i + 1]):
            if indices[j] <= previous or indices[j] >= n_features:
                return i
            previous = indices[j]
    return -1


@kernel
def normalized_rows(indptr: NDArray[np.int64], strengths: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the strengths divided by their row's sum: summed in order and divided in float64, then rounded once."""
    normalized = np.empty_like(strengths)
    for i in range(len(indptr) - 1):
        total = np.float64(0)
        for j in range(indptr[i], indptr[i + 1]):
            total += np.float64(strengths[j])
        for j in range(indptr[i], indptr[i + 1]):
            normalized[j] = np.float32(np.float64(strengths[j]) / total)
    return normalized
