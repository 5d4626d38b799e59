"""The log of a journal: records come back as they were written, in their order."""

import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.journals import append_correction, seqs
from thresher.errors import JournalError
from thresher.journal.journal import Journal
from thresher.journal.record import Entry
from thresher.journal.schema import SEALED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "model.journal"


def test_records_come_back_as_they_were(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        written = [append_correction(journal, number) for number in range(1, 1203)]
        assert list(journal.log.read()) == written
        assert list(journal.log.read(after=700, limit=501)) == written[700:1201]
        assert list(journal.log.read(limit=0)) == []
    with Journal(folder) as again:
        assert list(again.log.read()) == written
        assert [list(record.text) for record in again.log.read(limit=1)] == [["title", "body"]]  # in their order
        assert again.log.last_seq() == 1202
        assert again.find_damage() == []


def test_a_known_id_is_not_written_twice(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        first = append_correction(journal, 1)
        with pytest.raises(JournalError, match="UNIQUE"):
            append_correction(journal, 1)
        assert list(journal.log.read()) == [first]


def test_an_id_has_one_to_200_characters(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for id in ("", "x" * 201):
            with pytest.raises(JournalError, match=r"the id '(x{20})?' is not valid \(allowed: 1 to 200 characters\)"):
                journal.append(Entry(id, "correction", "", {}))
        assert journal.append(Entry("x" * 200, "undo", "", {"seqs": []})).seq == 1


def test_a_record_has_a_time_and_a_user(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        before = datetime.now(UTC)
        record = journal.append(Entry("a", "skip", "ada", {"seqs": []}))
        when = datetime.fromisoformat(record.time)
        assert before - timedelta(milliseconds=1) <= when <= datetime.now(UTC)
        assert (record.time[-10], record.time[-6:], record.user) == (".", "+00:00", "ada")
        assert (record.text, record.features, record.undone_by, record.effect) == (None, None, None, None)
        assert record.digest == ""
        assert list(journal.log.read()) == [record]


def test_records_are_listed_from_both_ends_without_their_features(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        assert list(journal.log.read_newest()) == list(journal.log.read_oldest()) == []
        for number in range(1, 46):  # more than are read at a time
            append_correction(journal, number)
        assert seqs(journal.log.read_newest()) == list(range(45, 0, -1))
        assert seqs(journal.log.read_oldest()) == list(range(1, 46))
        assert seqs(journal.log.read_newest(limit=41)) == list(range(45, 4, -1))
        assert seqs(journal.log.read_oldest(limit=40)) == list(range(1, 41))
        assert seqs(journal.log.read_newest(before=4, limit=2)) == [3, 2]
        assert seqs(journal.log.read_oldest(after=42, limit=2)) == [43, 44]
        assert seqs(journal.log.read_newest(before=1)) == seqs(journal.log.read_oldest(after=45)) == []
        whole = journal.log.find("id 45")
        assert whole is not None
        light = [whole._replace(features=None)]
        assert list(journal.log.read_newest(limit=1)) == list(journal.log.read_oldest(after=44)) == light


def test_reading_all_records_keeps_few_in_memory(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for number in range(120):
            body = {"accept": ["a"], "reject": []}
            journal.append(Entry(f"id {number}", "correction", "ada", body, text="x" * 100_000))
        tracemalloc.start()
        try:
            assert sum(1 for _ in journal.log.read()) == 120
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 50 * 100_000


def test_records_of_a_kind_are_found_in_their_order(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for number, kind in enumerate(("undo", "skip", "undo", "skip")):
            journal.append(Entry(str(number), kind, "", {"seqs": []}))
        assert seqs(journal.log.read_kind("undo")) == [1, 3]
        assert seqs(journal.log.read_kind("categories")) == []
        assert [journal.log.kind_of(seq) for seq in (1, 2, 5)] == ["undo", "skip", None]


def test_undone_records_are_known_from_the_marks_and_from_the_undo(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for number in range(1, 4):
            append_correction(journal, number)
        journal.append(Entry("u", "undo", "", {"seqs": [1, 3]}), undoes=[1, 3])
        journal.append(Entry("s", "skip", "", {"seqs": [2]}), undoes=[2])
        assert [record.undone_by for record in journal.log.read()] == [4, 5, 4, None, None]
        assert journal.log.read_undone() == {1: 4, 3: 4, 2: 5}
        assert journal.log.read_undone(after=4) == {2: 5}
        assert [journal.log.has_undone(position) for position in range(6)] == [False, True, True, True, True, False]
        with journal.database.transaction() as connection:
            connection.execute("UPDATE records SET undone_by = NULL WHERE seq = 2")
            connection.execute(f"UPDATE records SET seal = {SEALED}")
        assert journal.log.find_damage() == ["record 2 is not marked as its undo record says"]


def test_corrections_of_the_same_text_share_its_features_or_its_letters(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        body: dict[str, Any] = {"categories": []}
        texts = {"a": ("oil", "x"), "b": ("oil", "y"), "c": ("gas", "x"), "d": ("gas", ""), "e": ("tin", "")}
        for id, (text, digest) in texts.items():
            journal.append(Entry(id, "correction", "", body, text, [("oil", 1)], digest))
        journal.append(Entry("u", "undo", "", {"seqs": [2]}), undoes=[2])
        assert seqs(journal.log.find_same_text(1, undone=False)) == [3, 4]
        assert seqs(journal.log.find_same_text(1, undone=True)) == [2]
        assert seqs(journal.log.find_same_text(5, undone=False)) == []
        assert journal.log.find_same_text(1, undone=False)[0].features is None
