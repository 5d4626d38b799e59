"""Base class of two present-day rivals: scikit-learn's linear classifiers on tf-idf vectors, one for each category."""

from typing import Any

import numpy as np

from thresher.kernels.csr import Rows
from thresher_reproduction.rivals.linear_rival import Examples, LinearRival
from thresher_reproduction.rivals.tables import Progress, as_matrix
from thresher_reproduction.rivals.unit_vectors import compute_idf, make_unit_vectors


class OneByOne(LinearRival):
    """A linear classifier of scikit-learn for each category, whose decision function is the score.

    A category that all or none of the training documents have always gets the score 1 or -1.
    """

    def _represent(self, rows: Rows) -> Rows:
        return make_unit_vectors(rows, self.idf_)

    def _classifier(self) -> Any:
        """Return a new classifier of scikit-learn."""
        raise NotImplementedError

    def _learn(self, examples: Examples, progress: Progress) -> None:
        self.idf_ = compute_idf(examples.rows)
        vectors, truth = as_matrix(self._represent(examples.rows)), examples.truth
        weights = np.zeros((examples.rows.n_features, truth.shape[1]))
        thresholds = np.where(truth.all(axis=0), -1.0, 1.0)
        for category in range(truth.shape[1]):
            if truth[:, category].any() and not truth[:, category].all():
                fitted = self._classifier().fit(vectors, truth[:, category])
                weights[:, category], thresholds[category] = fitted.coef_[0], -fitted.intercept_[0]
            progress(category + 1, truth.shape[1])
        self.weights_, self.thresholds_ = weights, thresholds
