"""Every correction of a model, on the disk before it is applied: a SQLite file with one writer. `Desk` holds one.

A record is never changed but in two ways: it may be marked as undone by a later one, and its text may be forgotten.
"""

import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from thresher.errors import JournalBrokenError, JournalBusyError, JournalError, JournalFullError
from thresher.journal_lock import LOCK, take_lock
from thresher.whole_file import sync_folder

APPLICATION_ID, VERSION = 0x54687265, 1  # "Thre"
FILE, PAGE = "journal.sqlite3", 500
ADDRESS = "service.json"  # where the service that has the journal answers, for the command line
KINDS = ("correction", "categories", "undo", "skip")
_PRAGMAS = {"locking_mode": "exclusive", "journal_mode": "wal", "synchronous": 2, "mmap_size": 0, "foreign_keys": 1}
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE records (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    time TEXT NOT NULL,
    user TEXT NOT NULL,
    body TEXT NOT NULL,
    text TEXT,
    features BLOB,
    digest TEXT NOT NULL,
    undone_by INTEGER REFERENCES records (seq)
) STRICT;
CREATE INDEX by_user ON records (user, time);
CREATE INDEX by_digest ON records (digest);
CREATE TABLE effects (
    seq INTEGER PRIMARY KEY REFERENCES records (seq),
    wrong INTEGER NOT NULL,
    effect TEXT NOT NULL
) STRICT;
CREATE TABLE documents (id TEXT PRIMARY KEY, text TEXT NOT NULL, state TEXT NOT NULL) STRICT;
"""
_RECORDS = "SELECT records.*, effect FROM records LEFT JOIN effects USING (seq)"
_LIGHT = "records.seq, id, kind, time, user, body, text, NULL, digest, undone_by"


LONGEST_ID = 200


class Record(NamedTuple):
    """One line of the journal.

    Parameters
    ----------
    seq : int
        Its place, from 1 on without a gap.
    id : str
        Made by whoever sent it: the same one twice is the same correction.
    kind : str
        One of KINDS.
    time, user : str
        When, in ISO 8601, and who.
    body : dict
        What is to be done: for a correction {"accept", "reject"} or {"categories"}.
    text : str, dict or None
        The text, or its fields; None where there was none or it has been forgotten.
    features : list of (name, count), or None
        What was found in the text, in the order of first sight.
    digest : str
        Of the features.
    undone_by : int or None
        The record that undid it.
    effect : dict or None
        What it changed, where that has been told: {"predicted", "mistakes", "promoted", "demoted"}.
    """

    seq: int
    id: str
    kind: str
    time: str
    user: str
    body: dict[str, Any]
    text: Any
    features: list[tuple[str, int]] | None
    digest: str
    undone_by: int | None
    effect: dict[str, Any] | None = None


class Journal:
    """The journal in a folder, owned by this process until it is closed.

    Parameters
    ----------
    folder : path
        Holds the file, and a lock that goes with the process.
    create : bool
        Whether to begin a journal where there is none.
    """

    def __init__(self, folder: str | os.PathLike[str], *, create: bool = False) -> None:
        self.folder = Path(folder)
        self.path = self.folder / FILE
        if not self.is_in(folder) and not create:
            raise JournalError(f"{self.folder}: there is no journal here")
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._lock = take_lock(self.folder / LOCK)
        try:
            self._connection = self._opened()
        except BaseException:
            os.close(self._lock)
            raise

    @staticmethod
    def is_in(folder: str | os.PathLike[str]) -> bool:
        """Tell whether there is a journal in a folder, and not the name of one alone."""
        files = (Path(folder) / FILE, Path(folder) / f"{FILE}-wal")
        return any(file.exists() and file.stat().st_size > 0 for file in files)

    def _opened(self) -> sqlite3.Connection:
        with self._naming():
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=0)
            try:
                self._set_up(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _set_up(self, connection: sqlite3.Connection) -> None:
        """Set what durability rests on and read it back; make the tables of a new file, and check those of an old."""
        for name, value in _PRAGMAS.items():
            connection.execute(f"PRAGMA {name}={value}").fetchall()  # to its end: only there does it say that it failed
            (found,) = connection.execute(f"PRAGMA {name}").fetchone() or (0,)
            if str(found).lower() != str(value):
                raise JournalError(f"{self.path}: SQLite has {name}={found}, and durability needs {value}")
        (mark,), (version,) = (connection.execute(f"PRAGMA {n}").fetchone() for n in ("application_id", "user_version"))
        if mark == 0 and version == 0 and not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
            pragmas = f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={VERSION};"
            connection.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}{pragmas}COMMIT;")
            sync_folder(self.folder)
        elif mark != APPLICATION_ID:
            raise JournalError(f"{self.path}: this is not a journal of Thresher's")
        elif version > VERSION:
            raise JournalError(f"{self.path}: the journal is of a newer version (get a newer thresher)")

    def close(self) -> None:
        """Give the journal up."""
        if self._lock >= 0:
            self._connection.close()
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing -----------------------------------------------------------------------------------------------------

    def append(
        self,
        id: str,
        kind: str,
        user: str,
        body: dict[str, Any],
        *,
        text: Any = None,
        features: list[tuple[str, int]] | None = None,
        digest: str = "",
        undoes: Iterable[int] = (),
        effects: Mapping[int, dict[str, Any]] | None = None,
    ) -> Record:
        """Write one record and return it once it is on the disk; one whose id is known already is returned as it is.

        With it go the `effects` of records before. A document to review that its body names is done.
        """
        if not 0 < len(id) <= LONGEST_ID:
            raise JournalError(f"the id {id[:20]!r} is none (allowed: 1 to {LONGEST_ID} characters)")
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self.transaction() as connection:
            known = self.by_id(id)
            if known is not None:
                return known
            seq = self.last() + 1
            values = (seq, id, kind, time, user, _json(body), _json(text), _packed(features), digest)
            connection.execute(f"INSERT INTO records VALUES ({', '.join('?' * len(values))}, NULL)", values)
            for undone in undoes:
                connection.execute("UPDATE records SET undone_by = ? WHERE seq = ?", (seq, undone))
            if "document" in body:
                connection.execute("UPDATE documents SET state = 'done' WHERE id = ?", (body["document"],))
            self._write_effects(effects or {})
        return Record(seq, id, kind, time, user, body, text, features, digest, None)

    def keep_effects(self, effects: Mapping[int, dict[str, Any]]) -> None:
        """Write down what records changed."""
        if effects:
            with self.transaction():
                self._write_effects(effects)

    def _write_effects(self, effects: Mapping[int, dict[str, Any]]) -> None:
        values = [(seq, len(effect["mistakes"]) > 0, _json(effect)) for seq, effect in effects.items()]
        self._connection.executemany("INSERT OR REPLACE INTO effects VALUES (?, ?, ?)", values)

    def forget_text(self, seq: int) -> None:
        """Forget the text of a record, and the document to review that it was of; its features stay."""
        with self.transaction() as connection:
            document = "SELECT json_extract(body, '$.document') FROM records WHERE seq = ?"
            connection.execute(f"DELETE FROM documents WHERE id = ({document})", (seq,))
            connection.execute("DELETE FROM documents WHERE text = (SELECT text FROM records WHERE seq = ?)", (seq,))
            connection.execute("UPDATE records SET text = NULL WHERE seq = ?", (seq,))
        with self._naming():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.execute("VACUUM")

    def set_fact(self, name: str, value: str) -> None:
        """Keep something about the journal as a whole."""
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Let what is written in the block be on the disk when it ends, all of it or nothing."""
        with self._naming():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    # -- reading -----------------------------------------------------------------------------------------------------

    def last(self) -> int:
        """Return the place of the last record, 0 where there is none."""
        return int(self._one("SELECT coalesce(max(seq), 0) FROM records")[0])

    def by_id(self, id: str) -> Record | None:
        """Return the record of that id."""
        row = self._one(f"{_RECORDS} WHERE id = ?", id)
        return None if row is None else _record(row)

    def records(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """Yield records in their order, a page at a time."""
        while limit is None or limit > 0:
            size = PAGE if limit is None else min(PAGE, limit)
            page = self.query(f"{_RECORDS} WHERE seq > ? ORDER BY seq LIMIT ?", after, size)
            yield from map(_record, page)
            if len(page) < size:
                return
            after, limit = page[-1][0], None if limit is None else limit - len(page)

    def newest(self, before: int | None = None, limit: int = PAGE) -> list[Record]:
        """Return the last records, or the last before one, the newest first."""
        page = self.query(f"{_RECORDS} WHERE seq < ? ORDER BY seq DESC LIMIT ?", before or self.last() + 1, limit)
        return list(map(_record, page))

    def of_kind(self, kind: str) -> list[Record]:
        """Return all records of a kind."""
        return list(map(_record, self.query(f"{_RECORDS} WHERE kind = ? ORDER BY seq", kind)))

    def mistakes_of(self, names: list[str], limit: int) -> list[Record]:
        """Return the last corrections that stand and found one of these categories wrong, without their features."""
        places = ", ".join("?" * len(names))
        wrong = f"SELECT 1 FROM json_each(effect, '$.mistakes') WHERE value IN ({places})"
        query = f"{_RECORDS} WHERE wrong = 1 AND undone_by IS NULL AND EXISTS ({wrong}) ORDER BY seq DESC LIMIT ?"
        rows = self.query(query.replace("records.*", _LIGHT), *names, limit)
        return list(map(_record, rows))

    def of_features(self, digest: str) -> list[Record]:
        """Return the corrections of a text by the digest of its features, but for those undone."""
        query = f"{_RECORDS} WHERE digest = ? AND kind = 'correction' AND undone_by IS NULL ORDER BY seq"
        return list(map(_record, self.query(query, digest)))

    def fact(self, name: str) -> str | None:
        """Return what is kept about the journal under that name."""
        row = self._one("SELECT value FROM facts WHERE name = ?", name)
        return None if row is None else str(row[0])

    def check(self) -> list[str]:
        """Return what is wrong with the file; nothing if it is whole and its records stand without a gap."""
        with self._naming():
            found = [line for (line,) in self._connection.execute("PRAGMA integrity_check") if line != "ok"]
            (count,) = self._connection.execute("SELECT count(*) FROM records").fetchone()
        if not found and count != self.last():
            found.append(f"{self.last() - count} records are missing")
        return found

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the journal, which others may go on writing to meanwhile."""
        with self._naming():
            copy = sqlite3.connect(path)
            try:
                self._connection.backup(copy, pages=256)
            finally:
                copy.close()

    def query(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that a question to the database gives."""
        with self._naming():
            return self._connection.execute(query, values).fetchall()

    def _one(self, query: str, *values: Any) -> Any:
        with self._naming():
            return self._connection.execute(query, values).fetchone()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Turn what SQLite raises into errors of ours that name the file."""
        try:
            yield
        except sqlite3.Error as error:
            said, name = f"{self.path}: {error}", getattr(error, "sqlite_errorname", "")
            if name == "SQLITE_FULL":
                raise JournalFullError(f"{said} (make room and send it again)") from None
            if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise JournalBusyError(f"{said} (another process has it open)") from None
            if name.startswith("SQLITE_IOERR"):
                raise JournalBrokenError(f"{said} (look after the disk, then start again)") from None
            raise JournalError(said) from None


def exported(record: Record, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a correction as a document to train on or to learn; `body` has it in the names of now."""
    text = {"text": record.text} if isinstance(record.text, str) else dict(record.text)
    said = {name: value for name, value in (record.body if body is None else body).items() if name != "document"}
    named = said.get("categories", said.get("accept"))
    about = {"id": record.id, "user": record.user, "time": record.time}
    return {"id": record.id} | text | ({"categories": named} if named or "categories" in said else {}) | said | about


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _packed(features: list[tuple[str, int]] | None) -> bytes | None:
    return None if features is None else zlib.compress(json.dumps(features).encode())


def _record(row: tuple[Any, ...]) -> Record:
    seq, id, kind, time, user, body, text, packed, digest, undone_by, effect = row
    text = None if text is None else json.loads(text)
    features = None if packed is None else [(name, count) for name, count in json.loads(zlib.decompress(packed))]
    told = None if effect is None else json.loads(effect)
    return Record(seq, id, kind, time, user, json.loads(body), text, features, digest, undone_by, told)
