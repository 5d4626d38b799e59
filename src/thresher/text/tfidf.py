"""Tf-idf strengths, which are higher for features that fewer documents have.

"tfidf" is the square root of the count x idf. "cosine" is (1 + ln count) x idf, divided by the length of the document's
vector, so that documents of any length weigh the same.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows, cosine_rows
from thresher.kernels.reproducible_math import logarithm
from thresher.rows.spilled import convert_rows, count_documents_by_feature

IDF_RANGE = 1e-6, 1e6  # a logarithm divided by a mean of logarithms: near 1
_MAX_IN_TABLE = 1 << 16
_MAX_EXACT = 1 << 24  # positions up to here are exact as float32, which the kernel is compiled for


def compute_idf(rows: Rows, constant: bool = False) -> NDArray[np.float32]:
    """Return each feature's idf, divided by the mean idf in the rows.

    The idf is 1 + ln((1 + documents) / (1 + documents with the feature)). Dividing by the mean keeps strengths near
    square-root counts, so that scores start near the threshold. If feature 0 is a `constant`, all documents have it.

    >>> compute_idf(Rows(np.array([0, 2, 3]), np.array([0, 1, 0]), np.ones(3), 2)).round(2)
    array([0.88, 1.24], dtype=float32)
    """
    return compute_idf_of_counts(count_documents_by_feature(rows), len(rows.indptr) - 1, len(rows.indices), constant)


def compute_idf_of_counts(
    documents: NDArray[np.int64], n_documents: int, n_entries: int, constant: bool = False
) -> NDArray[np.float32]:
    """Return each feature's idf, from its number of documents and the numbers of all documents and entries."""
    having = np.append(n_documents, documents[1:]) if constant else documents
    idf = 1 + logarithm((1 + n_documents) / (1 + having))
    total = np.cumsum(idf * documents)[-1]  # summed one by one: the same bits everywhere
    return np.asarray((idf / (total / max(n_entries, 1))).astype(np.float32))


def compute_late_idf(idf: NDArray[np.float32], n_documents: int, document_counts: NDArray[np.int64]) -> np.float32:
    """Return the idf of a feature that appeared after `fit`, as if it had been in one document."""
    commonest = int(document_counts.argmax())
    usual = 1 + logarithm((1 + n_documents) / (1 + document_counts[commonest]))
    once = 1 + logarithm((1 + n_documents) / 2)
    return np.float32(min(max(float(idf[commonest]) * float(once) / float(usual), IDF_RANGE[0]), IDF_RANGE[1]))


def weigh_rows(
    rows: Rows,
    idf: NDArray[np.float32],
    strength: str,
    documents: NDArray[np.int64] | None = None,
    constant: float = 0.0,
) -> Rows:
    """Return rows of counts as rows of strengths that depend on idf: "tfidf" or "cosine".

    The length of a document's vector covers the features that were in `documents` of `fit`, by default all. Later
    features must not change a document's score for categories that have not met them. If `constant` is not 0, every
    non-empty row also gets feature 0 with that strength.

    >>> rows = Rows(np.array([0, 2]), np.array([0, 1]), np.array([1, 4], dtype=np.float32), 2)
    >>> weigh_rows(rows, np.array([1, 2], dtype=np.float32), "tfidf").data
    array([1., 4.], dtype=float32)
    >>> weigh_rows(rows, np.array([1, 2], dtype=np.float32), "cosine").data.round(3)
    array([0.205, 0.979], dtype=float32)
    """
    counts = np.ones(rows.n_features, dtype=np.int64) if documents is None else documents
    return convert_rows(rows, lambda part: _weigh_part(part, idf, strength, counts, constant))


def _weigh_part(
    rows: Rows, idf: NDArray[np.float32], strength: str, documents: NDArray[np.int64], constant: float
) -> Rows:
    if strength == "tfidf":
        strong = rows._replace(data=np.sqrt(rows.data) * idf[rows.indices])
        return _add_constant(strong, constant) if constant else strong
    largest = int(rows.data.max(initial=1))
    if largest < _MAX_IN_TABLE:  # counts are integers, and few are large
        weighed = cosine_rows(*rows[:3], _choose_table(largest), idf, documents, np.float32(constant))
    else:
        values, places = np.unique(rows.data, return_inverse=True)
        counts: Any = places.astype(np.float32) if len(values) <= _MAX_EXACT else places
        weighed = cosine_rows(*rows[:2], counts, _dampen(values), idf, documents, np.float32(constant))
    return Rows(*weighed, rows.n_features)


def _choose_table(largest: int) -> NDArray[np.float32]:
    """Return a table of 1 + ln count, for counts from 0 to at least `largest`."""
    return _make_table(max(largest, 255).bit_length())


@cache
def _make_table(bits: int) -> NDArray[np.float32]:
    return _dampen(np.arange(1 << bits))


def _dampen(counts: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(1 + logarithm(np.maximum(counts, 1)), dtype=np.float32)


def _add_constant(rows: Rows, strength: float) -> Rows:
    """Return the rows with feature 0 in front, at the same strength in each; empty rows stay empty.

    >>> _add_constant(Rows(np.array([0, 1, 1]), np.array([2]), np.ones(1, dtype=np.float32), 3), 0.5).indices
    array([0, 2])
    """
    filled = np.diff(rows.indptr) > 0
    starts = rows.indptr[:-1][filled]
    return rows._replace(
        indptr=rows.indptr + np.append(0, np.cumsum(filled)),
        indices=np.insert(rows.indices, starts, 0),
        data=np.insert(rows.data, starts, np.float32(strength)),
    )
