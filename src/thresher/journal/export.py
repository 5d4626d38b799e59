"""Corrections as documents for training, as `thresher journal export` and the service write them."""

from typing import Any

from thresher.journal.record import Record

_OWN_KEYS = ("document", "seeds_of")  # of a body, for the journal alone


def export_correction(record: Record, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a correction as a document for training; `body` replaces its own, with current category names."""
    text = {"text": record.text} if isinstance(record.text, str) else dict(record.text)
    given = record.body if body is None else body
    lists = {key: value for key, value in given.items() if key not in _OWN_KEYS}
    names = lists.get("categories", lists.get("accept"))
    categories = {"categories": names} if names or "categories" in lists else {}
    about = {"id": record.id, "user": record.user, "time": record.time}
    return {"id": record.id} | text | categories | lists | about
