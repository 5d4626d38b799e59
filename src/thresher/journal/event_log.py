"""The log of a journal: its records in order, which are appended, marked as undone, forgotten and read.

A record changes in two ways only: a later record may mark it as undone, and its text may be forgotten.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from thresher.errors import JournalError
from thresher.journal.database import Database
from thresher.journal.record import Entry, Record, pack, pack_features, seal
from thresher.journal.record_queries import (
    FETCH_SIZE,
    PAGE_SIZE,
    SELECT_WHOLE,
    SELECT_WITHOUT_FEATURES,
    read_records,
    unpack_rows,
)
from thresher.journal.schema import SEALED

MAX_ID_LENGTH = 200
_UNDONE = "FROM records, json_each(body, '$.seqs') AS undone WHERE records.seq > ? AND kind IN ('undo', 'skip')"


class EventLog:
    """The records of a journal.

    Parameters
    ----------
    database : Database
        The open database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- writing -----------------------------------------------------------------------------------------------------

    def append(self, entry: Entry) -> Record:
        """Write an `entry`, whose id is new, and return its record; it is on the disk when the transaction ends."""
        _check_id(entry.id)
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._database.transaction() as connection:
            seq = self.last_seq() + 1
            body, text, features = pack(entry.body), pack(entry.text), pack_features(entry.features)
            values = (seq, entry.id, entry.kind, time, entry.user, body, text, features, entry.digest, None)
            places = ", ".join("?" * len(values))
            connection.execute(f"INSERT INTO records VALUES ({places}, ?)", (*values, seal(*values)))
        return Record(
            seq, entry.id, entry.kind, time, entry.user, entry.body, entry.text, entry.features, entry.digest, None
        )

    def mark_undone(self, seqs: Sequence[int], by: int) -> None:
        """Mark the records `seqs` as undone `by` another record."""
        with self._database.transaction():
            for seq in seqs:
                self._change(seq, "undone_by", by)

    def forget_text(self, seq: int, features: list[tuple[str, int]] | None = None) -> None:
        """Delete the text of the record `seq`; `features` replace its own if they are given."""
        with self._database.transaction():
            if features is not None:
                self._change(seq, "features", pack_features(features))
            self._change(seq, "text", None)

    def forget_correction(self, seq: int) -> None:
        """Delete text, features and categories of the correction `seq`; its number, id, user and time stay."""
        with self._database.transaction():
            for column in ("text", "features"):
                self._change(seq, column, None)
            self._change(seq, "digest", "")
            self._change(seq, "body", pack({"accept": [], "reject": []}))

    def _change(self, seq: int, column: str, value: int | str | bytes | None) -> None:
        """Change a column of a record and renew its seal; a record that was damaged before gets an empty seal."""
        whole = self._database.query_one(f"SELECT seal = {SEALED} FROM records WHERE seq = ?", seq)
        with self._database.transaction() as connection:
            connection.execute(f"UPDATE records SET {column} = ? WHERE seq = ?", (value, seq))
            sealed = SEALED if whole == (1,) else "''"
            connection.execute(f"UPDATE records SET seal = {sealed} WHERE seq = ?", (seq,))

    # -- reading -----------------------------------------------------------------------------------------------------

    def last_seq(self) -> int:
        """Return the number of the last record, or 0 if there are no records."""
        ((last,),) = self._database.query("SELECT coalesce(max(seq), 0) FROM records")
        return int(last)

    def get(self, seq: int) -> Record | None:
        """Return the record with the number `seq`, or None."""
        return next(iter(read_records(self._database, f"{SELECT_WHOLE} WHERE seq = ?", seq)), None)

    def find(self, id: str) -> Record | None:
        """Return the record with that `id`, or None."""
        return next(iter(read_records(self._database, f"{SELECT_WHOLE} WHERE id = ?", id)), None)

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """Yield the records `after` a number in order, at most `limit`; read few at a time, as texts may be long."""
        after = max(after, 0)
        while limit is None or limit > 0:
            size = FETCH_SIZE if limit is None else min(FETCH_SIZE, limit)
            page = self._database.query(f"{SELECT_WHOLE} WHERE seq > ? ORDER BY seq LIMIT ?", after, size)
            for row in page:
                after += 1
                if row[0] != after:
                    raise JournalError(f"record {after} is missing", path=self._database.path, hint="restore a backup")
                yield from unpack_rows(self._database, [row])
            if len(page) < size:
                return
            limit = None if limit is None else limit - len(page)

    def read_oldest(self, after: int = 0, limit: int = PAGE_SIZE) -> Iterator[Record]:
        """Yield the first `limit` records `after` a number, oldest first and without features, to show to a user.

        Texts may be long, so the records are read a few at a time.
        """
        return self._read_from("seq > ? ORDER BY seq", after, limit)

    def read_newest(self, before: int | None = None, limit: int = PAGE_SIZE) -> Iterator[Record]:
        """Yield the last `limit` records, or the last ones `before` a number, newest first and without features."""
        return self._read_from("seq < ? ORDER BY seq DESC", self.last_seq() + 1 if before is None else before, limit)

    def _read_from(self, where: str, place: int, limit: int) -> Iterator[Record]:
        query = f"{SELECT_WITHOUT_FEATURES} WHERE {where} LIMIT ?"
        while rows := self._database.query(query, place, min(limit, FETCH_SIZE)):
            yield from unpack_rows(self._database, rows)
            place, limit = rows[-1][0], limit - len(rows)

    def read_kind(self, kind: str) -> list[Record]:
        """Return all records of a `kind`."""
        return read_records(self._database, f"{SELECT_WHOLE} WHERE kind = ? ORDER BY seq", kind)

    def kind_of(self, seq: int) -> str | None:
        """Return the kind of the record `seq`, even if its other columns are damaged, or None if there is no record."""
        row = self._database.query_one("SELECT kind FROM records WHERE seq = ?", seq)
        return None if row is None else str(row[0])

    def find_same_text(self, seq: int, *, undone: bool) -> list[Record]:
        """Return the other corrections of the text of the record `seq`: the `undone` ones, or else all others.

        They have the same features, or the same text, since another version may extract other features. The oldest
        comes first. The records have no features.
        """
        digests = "SELECT digest FROM records WHERE seq = ? AND digest != ''"
        texts = f"SELECT text FROM records WHERE text IS NOT NULL AND (seq = ? OR digest IN ({digests}))"
        wanted = f"kind = 'correction' AND undone_by IS {'NOT ' if undone else ''}NULL AND records.seq != ?"
        where = f"{wanted} AND (digest IN ({digests}) OR text IN ({texts}))"
        query = f"{SELECT_WITHOUT_FEATURES} WHERE {where} ORDER BY seq"
        return read_records(self._database, query, seq, seq, seq, seq)

    def read_undone(self, after: int = 0) -> dict[int, int]:
        """Return a mapping from undone records to the records that undid them, if these come `after` a number.

        It is read from the undo and skip records, not from the marks on the undone ones.
        """
        query = f"SELECT undone.value, records.seq {_UNDONE} ORDER BY records.seq"
        return dict(self._database.query(query, after))

    def has_undone(self, position: int) -> bool:
        """Return whether a record up to a `position` was undone, or skipped, by a record after it."""
        query = f"SELECT 1 {_UNDONE} AND undone.value <= ? LIMIT 1"
        return self._database.query_one(query, position, position) is not None

    def find_damage(self) -> list[str]:
        """Return the first problem of the records; an empty list means that none is missing and all seals match."""
        try:
            undone = self.read_undone()
            marks = {record.seq: record.undone_by for record in self.read() if record.undone_by is not None}
        except JournalError as error:
            return [error.message()]
        return [
            f"record {seq} is not marked as its undo record says" for seq, _ in sorted(marks.items() ^ undone.items())
        ][:1]


def _check_id(id: str) -> None:
    """Raise a JournalError if a record may not have this id."""
    if not 0 < len(id) <= MAX_ID_LENGTH:
        raise JournalError("the id {id} is not valid", hint=f"allowed: 1 to {MAX_ID_LENGTH} characters", id=id[:20])
