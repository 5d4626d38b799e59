"""Checks when a journal is opened: whether it is missing, incomplete, or of another model."""

import secrets
from pathlib import Path

from thresher.categorizer import Categorizer
from thresher.errors import JournalError, ModelFileError
from thresher.journal.database import ADDRESS, FILE
from thresher.journal.journal import Journal
from thresher.journal.lock import LOCK
from thresher.journal.snapshots import SHARED, find_snapshots, note_snapshot, position_of, snapshot_path
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
        advice = "put it back; learn or serve with {new=True} begins a new one"
        raise JournalError("its journal is missing, there is none in {folder}", path=model, hint=advice, folder=folder)
    if new is False:
        raise JournalError(
            "it has no journal yet, there is none in {folder}",
            path=model,
            hint="learn or serve begins one",
            folder=folder,
        )
    if left:
        folder.rename(folder.with_name(f"{folder.name}.left-{secrets.token_hex(3)}"))


def find_losses(journal: Journal) -> list[str]:
    """Return remarks on records that a journal has lost, as far as known; raise a JournalError if all are lost."""
    last, remarks = journal.log.last_seq(), []
    beyond = [path.name for path in find_snapshots(journal.folder) if position_of(path) > last]
    if beyond and journal.facts.get("base") is None:
        problem = f"this journal is empty, and {beyond[-1]} was made of one that was not"
        hint = "put that one back, or move the folder away to start again"
        raise JournalError(problem, path=journal.path, hint=hint)
    if last and journal.facts.get("base") is None:
        raise JournalError("it is damaged: it has records, but no first model", path=journal.path)
    if beyond:
        lost = f"records {last + 1} to {position_of(Path(beyond[-1]))} are missing, which {beyond[-1]} has"
        remarks.append(f"{journal.path}: {lost}")
    for name in beyond:  # otherwise future records would seem to be in it
        (journal.folder / name).rename(journal.folder / f"lost-{name}")
    if journal.database.lost_log:
        killed = "the last process was killed, and its log has been deleted since"
        remarks.append(f"{journal.path}: {killed}: the last corrections may be lost")
    return remarks


def begin_journal(journal: Journal, path: Path) -> None:
    """Save the first model of a journal; one that a killed process saved before must be the same."""
    model, first = Categorizer.load(path), snapshot_path(journal.folder, 0)
    if first.exists() and Categorizer.load(first).digest() != model.digest():
        problem = "this journal is empty, and was begun with another model than {model}"
        hint = "put that journal back, or move the folder away to start again"
        raise JournalError(problem, path=journal.path, hint=hint, model=path)
    digest = model.save(first, mode=SHARED)
    journal.facts.set("written", digest)
    journal.facts.set("base", digest)
    note_snapshot(journal, 0, digest)


def check_is_ours(journal: Journal, path: Path, model: Categorizer) -> None:
    """Raise a JournalError if another process has written the model file since this journal wrote it."""
    if path.exists() and (digest := read_digest(path)) != journal.facts.get("written") and digest != model.digest():
        hint = "it stays as it is; everything learned is in {folder}"
        raise JournalError(
            f"another process wrote model {digest[:12]} here", path=path, hint=hint, folder=journal.folder
        )


def private_mode(journal: Journal, path: Path) -> int | None:
    """Return the widest permissions for the model file of a journal, or None to keep those of the file.

    The model holds words of the texts it has learned, so only its owner may read the file when the journal writes it
    for the first time, or again after it was deleted. Permissions that the owner grants later are kept.
    """
    return None if journal.facts.get("private") is not None and path.exists() else 0o600


def check_is_written(journal: Journal, path: Path, digest: str) -> None:
    """Raise a JournalError if the model file was not written by this journal and does not match its records."""
    written = journal.facts.get("written")
    actual = Categorizer.load(path).digest() if path.exists() else written
    if actual == digest and actual != written:  # a process was killed before it could record the digest
        journal.facts.set("written", actual)
    elif actual not in (written, digest):
        hint = "move the folder away to start again, or the file to take the journal's model"
        raise JournalError("this is not the model of {folder}", path=path, hint=hint, folder=journal.folder)
