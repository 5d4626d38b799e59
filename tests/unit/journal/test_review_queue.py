"""The documents to review in a journal's database: added, changed, removed, and read back."""

from pathlib import Path

import pytest

from thresher.errors import JournalError
from thresher.journal.database import Journal
from thresher.journal.review_queue import ReviewQueue


def test_documents_come_back_in_their_order_with_text_and_state(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        queue = ReviewQueue(journal)
        queue.add([("b", "Grüße", "open"), ("a", {"title": "x", "body": "y"}, "unsure")])
        queue.add([])
    with Journal(tmp_path / "journal") as journal:
        found = list(ReviewQueue(journal).documents())
    assert found == [("b", "Grüße", "open"), ("a", {"title": "x", "body": "y"}, "unsure")]


def test_states_change_and_documents_are_removed(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        queue = ReviewQueue(journal)
        queue.add([("a", "one", "open"), ("b", "two", "open")])
        queue.set_state("a", "unsure")
        assert [queue.state(id) for id in ("a", "b", "c", None)] == ["unsure", "open", None, None]
        queue.remove("a")
        queue.remove("unknown")
        assert list(queue.documents()) == [("b", "two", "open")]


def test_an_id_that_is_known_adds_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        queue = ReviewQueue(journal)
        queue.add([("a", "one", "open")])
        with pytest.raises(JournalError, match="UNIQUE"):
            queue.add([("b", "two", "open"), ("a", "three", "open")])
        assert list(queue.documents()) == [("a", "one", "open")]


def test_a_damaged_document_is_named(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        with journal.transaction() as connection:
            connection.execute("INSERT INTO documents VALUES ('a', '{', 'open')")
        with pytest.raises(JournalError, match="document 'a' to review is damaged"):
            list(ReviewQueue(journal).documents())
