"""The SQLite database of a journal, with one owner: files, lock, connection, transactions, and names for its errors.

`Journal` opens it. The parts of the journal (`EventLog`, `ReviewQueue` and others) share its connection.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import Any

from thresher.errors import JournalBrokenError, JournalBusyError, JournalError, JournalFullError, printable
from thresher.journal.lock import LOCK, note_closed, note_open, take_lock
from thresher.journal.record import DamagedError
from thresher.journal.schema import set_up
from thresher.support.atomic_file import sync_folder
from thresher.support.filesystem import find_distrust, find_file_system, is_remote

FILE = "journal.sqlite3"
ADDRESS = "service.json"  # the address of the service that holds the journal, for the command line
_FATAL_ON_WRITE = ("SQLITE_IOERR", "SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_READONLY", "SQLITE_CANTOPEN")


class Database:
    """The database in a folder, locked by this process until it is closed.

    Parameters
    ----------
    folder : path
        The folder of the database and its lock file.
    create : bool
        Whether to create a database if there is none.
    anyway : bool
        Whether to accept a folder on a network file system, or one that other users could have put files into.

    Attributes
    ----------
    folder, path : Path
        The folder, and the path of the database in it.
    anyway : bool
        The value of the parameter.
    lost_log : bool
        Whether the last process was killed and its write-ahead log, with the last records, has been deleted since.
    """

    _writing_thread: int | None = None

    def __init__(self, folder: str | os.PathLike[str], *, create: bool = False, anyway: bool = False) -> None:
        self.folder, self.anyway = Path(folder), anyway
        self.path = self.folder / FILE
        if not self.is_in(folder) and not create:
            raise JournalError("there is no journal here", path=self.folder)
        if not self.folder.exists():
            self.folder.mkdir(mode=0o700, exist_ok=True)
            sync_folder(self.folder.parent)
        self._check_place()
        self._lock, left_open = take_lock(self.folder / LOCK)
        try:
            self._check_is_whole()
            self.lost_log = left_open and not self._files()[1].exists()
            self._connection = self._connect()
            note_open(self._lock)
            self._inodes = {path: inode for path in self._files() if (inode := _inode(path)) is not None}
        except BaseException:
            os.close(self._lock)
            raise

    @staticmethod
    def is_in(folder: str | os.PathLike[str]) -> bool:
        """Return whether there is a journal in a `folder`; empty files do not count."""
        files = (Path(folder) / FILE, Path(folder) / f"{FILE}-wal")
        return any(file.exists() and file.stat().st_size > 0 for file in files)

    def _check_place(self) -> None:
        """Raise a JournalError if locks may not work in the folder, or other users could have put files into it."""
        kind = find_file_system(self.folder)
        if is_remote(kind) and not self.anyway:
            risk = "is not known to be local, and its locks and syncs may not hold"
            advice = "keep the journal on a local disk with {folder}, or take the risk with {anyway=True}"
            raise JournalError(f"its file system, {kind}, {risk}", path=self.folder, hint=advice)
        if not self.anyway and (distrust := find_distrust(self.folder)):
            hint = f"{distrust.hint}, or take the risk with {{anyway=True}}"
            raise JournalError(distrust.problem, path=distrust.path, hint=hint)

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
            raise JournalError(
                "is gone, and its log is still here", path=path, hint="put it back; without it the log is lost"
            )
        if log.exists() and log.stat().st_size > 0 and _is_in_rollback_mode(path):
            advice = f"put the whole folder of the backup in place of this one, or move {log.name} away"
            raise JournalError("is a backup, and the log next to it is of another journal", path=path, hint=advice)

    def _check_is_there(self) -> None:
        """Raise a JournalBrokenError if the files were deleted, moved or replaced, as writes to them would be lost."""
        for path, inode in self._inodes.items():
            if _inode(path) != inode:
                raise JournalBrokenError(
                    "was deleted or moved while it was in use", path=path, hint="put it back, start again"
                )

    def _connect(self) -> sqlite3.Connection:
        with self.name_errors():
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=0)
            try:
                set_up(connection, self.path)
            except MemoryError:  # SQLite also reports this for corrupt files
                connection.close()
                raise JournalError("cannot be opened: it is damaged, or no memory is left", path=self.path) from None
            except BaseException:
                connection.close()
                raise
        return connection

    def close(self) -> None:
        """Close the database and release its lock."""
        if self._lock >= 0:
            note_closed(self._lock)
            self._connection.close()
            os.close(self._lock)
            self._lock = -1

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in a transaction, which is on the disk when the block ends, or rolled back on an error.

        A transaction within another one is a part of that: what it writes is on the disk when the outer one ends.
        """
        if self._writing_thread == get_ident():
            yield self._connection
            return
        if self._writing_thread is not None:
            raise RuntimeError("two threads write to a journal")
        self._check_is_there()
        self._writing_thread = get_ident()
        try:
            with self.name_errors():
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
            self._writing_thread = None

    def query(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a `query`; `values` replace its question marks."""
        with self.name_errors():
            return self._connection.execute(query, values).fetchall()

    def query_one(self, query: str, *values: Any) -> tuple[Any, ...] | None:
        """Return the first row of a `query`, or None; `values` replace its question marks."""
        with self.name_errors():
            row: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
            return row

    def rewrite(self) -> None:
        """Rewrite the file without deleted data, and empty the log, which would still hold them."""
        with self.name_errors():
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def find_damage(self) -> list[str]:
        """Return the problems that SQLite finds in the file; an empty list means that it is intact."""
        return [line for (line,) in self.query("PRAGMA integrity_check") if line != "ok"]

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the database to the file `path`; other threads may write to the database meanwhile."""
        with self.name_errors():
            copy = sqlite3.connect(path)
            try:
                self._connection.backup(copy, pages=256)
                copy.execute("PRAGMA journal_mode=DELETE").fetchall()  # a log next to the copy is never its own
            finally:
                copy.close()

    @contextmanager
    def name_errors(self) -> Iterator[None]:
        """Turn errors of SQLite and damaged records into errors of Thresher that name the file."""
        try:
            yield
        except DamagedError as error:
            raise JournalError(str(error), path=self.path) from None
        except UnicodeDecodeError:  # from a message of SQLite that quotes damaged data
            raise JournalError(
                "it is damaged: what it holds is not UTF-8", path=self.path, hint="restore a backup"
            ) from None
        except (UnicodeEncodeError, OverflowError):
            raise JournalError("it holds UTF-8, and numbers of 64 bits, and no others", path=self.path) from None
        except sqlite3.Error as error:
            said, name = printable(str(error)), getattr(error, "sqlite_errorname", "")
            if name == "SQLITE_FULL":
                raise JournalFullError(said, path=self.path, hint="make room and send it again") from None
            if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise JournalBusyError(said, path=self.path, hint="another process has it open") from None
            if name.startswith(_FATAL_ON_WRITE if self._writing_thread else "SQLITE_IOERR"):
                hint = "look after the disk, then start again"
                raise JournalBrokenError(said, path=self.path, hint=hint) from None
            raise JournalError(said, path=self.path) from None


def _is_in_rollback_mode(path: Path) -> bool:
    """Return whether a database is not in WAL mode, from the write version of the file format in its header."""
    with path.open("rb") as file:
        return file.read(20)[18:19] == b"\x01"


def _inode(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file, which identify it, or None if it does not exist."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_dev, stat.st_ino
