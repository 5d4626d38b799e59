"""SELECT statements that read records with their effects; `EventLog` and `ActiveCorrections` add the conditions.

The columns of each are those that `unpack` takes. A statement that leaves columns out gives no seal, so its records are
not compared with theirs.
"""

from collections.abc import Iterable
from typing import Any

from thresher.journal.database import Database
from thresher.journal.record import Record, unpack

_HEAD, _SOURCE = "SELECT records.seq, id, kind, time, user, body", "FROM records LEFT JOIN effects USING (seq)"
SELECT_WHOLE = f"{_HEAD}, text, features, digest, undone_by, coalesce(seal, 'gone'), effect {_SOURCE}"
SELECT_WITHOUT_FEATURES = f"{_HEAD}, text, NULL, digest, undone_by, NULL, effect {_SOURCE}"
SELECT_WITHOUT_TEXT = f"{_HEAD}, NULL, NULL, digest, undone_by, NULL, effect {_SOURCE}"

PAGE_SIZE = 500  # records of a list, by default
FETCH_SIZE = 20  # records that are read at a time, as texts may be long


def read_records(database: Database, query: str, *values: Any) -> list[Record]:
    """Return the records of a `query` that begins with one of the SELECT statements."""
    return unpack_rows(database, database.query(query, *values))


def unpack_rows(database: Database, rows: Iterable[tuple[Any, ...]]) -> list[Record]:
    """Return the records of some rows; a damaged one raises a JournalError."""
    with database.name_errors():
        return list(map(unpack, rows))
