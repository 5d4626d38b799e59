"""The Widrow-Hoff rule as trained by Lewis, Schapire, Callan and Papka (1996).

It belongs to the paper's related work.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher_reproduction.kernels.widrow_hoff import run_widrow_hoff_pass
from thresher_reproduction.rivals.linear_rival import (
    Examples,
    LinearRival,
    compute_products,
    tune_break_even_thresholds,
)
from thresher_reproduction.rivals.online import check_passes, run_passes
from thresher_reproduction.rivals.tables import Progress
from thresher_reproduction.rivals.unit_vectors import compute_idf, make_unit_vectors


class WidrowHoff(LinearRival):
    """Least squares by gradient descent, one document at a time, averaged over all weight vectors.

    Parameters
    ----------
    rate : float
        Learning rate, in multiples of the literature's 1 / (4 X²), where X is the length of the longest document
        vector: 1 here.
    max_passes : int
        Number of passes over the documents, each in another order.
    seed : int
        Seed of the orders.

    Notes
    -----
    w ← w - 2 η (w·x - y) x after every document, where y is 1 or 0, from w = 0. Documents are tf-idf vectors of unit
    length. Each category's scores are centered at the threshold that accepts as many training documents as have the
    category.

    Examples
    --------
    >>> rows = Rows([0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2], [1.0] * 6, 3)
    >>> learned = WidrowHoff().fit(rows, [[0], [0], [1], [1], [], []], n_categories=2)
    >>> learned.score(rows).argmax(axis=1)[:4], learned.features_kept
    (array([0, 0, 1, 1]), 2)
    """

    def __init__(self, *, rate: float = 1.0, max_passes: int = 2, seed: int = 0) -> None:
        check_passes(rate, max_passes)
        self.rate, self.max_passes, self.seed = float(rate), max_passes, seed

    def _represent(self, rows: Rows) -> Rows:
        return make_unit_vectors(rows, self.idf_)

    def _learn(self, examples: Examples, progress: Progress) -> None:
        self.idf_ = compute_idf(examples.rows)
        vectors, n_rows = self._represent(examples.rows), len(examples.truth)
        weights = np.zeros((vectors.n_features, examples.truth.shape[1]))
        moment, seen = np.zeros_like(weights), 1
        double_rate = np.float64(2 * self.rate / 4)  # X is 1, because the vectors are of unit length

        def learn(part: NDArray[np.int64]) -> None:
            nonlocal seen
            run_widrow_hoff_pass(vectors, examples.labels, part, double_rate, seen, weights, moment)
            seen += len(part)

        run_passes(n_rows, self.max_passes, self.seed, learn, progress)
        self.weights_ = weights - moment / seen
        self.thresholds_ = tune_break_even_thresholds(compute_products(vectors, self.weights_), examples.truth)
