"""A desk begins with a model, and comes back to it; what does not fit together is refused."""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.journaled_models import CATEGORIES, TEXTS, execute, interrupt, new_small_model, positions, teach
from thresher import Categorizer
from thresher.errors import JournalError
from thresher.journal.journal import Journal
from thresher.journal.journaled_model import JournaledModel, journal_folder
from thresher.journal.recovery import prepared_folder
from thresher.journal.snapshots import snapshot_path
from thresher.model_file.io import read_model


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return new_small_model(tmp_path)


# Beginning, and coming back.


def test_a_journal_begins_with_the_model_as_it_is(path: Path) -> None:
    digest = Categorizer.load(path).digest()
    with JournaledModel(path, new=True) as journaled_model:
        assert (journaled_model.journal.facts.get("base"), journaled_model.journal.facts.get("written")) == (
            digest,
            digest,
        )
        assert Categorizer.load(journal_folder(path) / "snapshot-0000000000.thresher").digest() == digest
        assert journaled_model.path == path
        written = journaled_model.write_model()
        assert "journal" not in read_model(journal_folder(path) / "snapshot-0000000000.thresher").about
        assert read_model(path).about["journal"] == digest
        teach(journaled_model, 1)
        later = journaled_model.write_model()
        assert journaled_model.journal.facts.get("written") == later != written
        assert journaled_model.journal.facts.get("base") == digest


def test_a_journal_is_created_in_the_given_folder(path: Path, tmp_path: Path) -> None:
    with JournaledModel(path, tmp_path / "elsewhere", new=True) as journaled_model:
        teach(journaled_model, 1)
    assert not journal_folder(path).exists()
    with JournaledModel(path, str(tmp_path / "elsewhere")) as journaled_model:
        assert journaled_model.position == 1


@pytest.mark.parametrize("model", ["", ".", "/"])
def test_a_folder_without_a_name_has_no_journal(model: str) -> None:
    with pytest.raises(IsADirectoryError):
        journal_folder(model)


def test_a_journal_suffices_if_the_model_file_is_missing(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 3)
        digest = journaled_model.model.digest()
    path.unlink()
    with JournaledModel(path) as again:
        assert again.model.digest() == digest == again.write_model()


def test_a_model_file_that_was_not_noted_is_noted_at_the_next_start(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 3)
        journaled_model.model.save(path)
    with JournaledModel(path) as again:
        assert again.journal.facts.get("written") == again.model.digest()
        teach(again, 1, first=3)
    with JournaledModel(path) as again:  # the file is older than the journal, which knows it
        assert again.position == 4


def test_any_failure_during_opening_closes_the_journal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    JournaledModel(path, new=True).close()
    with monkeypatch.context() as patch:
        patch.setattr("thresher.journal.journaled_model.restore_newest", lambda *_: [][0])
        with pytest.raises(IndexError):
            JournaledModel(path)
        patch.setattr("thresher.journal.journaled_model.restore_newest", interrupt)
        with pytest.raises(KeyboardInterrupt):
            JournaledModel(path)
    JournaledModel(path).close()


def test_a_kill_before_there_is_a_journal_leaves_nothing_that_stops_the_next_start(path: Path) -> None:
    folder = journal_folder(path)
    folder.mkdir()
    for name in ("lock", "journal.sqlite3", "journal.sqlite3-wal", "service.json", ".snapshot-0.thresher.tmp"):
        (folder / name).touch()
    with JournaledModel(path) as journaled_model:
        teach(journaled_model, 1)
    assert not list(path.parent.glob("*.left-*"))


def test_remains_of_a_journal_are_moved_aside_under_a_new_name(path: Path) -> None:
    folder = journal_folder(path)
    for _ in range(2):
        folder.mkdir()
        (folder / "snapshot-0000000007.thresher").write_bytes(b"something")
        with pytest.raises(JournalError, match=f"{path}: its journal is missing, there is none in {folder} "):
            JournaledModel(path)
        JournaledModel(path, new=True).close()
        shutil.rmtree(folder)
    left = [file.name for file in path.parent.glob("*.left-*")]
    assert len(left) == 2
    assert all(re.fullmatch(r"desk\.thresher\.journal\.left-[0-9a-f]{6}", name) for name in left)


def test_a_failed_model_writes_no_snapshot_and_refuses_more(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journaled_model = JournaledModel(path, new=True)
    teach(journaled_model, 2)
    with monkeypatch.context() as patch:
        patch.setattr("thresher.journal.replay.apply", interrupt)
        with pytest.raises(KeyboardInterrupt):
            journaled_model.correct("a", "tin mine", accept=["metal"])
    assert (journaled_model.failed_at, journaled_model.position) == (3, 2)
    for act in (
        lambda: journaled_model.undo("u", [1]),
        lambda: journaled_model.change_categories("n", "new", ["bees"]),
        lambda: journaled_model.correct("a", "tin mine", accept=["metal"]),
        journaled_model.write_snapshot,
        journaled_model.write_model,
    ):
        with pytest.raises(JournalError, match=r"^record 3 was written but not applied \(start again to replay it\)"):
            act()
    journaled_model.close()
    assert positions(path) == [0]
    with JournaledModel(path) as again:
        assert again.position == 3
        assert [record.effect is None for record in again.journal.log.read()] == [False, False, True]
        assert again.attach_effect(next(again.journal.log.read(2))).effect is not None


def test_the_journal_is_closed_even_if_the_last_snapshot_fails(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journaled_model = JournaledModel(path, new=True)
    teach(journaled_model, 1)
    with monkeypatch.context() as patch:
        patch.setattr(Categorizer, "save", interrupt)
        with pytest.raises(KeyboardInterrupt):
            journaled_model.close()
    JournaledModel(path).close()


# Who may read the model file.


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
def test_a_model_file_is_private_once_its_journal_has_written_it(path: Path) -> None:
    path.chmod(0o644)
    with JournaledModel(path, new=True) as journaled_model:
        assert mode_of(path) == 0o644  # nobody has taught it anything yet
        teach(journaled_model, 1)
        journaled_model.write_model()
        assert mode_of(path) == 0o600
        assert mode_of(journaled_model.write_snapshot()) == 0o640
        assert mode_of(snapshot_path(journaled_model.journal.folder, 0)) == 0o640


@pytest.mark.usefixtures("usual_umask")
def test_permissions_that_the_owner_grants_later_stay(path: Path) -> None:
    path.chmod(0o644)
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 1)
        journaled_model.write_model()
    for mode in (0o640, 0o644, 0o400):
        path.chmod(mode)
        with JournaledModel(path) as journaled_model:
            teach(journaled_model, 1, first=journaled_model.position)
            journaled_model.write_model()
        assert mode_of(path) == mode


@pytest.mark.usefixtures("usual_umask")
def test_a_missing_model_file_is_written_as_a_private_one(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 1)
        journaled_model.write_model()
        path.chmod(0o644)
        path.unlink()
        journaled_model.write_model()
        assert mode_of(path) == 0o600


@pytest.mark.usefixtures("usual_umask")
def test_a_model_file_that_could_not_be_written_is_private_when_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.chmod(0o644)
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 1)
        with monkeypatch.context() as patch:
            patch.setattr(Categorizer, "save", interrupt)
            with pytest.raises(KeyboardInterrupt):
                journaled_model.write_model()
        journaled_model.write_model()
        assert mode_of(path) == 0o600


# What does not fit together.


def test_records_without_a_first_model_are_refused(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 2)
    for file in journal_folder(path).glob("snapshot-*2.thresher"):
        file.unlink()
    execute(path, "DELETE FROM facts WHERE name = 'base'")
    with pytest.raises(JournalError, match="it is damaged: it has records, but no first model"):
        JournaledModel(path)


def test_a_journal_that_was_begun_with_another_model_and_never_used_is_refused(path: Path) -> None:
    JournaledModel(path, new=True).close()
    execute(path, "DELETE FROM facts")  # as if it had been killed before it noted them
    JournaledModel(path).close()
    execute(path, "DELETE FROM facts")
    Categorizer(min_count=1).fit(TEXTS[:12], CATEGORIES[:12]).save(path)
    with pytest.raises(JournalError, match=f"this journal is empty, and was begun with another model than {path} "):
        JournaledModel(path)


def test_a_record_marked_as_undone_by_no_undo_record_is_refused(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 3)
        with journaled_model.journal.database.transaction():
            journaled_model.journal.log._change(2, "undone_by", 3)
        journaled_model.journal.close()
        journaled_model._snapshot_at = journaled_model.position
        journaled_model.unwritten_effects = {}
    with pytest.raises(JournalError, match=r"record 2 is not marked as its undo record says \(damaged\)"):
        JournaledModel(path)
    with Journal(journal_folder(path)) as journal:
        assert journal.find_damage() == ["record 2 is not marked as its undo record says"]


def test_a_model_file_that_another_process_wrote_is_not_overwritten(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 3)
        trained = Categorizer(min_count=1).fit(["one text", "another"], ["a", "b"]).save(path)
        with pytest.raises(JournalError, match=rf"another process wrote model {trained[:12]} here \(it stays as it is"):
            journaled_model.write_model()
    assert Categorizer.load(path).digest() == trained
    with pytest.raises(JournalError, match="this is not the model of"):
        JournaledModel(path)
    path.unlink()
    with JournaledModel(path) as again:
        assert again.position == 3


# A journal that a reload has prepared, and was killed before it could take it.


def prepare(path: Path) -> str:
    """Prepare a journal for the model in a file, as a reload does; returns the digest of the model."""
    with JournaledModel(path, prepared_folder(journal_folder(path)), new=True) as journaled_model:
        return journaled_model.model.digest()


def test_a_prepared_journal_is_taken_for_the_model_that_it_is_of(path: Path) -> None:
    digest = prepare(path)
    with JournaledModel(path) as journaled_model:
        assert journaled_model.journal.facts.get("base") == digest
    assert not prepared_folder(journal_folder(path)).exists()


@pytest.mark.parametrize("damaged", [False, True])
def test_a_prepared_journal_of_another_model_is_left_alone(path: Path, damaged: bool) -> None:
    prepared = prepared_folder(journal_folder(path))
    prepare(path)
    if damaged:
        snapshot_path(prepared, 0).write_bytes(b"nonsense")
    else:
        Categorizer(min_count=1).fit(TEXTS[:12], CATEGORIES[:12]).save(path)
    with JournaledModel(path) as journaled_model:
        assert journaled_model.journal.facts.get("base") == Categorizer.load(path).digest()
    assert Journal.is_in(prepared)
