"""A `thresher journal backup` that is killed leaves no copy of the texts for good: a later backup or start removes it.

The command is killed while it writes the copy, between the answer of the service and the move, and while it copies to
another disk. What a living process is still copying is left alone.
"""

import signal
from pathlib import Path

import pytest

from faults.harness import Service, client_of, command_code, forked, forked_service
from faults.ledger import content_of
from faults.nursery import Nursery
from thresher.journal.journal import Journal
from thresher.journal.journaled_model import JournaledModel, journal_folder

KILL = "os.kill(os.getpid(), signal.SIGKILL)"
IMPORTS = "import errno, os, signal, shutil, time\nfrom pathlib import Path\nimport thresher.cli.journal as j\n"
WHILE_IT_COPIES = f"{IMPORTS}shutil.copyfileobj = lambda *_: {KILL}\n"
BEFORE_THE_MOVE = f"{IMPORTS}j._move = lambda *_: {KILL}\n"
ANOTHER_DISK = """
rename = Path.rename
def refuse(path, target):
    if path.name.startswith(".backup-"):
        raise OSError(errno.EXDEV, "Invalid cross-device link")
    return rename(path, target)
Path.rename = refuse
"""
TO_ANOTHER_DISK = f"{WHILE_IT_COPIES}{ANOTHER_DISK}"
WAIT = "lambda *_: print('copying', flush=True) or time.sleep(60)"
SLOWLY_TO_ANOTHER_DISK = f"{IMPORTS}{ANOTHER_DISK}shutil.copyfileobj = {WAIT}\n"


def back_up(nursery: Nursery, model: Path, name: str, patch: str = "") -> int:
    """Write a backup of a model's journal next to it, with the command line, and return the exit code."""
    arguments = ["journal", "backup", str(model), str(model.with_name(name)), "--json"]
    with forked(nursery, model.parent, command_code(arguments, patch)) as running:
        running.rest()
        return running.wait()


def copies(folder: Path) -> list[str]:
    """Return the names in a folder of what is, or was to be, a backup."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith((".thresher-half-", ".backup-")))


def correct(service: Service) -> None:
    with client_of(service) as client:
        assert client.correct("a.1").status == 201


def test_an_incomplete_backup_is_removed_by_the_next_one_there(nursery: Nursery, model: Path) -> None:
    with JournaledModel(model) as desk:
        desk.correct("a", **content_of("a"))
    assert back_up(nursery, model, "monday", WHILE_IT_COPIES) == -signal.SIGKILL
    (left,) = copies(model.parent)
    assert (model.parent / left / "journal.sqlite3").exists()
    assert back_up(nursery, model, "tuesday") == 0
    assert copies(model.parent) == []
    assert not model.with_name("monday").exists()
    with Journal(model.with_name("tuesday")) as journal:
        assert (journal.find_damage(), journal.log.last_seq()) == ([], 1)


@pytest.mark.parametrize("patch", [BEFORE_THE_MOVE, TO_ANOTHER_DISK], ids=["before the move", "while it copies"])
def test_a_backup_that_was_never_moved_is_removed_at_the_next_start(nursery: Nursery, model: Path, patch: str) -> None:
    folder = journal_folder(model)
    with forked_service(nursery, model) as service:
        correct(service)
        assert back_up(nursery, model, "monday", patch) == -signal.SIGKILL
        assert len(copies(folder)) == 1
        assert back_up(nursery, model, "tuesday") == 0
        assert copies(model.parent) == []
        assert len(copies(folder)) == 1, "the first may still be moved for a minute"
    with forked_service(nursery, model):
        assert copies(folder) == []


@pytest.mark.parametrize("patch", [BEFORE_THE_MOVE, TO_ANOTHER_DISK], ids=["before the move", "while it copies"])
def test_a_backup_that_was_never_moved_is_removed_with_a_later_one(nursery: Nursery, model: Path, patch: str) -> None:
    soon = "import thresher.web.backups as s; s.FETCHED_WITHIN = 0"
    with forked_service(nursery, model, soon) as service:
        correct(service)
        assert back_up(nursery, model, "monday", patch) == -signal.SIGKILL
        (left,) = copies(journal_folder(model))
        assert back_up(nursery, model, "tuesday", BEFORE_THE_MOVE) == -signal.SIGKILL
        (later,) = copies(journal_folder(model))
        assert later != left


def test_a_backup_being_copied_survives_a_start(nursery: Nursery, model: Path) -> None:
    folder = journal_folder(model)
    arguments = ["journal", "backup", str(model), str(model.with_name("monday")), "--json"]
    with forked_service(nursery, model) as service:
        correct(service)
        with forked(nursery, model.parent, command_code(arguments, SLOWLY_TO_ANOTHER_DISK)) as copying:
            assert copying.read() == "copying\n"
            service.kill()
            (theirs,), (half,) = copies(folder), copies(model.parent)
            with forked_service(nursery, model):
                assert copies(folder) == [theirs]
                assert back_up(nursery, model, "tuesday") == 0
                assert copies(model.parent) == [half]
    with forked_service(nursery, model):
        assert copies(folder) == []


def test_a_backup_requested_over_http_stays(nursery: Nursery, model: Path) -> None:
    with forked_service(nursery, model) as service, client_of(service) as client:
        name = client.ask("POST", "/v1/backup", {}).body["folder"]
        assert name.startswith("backup-")
    with forked_service(nursery, model):
        assert (journal_folder(model) / name / "journal.sqlite3").exists()


def test_an_undo_does_not_remove_a_backup_about_to_be_moved(nursery: Nursery, model: Path) -> None:
    with forked_service(nursery, model) as service, client_of(service) as client:
        assert client.correct("a.1").status == 201
        name = client.ask("POST", "/v1/backup", {"temporary": True}).body["folder"]
        assert client.ask("DELETE", "/v1/corrections/a.1").status == 200
        assert copies(journal_folder(model)) == [name]
