"""A journal whose files are deleted, moved or replaced, while it is in use or not: never a word less in silence."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.ledger import begin_model, content_of, copied
from support.served import check_problem, served
from thresher.errors import JournalBrokenError, JournalBusyError, JournalError
from thresher.journal.journaled_model import JournaledModel, journal_folder
from thresher.journal.snapshots import backup

FILE, LOG = "journal.sqlite3", "journal.sqlite3-wal"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return begin_model(tmp_path)


def teach(desk: JournaledModel, first: int, last: int) -> None:
    for number in range(first, last):
        desk.correct(f"a.{number}", **content_of(f"a.{number}"))


def replace(folder: Path) -> None:
    shutil.copyfile(folder / FILE, folder / "copy")
    (folder / "copy").replace(folder / FILE)


LOSSES: dict[str, Callable[[Path], object]] = {
    "all deleted": shutil.rmtree,
    "all moved": lambda folder: folder.rename(folder.with_name("elsewhere")),
    "database deleted": lambda folder: (folder / FILE).unlink(),
    "log deleted": lambda folder: (folder / LOG).unlink(),
    "database replaced": replace,
}


@pytest.mark.parametrize("loss", LOSSES)
def test_nothing_is_acknowledged_that_would_be_lost(model: Path, loss: str) -> None:
    desk = JournaledModel(model)
    teach(desk, 0, 3)
    digest = desk.model.digest()
    LOSSES[loss](journal_folder(model))
    for number in range(3, 6):
        with pytest.raises(JournalBrokenError, match="was deleted or moved while it was in use"):
            teach(desk, number, number + 1)
    assert (desk.model.digest(), desk.position) == (digest, 3)
    with pytest.raises(JournalBrokenError):
        desk.close()


def test_a_service_whose_journal_is_deleted_refuses_corrections_and_ends(model: Path) -> None:
    with served(model, fails=JournalBrokenError) as running:
        running.correct(text="crude oil", accept=["energy"])
        shutil.rmtree(journal_folder(model))
        answer = running.client().post("/v1/corrections", json={"id": "x", "text": "wheat", "accept": ["grain"]})
        check_problem(answer, 503)


def test_a_log_without_its_database_is_refused_and_kept(model: Path) -> None:
    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
        with copied(model) as killed:
            folder = journal_folder(killed)
            (folder / FILE).rename(folder / "aside")
            log = (folder / LOG).read_bytes()
            for new in (None, True):
                with pytest.raises(JournalError, match=f"{FILE}: is gone, and its log is still here"):
                    JournaledModel(killed, new=new)
            assert (folder / LOG).read_bytes() == log
            (folder / "aside").rename(folder / FILE)
            with JournaledModel(killed) as again:
                assert (again.model.digest(), again.remarks) == (desk.model.digest(), [])


def test_a_backup_of_the_database_is_not_mixed_with_a_log_that_is_still_there(model: Path) -> None:
    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
        early, copy = desk.model.digest(), model.with_name("copy")
        backup(desk.journal, copy)
        teach(desk, 3, 300)  # more than one log: SQLite moves them into the database from time to time
        with copied(model) as killed:
            folder = journal_folder(killed)
            before = (folder / LOG).read_bytes()
            shutil.copyfile(copy / FILE, folder / FILE)
            for new in (None, True):
                with pytest.raises(JournalError, match=f"{FILE}: is a backup, and the log next to it is of another"):
                    JournaledModel(killed, new=new)
            assert (folder / LOG).read_bytes() == before
            assert (folder / FILE).read_bytes() == (copy / FILE).read_bytes()
            (folder / LOG).rename(folder.with_name("log"))
            with JournaledModel(killed) as again:
                assert (again.model.digest(), again.position, again.journal.find_damage()) == (early, 3, [])
        with copied(model) as killed, JournaledModel(killed) as again:  # as it was left, nothing is wrong with it
            assert (again.model.digest(), again.remarks) == (desk.model.digest(), [])


def test_a_backup_that_was_put_back_can_be_killed_and_opened_again(model: Path) -> None:
    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
        backup(desk.journal, model.with_name("copy"))
    assert not list(model.with_name("copy").glob(f"{FILE}-*"))
    shutil.rmtree(journal_folder(model))
    model.with_name("copy").rename(journal_folder(model))
    with JournaledModel(model) as desk:
        with copied(model) as killed, JournaledModel(killed) as again:
            assert again.position == 3
        teach(desk, 3, 8)
        with copied(model) as killed, JournaledModel(killed) as again:
            assert (again.model.digest(), again.remarks) == (desk.model.digest(), [])


def test_an_empty_journal_next_to_the_snapshots_of_another_is_refused(model: Path, tmp_path: Path) -> None:
    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
    other = begin_model(tmp_path / "other")
    JournaledModel(other).journal.close()
    connection = sqlite3.connect(journal_folder(other) / FILE)
    connection.execute("DELETE FROM facts")
    connection.commit()
    connection.close()
    shutil.copyfile(journal_folder(other) / FILE, journal_folder(model) / FILE)
    before = sorted((path.name, path.read_bytes()) for path in journal_folder(model).glob("snapshot*"))
    with pytest.raises(JournalError, match="this journal is empty, and snapshot-0000000003"):
        JournaledModel(model)
    assert sorted((path.name, path.read_bytes()) for path in journal_folder(model).glob("snapshot*")) == before


def test_the_journal_of_another_model_is_refused(model: Path, tmp_path: Path) -> None:
    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
    other = begin_model(tmp_path / "other")
    with JournaledModel(other) as desk:
        desk.correct("first", "wheat harvest", accept=["metals"])
        desk.write_model()
    shutil.copyfile(journal_folder(other) / FILE, journal_folder(model) / FILE)
    with pytest.raises(JournalError, match="this is not the model of"):
        JournaledModel(model)


def test_records_that_only_a_snapshot_has_are_reported_missing(model: Path) -> None:
    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
        early = desk.model.digest()
    shutil.copyfile(journal_folder(model) / FILE, model.with_name("early"))
    with JournaledModel(model) as desk:
        teach(desk, 3, 8)
    shutil.copyfile(model.with_name("early"), journal_folder(model) / FILE)
    with JournaledModel(model) as again:
        missing = "records 4 to 8 are missing, which snapshot-0000000008.thresher has"
        assert again.remarks == [f"{again.journal.path}: {missing}"]
        assert (journal_folder(model) / "lost-snapshot-0000000008.thresher").exists(), "it may still be of use"
        assert not (journal_folder(model) / "snapshot-0000000008.thresher").exists()
        assert again.model.digest() == early


def test_a_log_that_is_deleted_after_a_kill_is_reported_missing(model: Path) -> None:
    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
    with JournaledModel(model) as desk:
        teach(desk, 3, 8)
        with copied(model) as killed:
            (journal_folder(killed) / LOG).unlink()
            gone = "the last process was killed, and its log has been deleted since"
            said = f"{journal_folder(killed) / FILE}: {gone}: the last corrections may be lost"
            for remarks in ([said], []):  # it is said once
                with JournaledModel(killed) as again:
                    assert (again.position, again.remarks) == (3, remarks)
        with copied(model) as killed, JournaledModel(killed) as again:
            assert (again.model.digest(), again.remarks) == (desk.model.digest(), [])
    with JournaledModel(model) as again:
        assert again.remarks == []


def test_a_link_to_a_model_leads_to_its_journal(model: Path, tmp_path: Path) -> None:
    link = tmp_path / "links" / "current.thresher"
    link.parent.mkdir()
    link.symlink_to(os.path.relpath(model, link.parent))
    with JournaledModel(link) as desk:
        teach(desk, 0, 3)
        with pytest.raises(JournalBusyError):
            JournaledModel(model)
        desk.write_model()
    assert list(link.parent.iterdir()) == [link]
    assert link.is_symlink()
    with JournaledModel(model) as again:
        assert again.position == 3
