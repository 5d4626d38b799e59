"""The exponentiated gradient as trained by Lewis, Schapire, Callan and Papka (1996).

It belongs to the paper's related work.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.kernels.csr import Rows
from thresher.support.settings import MAX_NUMBER
from thresher_reproduction.kernels.exponentiated_gradient import (
    SERIES,
    Bounds,
    Parts,
    run_exponentiated_gradient_pass,
    settle,
)
from thresher_reproduction.rivals.linear_rival import (
    Examples,
    LinearRival,
    compute_products,
    tune_break_even_thresholds,
)
from thresher_reproduction.rivals.online import check_passes, run_passes
from thresher_reproduction.rivals.tables import Progress
from thresher_reproduction.rivals.unit_vectors import compute_idf, make_unit_vectors

BOUNDS = Bounds(np.float64(2.0**-8), np.float64(2.0**8), np.float64(500))  # wider loses digits, narrower takes longer


class ExponentiatedGradient(LinearRival):
    """Positive weights of a fixed sum, multiplied after every document and averaged over all documents.

    Parameters
    ----------
    total : float
        Sum of a category's weights. The literature has 1. With vectors of unit length, this keeps every prediction far
        below 1, the target of positive documents.
    rate : float
        Learning rate, in multiples of the literature's 2 / (3 R²), where R is the greatest strength times `total`.
    max_passes : int
        Number of passes over the documents, each in another order.
    seed : int
        Seed of the orders.

    Notes
    -----
    w(f) ← w(f) e^(-2 η (w·x - y) x(f)) after every document, where y is 1 or 0, and then all weights are divided by
    their sum. They start equal. Documents are tf-idf vectors of unit length, times `total`. Each category's scores are
    centered at the threshold that accepts as many training documents as have the category.

    Examples
    --------
    >>> rows = Rows([0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2], [1.0] * 6, 3)
    >>> learned = ExponentiatedGradient().fit(rows, [[0], [0], [1], [1], [], []], n_categories=2)
    >>> learned.score(rows).argmax(axis=1)[:4], learned.weights_.sum(axis=0).round(6)
    (array([0, 0, 1, 1]), array([1., 1.]))
    """

    def __init__(self, *, total: float = 1.0, rate: float = 1.0, max_passes: int = 2, seed: int = 0) -> None:
        check_passes(rate, max_passes)
        if not 0 < total <= MAX_NUMBER:
            raise ParameterError.of("total", total, allowed=f"above 0, up to {MAX_NUMBER:g}")
        self.total, self.rate, self.max_passes, self.seed = float(total), float(rate), max_passes, seed

    def _represent(self, rows: Rows) -> Rows:
        vectors = make_unit_vectors(rows, self.idf_)
        return vectors._replace(data=vectors.data * np.float32(self.total))

    def _learn(self, examples: Examples, progress: Progress) -> None:
        self.idf_ = compute_idf(examples.rows)
        vectors, n_rows = self._represent(examples.rows), len(examples.truth)
        strongest = float(vectors.data.max(initial=0.0)) or 1.0
        double_rate = np.float64(2 * self.rate * 2 / (3 * strongest**2))
        parts = make_equal_parts(vectors.n_features, examples.truth.shape[1])

        def learn(part: NDArray[np.int64]) -> None:
            run_exponentiated_gradient_pass(vectors, examples.labels, part, double_rate, BOUNDS, SERIES, parts)

        run_passes(n_rows, self.max_passes, self.seed, learn, progress)
        for category in range(len(parts.total)):
            settle(category, parts)
        self.weights_ = parts.sums / (self.max_passes * n_rows + 1)
        self.thresholds_ = tune_break_even_thresholds(compute_products(vectors, self.weights_), examples.truth)


def make_equal_parts(n_features: int, n_categories: int) -> Parts:
    """Return the initial weights, all equal; their clock starts at 1, which counts them once."""
    shape = n_features, n_categories
    start, ones = np.full(shape, 1 / n_features), np.ones(n_categories)
    return Parts(start, np.zeros(shape), np.zeros(shape), ones, ones.copy())
