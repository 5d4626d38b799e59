"""The documents to review in a journal: added, changed, removed, read back, and changed by the records of the log."""

from pathlib import Path

import pytest

from thresher.errors import JournalError
from thresher.journal.journal import Journal
from thresher.journal.record import Entry


def test_documents_come_back_in_their_order_with_text_and_state(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        queue = journal.queue
        queue.add([("b", "Grüße", "open"), ("a", {"title": "x", "body": "y"}, "unsure")])
        queue.add([])
    with Journal(tmp_path / "journal") as journal:
        found = list(journal.queue.read())
    assert found == [("b", "Grüße", "open"), ("a", {"title": "x", "body": "y"}, "unsure")]


def test_states_change_and_documents_are_removed(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        queue = journal.queue
        queue.add([("a", "one", "open"), ("b", "two", "open")])
        queue.set_state("a", "unsure")
        assert [queue.state_of(id) for id in ("a", "b", "c", None)] == ["unsure", "open", None, None]
        queue.remove("a")
        queue.remove("unknown")
        assert list(queue.read()) == [("b", "two", "open")]


def test_an_id_that_is_known_adds_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        queue = journal.queue
        queue.add([("a", "one", "open")])
        with pytest.raises(JournalError, match="UNIQUE"):
            queue.add([("b", "two", "open"), ("a", "three", "open")])
        assert list(queue.read()) == [("a", "one", "open")]


def test_a_damaged_document_is_named(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        with journal.database.transaction() as connection:
            connection.execute("INSERT INTO documents VALUES ('a', '{', 'open')")
        with pytest.raises(JournalError, match="document 'a' to review is damaged"):
            list(journal.queue.read())


def test_a_corrected_document_is_done_and_reopened_by_undo(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        queue = journal.queue
        queue.add([("a", "one", "open"), ("b", "two", "open")])
        for id in ("1", "2"):
            journal.append(Entry(id, "correction", "", {"categories": ["x"], "document": "a"}, text="one"))
        assert [queue.state_of(id) for id in "ab"] == ["done", "open"]
        journal.append(Entry("3", "undo", "", {"seqs": [1]}), undoes=[1])
        assert queue.state_of("a") == "done"  # the second correction is not undone
        journal.append(Entry("4", "undo", "", {"seqs": [2]}), undoes=[2])
        assert [queue.state_of(id) for id in "ab"] == ["open", "open"]


def test_forgetting_deletes_all_documents_of_the_same_text(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        queue = journal.queue
        queue.add([("a", "one", "open"), ("b", "secret", "open"), ("c", "other", "open"), ("d", "secret", "open")])
        journal.append(Entry("1", "correction", "", {"categories": ["x"], "document": "c"}, text="secret"))
        queue.forget(1)
        assert [id for id, _, _ in queue.read()] == ["a"]
