"""Make a model smaller: drop the least important weights until its file fits a size limit."""

from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.learners.sparse_weights import LearnerWeights
from thresher.model.reservoir import Reservoir
from thresher.model.scoring import strengthen_rows
from thresher.model.state import ModelState
from thresher.model_file.header import canonical_json
from thresher.model_file.packing import pack
from thresher.support.units import parse_size

_PER_ARRAY = 150  # bytes per array in the header


class Compression(NamedTuple):
    """The cost of compressing a model.

    Parameters
    ----------
    size_before, size : int
        Bytes of the file.
    features_before, features, weights_before, weights : int
        Numbers of features and weights of the model.
    documents_before, documents : int
        Numbers of documents in the reservoir.
    agreement : float or None
        The share of unchanged decisions on the documents in the reservoir. It counts the pairs of document and category
        that were accepted before or after. None if the reservoir is empty.
    """

    size_before: int
    size: int
    features_before: int
    features: int
    weights_before: int
    weights: int
    documents_before: int
    documents: int
    agreement: float | None


def compress(model: ModelState, size: str | int) -> Compression:
    """Drop weights, the least important first, until the model's file takes at most `size`; changes the model.

    A dropped weight counts as discarded. The reservoir gets a tenth of the size, and the space that is left.
    """
    limit, size_before = parse_size(size), estimate_file_size(model)
    if size_before > limit and not model.learner.get_weights().can_discard:
        raise ParameterError.of(
            "late_start", "initial", "it keeps every weight unless features are discarded: train with {late_start=zero}"
        )
    importance = _importance(model)
    before, features_before = _decide_sampled(model), model.features.vocabulary.count
    total = int(np.count_nonzero(importance))
    low, high = 0, total
    while low < high and size_before > limit:
        middle = (low + high + 1) // 2
        fits = estimate_file_size(_trim(model, importance, middle, limit)) <= limit
        low, high = (middle, high) if fits else (low, middle - 1)
    chosen = _trim(model, importance, max(low, 1), limit) if size_before > limit else model
    if estimate_file_size(chosen) > limit:
        raise ParameterError.of("size", size, allowed=f"from {estimate_file_size(chosen)} bytes for this model")
    after = _decide_sampled(chosen, model)
    if chosen is not model:
        room = limit - estimate_file_size(chosen) + int(_estimate_sizes(chosen.reservoir).sum())
        numbers = _original_numbers(chosen, model)
        chosen.reservoir = _reduce_reservoir(model.reservoir.select_features(numbers), room * 9 // 10)
    documents = len(model.reservoir.documents)
    either = int(np.count_nonzero(before | after))
    agreement = int(np.count_nonzero(before & after)) / either if either else None
    model.__dict__.update(chosen.__dict__)
    return Compression(
        size_before=size_before,
        size=estimate_file_size(model),
        features_before=features_before,
        features=model.features.vocabulary.count,
        weights_before=total,
        weights=total if chosen is model and size_before <= limit else low,
        documents_before=documents,
        documents=len(model.reservoir.documents),
        agreement=agreement,
    )


def estimate_file_size(model: ModelState) -> int:
    """Return the approximate size of the model's file in bytes."""
    settings, arrays = pack(model)
    return sum(array.nbytes + _PER_ARRAY for array in arrays.values()) + len(canonical_json(settings)) + 500


def _importance(model: ModelState) -> NDArray[np.float64]:
    """Return how much each weight adds to scores: its size times the root of the document frequency of its feature.

    The shape is (features, categories). For a sparse model, it is one value per stored weight, by category.
    """
    roots = np.sqrt(np.maximum(model.features.document_counts, 1).astype(np.float64))
    return model.learner.get_weights().measure_importance(roots)


def _trim(model: ModelState, importance: NDArray[np.float64], count: int, limit: int) -> ModelState:
    """Return a model with only the `count` most important weights, and only the features that have one."""
    smaller, features = model.learner.get_weights().keep_important(importance, count)
    return _replace_weights(model, smaller, features, limit)


def _replace_weights(model: ModelState, weights: LearnerWeights, features: NDArray[np.int64], limit: int) -> ModelState:
    """Return a copy of the model with other weights and only some features."""
    smaller = copy(model)
    smaller.features = copy(model.features)
    smaller.features.vocabulary = model.features.vocabulary.select(features)
    smaller.features.n_documents = model.features.n_documents
    smaller.features.document_counts = model.features.document_counts[features]
    smaller.idf = model.idf[features[features < len(model.idf)]]
    smaller.reservoir = _reduce_reservoir(model.reservoir.select_features(features), limit // 10)
    smaller.learner = type(model.learner)(**model.learner.get_params()).resume(model.learner, weights)
    return smaller


def _original_numbers(smaller: ModelState, model: ModelState) -> NDArray[np.int64]:
    """Return the numbers that the features of a smaller model have in the original model."""
    known = set(smaller.features.names)
    return np.array([i for i, name in enumerate(model.features.names) if name in known], dtype=np.int64)


def _reduce_reservoir(reservoir: Reservoir, room: int) -> Reservoir:
    """Return a reservoir with as many of the documents as fit, evenly spaced."""
    sizes = _estimate_sizes(reservoir)
    count = len(sizes) if sizes.sum() <= room else int(room // max(sizes.mean(), 1))
    chosen = np.unique(np.linspace(0, len(sizes) - 1, count).astype(np.int64))
    return Reservoir([reservoir.documents[i] for i in chosen], reservoir.seen)


def _estimate_sizes(reservoir: Reservoir) -> NDArray[np.int64]:
    """Return the approximate size of each document in a model file, in bytes."""
    return np.array([8 * len(document.indices) + 40 for document in reservoir.documents], dtype=np.int64)


def _decide_sampled(model: ModelState, original: ModelState | None = None) -> NDArray[np.bool_]:
    """Return the decisions of the model on the documents in its reservoir, or in that of the `original` model."""
    reservoir = model.reservoir
    if original is not None and original is not model:
        numbers = _original_numbers(model, original)
        reservoir = original.reservoir.select_features(numbers)
    if not reservoir.documents:
        return np.zeros((0, 0), dtype=np.bool_)
    rows = reservoir.rows(model.features.vocabulary.count)
    return model.decisions.accept(model.learner.score_rows(strengthen_rows(model, rows)))
