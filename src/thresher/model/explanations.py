"""Explain scores and corrections: which words made a score, and which weights a correction changed."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.errors import TextError
from thresher.kernels.csr import Rows
from thresher.model.scoring import apply_policy, score_batches, strengthen_rows
from thresher.model.state import ModelState
from thresher.text.analysers import Text


class Word(NamedTuple):
    """A feature's contribution to a score.

    Parameters
    ----------
    name : str
        The word or other feature.
    contribution, strength, weight : float
        The contribution to the score is strength x weight.
    positions : list of (int, int)
        Where it occurs in the text, as (start, end) indices.
    number : int
        Its column. Contributions are added up in this order.
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
        The category, and whether the policy accepts it.
    score, raw, threshold : float
        The reported score, 1 + raw - threshold; the raw score; and the category's threshold for this text.
    probability : float
        The calibrated probability.
    words : list of Word
        Sorted by the size of their contributions, which add up to `raw`.
    unknown : int
        The number of distinct words of the text that the model does not know.
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
        """The raw score minus the threshold; negative below it."""
        return self.raw - self.threshold

    def verdict(self) -> dict[str, Any]:
        """Return all fields but the words, for JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "words"}

    def total(self) -> float:
        """Return the sum of the contributions, computed like the score: in float32, in the order of the features."""
        total = np.float32(0)
        for word in sorted(self.words, key=lambda word: word.number):
            total += np.float32(word.contribution)
        return float(total)

    def whole_words(self, text: str) -> list[Word]:
        """Return the words of the `text`, each including the contributions of its letter n-grams.

        The contribution of an n-gram is divided evenly among the places where it occurs, so the sum stays the same.
        """
        names = {place: word.name for word in self.words if not is_piece(word.name) for place in word.positions}
        words = {word.name: word for word in self.words if not (is_piece(word.name) and word.positions)}
        totals, seen = dict[str, float](), dict[str, set[tuple[int, int]]]()
        for piece in (word for word in self.words if is_piece(word.name)):
            share = piece.contribution / max(len(piece.positions), 1)
            for place in piece.positions:
                name = names[place] if place in names else text[slice(*place)].lower()
                if name not in seen:
                    word = words.get(name, Word(name, 0.0, 0.0, 0.0, [], piece.number))
                    words[name], seen[name] = word._replace(positions=list(word.positions)), set(word.positions)
                    totals[name] = word.contribution
                totals[name] += share
                if place not in seen[name]:
                    seen[name].add(place)
                    words[name].positions.append(place)
        whole = [word._replace(contribution=totals.get(word.name, word.contribution)) for word in words.values()]
        return sorted(whole, key=_by_size)


def is_piece(name: str) -> bool:
    """Return whether a feature is a letter n-gram, as the analyser `chars` produces them."""
    return name.startswith("#")


def _by_size(word: Word) -> tuple[float, int]:
    return -abs(word.contribution), word.number


class Change(NamedTuple):
    """The change of one feature's weight by a correction: its `name` and the values `before` and `after`."""

    name: str
    before: float
    after: float


Weights = dict[str, NDArray[np.float32]]


class Correction:
    """The effect of one document on a model: the categories that were wrong, and the features promoted and demoted.

    Parameters
    ----------
    wrong : dict from str to int
        The categories that were wrong: 1 for one that should have accepted, -1 for one that should not.
    new_categories : list of str
        The categories that were not known before.
    words : callable
        Returns the names of the document's features.
    before, after : dict from str to array
        The weights of these features, by category.

    Attributes
    ----------
    mistakes, new_categories : list of str
        The categories that were wrong, and those that were not known before.
    promoted, demoted : dict from category to list of Change
        Computed on first access.
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
        """The changed features of each category that should have accepted."""
        return {name: self._changes(name) for name, sign in self._wrong.items() if sign > 0}

    @cached_property
    def demoted(self) -> dict[str, list[Change]]:
        """The changed features of each category that should not have accepted."""
        return {name: self._changes(name) for name, sign in self._wrong.items() if sign < 0}

    def count_promoted(self) -> dict[str, int]:
        """Return the number of words that changed for each category that should have accepted."""
        return {name: len(self._find_changed_words(name)) for name, sign in self._wrong.items() if sign > 0}

    def count_demoted(self) -> dict[str, int]:
        """Return the number of words that changed for each category that should not have accepted."""
        return {name: len(self._find_changed_words(name)) for name, sign in self._wrong.items() if sign < 0}

    def largest_changes(self, most: int) -> dict[str, list[Change]]:
        """Return the `most` largest changes of words for each category that was wrong."""
        return {name: self._make_changes(name, self._largest(name, most)) for name in self._wrong}

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
        return self._make_changes(name, np.flatnonzero(before != after))

    def _find_changed_words(self, name: str) -> NDArray[np.int64]:
        """Return the indices of the words that changed, or of the letter n-grams if no word did."""
        before, after = self._weights(name)
        changed = before != after
        words = np.flatnonzero(changed & self._is_word)
        return words if len(words) else np.flatnonzero(changed)

    def _largest(self, name: str, most: int) -> NDArray[np.int64]:
        """Return the indices of the words that changed most, the largest change first."""
        places = self._find_changed_words(name)
        before, after = (weights[places].astype(np.float64) for weights in self._weights(name))
        sizes = np.abs(after - before)
        if len(places) > most:
            largest = np.flatnonzero(sizes >= np.partition(sizes, -most)[-most])
            places, sizes = places[largest], sizes[largest]
        return places[np.argsort(-sizes, kind="stable")[:most]]

    def _make_changes(self, name: str, places: NDArray[np.int64]) -> list[Change]:
        before, after = (weights[places].tolist() for weights in self._weights(name))
        return [Change(self._names[i], *pair) for i, *pair in zip(places.tolist(), before, after, strict=True)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Correction):
            return NotImplemented
        return self._parts() == other._parts()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Correction(mistakes={!r}, promoted={!r}, demoted={!r}, new_categories={!r})".format(*self._parts())

    def _parts(self) -> tuple[Any, ...]:
        return self.mistakes, self.promoted, self.demoted, self.new_categories


def make_words(
    names: list[str], rows: Rows, weights: NDArray[np.float32], places: dict[str, list[tuple[int, int]]]
) -> list[Word]:
    """Return the words of one row of strengths with their contributions, the largest first."""
    words = [
        Word(name, float(strength * weight), float(strength), float(weight), places.get(name, []), int(number))
        for name, strength, weight, number in zip(names, rows.data, weights, rows.indices, strict=True)
    ]
    return sorted(words, key=_by_size)


def explain(model: ModelState, text: Text, category: str | None) -> Explanation:
    """Return the explanation of a category's score, by default of the best category."""
    return next(explain_all(model, text, [category]))


def explain_all(model: ModelState, text: Text, categories: Iterable[str | None]) -> Iterator[Explanation]:
    """Yield an explanation for each category; None means the best one. The text is analysed once."""
    if not model.categories and model.learner.is_fitted:
        raise TextError("there are no categories to explain")
    scores, empty = next(score_batches(model, [text], lambda *batch: batch))
    reported, accepted = model.decisions.reported_scores(scores)[0], apply_policy(model, scores, empty)[0]
    cuts = np.broadcast_to(model.decisions.cuts(scores), scores.shape)[0]
    probabilities = model.decisions.probabilities(scores)[0]
    places, strong = model.features.occurrences(text), strengthen_rows(model, model.features.rows([text]))
    names = model.features.names_of(strong.indices)
    unknown = len(_single_words(places) - set(names))
    for category in categories:
        number = int(reported.argmax()) if category is None else model.number_of(category)
        weights = model.learner.category_weights(number, strong.indices)
        yield Explanation(
            category=model.categories[number],
            accepted=bool(accepted[number]),
            score=float(reported[number]),
            raw=float(scores[0, number]),
            threshold=float(cuts[number]),
            probability=float(probabilities[number]),
            words=make_words(names, strong, weights, places),
            unknown=unknown,
        )


def _single_words(places: Collection[str]) -> set[str]:
    """Return the features that are single words: not pairs, letter n-grams, or words prefixed with a field's name."""
    return {name for name in places if " " not in name and not is_piece(name) and name.partition(":")[2] not in places}


def strongest_words(
    model: ModelState, category: str, top: int
) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Return the words with the highest and with the lowest weights for a category.

    Letter n-grams are listed only if the model has no words.
    """
    number = model.number_of(category)
    weights = model.learner.category_weights(number, np.arange(model.features.vocabulary.count))
    words = model.features.is_word
    weights = np.where(words, weights, 0) if words.any() else weights
    order = np.argsort(-weights, kind="stable")
    most, least = order[:top][weights[order[:top]] > 0], order[::-1][:top][weights[order[::-1][:top]] < 0]
    strongest, weakest = (
        list(zip(model.features.names_of(chosen), weights[chosen].tolist(), strict=True)) for chosen in (most, least)
    )
    return strongest, weakest


def count_weights(model: ModelState, category: str) -> int:
    """Return the number of features with a nonzero weight for a category."""
    if not model.learner.is_fitted:
        return 0
    every = np.arange(model.learner.n_features_)
    return int(np.count_nonzero(model.learner.category_weights(model.number_of(category), every)))


def weights_at(model: ModelState, rows: Rows, categories: list[int]) -> dict[str, NDArray[np.float32]]:
    """Return the current weights of a document's features, for those of the categories that the model knows."""
    weights_by_name = {}
    for c in categories:
        if c < len(model.categories) and model.learner.is_fitted:
            known, weights = rows.indices, np.zeros(len(rows.indices), dtype=np.float32)
            if rows.n_features > model.learner.n_features_:
                known = known[known < model.learner.n_features_]
            weights[: len(known)] = model.learner.get_weights().category_weights(c, known, last=True)
            weights_by_name[model.categories[c]] = weights
    return weights_by_name
