"""Train categories that were added after `fit` against the documents in the reservoir."""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Labels, Rows
from thresher.learners.base import MistakeDrivenLearner
from thresher.model.reservoir import SampledDocument

# A category is young up to this number of positives. It gets at most this number of rounds after a correction.
MAX_POSITIVES, MAX_ROUNDS = 20, 50


def is_young(learner: MistakeDrivenLearner, category: int) -> bool:
    """Return whether a category was added after `fit` and has few positives."""
    late = category >= len(learner.n_passes_)
    return late and int(learner.positives_[category]) < MAX_POSITIVES


def train_against(
    learner: MistakeDrivenLearner,
    rows: Rows,
    documents: list[SampledDocument],
    young: list[int],
    n_taught: int,
    thresholds: NDArray[np.float64],
) -> None:
    """Train young categories against documents, of which the last `n_taught` were just taught; changes the learner.

    Otherwise a category with one example would accept every text that shares enough common words with it. A document is
    a negative for a category that it does not have, if its list of categories is complete or not empty. Training ends
    after a round without mistakes in which the documents just taught are accepted, or after `MAX_ROUNDS`. Unless most
    categories are young, a copy learns that holds only the young categories and the documents' features. The other
    categories then neither change nor cost time.
    """
    member = np.array([[c in document.categories for c in young] for document in documents])
    judged = member | np.array([document.complete or bool(document.categories) for document in documents])[:, None]
    must_accept = member & (np.arange(len(documents)) >= len(documents) - n_taught)[:, None]
    features = np.zeros(0, dtype=np.int64)
    taught, numbers = learner, young
    if 2 * len(young) < learner.n_categories_:
        features, renumbered = np.unique(rows.indices.astype(np.int64), return_inverse=True)
        rows = rows._replace(indices=renumbered.astype(np.int32), n_features=len(features))
        taught, numbers = learner.copy_part(young, features), list(range(len(young)))
    ends = np.concatenate(([0], np.cumsum(np.count_nonzero(judged, axis=1))))
    categories = np.broadcast_to(np.array(numbers, dtype=np.int32), judged.shape)[judged]
    labels = Labels(ends, categories, np.where(member, 1, -1).astype(np.int8)[judged], others=0)
    positives = learner.positives_.copy()
    for _ in range(MAX_ROUNDS):
        before = taught.online_mistakes_.sum()
        taught.learn_rows(rows, labels, taught.n_categories_)
        accepted = taught.score_rows(rows)[:, numbers] > thresholds[young]
        if taught.online_mistakes_.sum() == before and accepted[must_accept].all():
            break
    if taught is not learner:
        learner.put_back_part(taught, young, features)
    learner.positives_ = positives  # these documents were counted when they were first learned
