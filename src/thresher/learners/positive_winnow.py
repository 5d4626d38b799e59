"""Positive Winnow: positive weights alone, multiplied on each mistake."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.errors import RowsError
from thresher.kernels.rows import Rows
from thresher.kernels.weights import POSITIVE_WINNOW, Steps
from thresher.learners.learner import MistakeDrivenLearner
from thresher.learners.parameters import WINNOW_STEPS, Range
from thresher.learners.steps import multiplicative_steps


@dataclass(kw_only=True, eq=False)
class PositiveWinnow(MistakeDrivenLearner):
    """Positive Winnow (section 3): the weights stay positive, so long documents need normalised strengths (4.1).

    On a mistake on a positive document, w <- alpha w for its active features; on a negative one, w <- beta w. The
    weights start at theta / d, or at theta where the strengths are normalised, as they are by default. Strengths must
    not be negative: a positive weight times a negative strength would turn every promotion into a demotion.

    Parameters
    ----------
    beta : float
        The demotion, a factor between 0 and 1.
    theta, alpha, threshold_range, ... :
        As `MistakeDrivenLearner` explains them.

    Examples
    --------
    >>> from thresher import PositiveWinnow, Rows
    >>> rows = Rows(indptr=[0, 2, 4, 6], indices=[0, 1, 1, 3, 0, 2], data=[1, 1, 1, 2, 1, 1], n_features=4)
    >>> learner = PositiveWinnow().fit(rows, labels=[[0], [1], [0]])
    >>> learner.score(rows) > learner.theta
    array([[ True, False],
           [False,  True],
           [ True, False]])
    """

    steps: ClassVar[dict[str, Range]] = WINNOW_STEPS
    learner: ClassVar[int] = POSITIVE_WINNOW

    alpha: float = 1.2
    beta: float = 0.8
    normalize: bool = True

    def _steps(self, row_weight: NDArray[np.float64]) -> Steps:
        return multiplicative_steps(self.alpha, self.beta, row_weight)

    def _strengths(self, rows: Rows) -> Rows:
        if self.strength != "binary" and np.any(rows.data < 0):
            raise RowsError(
                "data contains negative values, and Positive Winnow's weights are all positive: a negative strength "
                "would turn its promotions into demotions (use BalancedWinnow)"
            )
        return super()._strengths(rows)
