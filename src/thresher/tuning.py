"""Decisions from the training documents alone, by cross-validation, and the progress of long calls; `fit` calls it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.decisions import Decisions, choose_policy, tune_decisions
from thresher.folds import folds
from thresher.kernels.rows import Rows
from thresher.learners.rows import select_rows
from thresher.settings import new_learner
from thresher.text.analysers import Text

MOST_TUNED = 2 * 10**7  # documents x categories that thresholds are tuned on
MOST_ACTIVE = 3 * 10**7  # features of those documents


class Step(NamedTuple):
    """How far a long call is.

    Parameters
    ----------
    stage : str
        What it is doing.
    done, total : int
        How much of it is done, and how much there is; 0 where that is not known.
    mistakes : int
        Those made so far.
    """

    stage: str
    done: int
    total: int
    mistakes: int = 0


Report = Callable[[Step], None]
Ints = NDArray[np.int64]
ScoreFold = Callable[[Ints, Ints, Any], NDArray[np.float32]]  # rows to learn, rows to score, and whom to report to


def tuned_decisions(
    settings: Mapping[str, Any],
    rows: Rows,
    labels: list[list[int]],
    n_categories: int,
    progress: Report | None = None,
    known: Mapping[int, NDArray[np.float32]] | None = None,
    score_fold: ScoreFold | None = None,
) -> Decisions:
    """Return thresholds, probabilities and policy as the settings want them.

    With fixed thresholds, or too few documents to hold some out, all thresholds are theta. `known` are the scores of
    held-out parts that trials of the same settings on the same documents have made already. `score_fold` makes the
    others in another way than here.
    """
    policy, goal = settings["policy"], settings["thresholds"]
    if policy == "auto":
        policy = choose_policy([len(row) for row in labels])
    if goal == "fixed" or len(labels) < 2 * settings["folds"]:
        return Decisions(np.full(n_categories, float(settings["theta"])), np.ones(n_categories), policy=policy)
    active = max(len(rows.indices) / len(labels), 1)
    most = min(len(labels), max(min(MOST_TUNED // n_categories, int(MOST_ACTIVE / active)), 100))
    chosen = np.unique(np.linspace(0, len(labels) - 1, most).astype(np.int64))
    if len(chosen) < len(labels):
        labels, known = [labels[i] for i in chosen], None
        rows = rows if score_fold is not None else select_rows(rows, chosen)
    truth = truth_of(labels, n_categories)
    if score_fold is None:
        score_fold, chosen = fold_here(settings, rows, labels, n_categories), np.arange(len(labels))
    scores = held_out_scores(settings["folds"], truth, chosen, score_fold, progress, known)
    return tune_decisions(scores, truth, goal, float(settings["theta"]), policy)


def held_out_scores(
    count: int,
    truth: NDArray[np.bool_],
    numbers: Ints,
    score_fold: ScoreFold,
    progress: Report | None = None,
    known: Mapping[int, NDArray[np.float32]] | None = None,
) -> NDArray[np.float32]:
    """Return each document's raw scores by a learner that has not seen it; `numbers` are those of their rows."""
    scores = np.empty(truth.shape, dtype=np.float32)
    parts = folds(truth, count)
    for fold in range(count):
        inside, outside = np.flatnonzero(parts != fold), np.flatnonzero(parts == fold)
        if known and fold in known:
            scores[outside] = known[fold]
        else:
            report = reporter(f"validate {fold + 1}/{count}", progress)
            scores[outside] = score_fold(numbers[inside], numbers[outside], report)
    return scores


def fold_here(settings: Mapping[str, Any], rows: Rows, labels: list[list[int]], n_categories: int) -> ScoreFold:
    """Return what learns some of the rows, and scores others, in this process."""

    def score_fold(inside: Ints, outside: Ints, report: Any) -> NDArray[np.float32]:
        learner, own = new_learner(settings), [labels[i] for i in inside]
        learner.fit_checked(select_rows(rows, inside), own, n_categories, report)
        return learner.score_checked(select_rows(rows, outside))

    return score_fold


def truth_of(labels: list[list[int]], n_categories: int) -> NDArray[np.bool_]:
    """Return which categories each document has, as an array (documents, categories)."""
    truth = np.zeros((len(labels), n_categories), dtype=np.bool_)
    for i, row in enumerate(labels):
        truth[i, row] = True
    return truth


def reporter(stage: str, progress: Report | None) -> Any:
    """Return what a learner may report to, under the name of a stage."""
    return None if progress is None else lambda state: progress(Step(stage, *state))


def watched(texts: Iterable[Text], progress: Report | None) -> Iterable[Text]:
    """Pass texts on, and report how many there were."""
    if progress is None or isinstance(texts, str | bytes):
        return texts
    return _counted(texts, progress)


def _counted(texts: Iterable[Text], progress: Report) -> Iterator[Text]:
    total = len(texts) if isinstance(texts, Sequence) else 0
    for done, text in enumerate(texts, 1):
        yield text
        if done % 1000 == 0 or done == total:
            progress(Step("read", done, total))
