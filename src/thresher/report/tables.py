"""Build the tables of the report as rows: categories, strongest words, settings and versions."""

import platform
from collections.abc import Mapping
from typing import Any, NamedTuple

import numba
import numpy as np

from thresher import __version__
from thresher.categorizer import Categorizer

TOP_WORDS = 10
SHOWN_WORDS = 6


class CategoryRow(NamedTuple):
    """The results of one category; rates are fractions from 0 to 1, or NaN if undefined."""

    name: str
    positives: int
    accepted: int
    precision: float
    recall: float
    f1: float
    break_even: float


def make_category_rows(summary: Mapping[str, Any]) -> list[CategoryRow]:
    """Return one row per category, those with the most positives first."""
    rows = [
        CategoryRow(
            str(row["category"]),
            int(row["positives"]),
            int(row["accepted"]),
            *(to_fraction(row[rate]) for rate in ("precision", "recall", "f1", "break_even")),
        )
        for row in summary["per_category"]
    ]
    return sorted(rows, key=lambda row: -row.positives)


def to_fraction(value: float | None) -> float:
    """Return a rate as a float, NaN for None."""
    return float("nan") if value is None else float(value)


class WeighedWord(NamedTuple):
    """A word with its weight, and the ratio of the weight to the largest in the row."""

    name: str
    weight: float
    share: float


class WordRow(NamedTuple):
    """The strongest words of a category."""

    category: str
    most: list[WeighedWord]
    least: list[WeighedWord]

    @property
    def first(self) -> str:
        """The first few words for the category, on one line."""
        return ", ".join(word.name for word in self.most[:SHOWN_WORDS])


def make_word_rows(model: Categorizer, categories: list[str], most: int) -> list[WordRow]:
    """Return the words for and against the first `most` of the categories that the model knows."""
    known = set(model.categories)
    return [_make_word_row(model, name) for name in [name for name in categories if name in known][:most]]


def _make_word_row(model: Categorizer, category: str) -> WordRow:
    most, least = model.strongest_words(category, top=TOP_WORDS)
    scale = max((abs(weight) for _, weight in most + least), default=1.0)
    return WordRow(category, *([WeighedWord(name, w, abs(w) / scale) for name, w in words] for words in (most, least)))


def make_setting_rows(model: Categorizer) -> list[tuple[str, str]]:
    """Return the settings of a model as (name, value) pairs of readable text."""
    settings = (
        model.settings
        | model.chosen
        | {"analyser": model.state.features.analyser.name, "policy": model.state.decisions.policy}
    )
    return [("preset", model.state.preset)] + [(name, _format_value(value)) for name, value in sorted(settings.items())]


def _format_value(value: Any) -> str:
    if isinstance(value, tuple | list):
        return " to ".join(map(_format_value, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def make_version_rows() -> list[tuple[str, str]]:
    """Return the versions of Thresher, Python and the packages behind the scores and the page."""
    import jinja2
    import matplotlib

    return [
        ("thresher", __version__),
        ("python", platform.python_version()),
        ("numpy", np.__version__),
        ("numba", numba.__version__),
        ("matplotlib", matplotlib.__version__),
        ("jinja2", jinja2.__version__),
    ]
