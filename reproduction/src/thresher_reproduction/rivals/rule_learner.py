"""Base class of the rule learners, Ripper and SWAP-1: a sweep of rule sets for each category, and their scores."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.rows.validation import as_rows
from thresher_reproduction.rivals.rules import Collection, Sweep, count_features, iterate_tests, score_sweeps
from thresher_reproduction.rivals.tables import Progress


class RuleLearner:
    """A learner whose `_find_sweep` returns the rule sets of a category, one for each loss ratio."""

    sweeps_: list[Sweep] | None = None

    def fit(
        self,
        rows: Rows,
        labels: Sequence[Sequence[int]],
        *,
        n_categories: int,
        progress: Progress | None = None,
    ) -> Self:
        """Learn the rules of all categories; `progress` receives the number of finished categories and the total."""
        collection = Collection(as_rows(rows), labels, n_categories)
        sweeps = []
        for category in range(n_categories):
            sweeps.append(self._find_sweep(collection, category))
            if progress is not None:
                progress(category + 1, n_categories)
        self.sweeps_ = sweeps
        return self

    def _find_sweep(self, collection: Collection, category: int) -> Sweep:
        raise NotImplementedError

    def score(self, rows: Rows) -> NDArray[np.float32]:
        """Return the precision of the best matching rule, averaged over the loss ratios, documents x categories."""
        return score_sweeps(self.sweeps_, as_rows(rows))

    @property
    def size(self) -> int:
        """The number of tests in all rules."""
        return sum(1 for _ in iterate_tests(self.sweeps_))

    @property
    def features_kept(self) -> int:
        """The number of words that any rule tests."""
        return count_features(self.sweeps_)
