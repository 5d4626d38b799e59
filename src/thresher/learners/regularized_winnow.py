"""Regularized Winnow: Balanced Winnow with a limit on the effect of each document."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.dense_weights import REGULARIZED_WINNOW, Steps
from thresher.kernels.regularized_winnow import weight_after_one_push
from thresher.learners.base import MistakeDrivenLearner
from thresher.learners.dense_weights import Start
from thresher.learners.settings import RegularizedSettings
from thresher.support.settings import document_settings


@document_settings
@dataclass(kw_only=True, eq=False)
class RegularizedWinnow(RegularizedSettings, MistakeDrivenLearner):
    """Regularized Winnow (Zhang, 2000), which converges even if no weights separate the documents.

    Each feature has two weights as in Balanced Winnow, and a document is accepted if

        sum of (w+ - w-) x strength > theta.

    Each document has a dual weight a for each category, which starts at 0. When the document is seen with a score s, a
    moves by rate x (high - s) if it is a positive example, and by rate x (s - low) if it is a negative one. It stays
    between 0 and the cap. If a changes by b, then w+ <- w+ e^(b x strength) and w- <- w- e^(-b x strength) for the
    active features, or the other way round for a negative example. So each document can push the weights only up to a
    limit, and takes back what is no longer needed.

    With a `tolerance`, `fit` leaves a dual weight as it is where it would move by less. Most moves are that small, and
    training without them takes a third of the time.

    The dual weights last as long as `fit`. In `partial_fit` every document starts with a dual weight of 0: it takes one
    step, no longer than the cap.

    Unlike in the paper's learners, steps depend on the strengths. They suit rows of the same length, such as tf-idf
    strengths of unit length, which `Categorizer` uses with strength="cosine".

    Its parameters are those of `RegularizedSettings`.

    Examples
    --------
    >>> from thresher import RegularizedWinnow, Rows
    >>> rows = Rows(indptr=[0, 2, 4, 6], indices=[0, 1, 1, 3, 0, 2], data=[1, 1, 1, 2, 1, 1], n_features=4)
    >>> learner = RegularizedWinnow().fit(rows, labels=[[0], [1], [0]])
    >>> learner.score(rows) > learner.theta
    array([[ True, False],
           [False,  True],
           [ True, False]])
    """

    rule: ClassVar[int] = REGULARIZED_WINNOW
    balanced: ClassVar[bool] = True

    def _make_steps(self, average_active: float, times: NDArray[np.float64]) -> Steps:
        return Steps((self.positive_cap * times).astype(np.float32), (self.cap * times).astype(np.float32))

    def start_weights(self, average_active: float) -> Start:
        """Return the weights that a feature starts with, if documents have `average_active` active features."""
        size = np.float32(self.size)
        return Start(size, size, True, self.discard, self.average, self.sparse or self.late_start == "zero")

    def _after_one_step(self, average_active: float) -> tuple[np.float32, np.float32]:
        """Return a weight after a document's longest demotion, and after its longest promotion, for a strength of 1."""
        size = np.float32(self.size)
        changes = (-np.float32(self.cap), np.float32(self.positive_cap))
        down, up = (np.float32(weight_after_one_push(size, change)) for change in changes)
        return down, up

    def _rate(self) -> float:
        return self.rate

    def _tolerance(self) -> float:
        return self.tolerance
