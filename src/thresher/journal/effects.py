"""The effects of corrections in a journal: what the model predicted before, and how many words changed."""

from collections.abc import Mapping
from typing import Any

from thresher.journal.database import Database
from thresher.journal.record import pack


class Effects:
    """The effects of the corrections in a journal, and their mistakes by category.

    Parameters
    ----------
    database : Database
        The open database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, effects: Mapping[int, dict[str, Any]]) -> None:
        """Write the `effects` of records, given by record number; an effect that is known is replaced."""
        if not effects:
            return
        rows = [(seq, len(effect["mistakes"]) > 0, pack(effect)) for seq, effect in effects.items()]
        mistakes = [(name, seq) for seq, effect in effects.items() for name in effect["mistakes"]]
        with self._database.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO effects VALUES (?, ?, ?)", rows)
            connection.executemany("INSERT OR IGNORE INTO mistakes VALUES (?, ?)", mistakes)

    def remove(self, seq: int) -> None:
        """Delete the effect and the mistakes of the record `seq`."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM effects WHERE seq = ?", (seq,))
            connection.execute("DELETE FROM mistakes WHERE seq = ?", (seq,))
