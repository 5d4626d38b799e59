"""The presets: named sets of settings that differ from the defaults."""

from typing import Any

_REGULARIZED = {
    "learner": "regularized-winnow",
    "strength": "cosine",
    "theta": 0.7,
    "positive_cap": 2.0,
    "bias": 0.3,
    "max_passes": 6,
    "tolerance": 0.03,
    "min_count": 2,
}
# The settings of each preset that differ from the defaults of the learner and of `settings`.
PRESETS: dict[str, dict[str, Any]] = {
    "fast": _REGULARIZED | {"max_passes": 4, "folds": 2},
    "default": _REGULARIZED | {"choose": "quick"},
    "best": _REGULARIZED | {"choose": "thorough"},
    "paper": {"learner": "balanced-winnow", "policy": "above", "thresholds": "fixed"},
}
# The settings of those presets for another learner: averaged weights, and a threshold range as wide as the learner
# can use (positive weights never leave a range that goes down to 0).
_AVERAGED = {"average": True, "shuffle": True, "discard": False}
SETTINGS_BY_LEARNER: dict[str, dict[str, Any]] = {
    "balanced-winnow": _AVERAGED | {"threshold_range": (0.0, 2.0), "alpha": 1.1, "beta": 0.9},
    "perceptron": _AVERAGED | {"threshold_range": (0.0, 2.0)},
    "positive-winnow": _AVERAGED,
}
