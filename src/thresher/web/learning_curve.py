"""The error rate of the model at its corrections over time, and an alarm if it rises."""

from collections.abc import Iterable
from math import sqrt
from typing import Any

import numpy as np

WINDOW, LONG_AGO, POINTS = 100, 1000, 100
_SIGMAS = 3.0


class LearningCurve:
    """The corrections that are not undone, in order: whether the model was wrong at each.

    >>> curve = LearningCurve([True, True, False, False])
    >>> curve.summary()["error"]
    0.5
    """

    def __init__(self, wrong: Iterable[bool] = ()) -> None:
        self._wrong = bytearray(wrong)

    def add(self, wrong: bool) -> None:
        """Add one more correction."""
        self._wrong.append(wrong)

    def summary(self) -> dict[str, Any]:
        """Return the error rate so far, the recent one, and a curve of at most POINTS points."""
        wrong = np.frombuffer(bytes(self._wrong), dtype=np.uint8)
        count, total = len(wrong), np.concatenate(([0], np.cumsum(wrong, dtype=np.int64)))
        places = np.unique(np.linspace(min(count, 1), count, min(POINTS, count)).astype(np.int64))
        curve = [
            {
                "corrections": int(n),
                "error": float(total[n] / n),
                "sliding": float((total[n] - total[max(n - WINDOW, 0)]) / min(n, WINDOW)),
            }
            for n in places
        ]
        return {
            "mistakes": int(total[-1]),
            "error": curve[-1]["error"] if curve else None,
            "window": WINDOW,
            "sliding_error": curve[-1]["sliding"] if curve else None,
            "curve": curve,
            "drift": self._drift(total),
        }

    def _drift(self, total: Any) -> dict[str, Any]:
        """Compare the last corrections with those before: raise the alarm if the error rate is significantly higher."""
        count = len(total) - 1
        before = min(count - WINDOW, LONG_AGO)
        if before < WINDOW:
            return {"alarm": False, "message": f"not enough corrections yet (it takes {2 * WINDOW})"}
        late = (total[count] - total[count - WINDOW]) / WINDOW
        early = (total[count - WINDOW] - total[count - WINDOW - before]) / before
        both = (late * WINDOW + early * before) / (WINDOW + before)
        spread = sqrt(max(both * (1 - both), 1e-9) * (1 / WINDOW + 1 / before))
        alarm = bool(late - early > _SIGMAS * spread)
        said = f"wrong in {late:.0%} of the last {WINDOW} corrections, in {early:.0%} of the {before} before"
        return {"alarm": alarm, "message": said}
