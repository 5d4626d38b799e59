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
        totals, seen = dict[str, float](), dict[str, set[tuple[int, int]]]()
        for piece in (word for word in self.words if is_piece(word.name)):
            share = piece.contribution / max(len(piece.positions), 1)
            for place in piece.positions:
                name = names[place] if place in names else text[slice(*place)].lower()
                if name not in seen:
                    word = found.get(name, Word(name, 0.0, 0.0, 0.0, [], piece.number))
                    found[name], seen[name] = word._replace(positions=list(word.positions)), set(word.positions)
                    totals[name] = word.contribution
                totals[name] += share
                if place not in seen[name]:
                    seen[name].add(place)
                    found[name].positions.append(place)
        whole = [word._replace(contribution=totals.get(word.name, word.contribution)) for word in found.values()]
        return sorted(whole, key=_by_size)


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
        return {name: self._changes(name) for name, sign in self._wrong.items() if sign > 0}

    @cached_property
    def demoted(self) -> dict[str, list[Change]]:
        """The features that now speak less for a category that should not have."""
        return {name: self._changes(name) for name, sign in self._wrong.items() if sign < 0}

    def count_promoted(self) -> dict[str, int]:
        """Return how many words changed for each category that should have accepted."""
        return {name: len(self._changed_words(name)) for name, sign in self._wrong.items() if sign > 0}

    def count_demoted(self) -> dict[str, int]:
        """Return how many words changed for each category that should not have accepted."""
        return {name: len(self._changed_words(name)) for name, sign in self._wrong.items() if sign < 0}

    def largest_changes(self, most: int) -> dict[str, list[Change]]:
        """Return the words that changed most, at most `most` for each category that erred."""
        return {name: self._listed(name, self._largest(name, most)) for name in self._wrong}

    @cached_property
    def _names(self) -> list[str]:
        return self._words()

    @cached_property
    def _is_word(self) -> NDArray[np.bool_]:
        return np.fromiter((not is_piece(name) for name in self._names), np.bool_, len(self._names))

    def _weights(self, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the weights of the document's features for a category, before and after."""
        after = self._after[name]
        return self._before.get(name, np.zeros_like(after)), after

    def _changes(self, name: str) -> list[Change]:
        before, after = self._weights(name)
        return self._listed(name, np.flatnonzero(before != after))

    def _changed_words(self, name: str) -> NDArray[np.int64]:
        """Return the places of the words that changed; of the pieces of words where no word did."""
        before, after = self._weights(name)
        changed = before != after
        words = np.flatnonzero(changed & self._is_word)
        return words if len(words) else np.flatnonzero(changed)

    def _largest(self, name: str, most: int) -> NDArray[np.int64]:
        """Return the places of the words that changed most, the largest change first."""
        places = self._changed_words(name)
        before, after = (weights[places].astype(np.float64) for weights in self._weights(name))
        sizes = np.abs(after - before)
        if len(places) > most:
            largest = np.flatnonzero(sizes >= np.partition(sizes, -most)[-most])
            places, sizes = places[largest], sizes[largest]
        return places[np.argsort(-sizes, kind="stable")[:most]]

    def _listed(self, name: str, places: NDArray[np.int64]) -> list[Change]:
        before, after = (weights[places].tolist() for weights in self._weights(name))
        return [Change(self._names[i], *pair) for i, *pair in zip(places.tolist(), before, after, strict=True)]

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
