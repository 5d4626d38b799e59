"""Training passes: blocks on threads, in chunks that are short enough for Ctrl-C and progress reports."""

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, wait
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.dense_weights import REGULARIZED_WINNOW, Rule, Weights, drop_features
from thresher.kernels.mistake_driven import Examples, Lanes, learn_rows, score_block, take_back
from thresher.kernels.shuffle import make_state, shuffle_rows
from thresher.learners.chunks import split_order
from thresher.learners.dense_weights import MAX_BLOCK_WIDTH, NOT_KEPT, DenseWeights, Matrices, Start, make_aligned
from thresher.learners.sparse_weights import Entries, LearnerWeights, SparseWeights, collect_entries, join_entries
from thresher.rows.labels import select_labels
from thresher.rows.spilled import is_spilled, release_rows
from thresher.support.parallel import thread_pool

_REPORT_SECONDS = 0.1
_SPREAD_BLOCKS = 4  # for each thread: with more blocks, threads are seldom idle at the end
STRETCH = 2**16
GROUP_WEIGHTS = 2**24  # features x categories that are trained at a time with sparse weights
# How many times faster dual weights move in the pass that makes up for a fold: with 2.5 the fold's scores are as high
# as in cross-validation, on training documents of 11 collections (docs/decisions/22-held-out.md).
CATCH_UP = np.float32(2.5)
STAGE = 8  # passes of the first stage; each later stage ends after twice as many


class Discarding(NamedTuple):
    """The range of weights to discard, and when.

    A category discards after a pass with fewer mistakes per document than `below`, and at the latest after `by_pass`.
    """

    low: np.float32
    high: np.float32
    below: float
    by_pass: int


class Schedule(NamedTuple):
    """The number of passes, the order of the documents, and when to discard features."""

    max_passes: int
    shuffle: bool
    seed: int
    discarding: Discarding | None


class Progress(NamedTuple):
    """The progress of training: documents x blocks done, the maximum to do, and the mistakes so far."""

    done: int
    total: int
    mistakes: int


Report = Callable[[Progress], None]


class History(NamedTuple):
    """The mistakes of each pass, of shape (passes, categories), and the number of passes of each category."""

    mistakes: NDArray[np.int64]
    n_passes: NDArray[np.int64]


class TrainedBlock(NamedTuple):
    """The mistakes of each pass, -1 for lanes whose category had stopped before, and what the rows have pushed."""

    passes: list[NDArray[np.int64]]
    duals: NDArray[np.float32]


class Orders:
    """The order of the rows in each pass: as given, or shuffled again with a seed.

    Many rows are shuffled within stretches, and the stretches among each other, so that the rows of a stretch are near
    each other in memory or in a file.
    """

    def __init__(self, n_rows: int, seed: int | None) -> None:
        self.rows, self.state = np.arange(n_rows), None if seed is None else make_state(seed)
        self.stretches = np.arange(-(-n_rows // STRETCH))

    def next(self) -> NDArray[np.int64]:
        """Return the order of the next pass."""
        if self.state is None:
            return self.rows
        if len(self.stretches) > 1:
            shuffle_rows(self.stretches, self.state)
        parts = np.split(self.rows, range(STRETCH, len(self.rows), STRETCH))
        for part in parts:
            shuffle_rows(part, self.state)
        return np.concatenate([parts[number] for number in self.stretches]) if len(parts) > 1 else self.rows


class Training:
    """Passes over one set of examples, until each category has a pass without a mistake or reaches the last pass.

    Each category stops and discards by itself, whichever others share its block. So neither the block width nor the
    number of threads changes a bit of the result.

    With `folds`, the number of each row's fold or -1, each fold is then held out in turn, for Regularized Winnow only:
    the pushes of its rows are taken back, the others are learned in one more, faster pass, and the fold is scored. That
    continues the training instead of starting again, as cross-validation would. The weights are restored afterwards.
    `held_out_scores` has a row for each row with a fold, in their order. Where fewer blocks are left than threads, each
    thread holds out other folds of a block, with a copy of its weights.
    """

    def __init__(
        self,
        examples: Examples,
        rule: Rule,
        schedule: Schedule,
        blocks: DenseWeights,
        first_pass: int = 1,
        folds: NDArray[np.int8] | None = None,
    ) -> None:
        self.examples, self.rule, self.schedule, self.blocks = examples, rule, schedule, blocks
        self.first_pass = first_pass
        self.n_rows = len(examples.rows.indptr) - 1
        self.folds = np.full(self.n_rows, -1, dtype=np.int8) if folds is None else folds
        self.held_out_scores = np.empty((np.count_nonzero(self.folds >= 0), blocks.n_categories), dtype=np.float32)
        self.n_blocks = len(blocks.examples)
        self.lanes = Lanes(
            blocks.width_tag, blocks.mask_filled_lanes(), blocks.examples, np.zeros_like(blocks.examples)
        )
        self.discarded = np.zeros_like(self.lanes.learning)
        self.lengths = np.diff(examples.rows.indptr)
        self.n_folds = int(self.folds.max(initial=-1)) + 1
        self._done = np.zeros((self.n_blocks, 1 + self.n_folds), dtype=np.int64)  # in passes, and in each fold
        self._mistakes = np.zeros(self.n_blocks, dtype=np.int64)
        self._spilled = is_spilled(examples.rows.indices)
        self._stopped = False

    def run(self, n_threads: int, report: Report | None = None) -> History:
        """Train all blocks, which changes their weights, and return the history."""
        last, spread = self._find_last_of_stage(), self._choose_spread(n_threads)
        order = [*spread, *(block for block in range(self.n_blocks) if block not in spread)]
        with thread_pool(n_threads if spread else min(n_threads, self.n_blocks)) as pool:
            try:
                tasks = {block: pool.submit(self._train_block, block, last, block not in spread) for block in order}
                folds = [
                    pool.submit(self._hold_out_apart, fold, block, tasks[block])
                    for block in spread
                    for fold in range(self.n_folds)
                ]
                every: list[Future[Any]] = [*tasks.values(), *folds]
                while wait(every, timeout=_REPORT_SECONDS).not_done:
                    self._report(report)
            finally:
                self._stopped = True
        self._report(report)
        self.blocks.is_filled = True
        self.blocks.clear_means()
        for task in folds:
            task.result()  # raises what it raised
        history = self._join_history([tasks[block].result().passes for block in range(self.n_blocks)])
        if last < self.schedule.max_passes and self.lanes.learning.any():
            history = self._train_rest(history, last, n_threads, report)
        return history

    def _choose_spread(self, n_threads: int) -> range:
        """Return the last blocks, too few for all threads: their folds are spread over the threads."""
        few = n_threads > 1 and self.n_blocks <= _SPREAD_BLOCKS * n_threads and len(self.held_out_scores) > 0
        return range(self.n_blocks - self.n_blocks % n_threads if few else self.n_blocks, self.n_blocks)

    def _find_last_of_stage(self) -> int:
        """Return the pass after which categories that still learn are gathered into fewer blocks, or the last pass.

        Regularized Winnow never gathers categories, as the dual weights of its documents belong to the blocks.
        """
        if self.rule.learner == REGULARIZED_WINNOW or self.n_blocks == 1:
            return self.schedule.max_passes
        return min(max(STAGE, 2 * (self.first_pass - 1)), self.schedule.max_passes)

    def _train_rest(self, before: History, last: int, n_threads: int, report: Report | None) -> History:
        """Train the categories that still learn, in blocks of their own; changes the weights."""
        rest = np.flatnonzero(self.blocks.flatten_lanes(self.lanes.learning))
        blocks, pairs = self.blocks.gather(rest)
        rest = np.arange(len(rest))  # the category at each position now
        rest[[place for place, _ in pairs]] = [category for _, category in pairs]
        labels = select_labels(self.examples.labels, rest, self.blocks.n_categories)
        training = Training(self.examples._replace(labels=labels), self.rule, self.schedule, blocks, last + 1)
        training.discarded.reshape(-1)[: len(rest)] = self.blocks.flatten_lanes(self.discarded)[rest]
        history = training.run(n_threads, self._make_rest_report(report))
        self.blocks.swap(pairs)
        mistakes = np.zeros((len(history.mistakes), self.blocks.n_categories), dtype=np.int64)
        mistakes[:, rest] = history.mistakes
        n_passes = before.n_passes.copy()
        n_passes[rest] += history.n_passes
        return History(np.concatenate((before.mistakes, mistakes)), n_passes)

    def _make_rest_report(self, report: Report | None) -> Report | None:
        """Return a callback for the training of the rest, which continues from the current progress."""
        if report is None:
            return None
        total, done, mistakes = self._count_steps(), int(self._done.sum()), int(self._mistakes.sum())
        return lambda step: report(
            Progress(done + (total - done) * step.done // max(step.total, 1), total, mistakes + step.mistakes)
        )

    def _count_steps(self) -> int:
        return (self._count_pass_steps() + self.n_folds * self.n_rows) * self.n_blocks

    def _count_pass_steps(self) -> int:
        return (self.schedule.max_passes - self.first_pass + 1) * self.n_rows

    def _report(self, report: Report | None) -> None:
        if report is not None:
            report(Progress(int(self._done.sum()), self._count_steps(), int(self._mistakes.sum())))

    def _train_block(self, block: int, last: int, with_folds: bool) -> TrainedBlock:
        """Train a block, and score its folds unless other threads will."""
        passes = []
        if not self.blocks.is_filled:
            self.blocks.fill_block(block)  # here, so that threads share the work
        orders = Orders(self.n_rows, self.schedule.seed if self.schedule.shuffle else None)
        for _ in range(1, self.first_pass):
            orders.next()
        learning, mistakes = self.lanes.learning[block], self.lanes.mistakes[block]
        discarded, duals = self.discarded[block], self._new_duals()
        for number in range(self.first_pass, last + 1):
            self._learn(block, orders.next(), duals)
            passes.append(np.where(learning, mistakes, -1))
            due = self._due(number, mistakes) & learning & ~discarded
            if due.any():
                self._discard(block, due)
                discarded |= due
            learning &= due | (mistakes > 0)
            if not learning.any():
                self._done[block, 0] = self._count_pass_steps()
                break
        if not with_folds:
            return TrainedBlock(passes, duals)
        if self.n_folds:
            changed = (*(array[block] for array in self.blocks.weights), duals)
            kept = [array.copy() for array in changed]
            for fold in range(self.n_folds):
                self._hold_out(fold, block, self.blocks.weights, duals)
                for array, before in zip(changed, kept, strict=True):
                    array[:] = before
        return TrainedBlock(passes, duals[:0].copy())

    def _hold_out_apart(self, fold: int, block: int, trained: "Future[TrainedBlock]") -> None:
        """Hold out a fold of a block with a copy of its weights; the training of the block has begun before."""
        duals = trained.result().duals.copy()
        weights = Weights._make(_copy_block(array, block) for array in self.blocks.weights)
        self._hold_out(fold, block, weights, duals)

    def _hold_out(self, fold: int, block: int, weights: Weights, duals: NDArray[np.float32]) -> None:
        """Take back the pushes of a fold, learn the other rows in one pass, and score the fold; changes the weights.

        The order is that of the first pass, whichever pass was the block's last.
        """
        order = Orders(self.n_rows, self.schedule.seed if self.schedule.shuffle else None).next()
        rule = self.rule._replace(rate=self.rule.rate * CATCH_UP)
        places, chosen = np.cumsum(self.folds >= 0) - 1, np.flatnonzero(self.folds == fold)
        lanes = Lanes(
            self.blocks.width_tag,
            self.blocks.mask_filled_lanes(),
            self.lanes.examples.copy(),
            self.lanes.mistakes.copy(),
        )
        for part in self._split(chosen):
            take_back(self.examples, part, self.rule, block, self.blocks.width_tag, weights, duals)
        for part in self._split(order[self.folds[order] != fold]):
            learn_rows(self.examples, part, rule, block, lanes, weights, duals, NOT_KEPT)
            self._done[block, 1 + fold] += len(part)
        for part in self._split(chosen):
            score_block(
                self.examples.rows, part, places[part], block, self.blocks.width_tag, weights.weight,
                self.held_out_scores,
            )  # fmt: skip
            self._done[block, 1 + fold] += len(part)

    def _split(self, order: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Yield chunks of the rows in `order`; in between, stop if the training was interrupted."""
        for part in split_order(order, self.lengths, self.blocks.width):
            if self._stopped:
                raise CancelledError
            yield part
            if self._spilled and len(part):
                release_rows(self.examples.rows, int(part.min()), int(part.max()) + 1)

    def _new_duals(self) -> NDArray[np.float32]:
        """Return the dual weights of a block, which last as long as its training."""
        n_rows = self.n_rows if self.rule.learner == REGULARIZED_WINNOW else 0
        return np.zeros((n_rows, self.blocks.width), dtype=np.float32)

    def _learn(self, block: int, order: NDArray[np.int64], duals: NDArray[np.float32]) -> None:
        """Make one pass, chunk by chunk."""
        weights = self.blocks.weights
        self.lanes.mistakes[block] = 0
        for part in self._split(order):
            learn_rows(self.examples, part, self.rule, block, self.lanes, weights, duals, NOT_KEPT)
            self._done[block, 0] += len(part)
        self._mistakes[block] += self.lanes.mistakes[block].sum()

    def _due(self, number: int, mistakes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask of the lanes that may discard after this pass.

        None may after the last pass, because training must continue after discarding.
        """
        discarding = self.schedule.discarding
        if discarding is None or number == self.schedule.max_passes:
            return np.zeros(len(mistakes), dtype=np.bool_)
        return (mistakes < discarding.below * self.n_rows) | (number >= discarding.by_pass)

    def _discard(self, block: int, due: NDArray[np.bool_]) -> None:
        assert self.schedule.discarding is not None
        low, high, _, _ = self.schedule.discarding
        kept = Weights._make(array[block, : self.blocks.n_features] for array in self.blocks.weights)
        drop_features(low, high, due, kept)

    def _join_history(self, results: list[list[NDArray[np.int64]]]) -> History:
        n_passes = max(len(passes) for passes in results)
        absent = np.full(self.blocks.width, -1, dtype=np.int64)
        padded = [passes + [absent] * (n_passes - len(passes)) for passes in results]
        mistakes = np.stack([np.concatenate(row) for row in zip(*padded, strict=True)])[:, : self.blocks.n_categories]
        return History(np.maximum(mistakes, 0), (mistakes >= 0).sum(axis=0))


def _copy_block(array: NDArray[Any], block: int) -> NDArray[Any]:
    """Return an array of the same shape with a copy of one block; the others take no memory until they are used."""
    copied = make_aligned(array.shape, array.dtype)
    copied[block] = array[block]
    return copied


def train_once(
    examples: Examples, rule: Rule, weights: LearnerWeights, n_threads: int, report: Report | None = None
) -> NDArray[np.int64]:
    """Make one pass over many rows in the given order, on threads if weights are dense; return the mistakes."""
    if not isinstance(weights, SparseWeights):
        once = Schedule(max_passes=1, shuffle=False, seed=0, discarding=None)
        history = Training(examples, rule, once, weights).run(n_threads, report)
        return np.asarray(history.mistakes[0])
    mistakes = weights.learn(examples, rule)
    if report is not None:
        n_rows = len(examples.rows.indptr) - 1
        report(Progress(n_rows, n_rows, int(mistakes.sum())))
    return mistakes


class Trained(NamedTuple):
    """The result of training a group of categories.

    `weights` holds all weights or, if sparse, only those of features that were met.
    """

    weights: Matrices | Entries
    examples: NDArray[np.int64]
    history: History
    held_out_scores: NDArray[np.float32]


class TrainedAll(NamedTuple):
    """The result of training all categories: weights, history, and the scores of the rows that were held out."""

    weights: LearnerWeights
    history: History
    held_out_scores: NDArray[np.float32]


class Plan(NamedTuple):
    """How to train categories: the rule, the schedule, the starting weights, whether weights are sparse, the folds."""

    rule: Rule
    schedule: Schedule
    start: Start
    n_categories: int
    sparse: bool
    folds: NDArray[np.int8] | None = None


def train_group(
    examples: Examples, plan: Plan, group: NDArray[np.int64], n_threads: int, report: Report | None = None
) -> Trained:
    """Train some categories with consecutive numbers; the others do not affect the result."""
    blocks = DenseWeights(plan.start, examples.rows.n_features, len(group))
    if plan.sparse:
        blocks.make_late()
    labels = select_labels(examples.labels, group, plan.n_categories)
    training = Training(examples._replace(labels=labels), plan.rule, plan.schedule, blocks, folds=plan.folds)
    history, scores = training.run(n_threads, report), training.held_out_scores
    counts = blocks.flatten_lanes(blocks.examples)
    if not plan.sparse:
        return Trained(blocks.to_matrices(list(range(len(group)))), counts, history, scores)
    entries = collect_entries(blocks)
    return Trained(entries._replace(categories=entries.categories + np.int32(group[0])), counts, history, scores)


def join_groups(groups: list[Trained], plan: Plan, n_features: int, width: int | None = None) -> TrainedAll:
    """Return the result for all categories, joined from those of groups in their order."""
    examples = np.concatenate([group.examples for group in groups])
    weights: LearnerWeights
    if plan.sparse:
        entries = [group.weights for group in groups if isinstance(group.weights, Entries)]
        weights = SparseWeights(plan.start, n_features, examples, join_entries(entries))
    else:
        matrices = [group.weights.weights for group in groups if isinstance(group.weights, Matrices)]
        joined = Weights._make(np.concatenate(arrays, axis=1) for arrays in zip(*matrices, strict=True))
        weights = DenseWeights.from_matrices(plan.start, Matrices(joined, examples), width)
    histories = [group.history for group in groups]
    n_passes = max(len(history.mistakes) for history in histories)
    mistakes = [np.pad(history.mistakes, ((0, n_passes - len(history.mistakes)), (0, 0))) for history in histories]
    passes = np.concatenate([history.n_passes for history in histories])
    scores = np.concatenate([group.held_out_scores for group in groups], axis=1)
    return TrainedAll(weights, History(np.concatenate(mistakes, axis=1), passes), scores)


def train_sparse(examples: Examples, plan: Plan, n_threads: int, report: Report | None = None) -> TrainedAll:
    """Train groups of categories in blocks, one after another, and keep only the weights of features that were met."""
    n_features, n_categories = examples.rows.n_features, plan.n_categories
    size = max(GROUP_WEIGHTS // max(n_features, 1) // MAX_BLOCK_WIDTH, n_threads) * MAX_BLOCK_WIDTH
    trained = []
    for first in range(0, n_categories, size):
        group = np.arange(first, min(first + size, n_categories))
        share = _make_share_report(report, first, len(group), n_categories)
        trained.append(train_group(examples, plan, group, n_threads, share))
    return join_groups(trained, plan, n_features)


def _make_share_report(report: Report | None, first: int, count: int, n_categories: int) -> Report | None:
    """Return a callback that reports the training of some categories as a share of the whole."""
    if report is None:
        return None

    def report_share(step: Progress) -> None:
        total = step.total * n_categories // count
        report(Progress(step.done + total * first // n_categories, total, step.mistakes))

    return report_share
