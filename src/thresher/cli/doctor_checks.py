"""The checks of `thresher doctor` for a model: owner, permissions, disk and journal."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from thresher.support.filesystem import find_distrust, find_file_system, is_remote, is_world_writable

_MIN_ROOM = 100 * 10**6  # bytes


class Check(NamedTuple):
    """The result of one check; `good` is False if the user should act, None if it is only informative."""

    name: str
    found: str
    good: bool | None = None
    advice: str = ""


def check_model(model: Path, folder: Path | None = None) -> Iterator[Check]:
    """Yield the checks of a model file, its folder and its journal, which another process may have open."""
    from thresher.journal.journaled_model import journal_folder

    model.stat()  # raises an error if the file is missing
    journal = folder or journal_folder(model)
    yield Check("model", f"{model} -> {os.path.realpath(model)}" if model.is_symlink() else str(model))
    places = [Path(os.path.realpath(model)), Path(os.path.realpath(model)).parent]
    places += [path for path in (journal, *sorted(journal.glob("journal.sqlite3*"))) if path.exists()]
    yield _check_owners(places)
    yield _check_permissions(places)
    yield _check_file_system(journal if journal.exists() else places[1])
    yield _check_room(places[1])
    yield _check_journal(model, journal)


def _check_owners(places: list[Path]) -> Check:
    others = [path for path in places if path.stat().st_uid not in (0, os.geteuid())]
    if not others:
        return Check("owner", "current user", True)
    return Check("owner", f"{others[0]} is another user's", False, f"chown it to user {os.geteuid()}")


def _check_permissions(places: list[Path]) -> Check:
    open_to_all = [path for path in places if is_world_writable(path)]
    if not open_to_all:
        return Check("permissions", "nobody else may write", True)
    return Check("permissions", f"anyone may write to {open_to_all[0]}", False, f"chmod o-w {open_to_all[0]}")


def _check_file_system(place: Path) -> Check:
    kind = find_file_system(place)
    if is_remote(kind):
        return Check("file system", kind, False, "name a local folder with --journal (or: --journal-anyway)")
    return Check("file system", kind or "unknown", True if kind else None)


def _check_room(place: Path) -> Check:
    disk = os.statvfs(place)
    room = disk.f_bavail * disk.f_frsize
    if disk.f_files and not disk.f_favail:
        return Check("room", "the disk takes no more files (no inodes are left)", False, "remove some files")
    return Check("room", f"{room / 1e6:,.0f} MB", room >= _MIN_ROOM, "" if room >= _MIN_ROOM else "make room")


def _check_journal(model: Path, folder: Path) -> Check:
    from thresher.journal.database import FILE
    from thresher.journal.journal import Journal
    from thresher.journal.lock import LOCK, owner_of, was_left_open
    from thresher.model_file.io import read_model

    log = folder / f"{FILE}-wal"
    if folder.exists() and (distrust := find_distrust(folder)):
        return Check("journal", f"{distrust.path}: {distrust.problem}", False, distrust.hint)
    if (owner := owner_of(folder)) is not None:
        return Check("journal", f"{folder}, open in process {owner}", True)
    if log.exists() and not (folder / FILE).exists():
        return Check("journal", f"{folder / FILE} is gone, its log is here", False, "put it back before anything else")
    if not Journal.is_in(folder):
        had_one = any(folder.glob("snapshot-*")) or "journal" in read_model(model).about
        return (
            Check("journal", "missing", False, "put it back (or: --new-journal)")
            if had_one
            else Check("journal", "none")
        )
    if was_left_open(folder / LOCK) and not log.exists():
        return Check("journal", f"{log} is gone after a kill", False, "put it back before anything else")
    return Check("journal", str(folder), True)
