"""Every correction of a model, on the disk before it is applied: a SQLite file with one writer. `Desk` holds one.

A record is never changed but in two ways: it may be marked as undone by a later one, and its text may be forgotten.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from thresher.errors import JournalBrokenError, JournalBusyError, JournalError, JournalFullError, printable
from thresher.journal_lock import LOCK, note_closed, note_open, take_lock
from thresher.journal_record import (
    DamagedError,
    Record,
    pack,
    pack_features,
    seal,
    unpack,
    unpack_body,
    unpack_document,
)
from thresher.journal_schema import DOCUMENT, SEALED, set_up
from thresher.places import file_system_of, is_remote, reason_to_distrust
from thresher.whole_file import sync_folder

__all__ = ["ADDRESS", "FILE", "LONGEST_ID", "Journal", "Record", "exported"]

FILE, PAGE = "journal.sqlite3", 500
_FEW = 20
ADDRESS = "service.json"  # where the service that has the journal answers, for the command line
_WHOLE = "records.seq, id, kind, time, user, body, text, features, digest, undone_by, coalesce(seal, 'gone')"
_LIGHT = "records.seq, id, kind, time, user, body, text, NULL, digest, undone_by, NULL"  # with nothing to check
_RECORDS = f"SELECT {_WHOLE}, effect FROM records LEFT JOIN effects USING (seq)"
LONGEST_ID = 200
_BROKEN = ("SQLITE_IOERR", "SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_READONLY", "SQLITE_CANTOPEN")  # to who writes


class Journal:
    """The journal in a folder, owned by this process until it is closed.

    Parameters
    ----------
    folder : path
        Holds the file, and a lock that goes with the process.
    create : bool
        Whether to begin a journal where there is none.
    anyway : bool
        Whether to take a folder on a network file system too, or one that others could have put files into.

    Attributes
    ----------
    anyway : bool
        As given.
    lost_log : bool
        Whether the process that had it last was killed, and the log with what it wrote last has been deleted since.
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
        """Refuse a folder whose locks may not hold, or into which others could have put files."""
        kind = file_system_of(self.folder)
        if is_remote(kind) and not self.anyway:
            risk = "is not known to be local, and its locks and syncs may not hold"
            advice = "keep the journal on a local disk with --journal, or take the risk with --journal-anyway"
            raise JournalError(f"{self.folder}: its file system, {kind}, {risk} ({advice})")
        if not self.anyway and (reason := reason_to_distrust(self.folder)):
            raise JournalError(f"{reason.removesuffix(')')}, or take the risk with --journal-anyway)")

    @staticmethod
    def is_in(folder: str | os.PathLike[str]) -> bool:
        """Tell whether there is a journal in a `folder`, and not the name of one alone."""
        files = (Path(folder) / FILE, Path(folder) / f"{FILE}-wal")
        return any(file.exists() and file.stat().st_size > 0 for file in files)

    def _files(self) -> tuple[Path, Path]:
        """Return the database and its log, which holds what was written last."""
        return self.path, self.path.with_name(f"{FILE}-wal")

    def _check_is_whole(self) -> None:
        """Refuse a log without its database, which SQLite would throw away, and a backup with the log of another.

        SQLite would mix those two. A database that has a log is always in WAL mode, and a backup is not.
        """
        path, log = self._files()
        if log.exists() and not path.exists():
            raise JournalError(f"{path}: is gone, and its log is still here (put it back; without it the log is lost)")
        if log.exists() and log.stat().st_size > 0 and _is_in_rollback_mode(path):
            advice = f"put the whole folder of the backup in place of this one, or move {log.name} away"
            raise JournalError(f"{path}: is a backup, and the log next to it is of another journal ({advice})")

    def _check_is_there(self) -> None:
        """Refuse to write to files that were deleted, moved or replaced: nobody would find it there."""
        for path, inode in self._inodes.items():
            if _inode(path) != inode:
                raise JournalBrokenError(f"{path}: was deleted or moved while it was in use (put it back, start again)")

    def _opened(self) -> sqlite3.Connection:
        with self._naming():
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=0)
            try:
                set_up(connection, self.path)
            except MemoryError:  # which SQLite also says of files that make no sense
                connection.close()
                raise JournalError(f"{self.path}: cannot be opened: it is damaged, or no memory is left") from None
            except BaseException:
                connection.close()
                raise
        return connection

    def close(self) -> None:
        """Give the journal up."""
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
        """Write one record and return it once it is on the disk; one whose id is known already is returned as it is.

        `id`, `kind`, `user`, `body`, `text`, `features` and `digest` are those of `Record`; the records `undoes` are
        marked as undone by it.

        With it go the `effects` of records before. A document to review that its body names is done; one whose last
        correction it undoes is open again.
        """
        if not 0 < len(id) <= LONGEST_ID:
            raise JournalError(f"the id {id[:20]!r} is none (allowed: 1 to {LONGEST_ID} characters)")
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
                self._reopen_documents(undoes)
            if "document" in body:
                connection.execute("UPDATE documents SET state = 'done' WHERE id = ?", (body["document"],))
            self._write_effects(effects or {})
        return Record(seq, id, kind, time, user, body, text, features, digest, None)

    def _reopen_documents(self, undone: Sequence[int]) -> None:
        """Let documents of records that were undone be reviewed again, unless another of their corrections stands."""
        those = f"SELECT {DOCUMENT} FROM records WHERE seq IN (SELECT value FROM json_each(?))"
        # The plus takes the column's affinity away, or else SQLite could not use the index on the expression.
        corrected = f"SELECT 1 FROM records WHERE {DOCUMENT} = +documents.id AND undone_by IS NULL"
        query = f"UPDATE documents SET state = 'open' WHERE id IN ({those}) AND NOT EXISTS ({corrected})"
        self._connection.execute(query, (pack(list(undone)),))

    def keep_effects(self, effects: Mapping[int, dict[str, Any]]) -> None:
        """Write down what records changed: their `effects` by number."""
        if effects:
            with self.transaction():
                self._write_effects(effects)

    def _write_effects(self, effects: Mapping[int, dict[str, Any]]) -> None:
        values = [(seq, len(effect["mistakes"]) > 0, pack(effect)) for seq, effect in effects.items()]
        self._connection.executemany("INSERT OR REPLACE INTO effects VALUES (?, ?, ?)", values)
        wrong = [(name, seq) for seq, effect in effects.items() for name in effect["mistakes"]]
        self._connection.executemany("INSERT OR IGNORE INTO mistakes VALUES (?, ?)", wrong)

    def forget_text(self, seq: int, features: list[tuple[str, int]] | None = None) -> None:
        """Forget the text of the record `seq`, and the documents to review with this text.

        `features` replace those of the record, in the order in which they are to be replayed; without any they stay.
        """
        with self.transaction():
            self._forget_documents(seq)
            if features is not None:
                self._change(seq, "features", pack_features(features))
            self._change(seq, "text", None)
        self._rewrite()

    def forget_correction(self, seq: int) -> None:
        """Forget all that the record `seq`, which was undone, holds of its text; its number and id stay."""
        with self.transaction() as connection:
            self._forget_documents(seq)
            connection.execute("DELETE FROM effects WHERE seq = ?", (seq,))
            connection.execute("DELETE FROM mistakes WHERE seq = ?", (seq,))
            empty: dict[str, Any] = {"text": None, "features": None, "digest": ""}
            for column, value in (empty | {"body": pack({"accept": [], "reject": []})}).items():
                self._change(seq, column, value)
        self._rewrite()

    def _forget_documents(self, seq: int) -> None:
        document = "SELECT json_extract(body, '$.document') FROM records WHERE seq = ?"
        self._connection.execute(f"DELETE FROM documents WHERE id = ({document})", (seq,))
        self._connection.execute("DELETE FROM documents WHERE text = (SELECT text FROM records WHERE seq = ?)", (seq,))

    def _rewrite(self) -> None:
        """Write the file again without what was deleted; the log holds it until it is emptied."""
        with self._naming():
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _change(self, seq: int, column: str, value: int | str | bytes | None) -> None:
        """Change a column of a record, and seal it again; one that was damaged before has no seal from then on."""
        whole = self._one(f"SELECT seal = {SEALED} FROM records WHERE seq = ?", seq)
        self._connection.execute(f"UPDATE records SET {column} = ? WHERE seq = ?", (value, seq))
        sealed = SEALED if whole == (1,) else "''"
        self._connection.execute(f"UPDATE records SET seal = {sealed} WHERE seq = ?", (seq,))

    def set_fact(self, name: str, value: str) -> None:
        """Keep a `value` about the journal as a whole, under a `name`."""
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Let what is written in the block be on the disk when it ends, all of it or nothing."""
        self._check_is_there()
        self._writing = True
        try:
            with self._naming():
                if self._connection.in_transaction:  # the last one found no memory to be rolled back
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
        """Return the place of the last record, 0 where there is none."""
        return int(self._one("SELECT coalesce(max(seq), 0) FROM records")[0])

    def by_seq(self, seq: int) -> Record | None:
        """Return the record with the number `seq`, if there is one."""
        row = self._one(f"{_RECORDS} WHERE seq = ?", seq)
        return None if row is None else self._unpacked([row])[0]

    def by_id(self, id: str) -> Record | None:
        """Return the record of that `id`, if there is one."""
        row = self._one(f"{_RECORDS} WHERE id = ?", id)
        return None if row is None else self._unpacked([row])[0]

    def records(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """Yield the records `after` one in their order, at most `limit`; reads few at a time, as texts may be long."""
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
        """Yield the first `limit` records, or the first `after` one, for someone who looks at them: without features.

        Texts may be long, so they are read a few at a time.
        """
        return self._listed("seq > ? ORDER BY seq", after, limit)

    def newest(self, before: int | None = None, limit: int = PAGE) -> Iterator[Record]:
        """Yield the last `limit` records, or the last `before` one, the newest first, as `oldest` does."""
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
        """Return the last `limit` corrections that stand and found one of the categories `names` wrong.

        They come without their features.
        """
        places = ", ".join("?" * len(names))
        wrong = f"SELECT seq FROM mistakes WHERE category IN ({places})"
        query = f"{_RECORDS} WHERE records.seq IN ({wrong}) AND undone_by IS NULL ORDER BY seq DESC LIMIT ?"
        return self._unpacked(self.query(query.replace(_WHOLE, _LIGHT), *names, limit))

    def of_features(self, digest: str, limit: int = PAGE) -> list[Record]:
        """Return the last `limit` corrections of a text by the `digest` of its features, but for those undone.

        They come in their order, without the text.
        """
        query = f"{_RECORDS} WHERE digest = ? AND kind = 'correction' AND undone_by IS NULL ORDER BY seq DESC LIMIT ?"
        query = query.replace(_WHOLE, _LIGHT.replace("text", "NULL"))
        return self._unpacked(reversed(self.query(query, digest, limit)))

    def same_text(self, seq: int, *, undone: bool) -> list[Record]:
        """Return the other corrections of the text of the record `seq`: those that were `undone`, or those that stand.

        They have the same features or, as another version may have found others, the same text. They come in their
        order, without their features.
        """
        digests = "SELECT digest FROM records WHERE seq = ? AND digest != ''"
        texts = f"SELECT text FROM records WHERE text IS NOT NULL AND (seq = ? OR digest IN ({digests}))"
        wanted = f"kind = 'correction' AND undone_by IS {'NOT ' if undone else ''}NULL AND records.seq != ?"
        query = f"{_RECORDS} WHERE {wanted} AND (digest IN ({digests}) OR text IN ({texts})) ORDER BY seq"
        return self._unpacked(self.query(query.replace(_WHOLE, _LIGHT), seq, seq, seq, seq))

    def taught(self, digests: Iterable[str]) -> set[str]:
        """Return those of the `digests` of features that a correction has which is not undone."""
        query = (
            "SELECT DISTINCT digest FROM records WHERE digest IN (SELECT value FROM json_each(?)) "
            "AND kind = 'correction' AND undone_by IS NULL"
        )
        return {digest for (digest,) in self.query(query, pack(list(digests)))}

    def bodies(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the places and bodies of the corrections that stand, which is much faster than all of their records."""
        rows = self.query("SELECT seq, body FROM records WHERE kind = 'correction' AND undone_by IS NULL ORDER BY seq")
        for seq, packed in rows:
            with self._naming():
                body = unpack_body(seq, "correction", packed)
            yield seq, body

    def documents(self) -> Iterator[tuple[str, Any, str]]:
        """Yield the documents to review: id, text and state."""
        for id, packed, state in self.query("SELECT id, text, state FROM documents ORDER BY rowid"):
            with self._naming():
                text = unpack_document(id, packed)
            yield id, text, state

    def fact(self, name: str) -> str | None:
        """Return what is kept about the journal under that `name`."""
        row = self._one("SELECT value FROM facts WHERE name = ?", name)
        return None if row is None else str(row[0])

    def undone(self, after: int = 0) -> dict[int, int]:
        """Return which records were taken back by one `after` another, and by which, as those say who did."""
        query = "SELECT undone.value, records.seq FROM records, json_each(body, '$.seqs') AS undone "
        return dict(
            self.query(f"{query} WHERE records.seq > ? AND kind IN ('undo', 'skip') ORDER BY records.seq", after)
        )

    def check(self) -> list[str]:
        """Return what is wrong with the file; nothing if it is whole, and its records are what was written."""
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
        """Write a copy of the journal, which others may go on writing to meanwhile, to the file `path`."""
        with self._naming():
            copy = sqlite3.connect(path)
            try:
                self._connection.backup(copy, pages=256)
                copy.execute("PRAGMA journal_mode=DELETE").fetchall()  # no log that it may be put next to is its own
            finally:
                copy.close()

    def query(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that a `query` of the database gives; `values` stand for its question marks."""
        with self._naming():
            return self._connection.execute(query, values).fetchall()

    def _one(self, query: str, *values: Any) -> Any:
        with self._naming():
            return self._connection.execute(query, values).fetchone()

    def _unpacked(self, rows: Iterable[tuple[Any, ...]]) -> list[Record]:
        with self._naming():
            return list(map(unpack, rows))

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Turn what SQLite raises, or what is damaged, into errors of ours that name the file."""
        try:
            yield
        except DamagedError as error:
            raise JournalError(f"{self.path}: {error}") from None
        except UnicodeDecodeError:  # which comes of what SQLite says, as that repeats what it found
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
    """Return a correction as a document to train on or to learn; `body` has it in the names of now."""
    text = {"text": record.text} if isinstance(record.text, str) else dict(record.text)
    said = dict(record.body if body is None else body)
    for ours in ("document", "seeds_of"):
        said.pop(ours, None)
    named = said.get("categories", said.get("accept"))
    about = {"id": record.id, "user": record.user, "time": record.time}
    return {"id": record.id} | text | ({"categories": named} if named or "categories" in said else {}) | said | about


def _is_in_rollback_mode(path: Path) -> bool:
    """Tell whether a database has no log, by the file format version for writing in its header."""
    with path.open("rb") as file:
        return file.read(20)[18:19] == b"\x01"


def _inode(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from any other; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
