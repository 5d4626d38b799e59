"""The documents to review: their ids, their room, and how they are deleted."""

from pathlib import Path
from typing import Any

import pytest

from thresher.journal.event_log import MAX_ID_LENGTH
from thresher.journal.journal import Journal
from thresher.web import review_documents as pools
from thresher.web.errors import Problem
from thresher.web.review_documents import ReviewDocument, ReviewDocuments, TooManyDocumentsError


@pytest.fixture
def pool(tmp_path: Path) -> ReviewDocuments:
    return ReviewDocuments(Journal(tmp_path / "journal", create=True).queue)


def test_an_id_that_another_text_has_is_marked_and_stays_short_enough(pool: ReviewDocuments) -> None:
    name = "x" * MAX_ID_LENGTH
    assert pool.add([(name, "one"), (name, "two"), (name, "three"), (name, "two")]) == (3, 1)
    assert sorted(document.text for document in pool.by_id.values()) == ["one", "three", "two"]  # type: ignore[type-var]
    assert {len(id) for id in pool.by_id} == {MAX_ID_LENGTH}
    assert pool.add([(name, "one"), (name, "three")]) == (0, 2)


def test_a_document_whose_marked_id_is_taken_is_added_anyway(pool: ReviewDocuments) -> None:
    pool.add([("a", "one"), ("a", "two")])
    marked = next(id for id in pool.by_id if id != "a")
    other = ReviewDocuments(pool._queue)
    assert other.remove(marked).text == "two"
    assert other.add([(marked, "three"), ("a", "two")]) == (2, 0)
    assert sorted(document.text for document in other.by_id.values()) == ["one", "three", "two"]  # type: ignore[type-var]


def test_a_document_that_is_deleted_is_gone_at_the_next_start_too(pool: ReviewDocuments) -> None:
    pool.add([("a", "one"), ("b", "two")])
    before = pool.version
    pool.remove("a")
    assert (list(pool.by_id), pool.version != before) == (["b"], True)
    assert list(ReviewDocuments(pool._queue).by_id) == ["b"]


def test_room_is_counted_in_bytes_and_freed_by_removal(pool: ReviewDocuments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "MAX_BYTES", 100)
    pool.add([("a", "日本語" * 10)])  # 90 bytes
    with pytest.raises(TooManyDocumentsError, match="there is room for"):
        pool.add([("b", "日本語" * 2)])
    pool.remove("a")
    assert pool.add([("b", "日本語" * 2)]) == (1, 0)


class Removing(dict[str, ReviewDocument]):
    """Documents that another thread removes while someone looks at them."""

    def __init__(self, pool: ReviewDocuments) -> None:
        super().__init__(pool.by_id)
        self._pool = pool

    def __contains__(self, id: object) -> bool:
        self._pool.by_id = {}
        return super().__contains__(id)

    def values(self) -> Any:
        self._pool.by_id = {}
        return super().values()


def test_a_document_removed_during_a_lookup_never_causes_an_error(pool: ReviewDocuments) -> None:
    pool.add([("a", "one"), ("b", "two")])
    pool.by_id = Removing(pool)
    assert pool.get("a").text == "one"
    pool.by_id = {}
    with pytest.raises(Problem, match="there is no document of this id to review"):
        pool.get("a")


def test_all_counts_are_of_one_moment(pool: ReviewDocuments) -> None:
    pool.add([("a", "one"), ("b", "two")])
    pool.by_id = Removing(pool)
    assert pool.count_states() == {"open": 2, "unsure": 0, "done": 0, "total": 2}
