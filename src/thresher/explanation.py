"""Which words made a score, and what a correction changed; `Categorizer.explain` and `learn` give them."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.rows import Rows


class Word(NamedTuple):
    """A feature's part in a score: strength x weight, and where it stands in the text, as (start, end) indices."""

    name: str
    contribution: float
    strength: float
    weight: float
    positions: list[tuple[int, int]]
    number: int


@dataclass(frozen=True)
class Explanation:
    """Why a text is, or is not, in a category.

    `words` stand by the size of their contributions, which add up to `raw`, the raw score; `score` is what is reported,
    1 + raw - threshold, with the category's threshold for this text. `unknown` counts the different words of the text
    that the model does not know.
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

    def total(self) -> float:
        """Return the sum of the contributions, made as the score is: in float32, in the order of the features."""
        total = np.float32(0)
        for word in sorted(self.words, key=lambda word: word.number):
            total += np.float32(word.contribution)
        return float(total)

    def whole_words(self, text: str) -> list[Word]:
        """Return the words of the text, with what runs of their letters add to the score; the sum stays the same.

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
    """What one correction did to a feature's weight."""

    name: str
    before: float
    after: float


@dataclass(frozen=True)
class Correction:
    """What a document taught: the categories that had it wrong, and the features promoted and demoted for each."""

    mistakes: list[str]
    promoted: dict[str, list[Change]] = field(default_factory=dict)
    demoted: dict[str, list[Change]] = field(default_factory=dict)
    new_categories: list[str] = field(default_factory=list)


def weighed_words(
    names: list[str], rows: Rows, weights: NDArray[np.float32], places: dict[str, list[tuple[int, int]]]
) -> list[Word]:
    """Return the words of one row of strengths with their parts in the score, the greatest first."""
    words = [
        Word(name, float(strength * weight), float(strength), float(weight), places.get(name, []), int(number))
        for name, strength, weight, number in zip(names, rows.data, weights, rows.indices, strict=True)
    ]
    return sorted(words, key=_by_size)


Weights = dict[str, NDArray[np.float32]]


def correction(
    wrong: dict[str, int], words: list[str], before: Weights, after: Weights, new_categories: list[str]
) -> Correction:
    """Return what a correction did; `wrong` holds the categories that erred, +1 where they should have accepted."""
    nothing = np.zeros(len(words), dtype=np.float32)
    changes = {
        name: [
            Change(word, old, new)
            for word, old, new in zip(words, before.get(name, nothing).tolist(), after[name].tolist(), strict=True)
            if old != new
        ]
        for name in wrong
    }
    promoted = {name: changes[name] for name, sign in wrong.items() if sign > 0}
    demoted = {name: changes[name] for name, sign in wrong.items() if sign < 0}
    return Correction(list(wrong), promoted, demoted, new_categories)
