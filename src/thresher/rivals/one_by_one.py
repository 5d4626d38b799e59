"""scikit-learn's linear classifiers, one for each category, on tf-idf vectors; two rivals of today share it."""

from typing import Any

import numpy as np

from thresher.errors import MissingPackageError
from thresher.kernels.rows import Rows
from thresher.rivals.linear_rival import Examples, LinearRival, Progress
from thresher.rivals.unit_vectors import inverse_frequencies, unit_vectors


class OneByOne(LinearRival):
    """One of scikit-learn's linear classifiers for each category; its own distance from the boundary is the score.

    A category that all or none of the training documents have gets the score 1 or -1 always.
    """

    def _represent(self, rows: Rows) -> Rows:
        return unit_vectors(rows, self.idf_)

    def _classifier(self) -> Any:
        """Return a fresh classifier of scikit-learn's."""
        raise NotImplementedError

    def _learn(self, examples: Examples, progress: Progress) -> None:
        self.idf_ = inverse_frequencies(examples.rows)
        vectors, truth = as_matrix(self._represent(examples.rows)), examples.truth
        weights = np.zeros((examples.rows.n_features, truth.shape[1]))
        thresholds = np.where(truth.all(axis=0), -1.0, 1.0)
        for category in range(truth.shape[1]):
            if truth[:, category].any() and not truth[:, category].all():
                fitted = self._classifier().fit(vectors, truth[:, category])
                weights[:, category], thresholds[category] = fitted.coef_[0], -fitted.intercept_[0]
            progress(category + 1, truth.shape[1])
        self.weights_, self.thresholds_ = weights, thresholds


def as_matrix(rows: Rows) -> Any:
    """Return rows as scipy's sparse matrix."""
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        raise MissingPackageError("this rival needs scikit-learn (pip install 'thresher[rivals]')") from None
    indptr = rows.indptr.astype(np.int32)  # what scikit-learn's solvers take
    return csr_matrix((rows.data.astype(np.float64), rows.indices, indptr), shape=(len(indptr) - 1, rows.n_features))
