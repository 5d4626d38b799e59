"""Checks when a journal is opened: whether it is missing, incomplete, or of another model."""

import secrets
from pathlib import Path

from thresher.categorizer import Categorizer
from thresher.errors import JournalError, ModelFileError
from thresher.journal.database import ADDRESS, FILE, Journal
from thresher.journal.lock import LOCK
from thresher.journal.snapshots import SHARED, note, position_of, snapshot_path, snapshots_in
from thresher.model_file.io import read_digest, read_model
from thresher.support.atomic_file import sync_folder


def prepared_folder(folder: Path) -> Path:
    """Return the folder where the successor of a journal is prepared."""
    return folder.with_name(f"{folder.name}.next")


def take_prepared(folder: Path, model: Path) -> None:
    """Move a prepared journal to its place if the previous one has been moved away.

    A journal that was prepared for another model than the file now holds is left alone.
    """
    prepared = prepared_folder(folder)
    if not folder.exists() and Journal.is_in(prepared) and _is_for(prepared, model):
        prepared.rename(folder)
        sync_folder(folder.parent)


def _is_for(prepared: Path, model: Path) -> bool:
    """Return whether a prepared journal begins with the model of a file, or the file does not exist."""
    try:
        return not model.exists() or read_digest(snapshot_path(prepared, 0)) == read_digest(model)
    except (OSError, ModelFileError):
        return False


def check_missing(model: Path, folder: Path, new: bool | None) -> None:
    """Raise a JournalError if a model had a journal that is now missing, unless `new` allows a new one.

    If `new` is False, a model that never had a journal raises a JournalError too.
    """
    begun = (LOCK, FILE, ADDRESS, ".")  # files of a process that was killed before it had created a journal
    left = folder.is_dir() and any(not path.name.startswith(begun) for path in folder.iterdir())
    had_one = left or "journal" in read_model(model).about
    if had_one and not new:
        advice = "put it back; learn or serve with --new-journal begins a new one"
        raise JournalError(f"{model}: its journal is missing, there is none in {folder} ({advice})")
    if new is False:
        raise JournalError(f"{model}: it has no journal yet, there is none in {folder} (learn or serve begins one)")
    if left:
        folder.rename(folder.with_name(f"{folder.name}.left-{secrets.token_hex(3)}"))


def losses(journal: Journal) -> list[str]:
    """Return remarks on records that a journal has lost, as far as known; raise a JournalError if all are lost."""
    last, remarks = journal.last(), []
    beyond = [path.name for path in snapshots_in(journal.folder) if position_of(path) > last]
    if beyond and journal.fact("base") is None:
        raise JournalError(
            f"{journal.path}: this journal is empty, and {beyond[-1]} was made of one that was not "
            "(put that one back, or move the folder away to start again)"
        )
    if last and journal.fact("base") is None:
        raise JournalError(f"{journal.path}: it is damaged: it has records, and not what it began with")
    if beyond:
        lost = f"records {last + 1} to {position_of(Path(beyond[-1]))} are missing, which {beyond[-1]} has"
        remarks.append(f"{journal.path}: {lost}")
    for name in beyond:  # otherwise future records would seem to be in it
        (journal.folder / name).rename(journal.folder / f"lost-{name}")
    if journal.lost_log:
        killed = "the process that had it was killed, and its log is gone since"
        remarks.append(f"{journal.path}: {killed}: what was corrected last may be lost")
    return remarks


def begin(journal: Journal, path: Path) -> None:
    """Save the first model of a journal; one that a killed process saved before must be the same."""
    model, first = Categorizer.load(path), snapshot_path(journal.folder, 0)
    if first.exists() and Categorizer.load(first).digest() != model.digest():
        raise JournalError(
            f"{journal.path}: this journal is empty, and was begun with another model than {path} "
            "(put that journal back, or move the folder away to start again)"
        )
    digest = model.save(first, mode=SHARED)
    journal.set_fact("written", digest)
    journal.set_fact("base", digest)
    note(journal, 0, digest)


def check_is_ours(journal: Journal, path: Path, model: Categorizer) -> None:
    """Raise a JournalError if another process has written the model file since this journal wrote it."""
    if path.exists() and (found := read_digest(path)) != journal.fact("written") and found != model.digest():
        kept = f"it is left as it is; all that was learned is in {journal.folder}"
        raise JournalError(f"{path}: another process wrote model {found[:12]} here ({kept})")


def private_mode(journal: Journal, path: Path) -> int | None:
    """Return the widest permissions for the model file of a journal, or None to keep those of the file.

    The model holds words of the texts it has learned, so only its owner may read the file when the journal writes it
    for the first time, or again after it was deleted. Permissions that the owner grants later are kept.
    """
    return None if journal.fact("private") is not None and path.exists() else 0o600


def check_is_written(journal: Journal, path: Path, digest: str) -> None:
    """Raise a JournalError if the model file was not written by this journal and does not match its records."""
    written = journal.fact("written")
    found = Categorizer.load(path).digest() if path.exists() else written
    if found == digest and found != written:  # a process was killed before it could record the digest
        journal.set_fact("written", found)
    elif found not in (written, digest):
        raise JournalError(
            f"{path}: this is not the model of {journal.folder} "
            "(move the folder away to start again, or the file to take the journal's model)"
        )
