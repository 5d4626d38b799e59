"""The corrections in a journal that are not undone: find them, count them, and read what they taught."""

from collections.abc import Iterable, Iterator
from typing import Any

from thresher.journal.database import Database
from thresher.journal.record import Record, pack, unpack_body
from thresher.journal.record_queries import PAGE_SIZE, SELECT_WITHOUT_FEATURES, SELECT_WITHOUT_TEXT, read_records

_ACTIVE = "kind = 'correction' AND undone_by IS NULL"


class ActiveCorrections:
    """The corrections in a journal that are not undone.

    Parameters
    ----------
    database : Database
        The open database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def find_ids(
        self, *, id: str | None = None, user: str | None = None, since: str | None = None, seq: int | None = None
    ) -> dict[int, str]:
        """Return the numbers and ids of the matching corrections; the last one without conditions.

        `id` and `user` select by these. `since` selects corrections from a time on. `seq` selects a record by its
        number, which may also be a change of categories.
        """
        conditions = {"id = ?": id, "user = ?": user, "time >= ?": since, "seq = ?": seq}
        given = {condition: value for condition, value in conditions.items() if value is not None}
        kinds = "('correction')" if seq is None else "('correction', 'categories')"
        where = " AND ".join([f"kind IN {kinds}", "undone_by IS NULL", *given])
        order = "ORDER BY seq" if given else "ORDER BY seq DESC LIMIT 1"
        return dict(self._database.query(f"SELECT seq, id FROM records WHERE {where} {order}", *given.values()))

    def find_digests(self, digests: Iterable[str]) -> set[str]:
        """Return those `digests` of features for which there is a correction."""
        query = f"SELECT DISTINCT digest FROM records WHERE digest IN (SELECT value FROM json_each(?)) AND {_ACTIVE}"
        return {digest for (digest,) in self._database.query(query, pack(list(digests)))}

    def read_digest(self, digest: str, limit: int = PAGE_SIZE) -> list[Record]:
        """Return the last `limit` corrections of a text by the `digest` of its features.

        The oldest comes first. The records have no text and no features.
        """
        query = f"{SELECT_WITHOUT_TEXT} WHERE digest = ? AND {_ACTIVE} ORDER BY seq DESC LIMIT ?"
        return read_records(self._database, query, digest, limit)[::-1]

    def read_mistakes(self, names: list[str], limit: int) -> list[Record]:
        """Return the last `limit` corrections of a mistake in one of the categories `names`.

        The newest comes first. The records have no features.
        """
        mistakes = f"SELECT seq FROM mistakes WHERE category IN ({', '.join('?' * len(names))})"
        where = f"records.seq IN ({mistakes}) AND undone_by IS NULL"
        query = f"{SELECT_WITHOUT_FEATURES} WHERE {where} ORDER BY seq DESC LIMIT ?"
        return read_records(self._database, query, *names, limit)

    def read_bodies(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the numbers and bodies of the corrections, much faster than whole records."""
        for seq, packed in self._database.query(f"SELECT seq, body FROM records WHERE {_ACTIVE} ORDER BY seq"):
            with self._database.name_errors():
                body = unpack_body(seq, "correction", packed)
            yield seq, body

    def read_outcomes(self) -> list[tuple[int, bool | None]]:
        """Return the number of each correction, and whether the model was wrong, if its effect is written."""
        return self._database.query(
            f"SELECT seq, wrong FROM records LEFT JOIN effects USING (seq) WHERE {_ACTIVE} ORDER BY seq"
        )

    def count_by_user(self, limit: int) -> dict[str, int]:
        """Return the number of corrections by user, for the `limit` users with the most."""
        order = "ORDER BY count(*) DESC, min(seq) LIMIT ?"
        query = f"SELECT user, count(*) FROM records WHERE {_ACTIVE} GROUP BY user {order}"
        return dict(self._database.query(query, limit))

    def count(self) -> int:
        """Return the number of corrections."""
        ((count,),) = self._database.query(f"SELECT count(*) FROM records WHERE {_ACTIVE}")
        return int(count)

    def count_undone(self) -> int:
        """Return the number of corrections that are undone."""
        ((count,),) = self._database.query("SELECT count(undone_by) FROM records WHERE kind = 'correction'")
        return int(count)
