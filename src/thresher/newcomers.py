"""How a category added after `fit` learns what it is not; `teaching` calls it after each of its corrections."""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.rows import Labels, Rows
from thresher.learners.learner import MistakeDrivenLearner
from thresher.reservoir import Kept

# Positives up to which a category counts as young; and rounds after a correction at the most.
YOUNG, ROUNDS = 20, 50


def is_young(learner: MistakeDrivenLearner, category: int) -> bool:
    """Tell whether a category was added after `fit` and has had few positives."""
    late = category >= len(learner.n_passes_)
    return late and int(learner.positives_[category]) < YOUNG


def set_against(
    learner: MistakeDrivenLearner,
    rows: Rows,
    documents: list[Kept],
    young: list[int],
    n_taught: int,
    thresholds: NDArray[np.float64],
) -> None:
    """Set young categories against documents, the last `n_taught` of them just taught; changes the learner.

    Without it, one example would leave a category that accepts whatever shares enough common words with it. A document
    is a negative if it is known to have no other categories than its own, or has at least one. It ends when a round
    makes no mistake and the documents just taught are accepted, or after so many rounds.
    """
    own = [frozenset(document.categories) for document in documents]
    member = np.array([[c in categories for c in young] for categories in own])
    judged = member | np.array([document.complete or bool(document.categories) for document in documents])[:, None]
    ends = np.concatenate(([0], np.cumsum(np.count_nonzero(judged, axis=1))))
    categories = np.broadcast_to(np.array(young, dtype=np.int32), judged.shape)[judged]
    labels = Labels(ends, categories, np.where(member, 1, -1).astype(np.int8)[judged], others=0)
    must_accept = member & (np.arange(len(documents)) >= len(documents) - n_taught)[:, None]
    positives = learner.positives_.copy()
    for _ in range(ROUNDS):
        before = learner.online_mistakes_.sum()
        learner.learn_checked(rows, labels, learner.n_categories_)
        accepted = learner.score_checked(rows)[:, young] > thresholds[young]
        if learner.online_mistakes_.sum() == before and accepted[must_accept].all():
            break
    learner.positives_ = positives  # what is repeated here was counted before
