"""What a `Desk` looks at when it opens a journal: whether it is missing, has lost something, and is of this model."""

import secrets
from pathlib import Path

from thresher.categorizer import Categorizer
from thresher.errors import JournalError, ModelFileError
from thresher.journal import ADDRESS, FILE, Journal
from thresher.journal_lock import LOCK
from thresher.snapshots import SHARED, note, position_of, snapshot_path, snapshots_in
from thresher.store import read_digest, read_model
from thresher.whole_file import sync_folder


def prepared_folder(folder: Path) -> Path:
    """Return where the journal that is to come after the one in a folder is made ready."""
    return folder.with_name(f"{folder.name}.next")


def take_prepared(folder: Path, model: Path) -> None:
    """Let a journal that was made ready come into its place, if the one before it was put aside.

    One that was made ready for another model than the file holds now is left alone.
    """
    prepared = prepared_folder(folder)
    if not folder.exists() and Journal.is_in(prepared) and _is_for(prepared, model):
        prepared.rename(folder)
        sync_folder(folder.parent)


def _is_for(prepared: Path, model: Path) -> bool:
    """Tell whether a prepared journal begins with the model that a file holds, if there is a file."""
    try:
        return not model.exists() or read_digest(snapshot_path(prepared, 0)) == read_digest(model)
    except (OSError, ModelFileError):
        return False


def check_missing(model: Path, folder: Path, new: bool | None) -> None:
    """Refuse to begin a journal for a model that had one, unless that is wanted."""
    begun = (LOCK, FILE, ADDRESS, ".")  # what a process leaves that was killed before there was a journal
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
    """Refuse a journal that is empty and was not; return remarks on records that one has lost, as far as that shows."""
    last, remarks = journal.last(), []
    beyond = [path.name for path in snapshots_in(journal.folder) if position_of(path) > last]
    if beyond and journal.fact("base") is None:
        raise JournalError(
            f"{journal.path}: this journal is empty, and {beyond[-1]} was made of one that was not "
            "(put that one back, or move the folder away to begin anew)"
        )
    if last and journal.fact("base") is None:
        raise JournalError(f"{journal.path}: it is damaged: it has records, and not what it began with")
    if beyond:
        lost = f"records {last + 1} to {position_of(Path(beyond[-1]))} are missing, which {beyond[-1]} has"
        remarks.append(f"{journal.path}: {lost}")
    for name in beyond:  # or it would be taken for one of the records to come
        (journal.folder / name).rename(journal.folder / f"lost-{name}")
    if journal.lost_log:
        killed = "the process that had it was killed, and its log is gone since"
        remarks.append(f"{journal.path}: {killed}: what was corrected last may be lost")
    return remarks


def begin(journal: Journal, path: Path) -> None:
    """Keep the model to begin with; one that is there already is of a process that was killed, and the same."""
    model, first = Categorizer.load(path), snapshot_path(journal.folder, 0)
    if first.exists() and Categorizer.load(first).digest() != model.digest():
        raise JournalError(
            f"{journal.path}: this journal is empty, and was begun with another model than {path} "
            "(put that journal back, or move the folder away to begin anew)"
        )
    digest = model.save(first, mode=SHARED)
    journal.set_fact("written", digest)
    journal.set_fact("base", digest)
    note(journal, 0, digest)


def check_is_ours(journal: Journal, path: Path, model: Categorizer) -> None:
    """Refuse to write over a model file that someone else has written since the journal was opened."""
    if path.exists() and (found := read_digest(path)) != journal.fact("written") and found != model.digest():
        kept = f"it is left as it is; all that was learned is in {journal.folder}"
        raise JournalError(f"{path}: another process wrote model {found[:12]} here ({kept})")


def private_mode(journal: Journal, path: Path) -> int | None:
    """Return the widest permissions for the model file of a journal, or None to keep those that it has.

    The model holds words of the texts that it was taught, so nobody else may read its file: when the journal writes it
    for the first time, and when it is gone. What the owner allows others later is kept.
    """
    return None if journal.fact("private") is not None and path.exists() else 0o600


def check_is_written(journal: Journal, path: Path, digest: str) -> None:
    """Refuse a model file that this journal has not written, and that is not what its records make of it."""
    written = journal.fact("written")
    found = Categorizer.load(path).digest() if path.exists() else written
    if found == digest and found != written:  # a process was killed before it could note that
        journal.set_fact("written", found)
    elif found not in (written, digest):
        raise JournalError(
            f"{path}: this is not the model of {journal.folder} "
            "(move the folder away to begin anew, or the file to take the journal's model)"
        )
