"""What a record of the journal does to a model, when it is new and whenever `Desk` replays it."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thresher.categorizer import Categorizer
from thresher.errors import JournalError, TextError
from thresher.explanation import Change, Correction, is_piece
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


def told(
    model: Categorizer, record: Record, text: Text | FeatureCounts | None
) -> tuple[Correction | None, dict[str, Any] | None]:
    """Do what a record says, and return what changed, in full and in brief: what was predicted, and counts of words."""
    if record.kind != "correction":
        return apply(model, record, text), None
    predicted = model.predict([text])[0] if model.learner.is_fitted else []  # type: ignore[list-item]
    correction = apply(model, record, text, predicted)
    assert correction is not None
    body = record.body
    wrong = set(predicted) ^ set(body["categories"]) if "categories" in body else wrong_of(predicted, body)
    return correction, {
        "predicted": predicted,
        "mistakes": sorted(wrong),
        "promoted": {name: _count_words(changes) for name, changes in correction.promoted.items()},
        "demoted": {name: _count_words(changes) for name, changes in correction.demoted.items()},
    }


def _count_words(changes: Sequence[Change]) -> int:
    """Count the words that changed; runs of letters only where there is nothing else."""
    return sum(not is_piece(change.name) for change in changes) or len(changes)


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
    if features_digest(features) != record.digest:
        raise JournalError("its features are not those that were kept")
    if record.text is not None:
        remarks.append(f"record {record.seq}: its text now has other features; those kept are taken")
    return features


def features_digest(found: FeatureCounts) -> str:
    """Return a fingerprint of the features of a text."""
    return hashlib.sha256(json.dumps([found.names, found.counts]).encode()).hexdigest()
