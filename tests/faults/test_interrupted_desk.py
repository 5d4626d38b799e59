"""A desk that is broken off between any two steps says so, and is whole after a new start.

What the machines and failpoints found, each as the shortest way there.
"""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from faults.ledger import begin_model, content_of, copied, replayed_digest
from thresher import Categorizer
from thresher.errors import JournalError
from thresher.journal.database import FILE
from thresher.journal.journal import Journal
from thresher.journal.journaled_model import JournaledModel, journal_folder
from thresher.journal.record import Record, seal


class BrokenOffError(BaseException):
    """What a signal may raise anywhere."""


class Place(int):
    """The place of a record that breaks off what notes something of it."""

    def __hash__(self) -> int:
        raise BrokenOffError


@pytest.fixture
def model(memory: Path, request: pytest.FixtureRequest) -> Path:
    return begin_model(memory / request.node.name)


def teach(desk: JournaledModel, first: int, last: int) -> None:
    for number in range(first, last):
        desk.correct(f"a.{number}", **content_of(f"a.{number}"))


def whole_again(model: Path, position: int) -> None:
    """Check that a new start brings all back, and the same from the first record on."""
    with copied(model) as copy, JournaledModel(copy) as again:
        assert (again.position, again.remarks) == (position, [])
        assert again.model.digest() == replayed_digest(model)


def test_a_correction_interrupted_before_its_commit_is_learned_once(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Journal.append

    def with_place(*given: Any, **more: Any) -> Record:
        record = append(*given, **more)
        return record._replace(seq=Place(record.seq))

    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
        monkeypatch.setattr(Journal, "append", with_place)
        with pytest.raises(BrokenOffError):
            teach(desk, 3, 4)
    whole_again(model, 4)


def test_a_correction_interrupted_after_its_commit_stops_the_model(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Journal.append

    def broken_off(*given: Any, **more: Any) -> None:
        append(*given, **more)
        raise BrokenOffError

    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "append", broken_off)
            with pytest.raises(BrokenOffError):
                teach(desk, 3, 4)
        for refused in (
            lambda: teach(desk, 4, 5),
            lambda: desk.undo("undo", [1]),
            lambda: desk.change_categories("new", "new", ["bees"]),
            desk.write_model,
            desk.write_snapshot,
        ):
            with pytest.raises(JournalError, match="record 4 was written but not applied"):
                refused()
    whole_again(model, 4)


def test_an_incomplete_correction_is_written_to_no_file(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_off(*_: object) -> None:
        raise BrokenOffError

    before = model.read_bytes()
    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
        monkeypatch.setattr(
            "thresher.model.online_learning.copy_row", broken_off
        )  # which comes after weights were changed
        with pytest.raises(BrokenOffError):
            teach(desk, 3, 4)
        monkeypatch.undo()
        with pytest.raises(JournalError, match="record 4 was written but not applied"):
            desk.write_model()
    assert model.read_bytes() == before
    whole_again(model, 4)


# What is left of a journal that was damaged, or lost its end.


def test_a_journal_without_its_facts_is_refused(model: Path) -> None:
    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
        desk.write_model()
    spoil(model, "DELETE FROM facts")
    with pytest.raises(JournalError, match=r"journal\.sqlite3: it is damaged: it has records, but no first model"):
        JournaledModel(model)


def test_an_empty_journal_is_not_started_with_another_model(model: Path) -> None:
    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
        desk.write_model()
    for snapshot in journal_folder(model).glob("snapshot-*[1-9].thresher"):
        snapshot.unlink()
    spoil(model, "DELETE FROM facts; DELETE FROM effects; DELETE FROM records")
    with pytest.raises(JournalError, match="this journal is empty, and was begun with another model than"):
        JournaledModel(model)


def test_a_journal_whose_creation_was_interrupted_is_created(model: Path) -> None:
    JournaledModel(model).close()
    spoil(model, "DELETE FROM facts")
    with JournaledModel(model) as desk:
        teach(desk, 0, 3)
    whole_again(model, 3)


def test_a_snapshot_of_lost_records_is_not_used_for_later_ones(model: Path) -> None:
    with JournaledModel(model) as desk:
        teach(desk, 0, 8)
    spoil(model, "DELETE FROM effects WHERE seq > 5; DELETE FROM records WHERE seq > 5")
    desk = JournaledModel(model)
    (remark,) = desk.remarks
    assert "records 6 to 8 are missing, which snapshot-0000000008.thresher has" in remark
    teach(desk, 20, 25)
    digest = desk.model.digest()
    desk.journal.close()  # killed
    with JournaledModel(model) as again:
        assert (again.position, again.model.digest()) == (10, digest)
    assert [path.name for path in journal_folder(model).glob("lost-*")] == ["lost-snapshot-0000000008.thresher"]


def test_a_wrong_mark_of_an_undone_record_is_refused(model: Path) -> None:
    with JournaledModel(model) as desk:
        teach(desk, 0, 4)
        desk.undo("undo", [2])
    for snapshot in journal_folder(model).glob("snapshot-*[1-9].thresher"):
        snapshot.unlink()
    sealed = "UPDATE records SET seal = seal(seq, id, kind, time, user, body, text, features, digest, undone_by)"
    spoil(model, f"UPDATE records SET undone_by = NULL; {sealed}")
    with pytest.raises(JournalError, match="record 2 is not marked as its undo record says"):
        JournaledModel(model)
    with Journal(journal_folder(model)) as journal:
        assert journal.find_damage() == ["record 2 is not marked as its undo record says"]


def spoil(model: Path, statements: str) -> None:
    connection = sqlite3.connect(journal_folder(model) / FILE)
    connection.create_function("seal", 10, seal)
    connection.executescript(statements)
    connection.close()


def test_an_untaught_model_starts_its_journal_once(memory: Path) -> None:
    path = memory / "new.thresher"
    Categorizer(preset="fast").save(path)
    with JournaledModel(path) as desk:
        desk.correct("1", "crude oil", accept=["energy"])
    whole_again(path, 1)
