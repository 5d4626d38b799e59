"""Sparse rows of features, the labels that go with them, and the checks that no compiled loop can do without."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel


class Rows(NamedTuple):
    """Documents as sparse rows (the paper's d = (s_1 ... s_m), section 3): only active features are listed.

    Parameters
    ----------
    indptr : array of rows + 1 whole numbers
        Row i has the entries indptr[i] to indptr[i + 1] of the other two arrays.
    indices : array
        The numbers of its features, increasing within a row.
    data : array
        How often each occurs, or how strong it is.
    n_features : int
        How many features there are in all.

    Examples
    --------
    Two documents: features 0 and 2, the latter twice; feature 1.

    >>> Rows(indptr=[0, 2, 3], indices=[0, 2, 1], data=[1, 2, 1], n_features=3).n_features
    3
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]
    n_features: int


class Labels(NamedTuple):
    """Judgements on rows (the labels y of section 3), which may leave categories alone.

    Parameters
    ----------
    indptr : array of rows + 1 whole numbers
        Row i has the entries indptr[i] to indptr[i + 1] of the next two arrays.
    categories : array
        The numbers of the categories that are judged.
    signs : array
        +1 where the row belongs to the category, -1 where it does not.
    others : -1 or 0
        What holds for every category not listed: -1 where the labels are complete, 0 where it is left alone.

    Examples
    --------
    The first document is in category 1 and in no other; the second in none.

    >>> Labels(indptr=[0, 1, 1], categories=[1], signs=[1], others=-1).others
    -1
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
def cosine_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    counts: NDArray[np.float32],
    dampened: NDArray[np.float32],
    idf: NDArray[np.float32],
    documents: NDArray[np.int64],
    constant: np.float32,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return rows of the strengths dampened[count] x idf, divided by the length of their row.

    Squares are summed in order in float64, and strengths rounded once. Only features that were in documents of `fit`
    make the length, unless none of a row was. If `constant` is not 0, feature 0 comes first in every row that is not
    empty, with that strength.
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
    """Write the entries of rows one behind the other, from `place` on."""
    for row in range(len(starts)):
        for j in range(starts[row], stops[row]):
            chosen_indices[place] = indices[j]
            chosen_data[place] = data[j]
            place += 1


@kernel
def count_features(indices: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add to `counts` how often each feature is listed."""
    for feature in indices:
        counts[feature] += 1


@kernel
def hash_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], data: NDArray[np.float32], hashes: NDArray[np.int64]
) -> None:
    """Write a number for each row that is the same for the same row, and seldom for another."""
    for row in range(len(hashes)):
        hashed = np.int64(indptr[row + 1] - indptr[row])
        for k in range(indptr[row], indptr[row + 1]):
            count = np.int64(min(data[k], np.float32(2.0**20)))
            hashed = (hashed * 1000003 + indices[k] * 31 + count) & 0xFFFFFFFFFF
        hashes[row] = hashed
