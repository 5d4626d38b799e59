"""Sparse rows of features and their labels in CSR form, and kernels that check and transform rows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel


class Rows(NamedTuple):
    """Documents as sparse rows in CSR form (the paper's d = (s_1 ... s_m), section 3).

    Only active features are listed.

    Parameters
    ----------
    indptr : array of rows + 1 integers
        Row i has the entries indptr[i] to indptr[i + 1] of the other two arrays.
    indices : array
        The numbers of its features, increasing within a row.
    data : array
        The count or the strength of each feature.
    n_features : int
        The total number of features.

    Examples
    --------
    The first document has feature 0 once and feature 2 twice. The second has feature 1.

    >>> Rows(indptr=[0, 2, 3], indices=[0, 2, 1], data=[1, 2, 1], n_features=3).n_features
    3
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]
    n_features: int


class Labels(NamedTuple):
    """Labels of rows (the paper's y, section 3), complete or partial.

    Parameters
    ----------
    indptr : array of rows + 1 integers
        Row i has the entries indptr[i] to indptr[i + 1] of the next two arrays.
    categories : array
        The numbers of the labeled categories.
    signs : array
        +1 if the row belongs to the category, -1 if it does not.
    others : -1 or 0
        The label of every category that is not listed: -1 if labels are complete, 0 (no label) if they are partial.

    Examples
    --------
    The first document is only in category 1, the second in no category.

    >>> Labels(indptr=[0, 1, 1], categories=[1], signs=[1], others=-1).others
    -1
    """

    indptr: NDArray[np.int64]
    categories: NDArray[np.int32]
    signs: NDArray[np.int8]
    others: int


@kernel
def find_faulty_row(indptr: NDArray[np.int64], indices: NDArray[np.int32], n_features: int) -> int:
    """Return the first row whose indices do not increase strictly within 0 .. n_features - 1, or -1."""
    for i in range(len(indptr) - 1):
        previous = -1
        for j in range(indptr[i], indptr[i + 1]):
            if indices[j] <= previous or indices[j] >= n_features:
                return i
            previous = indices[j]
    return -1


@kernel
def cosine_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    counts: NDArray[np.float32],
    dampened: NDArray[np.float32],
    idf: NDArray[np.float32],
    documents: NDArray[np.int64],
    constant: np.float32,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return rows of the strengths dampened[count] x idf, divided by the length of the row's vector.

    Squares are summed in order in float64, and strengths are rounded once. The length covers only features that were in
    documents of `fit`, or all features if the row has no such feature. If `constant` is not 0, feature 0 comes first in
    every non-empty row, with that strength.
    """
    extra = 1 if constant != 0 else 0
    room = len(indices) + extra * (len(indptr) - 1)
    ends = np.empty(len(indptr), dtype=np.int64)
    features, strengths = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
    ends[0] = filled = 0
    for row in range(len(indptr) - 1):
        start, stop = indptr[row], indptr[row + 1]
        if extra and stop > start:
            features[filled], strengths[filled] = 0, constant
            filled += 1
        total, others = np.float64(0), np.float64(0)
        shift = filled - start
        for j in range(start, stop):
            strength = dampened[np.int64(counts[j])] * idf[indices[j]]
            features[j + shift], strengths[j + shift] = indices[j], strength
            square = np.float64(strength) * np.float64(strength)
            if documents[indices[j]] > 0:
                total += square
            else:
                others += square
        length = np.sqrt(total if total > 0 else others)
        for j in range(start, stop):
            strengths[j + shift] = np.float32(np.float64(strengths[j + shift]) / length)
        filled += stop - start
        ends[row + 1] = filled
    return ends, features[:filled], strengths[:filled]


@kernel
def normalize_rows(indptr: NDArray[np.int64], strengths: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the strengths divided by the sum of their row.

    Sums are made in order. Sums and quotients are float64, and each result is rounded once.
    """
    normalized = np.empty_like(strengths)
    for i in range(len(indptr) - 1):
        total = np.float64(0)
        for j in range(indptr[i], indptr[i + 1]):
            total += np.float64(strengths[j])
        for j in range(indptr[i], indptr[i + 1]):
            normalized[j] = np.float32(np.float64(strengths[j]) / total)
    return normalized


@kernel
def copy_rows(
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float32],
    place: int,
    chosen_indices: NDArray[np.int32],
    chosen_data: NDArray[np.float32],
) -> None:
    """Copy the entries of rows one after another, from `place` on."""
    for row in range(len(starts)):
        for j in range(starts[row], stops[row]):
            chosen_indices[place] = indices[j]
            chosen_data[place] = data[j]
            place += 1


@kernel
def count_features(indices: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add the number of occurrences of each feature to `counts`."""
    for feature in indices:
        counts[feature] += 1


@kernel
def hash_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], data: NDArray[np.float32], hashes: NDArray[np.int64]
) -> None:
    """Write a hash of each row; equal rows have equal hashes, and different rows seldom do."""
    for row in range(len(hashes)):
        hashed = np.int64(indptr[row + 1] - indptr[row])
        for k in range(indptr[row], indptr[row + 1]):
            count = np.int64(min(data[k], np.float32(2.0**20)))
            hashed = (hashed * 1000003 + indices[k] * 31 + count) & 0xFFFFFFFFFF
        hashes[row] = hashed
