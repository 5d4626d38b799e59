"""Balanced Winnow: two weights per feature, so that a feature can count against a category."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.dense_weights import BALANCED_WINNOW, Steps
from thresher.learners.base import MistakeDrivenLearner
from thresher.learners.settings import WinnowSettings
from thresher.learners.step_sizes import multiplicative_steps
from thresher.support.settings import document_settings


@document_settings
@dataclass(kw_only=True, eq=False)
class BalancedWinnow(WinnowSettings, MistakeDrivenLearner):
    """Balanced Winnow (section 3); with its default settings it is the paper's best version, BalancedWinnow+.

    Each feature has two weights, and a document is accepted if

        sum of (w+ - w-) x strength > theta.

    On a mistake on a positive document, w+ <- alpha w+ and w- <- beta w- for its active features. On a mistake on a
    negative one, w+ <- beta w+ and w- <- alpha w-. The weights start at w+ = 2 theta / d and w- = theta / d.

    Its parameters are those of `WinnowSettings`.

    Examples
    --------
    Documents with the features 0 to 3; category 0 is about feature 0, category 1 about feature 3.

    >>> from thresher import BalancedWinnow, Rows
    >>> rows = Rows(indptr=[0, 2, 4, 6], indices=[0, 1, 1, 3, 0, 2], data=[1, 1, 1, 2, 1, 1], n_features=4)
    >>> learner = BalancedWinnow(discard=False).fit(rows, labels=[[0], [1], [0]])
    >>> learner.score(rows) > learner.theta
    array([[ True, False],
           [False,  True],
           [ True, False]])
    """

    rule: ClassVar[int] = BALANCED_WINNOW
    balanced: ClassVar[bool] = True

    def _make_steps(self, average_active: float, times: NDArray[np.float64]) -> Steps:
        return multiplicative_steps(self.alpha, self.beta, times)
