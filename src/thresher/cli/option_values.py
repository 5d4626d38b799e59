"""Parse the values of options: numbers, and pairs of them."""

import re
from collections.abc import Callable
from typing import Any

import typer

from thresher.support.settings import whole_number

# Python itself also accepts underscores, nan, inf and the digits of every script.
_WHOLE_NUMBER = r"[+-]?\d+"
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"


def integer(low: int, high: int | None = None) -> Callable[[Any], int]:
    """Return the parser of an option that takes a whole number from `low`, up to `high` if that is given."""
    rule = whole_number(low, high)

    def parse(text: Any) -> int:
        value = parse_whole_number(str(text))  # a default is a number already
        if not rule.test(value):
            raise typer.BadParameter(f"{value} (allowed: {rule.allowed})")
        return value

    return parse


def parse_whole_number(text: str) -> int:
    """Return a text as a whole number."""
    if not re.fullmatch(_WHOLE_NUMBER, text.strip(), re.ASCII):
        raise typer.BadParameter(f"{text!r} (not a whole number)")
    return int(text)


def parse_number(text: str) -> float | str:
    """Return a text as a number, or unchanged if it is "none"."""
    if text.lower() == "none":
        return text
    if not re.fullmatch(_NUMBER, text.strip(), re.ASCII):
        raise typer.BadParameter(f"{text!r} (not a number)")
    return float(text)


def parse_pair(text: str) -> tuple[float | str, ...] | str:
    """Return a text such as "0.9,1.1" as two numbers, and another text unchanged: it may be a name.

    >>> parse_pair("0.9,1.1"), parse_pair("initial")
    ((0.9, 1.1), 'initial')
    """
    return tuple(map(parse_number, text.split(","))) if text.count(",") == 1 else text


# The parser for each kind of setting; others are texts.
PARSERS: dict[str, Callable[[str], Any]] = {
    "whole number": parse_whole_number,
    "number": parse_number,
    "pair": parse_pair,
}
