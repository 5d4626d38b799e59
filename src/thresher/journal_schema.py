"""The tables of a journal's file, and what its durability rests on. `Journal` sets a connection up with it."""

import sqlite3
from pathlib import Path

from thresher.errors import JournalError
from thresher.journal_record import seal
from thresher.whole_file import sync_folder

APPLICATION_ID, VERSION = 0x54687265, 3  # "Thre"
DOCUMENT = "CASE WHEN json_valid(body) THEN json_extract(body, '$.document') END"  # a record to skip may be damaged
SEALED = "seal(seq, id, kind, time, user, body, text, features, digest, undone_by)"
_PRAGMAS = {
    "locking_mode": "exclusive",  # the first: without it already looking makes files
    "journal_mode": "wal",
    "synchronous": 2,
    "fullfsync": 1,  # macOS keeps what is synced in the disk's own memory else
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
# Which corrections found a category wrong, and where the records of a kind and of a document are.
_LOOKED_UP = f"""
CREATE TABLE mistakes (category TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (category, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX by_kind ON records (kind, seq);
CREATE INDEX by_document ON records ({DOCUMENT});
"""
_WRONG = "json_each(CASE WHEN json_valid(effect) THEN effect ELSE '{}' END, '$.mistakes')"
# What takes a journal of each version to the next.
_UPGRADES = {
    1: f"ALTER TABLE records ADD COLUMN seal TEXT NOT NULL DEFAULT ''; UPDATE records SET seal = {SEALED};",
    2: f"{_LOOKED_UP} INSERT OR IGNORE INTO mistakes SELECT value, seq FROM effects, {_WRONG};",
}


def set_up(connection: sqlite3.Connection, path: Path) -> None:
    """Set what durability rests on and read it back; make the tables of a new file, and check those of an old.

    What is no journal, or one of a newer version, is refused before anything of it is changed.
    """
    connection.create_function("seal", 10, seal)
    locking, *others = _PRAGMAS
    _set(connection, path, locking)
    is_new, version = _looked_at(connection, path)
    for name in others:
        _set(connection, path, name)
    if is_new or version < VERSION:
        steps = _SCHEMA + _LOOKED_UP if is_new else "".join(_UPGRADES[old] for old in range(version, VERSION))
        pragmas = f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={VERSION};"
        connection.executescript(f"BEGIN IMMEDIATE;{steps}{pragmas}COMMIT;")
    # The log has its name anew each time, and SQLite passes over a folder that it cannot sync.
    sync_folder(path.parent)


def _set(connection: sqlite3.Connection, path: Path, name: str) -> None:
    value = _PRAGMAS[name]
    connection.execute(f"PRAGMA {name}={value}").fetchall()  # to its end: only there does it say that it failed
    (found,) = connection.execute(f"PRAGMA {name}").fetchone() or (0,)
    if str(found).lower() != str(value):
        raise JournalError(f"{path}: SQLite has {name}={found}, and durability needs {value}")


def _looked_at(connection: sqlite3.Connection, path: Path) -> tuple[bool, int]:
    """Tell whether a file is new, and which version it has; refuse what is no journal of a version that is known."""
    (mark,), (version,) = (connection.execute(f"PRAGMA {n}").fetchone() for n in ("application_id", "user_version"))
    if mark == 0 and version == 0 and not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
        return True, version
    if mark != APPLICATION_ID or version < 1:
        raise JournalError(f"{path}: this is not a journal of Thresher's")
    if version > VERSION:
        raise JournalError(f"{path}: the journal is of a newer version (get a newer thresher)")
    return False, version
