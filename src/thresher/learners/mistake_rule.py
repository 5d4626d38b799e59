"""The rule of a learner in the form that kernels need, derived from its parameters; `base` builds on it."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.kernels.dense_weights import REGULARIZED_WINNOW, Rule, Steps, weight_after_one_step
from thresher.learners.dense_weights import Start
from thresher.learners.settings import LearnerSettings
from thresher.learners.training import Discarding, Schedule
from thresher.support.settings import check_settings, document_settings


@document_settings
@dataclass(kw_only=True, eq=False)
class MistakeRule(LearnerSettings):
    """The rule of a learner: starting weights, mistakes, steps, and when features are discarded.

    Its parameters are those of `LearnerSettings`.
    """

    rule: ClassVar[int]
    balanced: ClassVar[bool] = False

    def get_params(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _make_steps(self, average_active: float, times: NDArray[np.float64]) -> Steps:
        raise NotImplementedError

    @property
    def can_hold_out(self) -> bool:
        """Whether training can take back the steps of some rows at its end, which needs their dual weights."""
        return self.rule == REGULARIZED_WINNOW and not self.average

    def check_parameters(self) -> None:
        """Raise a ParameterError for the first parameter that is out of range."""
        check_settings(self.get_params(), type(self))

    def _measure_average_active(self, rows: Rows) -> float:
        """Return d: the given value, or the average number of active features, at least 1."""
        if self.average_active is not None:
            return float(self.average_active)
        return max(len(rows.indices) / (len(rows.indptr) - 1), 1.0)

    def _base(self, average_active: float) -> float:
        """Return the weight at which a document of average length scores theta."""
        return self.theta if self.normalize else self.theta / average_active

    def start_weights(self, average_active: float) -> Start:
        """Return the weights that a feature starts with, if documents have `average_active` active features."""
        base = self._base(average_active)
        positive, negative = (2 * base, base) if self.balanced else (base, 0.0)
        late_zero = self.sparse or self.late_start == "zero"
        return Start(np.float32(positive), np.float32(negative), self.balanced, self.discard, self.average, late_zero)

    def _make_rule(self, average_active: float, revive: bool, tolerance: float = 0.0) -> Rule:
        start, theta = self.start_weights(average_active), np.float32(self.theta)
        if self.threshold_range is None:
            low, high = np.nextafter(theta, np.float32(np.inf)), theta
        else:
            low, high = np.float32(self.threshold_range[0]), np.float32(self.threshold_range[1])
        rate, least = np.float32(self._rate()), np.float32(tolerance)
        return Rule(self.rule, low, high, start.positive, start.negative, revive, rate, least)

    def _rate(self) -> float:
        """Return the rate of dual weights; only Regularized Winnow has them."""
        return 0.0

    def _tolerance(self) -> float:
        """Return the smallest change of a dual weight in `fit`; only Regularized Winnow has them."""
        return 0.0

    def _make_schedule(self, average_active: float) -> Schedule:
        discarding = None
        if self.discard:
            low, high = self.filtering_range(average_active)
            discarding = Discarding(low, high, self.discard_below, self.discard_by_pass)
        return Schedule(self.max_passes, self.shuffle, self.seed, discarding)

    def filtering_range(self, average_active: float) -> tuple[np.float32, np.float32]:
        """Return the range of weights whose features are discarded, given `average_active` active features.

        For the paper's range, the kernels themselves demote and promote a starting weight once.
        """
        if not isinstance(self.discard_range, str):
            return np.float32(self.discard_range[0]), np.float32(self.discard_range[1])
        low, high = self._after_one_step(average_active)
        if self.discard_range == "initial":
            return low, high
        half = (high - low) * np.float32(0.5)
        return -half, half

    def _after_one_step(self, average_active: float) -> tuple[np.float32, np.float32]:
        """Return a starting weight after one demotion, and after one promotion."""
        rule, steps = self._make_rule(average_active, revive=False), self._make_steps(average_active, np.ones(1))
        down, up = (np.float32(weight_after_one_step(rule, steps, promote)) for promote in (False, True))
        return down, up
