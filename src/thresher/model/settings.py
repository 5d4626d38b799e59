"""The settings of a model and the presets; `Categorizer` and the command line use the same names."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.kernels.csr import Rows
from thresher.learners import BalancedWinnow, Perceptron, PositiveWinnow, RegularizedWinnow
from thresher.learners.base import MistakeDrivenLearner
from thresher.model.decisions import check_policy
from thresher.model.presets import PRESETS, SETTINGS_BY_LEARNER
from thresher.model.thresholds import parse_goal
from thresher.support.units import parse_size
from thresher.text.tfidf import WEIGHED, inverse_frequencies, weighed
from thresher.text.vectorizer import MEMORY, MOST_FEATURES, TextFeatures

LEARNERS: dict[str, type[MistakeDrivenLearner]] = {
    "balanced-winnow": BalancedWinnow,
    "regularized-winnow": RegularizedWinnow,
    "positive-winnow": PositiveWinnow,
    "perceptron": Perceptron,
}
FRACTIONS = {"theta", "alpha", "beta", "average_active", "discard_below", "size", "rate", "cap", "positive_cap", "bias"}
STRENGTHS = ("binary", "linear", "sqrt", *WEIGHED)
# Features x categories up to which weights are dense unless `sparse` is set: 13 bytes each.
MOST_DENSE = 10**8
# Weights of Regularized Winnow in this range contribute nothing; sparse models drop them (docs/scale.md).
SMALL_WEIGHTS = (-0.1, 0.1)
DEFAULTS = {
    "learner": "regularized-winnow",
    "analyser": "words",
    "min_count": 3,
    "max_features": MOST_FEATURES,
    "policy": "auto",
    "thresholds": "f1",
    "folds": 5,
    "choose": "nothing",
    "bias": 0.0,
    "memory": MEMORY,
    "sparse": None,
}
CHOOSE = ("nothing", "quick", "thorough")
CHOOSABLE = {"analyser", "min_count", "positive_cap"}


def complete_settings(preset: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of a model: the given ones, then the preset's, then the defaults.

    >>> complete_settings("paper", {"min_count": 1})["threshold_range"]
    (0.9, 1.1)
    """
    if not isinstance(preset, str) or preset not in PRESETS:
        raise ParameterError.of("preset", preset, f"is unknown (allowed: {', '.join(PRESETS)})")
    name = given.get("learner", PRESETS[preset]["learner"])
    if not isinstance(name, str) or name not in LEARNERS:
        raise ParameterError.of("learner", name, f"is unknown (allowed: {', '.join(LEARNERS)})")
    defaults = {field.name: field.default for field in fields(LEARNERS[name])} | {"late_start": "zero"}
    unknown = sorted(given.keys() - defaults.keys() - DEFAULTS.keys())
    if unknown:
        allowed = ", ".join(sorted(defaults.keys() | DEFAULTS.keys()))
        raise ParameterError.of(unknown[0], given[unknown[0]], f"is not a setting of {name} (allowed: {allowed})")
    if "memory" in given:
        given = dict(given) | {"memory": parse_size(given["memory"], "memory")}
    if given.get("thresholds") == "tuned":
        given = dict(given) | {"thresholds": "f1"}
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in given.items()}
    for key in FRACTIONS & plain.keys():
        if isinstance(plain[key], int) and not isinstance(plain[key], bool):
            plain[key] = float(plain[key])
    return defaults | DEFAULTS | _preset_settings(preset, name) | plain | {"learner": name}


def _preset_settings(preset: str, learner: str) -> dict[str, Any]:
    if preset != "paper" and learner != PRESETS[preset]["learner"]:
        return SETTINGS_BY_LEARNER[learner]
    return {key: value for key, value in PRESETS[preset].items() if key != "learner"}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise a ParameterError for the first setting out of range; the learner checks its own when it learns."""
    if settings["policy"] != "auto":
        check_policy(settings["policy"])
    if settings["thresholds"] != "fixed":
        try:
            parse_goal(settings["thresholds"])
        except ParameterError as error:
            raise ParameterError.of("thresholds", error.value, error.problem) from None
    if not isinstance(settings["folds"], int) or not 2 <= settings["folds"] <= 100:
        raise ParameterError.of("folds", settings["folds"], "is out of range (allowed: 2 to 100)")
    if settings["choose"] not in CHOOSE:
        raise ParameterError.of("choose", settings["choose"], f"is unknown (allowed: {', '.join(CHOOSE)})")
    if not isinstance(settings["bias"], float) or not 0 <= settings["bias"] <= 1000:
        raise ParameterError.of("bias", settings["bias"], "is out of range (allowed: 0 to 1000)")
    if settings["sparse"] not in (None, True, False):
        raise ParameterError.of("sparse", settings["sparse"], "is out of range (allowed: None, True or False)")
    if settings["strength"] not in STRENGTHS:
        raise ParameterError.of("strength", settings["strength"], f"is out of range (allowed: {', '.join(STRENGTHS)})")
    new_learner(settings).check_parameters()


def new_learner(settings: Mapping[str, Any]) -> MistakeDrivenLearner:
    """Return a learner with these settings; tf-idf strengths are computed before the learner sees the rows."""
    kind = LEARNERS[settings["learner"]]
    chosen = {field.name: settings[field.name] for field in fields(kind)}
    if chosen["strength"] in WEIGHED:
        chosen["strength"] = "linear"
    chosen["sparse"] = bool(chosen["sparse"])
    return kind(**chosen)


def sized(settings: Mapping[str, Any], n_features: int, n_categories: int) -> dict[str, Any]:
    """Return the settings for a model of this size: whether weights are sparse, and whether small ones are dropped.

    >>> sized(complete_settings("fast", {}), 40_000, 10_000)["discard_by_pass"]
    3
    """
    sparse, regularized = settings["sparse"], settings["learner"] == "regularized-winnow"
    if sparse is None:
        sparse = regularized and n_features * n_categories > MOST_DENSE
    if not sparse or not regularized or settings["discard"]:
        return dict(settings) | {"sparse": sparse}
    by_pass = max(3 * settings["max_passes"] // 4, 1)
    small = {"discard": True, "discard_range": SMALL_WEIGHTS, "discard_below": 0.0, "discard_by_pass": by_pass}
    return dict(settings) | small | {"sparse": True}


def new_features(settings: Mapping[str, Any]) -> TextFeatures:
    """Return empty features with these settings."""
    names = ("analyser", "min_count", "max_features", "n_threads")
    return TextFeatures(**{name: settings[name] for name in names}, constant=constant_of(settings) > 0)


def strengthened(settings: Mapping[str, Any], rows: Rows) -> tuple[Rows, NDArray[np.float32]]:
    """Return rows of training counts with the strengths of the settings, and the idf of the features."""
    if settings["strength"] not in WEIGHED:
        return rows, np.zeros(0, dtype=np.float32)
    constant = constant_of(settings)
    idf = inverse_frequencies(rows, constant > 0)
    return weighed(rows, idf, settings["strength"], constant=constant), idf


def constant_of(settings: Mapping[str, Any]) -> float:
    """Return the strength of the constant feature that every document has: the bias, if strengths preserve its size."""
    return float(settings["bias"]) if settings["strength"] in WEIGHED else 0.0
