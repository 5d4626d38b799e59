"""Sleeping experts over words or phrases (Cohen and Singer, SIGIR 1996), a row of the paper's Table 2."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.kernels.reproducible_math import logarithm
from thresher.rows.validation import as_rows
from thresher.support.settings import Rule, check_values
from thresher_reproduction.kernels.sleeping_experts import run_experts_pass, sum_expert_votes
from thresher_reproduction.rivals.tables import Progress, check_rows, make_truth_table, prior_log_odds

RANGES = {
    "beta": Rule("above 0, below 1", lambda value: isinstance(value, int | float) and 0 < value < 1),
    "margin": Rule("from 0 to 0.5", lambda value: isinstance(value, int | float) and 0 <= value <= 0.5),
    "passes": Rule("a whole number from 1", lambda value: isinstance(value, int) and value >= 1),
}


class Pool(NamedTuple):
    """The experts of a category whose weights have changed, and the score of a document with no awake expert."""

    features: NDArray[np.int32]
    weights: NDArray[np.float64]
    prior: float


class SleepingExperts:
    """Two experts for each feature, one voting for the category and one against it, awake where the feature occurs.

    A document is decided by the share of the awake weight that is for the category. Afterwards the weights of the awake
    experts that were wrong are multiplied by `beta`. Then all awake weights are scaled so that their sum stays the
    same.

    Parameters
    ----------
    beta : float
        Factor that multiplies the weight of a wrong expert; smaller is harsher.
    margin : float
        A document changes nothing if more than 0.5 + margin of the awake weight is on the correct side. 0: learn only
        from mistakes. 0.5: learn from every document, as in the original.
    passes : int
        Maximum number of passes over the documents, in their order; training ends when nothing changes. The original:
        1.

    Notes
    -----
    The score is ln(weight for / weight against). An even vote is 0 for every category, so scores of different
    categories are comparable. Only the presence of a feature matters, not its count. Phrases are the features of rows
    from `TextFeatures("words+sparse:2:3+sparse:3:3")`: sparse phrases of up to three words within three.

    Examples
    --------
    >>> rows = Rows([0, 2, 4], [0, 1, 1, 2], [1, 1, 1, 1], n_features=3)
    >>> experts = SleepingExperts(beta=0.5, margin=0.5, passes=1).fit(rows, [[0], []], n_categories=1)
    >>> experts.score(rows)
    array([[ 0.34687093],
           [-0.35667494]], dtype=float32)
    """

    def __init__(self, *, beta: float = 0.8, margin: float = 0.2, passes: int = 10) -> None:
        check_values({"beta": beta, "margin": margin, "passes": passes}, RANGES)
        self.beta, self.margin, self.passes = beta, margin, passes
        self.pools_: list[Pool] = []
        self.n_features_: int | None = None

    def fit(self, rows: Rows, labels: Any, *, n_categories: int, progress: Progress | None = None) -> Self:
        """Train the experts of all categories; `progress` receives the number of finished categories and the total."""
        checked = as_rows(rows)
        truth = make_truth_table(labels, len(checked.indptr) - 1, n_categories)
        pools = []
        for category in range(n_categories):
            pools.append(self._fit_category(checked, np.ascontiguousarray(truth[:, category])))
            if progress is not None:
                progress(category + 1, n_categories)
        self.pools_, self.n_features_ = pools, checked.n_features
        return self

    def _fit_category(self, rows: Rows, positive: NDArray[np.bool_]) -> Pool:
        positives = int(np.count_nonzero(positive))
        weights = np.ones((rows.n_features, 2))
        enough = np.float64(0.5 + self.margin)
        for _ in range(self.passes if positives else 0):
            if run_experts_pass(rows.indptr, rows.indices, positive, np.float64(self.beta), enough, weights) == 0:
                break
        moved = np.flatnonzero((weights != 1).any(axis=1)).astype(np.int32)
        return Pool(moved, weights[moved], prior_log_odds(positives, len(positive)))

    def score(self, rows: Rows) -> NDArray[np.float32]:
        """Return ln(weight for / weight against) of the awake experts, documents x categories.

        A document without features, or a category without positives, gets the log-odds of the category.
        """
        checked = check_rows(rows, self.n_features_)
        scores = np.empty((len(checked.indptr) - 1, len(self.pools_)), dtype=np.float32)
        weights = np.ones((checked.n_features, 2))
        nobody = np.diff(checked.indptr) == 0
        for category, pool in enumerate(self.pools_):
            weights[pool.features] = pool.weights
            votes = sum_expert_votes(checked.indptr, checked.indices, weights)
            votes[nobody] = 1.0
            silent = nobody if len(pool.features) else np.ones_like(nobody)
            scores[:, category] = np.where(silent, pool.prior, logarithm(votes[:, 1] / votes[:, 0]))
            weights[pool.features] = 1.0
        return scores

    @property
    def size(self) -> int:
        """The number of stored weights: two for each feature with a changed weight, over all categories."""
        return sum(pool.weights.size for pool in self.pools_)

    @property
    def features_kept(self) -> int:
        """The number of features with a changed weight for any category."""
        used = np.zeros(self.n_features_ or 0, dtype=np.bool_)
        for pool in self.pools_:
            used[pool.features] = True
        return int(np.count_nonzero(used))
