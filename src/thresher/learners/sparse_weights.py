"""Sparse weights of a learner, stored by feature, for only the features that a category has met.

Learners hold them if `sparse` is set.
"""

from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.kernels.dense_weights import PRESENT, Rule, Weights
from thresher.kernels.mistake_driven import Examples
from thresher.kernels.sparse_weights import (
    Lists,
    learn_sparse_rows,
    move_lists,
    order_by_feature,
    put_back,
    score_sparse_rows,
    trim_lists,
    write_entry_means,
    write_weights_of,
)
from thresher.learners.chunks import run_on_threads, split_order
from thresher.learners.dense_weights import DenseWeights, Start

_GROWTH = 1.5


class Entries(NamedTuple):
    """Weights with their categories and features, sorted by category and then by feature; unneeded arrays are empty."""

    categories: NDArray[np.int32]
    features: NDArray[np.int32]
    weight: NDArray[np.float32]
    positive: NDArray[np.float32]
    negative: NDArray[np.float32]
    moment: NDArray[np.float64]

    def at(self, places: NDArray[Any]) -> "Entries":
        """Return the entries at some positions."""
        return Entries._make(array[places] if len(array) else array for array in self)


def collect_entries(blocks: DenseWeights) -> Entries:
    """Return the weights of the features that the categories of some blocks have met."""
    parts = []
    for block in range(len(blocks.examples)):
        arrays = [array[block] for array in blocks.weights]
        present = blocks.weights.absent[block, : blocks.n_features] == PRESENT
        lanes, features = np.nonzero(present[:, : blocks.n_categories - block * blocks.width].T)
        weight, positive, negative, _, moment = (
            array[features, lanes] if len(array) else array.reshape(-1) for array in arrays
        )
        categories = (lanes + block * blocks.width).astype(np.int32)
        parts.append(Entries(categories, features.astype(np.int32), weight, positive, negative, moment))
    return join_entries(parts)


def join_entries(parts: list[Entries]) -> Entries:
    """Return the entries of several parts, one after another."""
    return Entries._make(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


class SparseWeights:
    """All weights of a learner with sparse weights, and the number of examples of each category.

    It has the public methods of `DenseWeights` that learners and model files use.
    """

    is_sparse: ClassVar[bool] = True
    can_discard: ClassVar[bool] = True

    def __init__(self, start: Start, n_features: int, examples: NDArray[np.int64], entries: Entries) -> None:
        self.start, self.n_features, self.examples = start, n_features, examples
        counts = np.bincount(entries.features, minlength=n_features)
        self.lists = _new_lists(start, counts, np.zeros(n_features, dtype=np.int64))
        order = np.empty(len(entries.features), dtype=np.int64)
        order_by_feature(entries.features, self.lists.starts, order)
        pairs: Any = zip(self.lists[3:], (entries.categories, *entries[2:]), strict=True)
        for target, source in pairs:
            if len(source):
                target[order] = source
        self.lists.counts[:] = counts
        self._mean: list[NDArray[np.float32]] = []  # filled on first use; a new list after each change

    @classmethod
    def empty(cls, start: Start) -> "SparseWeights":
        """Return weights without features and categories."""
        none = np.zeros(0, dtype=np.float32)
        numbers = none.astype(np.int32)
        entries = Entries(numbers, numbers, none, none, none, none.astype(np.float64))
        return cls(start, 0, np.zeros(0, dtype=np.int64), entries)

    @property
    def n_categories(self) -> int:
        """The number of categories."""
        return len(self.examples)

    def grow(self, n_features: int, n_categories: int) -> None:
        """Add features and categories, whose weights are 0 until they are met."""
        more = n_features - self.n_features
        if more > 0:
            none = np.zeros(more, dtype=np.int64)
            starts, counts, rooms = (np.concatenate((array, none)) for array in self.lists[:3])
            self.lists = self.lists._replace(starts=starts, counts=counts, rooms=rooms)
            self.n_features = n_features
        if n_categories > self.n_categories:
            self.examples = np.append(self.examples, np.zeros(n_categories - self.n_categories, dtype=np.int64))

    def has_room(self, n_features: int, n_categories: int) -> bool:
        """Return whether there is room for `n_features` and `n_categories`: always, as lists grow."""
        return True

    def reserve(self, n_features: int, n_categories: int) -> None:
        """Allocate nothing: entries take memory as they come, and a text adds few to each category that it teaches."""

    def forget_categories(self, count: int) -> None:
        """Keep only the first `count` categories."""
        self.examples, self._mean = self.examples[:count], []
        trim_lists(self.lists, count)

    def view(self) -> "SparseWeights":
        """Return weights that do not change with these: a copy, as new entries move others."""
        return self.copy()

    def copy(self) -> "SparseWeights":
        """Return a copy that shares nothing that may change."""
        twin = self._now()
        twin.examples, twin._mean = twin.examples.copy(), list(twin._mean)
        twin.lists = Lists._make(array.copy() for array in twin.lists)
        return twin

    def _now(self) -> "SparseWeights":
        """Return the weights as they are now, unaffected by what another thread assigns to these later."""
        twin = SparseWeights.__new__(SparseWeights)
        twin.__dict__.update(self.__dict__)
        return twin

    def copy_part(self, categories: list[int], features: NDArray[np.int64]) -> "SparseWeights":
        """Return a copy of the weights of only some categories and features; `put_back_part` copies it back."""
        numbers, features_met, places = self._find_entries(categories, features)
        order = np.argsort(numbers, kind="stable")
        numbers, features_met, places = numbers[order], features_met[order], places[order]
        weights: Any = (array[places] if len(array) else array for array in self.lists[4:])
        entries = Entries(numbers, features_met, *weights)
        return SparseWeights(self.start, len(features), self.examples[categories], entries)

    def _find_entries(
        self, categories: list[int], features: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Return the category, feature and position of each entry of some categories and features.

        Categories and features are numbered by their order in the arguments.
        """
        met, places = self._find_places(features)
        renumbered = np.full(self.n_categories, -1, dtype=np.int32)
        renumbered[categories] = np.arange(len(categories))
        numbers = renumbered[self.lists.categories[places]]
        chosen = numbers >= 0
        return numbers[chosen], met[chosen], places[chosen]

    def put_back_part(self, part: Any, categories: list[int], features: NDArray[np.int64]) -> None:
        """Copy back the weights and examples of a part."""
        _, known, _ = self._find_entries(categories, features)
        wanted = part.lists.counts - np.bincount(known, minlength=len(features))
        short = wanted > (self.lists.rooms - self.lists.counts)[features]
        if short.any():
            self._make_room(features[short].astype(np.int32), int(wanted.max()))
        entries: Entries = part.entries()
        ends = np.cumsum(np.bincount(entries.categories, minlength=len(categories)))
        for category, first, last in zip(categories, np.append(0, ends), ends, strict=False):
            category_entries = entries.at(np.arange(first, last))
            weight, positive, negative, moment = (array[:, np.newaxis] for array in cast(Any, category_entries[2:]))
            absent = np.full(weight.shape, PRESENT, dtype=np.uint8)
            few = Weights(weight, positive, negative, absent, moment)
            put_back(features[category_entries.features].astype(np.int32), category, few, self.lists)
        self.examples[categories] = part.examples
        self._mean = []

    # -- training and scoring ----------------------------------------------------------------------------------------

    def learn(self, examples: Examples, rule: Rule) -> NDArray[np.int64]:
        """Make one pass over rows in the given order; return the mistakes by category."""
        mistakes, self._mean = np.zeros(self.n_categories, dtype=np.int64), []
        n_rows = len(examples.rows.indptr) - 1
        for part in split_order(np.arange(n_rows), np.diff(examples.rows.indptr), self.n_categories):
            row, last = (int(part[0]), int(part[-1]) + 1) if len(part) else (0, 0)
            while row < last:
                row, wanted = learn_sparse_rows(examples, row, last, rule, self.examples, mistakes, self.lists)
                if wanted:
                    indptr, indices, _, _ = examples.rows
                    self._make_room(indices[indptr[row] : indptr[row + 1]], wanted)
        self._mean = []
        return mistakes

    def _make_room(self, features: NDArray[np.int32], wanted: int) -> None:
        """Make room for `wanted` more entries in the lists of some features."""
        rooms = self.lists.rooms.copy()
        counts = self.lists.counts[features]
        rooms[features] = np.maximum(rooms[features], (counts * _GROWTH).astype(np.int64) + wanted)
        lists = _new_lists(self.start, rooms, self.lists.counts)
        move_lists(self.lists, lists)
        self.lists = lists

    def stream(self, examples: Examples, rule: Rule) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Score each of a few rows, then learn it; return the scores, and the mistakes by category."""
        rows, labels, steps = examples
        n_rows = len(rows.indptr) - 1
        scores = np.empty((n_rows, self.n_categories), dtype=np.float32)
        mistakes = np.zeros(self.n_categories, dtype=np.int64)
        for row in range(n_rows):
            score_sparse_rows(rows, row, row + 1, self.lists, self.lists.weight, scores)
            one = Examples(
                rows._replace(indptr=rows.indptr[row : row + 2]),
                labels._replace(indptr=labels.indptr[row : row + 2]),
                steps,
            )
            mistakes += self.learn(one, rule)
        return scores, mistakes

    def score(self, rows: Rows, n_threads: int) -> NDArray[np.float32]:
        """Return the scores, of shape (rows, categories), computed by threads over ranges of rows."""
        n_rows, now = len(rows.indptr) - 1, self._now()
        weight, scores = now._get_scoring_weight(), np.empty((n_rows, now.n_categories), dtype=np.float32)

        def score_part(first: int, last: int) -> None:
            score_sparse_rows(rows, first, last, now.lists, weight, scores)

        run_on_threads(score_part, split_order(np.arange(n_rows), np.diff(rows.indptr), now.n_categories), n_threads)
        return scores

    # -- access to weights -------------------------------------------------------------------------------------------

    def _get_scoring_weight(self) -> NDArray[np.float32]:
        if not self.start.average:
            return self.lists.weight
        known = self._mean[:1]  # has another length if another thread has just made room
        if not known or len(known[0]) != len(self.lists.weight):
            known = [np.zeros(len(self.lists.weight), dtype=np.float32)]
            write_entry_means(self.lists, self.examples, known[0])
            self._mean[:] = known  # assigned last, as other threads read it too
        return known[0]

    def category_weights(self, category: int, features: NDArray[np.integer], last: bool = False) -> NDArray[np.float32]:
        """Return the weights of some features for a category, as used in scores or, if `last`, after the last step."""
        category_weights = np.empty(len(features), dtype=np.float32)
        now = self._now()
        weight = now.lists.weight if last else now._get_scoring_weight()
        write_weights_of(now.lists, category, np.asarray(features, dtype=np.int64), weight, category_weights)
        return category_weights

    def count_discarded(self) -> NDArray[np.int64]:
        """Return the number of discarded features, by category: always 0, as they count as not met."""
        return np.zeros(self.n_categories, dtype=np.int64)

    def to_matrix(self) -> NDArray[np.float32]:
        """Return the weights used in scores, of shape (features, categories)."""
        matrix = np.zeros((self.n_features, self.n_categories), dtype=np.float32)
        features, places = self._find_places()
        matrix[features, self.lists.categories[places]] = self._get_scoring_weight()[places]
        return matrix

    def _find_places(self, features: Any = slice(None)) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the feature of each entry, numbered by its order in `features`, and the position, list by list."""
        counts, starts = self.lists.counts[features], self.lists.starts[features]
        numbers = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        places = np.repeat(starts - (np.cumsum(counts) - counts), counts)
        places += np.arange(len(places))
        return numbers, places

    def entries(self, scoring: bool = False) -> Entries:
        """Return all entries, sorted by category, with the last weights or, if `scoring`, those used in scores."""
        features, places = self._find_places()
        lists = self.lists._replace(weight=self._get_scoring_weight()) if scoring else self.lists
        order = np.argsort(lists.categories[places], kind="stable")
        features, places = features[order], places[order]
        del order  # frees memory, as there may be very many entries
        arrays: Any = (array[places] if len(array) else array for array in lists[3:])
        categories, *weights = arrays
        return Entries(categories, features, *weights)

    def replace_entries(self, entries: Entries) -> "SparseWeights":
        """Return weights with other entries, sorted by category, for the same features and categories."""
        return SparseWeights(self.start, self.n_features, self.examples.copy(), entries)

    def measure_importance(self, factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the size of each weight used in scores times its feature's factor, by category and then by feature."""
        entries = self.entries(scoring=True)
        return np.asarray(np.abs(entries.weight.astype(np.float64)) * factors[entries.features])

    def keep_important(self, importance: NDArray[np.float64], count: int) -> tuple["SparseWeights", NDArray[np.int64]]:
        """Return the `count` most important weights, and the numbers of the features that have one."""
        entries = self.entries().at(np.sort(np.argsort(-importance, kind="stable")[:count]))
        features, numbers = np.unique(entries.features, return_inverse=True)
        entries = entries._replace(features=numbers.astype(np.int32))
        return SparseWeights(self.start, len(features), self.examples.copy(), entries), features.astype(np.int64)

    def select(self, categories: list[int]) -> "SparseWeights":
        """Return the weights of only some categories, in that order."""
        entries = self.entries()
        ends = np.cumsum(np.bincount(entries.categories, minlength=self.n_categories))
        starts = np.append(0, ends[:-1])
        places = np.concatenate([np.zeros(0, np.int64), *(np.arange(starts[c], ends[c]) for c in categories)])
        numbers = np.repeat(np.arange(len(categories), dtype=np.int32), [ends[c] - starts[c] for c in categories])
        selected = entries.at(places)._replace(categories=numbers)
        return SparseWeights(self.start, self.n_features, self.examples[categories], selected)

    def merge(self, categories: list[int]) -> "SparseWeights":
        """Return weights whose first of these categories has the largest weight among them for each feature."""
        features = np.arange(self.n_features)
        weights = np.stack([self.category_weights(c, features, last=True) for c in categories], axis=1)
        best = np.array(categories)[weights.argmax(axis=1)]
        entries = self.entries()
        taken = best[entries.features] == entries.categories
        merged = entries.at(np.flatnonzero(taken & np.isin(entries.categories, categories)))
        merged = merged._replace(categories=np.full(len(merged.features), categories[0], dtype=np.int32))
        rest = entries.at(np.flatnonzero(entries.categories != categories[0]))
        both = join_entries([rest, merged])
        result = self.replace_entries(both.at(np.lexsort((both.features, both.categories))))
        result.examples[categories[0]] = self.examples[categories].max()
        return result


LearnerWeights = DenseWeights | SparseWeights


def _new_lists(start: Start, rooms: NDArray[np.int64], counts: NDArray[np.int64]) -> Lists:
    """Return lists of zeros with room for `rooms` entries per feature."""
    total = int(rooms.sum())

    def array(kept: bool, kind: type) -> NDArray[Any]:
        return np.zeros(total if kept else 0, dtype=kind)

    return Lists(
        np.cumsum(rooms) - rooms,
        counts.copy(),
        rooms,
        array(True, np.int32),
        array(True, np.float32),
        array(start.balanced, np.float32),
        array(start.balanced, np.float32),
        array(start.average, np.float64),
    )
