"""Tune thresholds, probabilities and policy by cross-validation on the training documents."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.model.decisions import Decisions, tune_decisions
from thresher.model.factories import new_learner
from thresher.model.policies import choose_policy
from thresher.model.settings import ModelSettings
from thresher.rows.folds import assign_folds
from thresher.rows.labels import as_truth, make_labels
from thresher.rows.validation import select_rows
from thresher.support.progress import Report, make_reporter

MAX_TUNED_CELLS = 2 * 10**7  # documents x categories of the documents that thresholds are tuned on
MAX_ACTIVE = 3 * 10**7  # active features of those documents


Ints = NDArray[np.int64]
ScoreFold = Callable[[Ints, Ints, Any], NDArray[np.float32]]  # rows to learn, rows to score, progress callback


def tune_on_folds(
    settings: ModelSettings,
    rows: Rows,
    labels: list[list[int]],
    n_categories: int,
    progress: Report | None = None,
    known: Mapping[int, NDArray[np.float32]] | None = None,
    score_fold: ScoreFold | None = None,
) -> Decisions:
    """Return the thresholds, probabilities and policy for these settings.

    With fixed thresholds, or too few documents for held-out folds, all thresholds are theta. `known` holds the scores
    of folds that trials with the same settings on the same documents have already computed. `score_fold` replaces the
    default way to compute the others.
    """
    policy, goal = settings.policy, settings.thresholds
    if policy == "auto":
        policy = choose_policy([len(row) for row in labels])
    if goal == "fixed" or len(labels) < 2 * settings.folds:
        return Decisions(np.full(n_categories, settings.parameters.theta), np.ones(n_categories), policy=policy)
    active = max(len(rows.indices) / len(labels), 1)
    most = min(len(labels), max(min(MAX_TUNED_CELLS // n_categories, int(MAX_ACTIVE / active)), 100))
    chosen = np.unique(np.linspace(0, len(labels) - 1, most).astype(np.int64))
    if len(chosen) < len(labels):
        labels, known = [labels[i] for i in chosen], None
        rows = rows if score_fold is not None else select_rows(rows, chosen)
    truth = as_truth(labels, n_categories)
    if score_fold is None:
        score_fold, chosen = make_local_scorer(settings, rows, labels, n_categories), np.arange(len(labels))
    scores = held_out_scores(settings.folds, truth, chosen, score_fold, progress, known)
    return tune_decisions(scores, truth, goal, settings.parameters.theta, policy)


def held_out_scores(
    count: int,
    truth: NDArray[np.bool_],
    numbers: Ints,
    score_fold: ScoreFold,
    progress: Report | None = None,
    known: Mapping[int, NDArray[np.float32]] | None = None,
) -> NDArray[np.float32]:
    """Return each document's raw scores by a learner that has not seen it; `numbers` are the numbers of their rows."""
    scores = np.empty(truth.shape, dtype=np.float32)
    parts = assign_folds(truth, count)
    for fold in range(count):
        inside, outside = np.flatnonzero(parts != fold), np.flatnonzero(parts == fold)
        if known and fold in known:
            scores[outside] = known[fold]
        else:
            report = make_reporter(f"validate {fold + 1}/{count}", progress)
            scores[outside] = score_fold(numbers[inside], numbers[outside], report)
    return scores


def make_local_scorer(settings: ModelSettings, rows: Rows, labels: list[list[int]], n_categories: int) -> ScoreFold:
    """Return a function that learns some of the rows and scores others, in this process."""

    def score_fold(inside: Ints, outside: Ints, report: Any) -> NDArray[np.float32]:
        learner, own = new_learner(settings), make_labels([labels[i] for i in inside])
        learner.fit_rows(select_rows(rows, inside), own, n_categories, report)
        return learner.score_rows(select_rows(rows, outside))

    return score_fold
