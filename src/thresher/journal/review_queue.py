"""The documents to review that a journal stores, with their states; corrections mark them as done."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from thresher.journal.database import Database
from thresher.journal.record import pack, unpack_document
from thresher.journal.schema import DOCUMENT


class ReviewQueue:
    """The documents to review in a journal, with their states.

    Parameters
    ----------
    database : Database
        The open database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> Iterator[tuple[str, Any, str]]:
        """Yield the documents as (id, text, state), in the order in which they were added."""
        for id, packed, state in self._database.query("SELECT id, text, state FROM documents ORDER BY rowid"):
            with self._database.name_errors():
                text = unpack_document(id, packed)
            yield id, text, state

    def state_of(self, id: str | None) -> str | None:
        """Return the state of the document with that `id`, or None if there is no such document."""
        row = self._database.query_one("SELECT state FROM documents WHERE id = ?", id)
        return None if row is None else str(row[0])

    def add(self, documents: Iterable[tuple[str, Any, str]]) -> None:
        """Add `documents`, given as (id, text, state), whose ids are new."""
        rows = [(id, json.dumps(text, ensure_ascii=False), state) for id, text, state in documents]
        with self._database.transaction() as connection:
            connection.executemany("INSERT INTO documents VALUES (?, ?, ?)", rows)

    def remove(self, id: str) -> None:
        """Delete the document with that `id`."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM documents WHERE id = ?", (id,))

    def set_state(self, id: str, state: str) -> None:
        """Set the `state` of the document with that `id`."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE documents SET state = ? WHERE id = ?", (state, id))

    def reopen(self, undone: Sequence[int]) -> None:
        """Reopen the documents of undone records, except those with another correction that is not undone."""
        those = f"SELECT {DOCUMENT} FROM records WHERE seq IN (SELECT value FROM json_each(?))"
        # The plus removes the affinity of the column; otherwise SQLite could not use the index on the expression.
        corrected = f"SELECT 1 FROM records WHERE {DOCUMENT} = +documents.id AND undone_by IS NULL"
        query = f"UPDATE documents SET state = 'open' WHERE id IN ({those}) AND NOT EXISTS ({corrected})"
        with self._database.transaction() as connection:
            connection.execute(query, (pack(list(undone)),))

    def forget(self, seq: int) -> None:
        """Delete the document that the record `seq` corrects, and all documents with the same text."""
        document = "SELECT json_extract(body, '$.document') FROM records WHERE seq = ?"
        same_text = "SELECT text FROM records WHERE seq = ?"
        with self._database.transaction() as connection:
            connection.execute(f"DELETE FROM documents WHERE id = ({document})", (seq,))
            connection.execute(f"DELETE FROM documents WHERE text = ({same_text})", (seq,))
