"""Tune thresholds, probabilities and policy on held-out training documents."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.learners.base import MistakeDrivenLearner, Train
from thresher.model.decisions import Decisions, tune_decisions
from thresher.model.factories import new_learner
from thresher.model.policies import choose_policy
from thresher.model.settings import ModelSettings
from thresher.rows.folds import assign_folds
from thresher.rows.labels import as_truth, make_labels
from thresher.rows.validation import select_rows
from thresher.support.progress import Report, make_reporter

MAX_TUNED_CELLS = 5 * 10**6 // 2  # documents x categories of the documents that thresholds are tuned on
MAX_ACTIVE = 3 * 10**7  # active features of those documents


Ints = NDArray[np.int64]
ScoreFold = Callable[[Ints, Ints, Any], NDArray[np.float32]]  # rows to learn, rows to score, progress callback


def train_and_tune(
    settings: ModelSettings,
    learner: MistakeDrivenLearner,
    rows: Rows,
    labels: list[list[int]],
    n_categories: int,
    progress: Report | None = None,
    train: Train | None = None,
    score_fold: ScoreFold | None = None,
) -> Decisions:
    """Train the learner on the rows, and return the thresholds, probabilities and policy for these settings.

    With fixed thresholds, or too few documents for held-out folds, all thresholds are theta. A learner that
    `can_hold_out` scores the held-out documents at the end of its training. For the others, `score_fold` replaces the
    default way to train on some documents and score others; `train` replaces the function that makes the passes.
    """
    policy, goal, judged = settings.policy, settings.thresholds, make_labels(labels)
    if policy == "auto":
        policy = choose_policy([len(row) for row in labels])
    if goal == "fixed" or len(labels) < 2 * settings.folds:
        learner.fit_rows(rows, judged, n_categories, make_reporter("learn", progress), train)
        return Decisions(np.full(n_categories, settings.parameters.theta), np.ones(n_categories), policy=policy)
    chosen = choose_tuned_rows(rows, n_categories)
    truth = as_truth([labels[i] for i in chosen], n_categories)
    folds = None
    if learner.can_hold_out:
        folds = np.full(len(labels), -1, dtype=np.int8)
        n_folds = count_folds(settings.folds, len(chosen), len(labels))
        folds[chosen] = assign_folds(truth, n_folds) if n_folds > 1 else 0
    else:
        if score_fold is None:
            score_fold = make_local_scorer(lambda: new_learner(settings), rows, labels, n_categories)
        scores = held_out_scores(settings.folds, truth, chosen, score_fold, progress)
    seen = learner.fit_rows(rows, judged, n_categories, make_reporter("learn", progress), train, folds)
    taught = learner.positives_ > 0
    return tune_decisions(scores if folds is None else seen, truth, goal, settings.parameters.theta, policy, taught)


def choose_tuned_rows(rows: Rows, n_categories: int) -> Ints:
    """Return the numbers of the rows that thresholds are tuned on: all of them, or as many as memory allows."""
    n_rows = len(rows.indptr) - 1
    active = max(len(rows.indices) / n_rows, 1)
    most = min(n_rows, max(min(MAX_TUNED_CELLS // n_categories, int(MAX_ACTIVE / active)), 100))
    return np.unique(np.linspace(0, n_rows - 1, most).astype(np.int64))


def count_folds(wanted: int, n_chosen: int, n_rows: int) -> int:
    """Return the number of folds of the chosen rows, so that each fold holds no more of all rows than if all were.

    >>> count_folds(5, 1000, 1000), count_folds(5, 400, 1000), count_folds(5, 100, 1000)
    (5, 2, 1)
    """
    return max(-(-wanted * n_chosen // n_rows), 1)


def score_held_out(
    learner: MistakeDrivenLearner,
    rows: Rows,
    labels: list[list[int]],
    folds: Ints,
    n_categories: int,
    progress: Any = None,
) -> NDArray[np.float32]:
    """Return the raw scores of each row with a fold by weights that have not learned from it; trains the learner."""
    if learner.can_hold_out:
        return learner.fit_rows(rows, make_labels(labels), n_categories, progress, folds=folds.astype(np.int8))
    score_fold = make_local_scorer(lambda: learner, rows, labels, n_categories)
    scores = cross_validate(folds, n_categories, np.arange(len(folds)), score_fold, lambda fold: progress)
    return scores[folds >= 0]


def cross_validate(
    folds: Ints, n_categories: int, numbers: Ints, score_fold: ScoreFold, make_report: Callable[[int], Any]
) -> NDArray[np.float32]:
    """Return each document's raw scores by a learner that was trained without its fold; `numbers` are those of rows."""
    scores = np.empty((len(folds), n_categories), dtype=np.float32)
    for fold in range(int(folds.max()) + 1):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        scores[outside] = score_fold(numbers[inside], numbers[outside], make_report(fold))
    return scores


def held_out_scores(
    count: int,
    truth: NDArray[np.bool_],
    numbers: Ints,
    score_fold: ScoreFold,
    progress: Report | None = None,
) -> NDArray[np.float32]:
    """Return each document's raw scores by a learner that has not seen it; `numbers` are the numbers of their rows."""

    def make_report(fold: int) -> Any:
        return make_reporter(f"validate {fold + 1}/{count}", progress)

    return cross_validate(assign_folds(truth, count), truth.shape[1], numbers, score_fold, make_report)


def make_local_scorer(
    make_learner: Callable[[], MistakeDrivenLearner], rows: Rows, labels: list[list[int]], n_categories: int
) -> ScoreFold:
    """Return a function that learns some of the rows and scores others, in this process."""

    def score_fold(inside: Ints, outside: Ints, report: Any) -> NDArray[np.float32]:
        learner, own = make_learner(), make_labels([labels[i] for i in inside])
        learner.fit_rows(select_rows(rows, inside), own, n_categories, report)
        return learner.score_rows(select_rows(rows, outside))

    return score_fold
