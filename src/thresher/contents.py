"""What a model file holds of a `Categorizer`: settings and arrays, and the checks of their sense when they come back.

Only weights that differ from the start are kept, and for each category the features that weigh nothing as bits. A model
that keeps only the weights of features that were met has no such bits.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher.category_names import check_name
from thresher.choices import Trial
from thresher.decisions import Decisions
from thresher.errors import ModelFileError, ThresherError, printable
from thresher.kernels.weights import DISCARDED, LARGEST_WEIGHT, LATE, Weights
from thresher.learners.blocks import Blocks, Matrices, Start
from thresher.learners.learner import MistakeDrivenLearner
from thresher.learners.listed_weights import Entries, ListedWeights
from thresher.model_header import canonical_json
from thresher.reservoir import Kept, Reservoir
from thresher.settings import CHOOSABLE, check_settings, new_features, new_learner, sized
from thresher.text.analysers import Analyser
from thresher.text.strengths import IDF_RANGE, WEIGHED
from thresher.text.tokens import names
from thresher.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer

Arrays = dict[str, NDArray[Any]]
# Where a model runs, not what it is, is left out of the file and of the digest; how settings are chosen stands apart.
UNSTORED = ("n_threads", "block_width", "choose", "memory")
# Settings that older files do not have, with what they mean there; so files with these values are as they were.
LATER: dict[str, Any] = {"bias": 0.0, "sparse": None}
_LONGEST_LINE = 600
MOST_COUNTED = 2**53  # what a count stays below, so that a model may go on counting and adding up


def pack(model: "Categorizer") -> tuple[dict[str, Any], Arrays]:
    """Return a model's settings, as JSON has them, and its arrays."""
    packed = {
        "preset": model.preset,
        "settings": _pack_settings(model.settings),
        "policy": model.decisions.policy,
        "fitted": model.learner.is_fitted,
        "average_active": float(model.learner.average_active_) if model.learner.is_fitted else 0.0,
        "n_documents": model.features.n_documents,
        "documents_seen": model.reservoir.seen,
    }
    if model.settings["choose"] != "nothing":
        trials = [list(trial) for trial in model.trials]
        how = {"choose": model.settings["choose"], "given": sorted(model.given)}
        packed["choices"] = how | {"chosen": model.chosen, "trials": trials}
    arrays: Arrays = {
        "features.letters": model.features.vocabulary.letters,
        "features.stops": model.features.vocabulary.stops,
        "features.documents": model.features.document_counts.astype(np.int64),
        "features.idf": model.idf,
        "decisions.thresholds": model.decisions.thresholds,
        "decisions.slopes": model.decisions.slopes,
    }
    if model.decisions.rivalry.any():
        arrays["decisions.rivalry"] = model.decisions.rivalry
    arrays |= _pack_names("categories", model.categories)
    arrays |= _pack_reservoir(model.reservoir)
    if model.learner.is_fitted:
        arrays |= _pack_learner(model.learner)
        if isinstance(model.learner._fitted(), ListedWeights):
            packed["sparse"] = True
    return packed, arrays


def _pack_settings(settings: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in settings.items() if name not in UNSTORED}
    kept["analyser"] = Analyser(settings["analyser"]).name
    kept |= {name: _pair(settings[name]) for name in ("threshold_range", "discard_range")}
    return {name: value for name, value in kept.items() if name not in LATER or value != LATER[name]}


def _pack_learner(learner: MistakeDrivenLearner) -> Arrays:
    blocks = learner._fitted()
    return (_pack_listed(blocks) if isinstance(blocks, ListedWeights) else _pack_blocks(blocks)) | {
        "learner.positives": learner.positives_,
        "learner.mistakes": learner.mistakes_,
        "learner.passes": learner.n_passes_.astype(np.int64),
        "learner.online_mistakes": learner.online_mistakes_,
    }


def _pair(value: Any) -> Any:
    return [float(value[0]), float(value[1])] if isinstance(value, tuple | list) else value


def _pack_names(name: str, texts: list[str]) -> Arrays:
    encoded = [text.encode() for text in texts]
    stops = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {f"{name}.letters": np.frombuffer(b"".join(encoded), dtype=np.uint8), f"{name}.stops": stops}


def _pack_reservoir(reservoir: Reservoir) -> Arrays:
    documents = reservoir.documents
    labels = [sorted(document.categories) for document in documents]
    none_of = np.zeros(0, dtype=np.int32)
    return {
        "reservoir.stops": np.cumsum([len(document.indices) for document in documents], dtype=np.int64),
        "reservoir.features": np.concatenate([none_of, *(document.indices for document in documents)]),
        "reservoir.counts": np.concatenate([np.zeros(0, np.float32), *(document.counts for document in documents)]),
        "reservoir.label_stops": np.cumsum([len(row) for row in labels], dtype=np.int64),
        "reservoir.labels": np.array([c for row in labels for c in row], dtype=np.int32),
        "reservoir.complete": np.array([document.complete for document in documents], dtype=np.bool_),
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


@contextmanager
def one_line_refusals(path: str | PathLike[str]) -> Iterator[None]:
    """Turn whatever contents without sense lead to into a ModelFileError that begins with the path."""
    try:
        yield
    except (KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        what = _line(f"{type(error).__name__}: {error}")
        raise ModelFileError(f"{path}: the contents are not those of a model ({what})") from None
    except (ThresherError, ValueError) as error:
        raise ModelFileError(f"{path}: {_line(str(error))}") from None


def _line(said: str) -> str:
    """Return what was said, which may quote the file, in one line of bearable length."""
    return printable(said.partition("\n")[0][:_LONGEST_LINE])


def unpack_settings(packed: Mapping[str, Any], analyser: Any = None) -> dict[str, Any]:
    """Return the settings of a model that was packed, its preset among them.

    `analyser` takes the place of one that was a function of the user's, which a file cannot hold.
    """
    settings = LATER | dict(packed["settings"])
    settings["threshold_range"] = _tuple(settings["threshold_range"])
    settings["discard_range"] = _tuple(settings["discard_range"])
    if "(" in settings["analyser"] and analyser is None:
        raise ModelFileError(f"the analyser {settings['analyser']} is a function (load with analyser=...)")
    if analyser is not None:
        name = Analyser(analyser).name
        _require(name == settings["analyser"], f"the analyser {name} is not the model's, {settings['analyser']}")
        settings["analyser"] = analyser
    how = packed["choices"]["choose"] if "choices" in packed else "nothing"
    return settings | {"preset": packed["preset"], "choose": how}


def unpack(packed: Mapping[str, Any], arrays: Arrays, model: "Categorizer") -> None:
    """Fill a new model with what was packed, after checking that it makes sense together."""
    for name, array in arrays.items():
        _require(array.ndim == (2 if name == "learner.mistakes" else 1), f"{name} has {array.ndim} dimensions")
    if "choices" in packed:
        _unpack_choices(model, packed["choices"])
    _unpack_features(model, packed, arrays)
    model.categories = names(arrays["categories.letters"], _stops(arrays, "categories"))
    for name in model.categories:
        check_name(name)
    _require(len(set(model.categories)) == len(model.categories), "two categories have the same name")
    thresholds, slopes = arrays["decisions.thresholds"], arrays["decisions.slopes"]
    rivalry = arrays.get("decisions.rivalry", np.zeros(len(thresholds)))
    numbers = {array.dtype for array in (thresholds, slopes, rivalry)} == {np.dtype(np.float64)}
    _require(numbers, "thresholds, slopes or rivalry are not numbers")
    model.decisions = Decisions(thresholds, slopes, rivalry, packed["policy"])
    _require(len(model.decisions.thresholds) == len(model.categories), "thresholds and categories differ in number")
    model.reservoir = _unpack_reservoir(arrays, int(packed["documents_seen"]), model)
    if packed["fitted"] is True:
        _unpack_learner(model, packed, arrays)
    else:
        _require(packed["fitted"] is False, "whether it has weights is neither true nor false")


def _unpack_choices(model: "Categorizer", packed: Mapping[str, Any]) -> None:
    given, chosen, trials = packed["given"], packed["chosen"], packed["trials"]
    _require(isinstance(given, list) and set(given) <= CHOOSABLE, "the settings given are not such as may be chosen")
    _require(isinstance(chosen, dict) and chosen.keys() <= CHOOSABLE, "a setting was chosen that may not be")
    _require(isinstance(trials, list) and len(trials) % 2 == 0 and all(map(_is_trial, trials)), "a trial is no trial")
    check_settings(model.settings | chosen)
    model.given, model.chosen = frozenset(given), chosen
    model.trials = [Trial(*trial) for trial in trials]
    model.features = new_features(model.settings | chosen)


def _is_trial(trial: Any) -> bool:
    settings, right, documents, chosen = trial
    known = isinstance(settings, dict) and settings.keys() <= CHOOSABLE
    scalar = known and all(isinstance(value, str | int | float) for value in settings.values())
    number = isinstance(right, float) and 0 <= right <= 1 and type(documents) is int and documents >= 0
    return bool(scalar and number and isinstance(chosen, bool))


def check_same(packed: Mapping[str, Any], arrays: Arrays, model: "Categorizer") -> None:
    """Refuse contents that are not what the model made of them would be saved as: too much, or of another kind."""
    again, own = pack(model)
    stored = dict(packed["settings"]) | {"analyser": again["settings"]["analyser"]}
    _require(
        canonical_json(again | {"settings": stored}) == canonical_json(dict(packed)), "the settings are not a model's"
    )
    _require(own.keys() == arrays.keys(), "the arrays are not those of a model")
    for name, array in own.items():
        same = array.dtype == arrays[name].dtype and array.shape == arrays[name].shape
        _require(same and array.tobytes() == arrays[name].tobytes(), f"{name} is not what a model would hold")


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _require(fact: Any, otherwise: str) -> None:
    if not fact:
        raise ModelFileError(otherwise)


def _stops(arrays: Arrays, name: str, total: int | None = None) -> NDArray[np.int64]:
    """Return checked ends: increasing, the last one at the end of what they cut."""
    stops = arrays[f"{name}.stops"]
    if total is None:
        letters = arrays[f"{name}.letters"]
        _require(letters.dtype == np.uint8, f"{name}.letters is not a list of letters")
        total = len(letters)
    _require(stops.dtype == np.int64, f"{name}.stops is not a list of places")
    ordered = len(stops) == 0 or (stops[0] >= 0 and np.all(stops[1:] >= stops[:-1]))
    _require(ordered, f"{name}.stops is negative or decreases")
    _require((stops[-1] if len(stops) else 0) == total, f"{name}.stops does not end where its letters do")
    return stops


def _unpack_features(model: "Categorizer", packed: Mapping[str, Any], arrays: Arrays) -> None:
    letters, stops = arrays["features.letters"], _stops(arrays, "features")
    found = names(letters, stops)
    _require(len(set(found)) == len(found), "two features have the same name")
    model.features.vocabulary = Vocabulary.from_names(letters, stops, model.features.vocabulary.most)
    model.features.n_documents = int(packed["n_documents"])
    model.features.document_counts = arrays["features.documents"]
    model.idf = arrays["features.idf"]
    _require(
        0 <= packed["n_documents"] <= packed["documents_seen"] < MOST_COUNTED,
        "the numbers of documents are out of range",
    )
    counts = model.features.document_counts
    _require(_are_counts(counts), "the documents of a feature are not a number")
    _require(bool((counts <= packed["n_documents"]).all()), "a feature is in more documents than there were")
    _require(len(model.features.document_counts) == len(stops), "features and their documents differ in number")
    fitted = model.settings["strength"] in WEIGHED and packed["n_documents"] > 0
    _require(len(model.idf) == (len(stops) if fitted else 0), "features and their idf differ in number")
    _require(_are_between(model.idf, *IDF_RANGE), "an idf is out of range")


def _unpack_reservoir(arrays: Arrays, seen: int, model: "Categorizer") -> Reservoir:
    features, counts, labels = (arrays[f"reservoir.{name}"] for name in ("features", "counts", "labels"))
    stops = _stops(arrays, "reservoir", len(features))
    label_stops = _stops({"l.stops": arrays["reservoir.label_stops"]}, "l", len(labels))
    _require(len(counts) == len(features) and len(label_stops) == len(stops), "the documents kept do not fit together")
    _require(_within(features, model.features.vocabulary.count), "a document kept has an unknown feature")
    _require(_within(labels, len(model.categories)), "a document kept has an unknown category")
    _require(_are_between(counts, 1, 2**31), "a count of a document kept is out of range")
    complete = arrays["reservoir.complete"]
    _require(complete.dtype == np.bool_ and complete.shape == stops.shape, "the documents kept do not fit together")
    starts, label_starts = np.append(0, stops), np.append(0, label_stops)
    documents = []
    for i in range(len(stops)):
        own, judged = slice(starts[i], stops[i]), slice(label_starts[i], label_stops[i])
        _require((np.diff(features[own]) > 0).all(), "a document kept has features out of order")
        documents.append(Kept(features[own], counts[own], frozenset(labels[judged].tolist()), bool(complete[i])))
    _require(len(documents) <= seen, "more documents are kept than were seen")
    return Reservoir(documents, seen)


def _are_between(numbers: NDArray[Any], low: float, high: float) -> bool:
    return numbers.dtype == np.float32 and bool(((numbers >= low) & (numbers <= high)).all())


def _within(numbers: NDArray[Any], count: int) -> bool:
    return numbers.dtype == np.int32 and (len(numbers) == 0 or bool(0 <= numbers.min() <= numbers.max() < count))


def _unpack_learner(model: "Categorizer", packed: Mapping[str, Any], arrays: Arrays) -> None:
    n_features, n_categories = model.features.vocabulary.count, len(model.categories)
    sparse = packed.get("sparse", False)
    _require(isinstance(sparse, bool), "sparse is neither true nor false")
    learner = new_learner(sized(model.settings | model.chosen | {"sparse": sparse}, n_features, n_categories))
    learner.average_active_ = float(packed["average_active"])
    _require(1e-6 < learner.average_active_ <= 1e9, "the average number of active features is out of range")
    start = learner._start(learner.average_active_)
    features = arrays["weights.features"]
    stops = _stops(arrays, "weights", len(features))
    _require(len(stops) == n_categories and _within(features, n_features), "weights and categories do not fit together")
    categories = np.repeat(np.arange(n_categories), np.diff(stops, prepend=0))
    examples = _counts(arrays, "examples", n_categories)
    for name in _kept_arrays(start.balanced, start.average):
        # A mean weight, which a moment is divided by the examples for, is no larger than weights may be.
        largest = 4 * float(LARGEST_WEIGHT) * examples[categories] if name == "moment" else LARGEST_WEIGHT
        _check_weights(model, name, arrays, largest)
    _unpack_counts(learner, arrays, n_categories)
    if sparse:
        learner._blocks = _listed(start, arrays, categories.astype(np.int32), examples, n_features)
    else:
        matrices = Matrices(_unpack_matrices(start, arrays, categories, n_features, n_categories), examples)
        learner._blocks = Blocks.from_matrices(start, matrices, learner.block_width)
    model.learner = learner


def _check_weights(model: "Categorizer", name: str, arrays: Arrays, largest: Any) -> None:
    values, kind = arrays[f"weights.{name}"], np.float64 if name == "moment" else np.float32
    same = values.dtype == kind and values.shape == arrays["weights.features"].shape
    _require(same, f"weights.{name} has the wrong shape")
    _require(np.isfinite(values).all(), f"weights.{name} holds NaN or infinity")
    _require((np.abs(values) <= largest).all(), f"weights.{name} is out of range")
    signed = name == "moment" or model.settings["learner"] == "perceptron"
    _require(signed or (values > 0).all(), f"weights.{name} holds a negative weight, and Winnow has none")


def _listed(
    start: Start, arrays: Arrays, categories: NDArray[np.int32], examples: NDArray[np.int64], n_features: int
) -> ListedWeights:
    features, none = arrays["weights.features"], np.zeros(0, dtype=np.float32)
    own = np.diff(categories) == 0
    _require((np.diff(features)[own] > 0).all(), "the weights of a category are out of order")
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
        _require(not discarded.any() and not late.any(), "features are dropped that cannot be")
    weights.weight[discarded | late] = 0
    return weights


def _unpack_counts(learner: Any, arrays: Arrays, n_categories: int) -> None:
    learner.positives_ = _counts(arrays, "positives", n_categories)
    learner.online_mistakes_ = _counts(arrays, "online_mistakes", n_categories)
    passes, mistakes = arrays["learner.passes"], arrays["learner.mistakes"]
    _require(_are_counts(passes) and _are_counts(mistakes), "passes or mistakes are not numbers from 0")
    _require(len(passes) <= n_categories, "passes and categories differ in number")
    _require(mistakes.shape[1] == len(passes), "mistakes and passes differ in number")
    learner.n_passes_, learner.mistakes_ = passes, mistakes


def _counts(arrays: Arrays, name: str, n_categories: int) -> NDArray[np.int64]:
    counts = arrays[f"learner.{name}"]
    _require(counts.shape == (n_categories,), f"learner.{name} has the wrong shape")
    _require(_are_counts(counts), f"learner.{name} holds what is no count")
    return counts


def _are_counts(counts: NDArray[Any]) -> bool:
    return counts.dtype == np.int64 and bool(((counts >= 0) & (counts < MOST_COUNTED)).all())


def _bits(packed: NDArray[np.uint8], n_features: int, n_categories: int) -> NDArray[np.bool_]:
    size = n_features * n_categories
    _require(
        packed.dtype == np.uint8 and len(packed) == -(-size // 8), "the bits of absent features are too few or many"
    )
    return np.unpackbits(packed, count=size).astype(np.bool_).reshape(n_features, n_categories)
