"""The facts about a journal as a whole: values under names, such as the digest of its first model."""

from thresher.journal.database import Database


class Facts:
    """The facts about a journal.

    Parameters
    ----------
    database : Database
        The open database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, name: str) -> str | None:
        """Return the value that is stored under a `name`, or None."""
        row = self._database.query_one("SELECT value FROM facts WHERE name = ?", name)
        return None if row is None else str(row[0])

    def set(self, name: str, value: str) -> None:
        """Store a `value` under a `name`."""
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))
