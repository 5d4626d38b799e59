"""Positive Winnow: positive weights only, multiplied by a factor on each mistake."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.errors import RowsError
from thresher.kernels.csr import Rows
from thresher.kernels.dense_weights import POSITIVE_WINNOW, Steps
from thresher.learners.base import MistakeDrivenLearner
from thresher.learners.settings import PositiveWinnowSettings
from thresher.learners.step_sizes import multiplicative_steps
from thresher.support.settings import document_settings


@document_settings
@dataclass(kw_only=True, eq=False)
class PositiveWinnow(PositiveWinnowSettings, MistakeDrivenLearner):
    """Positive Winnow (section 3): weights stay positive, so long documents need normalized strengths (section 4.1).

    On a mistake on a positive document, w <- alpha w for its active features. On a mistake on a negative one, w <- beta
    w. The weights start at theta / d, or at theta if strengths are normalized, which is the default. Strengths must not
    be negative: a positive weight times a negative strength would turn every promotion into a demotion.

    Its parameters are those of `PositiveWinnowSettings`.

    Examples
    --------
    >>> from thresher import PositiveWinnow, Rows
    >>> rows = Rows(indptr=[0, 2, 4, 6], indices=[0, 1, 1, 3, 0, 2], data=[1, 1, 1, 2, 1, 1], n_features=4)
    >>> learner = PositiveWinnow(discard=False).fit(rows, labels=[[0], [1], [0]])
    >>> learner.score(rows) > learner.theta
    array([[ True, False],
           [False,  True],
           [ True, False]])
    """

    rule: ClassVar[int] = POSITIVE_WINNOW

    def _make_steps(self, average_active: float, times: NDArray[np.float64]) -> Steps:
        return multiplicative_steps(self.alpha, self.beta, times)

    def strengths(self, rows: Rows) -> Rows:
        """Return `rows` of counts as rows of the strengths used in scores; raise a RowsError if one is negative."""
        if self.strength != "binary" and np.any(rows.data < 0):
            problem = "Negative values in data, which would turn promotions of positive weights into demotions"
            raise RowsError(problem, hint="use BalancedWinnow")
        return super().strengths(rows)
