"""`thresher undo` and `thresher journal`: corrections taken back, checked, exported, backed up, forgotten."""

import errno
import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import typer

from thresher.cli.failures import OutputError, UsageError
from thresher.cli.models import opened_desk, saying_what_is_kept
from thresher.cli.options import JournalAnywayOption, JournalOption, ModelArgument
from thresher.cli.shell import Shell
from thresher.sizes import counted

if TYPE_CHECKING:
    from thresher.journal import Journal

ACTIONS = ("check", "export", "write", "backup", "forget", "skip")


def undo(
    shell: Shell,
    model: ModelArgument,
    id: Annotated[str | None, typer.Option(help="The id of the correction.", metavar="ID")] = None,
    user: Annotated[str | None, typer.Option(help="All corrections of one person.", metavar="NAME")] = None,
    since: Annotated[str | None, typer.Option(help="Since a time, as 2026-01-31T12:00.", metavar="TIME")] = None,
    journal: JournalOption = None,
    journal_anyway: JournalAnywayOption = False,
) -> None:
    """Take corrections back: the last one, one by its id, or those of a person or since a time.

    thresher undo desk.thresher
    """
    if id is not None and (user is not None or since is not None):
        raise UsageError("--id names one correction (leave --user and --since out)")
    first = _time(since) if since is not None else None
    with opened_desk(model, shell, new=False, folder=journal, anyway=journal_anyway) as desk:
        found = _standing(desk.journal, {"id": id, "user": user, "time": first})
        before = desk.model.digest()
        with saying_what_is_kept(desk, shell, "1 undo"):
            desk.undo(uuid4().hex, list(found))
            digest = desk.write_model()
    if shell.json:
        shell.emit({"undone": list(found.values()), "digest_before": before, "digest": digest, "model": str(model)})
        return
    shell.say(f"Undid {counted(len(found), 'correction', 'corrections')}")
    shell.say(f"Wrote {model} (digest {before[:12]} before, {digest[:12]} now)")


def _standing(journal: "Journal", asked: dict[str, str | None]) -> dict[int, str]:
    """Return the numbers and ids of the corrections that stand and are as asked; of the last one if nothing is asked.

    A time is the first that is meant.
    """
    known = {name: value for name, value in asked.items() if value is not None}
    wanted = "".join(f" AND {name} {'>=' if name == 'time' else '='} ?" for name in known)
    query = f"SELECT seq, id FROM records WHERE kind = 'correction' AND undone_by IS NULL{wanted}"
    order = "ORDER BY seq" if known else "ORDER BY seq DESC LIMIT 1"
    return dict(journal.query(f"{query} {order}", *known.values()))


def _time(given: str) -> str:
    """Return a time as a journal writes it."""
    try:
        return datetime.fromisoformat(given).astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):  # the latter of a time that is of no year any more in this zone
        raise UsageError(f"--since {given!r} is no time (write it as 2026-01-31T12:00)") from None


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
    """Look after the journal of a model: check it, write its model, export, back it up, forget a text, skip a record.

    thresher journal export desk.thresher > corrections.jsonl
    """
    from thresher.desk import journal_folder
    from thresher.journal import Journal

    if action not in ACTIONS:
        raise UsageError(f"{action!r} is nothing to do with a journal (allowed: {', '.join(ACTIONS)})")
    if (what is None) != (action in ("check", "export", "write")):
        needed = {"backup": "a new folder", "forget": "the id of a correction", "skip": "the number of a record"}
        raise UsageError(f"{action} takes {needed.get(action, 'nothing')} after MODEL")
    if hard and action != "forget":
        raise UsageError("--hard goes with forget (leave it out)")
    folder = journal or journal_folder(model)
    if action == "skip":
        _skip(shell, folder, str(what), journal_anyway)
        return
    if action == "check":
        _check(shell, model, folder, journal_anyway)
        return
    if action == "write":
        _write(shell, model, folder, journal_anyway)
        return
    if action == "forget":
        _forget(shell, model, folder, str(what), hard)
        return
    if action == "backup" and (where := _service_of(folder)) is not None:
        _running_backup(shell, folder, Path(str(what)), where)
        return
    with Journal(folder, anyway=journal_anyway) as opened:
        if action == "export":
            _export(shell, opened)
        else:
            _backup(shell, opened, Path(str(what)))


def _check(shell: Shell, model: Path, folder: Path, anyway: bool) -> None:
    from thresher.errors import JournalError

    with opened_desk(model, shell, new=False, folder=folder, anyway=anyway) as desk:
        faults = desk.journal.check()
        if faults:
            raise JournalError(f"{desk.journal.path}: {'; '.join(faults[:3])}")
        digest = desk.model.digest()
        if desk.replayed_digest() != digest:
            advice = "move all of its snapshots but the first away to take what the records give"
            raise JournalError(f"{folder}: its records give another model than it holds ({advice})")
        undone = sum(record.undone_by is not None for record in desk.journal.records())
        found = {"records": desk.position, "undone": undone, "digest": digest, "remarks": desk.remarks}
    if shell.json:
        shell.emit(found)
    else:
        shell.say(
            f"{found['records']:,} records, {undone:,} of them undone; replayed digest {str(found['digest'])[:12]}"
        )


def _write(shell: Shell, model: Path, folder: Path, anyway: bool) -> None:
    with opened_desk(model, shell, new=False, folder=folder, anyway=anyway) as desk:
        digest = desk.write_model()
    if shell.json:
        shell.emit({"model": str(model), "digest": digest})
    else:
        shell.say(f"Wrote {model} (digest {digest[:12]})")


def _export(shell: Shell, opened: "Journal") -> None:
    from thresher.journal import exported
    from thresher.renames import Renames

    forgotten, renames = 0, Renames.of(opened)
    for record in opened.records():
        if record.kind == "correction" and record.undone_by is None:
            if record.text is None:
                forgotten += 1
            else:
                shell.emit(exported(record, renames.renamed(record)))
    if forgotten:
        shell.remark(f"{forgotten} corrections have no text any more, and are left out")


def _check_new(folder: Path) -> None:
    if folder.exists():
        raise OutputError(f"{folder}: there is something already (name a new folder)")


def _service_of(journal: Path) -> dict[str, Any] | None:
    """Return where the service answers that has the journal now, if one has it and its file says so.

    What others could have written there is not believed. Root may ask the service of any user.
    """
    import json

    from thresher.journal import ADDRESS
    from thresher.journal_lock import owner_of
    from thresher.places import reason_to_distrust

    owner, path = owner_of(journal), journal / ADDRESS
    if owner is None or not path.is_file():
        return None
    if reason_to_distrust(journal, journal.stat().st_uid if os.geteuid() == 0 else None):
        return None
    try:
        where = json.loads(path.read_bytes())
    except (OSError, ValueError):  # it was removed, or is damaged
        return None
    known = isinstance(where, dict) and isinstance(where.get("url"), str) and str(where.get("pid")) == owner
    return where if known else None


def _running_backup(shell: Shell, journal: Path, folder: Path, where: dict[str, Any]) -> None:
    """Ask the service that has the journal for a copy of it."""
    import json
    from urllib.request import ProxyHandler, Request, build_opener

    from thresher.errors import JournalError

    _check_new(folder)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {where.get('token')}"}
    direct = build_opener(ProxyHandler({}))  # the token is for nobody else
    asked = json.dumps({"temporary": True}).encode()
    with direct.open(Request(f"{where['url']}/v1/backup", asked, headers), timeout=3600) as answer:
        found = json.load(answer)
    if not re.fullmatch(r"\.backup-[0-9a-f]+", found["folder"]):  # root moves what the service of another user names
        raise JournalError(f"{journal}: its service answered with something else than a backup")
    _move(journal / found["folder"], folder)
    if shell.json:
        shell.emit({"records": found["records"], "folder": str(folder)})
    else:
        shell.say(f"Wrote {found['records']:,} records to {folder}")


def _move(folder: Path, whole: Path) -> None:
    """Move a folder, be it to another disk, where it is once it is whole; else it is nowhere."""
    from thresher.whole_file import lock_folder, remove_halves, sync_folder, whole_file, whole_folder

    locked = lock_folder(folder)  # the service removes what nobody has locked
    try:
        remove_halves(whole.parent)
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


def _backup(shell: Shell, opened: "Journal", folder: Path) -> None:
    from thresher.snapshots import backup

    _check_new(folder)
    backup(opened, folder)
    if shell.json:
        shell.emit({"records": opened.last(), "folder": str(folder)})
    else:
        shell.say(f"Wrote {opened.last():,} records to {folder}")


def _forget(shell: Shell, model: Path, folder: Path, id: str, hard: bool) -> None:
    from thresher.errors import JournalError

    with opened_desk(model, shell, new=False, folder=folder) as desk:
        record = desk.journal.by_id(id)
        if record is None or record.kind != "correction":
            raise JournalError(f"{desk.journal.path}: there is no correction {id!r}")
        others = [other.id for other in desk.journal.of_features(record.digest) if other.seq != record.seq]
        if hard:
            desk.forget_correction(record.seq)
            desk.write_model()
        else:
            desk.forget_text(record.seq)
    if others:
        shell.remark(f"the same text was corrected as {', '.join(others)} too (forget it there as well)")
    if shell.json:
        shell.emit({"forgotten": id})
    elif hard:
        shell.say(f"Forgot {id}: the correction is undone, and {model} and its journal hold nothing of its text")
    else:
        shell.say(f"Forgot the text of {id}")
        remains = "what was learned from it stays, and most of the text may be read from it (--hard removes it)"
        shell.remark(f"{model}: {remains}")


def _skip(shell: Shell, folder: Path, number: str, anyway: bool) -> None:
    from thresher.desk import skip

    if not number.isdecimal():
        raise UsageError(f"{number!r} is not the number of a record (a message of `journal check` names it)")
    skip(folder, int(number), anyway=anyway)
    if shell.json:
        shell.emit({"skipped": int(number)})
    else:
        shell.say(f"Record {number} is left out from now on")
