"""Scores of texts, and what they say: the categories that are accepted, by name; `Categorizer` and `stream` call it."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from thresher.errors import NotFittedError
from thresher.kernels.rows import Rows
from thresher.kernels.weights import LARGEST_WEIGHT
from thresher.learners.rows import row_slices
from thresher.settings import constant_of
from thresher.text.analysers import Text
from thresher.text.batches import batches
from thresher.text.strengths import WEIGHED, weighed
from thresher.threads import ahead

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer

Scores = NDArray[np.float32]
Empty = NDArray[np.bool_]
Result = TypeVar("Result")
SCORES_AT_ONCE = 2**18  # documents x categories: what is made of them stays in a core's cache


def strong_rows(model: "Categorizer", rows: Rows) -> Rows:
    """Return rows of counts with strengths by frequency, where the model is to have them."""
    strength = model.settings["strength"]
    if strength not in WEIGHED:
        return rows
    # Before `fit` nothing is known of frequencies: all features count alike.
    idf = model.idf if len(model.idf) else np.ones(rows.n_features, dtype=np.float32)
    documents = model.features.document_counts if len(model.idf) else None
    constant = constant_of(model.settings)
    return weighed(rows, idf, strength, documents, constant if constant and model.features.has_constant else 0.0)


def scored(
    model: "Categorizer", texts: Iterable[Text], use: Callable[[Scores, Empty], Result], lazily: bool = False
) -> Iterator[Result]:
    """Yield what is made of the raw scores of batches of texts, and of which texts have no feature; on threads.

    Who asks `lazily` may teach the model between one batch and the next: then no thread looks at it.
    """
    if not model.learner.is_fitted:
        raise NotFittedError("this Categorizer has learned nothing yet (call fit, partial_fit or learn first)")

    def score(batch: list[Text]) -> list[Result]:
        rows = model.features.rows(batch)
        parts = row_slices(strong_rows(model, rows), max(SCORES_AT_ONCE // max(len(model.categories), 1), 1))
        return [use(model.learner.score_checked(part), np.diff(part.indptr) == 0) for part in parts]

    n_threads = 1 if model.features.analyser.remembers else model.features.n_threads
    yield from chain.from_iterable(ahead(score, batches(texts), n_threads, in_turns=lazily))


def decided(
    model: "Categorizer", scores: Scores, empty: Empty, cuts: NDArray[np.float64] | None = None
) -> NDArray[np.bool_]:
    """Return what the policy accepts; nothing for texts without features, and no late category below its threshold.

    A category that came after `fit` has a threshold that is not tuned beside the others': being best means little.
    """
    if 0 < len(model.learner.n_passes_) < scores.shape[1]:
        late = np.arange(scores.shape[1]) >= len(model.learner.n_passes_)
        scores = np.where(late & (scores <= model.decisions.thresholds), np.float32(-LARGEST_WEIGHT), scores)
    accepted = model.decisions.accepted(scores, cuts)
    accepted[empty] = False
    return accepted


def accepted_names(model: "Categorizer", scores: Scores, empty: Empty) -> list[list[str]]:
    """Return the categories accepted by each row of scores, the best first."""
    cuts = model.decisions.cuts(scores)
    accepted = decided(model, scores, empty, cuts)
    documents, numbers = np.divmod(np.flatnonzero(accepted), accepted.shape[1])
    reached = cuts[numbers] if cuts.ndim == 1 else cuts[documents, numbers]
    best = np.lexsort((reached - scores[documents, numbers], documents))
    found: list[list[str]] = [[] for _ in range(len(scores))]
    for document, number in zip(documents.tolist(), numbers[best].tolist(), strict=True):
        found[document].append(model.categories[number])
    return found
