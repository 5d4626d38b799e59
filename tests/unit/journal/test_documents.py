"""What a record's transaction does to the documents to review: done, open again, forgotten."""

from pathlib import Path

from thresher.journal import documents
from thresher.journal.database import Journal
from thresher.journal.review_queue import ReviewQueue


def test_a_corrected_document_is_done_and_open_again_when_nothing_corrects_it(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        queue = ReviewQueue(journal)
        queue.add([("a", "one", "open"), ("b", "two", "open")])
        for id in ("1", "2"):
            journal.append(id, "correction", "", {"categories": ["x"], "document": "a"}, text="one")
        assert [queue.state(id) for id in "ab"] == ["done", "open"]
        journal.append("3", "undo", "", {"seqs": [1]}, undoes=[1])
        assert queue.state("a") == "done"  # the second correction is not undone
        journal.append("4", "undo", "", {"seqs": [2]}, undoes=[2])
        assert [queue.state(id) for id in "ab"] == ["open", "open"]


def test_documents_are_marked_one_by_one(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        queue = ReviewQueue(journal)
        queue.add([("a", "one", "open"), ("b", "two", "open")])
        with journal.transaction() as connection:
            documents.mark_done(connection, "b")
        assert [queue.state(id) for id in "ab"] == ["open", "done"]


def test_forgetting_takes_the_document_and_all_of_the_same_text(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", create=True) as journal:
        queue = ReviewQueue(journal)
        queue.add([("a", "one", "open"), ("b", "secret", "open"), ("c", "other", "open"), ("d", "secret", "open")])
        journal.append("1", "correction", "", {"categories": ["x"], "document": "c"}, text="secret")
        with journal.transaction() as connection:
            documents.forget(connection, 1)
        assert [id for id, _, _ in queue.documents()] == ["a"]
