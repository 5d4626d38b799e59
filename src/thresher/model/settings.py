"""The settings of a model; `Categorizer` and the command line use the same names. Needs no compiled code."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from thresher.errors import ParameterError
from thresher.learners.settings import (
    LearnerSettings,
    PerceptronSettings,
    PositiveWinnowSettings,
    RegularizedSettings,
    WinnowSettings,
)
from thresher.model import goals, policies
from thresher.model.presets import PRESETS, SETTINGS_BY_LEARNER
from thresher.support.settings import (
    Rule,
    Setting,
    check_settings,
    document_settings,
    number_within,
    one_of,
    setting,
    settings_of,
    whole_number,
)
from thresher.support.units import parse_size
from thresher.text.limits import MAX_FEATURES, MEMORY

LEARNERS: dict[str, type[LearnerSettings]] = {
    "balanced-winnow": WinnowSettings,
    "regularized-winnow": RegularizedSettings,
    "positive-winnow": PositiveWinnowSettings,
    "perceptron": PerceptronSettings,
}
WEIGHED = ("tfidf", "cosine")  # strengths that are computed from document frequencies, before a learner sees the rows
CHOOSABLE = frozenset({"analyser", "min_count", "positive_cap"})  # settings that trials may choose
_ANYTHING = Rule("the name of an analyser, or a function", lambda value: True)
_IS_SPARSE = Rule("None, True or False", lambda value: value in (None, True, False), "switch")


@document_settings
@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """All settings of a model, checked. The settings of its learner are in `parameters`.

    Its parameters are those of `ModelSettings`.
    """

    learner: str = setting(
        "regularized-winnow", one_of(*LEARNERS), f"The learning algorithm: {', '.join(LEARNERS)}.", metavar="NAME"
    )
    analyser: Any = setting(
        "words",
        _ANYTHING,
        "The features of a text, as words, words+ngrams:2+title or nouns-and-verbs. See `thresher.text.analysers`.",
        metavar="SPEC",
    )
    min_count: int = setting(3, whole_number(1), "The minimum number of occurrences of a feature.", metavar="N")
    max_features: int = setting(MAX_FEATURES, whole_number(1), "The maximum number of features.", metavar="N")
    strength: str = setting(
        "sqrt",
        one_of("binary", "linear", "sqrt", *WEIGHED),
        "The strength of a feature in a document: binary, linear, sqrt, tfidf or cosine. See `thresher.text.tfidf`.",
        metavar="NAME",
    )
    policy: str = setting(
        "auto",
        Rule(", ".join(("auto", *policies.POLICIES)), lambda value: value == "auto" or policies.is_policy(value)),
        "Which categories are accepted: auto, above, at-least-one, exactly-one or at-most-K.",
        metavar="NAME",
    )
    thresholds: str = setting(
        "f1",
        Rule(f"fixed, {goals.ALLOWED}", lambda value: value == "fixed" or goals.is_goal(value)),
        "How thresholds are set: fixed, or tuned for f1, macro-f1, break-even, precision:P or recall:R.",
        metavar="GOAL",
    )
    folds: int = setting(
        5, whole_number(2, 100), "The number of parts of the cross-validation that tunes thresholds.", metavar="N"
    )
    choose: str = setting(
        "nothing",
        one_of("nothing", "quick", "thorough"),
        "What trials on held-out documents may choose: nothing, or settings by quick or thorough trials.",
        metavar="HOW",
    )
    bias: float = setting(
        0.0,
        number_within(0, 1000),
        "The strength of a feature that every document has, with tfidf or cosine strengths.",
        metavar="X",
    )
    memory: int = setting(
        MEMORY,
        whole_number(1)._replace(kind="text"),
        "The memory that the features of the training documents may take, as 1GB, before they go to temporary files.",
        metavar="SIZE",
    )
    sparse: bool | None = setting(
        None,
        _IS_SPARSE,
        """Store only the weights that matter, for very many categories. By default, this depends on the number of
        features and categories.""",
    )
    parameters: LearnerSettings = field(default_factory=RegularizedSettings)

    @classmethod
    def complete(cls, preset: str, given: Mapping[str, Any]) -> Self:
        """Return all settings of a model: the given ones, then those of the preset, then the defaults.

        >>> ModelSettings.complete("paper", {"min_count": 1}).parameters.threshold_range
        (0.9, 1.1)
        """
        if not isinstance(preset, str) or preset not in PRESETS:
            raise ParameterError.of("preset", preset, allowed=", ".join(PRESETS))
        name = given.get("learner", PRESETS[preset]["learner"])
        if not isinstance(name, str) or name not in LEARNERS:
            raise ParameterError.of("learner", name, allowed=", ".join(LEARNERS))
        known = setting_names(name)
        unknown = sorted(given.keys() - known)
        if unknown:
            hint = f"not a setting of {name}"
            raise ParameterError.of(unknown[0], given[unknown[0]], hint, allowed=", ".join(sorted(known)))
        return cls.of({"late_start": "zero"} | _preset_settings(preset, name) | dict(given) | {"learner": name})

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the settings with these `values` by name, after checking them; others have their defaults."""
        plain = {name: _plain(name, value) for name, value in values.items()}
        own = {one.name: plain[one.name] for one in fields(cls) if one.name in plain}
        kind = LEARNERS[own["learner"]]
        chosen = {one.name: plain[one.name] for one in fields(kind) if one.name in plain}
        own.setdefault("strength", kind.strength)
        check_settings(own, cls)
        chosen["strength"] = "linear" if own["strength"] in WEIGHED else own["strength"]
        chosen["sparse"] = bool(own.get("sparse"))
        check_settings(chosen, kind)
        return cls(**own, parameters=kind(**chosen))

    def replace(self, values: Mapping[str, Any]) -> Self:
        """Return a copy with other `values` of some settings."""
        return type(self).of(self.as_dict() | dict(values))

    def as_dict(self) -> dict[str, Any]:
        """Return all settings by name, those of the learner included."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "parameters"}
        return vars(self.parameters) | own

    @property
    def constant(self) -> float:
        """The strength of the constant feature that every document has: the bias, if strengths preserve its size."""
        return self.bias if self.strength in WEIGHED else 0.0


def setting_names(learner: str) -> set[str]:
    """Return the names of all settings of a model with this learner."""
    own = {one.name for one in fields(ModelSettings) if one.name != "parameters"}
    return own | {one.name for one in fields(LEARNERS[learner])}


def all_settings() -> dict[str, Setting]:
    """Return the declarations of all settings of all learners, by name."""
    declared = settings_of(ModelSettings)
    for kind in LEARNERS.values():
        declared |= {name: one for name, one in settings_of(kind).items() if name not in declared}
    return declared


_NUMBERS = {name for name, one in all_settings().items() if one.rule.kind == "number"}


def _plain(name: str, value: Any) -> Any:
    """Return a value as Python's own type, in bytes if it is a size, and as a float if it is a whole number."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if name == "memory":
        return parse_size(value, "memory")
    if name == "thresholds" and value == "tuned":
        return "f1"
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if name in _NUMBERS and is_whole else value


def _preset_settings(preset: str, learner: str) -> dict[str, Any]:
    if preset != "paper" and learner != PRESETS[preset]["learner"]:
        return SETTINGS_BY_LEARNER[learner]
    return {key: value for key, value in PRESETS[preset].items() if key != "learner"}
