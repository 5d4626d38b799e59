"""Snapshots of a model at certain records of a journal, in its folder; a `JournaledModel` starts from the newest."""

import json
import os
import re
import shutil
from pathlib import Path

from thresher.categorizer import Categorizer
from thresher.errors import JournalError, LemmatizerError, ModelFileError
from thresher.journal.journal import Journal
from thresher.support import strict_json
from thresher.support.atomic_file import remove_leftover_folder, remove_unfinished_folders, whole_file, whole_folder

SHARED = 0o640  # widest permissions of a snapshot
_FACT = "snapshots"  # name of the fact in the journal
_SNAPSHOT = re.compile(r"snapshot-(\d{10})\.thresher")


def snapshot_path(folder: Path, position: int) -> Path:
    """Return the path of the snapshot after `position` records."""
    return folder / f"snapshot-{position:010}.thresher"


def position_of(path: Path) -> int:
    """Return the number of records before a snapshot, or -1 if the file is not a snapshot."""
    match = _SNAPSHOT.fullmatch(path.name)
    return int(match[1]) if match else -1


def find_snapshots(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the paths of all snapshots in a folder, the oldest first."""
    return sorted(path for path in Path(folder).iterdir() if position_of(path) >= 0)


def note_snapshot(journal: Journal, position: int, digest: str) -> None:
    """Record the digest of a snapshot in its journal, and drop the entries of deleted snapshots."""
    positions = {position_of(path) for path in find_snapshots(journal.folder)}
    digests = {str(place): noted for place, noted in _read_digests(journal).items() if place in positions}
    journal.facts.set(_FACT, json.dumps(digests | {str(position): digest}))


def note_all_snapshots(journal: Journal) -> None:
    """Record the digests of all snapshots of a journal by an older version, which did not record them."""
    if journal.facts.get(_FACT) is None:
        for path in find_snapshots(journal.folder):
            try:
                note_snapshot(journal, position_of(path), Categorizer.load(path).digest())
            except LemmatizerError:
                raise
            except ModelFileError:
                continue


def _read_digests(journal: Journal) -> dict[int, str]:
    """Return the digests of a journal's snapshots by position; if they are damaged, only that of the first."""
    try:
        noted = strict_json.parse(journal.facts.get(_FACT) or "{}")
        digests = {int(position): str(digest) for position, digest in noted.items()}
    except (ValueError, AttributeError):
        digests = {}
    return digests | {0: str(journal.facts.get("base"))}


def restore_newest(journal: Journal, remarks: list[str], before: int | None = None) -> tuple[Categorizer, int]:
    """Return the model of the newest readable snapshot, made before the record `before` if given, and its position.

    Each snapshot that cannot be read or does not have its recorded digest adds a line to `remarks`. Snapshots without a
    recorded digest are ignored: another journal made them, or a process that was killed before it could record it.
    """
    digests = _read_digests(journal)
    for path in reversed(find_snapshots(journal.folder)):
        position = position_of(path)
        if position > journal.log.last_seq() or (before is not None and position >= before):
            continue
        try:
            model = Categorizer.load(path)
            if digests.get(position) == model.digest():
                return model, position
            if position in digests:
                remarks.append(f"{path}: does not match its recorded digest (an older snapshot is used)")
        except LemmatizerError:
            raise  # an older snapshot would be taught with other lemmas
        except ModelFileError as error:
            remarks.append(f"{error} (an older snapshot is used)")
    raise JournalError("no snapshot can be read, not even the first", path=journal.folder)


def remove_undone_snapshots(journal: Journal) -> None:
    """Remove snapshots that contain records undone since, and unfinished files of killed processes."""
    for path in find_snapshots(journal.folder):
        position = position_of(path)
        if position > 0 and journal.log.has_undone(position):
            path.unlink()
    for path in journal.folder.glob(".snapshot-*.tmp"):
        path.unlink()


def remove_unfinished_backups(journal: Journal) -> None:
    """Remove backups that were not finished or not moved away, unless a process is copying them; call it at start."""
    remove_unfinished_folders(journal.folder)
    for path in journal.folder.glob(".backup-*"):
        remove_leftover_folder(path)


def backup(journal: Journal, folder: str | os.PathLike[str]) -> None:
    """Write a copy of a `journal` and its snapshots to a new `folder`, atomically.

    Unfinished backups that killed processes left in the same parent folder are removed.
    """
    with whole_folder(folder) as half:
        journal.database.backup(half / journal.path.name)
        for path in find_snapshots(journal.folder):
            with path.open("rb") as file, whole_file(half / path.name) as copy:
                shutil.copyfileobj(file, copy)
