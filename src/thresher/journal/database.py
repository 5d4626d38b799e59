"""The journal as a SQLite database with one writer: it stores each correction before `JournaledModel` applies it.

A record changes in two ways only: a later record may mark it as undone, and its text may be forgotten.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from thresher.errors import JournalBrokenError, JournalBusyError, JournalError, JournalFullError, printable
from thresher.journal import documents
from thresher.journal.lock import LOCK, note_closed, note_open, take_lock
from thresher.journal.record import (
    DamagedError,
    Record,
    pack,
    pack_features,
    seal,
    unpack,
    unpack_body,
)
from thresher.journal.schema import SEALED, set_up
from thresher.support.atomic_file import sync_folder
from thresher.support.filesystem import file_system_of, is_remote, reason_to_distrust

__all__ = ["ADDRESS", "FILE", "LONGEST_ID", "Journal", "Record", "exported"]

FILE, PAGE = "journal.sqlite3", 500
_FEW = 20
_ACTIVE = "FROM records WHERE kind = 'correction' AND undone_by IS NULL"
ADDRESS = "service.json"  # the address of the service that holds the journal, for the command line
_WHOLE = "records.seq, id, kind, time, user, body, text, features, digest, undone_by, coalesce(seal, 'gone')"
_LIGHT = "records.seq, id, kind, time, user, body, text, NULL, digest, undone_by, NULL"  # not checked: no features
_RECORDS = f"SELECT {_WHOLE}, effect FROM records LEFT JOIN effects USING (seq)"
LONGEST_ID = 200
_BROKEN = ("SQLITE_IOERR", "SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_READONLY", "SQLITE_CANTOPEN")  # errors of a write


class Journal:
    """The journal in a folder, locked by this process until it is closed.

    Parameters
    ----------
    folder : path
        The folder of the database and its lock file.
    create : bool
        Whether to create a journal if there is none.
    anyway : bool
        Whether to accept a folder on a network file system, or one that other users could have put files into.

    Attributes
    ----------
    anyway : bool
        The value of the parameter.
    lost_log : bool
        Whether the last process was killed and its write-ahead log, with the last records, has been deleted since.
    """

    _writing = False

    def __init__(self, folder: str | os.PathLike[str], *, create: bool = False, anyway: bool = False) -> None:
        self.folder, self.anyway = Path(folder), anyway
        self.path = self.folder / FILE
        if not self.is_in(folder) and not create:
            raise JournalError(f"{self.folder}: there is no journal here")
        if not self.folder.exists():
            self.folder.mkdir(mode=0o700, exist_ok=True)
            sync_folder(self.folder.parent)
        self._check_place()
        self._lock, left_open = take_lock(self.folder / LOCK)
        try:
            self._check_is_whole()
            self.lost_log = left_open and not self._files()[1].exists()
            self._connection = self._opened()
            note_open(self._lock)
            self._inodes = {path: inode for path in self._files() if (inode := _inode(path)) is not None}
        except BaseException:
            os.close(self._lock)
            raise

    def _check_place(self) -> None:
        """Raise a JournalError if locks may not work in the folder, or other users could have put files into it."""
        kind = file_system_of(self.folder)
        if is_remote(kind) and not self.anyway:
            risk = "is not known to be local, and its locks and syncs may not hold"
            advice = "keep the journal on a local disk with --journal, or take the risk with --journal-anyway"
            raise JournalError(f"{self.folder}: its file system, {kind}, {risk} ({advice})")
        if not self.anyway and (reason := reason_to_distrust(self.folder)):
            raise JournalError(f"{reason.removesuffix(')')}, or take the risk with --journal-anyway)")

    @staticmethod
    def is_in(folder: str | os.PathLike[str]) -> bool:
        """Return whether there is a journal in a `folder`; empty files do not count."""
        files = (Path(folder) / FILE, Path(folder) / f"{FILE}-wal")
        return any(file.exists() and file.stat().st_size > 0 for file in files)

    def _files(self) -> tuple[Path, Path]:
        """Return the paths of the database and its write-ahead log, which holds the last writes."""
        return self.path, self.path.with_name(f"{FILE}-wal")

    def _check_is_whole(self) -> None:
        """Raise a JournalError for a log without its database, and for a backup next to the log of another journal.

        SQLite would delete the log in the first case, and mix the two in the second. A database with a log is always in
        WAL mode, and a backup is not.
        """
        path, log = self._files()
        if log.exists() and not path.exists():
            raise JournalError(f"{path}: is gone, and its log is still here (put it back; without it the log is lost)")
        if log.exists() and log.stat().st_size > 0 and _is_in_rollback_mode(path):
            advice = f"put the whole folder of the backup in place of this one, or move {log.name} away"
            raise JournalError(f"{path}: is a backup, and the log next to it is of another journal ({advice})")

    def _check_is_there(self) -> None:
        """Raise a JournalBrokenError if the files were deleted, moved or replaced, as writes to them would be lost."""
        for path, inode in self._inodes.items():
            if _inode(path) != inode:
                raise JournalBrokenError(f"{path}: was deleted or moved while it was in use (put it back, start again)")

    def _opened(self) -> sqlite3.Connection:
        with self.naming_errors():
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=0)
            try:
                set_up(connection, self.path)
            except MemoryError:  # SQLite also reports this for corrupt files
                connection.close()
                raise JournalError(f"{self.path}: cannot be opened: it is damaged, or no memory is left") from None
            except BaseException:
                connection.close()
                raise
        return connection

    def close(self) -> None:
        """Close the journal and release its lock."""
        if self._lock >= 0:
            note_closed(self._lock)
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
        undoes: Sequence[int] = (),
        effects: Mapping[int, dict[str, Any]] | None = None,
    ) -> Record:
        """Write one record and return it once it is on the disk; if the id is known, return the existing record.

        `id`, `kind`, `user`, `body`, `text`, `features` and `digest` are those of `Record`. The records in `undoes` are
        marked as undone by the new one.

        The same transaction writes the `effects` of earlier records. It marks the document to review that the body
        names as done. It reopens a document if the record undoes its last correction.
        """
        if not 0 < len(id) <= LONGEST_ID:
            raise JournalError(f"the id {id[:20]!r} is not valid (allowed: 1 to {LONGEST_ID} characters)")
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self.transaction() as connection:
            known = self.by_id(id)
            if known is not None:
                return known
            seq = self.last() + 1
            values = (seq, id, kind, time, user, pack(body), pack(text), pack_features(features), digest, None)
            places = ", ".join("?" * len(values))
            connection.execute(f"INSERT INTO records VALUES ({places}, ?)", (*values, seal(*values)))
            for undone in undoes:
                self._change(undone, "undone_by", seq)
            if undoes:
                documents.reopen(connection, undoes)
            if "document" in body:
                documents.mark_done(connection, body["document"])
            self._write_effects(effects or {})
        return Record(seq, id, kind, time, user, body, text, features, digest, None)

    def keep_effects(self, effects: Mapping[int, dict[str, Any]]) -> None:
        """Write the `effects` of records, given by record number."""
        if effects:
            with self.transaction():
                self._write_effects(effects)

    def _write_effects(self, effects: Mapping[int, dict[str, Any]]) -> None:
        values = [(seq, len(effect["mistakes"]) > 0, pack(effect)) for seq, effect in effects.items()]
        self._connection.executemany("INSERT OR REPLACE INTO effects VALUES (?, ?, ?)", values)
        wrong = [(name, seq) for seq, effect in effects.items() for name in effect["mistakes"]]
        self._connection.executemany("INSERT OR IGNORE INTO mistakes VALUES (?, ?)", wrong)

    def forget_text(self, seq: int, features: list[tuple[str, int]] | None = None) -> None:
        """Delete the text of the record `seq`, and the documents to review with the same text.

        `features` replace those of the record, in the order of the replay. If None, the features stay.
        """
        with self.transaction() as connection:
            documents.forget(connection, seq)
            if features is not None:
                self._change(seq, "features", pack_features(features))
            self._change(seq, "text", None)
        self._rewrite()

    def forget_correction(self, seq: int) -> None:
        """Delete all data about the text from the undone record `seq`; its number and id stay."""
        with self.transaction() as connection:
            documents.forget(connection, seq)
            connection.execute("DELETE FROM effects WHERE seq = ?", (seq,))
            connection.execute("DELETE FROM mistakes WHERE seq = ?", (seq,))
            empty: dict[str, Any] = {"text": None, "features": None, "digest": ""}
            for column, value in (empty | {"body": pack({"accept": [], "reject": []})}).items():
                self._change(seq, column, value)
        self._rewrite()

    def _rewrite(self) -> None:
        """Rewrite the database without deleted data, and empty the log, which would still hold them."""
        with self.naming_errors():
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _change(self, seq: int, column: str, value: int | str | bytes | None) -> None:
        """Change a column of a record and renew its seal; a record that was damaged before gets an empty seal."""
        whole = self._one(f"SELECT seal = {SEALED} FROM records WHERE seq = ?", seq)
        self._connection.execute(f"UPDATE records SET {column} = ? WHERE seq = ?", (value, seq))
        sealed = SEALED if whole == (1,) else "''"
        self._connection.execute(f"UPDATE records SET seal = {sealed} WHERE seq = ?", (seq,))

    def set_fact(self, name: str, value: str) -> None:
        """Store a `value` about the journal as a whole under a `name`."""
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in a transaction, which is on the disk when the block ends, or rolled back on an error."""
        self._check_is_there()
        self._writing = True
        try:
            with self.naming_errors():
                if self._connection.in_transaction:  # memory was too short to roll back the last one
                    self._connection.execute("ROLLBACK")
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
        finally:
            self._writing = False

    # -- reading -----------------------------------------------------------------------------------------------------

    def last(self) -> int:
        """Return the number of the last record, or 0 if there are no records."""
        return int(self._one("SELECT coalesce(max(seq), 0) FROM records")[0])

    def by_seq(self, seq: int) -> Record | None:
        """Return the record with the number `seq`, or None."""
        row = self._one(f"{_RECORDS} WHERE seq = ?", seq)
        return None if row is None else self._unpacked([row])[0]

    def by_id(self, id: str) -> Record | None:
        """Return the record with that `id`, or None."""
        row = self._one(f"{_RECORDS} WHERE id = ?", id)
        return None if row is None else self._unpacked([row])[0]

    def records(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """Yield the records `after` a number in order, at most `limit`; read few at a time, as texts may be long."""
        after = max(after, 0)
        while limit is None or limit > 0:
            size = _FEW if limit is None else min(_FEW, limit)
            page = self.query(f"{_RECORDS} WHERE seq > ? ORDER BY seq LIMIT ?", after, size)
            for row in page:
                after += 1
                if row[0] != after:
                    raise JournalError(f"{self.path}: record {after} is missing (restore a backup)")
                yield from self._unpacked([row])
            if len(page) < size:
                return
            limit = None if limit is None else limit - len(page)

    def oldest(self, after: int = 0, limit: int = PAGE) -> Iterator[Record]:
        """Yield the first `limit` records `after` a number, oldest first and without features, to show to a user.

        Texts may be long, so the records are read a few at a time.
        """
        return self._listed("seq > ? ORDER BY seq", after, limit)

    def newest(self, before: int | None = None, limit: int = PAGE) -> Iterator[Record]:
        """Yield the last `limit` records, or the last ones `before` a number, newest first and without features."""
        return self._listed("seq < ? ORDER BY seq DESC", self.last() + 1 if before is None else before, limit)

    def _listed(self, where: str, place: int, limit: int) -> Iterator[Record]:
        query = f"{_RECORDS} WHERE {where} LIMIT ?".replace(_WHOLE, _LIGHT)
        while rows := self.query(query, place, min(limit, _FEW)):
            yield from self._unpacked(rows)
            place, limit = rows[-1][0], limit - len(rows)

    def of_kind(self, kind: str) -> list[Record]:
        """Return all records of a `kind`."""
        return self._unpacked(self.query(f"{_RECORDS} WHERE kind = ? ORDER BY seq", kind))

    def mistakes_of(self, names: list[str], limit: int) -> list[Record]:
        """Return the last `limit` corrections of a mistake in one of the categories `names`, without undone ones.

        The newest comes first. The records have no features.
        """
        places = ", ".join("?" * len(names))
        wrong = f"SELECT seq FROM mistakes WHERE category IN ({places})"
        query = f"{_RECORDS} WHERE records.seq IN ({wrong}) AND undone_by IS NULL ORDER BY seq DESC LIMIT ?"
        return self._unpacked(self.query(query.replace(_WHOLE, _LIGHT), *names, limit))

    def of_features(self, digest: str, limit: int = PAGE) -> list[Record]:
        """Return the last `limit` corrections of a text by the `digest` of its features, without undone ones.

        The oldest comes first. The records have no text and no features.
        """
        query = f"{_RECORDS} WHERE digest = ? AND kind = 'correction' AND undone_by IS NULL ORDER BY seq DESC LIMIT ?"
        query = query.replace(_WHOLE, _LIGHT.replace("text", "NULL"))
        return self._unpacked(reversed(self.query(query, digest, limit)))

    def same_text(self, seq: int, *, undone: bool) -> list[Record]:
        """Return the other corrections of the text of the record `seq`: the `undone` ones, or else all others.

        They have the same features, or the same text, since another version may extract other features. The oldest
        comes first. The records have no features.
        """
        digests = "SELECT digest FROM records WHERE seq = ? AND digest != ''"
        texts = f"SELECT text FROM records WHERE text IS NOT NULL AND (seq = ? OR digest IN ({digests}))"
        wanted = f"kind = 'correction' AND undone_by IS {'NOT ' if undone else ''}NULL AND records.seq != ?"
        query = f"{_RECORDS} WHERE {wanted} AND (digest IN ({digests}) OR text IN ({texts})) ORDER BY seq"
        return self._unpacked(self.query(query.replace(_WHOLE, _LIGHT), seq, seq, seq, seq))

    def taught(self, digests: Iterable[str]) -> set[str]:
        """Return those `digests` of features for which there is a correction that is not undone."""
        query = (
            "SELECT DISTINCT digest FROM records WHERE digest IN (SELECT value FROM json_each(?)) "
            "AND kind = 'correction' AND undone_by IS NULL"
        )
        return {digest for (digest,) in self.query(query, pack(list(digests)))}

    def bodies(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the numbers and bodies of all corrections that are not undone, much faster than full records."""
        rows = self.query("SELECT seq, body FROM records WHERE kind = 'correction' AND undone_by IS NULL ORDER BY seq")
        for seq, packed in rows:
            with self.naming_errors():
                body = unpack_body(seq, "correction", packed)
            yield seq, body

    def active(
        self, *, id: str | None = None, user: str | None = None, since: str | None = None, seq: int | None = None
    ) -> dict[int, str]:
        """Return the numbers and ids of the matching corrections that are not undone; the last one without conditions.

        `id` and `user` select by these. `since` selects corrections from a time on. `seq` selects a record by its
        number, which may also be a change of categories.
        """
        asked = {"id = ?": id, "user = ?": user, "time >= ?": since, "seq = ?": seq}
        known = {condition: value for condition, value in asked.items() if value is not None}
        wanted = "".join(f" AND {condition}" for condition in known)
        kinds = "('correction')" if seq is None else "('correction', 'categories')"
        query = f"SELECT seq, id FROM records WHERE kind IN {kinds} AND undone_by IS NULL{wanted}"
        order = "ORDER BY seq" if known else "ORDER BY seq DESC LIMIT 1"
        return dict(self.query(f"{query} {order}", *known.values()))

    def count_by_user(self, limit: int) -> dict[str, int]:
        """Return the number of corrections that are not undone, by user, for the `limit` users with the most."""
        query = f"SELECT user, count(*) {_ACTIVE} GROUP BY user ORDER BY count(*) DESC, min(seq) LIMIT ?"
        return dict(self.query(query, limit))

    def count_corrections(self) -> tuple[int, int]:
        """Return the number of corrections that are not undone, and of those that are."""
        ((active,),) = self.query(f"SELECT count(*) {_ACTIVE}")
        ((undone,),) = self.query("SELECT count(undone_by) FROM records WHERE kind = 'correction'")
        return active, undone

    def outcomes(self) -> list[tuple[int, bool | None]]:
        """Return for each correction that is not undone its number, and whether the model was wrong, if it is known."""
        return self.query(
            "SELECT seq, wrong FROM records LEFT JOIN effects USING (seq) "
            "WHERE kind = 'correction' AND undone_by IS NULL ORDER BY seq"
        )

    def kind_of(self, seq: int) -> str | None:
        """Return the kind of the record `seq`, even if its other columns are damaged, or None if there is no record."""
        row = self._one("SELECT kind FROM records WHERE seq = ?", seq)
        return None if row is None else str(row[0])

    def fact(self, name: str) -> str | None:
        """Return the value about the journal stored under that `name`, or None."""
        row = self._one("SELECT value FROM facts WHERE name = ?", name)
        return None if row is None else str(row[0])

    def undone(self, after: int = 0) -> dict[int, int]:
        """Return a mapping from undone records to the records that undid them, if these come `after` a number.

        It is read from the undo and skip records, not from the marks on the undone ones.
        """
        query = "SELECT undone.value, records.seq FROM records, json_each(body, '$.seqs') AS undone "
        return dict(
            self.query(f"{query} WHERE records.seq > ? AND kind IN ('undo', 'skip') ORDER BY records.seq", after)
        )

    def check(self) -> list[str]:
        """Return the problems of the database; an empty list means that it is intact and its seals match."""
        found = [line for (line,) in self.query("PRAGMA integrity_check") if line != "ok"]
        if found:
            return found
        try:
            undone = self.undone()
            marks = {record.seq: record.undone_by for record in self.records() if record.undone_by is not None}
        except JournalError as error:
            return [str(error).removeprefix(f"{self.path}: ")]
        return [f"record {seq} is not marked as it was undone" for seq, _ in sorted(marks.items() ^ undone.items())][:1]

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the journal to the file `path`; other threads may write to the journal meanwhile."""
        with self.naming_errors():
            copy = sqlite3.connect(path)
            try:
                self._connection.backup(copy, pages=256)
                copy.execute("PRAGMA journal_mode=DELETE").fetchall()  # a log next to the copy is never its own
            finally:
                copy.close()

    def query(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a `query` on the database; `values` replace its question marks."""
        with self.naming_errors():
            return self._connection.execute(query, values).fetchall()

    def _one(self, query: str, *values: Any) -> Any:
        with self.naming_errors():
            return self._connection.execute(query, values).fetchone()

    def _unpacked(self, rows: Iterable[tuple[Any, ...]]) -> list[Record]:
        with self.naming_errors():
            return list(map(unpack, rows))

    @contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Turn errors of SQLite and damaged records into errors of Thresher that name the file."""
        try:
            yield
        except DamagedError as error:
            raise JournalError(f"{self.path}: {error}") from None
        except UnicodeDecodeError:  # from a message of SQLite that quotes damaged data
            raise JournalError(f"{self.path}: it is damaged: what it holds is not UTF-8 (restore a backup)") from None
        except (UnicodeEncodeError, OverflowError):
            raise JournalError(f"{self.path}: it holds UTF-8, and numbers of 64 bits, and no others") from None
        except sqlite3.Error as error:
            said, name = f"{self.path}: {printable(str(error))}", getattr(error, "sqlite_errorname", "")
            if name == "SQLITE_FULL":
                raise JournalFullError(f"{said} (make room and send it again)") from None
            if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise JournalBusyError(f"{said} (another process has it open)") from None
            if name.startswith(_BROKEN if self._writing else "SQLITE_IOERR"):
                raise JournalBrokenError(f"{said} (look after the disk, then start again)") from None
            raise JournalError(said) from None


def exported(record: Record, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a correction as a document for training; `body` replaces its own, with current category names."""
    text = {"text": record.text} if isinstance(record.text, str) else dict(record.text)
    said = dict(record.body if body is None else body)
    for ours in ("document", "seeds_of"):
        said.pop(ours, None)
    named = said.get("categories", said.get("accept"))
    about = {"id": record.id, "user": record.user, "time": record.time}
    return {"id": record.id} | text | ({"categories": named} if named or "categories" in said else {}) | said | about


def _is_in_rollback_mode(path: Path) -> bool:
    """Return whether a database is not in WAL mode, from the write version of the file format in its header."""
    with path.open("rb") as file:
        return file.read(20)[18:19] == b"\x01"


def _inode(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file, which identify it, or None if it does not exist."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
