"""Apply a record of the journal to a model, both when it is new and when `JournaledModel` replays it."""

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from thresher.categorizer import Categorizer
from thresher.errors import JournalError, TextError
from thresher.journal.record import Record
from thresher.model.explanations import Correction
from thresher.text.analysers import Text
from thresher.text.vectorizer import FeatureCounts


def apply(
    model: Categorizer, record: Record, text: Text | FeatureCounts | None, watched: Iterable[str] = ()
) -> Correction | None:
    """Apply a record to a model; return the changes of a correction, or None for other records.

    If a correction names all categories of a text, the changes cover these and the `watched` categories.
    """
    if record.kind == "categories":
        change_categories(model, record.body)
    elif record.kind == "correction" and "categories" in record.body:
        accept = record.body["categories"]
        reject = [name for name in watched if name not in accept]
        return model.learn(text, accept, reject, complete=True)  # type: ignore[arg-type]
    elif record.kind == "correction":
        return model.learn(text, record.body["accept"], record.body["reject"])  # type: ignore[arg-type]
    return None


def apply_and_describe(
    model: Categorizer, record: Record, text: Text | FeatureCounts | None
) -> tuple[Correction | None, dict[str, Any] | None]:
    """Apply a record to a model; return the changes of a correction, and its effect: the prediction, and word counts.

    The effect is None if memory is too short to describe it, since a correction must not fail for that reason.
    """
    if record.kind != "correction":
        return apply(model, record, text), None
    predicted: list[str] | None = None
    with suppress(MemoryError):
        predicted = model.predict([text])[0] if model.state.learner.is_fitted else []  # type: ignore[list-item]
    correction = apply(model, record, text, predicted or [])
    assert correction is not None
    try:
        return correction, None if predicted is None else _effect(record.body, predicted, correction)
    except MemoryError:
        return None, None


def _effect(body: dict[str, Any], predicted: list[str], correction: Correction) -> dict[str, Any]:
    wrong = set(predicted) ^ set(body["categories"]) if "categories" in body else wrong_of(predicted, body)
    return {
        "predicted": predicted,
        "mistakes": sorted(wrong),
        "promoted": correction.count_promoted(),
        "demoted": correction.count_demoted(),
    }


def wrong_of(predicted: Iterable[str], body: dict[str, Any]) -> set[str]:
    """Return the categories that were predicted wrongly: rejected but predicted, or accepted but not predicted."""
    return (set(body["accept"]) - set(predicted)) | (set(body["reject"]) & set(predicted))


def change_categories(model: Categorizer, body: dict[str, Any]) -> None:
    """Apply a change of categories, as given by the `body` of a record, to a model."""
    changes: dict[str, Callable[[], object]] = {
        "new": lambda: model.add_category(body["names"][0]),
        "rename": lambda: model.rename_category(body["names"][0], body["into"]),
        "merge": lambda: model.merge_categories(body["names"], body["into"]),
        "retire": lambda: model.retire_category(body["names"][0]),
        "threshold": lambda: model.set_threshold(body["names"][0], body["threshold"]),
    }
    if body["change"] not in changes:
        raise TextError(f"{body['change']!r} is not a change of categories (allowed: {', '.join(changes)})")
    if body["change"] != "merge" and len(body["names"]) != 1:
        raise TextError(f"{body['change']!r} takes one category, and {len(body['names'])} are given")
    if body["change"] in ("rename", "merge") and not body.get("into"):
        raise TextError(f"to {body['change']} needs a name to change into")
    changes[body["change"]]()


def text_of(model: Categorizer, record: Record, remarks: list[str]) -> Text | FeatureCounts | None:
    """Return the text of a correction, or its recorded features if the text is forgotten or now gives others.

    The latter case adds a line to `remarks`.
    """
    if record.kind != "correction":
        return None
    text: Text | None = record.text
    if text is not None and features_digest(model.state.features.found_in(text)) == record.digest:
        return text
    pairs = record.features or []
    features = FeatureCounts([name for name, _ in pairs], [count for _, count in pairs])
    # Only the features that a replay needs are left of a forgotten text, so their digest differs.
    if record.features is None or (text is not None and features_digest(features) != record.digest):
        raise JournalError("its features are not those that were kept")
    if text is not None:
        remarks.append(f"record {record.seq}: its text now has other features; those kept are taken")
    return features


def needed_features(record: Record, first: Categorizer) -> list[tuple[str, int]]:
    """Return the features of a correction that a replay needs, in their original order only where that matters.

    The order of features that the `first` model of the journal knows does not matter, so they are sorted. A replay may
    number the others in the order of the text. All of these stay: a full vocabulary has no room for them now, but may
    have once an earlier record is undone.
    """
    if record.undone_by is not None:
        return []
    known, features = set(first.state.features.names), record.features or []
    return sorted(feature for feature in features if feature[0] in known) + [
        feature for feature in features if feature[0] not in known
    ]


def features_digest(found: FeatureCounts) -> str:
    """Return the SHA-256 of the features of a text and their counts."""
    return hashlib.sha256(json.dumps([found.names, found.counts]).encode()).hexdigest()
