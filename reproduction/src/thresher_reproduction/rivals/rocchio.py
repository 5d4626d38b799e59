"""Rocchio's algorithm with non-negative weights, a row of the paper's Table 2."""

import numpy as np

from thresher.errors import ParameterError
from thresher.kernels.csr import Rows
from thresher_reproduction.kernels.vector_space import add_by_category
from thresher_reproduction.rivals.held_out import score_held_out
from thresher_reproduction.rivals.linear_rival import (
    Examples,
    Floats,
    LinearRival,
    compute_products,
    tune_break_even_thresholds,
)
from thresher_reproduction.rivals.tables import Progress
from thresher_reproduction.rivals.unit_vectors import compute_idf, make_unit_vectors


class Rocchio(LinearRival):
    """The mean of a category's documents minus the mean of all others, with negative weights set to 0.

    Parameters
    ----------
    beta : float
        Weight of the mean of the category's documents.
    gamma : float
        Weight of the mean of the other documents. The literature's usual 4 against 16 keeps many features. A higher
        value drops all but those that are typical of the category.

    Notes
    -----
    w(f, c) = max(0, beta × mean of f in c - gamma × mean of f outside c), on tf-idf vectors of unit length. It is then
    divided by its own length, so that scores are cosines. Each category's scores are centered at the threshold that
    accepts as many training documents as have the category. Each document is scored by a model trained without it
    (three folds).

    Examples
    --------
    >>> rows = Rows([0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2], [1.0] * 6, 3)
    >>> rocchio = Rocchio().fit(rows, [[0], [0], [1], [1], [], []], n_categories=2)
    >>> rocchio.score(rows).argmax(axis=1)[:4], rocchio.features_kept
    (array([0, 0, 1, 1]), 2)
    """

    def __init__(self, *, beta: float = 16.0, gamma: float = 64.0) -> None:
        if not (beta > 0 and gamma >= 0):
            raise ParameterError(
                f"invalid beta or gamma: {beta!r}, {gamma!r}", hint="allowed: beta above 0, gamma from 0"
            )
        self.beta, self.gamma = float(beta), float(gamma)

    def _represent(self, rows: Rows) -> Rows:
        return make_unit_vectors(rows, self.idf_)

    def _learn(self, examples: Examples, progress: Progress) -> None:
        self.idf_ = compute_idf(examples.rows)
        vectors = examples._replace(rows=self._represent(examples.rows))

        def score(learned_from: Examples, held_out: Examples) -> Floats:
            return compute_products(held_out.rows, compute_profiles(learned_from, self.beta, self.gamma))

        self.thresholds_ = tune_break_even_thresholds(score_held_out(vectors, score), examples.truth)
        self.weights_ = compute_profiles(vectors, self.beta, self.gamma)


def compute_profiles(vectors: Examples, beta: float, gamma: float) -> Floats:
    """Return Rocchio's weights, (features, categories), of length 1 for each category; all 0 if it has no document."""
    rows, labels, truth = vectors
    sums = np.zeros((rows.n_features, truth.shape[1]))
    add_by_category(rows, labels, sums)
    all_rows = np.bincount(rows.indices, weights=rows.data, minlength=rows.n_features)[:, np.newaxis]
    positives = np.count_nonzero(truth, axis=0)
    outside = gamma * (all_rows - sums) / np.maximum(len(truth) - positives, 1)
    weights = np.maximum(beta * sums / np.maximum(positives, 1) - outside, 0)
    lengths = np.sqrt(np.cumsum(weights * weights, axis=0)[-1])
    return np.asarray(weights / np.where(lengths > 0, lengths, 1))
