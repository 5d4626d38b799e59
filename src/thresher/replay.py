"""What a record of the journal does to a model, when it is new and whenever `Desk` replays it."""

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from thresher.categorizer import Categorizer
from thresher.errors import JournalError, TextError
from thresher.explanation import Correction
from thresher.journal_record import Record
from thresher.text.analysers import Text
from thresher.text.features import FeatureCounts


def apply(
    model: Categorizer, record: Record, text: Text | FeatureCounts | None, watched: Iterable[str] = ()
) -> Correction | None:
    """Do what a record says; returns what a correction changed.

    Where a correction names all categories, what changed is told of them and of those that are `watched`.
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
    """Do what a record says; returns what a correction changed, and its effect: the prediction, and counts of words.

    The effect is None if it is not known: a correction must not fail for want of memory to describe it.
    """
    if record.kind != "correction":
        return apply(model, record, text), None
    predicted: list[str] | None = None
    with suppress(MemoryError):
        predicted = model.predict([text])[0] if model.learner.is_fitted else []  # type: ignore[list-item]
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
    """Return the categories that were predicted and are to be rejected, or the other way round."""
    return (set(body["accept"]) - set(predicted)) | (set(body["reject"]) & set(predicted))


def change_categories(model: Categorizer, body: dict[str, Any]) -> None:
    """Change the categories of a model as the `body` of a record says."""
    changes: dict[str, Callable[[], object]] = {
        "new": lambda: model.add_category(body["names"][0]),
        "rename": lambda: model.rename_category(body["names"][0], body["into"]),
        "merge": lambda: model.merge_categories(body["names"], body["into"]),
        "retire": lambda: model.retire_category(body["names"][0]),
        "threshold": lambda: model.set_threshold(body["names"][0], body["threshold"]),
    }
    if body["change"] not in changes or (body["change"] != "merge" and len(body["names"]) != 1):
        allowed = ", ".join(changes)
        raise TextError(f"{body['change']!r} is no change of so many categories (allowed: {allowed})")
    if body["change"] in ("rename", "merge") and not body.get("into"):
        raise TextError(f"to {body['change']} needs a name to change into")
    changes[body["change"]]()


def text_of(model: Categorizer, record: Record, remarks: list[str]) -> Text | FeatureCounts | None:
    """Return the text of a correction, or the features kept where it is gone or now gives others, as `remarks` say."""
    if record.kind != "correction":
        return None
    text: Text | None = record.text
    if text is not None and features_digest(model.features.found_in(text)) == record.digest:
        return text
    pairs = record.features or []
    features = FeatureCounts([name for name, _ in pairs], [count for _, count in pairs])
    # Of a text that was forgotten only those features are left that replay needs, so they have another digest.
    if record.features is None or (text is not None and features_digest(features) != record.digest):
        raise JournalError("its features are not those that were kept")
    if text is not None:
        remarks.append(f"record {record.seq}: its text now has other features; those kept are taken")
    return features


def needed_features(record: Record, first: Categorizer) -> list[tuple[str, int]]:
    """Return the features of a correction that a replay needs, with no order but where that matters.

    The `first` model of the journal knows some of them: their order never matters, so they are sorted. The others
    may be numbered when the record is replayed, in the order in which they appear in the text. All of them stay: a
    full vocabulary takes up none of them now, and may have room for them once an earlier record is undone.
    """
    if record.undone_by is not None:
        return []
    known, features = set(first.features.names), record.features or []
    return sorted(feature for feature in features if feature[0] in known) + [
        feature for feature in features if feature[0] not in known
    ]


def features_digest(found: FeatureCounts) -> str:
    """Return a fingerprint of the features of a text."""
    return hashlib.sha256(json.dumps([found.names, found.counts]).encode()).hexdigest()
