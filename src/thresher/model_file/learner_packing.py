"""Convert a learner to the arrays of a model file, and check and restore it when the file is read.

Only weights that differ from their start value are stored, and for each category the absent features as bits. A sparse
model, which stores only the weights of features that it has met, has no such bits.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.dense_weights import DISCARDED, LATE, MAX_WEIGHT, Weights
from thresher.learners import Perceptron
from thresher.learners.base import MistakeDrivenLearner
from thresher.learners.dense_weights import DenseWeights, Start
from thresher.learners.sparse_weights import Entries, SparseWeights
from thresher.model_file.checks import Arrays, require
from thresher.support.memory import require_memory
from thresher.support.units import measure_machine_memory

_SPARE = 2**22  # bytes
_CELLS_AT_ONCE = 2**20  # features x categories whose bits are unpacked at once


def pack_learner(learner: MistakeDrivenLearner) -> Arrays:
    """Return the arrays of a learner: its weights, and its counts of examples, passes and mistakes."""
    blocks = learner.get_weights()
    return (_pack_sparse(blocks) if isinstance(blocks, SparseWeights) else _pack_dense(blocks)) | {
        "learner.positives": learner.positives_,
        "learner.mistakes": learner.mistakes_,
        "learner.passes": learner.n_passes_.astype(np.int64),
        "learner.online_mistakes": learner.online_mistakes_,
    }


def _pack_sparse(weights: SparseWeights) -> Arrays:
    entries = weights.entries()
    arrays: Arrays = {
        "weights.stops": np.cumsum(np.bincount(entries.categories, minlength=weights.n_categories)),
        "weights.features": entries.features,
        "learner.examples": weights.examples,
    }
    for name in _list_arrays(weights.start.balanced, weights.start.average):
        arrays[f"weights.{name}"] = getattr(entries, name)
    return arrays


def _pack_dense(blocks: DenseWeights) -> Arrays:
    start, kept = blocks.start, _list_arrays(blocks.start.balanced, blocks.start.average)
    counts, parts = np.zeros(blocks.n_categories, dtype=np.int64), list[list[NDArray[Any]]]()
    for block, categories in _iterate_blocks(blocks):
        own = Weights._make(array[block, : blocks.n_features] for array in blocks.weights)
        lanes, features = np.nonzero(_find_changed(start, own)[:, : len(categories)].T)
        counts[categories] = np.bincount(lanes, minlength=len(categories))
        parts.append([features.astype(np.int32), *(getattr(own, name)[features, lanes] for name in kept)])
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    names = [f"weights.{name}" for name in ("features", *kept)]
    return dict(zip(names, columns, strict=True)) | {
        "weights.stops": np.cumsum(counts),
        "weights.discarded": _pack_bits(blocks, DISCARDED),
        "weights.late": _pack_bits(blocks, LATE),
        "learner.examples": blocks.flatten_lanes(blocks.examples).copy(),
    }


def _iterate_blocks(blocks: DenseWeights) -> Iterator[tuple[int, range]]:
    """Yield each block with its categories."""
    for block in range(len(blocks.examples)):
        first = block * blocks.width
        yield block, range(first, max(first, min(first + blocks.width, blocks.n_categories)))


def _find_changed(start: Start, own: Weights) -> NDArray[np.bool_]:
    """Return which weights of a block differ from their start values, as an array (features, lanes)."""
    changed = own.weight != start.positive - start.negative
    if start.balanced:
        changed |= (own.positive != start.positive) | (own.negative != start.negative)
    if len(own.absent):
        changed &= own.absent == 0
    if start.average:
        changed |= own.moment != 0
    return np.asarray(changed)


def _pack_bits(blocks: DenseWeights, kind: int) -> NDArray[np.uint8]:
    """Return which features are absent in one way (`kind`), features x categories, as bits."""
    n_features, n_categories = blocks.n_features, blocks.n_categories
    if not blocks.weights.absent.shape[1]:
        return np.zeros(-(-n_features * n_categories // 8), dtype=np.uint8)
    parts = [np.zeros(0, dtype=np.uint8)]
    for some in _slice_features(n_features, n_categories):
        require_memory(_SPARE)  # the comparison of arrays below would crash without
        absent = blocks.weights.absent[:, some].transpose(1, 0, 2).reshape(some.stop - some.start, -1)
        parts.append(np.packbits(absent[:, :n_categories] == kind))
    return np.concatenate(parts)


def _slice_features(n_features: int, n_categories: int) -> Iterator[slice]:
    """Yield slices of features whose bits begin at whole bytes and need little memory."""
    size = 8 * max(_CELLS_AT_ONCE // max(8 * n_categories, 1), 1)
    for first in range(0, n_features, size):
        yield slice(first, min(first + size, n_features))


def _list_arrays(balanced: bool, average: bool) -> list[str]:
    return (["positive", "negative"] if balanced else ["weight"]) + (["moment"] if average else [])


def unpack_learner(
    learner: MistakeDrivenLearner, arrays: Arrays, n_features: int, n_categories: int, sparse: bool
) -> None:
    """Fill a new learner, whose average number of active features is known, with the packed arrays."""
    start = learner.start_weights(learner.average_active_)
    stops, examples = arrays["weights.stops"], arrays["learner.examples"]
    categories = np.repeat(np.arange(n_categories, dtype=np.int32), np.diff(stops, prepend=0))
    for name in _list_arrays(start.balanced, start.average):
        # A moment divided by the number of examples gives a mean weight, within the limits of weights.
        largest = 4 * float(MAX_WEIGHT) * examples[categories] if name == "moment" else MAX_WEIGHT
        _check_weights(name, arrays, largest, signed=name == "moment" or isinstance(learner, Perceptron))
    _unpack_counts(learner, arrays, n_categories)
    if sparse:
        learner.take_weights(_unpack_sparse(start, arrays, categories, examples, n_features))
        return
    blocks = _unpack_dense(start, arrays, stops, n_features, n_categories, learner.block_width)
    blocks.examples.reshape(-1)[:n_categories] = examples
    learner.take_weights(blocks)


def _check_weights(name: str, arrays: Arrays, largest: Any, signed: bool) -> None:
    values = arrays[f"weights.{name}"]
    require((np.abs(values) <= largest).all(), f"weights.{name} holds NaN or a value out of range")
    require(signed or (values > 0).all(), f"weights.{name} holds a negative weight, and Winnow has none")


def _unpack_sparse(
    start: Start, arrays: Arrays, categories: NDArray[np.int32], examples: NDArray[np.int64], n_features: int
) -> SparseWeights:
    features, none = arrays["weights.features"], np.zeros(0, dtype=np.float32)
    own = np.diff(categories) == 0
    require((np.diff(features)[own] > 0).all(), "the weights of a category are out of order")
    kept = {name: arrays[f"weights.{name}"] for name in _list_arrays(start.balanced, start.average)}
    positive, negative = kept.get("positive", none), kept.get("negative", none)
    weight = positive - negative if start.balanced else kept["weight"]
    moment = kept.get("moment", none.astype(np.float64))
    return SparseWeights(start, n_features, examples, Entries(categories, features, weight, positive, negative, moment))


def _unpack_dense(
    start: Start, arrays: Arrays, stops: NDArray[np.int64], n_features: int, n_categories: int, width: int | None
) -> DenseWeights:
    """Return the weights, unpacked block by block, so that little extra memory is needed."""
    size = -(-n_features * n_categories // 8)
    for name in ("discarded", "late"):
        require(len(arrays[f"weights.{name}"]) == size, f"weights.{name} has the wrong length")
    _check_memory(start, n_features, n_categories)
    blocks = DenseWeights(start, n_features, n_categories, width)
    for name, kind in (("discarded", DISCARDED), ("late", LATE)):
        _unpack_bits(blocks, arrays[f"weights.{name}"], kind)
    starts = np.append(0, stops)
    for block, categories in _iterate_blocks(blocks):
        some = slice(starts[categories.start], starts[categories.stop])
        lanes = np.repeat(np.arange(len(categories)), np.diff(starts[categories.start : categories.stop + 1]))
        own = Weights._make(array[block] for array in blocks.weights)
        for name in _list_arrays(start.balanced, start.average):
            getattr(own, name)[arrays["weights.features"][some], lanes] = arrays[f"weights.{name}"][some]
        if start.balanced:
            np.subtract(own.positive, own.negative, out=own.weight)
        if len(own.absent):
            own.weight[own.absent != 0] = 0
    return blocks


def _unpack_bits(blocks: DenseWeights, bits: NDArray[np.uint8], kind: int) -> None:
    """Mark the features that are absent in one way (`kind`)."""
    n_features, n_categories, absent = blocks.n_features, blocks.n_categories, blocks.weights.absent
    if not absent.shape[1]:
        require(not bits.any(), "features are absent although this learner keeps all")
        return
    for some in _slice_features(n_features, n_categories):
        shape = some.stop - some.start, n_categories
        first, count = some.start * n_categories // 8, shape[0] * shape[1]
        found = np.unpackbits(bits[first : first + -(-count // 8)], count=count).reshape(shape)
        for block, categories in _iterate_blocks(blocks):
            own = absent[block, some, : len(categories)]
            own[found[:, categories.start : categories.stop] != 0] = kind


def _check_memory(start: Start, n_features: int, n_categories: int) -> None:
    """Refuse weights that do not fit in this machine's memory, before any is allocated."""
    each = 4 + 8 * start.balanced + (start.discard or start.late_zero) + 8 * start.average
    needed, most = n_features * max(n_categories, 1) * each, measure_machine_memory()
    require(needed <= most, f"its weights take {needed / 1e9:,.1f} GB, and there are {most / 1e9:,.1f} GB of memory")


def _unpack_counts(learner: Any, arrays: Arrays, n_categories: int) -> None:
    learner.positives_, learner.online_mistakes_ = arrays["learner.positives"], arrays["learner.online_mistakes"]
    passes, mistakes = arrays["learner.passes"], arrays["learner.mistakes"]
    require(len(passes) <= n_categories, "there are more passes than categories")
    require(mistakes.shape[1] == len(passes), "learner.mistakes and learner.passes differ in length")
    learner.n_passes_, learner.mistakes_ = passes, mistakes
