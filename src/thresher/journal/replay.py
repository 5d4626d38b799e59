"""Apply a record of the journal to a model, both when it is new and when `JournaledModel` replays it."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from thresher.categorizer import Categorizer
from thresher.errors import TextError
from thresher.journal.prepared_correction import PreparedCorrection
from thresher.journal.record import Record
from thresher.model.explanations import Correction
from thresher.model.online_learning import learn_validated
from thresher.model.thread_safety import lesson


def apply(
    model: Categorizer, record: Record, correction: PreparedCorrection | None, watched: Iterable[str] = ()
) -> Correction | None:
    """Apply a record to a model; return the changes of a correction, or None for other records.

    `correction` is that of the record, after its checks. If it names all categories of a text, the changes cover these
    and the `watched` categories.
    """
    if record.kind == "categories":
        change_categories(model, record.body)
    if correction is None:
        return None
    accepted, is_complete = correction.accepted, correction.is_complete
    rejected = sorted(set(watched).difference(accepted)) if is_complete else correction.rejected
    with lesson(model.state):
        return learn_validated(model.state, correction.features, accepted, rejected, is_complete)


def apply_and_describe(
    model: Categorizer, record: Record, correction: PreparedCorrection | None
) -> tuple[Correction | None, dict[str, Any] | None]:
    """Apply a record to a model; return the changes of a correction, and its effect: the prediction, and word counts.

    The effect is None if memory is too short to describe it, since a correction must not fail for that reason.
    """
    if correction is None:
        return apply(model, record, None), None
    predicted: list[str] | None = None
    with suppress(MemoryError):
        is_fitted = model.state.learner.is_fitted
        predicted = model.predict([correction.features])[0] if is_fitted else []  # type: ignore[list-item]
    changes = apply(model, record, correction, predicted or [])
    assert changes is not None
    try:
        return changes, None if predicted is None else _describe_effect(correction.body, predicted, changes)
    except MemoryError:
        return None, None


def _describe_effect(body: dict[str, Any], predicted: list[str], changes: Correction) -> dict[str, Any]:
    wrong = set(predicted) ^ set(body["categories"]) if "categories" in body else find_mistakes(predicted, body)
    return {
        "predicted": predicted,
        "mistakes": sorted(wrong),
        "promoted": changes.count_promoted(),
        "demoted": changes.count_demoted(),
    }


def find_mistakes(predicted: Iterable[str], body: dict[str, Any]) -> set[str]:
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
        hint = f"allowed: {', '.join(changes)}"
        raise TextError("{change} is not a change of categories", hint=hint, change=body["change"])
    if body["change"] != "merge" and len(body["names"]) != 1:
        raise TextError(f"{body['change']!r} takes one category, and {len(body['names'])} are given")
    if body["change"] in ("rename", "merge") and not body.get("into"):
        raise TextError(f"to {body['change']} needs a name to change into")
    changes[body["change"]]()


def select_needed_features(record: Record, first: Categorizer) -> list[tuple[str, int]]:
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
