"""What the three learners share: parameters, fit, partial_fit, score. Each learner's own file gives its rule."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.errors import NotFittedError, ParameterError, RowsError
from thresher.kernels.passes import Examples
from thresher.kernels.rows import Labels, Rows
from thresher.kernels.weights import Rule, Steps
from thresher.learners.blocks import Blocks
from thresher.learners.labels import as_labels, count_categories, count_positives, listed_labels
from thresher.learners.listed_weights import ListedWeights
from thresher.learners.mistake_rule import MistakeRule
from thresher.learners.parameters import LARGEST
from thresher.learners.rows import as_rows, check_numbers, strengths
from thresher.learners.slices import SLICE_WORK
from thresher.learners.training import (
    History,
    Plan,
    Progress,
    Report,
    Schedule,
    Training,
    train_listed,
)
from thresher.spilling import is_spilled, joined_rows, parts_of
from thresher.threads import count_threads

Train = Callable[[Examples, Plan, int, Report | None], tuple[Blocks | ListedWeights, History]]


@dataclass(kw_only=True, eq=False)
class MistakeDrivenLearner(MistakeRule):
    """A linear learner for many categories at once that changes its weights only when it errs (sections 3 and 4).

    The score of a document for a category is the sum of strength x weight over its active features; the document is
    accepted where the score exceeds theta. On a mistake the weights of the active features, and of no others, are
    promoted or demoted by a step that does not depend on their strengths.

    Its parameters are those of `Settings`.

    Attributes
    ----------
    average_active_ : float
        d, as given or as measured.
    mistakes_ : array of shape (passes, categories)
        The mistakes of each pass of the last `fit`, zero where a category had stopped before.
    n_passes_ : array of shape (categories,)
        The passes that each category ran in the last `fit`.
    online_mistakes_ : array of shape (categories,)
        The mistakes made in `partial_fit` since then.
    positives_ : array of shape (categories,)
        The positive examples seen.
    discarded_ : array of shape (categories,)
        The features that are dropped.
    """

    def __post_init__(self) -> None:
        self._blocks: Blocks | ListedWeights | None = None
        self._online: tuple[Rule, Steps] | None = None  # what a mistake is and does, kept between single documents

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(
        self,
        rows: Any,
        labels: Any,
        *,
        n_categories: int | None = None,
        row_weight: Any = None,
        progress: Report | None = None,
    ) -> Self:
        """Learn from the start: passes over the documents until they make no mistakes or `max_passes` is reached.

        Parameters
        ----------
        rows : Rows or csr matrix
            Counts (or strengths, with strength="linear") of features, a row for each document.
        labels : Labels or one collection of category numbers for each row
            A label set is complete: every other category is a negative.
        n_categories : int, optional
            At least so many categories, including those that no document has.
        row_weight : array, optional
            A mistake on row i takes row_weight[i] steps in one: alpha ** k and beta ** k, or k * alpha.
        progress : callable, optional
            Called with a Progress about ten times a second.
        """
        self._check_parameters()
        checked, judged, times = self._checked(rows, labels, row_weight)
        return self._fit(checked, judged, times, n_categories, progress)

    def fit_checked(
        self, rows: Rows, labels: list[list[int]], n_categories: int, progress: Report | None = None
    ) -> Self:
        """Learn from the start, from `rows` and `labels` that are known to be in order, such as a `Categorizer` makes.

        The rows are given up: what they hold may be overwritten. `n_categories` and `progress` are those of `fit`.
        """
        self._check_parameters()
        if is_spilled(rows.indices):
            parts = (strengths(part, self.strength, self.normalize, checked=True) for part in parts_of(rows))
            strong = joined_rows(parts, rows.n_features, limit=0)
        else:
            strong = strengths(rows, self.strength, self.normalize, checked=True, out=rows.data)
        return self._fit(strong, listed_labels(labels), np.ones(1), n_categories, progress)

    def fit_strengths(
        self,
        strong: Rows,
        labels: Labels,
        n_categories: int,
        progress: Report | None = None,
        train: Train | None = None,
    ) -> Self:
        """Learn from the start, from rows `strong` that hold strengths already; `train` makes the passes otherwise.

        `labels`, `n_categories` and `progress` are those of `fit`.
        """
        self._check_parameters()
        return self._fit(strong, labels, np.ones(1), n_categories, progress, train)

    def _fit(
        self,
        strong: Rows,
        labels: Labels,
        times: NDArray[np.float64],
        n_categories: int | None,
        progress: Report | None,
        train: Train | None = None,
    ) -> Self:
        average_active = self._measured(strong)
        examples = Examples(strong, labels, self._steps(average_active, times))
        count = count_categories(examples.labels, n_categories, 0)
        rule, schedule = self._rule(average_active, revive=False), self._schedule(average_active)
        start, n_threads = self._start(average_active), count_threads(self.n_threads)
        blocks: Blocks | ListedWeights
        if train is not None or self.sparse:
            plan = Plan(rule, schedule, start, count, self.sparse)
            blocks, history = (train or train_listed)(examples, plan, n_threads, progress)
        else:
            blocks = Blocks(start, examples.rows.n_features, count, self.block_width)
            history = Training(examples, rule, schedule, blocks).run(n_threads, progress)
        self.average_active_, self._blocks, self._online = average_active, blocks, None
        self.mistakes_, self.n_passes_ = history
        self.online_mistakes_ = np.zeros(count, dtype=np.int64)
        self.positives_ = count_positives(examples.labels, count)
        return self

    def partial_fit(
        self,
        rows: Any,
        labels: Any,
        *,
        n_categories: int | None = None,
        row_weight: Any = None,
        progress: Report | None = None,
    ) -> Self:
        """Go on learning: one pass over the documents in the order given.

        It takes what `fit` takes: `rows`, `labels`, `n_categories`, `row_weight` and `progress`.

        Features and categories that were never seen before may appear at any time; `late_start` says what they weigh.
        Labels may leave categories alone (`Labels` with others=0).
        """
        self._check_parameters()
        checked, judged, times = self._checked(rows, labels, row_weight)
        count = count_categories(judged, n_categories, 0 if self._blocks is None else self._blocks.n_categories)
        average_active = self._measured(checked) if self._blocks is None else self.average_active_
        self._online = None
        rule = self._rule(average_active, revive=not self.discard_final)
        steps = self._steps(average_active, times)
        blocks = self._first_blocks(average_active, checked) if self._blocks is None else self._blocks
        self._go_on(Examples(checked, judged, steps), rule, blocks, count, progress)
        self.average_active_ = average_active
        return self

    def learn_checked(self, rows: Rows, labels: Labels, n_categories: int) -> NDArray[np.int64]:
        """Go on learning from `rows` and `labels` that are known to be in order, such as a `Categorizer` makes.

        `n_categories` is how many there are with them. Returns the mistakes by category.

        The parameters are those of the call before: they are neither read nor checked again.
        """
        if self._blocks is None:
            return self.partial_fit(rows, labels, n_categories=n_categories).online_mistakes_
        rule, steps = self._as_before()
        strong = strengths(rows, self.strength, self.normalize, checked=True)
        return self._go_on(Examples(strong, labels, steps), rule, self._blocks, n_categories)

    def stream_checked(self, rows: Rows, labels: Labels) -> NDArray[np.float32]:
        """Score each of the `rows`, then learn it with its `labels`, before the next; returns the raw scores.

        As `learn_checked`, and it must know all categories. Not for averaged weights: each step changes all means.
        """
        blocks, (rule, steps) = self._fitted(), self._as_before()
        blocks.grow(rows.n_features, blocks.n_categories)
        scores, mistakes = blocks.stream(Examples(self.strengths(rows), labels, steps), rule)
        self._limit_untaught(scores)
        self.online_mistakes_ = self.online_mistakes_ + mistakes
        self.positives_ = self.positives_ + count_positives(labels, blocks.n_categories)
        return scores

    def _as_before(self) -> tuple[Rule, Steps]:
        if self._online is None:
            steps = self._steps(self.average_active_, np.ones(1))
            self._online = self._rule(self.average_active_, revive=not self.discard_final), steps
        return self._online

    def _go_on(
        self,
        examples: Examples,
        rule: Rule,
        blocks: Blocks | ListedWeights,
        count: int,
        progress: Report | None = None,
    ) -> NDArray[np.int64]:
        """Make one pass; a long one leaves the learner as it was if it is interrupted. Returns the mistakes.

        One row is never long: nothing interrupts it, and a copy of all weights would take longer than to learn it.
        """
        checked = examples.rows
        long = len(checked.indptr) > 2 and len(checked.indices) * count > SLICE_WORK
        blocks = blocks.copy() if long else blocks
        known, on_threads = blocks.n_categories, long and isinstance(blocks, Blocks)
        try:
            blocks.grow(checked.n_features, count)
            if long and isinstance(blocks, Blocks):
                once = Schedule(max_passes=1, shuffle=False, seed=0, discarding=None)
                training = Training(examples, rule, once, blocks)
                mistakes: NDArray[np.int64] = training.run(count_threads(self.n_threads), progress).mistakes[0]
            else:
                mistakes = blocks.learn(examples, rule)
        except BaseException:
            blocks.forget_categories(known)
            raise
        if progress is not None and not on_threads:
            done = len(checked.indptr) - 1
            progress(Progress(done, done, int(mistakes.sum())))
        if self._blocks is None:
            self.mistakes_ = np.zeros((0, 0), dtype=np.int64)
            self.n_passes_ = self.online_mistakes_ = self.positives_ = np.zeros(0, dtype=np.int64)
        self._blocks = blocks
        self.online_mistakes_ = _extended(self.online_mistakes_, count) + mistakes
        self.positives_ = _extended(self.positives_, count) + count_positives(examples.labels, count)
        return mistakes

    def _first_blocks(self, average_active: float, rows: Rows) -> Blocks | ListedWeights:
        """Return weights that know the rows' features, or none of them if whatever comes in partial_fit comes late."""
        if self.sparse:
            return ListedWeights.empty(self._start(average_active))
        known = 0 if self.late_start == "zero" else rows.n_features
        return Blocks(self._start(average_active), known, 0, self.block_width)

    # -- looking -----------------------------------------------------------------------------------------------------

    def score(self, rows: Any) -> NDArray[np.float32]:
        """Return the raw scores of `rows`, (rows, categories); accepted is what scores above theta.

        A category that has not had a single positive example accepts nothing: its scores end at theta.
        """
        blocks = self._fitted()
        checked = as_rows(rows)
        if checked.n_features != blocks.n_features:
            raise RowsError(f"rows have {checked.n_features} features, and the learner has {blocks.n_features}")
        return self._scores(blocks, self.strengths(checked))

    def score_checked(self, rows: Rows) -> NDArray[np.float32]:
        """Return the raw scores of `rows` that are known to be in order, such as those that text features make."""
        blocks = self._fitted()
        if rows.n_features > blocks.n_features:
            raise RowsError(f"rows have {rows.n_features} features, and the learner has {blocks.n_features}")
        return self._scores(blocks, strengths(rows, self.strength, self.normalize, checked=True))

    def score_strengths(self, strong: Rows) -> NDArray[np.float32]:
        """Return the raw scores of rows `strong` that hold strengths already."""
        return self._scores(self._fitted(), strong)

    def _scores(self, blocks: Blocks | ListedWeights, strong: Rows) -> NDArray[np.float32]:
        scores = blocks.score(strong, count_threads(self.n_threads))
        self._limit_untaught(scores)
        return scores

    def _limit_untaught(self, scores: NDArray[np.float32]) -> None:
        """Let categories without a positive example score theta at the most; writes `scores`."""
        untaught, positives = np.ones(scores.shape[1], dtype=np.bool_), self.positives_
        untaught[: len(positives)] = positives[: scores.shape[1]] == 0
        if untaught.any():
            scores[:, untaught] = np.minimum(scores[:, untaught], np.float32(self.theta))

    @property
    def weights_(self) -> NDArray[np.float32]:
        """The weights that scores are made of, (categories, features)."""
        return np.ascontiguousarray(self._fitted().dense().T)

    def category_weights(
        self, category: int, features: NDArray[np.integer], *, last: bool = False
    ) -> NDArray[np.float32]:
        """Return the weights that scores are made of, of some `features` for one `category`; or the `last` ones."""
        blocks, wanted = self._fitted(), np.asarray(features)
        check_numbers("categories", np.array([category]), blocks.n_categories)
        check_numbers("features", wanted, blocks.n_features)
        return blocks.category_weights(category, wanted, last)

    @property
    def is_fitted(self) -> bool:
        """Whether the learner has learned anything yet."""
        return self._blocks is not None

    @property
    def n_features_(self) -> int:
        """How many features the learner knows."""
        return self._fitted().n_features

    @property
    def n_categories_(self) -> int:
        """How many categories the learner knows."""
        return self._fitted().n_categories

    @property
    def discarded_(self) -> NDArray[np.int64]:
        """How many features are dropped, by category."""
        return self._fitted().discarded()

    def select(self, categories: list[int]) -> Self:
        """Keep these `categories` alone, in this order."""
        self._blocks = self._fitted().chosen(categories)
        for name in ("n_passes_", "online_mistakes_", "positives_", "mistakes_"):
            counts = getattr(self, name)
            inside = [c for c in categories if c < counts.shape[-1]]
            setattr(self, name, counts[..., inside])
        return self

    def merge(self, categories: list[int]) -> Self:
        """Let the first of these `categories` weigh each feature as the one of them that it speaks most for does."""
        self._blocks, self.positives_ = self._fitted().merged(categories), self.positives_.copy()
        self.positives_[categories[0]] = self.positives_[categories].sum()
        return self

    def has_room(self, n_features: int, n_categories: int) -> bool:
        """Tell whether `n_features` and `n_categories` fit into the memory that the weights have."""
        return self._blocks is None or self._blocks.has_room(n_features, n_categories)

    def reserve(self, n_features: int, n_categories: int) -> None:
        """Take all memory that `n_features` and `n_categories` need, before anything is learned of them."""
        if self._blocks is not None:
            self._blocks.reserve(max(n_features, self.n_features_), max(n_categories, self.n_categories_))

    def part(self, categories: list[int], features: NDArray[np.int64]) -> Self:
        """Return a learner with a copy of some `categories` and `features` alone; `take_part` takes it back."""
        part = copy(self)
        part._blocks = self._fitted().part(categories, features)
        part.online_mistakes_, part.positives_ = self.online_mistakes_[categories], self.positives_[categories]
        return part

    def take_part(self, part: "MistakeDrivenLearner", categories: list[int], features: NDArray[np.int64]) -> None:
        """Take over what a `part` of these `categories` and `features` has learned; its positives do not count."""
        self._fitted().take_part(part._fitted(), categories, features)
        self.online_mistakes_ = self.online_mistakes_.copy()
        self.online_mistakes_[categories] = part.online_mistakes_

    def resume(self, other: "MistakeDrivenLearner", blocks: Blocks | ListedWeights | None = None) -> Self:
        """Take over what the `other` learner, of the same kind, has learned, to go on from there with other parameters.

        Its weights are copied, or else `blocks` are taken.
        """
        if type(other) is not type(self):
            raise ParameterError(f"a {type(self).__name__} cannot resume a {type(other).__name__}")
        parameters = self.get_params()
        self.__dict__.update(other.__dict__)
        self.__dict__.update(parameters)
        self._blocks, self._online = other._fitted().copy() if blocks is None else blocks, None
        return self

    def view(self) -> Self:
        """Return a learner that shares its weights with this one and never grows, for other threads to score with."""
        twin = copy(self)
        twin._blocks = None if twin._blocks is None else twin._blocks.view()
        return twin

    def _fitted(self) -> Blocks | ListedWeights:
        if self._blocks is None:
            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet (call fit or partial_fit first)")
        return self._blocks

    def strengths(self, rows: Rows) -> Rows:
        """Return `rows` of counts as the strengths that the score is made of."""
        return strengths(rows, self.strength, self.normalize)

    def _checked(self, rows: Any, labels: Any, row_weight: Any) -> tuple[Rows, Labels, NDArray[np.float64]]:
        checked = as_rows(rows)
        n_rows = len(checked.indptr) - 1
        if n_rows == 0:
            raise RowsError("there are no rows: 0 sample(s), and learning needs a minimum of 1")
        times = np.ones(1) if row_weight is None else _checked_row_weight(row_weight, n_rows)
        return self.strengths(checked), as_labels(labels, n_rows), times


def _extended(counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    if len(counts) == length:
        return counts
    return np.concatenate((counts, np.zeros(length - len(counts), dtype=np.int64)))


def _checked_row_weight(row_weight: Any, n_rows: int) -> NDArray[np.float64]:
    weight = np.asarray(row_weight)
    if weight.dtype.kind not in "iuf" or weight.shape != (n_rows,) or not np.all((weight > 0) & (weight <= LARGEST)):
        raise RowsError(f"row_weight must hold a number above 0, up to {LARGEST:g}, for each of the {n_rows} rows")
    return weight.astype(np.float64)
