"""Which words made a score, and what a correction changed; `Categorizer.explain` and `learn` give them."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.rows import Rows


class Word(NamedTuple):
    """A feature's part in a score.

    Parameters
    ----------
    name : str
        The word or other feature.
    contribution, strength, weight : float
        What it adds to the score, which is strength x weight.
    positions : list of (int, int)
        Where it stands in the text, as (start, end) indices.
    number : int
        Its column; contributions are added up in this order.
    """

    name: str
    contribution: float
    strength: float
    weight: float
    positions: list[tuple[int, int]]
    number: int


@dataclass(frozen=True)
class Explanation:
    """Why a text is, or is not, in a category.

    Parameters
    ----------
    category, accepted : str, bool
        Which one, and whether the policy accepts it.
    score, raw, threshold : float
        What is reported, 1 + raw - threshold; the raw score; and the category's threshold for this text.
    probability : float
        Calibrated; one half at the threshold.
    words : list of Word
        By the size of their contributions, which add up to `raw`.
    unknown : int
        How many different words of the text the model does not know.
    """

    category: str
    accepted: bool
    score: float
    raw: float
    threshold: float
    probability: float
    words: list[Word]
    unknown: int = 0

    @property
    def margin(self) -> float:
        """How far the raw score lies above the threshold; negative below it."""
        return self.raw - self.threshold

    def verdict(self) -> dict[str, Any]:
        """Return all but the words, for JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "words"}

    def total(self) -> float:
        """Return the sum of the contributions, made as the score is: in float32, in the order of the features."""
        total = np.float32(0)
        for word in sorted(self.words, key=lambda word: word.number):
            total += np.float32(word.contribution)
        return float(total)

    def whole_words(self, text: str) -> list[Word]:
        """Return the words of the `text`, with what runs of their letters add to the score; the sum stays the same.

        What a run adds is shared out evenly among the places where it stands.
        """
        names = {place: word.name for word in self.words if not is_piece(word.name) for place in word.positions}
        found = {word.name: word for word in self.words if not (is_piece(word.name) and word.positions)}
        for piece in (word for word in self.words if is_piece(word.name)):
            for place in piece.positions:
                name, share = names.get(place, text[slice(*place)].lower()), piece.contribution / len(piece.positions)
                before = found.get(name, Word(name, 0.0, 0.0, 0.0, [], piece.number))
                places = before.positions if place in before.positions else [*before.positions, place]
                found[name] = before._replace(contribution=before.contribution + share, positions=places)
        return sorted(found.values(), key=_by_size)


def is_piece(name: str) -> bool:
    """Tell whether a feature is a run of letters of a word, as the analyser `chars` makes them."""
    return name.startswith("#")


def _by_size(word: Word) -> tuple[float, int]:
    return -abs(word.contribution), word.number


class Change(NamedTuple):
    """What one correction did to the weight of the feature `name`: its value `before` and `after`."""

    name: str
    before: float
    after: float


Weights = dict[str, NDArray[np.float32]]


class Correction:
    """What a document taught: the categories that had it wrong, and the features promoted and demoted for each.

    Parameters
    ----------
    wrong : dict from str to int
        The categories that erred: 1 for one that should have accepted, -1 for one that should not.
    new_categories : list of str
        Those that were not known before.
    words : callable
        Gives the names of the document's features.
    before, after : dict from str to array
        The weights of these features, by category.

    Attributes
    ----------
    mistakes, new_categories : list of str
        The categories that erred, and those that were not known before.
    promoted, demoted : dict from category to list of Change
        Made when they are looked at.
    """

    def __init__(
        self,
        wrong: dict[str, int],
        new_categories: list[str],
        words: Callable[[], list[str]],
        before: Weights,
        after: Weights,
    ) -> None:
        self.mistakes, self.new_categories = list(wrong), new_categories
        self._wrong, self._words, self._before, self._after = wrong, words, before, after

    @cached_property
    def promoted(self) -> dict[str, list[Change]]:
        """The features that now speak more for a category that should have accepted."""
        return {name: self._changes[name] for name, sign in self._wrong.items() if sign > 0}

    @cached_property
    def demoted(self) -> dict[str, list[Change]]:
        """The features that now speak less for a category that should not have."""
        return {name: self._changes[name] for name, sign in self._wrong.items() if sign < 0}

    @cached_property
    def _changes(self) -> dict[str, list[Change]]:
        words = self._words() if self._wrong else []
        nothing = np.zeros(len(words), dtype=np.float32)
        pairs = {name: (self._before.get(name, nothing).tolist(), self._after[name].tolist()) for name in self._wrong}
        return {
            name: [Change(word, old, new) for word, old, new in zip(words, *pair, strict=True) if old != new]
            for name, pair in pairs.items()
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Correction):
            return NotImplemented
        return self._told() == other._told()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Correction(mistakes={!r}, promoted={!r}, demoted={!r}, new_categories={!r})".format(*self._told())

    def _told(self) -> tuple[Any, ...]:
        return self.mistakes, self.promoted, self.demoted, self.new_categories


def weighed_words(
    names: list[str], rows: Rows, weights: NDArray[np.float32], places: dict[str, list[tuple[int, int]]]
) -> list[Word]:
    """Return the words of one row of strengths with their parts in the score, the greatest first."""
    words = [
        Word(name, float(strength * weight), float(strength), float(weight), places.get(name, []), int(number))
        for name, strength, weight, number in zip(names, rows.data, weights, rows.indices, strict=True)
    ]
    return sorted(words, key=_by_size)
