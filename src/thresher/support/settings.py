"""Declare a setting once: its default, the values allowed, and what it means.

A class of settings is a dataclass whose fields are made by `setting`. Checks, command-line options, docstrings and
tables of the documentation are generated from these fields.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from inspect import cleandoc
from math import isfinite
from numbers import Integral, Real
from textwrap import fill, indent
from typing import Any, NamedTuple, TypeVar

from thresher.errors import ParameterError

MAX_NUMBER = 1e6
MIN_NUMBER = 1e-6
PARAMETERS = "Its parameters are those of"  # a docstring with this line gets the parameters of the class named in it


class Rule(NamedTuple):
    """The values that a setting may have: in words, as a test, and the kind of value that a shell reads."""

    allowed: str
    test: Callable[[Any], bool]
    kind: str = "text"  # or "number", "whole number", "pair" or "switch"


class Setting(NamedTuple):
    """The declaration of a setting, next to its name and default.

    Parameters
    ----------
    rule : Rule
        The values allowed.
    doc : str
        What it means. The first sentence is the help of the command line.
    metavar : str
        The placeholder of its value on the command line.
    group : str
        The heading that the command line lists it under; empty for the main one.
    """

    rule: Rule
    doc: str
    metavar: str
    group: str

    @property
    def help(self) -> str:
        """The first sentence of the documentation."""
        return self.doc.partition(". ")[0].rstrip(".") + "."


def setting(default: Any, rule: Rule, doc: str, *, metavar: str = "", group: str = "") -> Any:
    """Return a dataclass field with a `default` that is declared as a setting."""
    return field(default=default, metadata={"setting": Setting(rule, cleandoc(doc).replace("\n", " "), metavar, group)})


def settings_of(kind: type) -> dict[str, Setting]:
    """Return the settings of a class by name, those that it inherits included, in the order of its fields."""
    declared: dict[str, Setting] = {}
    for cls in reversed(kind.__mro__):
        for one in vars(cls).get("__dataclass_fields__", {}).values():
            if "setting" in one.metadata:
                declared[one.name] = one.metadata["setting"]
    return {one.name: declared[one.name] for one in fields(kind) if one.name in declared}


def check_settings(values: Mapping[str, Any], kind: type) -> None:
    """Raise a ParameterError for the first of the `values` that the class of settings does not allow."""
    check_values(values, {name: one.rule for name, one in settings_of(kind).items()})


def check_values(values: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Raise a ParameterError for the first of the `values` that its rule does not allow.

    >>> check_values({"alpha": 0.9}, {"alpha": number_above(1)})
    Traceback (most recent call last):
        ...
    thresher.errors.ParameterError: invalid alpha: 0.9 (allowed: above 1, up to 1e6)
    """
    for name, value in values.items():
        if name in rules and not rules[name].test(value):
            raise ParameterError.of(name, value, allowed=rules[name].allowed)


Kind = TypeVar("Kind", bound=type)


def document_settings(kind: Kind) -> Kind:
    """Write the settings of a dataclass into its docstring, in place of the line that refers to them; a decorator."""
    lines = (kind.__doc__ or "").split("\n")
    for number, line in enumerate(lines):
        if line.strip().startswith(PARAMETERS):
            margin = line[: len(line) - len(line.lstrip())]
            lines[number] = indent(_parameters_section(kind), margin).rstrip()
            kind.__doc__ = "\n".join(lines)
            break
    return kind


def _parameters_section(kind: type) -> str:
    declared = settings_of(kind)
    entries = [
        f"{one.name} : {_type_name(one.type)}, default {one.default!r}\n"
        + indent(fill(f"{declared[one.name].doc} Allowed: {declared[one.name].rule.allowed}.", 100), "    ")
        for one in fields(kind)
        if one.name in declared
    ]
    return "\n".join(["Parameters", "----------", *entries])


def _type_name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")


# -- rules -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Between:
    """A test for a number above `low`, up to `high`."""

    low: float
    high: float

    def __call__(self, value: Any) -> bool:
        return is_number(value) and self.low < value <= self.high


def is_number(value: Any) -> bool:
    """Return whether this is a finite real number of a size that learners can use."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    return real and isfinite(value) and abs(value) <= MAX_NUMBER


def number_above(low: float) -> Rule:
    """Return the rule for a number above `low`."""
    return Rule(f"above {low:g}, up to 1e6".replace("1e-06", "1e-6"), _Between(low, MAX_NUMBER), "number")


def number_within(low: float, high: float) -> Rule:
    """Return the rule for a number from `low` to `high`."""
    return Rule(f"from {low:g} to {high:g}", lambda value: is_number(value) and low <= value <= high, "number")


def whole_number(low: int, high: int | None = None) -> Rule:
    """Return the rule for a whole number from `low`, up to `high` if that is given."""
    allowed = f"a whole number from {low}" if high is None else f"{low} to {high}"
    limit = float("inf") if high is None else high
    return Rule(allowed, lambda value: _is_whole(value) and low <= value <= limit, "whole number")


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def one_of(*names: str | int) -> Rule:
    """Return the rule for one of some names or numbers."""
    shown = [f'"{name}"' if isinstance(name, str) else str(name) for name in names]
    allowed = f"{', '.join(shown[:-1])} or {shown[-1]}"
    kind = "text" if all(isinstance(name, str) for name in names) else "whole number"
    return Rule(
        allowed, lambda value: isinstance(value, str | int) and not isinstance(value, bool) and value in names, kind
    )


SWITCH = Rule("True or False", lambda value: type(value).__name__ in ("bool", "bool_"), "switch")


def _is_ordered_pair(value: Any) -> bool:
    pair = isinstance(value, tuple | list) and len(value) == 2 and all(map(is_number, value))
    return pair and bool(value[0] <= value[1])


PAIR = Rule("(low, high) with low <= high, within +-1e6", _is_ordered_pair, "pair")


def either(first: Rule, second: Rule) -> Rule:
    """Return the rule for what one of two rules allows; a shell reads it as the second."""
    allowed = f"{first.allowed} or {second.allowed}"
    return Rule(allowed, lambda value: first.test(value) or second.test(value), second.kind)


NOTHING = Rule("None", lambda value: value is None)


def optional(rule: Rule) -> Rule:
    """Return the rule for None, or what another rule allows."""
    return either(NOTHING, rule)
