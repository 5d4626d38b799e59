"""How the report writes numbers and names: the filters of its template."""

from collections.abc import Callable
from math import isnan
from typing import Any

LONGEST_NAME = 32


def count(value: int) -> str:
    """Write a whole number with its thousands apart."""
    return f"{value:,}"


def per_cent(value: float) -> str:
    """Write a fraction as per cent, and what is not defined as a dash.

    >>> per_cent(0.8731), per_cent(float("nan"))
    ('87.3', '–')
    """
    return "–" if isnan(value) else f"{100 * value:.1f}"


def sortable(value: float) -> str:
    """Write a fraction for the table to sort by; nothing where it is not defined."""
    return "" if isnan(value) else f"{value:.6f}"


def width(value: float) -> str:
    """Write a fraction as the width of a bar."""
    return "0" if isnan(value) else f"{100 * min(max(value, 0.0), 1.0):.1f}%"


def signed(value: float) -> str:
    """Write a number with its sign, a true minus among them.

    >>> signed(-0.5)
    '−0.50'
    """
    return f"{value:+.2f}".replace("-", "−")


def score(value: float) -> str:
    """Write a score."""
    return f"{value:.2f}".replace("-", "−")


def shortened(name: str, longest: int = LONGEST_NAME) -> str:
    """Cut a long name in its middle, where names that resemble each other differ least."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[1 - half :]}"


FILTERS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (count, per_cent, sortable, width, signed, score, shortened)
}
