"""Dense weights of a learner's categories, in blocks of lanes: created, grown, trained and read."""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.kernels.dense_weights import (
    DISCARDED,
    LATE,
    PRESENT,
    Rule,
    Weights,
    write_mean_weights,
)
from thresher.kernels.mistake_driven import Examples, Lanes, learn_blocks, score_rows
from thresher.learners.chunks import CHUNK_WORK, run_on_threads, split_order

MAX_BLOCK_WIDTH = 16
_CACHE_LINE = 64
_GROWTH = 1.5
LANES = tuple(range(32))
NOT_KEPT = np.zeros((0, 0), dtype=np.float32)  # passed to kernels when the scores are not needed


class Start(NamedTuple):
    """The starting weights of a learner, and which arrays it keeps."""

    positive: np.float32
    negative: np.float32
    balanced: bool
    discard: bool
    average: bool
    late_zero: bool = False


def make_aligned(shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    """Return an empty array that is aligned to a cache line, so that a row of lanes never straddles two lines.

    >>> make_aligned((2, 16), np.float32).ctypes.data % 64
    0
    """
    dtype = np.dtype(kind)
    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.empty(size + _CACHE_LINE, dtype=np.uint8)
    offset = -memory.ctypes.data % _CACHE_LINE
    array: NDArray[Any] = memory[offset : offset + size].view(dtype).reshape(shape)
    return array


def choose_width(n_categories: int) -> int:
    """Return the smallest power of two that holds the categories, up to MAX_BLOCK_WIDTH: the width of their blocks.

    >>> [choose_width(n) for n in (1, 3, 90)]
    [1, 4, 16]
    """
    return min(MAX_BLOCK_WIDTH, 1 << max(n_categories - 1, 0).bit_length())


class Matrices(NamedTuple):
    """The weights of some categories, in arrays of shape (features, categories), and the examples of each."""

    weights: Weights
    examples: NDArray[np.int64]


class DenseWeights:
    """All weights of a learner, and the number of examples of each category."""

    is_sparse: ClassVar[bool] = False
    _shared = False  # whether other blocks share the memory, so that growing must allocate its own

    def __init__(
        self, start: Start, n_features: int, n_categories: int, width: int | None = None, is_filled: bool = True
    ) -> None:
        """Make weights; if not `is_filled`, `fill_block` must fill each block before it is used."""
        self.start = start
        self.fixed_width = width
        self.width = width or choose_width(n_categories)
        self.n_features = n_features
        self.n_categories = n_categories
        self.examples = np.zeros((self._count_blocks(n_categories), self.width), dtype=np.int64)
        self.weights = self._new_weights(n_features)
        if is_filled:
            self._fill(slice(None), slice(0, n_features))
        self.is_filled = is_filled
        self._mean: list[NDArray[np.float32]] = []  # filled on first use; a new list after each change

    def _count_blocks(self, n_categories: int) -> int:
        return -(-max(n_categories, 1) // self.width)

    def _new_weights(self, capacity: int) -> Weights:
        """Return uninitialized arrays with room for `capacity` features."""

        def array(kept: bool, kind: Any) -> NDArray[Any]:
            return make_aligned((len(self.examples), capacity if kept else 0, self.width), kind)

        start = self.start
        return Weights(
            weight=array(True, np.float32),
            positive=array(start.balanced, np.float32),
            negative=array(start.balanced, np.float32),
            absent=array(start.discard or start.late_zero, np.uint8),
            moment=array(start.average, np.float64),
        )

    def _fill(self, blocks: slice, features: slice, late: bool = False) -> None:
        """Set the features of some blocks to the starting weights, or to 0 if they are late."""
        start, (weight, positive, negative, absent, moment) = self.start, self.weights
        weight[blocks, features] = 0 if late else start.positive - start.negative
        if start.balanced:
            positive[blocks, features] = start.positive
            negative[blocks, features] = start.negative
        if absent.shape[1]:
            absent[blocks, features] = LATE if late else PRESENT
        if start.average:
            moment[blocks, features] = 0

    def fill_block(self, block: int) -> None:
        """Set the weights of a block that was not filled when it was made."""
        self._fill(slice(block, block + 1), slice(0, self.n_features))

    def make_late(self) -> None:
        """Set every weight to 0 until its feature is met."""
        self.weights.absent.fill(LATE)
        self.weights.weight.fill(0)

    @property
    def width_tag(self) -> tuple[int, ...]:
        """A tuple with one item per lane of a block; kernels read the width from its type."""
        return LANES[: self.width]

    def mask_filled_lanes(self) -> NDArray[np.bool_]:
        """Return a mask of the lanes that hold a category, of shape (blocks, lanes)."""
        filled = np.zeros(self.examples.shape, dtype=np.bool_)
        filled.reshape(-1)[: self.n_categories] = True
        return filled

    def to_columns(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a (blocks, features, lanes) array as (features, categories), without spare room."""
        flat = array.transpose(1, 0, 2).reshape(array.shape[1], -1)
        return flat[: self.n_features, : self.n_categories]

    def flatten_lanes(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a (blocks, lanes) array as (categories,)."""
        return array.reshape(-1)[: self.n_categories]

    def grow(self, n_features: int, n_categories: int) -> None:
        """Add features and categories, with the starting weights or, if they count as late, with weights of 0."""
        self.clear_means()
        if n_features <= self.n_features and n_categories <= self.n_categories:
            return
        self._make_room(n_features, n_categories)
        if n_features > self.n_features:
            self._fill(slice(None), slice(self.n_features, n_features), late=self.start.late_zero)
            self.n_features = n_features
        if self.start.late_zero:
            self._set_late(range(self.n_categories, n_categories))
        self.n_categories = max(self.n_categories, n_categories)

    def has_room(self, n_features: int, n_categories: int) -> bool:
        """Return whether the arrays have room for `n_features` and `n_categories`."""
        full = n_features > self.weights.weight.shape[1] or self._count_blocks(n_categories) > len(self.examples)
        return not (full or self._choose_width(n_categories) > self.width or self._shared)

    def reserve(self, n_features: int, n_categories: int) -> None:
        """Allocate all memory that `grow` will need, and change nothing else.

        If there is not enough memory, this call fails instead of `grow`.
        """
        self._make_room(n_features, n_categories)
        self._fill(slice(None), slice(self.n_features, n_features))  # systems provide memory when it is written to

    def _make_room(self, n_features: int, n_categories: int) -> None:
        if not self.has_room(n_features, n_categories):
            self._move(n_features, n_categories, self._choose_width(n_categories))

    def _choose_width(self, n_categories: int) -> int:
        return self.fixed_width or max(self.width, choose_width(n_categories))

    def _set_late(self, categories: range) -> None:
        """Set all weights of new categories to 0."""
        for category in categories:
            block, lane = divmod(category, self.width)
            self.weights.absent[block, : self.n_features, lane] = LATE
            self.weights.weight[block, : self.n_features, lane] = 0

    def _move(self, n_features: int, n_categories: int, width: int) -> None:
        """Move all weights into larger arrays, with spare room for future features."""
        capacity = self.weights.weight.shape[1]
        if n_features > capacity:
            capacity = max(n_features, int(capacity * _GROWTH))
        grown, known = self.view(), slice(0, self.n_features)
        grown.width = width
        grown.examples = np.zeros((grown._count_blocks(n_categories), width), dtype=np.int64)
        grown.examples.reshape(-1)[: self.n_categories] = self.examples.reshape(-1)[: self.n_categories]
        grown.weights = grown._new_weights(capacity)
        same = len(self.examples) if width == self.width else 0
        grown._fill(slice(same, None), known)
        for target, source in _pairs(grown.weights, self.weights):
            if same:
                target[:same, known] = source[:same, known]
            for category in range(0 if same else self.n_categories):
                new, old = divmod(category, width), divmod(category, self.width)
                target[new[0], known, new[1]] = source[old[0], known, old[1]]
        # In one call: another thread must not see the arrays of one width with those of another.
        self.__dict__.update(weights=grown.weights, examples=grown.examples, width=width, _shared=False)

    def forget_categories(self, count: int) -> None:
        """Keep only the first `count` categories, and reset the lanes of the others."""
        first = DenseWeights(self.start, self.n_features, 1, 1)
        for category in range(count, self.n_categories):
            block, lane = divmod(category, self.width)
            self.examples[block, lane] = 0
            for target, source in _pairs(self.weights, first.weights):
                target[block, : source.shape[1], lane] = source[0, :, 0]
        self.n_categories = count
        self.clear_means()

    def view(self) -> "DenseWeights":
        """Return blocks in the same memory that do not grow with these."""
        twin = self._now()
        twin._shared, twin._mean = True, list(twin._mean)
        return twin

    def _now(self) -> "DenseWeights":
        """Return the blocks as they are now, unaffected by what another thread assigns to these later."""
        twin = DenseWeights.__new__(DenseWeights)
        twin.__dict__.update(self.__dict__)
        return twin

    def copy(self) -> "DenseWeights":
        """Return a copy that shares nothing that may change."""
        twin = self._now()
        twin.examples, twin._shared, twin._mean = self.examples.copy(), False, list(self._mean)
        twin.weights = self._new_weights(self.weights.weight.shape[1])
        for target, source in _pairs(twin.weights, self.weights):
            target[:, : self.n_features] = source[:, : self.n_features]
        return twin

    def copy_part(self, categories: list[int], features: NDArray[np.int64]) -> "DenseWeights":
        """Return a copy of the weights of only some categories and features; `put_back_part` copies it back."""
        part = DenseWeights(
            self.start, len(features), len(categories), self.width
        )  # the width that kernels are compiled for
        part.examples.reshape(-1)[: len(categories)] = self.examples.reshape(-1)[categories]
        for target, source in _pairs(part.weights, self.weights):
            for number, category in enumerate(categories if source.shape[1] else ()):
                (block, lane), (old_block, old_lane) = divmod(number, self.width), divmod(category, self.width)
                target[block, :, lane] = source[old_block, features, old_lane]
        return part

    def put_back_part(self, part: Any, categories: list[int], features: NDArray[np.int64]) -> None:
        """Copy back the weights and examples of a part."""
        for target, source in _pairs(self.weights, part.weights):
            for number, category in enumerate(categories if source.shape[1] else ()):
                (block, lane), (old_block, old_lane) = divmod(category, self.width), divmod(number, self.width)
                target[block, features, lane] = source[old_block, :, old_lane]
        self.examples.reshape(-1)[categories] = part.examples.reshape(-1)[: len(categories)]
        self.clear_means()

    def gather(self, categories: NDArray[np.int64]) -> tuple["DenseWeights", list[tuple[int, int]]]:
        """Swap some categories to the front; return blocks of only those, in the same memory, and the swapped pairs.

        `swap` with these pairs restores the order.
        """
        count, chosen = len(categories), set(categories.tolist())
        away = [place for place in range(count) if place not in chosen]
        pairs = list(zip(away, categories[categories >= count].tolist(), strict=True))
        self.swap(pairs)
        front = self.view()
        n_blocks = self._count_blocks(count)
        front.n_categories, front.examples = count, self.examples[:n_blocks]
        front.weights = Weights._make(array[:n_blocks] for array in self.weights)
        return front, pairs

    def swap(self, pairs: list[tuple[int, int]]) -> None:
        """Swap the two categories of each pair."""
        arrays: tuple[Any, ...] = (self.examples[:, np.newaxis], *self.weights)
        for one, other in pairs:
            (block, lane), (other_block, other_lane) = divmod(one, self.width), divmod(other, self.width)
            for array in arrays:
                kept = array[block, :, lane].copy()
                array[block, :, lane] = array[other_block, :, other_lane]
                array[other_block, :, other_lane] = kept

    # -- training and scoring, in the calling thread if it is short --------------------------------------------------

    def learn(self, examples: Examples, rule: Rule) -> NDArray[np.int64]:
        """Make one pass over a few rows in the given order; return the mistakes by category."""
        return self._learn(examples, rule, NOT_KEPT)

    def stream(self, examples: Examples, rule: Rule) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Score each of a few rows, then learn it; return the scores, and the mistakes by category."""
        scores = np.empty((len(examples.rows.indptr) - 1, self.n_categories), dtype=np.float32)
        return scores, self._learn(examples, rule, scores)

    def _learn(self, examples: Examples, rule: Rule, scores: NDArray[np.float32]) -> NDArray[np.int64]:
        mistakes = np.zeros(self.examples.shape, dtype=np.int64)
        lanes = Lanes(self.width_tag, self.mask_filled_lanes(), self.examples, mistakes)
        learn_blocks(examples, np.arange(len(examples.rows.indptr) - 1), rule, lanes, self.weights, scores)
        self.clear_means()
        return self.flatten_lanes(mistakes)

    def score(self, rows: Rows, n_threads: int) -> NDArray[np.float32]:
        """Return the scores, of shape (rows, categories), computed by threads over ranges of rows."""
        n_rows, now = len(rows.indptr) - 1, self._now()
        scores = np.empty((n_rows, now.n_categories), dtype=np.float32)
        rows, weight = now._select_for_scoring(rows)

        def score_part(first: int, last: int) -> None:
            score_rows(rows, first, last, now.width_tag, weight, scores)

        if len(rows.indices) * scores.shape[1] <= CHUNK_WORK:
            score_part(0, n_rows)
        else:
            parts = split_order(np.arange(n_rows), np.diff(rows.indptr) * len(weight), now.width)
            run_on_threads(score_part, parts, n_threads)
        return scores

    # -- access to weights -------------------------------------------------------------------------------------------

    def to_matrices(self, categories: list[int]) -> Matrices:
        """Return copies of the weights and examples of some categories, as matrices."""
        weights = (
            self.to_columns(array)[:, categories] if array.shape[1] else np.zeros((0, len(categories)), array.dtype)
            for array in self.weights
        )
        return Matrices(Weights._make(weights), self.flatten_lanes(self.examples)[categories])

    @classmethod
    def from_matrices(cls, start: Start, matrices: Matrices, width: int | None = None) -> "DenseWeights":
        """Return blocks with the weights of the matrices."""
        n_features, n_categories = matrices.weights.weight.shape
        blocks = cls(start, n_features, n_categories, width)
        blocks.examples.reshape(-1)[:n_categories] = matrices.examples
        for target, source in _pairs(blocks.weights, matrices.weights):
            for category in range(n_categories if len(source) else 0):
                block, lane = divmod(category, blocks.width)
                target[block, :, lane] = source[:, category]
        return blocks

    def category_weights(self, category: int, features: NDArray[np.integer], last: bool = False) -> NDArray[np.float32]:
        """Return the weights of some features for a category, as used in scores or, if `last`, after the last step."""
        now = self._now()
        block, lane = divmod(category, now.width)
        chosen = features.astype(np.intp)  # NumPy crashes if it has no memory to convert them itself
        if last or not now.start.average:
            return np.asarray(now.weights.weight[block, :, lane][chosen])
        few = Weights._make(array[block : block + 1, chosen] if array.shape[1] else array[:1] for array in now.weights)
        mean = make_aligned(few.weight.shape, np.float32)
        write_mean_weights(few, now.examples[block : block + 1], mean)
        return np.asarray(mean[0, :, lane])

    def count_discarded(self) -> NDArray[np.int64]:
        """Return the number of discarded features, by category."""
        if self.weights.absent.shape[1] == 0:
            return np.zeros(self.n_categories, dtype=np.int64)
        return np.asarray(np.count_nonzero(self.to_columns(self.weights.absent) == DISCARDED, axis=0))

    def to_matrix(self) -> NDArray[np.float32]:
        """Return the weights used in scores, of shape (features, categories)."""
        now = self._now()
        return now.to_columns(now.get_scoring_weight())

    @property
    def can_discard(self) -> bool:
        """Whether the weights can mark a feature as absent from a category."""
        return bool(self.weights.absent.shape[1] > 0)

    def measure_importance(self, factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the size of each weight used in scores times its feature's factor, (features, categories)."""
        return np.asarray(np.abs(self.to_matrix().astype(np.float64)) * factors[:, None])

    def keep_important(self, importance: NDArray[np.float64], count: int) -> tuple["DenseWeights", NDArray[np.int64]]:
        """Return the `count` most important weights, and the numbers of the features that have one.

        The other weights of these features count as discarded.
        """
        kept = np.zeros(importance.shape, dtype=np.bool_)
        kept.reshape(-1)[np.argsort(-importance.reshape(-1), kind="stable")[:count]] = True
        features = np.flatnonzero(kept.any(axis=1))
        matrices = self.to_matrices(list(range(self.n_categories)))
        weights = Weights._make(array[features] if len(array) else array for array in matrices.weights)
        dropped = ~kept[features]
        absent = weights.absent if len(weights.absent) else np.zeros(dropped.shape, dtype=np.uint8)
        absent[dropped & (absent != LATE)] = DISCARDED
        weights.weight[dropped] = 0
        if len(weights.moment):
            weights.moment[dropped] = 0
        matrices = Matrices(weights._replace(absent=absent), matrices.examples)
        return DenseWeights.from_matrices(self.start, matrices), features

    def select(self, categories: list[int]) -> "DenseWeights":
        """Return blocks of only some categories, in that order."""
        return DenseWeights.from_matrices(self.start, self.to_matrices(categories), self.fixed_width)

    def merge(self, categories: list[int]) -> "DenseWeights":
        """Return blocks whose first of these categories has the largest weight among them for each feature."""
        matrices = self.to_matrices(list(range(self.n_categories)))
        best = np.array(categories)[matrices.weights.weight[:, categories].argmax(axis=1)]
        for matrix in matrices.weights:
            if len(matrix):
                matrix[:, categories[0]] = matrix[np.arange(len(matrix)), best]
        matrices.examples[categories[0]] = matrices.examples[categories].max()
        return DenseWeights.from_matrices(self.start, matrices, self.fixed_width)

    def clear_means(self) -> None:
        """Clear the values that are derived from the weights."""
        self._mean = []

    def get_scoring_weight(self) -> NDArray[np.float32]:
        """Return the weights used in scores, of shape (blocks, features, lanes): the last or the mean ones."""
        if not self.start.average:
            return self.weights.weight
        known = self._mean[:1]  # has another shape if another thread has just made room
        if not known or known[0].shape != (len(self.examples), self.n_features, self.width):
            known = [self._compute_means(self.weights, self.n_features)]
            self._mean[:] = known
        return known[0]

    def _select_for_scoring(self, rows: Rows) -> tuple[Rows, NDArray[np.float32]]:
        """Return rows and the weights to score them with; for a few rows, only the means of their own features."""
        if not self.start.average or self._mean or len(rows.indices) > self.n_features // 4:
            return rows, self.get_scoring_weight()
        features, renumbered = np.unique(rows.indices, return_inverse=True)
        few = Weights._make(array[:, features] if array.shape[1] else array for array in self.weights)
        return rows._replace(indices=renumbered.astype(np.int32)), self._compute_means(few, len(features))

    def _compute_means(self, weights: Weights, n_features: int) -> NDArray[np.float32]:
        mean = make_aligned((len(self.examples), n_features, self.width), np.float32)
        write_mean_weights(weights, self.examples, mean)
        return mean


def _pairs(left: Weights, right: Weights) -> Iterator[tuple[Any, Any]]:
    return zip(left, right, strict=True)
