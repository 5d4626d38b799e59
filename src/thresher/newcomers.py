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
    makes no mistake and the documents just taught are accepted, or after `ROUNDS`. Unless most categories
    are young, a copy of the young ones and of the documents' features learns: the others neither change nor take time.
    """
    own = [frozenset(document.categories) for document in documents]
    member = np.array([[c in categories for c in young] for categories in own])
    judged = member | np.array([document.complete or bool(document.categories) for document in documents])[:, None]
    must_accept = member & (np.arange(len(documents)) >= len(documents) - n_taught)[:, None]
    features = np.zeros(0, dtype=np.int64)
    taught, numbers = learner, young
    if 2 * len(young) < learner.n_categories_:
        features, renumbered = np.unique(rows.indices.astype(np.int64), return_inverse=True)
        rows = rows._replace(indices=renumbered.astype(np.int32), n_features=len(features))
        taught, numbers = learner.part(young, features), list(range(len(young)))
    ends = np.concatenate(([0], np.cumsum(np.count_nonzero(judged, axis=1))))
    categories = np.broadcast_to(np.array(numbers, dtype=np.int32), judged.shape)[judged]
    labels = Labels(ends, categories, np.where(member, 1, -1).astype(np.int8)[judged], others=0)
    positives = learner.positives_.copy()
    for _ in range(ROUNDS):
        before = taught.online_mistakes_.sum()
        taught.learn_checked(rows, labels, taught.n_categories_)
        accepted = taught.score_checked(rows)[:, numbers] > thresholds[young]
        if taught.online_mistakes_.sum() == before and accepted[must_accept].all():
            break
    if taught is not learner:
        learner.take_part(taught, young, features)
    learner.positives_ = positives  # what is repeated here was counted before
