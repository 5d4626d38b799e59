"""The documents to review that a journal stores, with their states."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from thresher.journal.database import Journal
from thresher.journal.record import unpack_document


class ReviewQueue:
    """The documents to review that a journal stores, with their states.

    Parameters
    ----------
    journal : Journal
        The open journal.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def documents(self) -> Iterator[tuple[str, Any, str]]:
        """Yield the documents as (id, text, state), in the order in which they were added."""
        for id, packed, state in self.journal.query("SELECT id, text, state FROM documents ORDER BY rowid"):
            with self.journal.naming_errors():
                text = unpack_document(id, packed)
            yield id, text, state

    def add(self, documents: Iterable[tuple[str, Any, str]]) -> None:
        """Add `documents`, given as (id, text, state), whose ids are new."""
        rows = [(id, json.dumps(text, ensure_ascii=False), state) for id, text, state in documents]
        with self.journal.transaction() as connection:
            connection.executemany("INSERT INTO documents VALUES (?, ?, ?)", rows)

    def remove(self, id: str) -> None:
        """Delete the document with that `id`."""
        with self.journal.transaction() as connection:
            connection.execute("DELETE FROM documents WHERE id = ?", (id,))

    def set_state(self, id: str, state: str) -> None:
        """Set the `state` of the document with that `id`."""
        with self.journal.transaction() as connection:
            connection.execute("UPDATE documents SET state = ? WHERE id = ?", (state, id))

    def state(self, id: str | None) -> str | None:
        """Return the state of the document with that `id`, or None if there is no such document."""
        rows = self.journal.query("SELECT state FROM documents WHERE id = ?", id)
        return str(rows[0][0]) if rows else None
