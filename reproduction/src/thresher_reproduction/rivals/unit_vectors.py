"""Documents as tf-idf vectors of unit length, the representation of most rivals."""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.kernels.reproducible_math import logarithm
from thresher_reproduction.kernels.vector_space import normalize_rows


def compute_idf(rows: Rows) -> NDArray[np.float64]:
    """Return ln(documents / documents with the feature) for each feature, or 0 if no document has it.

    >>> compute_idf(Rows(np.array([0, 2, 3]), np.array([0, 1, 0]), np.ones(3), 3)).round(2)
    array([0.  , 0.69, 0.  ])
    """
    documents = np.bincount(rows.indices, minlength=rows.n_features)
    n_documents = max(len(rows.indptr) - 1, 1)
    return logarithm(n_documents / np.where(documents > 0, documents, n_documents))


def make_unit_vectors(rows: Rows, idf: NDArray[np.float64]) -> Rows:
    """Return the rows with (1 + ln count) × idf in place of each count, divided by the row's Euclidean length.

    >>> make_unit_vectors(Rows(np.array([0, 2]), np.array([0, 1]), np.ones(2), 2), np.array([3.0, 4.0])).data
    array([0.6, 0.8], dtype=float32)
    """
    values = (1 + logarithm(np.maximum(rows.data, 1))) * idf[rows.indices]
    return rows._replace(data=normalize_rows(rows.indptr, values).astype(np.float32))
