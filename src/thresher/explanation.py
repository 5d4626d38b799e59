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
    1 + raw - threshold. `unknown` counts the different words of the text that the model does not know.
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
    return sorted(words, key=lambda word: (-abs(word.contribution), word.number))


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
