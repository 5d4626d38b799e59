"""What a model file holds of a `Categorizer`: settings and arrays, and checks of their sense when they come back."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher.category_names import check_name
from thresher.choices import Trial
from thresher.content_checks import MOST_COUNTED, Arrays, are_between, are_counts, are_within, require, stops_of
from thresher.decisions import Decisions
from thresher.errors import ModelFileError, ThresherError, printable
from thresher.feature_checks import CONSTANT
from thresher.kernels.vocabulary import make_keys
from thresher.learner_contents import pack_learner, unpack_learner
from thresher.learners.listed_weights import ListedWeights
from thresher.model_header import canonical_json
from thresher.reservoir import KEPT, Kept, Reservoir
from thresher.settings import CHOOSABLE, check_settings, new_features, new_learner, sized
from thresher.text.analysers import Analyser
from thresher.text.derived import gathered
from thresher.text.strengths import IDF_RANGE, WEIGHED
from thresher.text.tokens import as_tokens, names
from thresher.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer

# Where a model runs, not what it is, is left out of the file and of the digest; how settings are chosen stands apart.
UNSTORED = ("n_threads", "block_width", "choose", "memory")
# Settings that older files do not have, with what they mean there; so files with these values are as they were.
LATER: dict[str, Any] = {"bias": 0.0, "sparse": None}
_LONGEST_LINE = 600
_BYTES_AT_ONCE = 2**22  # that are compared at a time


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
        arrays |= pack_learner(model.learner)
        if isinstance(model.learner._fitted(), ListedWeights):
            packed["sparse"] = True
    return packed, arrays


def _pack_settings(settings: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in settings.items() if name not in UNSTORED}
    kept["analyser"] = Analyser(settings["analyser"]).name
    kept |= {name: _pair(settings[name]) for name in ("threshold_range", "discard_range")}
    return {name: value for name, value in kept.items() if name not in LATER or value != LATER[name]}


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
        require(name == settings["analyser"], f"the analyser {name} is not the model's, {settings['analyser']}")
        settings["analyser"] = analyser
    how = packed["choices"]["choose"] if "choices" in packed else "nothing"
    return settings | {"preset": packed["preset"], "choose": how}


def unpack(packed: Mapping[str, Any], arrays: Arrays, model: "Categorizer") -> None:
    """Fill a new model with what was packed, after checking that it makes sense together."""
    for name, array in arrays.items():
        require(array.ndim == (2 if name == "learner.mistakes" else 1), f"{name} has {array.ndim} dimensions")
    if "choices" in packed:
        _unpack_choices(model, packed["choices"])
    _unpack_features(model, packed, arrays)
    model.categories = names(arrays["categories.letters"], stops_of(arrays, "categories"))
    for name in model.categories:
        check_name(name)
    require(len(set(model.categories)) == len(model.categories), "two categories have the same name")
    thresholds, slopes = arrays["decisions.thresholds"], arrays["decisions.slopes"]
    rivalry = arrays.get("decisions.rivalry", np.zeros(len(thresholds)))
    numbers = {array.dtype for array in (thresholds, slopes, rivalry)} == {np.dtype(np.float64)}
    require(numbers, "thresholds, slopes or rivalry are not numbers")
    model.decisions = Decisions(thresholds, slopes, rivalry, packed["policy"])
    require(len(model.decisions.thresholds) == len(model.categories), "thresholds and categories differ in number")
    model.reservoir = _unpack_reservoir(arrays, int(packed["documents_seen"]), model)
    if packed["fitted"] is True:
        _unpack_learner(model, packed, arrays)
    else:
        require(packed["fitted"] is False, "whether it has weights is neither true nor false")


def _unpack_choices(model: "Categorizer", packed: Mapping[str, Any]) -> None:
    given, chosen, trials = packed["given"], packed["chosen"], packed["trials"]
    require(isinstance(given, list) and set(given) <= CHOOSABLE, "the settings given are not such as may be chosen")
    require(isinstance(chosen, dict) and chosen.keys() <= CHOOSABLE, "a setting was chosen that may not be")
    require(isinstance(trials, list) and len(trials) % 2 == 0 and all(map(_is_trial, trials)), "a trial is no trial")
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
    require(
        canonical_json(again | {"settings": stored}) == canonical_json(dict(packed)), "the settings are not a model's"
    )
    require(own.keys() == arrays.keys(), "the arrays are not those of a model")
    for name, array in own.items():
        same = array.dtype == arrays[name].dtype and array.shape == arrays[name].shape
        require(same and _same_bytes(array, arrays[name]), f"{name} is not what a model would hold")


def _same_bytes(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Tell whether two arrays of one kind and shape have the same bytes, however a number is NaN."""
    left, right = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (one, other))
    size = _BYTES_AT_ONCE
    return all(np.array_equal(left[i : i + size], right[i : i + size]) for i in range(0, len(left), size))


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _unpack_features(model: "Categorizer", packed: Mapping[str, Any], arrays: Arrays) -> None:
    letters, stops = arrays["features.letters"], stops_of(arrays, "features")
    constant = model.features.has_constant
    _check_names(letters, stops)
    model.features.vocabulary = Vocabulary.from_names(letters, stops, model.features.vocabulary.most)
    first = int(constant and model.features.has_constant)
    require(not _holds(model.features.vocabulary, CONSTANT, first), "a feature has the name of the constant one")
    model.features.n_documents = int(packed["n_documents"])
    model.features.document_counts = arrays["features.documents"]
    model.idf = arrays["features.idf"]
    require(
        0 <= packed["n_documents"] <= packed["documents_seen"] < MOST_COUNTED,
        "the numbers of documents are out of range",
    )
    counts = model.features.document_counts
    require(are_counts(counts), "the documents of a feature are not a number")
    require(bool((counts <= packed["n_documents"]).all()), "a feature is in more documents than there were")
    require(len(model.features.document_counts) == len(stops), "features and their documents differ in number")
    fitted = model.settings["strength"] in WEIGHED and packed["n_documents"] > 0
    require(len(model.idf) == (len(stops) if fitted else 0), "features and their idf differ in number")
    require(are_between(model.idf, *IDF_RANGE), "an idf is out of range")


def _check_names(letters: NDArray[np.uint8], stops: NDArray[np.int64]) -> None:
    """Refuse names of features that are empty, no UTF-8, or there twice; no string is made of them, which takes memory.

    Where their keys are the same, which the hash table is made of, names are compared as they are.
    """
    if not len(stops):
        return
    starts = np.append(0, stops[:-1])
    require(bool((starts < stops).all()), "a feature has no name")
    letters.tobytes().decode()
    require(bool((letters[starts] & 0xC0 != 0x80).all()), "the name of a feature begins in the midst of a letter")
    keys, rests = np.empty(len(stops), dtype=np.int64), np.empty(len(stops), dtype=np.int64)
    make_keys(letters, stops, keys, rests)
    order = np.lexsort((rests, keys))
    same = (np.diff(keys[order]) == 0) & (np.diff(rests[order]) == 0)
    alike = names(*gathered(letters, stops, order[np.append(same, False) | np.append(False, same)]))
    require(len(set(alike)) == len(alike), "two features have the same name")


def _holds(vocabulary: Vocabulary, name: str, first: int) -> bool:
    """Tell whether a feature from the first on has a name."""
    return bool(vocabulary.numbers(as_tokens([name]), grow=False)[0] >= first)


def _unpack_reservoir(arrays: Arrays, seen: int, model: "Categorizer") -> Reservoir:
    features, counts, labels = (arrays[f"reservoir.{name}"] for name in ("features", "counts", "labels"))
    stops = stops_of(arrays, "reservoir", len(features))
    label_stops = stops_of({"l.stops": arrays["reservoir.label_stops"]}, "l", len(labels))
    require(len(counts) == len(features) and len(label_stops) == len(stops), "the documents kept do not fit together")
    require(len(stops) <= KEPT, f"more than {KEPT} documents are kept")
    require(are_within(features, model.features.vocabulary.count), "a document kept has an unknown feature")
    require(are_within(labels, len(model.categories)), "a document kept has an unknown category")
    require(are_between(counts, 1, 2**31), "a count of a document kept is out of range")
    constant = model.features.has_constant and bool((features == 0).any())
    require(not constant, "a document kept has the constant feature, which no text has")
    complete = arrays["reservoir.complete"]
    require(complete.dtype == np.bool_ and complete.shape == stops.shape, "the documents kept do not fit together")
    starts, label_starts = np.append(0, stops), np.append(0, label_stops)
    documents = []
    for i in range(len(stops)):
        own, judged = slice(starts[i], stops[i]), slice(label_starts[i], label_stops[i])
        require((np.diff(features[own]) > 0).all(), "a document kept has features out of order")
        documents.append(Kept(features[own], counts[own], frozenset(labels[judged].tolist()), bool(complete[i])))
    require(len(documents) <= seen, "more documents are kept than were seen")
    return Reservoir(documents, seen)


def _unpack_learner(model: "Categorizer", packed: Mapping[str, Any], arrays: Arrays) -> None:
    n_features, n_categories = model.features.vocabulary.count, len(model.categories)
    sparse = packed.get("sparse", False)
    require(isinstance(sparse, bool), "sparse is neither true nor false")
    learner = new_learner(sized(model.settings | model.chosen | {"sparse": sparse}, n_features, n_categories))
    learner.average_active_ = float(packed["average_active"])
    require(1e-6 < learner.average_active_ <= 1e9, "the average number of active features is out of range")
    unpack_learner(learner, arrays, n_features, n_categories, sparse)
    model.learner = learner
