"""Base class of the learners: fit, partial_fit, score and access to weights. Each learner's module defines its rule."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.errors import NotFittedError, ParameterError, RowsError
from thresher.kernels.csr import Labels, Rows
from thresher.kernels.dense_weights import Rule, Steps
from thresher.kernels.mistake_driven import Examples
from thresher.learners.chunks import CHUNK_WORK
from thresher.learners.dense_weights import DenseWeights
from thresher.learners.mistake_rule import MistakeRule
from thresher.learners.sparse_weights import LearnerWeights, SparseWeights
from thresher.learners.training import (
    Plan,
    Progress,
    Report,
    TrainedAll,
    Training,
    train_once,
    train_sparse,
)
from thresher.rows.labels import as_labels, count_categories, count_positives
from thresher.rows.validation import as_rows, check_numbers, to_strengths
from thresher.support.parallel import count_threads
from thresher.support.settings import MAX_NUMBER, document_settings

Train = Callable[[Examples, Plan, int, Report | None], TrainedAll]


@document_settings
@dataclass(kw_only=True, eq=False)
class MistakeDrivenLearner(MistakeRule):
    """A linear learner for many categories that changes its weights only on mistakes (sections 3 and 4).

    The score of a document for a category is the sum of strength x weight over its active features. The document is
    accepted if the score exceeds theta. On a mistake, only the weights of the active features are promoted or demoted.
    In the paper's learners, the step does not depend on the strengths.

    Its parameters are those of `LearnerSettings`.

    Attributes
    ----------
    average_active_ : float
        The average number of active features, d, as given or as measured.
    mistakes_ : array of shape (passes, categories)
        The mistakes of each pass of the last `fit`, 0 after a category has stopped.
    n_passes_ : array of shape (categories,)
        The number of passes of each category in the last `fit`.
    online_mistakes_ : array of shape (categories,)
        The mistakes made in `partial_fit` since the last `fit`.
    positives_ : array of shape (categories,)
        The number of positive examples seen.
    discarded_ : array of shape (categories,)
        The number of discarded features.
    """

    def __post_init__(self) -> None:
        self._weights: LearnerWeights | None = None
        self._online: tuple[Rule, Steps] | None = None  # cached between single documents

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
        """Train from the start, in passes over the documents until they make no mistakes or `max_passes` is reached.

        Parameters
        ----------
        rows : Rows or csr matrix
            Counts (or strengths, with strength="linear") of features, one row per document.
        labels : Labels or one collection of category numbers for each row
            A label set is complete: every other category is a negative.
        n_categories : int, optional
            The minimum number of categories, including those without documents.
        row_weight : array, optional
            A mistake on row i takes k = row_weight[i] steps at once: alpha ** k and beta ** k, or k * alpha.
        progress : callable, optional
            Called with a Progress about ten times a second.
        """
        self.check_parameters()
        strong, judged, times = self._check_input(rows, labels, row_weight)
        self._fit(strong, judged, times, n_categories, progress)
        return self

    def fit_rows(
        self,
        rows: Rows,
        labels: Labels,
        n_categories: int,
        progress: Report | None = None,
        train: Train | None = None,
        folds: NDArray[np.int8] | None = None,
    ) -> NDArray[np.float32]:
        """Train from the start on `rows` of strengths, which are known to be valid like their `labels`.

        `n_categories` and `progress` are those of `fit`. `train` replaces the function that makes the passes. `folds`
        holds the number of each row's fold, or -1. Return the scores of the rows with a fold by weights that have not
        learned from it (see `Training`); only learners that `can_hold_out` take folds.
        """
        self.check_parameters()
        return self._fit(rows, labels, np.ones(1), n_categories, progress, train, folds)

    def _fit(
        self,
        strong: Rows,
        labels: Labels,
        times: NDArray[np.float64],
        n_categories: int | None,
        progress: Report | None,
        train: Train | None = None,
        folds: NDArray[np.int8] | None = None,
    ) -> NDArray[np.float32]:
        average_active = self._measure_average_active(strong)
        examples = Examples(strong, labels, self._make_steps(average_active, times))
        count = count_categories(examples.labels, n_categories, 0)
        rule = self._make_rule(average_active, revive=False, tolerance=self._tolerance())
        schedule = self._make_schedule(average_active)
        start, n_threads = self.start_weights(average_active), count_threads(self.n_threads)
        weights: LearnerWeights
        if train is not None or self.sparse:
            plan = Plan(rule, schedule, start, count, self.sparse, folds)
            weights, history, scores = (train or train_sparse)(examples, plan, n_threads, progress)
        else:
            weights = DenseWeights(start, examples.rows.n_features, count, self.block_width, is_filled=False)
            training = Training(examples, rule, schedule, weights, folds=folds)
            history, scores = training.run(n_threads, progress), training.held_out_scores
        self.average_active_, self._weights, self._online = average_active, weights, None
        self.mistakes_, self.n_passes_ = history
        self.online_mistakes_ = np.zeros(count, dtype=np.int64)
        self.positives_ = count_positives(examples.labels, count)
        self._limit_untaught(scores)
        return scores

    def partial_fit(
        self,
        rows: Any,
        labels: Any,
        *,
        n_categories: int | None = None,
        row_weight: Any = None,
        progress: Report | None = None,
    ) -> Self:
        """Continue training with one pass over the documents in the given order.

        `rows`, `labels`, `n_categories`, `row_weight` and `progress` are those of `fit`.

        New features and categories may appear at any time; `late_start` sets their starting weights. Labels may leave
        categories out (`Labels` with others=0).
        """
        self.check_parameters()
        strong, judged, times = self._check_input(rows, labels, row_weight)
        count = count_categories(judged, n_categories, 0 if self._weights is None else self._weights.n_categories)
        self._online = None
        self._learn(strong, judged, count, times, progress)
        return self

    def learn_rows(self, rows: Rows, labels: Labels, n_categories: int) -> NDArray[np.int64]:
        """Continue training on `rows` of strengths, which are known to be valid like their `labels`.

        `n_categories` is the number of categories, including new ones. Parameters are those of the previous call: they
        are neither read nor checked again. Return the mistakes by category.
        """
        if self._weights is None:
            self.check_parameters()
        return self._learn(rows, labels, n_categories)

    def stream_rows(self, rows: Rows, labels: Labels) -> NDArray[np.float32]:
        """Score each of the `rows`, then learn it with its `labels`, before the next one; return the raw scores.

        Rows and labels must be valid, as in `learn_rows`, and all categories must be known. This does not support
        averaged weights, as each step changes all means.
        """
        weights, (rule, steps) = self.get_weights(), self._get_online_rule()
        weights.grow(rows.n_features, weights.n_categories)
        scores, mistakes = weights.stream(Examples(rows, labels, steps), rule)
        self._limit_untaught(scores)
        self.online_mistakes_ = self.online_mistakes_ + mistakes
        self.positives_ = self.positives_ + count_positives(labels, weights.n_categories)
        return scores

    def _get_online_rule(self) -> tuple[Rule, Steps]:
        """Return the rule and the steps of single documents, which are computed once."""
        if self._online is None:
            rule = self._make_rule(self.average_active_, revive=not self.discard_final)
            self._online = rule, self._make_steps(self.average_active_, np.ones(1))
        return self._online

    def _learn(
        self,
        rows: Rows,
        labels: Labels,
        count: int,
        times: NDArray[np.float64] | None = None,
        progress: Report | None = None,
    ) -> NDArray[np.int64]:
        """Make one pass and return the mistakes; an interrupted long pass leaves the learner unchanged.

        A single row is never long: nothing interrupts it, and copying all weights would take longer than learning it.
        """
        first = self._weights is None
        average_active = self._measure_average_active(rows) if first else self.average_active_
        if first or times is not None:
            rule = self._make_rule(average_active, revive=not self.discard_final)
            steps = self._make_steps(average_active, np.ones(1) if times is None else times)
        else:
            rule, steps = self._get_online_rule()
        examples = Examples(rows, labels, steps)
        long = len(rows.indptr) > 2 and len(rows.indices) * count > CHUNK_WORK
        weights = self._make_first_weights(average_active, rows) if self._weights is None else self._weights
        weights = weights.copy() if long else weights
        known = weights.n_categories
        try:
            weights.grow(rows.n_features, count)
            if long:
                mistakes = train_once(examples, rule, weights, count_threads(self.n_threads), progress)
            else:
                mistakes = weights.learn(examples, rule)
        except BaseException:
            weights.forget_categories(known)
            raise
        if progress is not None and not long:
            done = len(rows.indptr) - 1
            progress(Progress(done, done, int(mistakes.sum())))
        if first:
            self.mistakes_ = np.zeros((0, 0), dtype=np.int64)
            self.n_passes_ = self.online_mistakes_ = self.positives_ = np.zeros(0, dtype=np.int64)
        self._weights, self.average_active_ = weights, average_active
        self.online_mistakes_ = _extend(self.online_mistakes_, count) + mistakes
        self.positives_ = _extend(self.positives_, count) + count_positives(labels, count)
        return mistakes

    def _make_first_weights(self, average_active: float, rows: Rows) -> LearnerWeights:
        """Return initial weights for the rows' features, or for none if features of partial_fit count as late."""
        if self.sparse:
            return SparseWeights.empty(self.start_weights(average_active))
        known = 0 if self.late_start == "zero" else rows.n_features
        return DenseWeights(self.start_weights(average_active), known, 0, self.block_width)

    # -- scores, weights and state -----------------------------------------------------------------------------------

    def score(self, rows: Any) -> NDArray[np.float32]:
        """Return the raw scores of `rows`, of shape (rows, categories); a score above theta accepts the document.

        A category without any positive example accepts nothing: its scores are capped at theta.
        """
        weights = self.get_weights()
        checked = as_rows(rows)
        if checked.n_features != weights.n_features:
            raise RowsError(f"rows have {checked.n_features} features, and the learner has {weights.n_features}")
        return self._score(weights, self.strengths(checked))

    def score_rows(self, rows: Rows) -> NDArray[np.float32]:
        """Return the raw scores of `rows` of strengths, which are known to be valid."""
        weights = self.get_weights()
        if rows.n_features > weights.n_features:
            raise RowsError(f"rows have {rows.n_features} features, and the learner has {weights.n_features}")
        return self._score(weights, rows)

    def _score(self, weights: LearnerWeights, strong: Rows) -> NDArray[np.float32]:
        scores = weights.score(strong, count_threads(self.n_threads))
        self._limit_untaught(scores)
        return scores

    def _limit_untaught(self, scores: NDArray[np.float32]) -> None:
        """Cap the scores of categories without a positive example at theta; writes `scores`."""
        untaught, positives = np.ones(scores.shape[1], dtype=np.bool_), self.positives_
        untaught[: len(positives)] = positives[: scores.shape[1]] == 0
        if untaught.any():
            scores[:, untaught] = np.minimum(scores[:, untaught], np.float32(self.theta))

    @property
    def weights_(self) -> NDArray[np.float32]:
        """The weights used in scores, of shape (categories, features)."""
        return np.ascontiguousarray(self.get_weights().to_matrix().T)

    def category_weights(
        self, category: int, features: NDArray[np.integer], *, last: bool = False
    ) -> NDArray[np.float32]:
        """Return the weights of some `features` for one `category`, as used in scores.

        If `last`, return the weights after the last step instead of their mean.
        """
        weights, wanted = self.get_weights(), np.asarray(features)
        check_numbers("categories", np.array([category]), weights.n_categories)
        check_numbers("features", wanted, weights.n_features)
        return weights.category_weights(category, wanted, last)

    @property
    def is_fitted(self) -> bool:
        """Whether the learner has been trained."""
        return self._weights is not None

    @property
    def n_features_(self) -> int:
        """The number of features that the learner knows."""
        return self.get_weights().n_features

    @property
    def n_categories_(self) -> int:
        """The number of categories that the learner knows."""
        return self.get_weights().n_categories

    @property
    def discarded_(self) -> NDArray[np.int64]:
        """The number of discarded features, by category."""
        return self.get_weights().count_discarded()

    def select(self, categories: list[int]) -> Self:
        """Keep only these `categories`, in this order."""
        self._weights = self.get_weights().select(categories)
        for name in ("n_passes_", "online_mistakes_", "positives_", "mistakes_"):
            counts = getattr(self, name)
            inside = [c for c in categories if c < counts.shape[-1]]
            setattr(self, name, counts[..., inside])
        return self

    def merge(self, categories: list[int]) -> Self:
        """Give the first of these `categories` the largest weight among them for each feature."""
        self._weights, self.positives_ = self.get_weights().merge(categories), self.positives_.copy()
        self.positives_[categories[0]] = self.positives_[categories].sum()
        return self

    def has_room(self, n_features: int, n_categories: int) -> bool:
        """Return whether `n_features` and `n_categories` fit into the memory already allocated for the weights."""
        return self._weights is None or self._weights.has_room(n_features, n_categories)

    def reserve(self, n_features: int, n_categories: int) -> None:
        """Allocate all memory that `n_features` and `n_categories` need, before anything is learned about them."""
        if self._weights is not None:
            self._weights.reserve(max(n_features, self.n_features_), max(n_categories, self.n_categories_))

    def copy_part(self, categories: list[int], features: NDArray[np.int64]) -> Self:
        """Return a learner with a copy of only some `categories` and `features`; `put_back_part` copies it back."""
        part = copy(self)
        part._weights = self.get_weights().copy_part(categories, features)
        part.online_mistakes_, part.positives_ = self.online_mistakes_[categories], self.positives_[categories]
        return part

    def put_back_part(self, part: "MistakeDrivenLearner", categories: list[int], features: NDArray[np.int64]) -> None:
        """Copy back what a `part` of these `categories` and `features` has learned, except its count of positives."""
        self.get_weights().put_back_part(part.get_weights(), categories, features)
        self.online_mistakes_ = self.online_mistakes_.copy()
        self.online_mistakes_[categories] = part.online_mistakes_

    def resume(self, other: "MistakeDrivenLearner", weights: LearnerWeights | None = None) -> Self:
        """Continue from the state of the `other` learner, of the same class, with this learner's parameters.

        The weights are copied, unless `weights` are given.
        """
        if type(other) is not type(self):
            raise ParameterError(f"a {type(self).__name__} cannot resume a {type(other).__name__}")
        parameters = self.get_params()
        self.__dict__.update(other.__dict__)
        self.__dict__.update(parameters)
        self._weights, self._online = other.get_weights().copy() if weights is None else weights, None
        return self

    def take_weights(self, weights: LearnerWeights) -> None:
        """Take `weights` that were read from a file."""
        self._weights = weights

    def view(self) -> Self:
        """Return a learner that shares its weights with this one and never grows, for other threads to score with."""
        twin = copy(self)
        twin._weights = None if twin._weights is None else twin._weights.view()
        return twin

    def get_weights(self) -> LearnerWeights:
        """Return the weights, or raise a NotFittedError."""
        if self._weights is None:
            raise NotFittedError(
                f"this {type(self).__name__} has learned nothing yet", hint="call fit or partial_fit first"
            )
        return self._weights

    def strengths(self, rows: Rows) -> Rows:
        """Return `rows` of counts as rows of the strengths used in scores."""
        return to_strengths(rows, self.strength, self.normalize)

    def _check_input(self, rows: Any, labels: Any, row_weight: Any) -> tuple[Rows, Labels, NDArray[np.float64]]:
        checked = as_rows(rows)
        n_rows = len(checked.indptr) - 1
        if n_rows == 0:
            raise RowsError("there are no rows: 0 sample(s), and learning needs a minimum of 1")
        times = np.ones(1) if row_weight is None else _check_row_weight(row_weight, n_rows)
        return self.strengths(checked), as_labels(labels, n_rows), times


def _extend(counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    if len(counts) == length:
        return counts
    return np.concatenate((counts, np.zeros(length - len(counts), dtype=np.int64)))


def _check_row_weight(row_weight: Any, n_rows: int) -> NDArray[np.float64]:
    weight = np.asarray(row_weight)
    if weight.dtype.kind not in "iuf" or weight.shape != (n_rows,) or not np.all((weight > 0) & (weight <= MAX_NUMBER)):
        raise RowsError(f"row_weight must hold a number above 0, up to {MAX_NUMBER:g}, for each of the {n_rows} rows")
    return weight.astype(np.float64)
