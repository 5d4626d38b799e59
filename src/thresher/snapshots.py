"""Models as they were at some record of a journal, kept in its folder; a `Desk` begins with the newest of them."""

import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from thresher.categorizer import Categorizer
from thresher.errors import JournalError, ModelFileError
from thresher.journal import Journal
from thresher.whole_file import remove_folder_left, remove_halves, whole_file, whole_folder

SHARED = 0o640  # permissions of a snapshot, at most: as those of a model that has a journal
_NOTED = "snapshots"
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


def note(journal: Journal, position: int, digest: str) -> None:
    """Note that a snapshot is of this journal, and which model it holds; those that are gone are forgotten."""
    there = {position_of(path) for path in snapshots_in(journal.folder)}
    digests = {str(place): found for place, found in _noted(journal).items() if place in there}
    journal.set_fact(_NOTED, json.dumps(digests | {str(position): digest}))


def note_found(journal: Journal) -> None:
    """Note all snapshots of a journal that has noted none, as an older version wrote it."""
    if journal.fact(_NOTED) is None:
        for path in snapshots_in(journal.folder):
            with suppress(ModelFileError):
                note(journal, position_of(path), Categorizer.load(path).digest())


def _noted(journal: Journal) -> dict[int, str]:
    """Return the digests of a journal's snapshots by position; if its note is damaged, that of the first alone."""
    try:
        noted = {int(position): str(digest) for position, digest in json.loads(journal.fact(_NOTED) or "{}").items()}
    except (ValueError, AttributeError):
        noted = {}
    return noted | {0: str(journal.fact("base"))}


def restored(journal: Journal, remarks: list[str], before: int | None = None) -> tuple[Categorizer, int]:
    """Return the newest snapshot that can be read, up to before a record, and its position.

    Of each that cannot be read there is a remark. One that another journal made, or a process that was killed before it
    could note that, is not taken.
    """
    digests = _noted(journal)
    for path in reversed(snapshots_in(journal.folder)):
        position = position_of(path)
        if position > journal.last() or (before is not None and position >= before):
            continue
        try:
            model = Categorizer.load(path)
            if digests.get(position) == model.digest():
                return model, position
            if position in digests:
                remarks.append(f"{path}: is not what this journal made (an older snapshot is taken)")
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


def remove_left(journal: Journal) -> None:
    """Remove backups that nobody finished or fetched, unless a process is copying them; to be asked at a start."""
    remove_halves(journal.folder)
    for path in journal.folder.glob(".backup-*"):
        remove_folder_left(path)


def backup(journal: Journal, folder: str | os.PathLike[str]) -> None:
    """Write a copy of a `journal`, and of the snapshots that it can be replayed from, to a new `folder`.

    It is there once it is on the disk, whole, or not at all. What a backup to the same place left unfinished, as its
    process was killed, is removed.
    """
    with whole_folder(folder) as half:
        journal.backup(half / journal.path.name)
        for path in snapshots_in(journal.folder):
            with path.open("rb") as file, whole_file(half / path.name) as copy:
                shutil.copyfileobj(file, copy)
