"""The Perceptron: weights of either sign, with an additive step on each mistake."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.dense_weights import PERCEPTRON, Steps
from thresher.learners.base import MistakeDrivenLearner
from thresher.learners.settings import PerceptronSettings
from thresher.learners.step_sizes import additive_steps
from thresher.support.settings import document_settings


@document_settings
@dataclass(kw_only=True, eq=False)
class Perceptron(PerceptronSettings, MistakeDrivenLearner):
    """The Perceptron as in the paper (section 3), with an additive step that does not depend on the strengths.

    On a mistake on a positive document, w <- w + alpha for its active features. On a mistake on a negative one, w <- w
    - alpha. The weights start at theta / d.

    Its parameters are those of `PerceptronSettings`.

    Examples
    --------
    >>> from thresher import Perceptron, Rows
    >>> rows = Rows(indptr=[0, 2, 4, 6], indices=[0, 1, 1, 3, 0, 2], data=[1, 1, 1, 2, 1, 1], n_features=4)
    >>> learner = Perceptron(discard=False).fit(rows, labels=[[0], [1], [0]])
    >>> learner.score(rows) > learner.theta
    array([[ True, False],
           [False,  True],
           [ True, False]])
    """

    rule: ClassVar[int] = PERCEPTRON

    def _make_steps(self, average_active: float, times: NDArray[np.float64]) -> Steps:
        alpha = self._base(average_active) if self.alpha is None else self.alpha
        return additive_steps(alpha, times)
