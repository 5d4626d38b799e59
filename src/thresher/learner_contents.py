"""What a model file holds of a learner, and the checks of its sense when it comes back; `contents` calls it.

Only weights that differ from the start are kept, and for each category the features that weigh nothing as bits. A model
that keeps only the weights of features that were met has no such bits.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.content_checks import Arrays, are_counts, are_within, require, stops_of
from thresher.kernels.weights import DISCARDED, LARGEST_WEIGHT, LATE, Weights
from thresher.learners import Perceptron
from thresher.learners.blocks import Blocks, Matrices, Start
from thresher.learners.learner import MistakeDrivenLearner
from thresher.learners.listed_weights import Entries, ListedWeights


def pack_learner(learner: MistakeDrivenLearner) -> Arrays:
    """Return the arrays of a learner: its weights, and its counts of examples, passes and mistakes."""
    blocks = learner._fitted()
    return (_pack_listed(blocks) if isinstance(blocks, ListedWeights) else _pack_blocks(blocks)) | {
        "learner.positives": learner.positives_,
        "learner.mistakes": learner.mistakes_,
        "learner.passes": learner.n_passes_.astype(np.int64),
        "learner.online_mistakes": learner.online_mistakes_,
    }


def _pack_listed(weights: ListedWeights) -> Arrays:
    entries = weights.entries()
    arrays: Arrays = {
        "weights.stops": np.cumsum(np.bincount(entries.categories, minlength=weights.n_categories)),
        "weights.features": entries.features,
        "learner.examples": weights.examples,
    }
    for name in _kept_arrays(weights.start.balanced, weights.start.average):
        arrays[f"weights.{name}"] = getattr(entries, name)
    return arrays


def _pack_blocks(blocks: Blocks) -> Arrays:
    matrices = blocks.matrices(list(range(blocks.n_categories)))
    weights, start = matrices.weights, blocks.start
    absent = weights.absent if len(weights.absent) else np.zeros(weights.weight.shape, dtype=np.uint8)
    changed = (absent == 0) & (weights.weight != start.positive - start.negative)
    if start.balanced:
        changed |= (absent == 0) & ((weights.positive != start.positive) | (weights.negative != start.negative))
    if start.average:
        changed |= weights.moment != 0
    categories, features = np.nonzero(changed.T)
    arrays: Arrays = {
        "weights.stops": np.cumsum(np.bincount(categories, minlength=blocks.n_categories)),
        "weights.features": features.astype(np.int32),
        "weights.discarded": np.packbits(absent == DISCARDED),
        "weights.late": np.packbits(absent == LATE),
        "learner.examples": matrices.examples,
    }
    for name in _kept_arrays(start.balanced, start.average):
        arrays[f"weights.{name}"] = getattr(weights, name)[features, categories]
    return arrays


def _kept_arrays(balanced: bool, average: bool) -> list[str]:
    return (["positive", "negative"] if balanced else ["weight"]) + (["moment"] if average else [])


def unpack_learner(
    learner: MistakeDrivenLearner, arrays: Arrays, n_features: int, n_categories: int, sparse: bool
) -> None:
    """Fill a new learner, whose average number of active features is known, with what was packed."""
    start = learner._start(learner.average_active_)
    features = arrays["weights.features"]
    stops = stops_of(arrays, "weights", len(features))
    require(
        len(stops) == n_categories and are_within(features, n_features), "weights and categories do not fit together"
    )
    categories = np.repeat(np.arange(n_categories), np.diff(stops, prepend=0))
    examples = _counts(arrays, "examples", n_categories)
    for name in _kept_arrays(start.balanced, start.average):
        # A mean weight, which a moment is divided by the examples for, is no larger than weights may be.
        largest = 4 * float(LARGEST_WEIGHT) * examples[categories] if name == "moment" else LARGEST_WEIGHT
        _check_weights(name, arrays, largest, signed=name == "moment" or isinstance(learner, Perceptron))
    _unpack_counts(learner, arrays, n_categories)
    if sparse:
        learner._blocks = _listed(start, arrays, categories.astype(np.int32), examples, n_features)
    else:
        matrices = Matrices(_unpack_matrices(start, arrays, categories, n_features, n_categories), examples)
        learner._blocks = Blocks.from_matrices(start, matrices, learner.block_width)


def _check_weights(name: str, arrays: Arrays, largest: Any, signed: bool) -> None:
    values, kind = arrays[f"weights.{name}"], np.float64 if name == "moment" else np.float32
    same = values.dtype == kind and values.shape == arrays["weights.features"].shape
    require(same, f"weights.{name} has the wrong shape")
    require(np.isfinite(values).all(), f"weights.{name} holds NaN or infinity")
    require((np.abs(values) <= largest).all(), f"weights.{name} is out of range")
    require(signed or (values > 0).all(), f"weights.{name} holds a negative weight, and Winnow has none")


def _listed(
    start: Start, arrays: Arrays, categories: NDArray[np.int32], examples: NDArray[np.int64], n_features: int
) -> ListedWeights:
    features, none = arrays["weights.features"], np.zeros(0, dtype=np.float32)
    own = np.diff(categories) == 0
    require((np.diff(features)[own] > 0).all(), "the weights of a category are out of order")
    kept = {name: arrays[f"weights.{name}"] for name in _kept_arrays(start.balanced, start.average)}
    positive, negative = kept.get("positive", none), kept.get("negative", none)
    weight = positive - negative if start.balanced else kept["weight"]
    moment = kept.get("moment", none.astype(np.float64))
    return ListedWeights(start, n_features, examples, Entries(categories, features, weight, positive, negative, moment))


def _unpack_matrices(
    start: Start, arrays: Arrays, categories: NDArray[np.int64], n_features: int, n_categories: int
) -> Weights:
    features = arrays["weights.features"]
    discarded, late = (_bits(arrays[f"weights.{name}"], n_features, n_categories) for name in ("discarded", "late"))
    blank = Blocks(start, n_features, n_categories).matrices(list(range(n_categories)))
    weights = blank.weights
    for name in _kept_arrays(start.balanced, start.average):
        getattr(weights, name)[features, categories] = arrays[f"weights.{name}"]
    if start.balanced:
        weights.weight[...] = weights.positive - weights.negative
    if len(weights.absent):
        weights.absent[discarded], weights.absent[late] = DISCARDED, LATE
    else:
        require(not discarded.any() and not late.any(), "features are dropped that cannot be")
    weights.weight[discarded | late] = 0
    return weights


def _unpack_counts(learner: Any, arrays: Arrays, n_categories: int) -> None:
    learner.positives_ = _counts(arrays, "positives", n_categories)
    learner.online_mistakes_ = _counts(arrays, "online_mistakes", n_categories)
    passes, mistakes = arrays["learner.passes"], arrays["learner.mistakes"]
    require(are_counts(passes) and are_counts(mistakes), "passes or mistakes are not numbers from 0")
    require(len(passes) <= n_categories, "passes and categories differ in number")
    require(mistakes.shape[1] == len(passes), "mistakes and passes differ in number")
    learner.n_passes_, learner.mistakes_ = passes, mistakes


def _counts(arrays: Arrays, name: str, n_categories: int) -> NDArray[np.int64]:
    counts = arrays[f"learner.{name}"]
    require(counts.shape == (n_categories,), f"learner.{name} has the wrong shape")
    require(are_counts(counts), f"learner.{name} holds what is no count")
    return counts


def _bits(packed: NDArray[np.uint8], n_features: int, n_categories: int) -> NDArray[np.bool_]:
    size = n_features * n_categories
    require(
        packed.dtype == np.uint8 and len(packed) == -(-size // 8), "the bits of absent features are too few or many"
    )
    return np.unpackbits(packed, count=size).astype(np.bool_).reshape(n_features, n_categories)
