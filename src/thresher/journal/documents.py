"""Changes to the table of documents to review that belong to the transaction of a record."""

import sqlite3
from collections.abc import Sequence

from thresher.journal.record import pack
from thresher.journal.schema import DOCUMENT


def mark_done(connection: sqlite3.Connection, id: str) -> None:
    """Set the state of a document after a correction."""
    connection.execute("UPDATE documents SET state = 'done' WHERE id = ?", (id,))


def reopen(connection: sqlite3.Connection, undone: Sequence[int]) -> None:
    """Reopen the documents of undone records, except those with another correction that is not undone."""
    those = f"SELECT {DOCUMENT} FROM records WHERE seq IN (SELECT value FROM json_each(?))"
    # The plus removes the affinity of the column; otherwise SQLite could not use the index on the expression.
    corrected = f"SELECT 1 FROM records WHERE {DOCUMENT} = +documents.id AND undone_by IS NULL"
    query = f"UPDATE documents SET state = 'open' WHERE id IN ({those}) AND NOT EXISTS ({corrected})"
    connection.execute(query, (pack(list(undone)),))


def forget(connection: sqlite3.Connection, seq: int) -> None:
    """Delete the document that a record corrects, and all documents with the same text."""
    document = "SELECT json_extract(body, '$.document') FROM records WHERE seq = ?"
    connection.execute(f"DELETE FROM documents WHERE id = ({document})", (seq,))
    connection.execute("DELETE FROM documents WHERE text = (SELECT text FROM records WHERE seq = ?)", (seq,))
