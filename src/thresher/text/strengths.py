"""The tf-idf strength: counts made strong or weak by how few documents have the feature. `Categorizer` calls it."""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.elementary import logarithm
from thresher.kernels.rows import Rows


def inverse_frequencies(rows: Rows) -> NDArray[np.float32]:
    """Return each feature's idf, 1 + ln((1 + documents) / (1 + those with the feature)), over its mean in the rows.

    Divided by their mean, strengths keep the size of square-root counts, so that scores start near the threshold.

    >>> inverse_frequencies(Rows(np.array([0, 2, 3]), np.array([0, 1, 0]), np.ones(3), 2)).round(2)
    array([0.88, 1.24], dtype=float32)
    """
    n_documents = len(rows.indptr) - 1
    documents = np.bincount(rows.indices, minlength=rows.n_features)
    idf = 1 + logarithm((1 + n_documents) / (1 + documents))
    total = np.cumsum(idf * documents)[-1]  # summed one by one: the same bits everywhere
    return np.asarray((idf / (total / max(len(rows.indices), 1))).astype(np.float32))


def late_frequency(idf: NDArray[np.float32], n_documents: int, document_counts: NDArray[np.int64]) -> np.float32:
    """Return the idf of a feature that came after `fit`, which counts as seen in one document."""
    commonest = int(document_counts.argmax())
    usual = 1 + logarithm((1 + n_documents) / (1 + document_counts[commonest]))
    once = 1 + logarithm((1 + n_documents) / 2)
    return np.float32(float(idf[commonest]) * float(once) / float(usual))


def tfidf(rows: Rows, idf: NDArray[np.float32]) -> Rows:
    """Return the rows with the strength square root of count x idf."""
    return rows._replace(data=np.sqrt(rows.data) * idf[rows.indices])
