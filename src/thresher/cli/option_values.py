"""Parse the values of options: numbers, and pairs of them."""

import re
from collections.abc import Callable
from typing import Any

import typer

from thresher.support.settings import whole_number

# Python itself also accepts underscores, nan, inf and the digits of every script.
_PATTERNS = {int: r"[+-]?\d+", float: r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"}


def integer(low: int, high: int | None = None) -> Callable[[Any], int]:
    """Return the parser of an option that takes a whole number from `low`, up to `high` if that is given."""
    rule = whole_number(low, high)

    def parse(text: Any) -> int:
        value: int = parse_value(rule.kind, str(text))  # a default is a number already
        if not rule.test(value):
            raise typer.BadParameter(f"{value} (allowed: {rule.allowed})")
        return value

    return parse


def parse_value(kind: str, text: str) -> Any:
    """Return the value that a text stands for if a setting is of this `kind`; names are returned unchanged.

    >>> parse_value("pair", "0.9,1.1"), parse_value("whole number", "3"), parse_value("number", "none")
    ((0.9, 1.1), 3, 'none')
    """
    if kind == "whole number":
        return _parse_number(text, int)
    if kind == "number" and text.lower() != "none":
        return _parse_number(text, float)
    if kind == "pair" and text.count(",") == 1:
        return tuple(_parse_number(part, float) for part in text.split(","))
    return text


def _parse_number(text: str, kind: type) -> Any:
    if not re.fullmatch(_PATTERNS[kind], text.strip(), re.ASCII):
        raise typer.BadParameter(f"{text!r} (not {'a whole number' if kind is int else 'a number'})")
    return kind(text)
