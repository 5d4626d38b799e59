"""Scores of texts, and what they say: the categories that are accepted, by name; `Categorizer` and `stream` call it."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from threading import get_ident
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from thresher.errors import NotFittedError, RowsError, ThresherError
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
    known = model.idf
    idf = known if len(known) else np.ones(rows.n_features, dtype=np.float32)
    documents = model.features.document_counts if len(known) else None
    if len(idf) < rows.n_features or (documents is not None and len(documents) < rows.n_features):
        raise RowsError(f"rows have {rows.n_features} features, and {len(idf)} have a frequency")
    constant = constant_of(model.settings)
    return weighed(rows, idf, strength, documents, constant if constant and model.features.has_constant else 0.0)


class looking:  # noqa: N801 - it is called as a function, and made for every look: a generator takes longer
    """Raise one clear error where a look fails because another thread teaches the model itself meanwhile."""

    __slots__ = ("_before", "_model")

    def __init__(self, model: "Categorizer") -> None:
        self._model, self._before = model, model.lessons

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if not isinstance(error, LookupError | TypeError | ValueError):
            return
        if isinstance(error, ThresherError) and not isinstance(error, RowsError):
            return
        model = self._model
        # In this order: a lesson that ends between the two has been counted by then.
        if is_taught_elsewhere(model) or model.lessons != self._before or model.is_torn:
            raise RowsError("another thread is teaching this model (let that thread make a view to look at)") from error


def is_taught_elsewhere(model: "Categorizer") -> bool:
    """Tell whether another thread is teaching the model at this moment."""
    return bool(model.__dict__.get("_teacher", get_ident()) != get_ident())


def scored(
    model: "Categorizer", texts: Iterable[Text], use: Callable[[Scores, Empty], Result], lazily: bool = False
) -> Iterator[Result]:
    """Yield what is made of the raw scores of batches of texts, and of which texts have no feature; on threads.

    Who asks `lazily` may teach the model between one batch and the next: then no thread looks at it.
    """
    if not model.learner.is_fitted:
        raise NotFittedError("this Categorizer has learned nothing yet (call fit, partial_fit or learn first)")

    def score(batch: list[Text]) -> list[Result]:
        with looking(model):
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
