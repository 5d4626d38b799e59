"""Convert a model to the settings and arrays of a model file, and check and restore it when the file is read."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.datasets.category_names import check_name
from thresher.errors import LemmatizerError, ModelFileError, ThresherError, printable
from thresher.kernels.hash_table import make_keys
from thresher.model.decisions import Decisions
from thresher.model.factories import fit_to_size, new_features, new_learner
from thresher.model.reservoir import MAX_SAMPLED, Reservoir, SampledDocument
from thresher.model.selection import Trial
from thresher.model.settings import CHOOSABLE, WEIGHED, setting_names
from thresher.model.state import ModelState
from thresher.model_file.checks import MAX_COUNT, Arrays, check_arrays, require
from thresher.model_file.header import canonical_json
from thresher.model_file.learner_packing import pack_learner, unpack_learner
from thresher.text.analysers import Analyser
from thresher.text.feature_checks import CONSTANT
from thresher.text.lemmas import list_lemmatizers
from thresher.text.tokens import decode_names, gather_names, make_tokens
from thresher.text.vocabulary import Vocabulary

# Settings of the machine, not of the model, are left out of the file and the digest. "choose" is stored elsewhere.
UNSTORED = ("n_threads", "block_width", "choose", "memory")
# Settings that older files lack, with their values there. Files with these values are the same as older ones.
LATER: dict[str, Any] = {"bias": 0.0, "sparse": None, "tolerance": 0.0}
_MAX_LINE = 600
_BYTES_AT_ONCE = 2**22  # compared at once


def pack(model: ModelState) -> tuple[dict[str, Any], Arrays]:
    """Return a model's settings as JSON values, and its arrays."""
    packed = {
        "preset": model.preset,
        "settings": _pack_settings(model.settings.as_dict()),
        "policy": model.decisions.policy,
        "fitted": model.learner.is_fitted,
        "average_active": float(model.learner.average_active_) if model.learner.is_fitted else 0.0,
        "n_documents": model.features.n_documents,
        "documents_seen": model.reservoir.seen,
    }
    if model.decisions.tail != 1:
        packed["tail"] = model.decisions.tail
    if model.settings.choose != "nothing":
        trials = [list(trial) for trial in model.trials]
        how = {"choose": model.settings.choose, "given": sorted(model.given)}
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
    if len(model.decisions.midpoints):
        arrays["decisions.midpoints"] = model.decisions.midpoints
    arrays |= _pack_names("categories", model.categories)
    arrays |= _pack_reservoir(model.reservoir)
    if model.learner.is_fitted:
        arrays |= pack_learner(model.learner)
        if model.learner.get_weights().is_sparse:
            packed["sparse"] = True
    return packed, arrays


def _pack_settings(settings: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in settings.items() if name not in UNSTORED}
    kept["analyser"] = Analyser(settings["analyser"]).name
    kept |= {name: _to_pair(settings[name]) for name in ("threshold_range", "discard_range")}
    return {name: value for name, value in kept.items() if name not in LATER or value != LATER[name]}


def _to_pair(value: Any) -> Any:
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
def convert_errors(path: str | PathLike[str]) -> Iterator[None]:
    """Convert every error that inconsistent contents cause to a ModelFileError that begins with the path."""
    try:
        yield
    except (KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        what = _shorten(f"{type(error).__name__}: {error}")
        raise ModelFileError("the contents are not those of a model", path=path, hint=what) from None
    except (ThresherError, ValueError) as error:
        raise ModelFileError(_shorten(str(error)), path=path) from None


def _shorten(message: str) -> str:
    """Return an error message, which may quote the file, as one line of limited length."""
    return printable(message.partition("\n")[0][:_MAX_LINE])


def unpack_settings(packed: Mapping[str, Any], analyser: Any = None) -> dict[str, Any]:
    """Return the settings of a packed model, including its preset.

    `analyser` replaces one that was a user's function, which a file cannot hold.
    """
    known = setting_names(packed["settings"].get("learner", ""))
    settings = {name: value for name, value in LATER.items() if name in known} | dict(packed["settings"])
    settings["threshold_range"] = _to_tuple(settings["threshold_range"])
    settings["discard_range"] = _to_tuple(settings["discard_range"])
    if "(" in settings["analyser"] and analyser is None:
        raise ModelFileError(f"the analyser {settings['analyser']} is a function", hint="load with analyser=...")
    if analyser is not None:
        name = Analyser(analyser).name
        require(name == settings["analyser"], f"the analyser {name} is not the model's, {settings['analyser']}")
        settings["analyser"] = analyser
    how = packed["choices"]["choose"] if "choices" in packed else "nothing"
    return settings | {"preset": packed["preset"], "choose": how}


def unpack(packed: Mapping[str, Any], arrays: Arrays, model: ModelState) -> None:
    """Fill a new model with packed settings and arrays, after checking that they are consistent."""
    check_arrays(arrays)
    if "choices" in packed:
        _unpack_choices(model, packed["choices"])
    _unpack_features(model, packed, arrays)
    model.categories = decode_names(arrays["categories.letters"], arrays["categories.stops"])
    for name in model.categories:
        check_name(name)
    require(len(set(model.categories)) == len(model.categories), "two categories have the same name")
    thresholds, slopes = arrays["decisions.thresholds"], arrays["decisions.slopes"]
    rivalry = arrays.get("decisions.rivalry", np.zeros(len(thresholds)))
    midpoints = arrays.get("decisions.midpoints", np.zeros(0))
    tail = float(packed.get("tail", 1.0))
    model.decisions = Decisions(thresholds, slopes, rivalry, packed["policy"], midpoints, tail)
    model.reservoir = _unpack_reservoir(arrays, int(packed["documents_seen"]), model)
    if packed["fitted"] is True:
        _unpack_learner(model, packed, arrays)
    else:
        require(packed["fitted"] is False, "`fitted` is neither true nor false")


def _unpack_choices(model: ModelState, packed: Mapping[str, Any]) -> None:
    given, chosen, trials = packed["given"], packed["chosen"], packed["trials"]
    require(isinstance(given, list) and set(given) <= CHOOSABLE, "a setting is given that trials may not choose")
    require(isinstance(chosen, dict) and chosen.keys() <= CHOOSABLE, "a setting was chosen that trials may not choose")
    require(isinstance(trials, list) and len(trials) % 2 == 0 and all(map(_is_trial, trials)), "a trial is malformed")
    settings = model.settings.replace(chosen)
    model.given, model.chosen = frozenset(given), chosen
    model.trials = [Trial(*trial) for trial in trials]
    model.features = new_features(settings)


def _is_trial(trial: Any) -> bool:
    settings, right, documents, chosen = trial
    known = isinstance(settings, dict) and settings.keys() <= CHOOSABLE
    scalar = known and all(isinstance(value, str | int | float) for value in settings.values())
    number = isinstance(right, float) and 0 <= right <= 1 and type(documents) is int and documents >= 0
    return bool(scalar and number and isinstance(chosen, bool))


def unpack_lemmatizers(about: Mapping[str, Any], model: ModelState) -> None:
    """Take the versions of the lemmatizers, which are not part of the digest; files of 0.1 do not have them."""
    lemmatizers = about.get("lemmatizers", "")
    require(isinstance(lemmatizers, str), "`lemmatizers` is not a text")
    model.lemmatizers = printable(lemmatizers[:_MAX_LINE])


def check_lemmatizers(path: str | PathLike[str], model: ModelState) -> None:
    """Raise a LemmatizerError if other versions of the lemmatizers are installed than the model was trained with."""
    wanted, installed = model.lemmatizers, list_lemmatizers(model.features.analyser.name)
    if wanted and wanted != installed:
        advice = " ".join(part.replace(" ", "==") for part in wanted.split(", "))
        here = f", and {installed} is installed" if installed else ""
        raise LemmatizerError(f"it was trained with {wanted}{here}", path=path, hint=f"pip install {advice}")


def check_same(packed: Mapping[str, Any], arrays: Arrays, model: ModelState) -> None:
    """Refuse contents that differ from those that the restored model would be saved as: extra data, or other types."""
    again, own = pack(model)
    stored = dict(packed["settings"]) | {"analyser": again["settings"]["analyser"]}
    require(
        canonical_json(again | {"settings": stored}) == canonical_json(dict(packed)), "the settings are not a model's"
    )
    require(own.keys() == arrays.keys(), "the arrays are not those of a model")
    for name, array in own.items():
        same = array.dtype == arrays[name].dtype and array.shape == arrays[name].shape
        require(same and _same_bytes(array, arrays[name]), f"{name} differs from what the model would be saved as")


def _same_bytes(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether two arrays of the same type and shape have the same bytes, including those of NaN."""
    left, right = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (one, other))
    size = _BYTES_AT_ONCE
    return all(np.array_equal(left[i : i + size], right[i : i + size]) for i in range(0, len(left), size))


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _unpack_features(model: ModelState, packed: Mapping[str, Any], arrays: Arrays) -> None:
    letters, stops = arrays["features.letters"], arrays["features.stops"]
    constant = model.features.has_constant
    _check_names(letters, stops)
    model.features.vocabulary = Vocabulary.from_names(letters, stops, model.features.vocabulary.most)
    first = int(constant and model.features.has_constant)
    require(not _has_name(model.features.vocabulary, CONSTANT, first), "a feature has the name of the constant feature")
    model.features.n_documents = int(packed["n_documents"])
    model.features.document_counts = arrays["features.documents"]
    model.idf = arrays["features.idf"]
    require(
        0 <= packed["n_documents"] <= packed["documents_seen"] <= MAX_COUNT,
        "the numbers of documents are out of range",
    )
    counts = model.features.document_counts
    require((counts <= packed["n_documents"]).all(), "a feature is in more documents than there were")
    fitted = model.settings.strength in WEIGHED and packed["n_documents"] > 0
    require(len(model.idf) == (len(stops) if fitted else 0), "features and their idf differ in number")


def _check_names(letters: NDArray[np.uint8], stops: NDArray[np.int64]) -> None:
    """Refuse feature names that are empty, not UTF-8, or duplicates, without creating strings, which would take memory.

    Names are compared as strings only if their hash table keys are equal.
    """
    if not len(stops):
        return
    starts = np.append(0, stops[:-1])
    require(bool((starts < stops).all()), "a feature has no name")
    letters.tobytes().decode()
    require(bool((letters[starts] & 0xC0 != 0x80).all()), "the name of a feature begins inside a character")
    keys, rests = np.empty(len(stops), dtype=np.int64), np.empty(len(stops), dtype=np.int64)
    make_keys(letters, stops, keys, rests)
    order = np.lexsort((rests, keys))
    same = (np.diff(keys[order]) == 0) & (np.diff(rests[order]) == 0)
    alike = decode_names(*gather_names(letters, stops, order[np.append(same, False) | np.append(False, same)]))
    require(len(set(alike)) == len(alike), "two features have the same name")


def _has_name(vocabulary: Vocabulary, name: str, first: int) -> bool:
    """Return whether a feature numbered `first` or higher has this name."""
    return bool(vocabulary.look_up(make_tokens([name]), grow=False)[0] >= first)


def _unpack_reservoir(arrays: Arrays, seen: int, model: ModelState) -> Reservoir:
    features, counts, labels = (arrays[f"reservoir.{name}"] for name in ("features", "counts", "labels"))
    stops, label_stops, complete = (arrays[f"reservoir.{name}"] for name in ("stops", "label_stops", "complete"))
    require(len(stops) <= MAX_SAMPLED, f"the reservoir has more than {MAX_SAMPLED} documents")
    constant = model.features.has_constant and bool((features == 0).any())
    require(not constant, "a document in the reservoir has the constant feature, which texts do not have")
    starts, label_starts = np.append(0, stops), np.append(0, label_stops)
    documents = []
    for i in range(len(stops)):
        own, judged = slice(starts[i], stops[i]), slice(label_starts[i], label_stops[i])
        require((np.diff(features[own]) > 0).all(), "a document in the reservoir has features out of order")
        categories = frozenset(labels[judged].tolist())
        documents.append(SampledDocument(features[own], counts[own], categories, bool(complete[i])))
    require(len(documents) <= seen, "the reservoir has more documents than were seen")
    return Reservoir(documents, seen)


def _unpack_learner(model: ModelState, packed: Mapping[str, Any], arrays: Arrays) -> None:
    n_features, n_categories = model.features.vocabulary.count, len(model.categories)
    sparse = packed.get("sparse", False)
    require(isinstance(sparse, bool), "`sparse` is neither true nor false")
    settings = model.settings.replace(model.chosen | {"sparse": sparse})
    learner = new_learner(fit_to_size(settings, n_features, n_categories))
    learner.average_active_ = float(packed["average_active"])
    require(1e-6 < learner.average_active_ <= 1e9, "the average number of active features is out of range")
    unpack_learner(learner, arrays, n_features, n_categories, sparse)
    model.learner = learner
