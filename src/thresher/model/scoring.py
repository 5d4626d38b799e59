"""Score texts and decide which categories are accepted."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from thresher.datasets.document import Document
from thresher.errors import NotFittedError, ParameterError, RowsError
from thresher.kernels.csr import Rows
from thresher.kernels.dense_weights import MAX_WEIGHT
from thresher.model.predictions import Prediction, make_predictions, mark_best
from thresher.model.reservoir import SampledDocument, make_rows
from thresher.model.settings import WEIGHED
from thresher.model.state import ModelState
from thresher.model.thread_safety import reading
from thresher.rows.validation import split_rows, to_strengths
from thresher.support.parallel import map_ahead
from thresher.text.analysers import Text
from thresher.text.batches import split_texts
from thresher.text.tfidf import weigh_rows

Scores = NDArray[np.float32]
Empty = NDArray[np.bool_]
Result = TypeVar("Result")
SCORES_AT_ONCE = 2**18  # documents x categories: results of this size stay in a core's cache


def strengthen_rows(model: ModelState, rows: Rows) -> Rows:
    """Return rows of counts as rows of the strengths used in scores."""
    strength, parameters = model.settings.strength, model.settings.parameters
    if strength in WEIGHED:
        rows = _weigh_rows(model, rows)
    return to_strengths(rows, parameters.strength, parameters.normalize, checked=True)


def _weigh_rows(model: ModelState, rows: Rows) -> Rows:
    """Return rows of counts weighed by document frequencies."""
    # Before `fit`, no frequencies are known: all features count the same.
    known = model.idf
    idf = known if len(known) else np.ones(rows.n_features, dtype=np.float32)
    documents = model.features.document_counts if len(known) else None
    if len(idf) < rows.n_features or (documents is not None and len(documents) < rows.n_features):
        raise RowsError(f"rows have {rows.n_features} features, and {len(idf)} have a frequency")
    constant = model.settings.constant
    return weigh_rows(
        rows, idf, model.settings.strength, documents, constant if constant and model.features.has_constant else 0.0
    )


def score_batches(
    model: ModelState, texts: Iterable[Text], use: Callable[[Scores, Empty], Result], lazily: bool = False
) -> Iterator[Result]:
    """Yield `use(scores, empty)` for batches of texts, where `empty` marks texts without features; runs on threads.

    With `lazily`, the caller may teach the model between batches: no thread reads it in the meantime.
    """
    if not model.learner.is_fitted:
        raise NotFittedError("this Categorizer has learned nothing yet", hint="call fit, partial_fit or learn first")

    def score(batch: list[Text]) -> list[Result]:
        with reading(model):
            rows = model.features.rows(batch)
            parts = split_rows(strengthen_rows(model, rows), max(SCORES_AT_ONCE // max(len(model.categories), 1), 1))
            return [use(model.learner.score_rows(part), np.diff(part.indptr) == 0) for part in parts]

    n_threads = 1 if model.features.analyser.is_stateful else model.features.n_threads
    yield from chain.from_iterable(map_ahead(score, split_texts(texts), n_threads, in_turns=lazily))


def predict(model: ModelState, texts: Iterable[Text]) -> list[list[str]]:
    """Return the accepted categories of each text, the best first."""
    return list(chain.from_iterable(score_batches(model, texts, partial(name_accepted, model))))


def categorize(
    model: ModelState, texts: Iterable[Text], top: int | None = None, lazily: bool = True
) -> Iterator[Prediction]:
    """Yield the accepted categories of each text, or the `top` best, as the texts arrive.

    With `lazily`, the caller may teach the model between texts.
    """
    check_top(top)

    def predict_batch(scores: Scores, empty: Empty) -> list[Prediction]:
        cuts = model.decisions.cuts(scores)
        accepted = (
            apply_policy(model, scores, empty, cuts)
            if top is None
            else mark_best(model.decisions.reported_scores(scores), top)
        )
        documents, numbers = np.nonzero(accepted)
        pairs = model.decisions.scores_of_pairs(scores, documents, numbers, cuts)
        return make_predictions(model.categories, documents, numbers, *pairs, empty)

    return chain.from_iterable(score_batches(model, texts, predict_batch, lazily))


def check_top(top: int | None) -> None:
    """Raise a ParameterError if `top` is not a number of categories."""
    if top is not None and (not isinstance(top, int) or isinstance(top, bool) or top < 0):
        raise ParameterError.of("top", top, allowed="None or a whole number from 0")


def categorize_documents(
    model: ModelState, documents: Iterable[Document], top: int | None = None
) -> Iterator[tuple[Document, Prediction]]:
    """Yield each document with its prediction. Documents are scored ahead, so do not teach the model meanwhile."""
    waiting: deque[Document] = deque()

    def contents() -> Iterator[Text]:
        for document in documents:
            waiting.append(document)
            yield document.content

    for prediction in categorize(model, contents(), top, lazily=False):
        yield waiting.popleft(), prediction


def decide(model: ModelState, texts: Iterable[Text]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the reported scores of texts and the accepted categories, both with the shape (texts, categories)."""

    def decide_batch(scores: Scores, empty: Empty) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        return model.decisions.reported_scores(scores), apply_policy(model, scores, empty)

    nothing = np.zeros((0, len(model.categories)))
    batched = [(nothing, nothing.astype(np.bool_)), *score_batches(model, texts, decide_batch)]
    scores, accepted = zip(*batched, strict=True)
    return np.concatenate(scores), np.concatenate(accepted)


def decide_sampled(
    model: ModelState, documents: list[SampledDocument]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the same as `decide` for documents of a `Reservoir`."""
    with reading(model):
        rows = make_rows(documents, model.features.vocabulary.count)
        scores = model.learner.score_rows(strengthen_rows(model, rows))
        return model.decisions.reported_scores(scores), apply_policy(model, scores, np.diff(rows.indptr) == 0)


def are_empty(model: ModelState, texts: Iterable[Text]) -> NDArray[np.bool_]:
    """Return which texts have no feature that the model knows."""
    parts = [np.diff(model.features.rows(batch).indptr) == 0 for batch in split_texts(texts)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.bool_)


def apply_policy(
    model: ModelState, scores: Scores, empty: Empty, cuts: NDArray[np.float64] | None = None
) -> NDArray[np.bool_]:
    """Return what the policy accepts: nothing for texts without features, no late category below its threshold.

    A category added after `fit` has a threshold that was not tuned with the others, so its rank means little.
    """
    if 0 < len(model.learner.n_passes_) < scores.shape[1]:
        late = np.arange(scores.shape[1]) >= len(model.learner.n_passes_)
        scores = np.where(late & (scores <= model.decisions.thresholds), np.float32(-MAX_WEIGHT), scores)
    accepted = model.decisions.accept(scores, cuts)
    accepted[empty] = False
    return accepted


def name_accepted(model: ModelState, scores: Scores, empty: Empty) -> list[list[str]]:
    """Return the names of the accepted categories of each row of scores, the best first."""
    cuts = model.decisions.cuts(scores)
    accepted = apply_policy(model, scores, empty, cuts)
    documents, numbers = np.divmod(np.flatnonzero(accepted), accepted.shape[1])
    reached = cuts[numbers] if cuts.ndim == 1 else cuts[documents, numbers]
    best = np.lexsort((reached - scores[documents, numbers], documents))
    named: list[list[str]] = [[] for _ in range(len(scores))]
    for document, number in zip(documents.tolist(), numbers[best].tolist(), strict=True):
        named[document].append(model.categories[number])
    return named
