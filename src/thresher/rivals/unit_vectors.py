"""Documents as tf-idf vectors of unit length, the representation of most rivals."""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.elementary import logarithm
from thresher.kernels.rows import Rows
from thresher.kernels.vector_space import unit_rows


def inverse_frequencies(rows: Rows) -> NDArray[np.float64]:
    """Return each feature's ln(documents / those with the feature), and 0 where there are none.

    >>> inverse_frequencies(Rows(np.array([0, 2, 3]), np.array([0, 1, 0]), np.ones(3), 3)).round(2)
    array([0.  , 0.69, 0.  ])
    """
    documents = np.bincount(rows.indices, minlength=rows.n_features)
    n_documents = max(len(rows.indptr) - 1, 1)
    return logarithm(n_documents / np.where(documents > 0, documents, n_documents))


def unit_vectors(rows: Rows, idf: NDArray[np.float64]) -> Rows:
    """Return the rows with (1 + ln count) × idf for each count, divided by the row's length.

    >>> unit_vectors(Rows(np.array([0, 2]), np.array([0, 1]), np.ones(2), 2), np.array([3.0, 4.0])).data
    array([0.6, 0.8], dtype=float32)
    """
    values = (1 + logarithm(np.maximum(rows.data, 1))) * idf[rows.indices]
    return rows._replace(data=unit_rows(rows.indptr, values).astype(np.float32))
