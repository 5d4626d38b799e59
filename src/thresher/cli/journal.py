"""`thresher undo` and `thresher journal`: corrections taken back, checked, exported, backed up, forgotten."""

import errno
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import typer

from thresher.cli.failures import OutputError, UsageError
from thresher.cli.models import opened_desk, saying_what_is_kept
from thresher.cli.options import JournalOption, ModelArgument
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
) -> None:
    """Take corrections back: the last one, one by its id, or those of a person or since a time.

    thresher undo desk.thresher
    """
    if id is not None and (user is not None or since is not None):
        raise UsageError("--id names one correction (leave --user and --since out)")
    first = _time(since) if since is not None else None
    with opened_desk(model, shell, new=False, folder=journal) as desk:
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
    journal: JournalOption = None,
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
    folder = journal or journal_folder(model)
    if action == "skip":
        _skip(shell, folder, str(what))
        return
    if action == "check":
        _check(shell, model, folder)
        return
    if action == "write":
        _write(shell, model, folder)
        return
    if action == "backup" and (where := _service_of(folder)) is not None:
        _running_backup(shell, folder, Path(str(what)), where)
        return
    with Journal(folder) as opened:
        if action == "export":
            _export(shell, opened)
        elif action == "backup":
            _backup(shell, opened, Path(str(what)))
        else:
            _forget(shell, opened, str(what))


def _check(shell: Shell, model: Path, folder: Path) -> None:
    from thresher.errors import JournalError

    with opened_desk(model, shell, new=False, folder=folder) as desk:
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


def _write(shell: Shell, model: Path, folder: Path) -> None:
    with opened_desk(model, shell, new=False, folder=folder) as desk:
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
    """Return where the service answers that has the journal now, if one has it."""
    import json

    from thresher.journal import ADDRESS
    from thresher.journal_lock import owner_of

    owner, path = owner_of(journal), journal / ADDRESS
    if owner is None or not path.exists():
        return None
    where: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return where if str(where.get("pid")) == owner else None


def _running_backup(shell: Shell, journal: Path, folder: Path, where: dict[str, Any]) -> None:
    """Ask the service that has the journal for a copy of it."""
    import json
    from urllib.request import ProxyHandler, Request, build_opener

    _check_new(folder)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {where['token']}"}
    direct = build_opener(ProxyHandler({}))  # the token is for nobody else
    with direct.open(Request(f"{where['url']}/v1/backup", b"{}", headers), timeout=3600) as answer:
        found = json.load(answer)
    _move(journal / found["folder"], folder)
    if shell.json:
        shell.emit({"records": found["records"], "folder": str(folder)})
    else:
        shell.say(f"Wrote {found['records']:,} records to {folder}")


def _move(folder: Path, whole: Path) -> None:
    """Move a folder, be it to another disk, where it is once it is whole; else it is nowhere."""
    from thresher.whole_file import sync_folder, whole_file

    half = whole.with_name(f".{whole.name}-{folder.name}")
    try:
        try:
            folder.rename(whole)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            half.mkdir(mode=0o700)
            for path in folder.iterdir():
                with path.open("rb") as file, whole_file(half / path.name) as copy:
                    shutil.copyfileobj(file, copy)
            half.rename(whole)
        sync_folder(whole.parent)
    finally:
        shutil.rmtree(half, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def _backup(shell: Shell, opened: "Journal", folder: Path) -> None:
    from thresher.snapshots import backup

    _check_new(folder)
    backup(opened, folder)
    if shell.json:
        shell.emit({"records": opened.last(), "folder": str(folder)})
    else:
        shell.say(f"Wrote {opened.last():,} records to {folder}")


def _forget(shell: Shell, opened: "Journal", id: str) -> None:
    from thresher.errors import JournalError

    record = opened.by_id(id)
    if record is None:
        raise JournalError(f"{opened.path}: there is no correction {id!r}")
    opened.forget_text(record.seq)
    if shell.json:
        shell.emit({"forgotten": id})
    else:
        shell.say(f"Forgot the text of {id}; its features stay")


def _skip(shell: Shell, folder: Path, number: str) -> None:
    from thresher.desk import skip

    if not number.isdecimal():
        raise UsageError(f"{number!r} is not the number of a record (a message of `journal check` names it)")
    skip(folder, int(number))
    if shell.json:
        shell.emit({"skipped": int(number)})
    else:
        shell.say(f"Record {number} is left out from now on")
