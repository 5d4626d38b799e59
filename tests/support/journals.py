"""Records for tests of the journal: appended in a line, with effects, and listed by their numbers."""

from collections.abc import Iterable
from typing import Any

from thresher.journal.journal import Journal
from thresher.journal.record import Entry, Record


def append_correction(journal: Journal, number: int) -> Record:
    """Append a correction of two fields, with characters that a database could stumble over."""
    features = [(f"word {number}", 1), ("ünïcode \0", 2)]
    body, text = {"accept": ["a"], "reject": []}, {"title": "z", "body": "a\0"}
    return journal.append(Entry(f"id {number}", "correction", "ada", body, text, features))


def make_effect(*mistakes: str) -> dict[str, Any]:
    """Return the effect of a correction with some mistakes."""
    return {"predicted": ["a"], "mistakes": list(mistakes), "promoted": {}, "demoted": {}}


def seqs(records: Iterable[Record]) -> list[int]:
    """Return the numbers of records."""
    return [record.seq for record in records]
