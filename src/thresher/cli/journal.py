"""`thresher undo` and `thresher journal`: undo, check, export, back up and forget corrections."""

import errno
import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import typer

from thresher.cli.console import Shell
from thresher.cli.exit_codes import OutputError, UsageError
from thresher.cli.loading import open_journaled_model, report_saved_on_failure
from thresher.cli.option_values import integer
from thresher.cli.options import JournalAnywayOption, JournalOption, ModelArgument
from thresher.support.units import pluralize

if TYPE_CHECKING:
    from thresher.journal.journaled_model import JournaledModel

ACTIONS = ("check", "export", "write", "backup", "forget", "skip")
_ARGUMENTS = {"backup": "a new folder", "forget": "the id of a correction", "skip": "the number of a record"}


def undo(
    shell: Shell,
    model: ModelArgument,
    id: Annotated[str | None, typer.Option(help="The id of the correction.", metavar="ID")] = None,
    user: Annotated[str | None, typer.Option(help="All corrections of one person.", metavar="NAME")] = None,
    since: Annotated[str | None, typer.Option(help="Since a time, as 2026-01-31T12:00.", metavar="TIME")] = None,
    record: Annotated[
        int | None,
        typer.Option(
            help="A record by its number, also a change of categories.",
            metavar="NUMBER",
            parser=integer(1),
        ),
    ] = None,
    journal: JournalOption = None,
    journal_anyway: JournalAnywayOption = False,
) -> None:
    """Undo corrections: the last one, one by its id, or those of a person or since a time.

    thresher undo desk.thresher
    """
    if record is not None and (id is not None or user is not None or since is not None):
        raise UsageError("--record names one record (leave --id, --user and --since out)")
    if id is not None and (user is not None or since is not None):
        raise UsageError("--id names one correction (leave --user and --since out)")
    first = _parse_time(since) if since is not None else None
    with open_journaled_model(model, shell, new=False, folder=journal, anyway=journal_anyway) as journaled_model:
        ids = journaled_model.journal.corrections.find_ids(id=id, user=user, since=first, seq=record)
        before = journaled_model.model.digest()
        with report_saved_on_failure(journaled_model, shell, "1 undo"):
            journaled_model.undo(uuid4().hex, list(ids))
            digest = journaled_model.write_model()
    undone = pluralize(len(ids), "correction", "corrections") if record is None else f"record {record}"
    shell.answer(
        {"undone": list(ids.values()), "digest_before": before, "digest": digest, "model": str(model)},
        f"Undid {undone}\nWrote {model} (digest {before[:12]} before, {digest[:12]} now)",
    )


def _parse_time(given: str) -> str:
    """Return a time in the journal's format."""
    try:
        return datetime.fromisoformat(given).astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):  # OverflowError: the time is outside the range of years in this zone
        raise UsageError(f"--since {given!r} is not a time (write it as 2026-01-31T12:00)") from None


def journal(
    shell: Shell,
    action: Annotated[str, typer.Argument(metavar="ACTION", help=", ".join(ACTIONS) + ".", show_default=False)],
    model: ModelArgument,
    what: Annotated[
        str | None,
        typer.Argument(metavar="[ID|NUMBER|FOLDER]", help="To forget, to skip, or to back up to.", show_default=False),
    ] = None,
    hard: Annotated[
        bool, typer.Option("--hard", help="Forget what was learned from the text too, and all of its words.")
    ] = False,
    journal: JournalOption = None,
    journal_anyway: JournalAnywayOption = False,
) -> None:
    """Check, export or back up the journal of a model, write the model, forget a text, or skip a record.

    thresher journal export desk.thresher > corrections.jsonl
    """
    from thresher.journal.journaled_model import journal_folder

    if action not in ACTIONS:
        raise UsageError(f"invalid ACTION: {action!r} (allowed: {', '.join(ACTIONS)})")
    if (what is None) != (action not in _ARGUMENTS):
        raise UsageError(f"{action} takes {_ARGUMENTS.get(action, 'nothing')} after MODEL")
    if hard and action != "forget":
        raise UsageError("--hard goes with forget (leave it out)")
    folder = journal or journal_folder(model)
    match action:
        case "check":
            _check(shell, model, folder, journal_anyway)
        case "export":
            _export(shell, folder, journal_anyway)
        case "write":
            _write(shell, model, folder, journal_anyway)
        case "backup":
            _back_up(shell, folder, Path(str(what)), journal_anyway)
        case "forget":
            _forget(shell, model, folder, str(what), hard, journal_anyway)
        case "skip":
            _skip(shell, folder, str(what), journal_anyway)


def _check(shell: Shell, model: Path, folder: Path, anyway: bool) -> None:
    from thresher.errors import JournalError

    with open_journaled_model(model, shell, new=False, folder=folder, anyway=anyway) as journaled_model:
        faults = journaled_model.journal.find_damage()
        if faults:
            raise JournalError(f"{journaled_model.journal.path}: {'; '.join(faults[:3])}")
        digest = journaled_model.model.digest()
        if journaled_model.compute_replayed_digest() != digest:
            advice = "move all of its snapshots but the first away to take what the records give"
            raise JournalError(f"{folder}: its records give another model than it holds ({advice})")
        undone = sum(record.undone_by is not None for record in journaled_model.journal.log.read())
        count, remarks = journaled_model.position, journaled_model.remarks
    shell.answer(
        {"records": count, "undone": undone, "digest": digest, "remarks": remarks},
        f"{count:,} records, {undone:,} of them undone; replayed digest {digest[:12]}",
    )


def _write(shell: Shell, model: Path, folder: Path, anyway: bool) -> None:
    with open_journaled_model(model, shell, new=False, folder=folder, anyway=anyway) as journaled_model:
        digest = journaled_model.write_model()
    shell.answer({"model": str(model), "digest": digest}, f"Wrote {model} (digest {digest[:12]})")


def _export(shell: Shell, folder: Path, anyway: bool) -> None:
    from thresher.journal.category_history import CategoryHistory
    from thresher.journal.export import export_correction
    from thresher.journal.journal import Journal

    forgotten = 0
    with Journal(folder, anyway=anyway) as journal:
        renames = CategoryHistory.read(journal)
        for record in journal.log.read():
            if record.kind == "correction" and record.undone_by is None:
                if record.text is None:
                    forgotten += 1
                else:
                    shell.emit(export_correction(record, renames.translate_body(record)))
    if forgotten:
        shell.remark(f"{forgotten} corrections have no text any more, and are left out")


def _back_up(shell: Shell, folder: Path, copy: Path, anyway: bool) -> None:
    """Copy a journal to a new folder; if a service has it open, the service makes the copy."""
    from thresher.journal.journal import Journal
    from thresher.journal.snapshots import backup

    service = _service_of(folder, anyway)
    if service is not None:
        _check_new(copy)
        count = _request_backup(folder, copy, service)
    else:
        with Journal(folder, anyway=anyway) as journal:
            _check_new(copy)
            backup(journal, copy)
            count = journal.log.last_seq()
    shell.answer({"records": count, "folder": str(copy)}, f"Wrote {count:,} records to {copy}")


def _check_new(folder: Path) -> None:
    if folder.exists():
        raise OutputError(f"{folder}: there is something already (name a new folder)")


def _service_of(journal: Path, anyway: bool = False) -> dict[str, Any] | None:
    """Return the address of the service that has the journal open, from its file, or None.

    A file that others could have written is ignored. In a folder that is used `anyway`, only the file itself must
    belong to the user and not be a link. Root may contact the service of any user.
    """
    from thresher.journal.database import ADDRESS
    from thresher.journal.lock import owner_of
    from thresher.support import strict_json
    from thresher.support.filesystem import find_distrust

    owner, path = owner_of(journal), journal / ADDRESS
    if owner is None or not path.is_file():
        return None
    user = journal.stat().st_uid if os.geteuid() == 0 else os.geteuid()
    if path.is_symlink() or path.lstat().st_uid not in (0, user):
        return None
    if not anyway and find_distrust(journal, user):
        return None
    try:
        where = strict_json.parse(path.read_bytes())
    except (OSError, ValueError):  # removed or damaged
        return None
    known = isinstance(where, dict) and isinstance(where.get("url"), str) and str(where.get("pid")) == owner
    return where if known else None


def _request_backup(journal: Path, folder: Path, service: dict[str, Any]) -> int:
    """Ask the service that has the journal open for a copy of it; return its number of records."""
    import json
    from urllib.request import ProxyHandler, Request, build_opener

    from thresher.errors import JournalError
    from thresher.support import strict_json

    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {service.get('token')}"}
    direct = build_opener(ProxyHandler({}))  # no proxy may see the token
    body = json.dumps({"temporary": True}).encode()
    with direct.open(Request(f"{service['url']}/v1/backup", body, headers), timeout=3600) as response:
        answer = strict_json.parse(response.read())
    if not re.fullmatch(r"\.backup-[0-9a-f]+", answer["folder"]):  # root moves what another user's service names
        raise JournalError(f"{journal}: its service answered with something other than a backup")
    _move(journal / answer["folder"], folder)
    count: int = answer["records"]
    return count


def _move(folder: Path, whole: Path) -> None:
    """Move a folder atomically, also to another disk."""
    from thresher.support.atomic_file import (
        lock_folder,
        remove_unfinished_folders,
        sync_folder,
        whole_file,
        whole_folder,
    )

    locked = lock_folder(folder)  # the service removes folders that are not locked
    try:
        remove_unfinished_folders(whole.parent)
        try:
            folder.rename(whole)
            sync_folder(whole.parent)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with whole_folder(whole) as half:
                for path in folder.iterdir():
                    with path.open("rb") as file, whole_file(half / path.name) as copy:
                        shutil.copyfileobj(file, copy)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(locked)


def _forget(shell: Shell, model: Path, folder: Path, id: str, hard: bool, anyway: bool) -> None:
    from thresher.errors import JournalError

    with open_journaled_model(model, shell, new=False, folder=folder, anyway=anyway) as journaled_model:
        record, copies = journaled_model.journal.log.find(id), journaled_model.find_copies()
        if record is None or record.kind != "correction":
            advice = f" (these may hold it: {', '.join(map(str, copies))})" if copies else ""
            raise JournalError(f"{journaled_model.journal.path}: there is no correction {id!r}{advice}")
        active = journaled_model.journal.log.find_same_text(record.seq, undone=False)
        others = [other.id for other in active if hard or other.text is not None]
        undone = journaled_model.journal.log.find_same_text(record.seq, undone=True)
        if hard and record.undone_by is None:
            _undo_to_forget(journaled_model, record.seq)
        for seq in (*(other.seq for other in undone), record.seq):  # itself last: after a kill, the user can retry
            (journaled_model.forget_correction if hard else journaled_model.forget_text)(seq)
        if hard:
            journaled_model.write_model()
    if others:
        shell.remark(f"the same text was corrected as {', '.join(others)} too (forget it there as well)")
    if shell.json:
        shell.emit({"forgotten": id})
    elif hard:
        where = "its record holds" if others or copies else f"{model} and its journal hold"
        shell.say(f"Forgot {id}: the correction is undone, and {where} nothing of its text")
    else:
        shell.say(f"Forgot the text of {id}")
        remains = "what was learned from it stays, and most of the text may be read from it (--hard removes it)"
        shell.remark(f"{model}: {remains}")


def _undo_to_forget(journaled_model: "JournaledModel", seq: int) -> None:
    """Undo a correction; if later records need it, report that nothing was forgotten, and the alternatives."""
    from thresher.errors import JournalError

    try:
        journaled_model.undo(f"forget {uuid4().hex[:16]}", [seq])
    except JournalError as error:
        if type(error) is not JournalError:  # the disk or memory failed, and the message says what to do
            raise
        commands = f"thresher undo {journaled_model.path} --record NUMBER undoes a record"
        instead = "forget without --hard deletes the text alone"
        raise JournalError(f"nothing was forgotten: {error} ({commands}; {instead})") from None


def _skip(shell: Shell, folder: Path, number: str, anyway: bool) -> None:
    from thresher.journal.journaled_model import skip

    if not number.isdecimal():
        raise UsageError(f"{number!r} is not the number of a record (a message of `journal check` names it)")
    skip(folder, int(number), anyway=anyway)
    shell.answer({"skipped": int(number)}, f"Record {number} is left out from now on")
