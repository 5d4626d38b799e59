"""Models as they were at some record of a journal, kept in its folder; a `Desk` begins with the newest of them."""

import os
import re
from pathlib import Path

from thresher.categorizer import Categorizer
from thresher.errors import JournalError, ModelFileError
from thresher.journal import Journal

_SNAPSHOT = re.compile(r"snapshot-(\d{10})\.thresher")


def snapshot_path(folder: Path, position: int) -> Path:
    """Return where the model after that many records is kept."""
    return folder / f"snapshot-{position:010}.thresher"


def position_of(path: Path) -> int:
    """Return after how many records a snapshot was made; -1 for a file that is none."""
    found = _SNAPSHOT.fullmatch(path.name)
    return int(found[1]) if found else -1


def snapshots_in(folder: str | os.PathLike[str]) -> list[Path]:
    """Return all snapshots of a folder, the oldest first."""
    return sorted(path for path in Path(folder).iterdir() if position_of(path) >= 0)


def restored(journal: Journal, remarks: list[str], before: int | None = None) -> tuple[Categorizer, int]:
    """Return the newest snapshot that can be read, up to before a record, and its position.

    Of each that cannot be read there is a remark.
    """
    for path in reversed(snapshots_in(journal.folder)):
        position = position_of(path)
        if position > journal.last() or (before is not None and position >= before):
            continue
        try:
            return Categorizer.load(path), position
        except ModelFileError as error:
            remarks.append(f"{error} (an older snapshot is taken)")
    raise JournalError(f"{journal.folder}: no snapshot can be read, not even the first")


def remove_undone(journal: Journal) -> None:
    """Remove snapshots that hold what was undone since, and what a process that was killed left unfinished."""
    undone = (
        "SELECT 1 FROM records, json_each(body, '$.seqs') AS undone "
        "WHERE records.seq > ? AND kind IN ('undo', 'skip') AND undone.value <= ? LIMIT 1"
    )
    for path in snapshots_in(journal.folder):
        position = position_of(path)
        if position > 0 and journal.query(undone, position, position):
            path.unlink()
    for path in journal.folder.glob(".snapshot-*.tmp"):
        path.unlink()
