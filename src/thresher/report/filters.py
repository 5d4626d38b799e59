"""Template filters that format the numbers and names of the report."""

from collections.abc import Callable
from math import isnan
from typing import Any

from thresher.support.units import format_percent

MAX_NAME_LENGTH = 32


def format_count(value: int) -> str:
    """Return a whole number with thousands separators."""
    return f"{value:,}"


def format_sort_key(value: float) -> str:
    """Return a fraction as a sort key for tables, or "" for NaN."""
    return "" if isnan(value) else f"{value:.6f}"


def format_width(value: float) -> str:
    """Return a fraction as the CSS width of a bar."""
    return "0" if isnan(value) else f"{100 * min(max(value, 0.0), 1.0):.1f}%"


def format_signed(value: float) -> str:
    """Return a number with its sign and two decimals, using the Unicode minus sign.

    >>> format_signed(-0.5)
    '−0.50'
    """
    return f"{value:+.2f}".replace("-", "−")


def format_score(value: float) -> str:
    """Return a score with two decimals, using the Unicode minus sign."""
    return f"{value:.2f}".replace("-", "−")


def shorten(name: str, longest: int = MAX_NAME_LENGTH) -> str:
    """Return a long name cut in the middle, where similar names differ least."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[1 - half :]}"


FILTERS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (format_count, format_percent, format_sort_key, format_width, format_signed, format_score, shorten)
}
