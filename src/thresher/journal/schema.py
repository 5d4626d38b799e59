"""The tables of a journal database, its upgrades, and the pragmas that make it durable."""

import sqlite3
from pathlib import Path

from thresher.errors import JournalError
from thresher.journal.record import seal
from thresher.support.atomic_file import sync_folder

APPLICATION_ID, VERSION = 0x54687265, 3  # "Thre"
DOCUMENT = "CASE WHEN json_valid(body) THEN json_extract(body, '$.document') END"  # a skipped record may be damaged
SEALED = "seal(seq, id, kind, time, user, body, text, features, digest, undone_by)"
_PRAGMAS = {
    "locking_mode": "exclusive",  # must come first: without it, even reading creates files
    "journal_mode": "wal",
    "synchronous": 2,
    "fullfsync": 1,  # otherwise macOS leaves synced data in the cache of the disk
    "checkpoint_fullfsync": 1,
    "mmap_size": 0,
    "foreign_keys": 1,
}
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
    undone_by INTEGER REFERENCES records (seq),
    seal TEXT NOT NULL DEFAULT ''
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
# The corrections of mistakes by category, and indexes for the kind and the document of a record.
_LOOKED_UP = f"""
CREATE TABLE mistakes (category TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (category, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX by_kind ON records (kind, seq);
CREATE INDEX by_document ON records ({DOCUMENT});
"""
_WRONG = "json_each(CASE WHEN json_valid(effect) THEN effect ELSE '{}' END, '$.mistakes')"
# The upgrade of each version to the next.
_UPGRADES = {
    1: f"ALTER TABLE records ADD COLUMN seal TEXT NOT NULL DEFAULT ''; UPDATE records SET seal = {SEALED};",
    2: f"{_LOOKED_UP} INSERT OR IGNORE INTO mistakes SELECT value, seq FROM effects, {_WRONG};",
}


def set_up(connection: sqlite3.Connection, path: Path) -> None:
    """Set and verify the pragmas of a connection; create the tables of a new file, or upgrade an old one.

    A file that is not a journal, or is of a newer version, raises a JournalError before anything is changed.
    """
    connection.create_function("seal", 10, seal)
    locking, *others = _PRAGMAS
    _set_pragma(connection, path, locking)
    is_new, version = _read_version(connection, path)
    for name in others:
        _set_pragma(connection, path, name)
    if is_new or version < VERSION:
        steps = _SCHEMA + _LOOKED_UP if is_new else "".join(_UPGRADES[old] for old in range(version, VERSION))
        pragmas = f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={VERSION};"
        connection.executescript(f"BEGIN IMMEDIATE;{steps}{pragmas}COMMIT;")
    # The log file is created again each time, and SQLite ignores a folder that it cannot sync.
    sync_folder(path.parent)


def _set_pragma(connection: sqlite3.Connection, path: Path, name: str) -> None:
    value = _PRAGMAS[name]
    connection.execute(f"PRAGMA {name}={value}").fetchall()  # SQLite reports a failure only at the end
    (actual,) = connection.execute(f"PRAGMA {name}").fetchone() or (0,)
    if str(actual).lower() != str(value):
        raise JournalError(f"SQLite has {name}={actual}, and durability needs {value}", path=path)


def _read_version(connection: sqlite3.Connection, path: Path) -> tuple[bool, int]:
    """Return whether a file is new, and its version; raise a JournalError if it is not a journal of a known version."""
    (mark,), (version,) = (connection.execute(f"PRAGMA {n}").fetchone() for n in ("application_id", "user_version"))
    if mark == 0 and version == 0 and not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
        return True, version
    if mark != APPLICATION_ID or version < 1:
        raise JournalError("this is not a Thresher journal", path=path)
    if version > VERSION:
        raise JournalError("the journal is of a newer version", path=path, hint="get a newer thresher")
    return False, version
