"""The documents to review: their ids, their room, and how they are deleted."""

from pathlib import Path

import pytest

from thresher.journal import LONGEST_ID, Journal
from thresher.web import pool as pools
from thresher.web.pool import Pool, PoolFullError


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool(Journal(tmp_path / "journal", create=True))


def test_an_id_that_another_text_has_is_marked_and_stays_short_enough(pool: Pool) -> None:
    name = "x" * LONGEST_ID
    assert pool.add([(name, "one"), (name, "two"), (name, "three"), (name, "two")]) == (3, 1)
    assert sorted(document.text for document in pool.documents.values()) == ["one", "three", "two"]  # type: ignore[type-var]
    assert {len(id) for id in pool.documents} == {LONGEST_ID}
    assert pool.add([(name, "one"), (name, "three")]) == (0, 2)


def test_a_document_whose_marked_id_is_taken_is_kept_all_the_same(pool: Pool) -> None:
    pool.add([("a", "one"), ("a", "two")])
    marked = next(id for id in pool.documents if id != "a")
    other = Pool(pool._journal)
    assert other.remove(marked).text == "two"
    assert other.add([(marked, "three"), ("a", "two")]) == (2, 0)
    assert sorted(document.text for document in other.documents.values()) == ["one", "three", "two"]  # type: ignore[type-var]


def test_a_document_that_is_deleted_is_gone_at_the_next_start_too(pool: Pool) -> None:
    pool.add([("a", "one"), ("b", "two")])
    before = pool.version
    pool.remove("a")
    assert (list(pool.documents), pool.version != before) == (["b"], True)
    assert list(Pool(pool._journal).documents) == ["b"]


def test_room_is_counted_in_bytes_and_comes_back(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "MAX_BYTES", 100)
    pool.add([("a", "日本語" * 10)])  # 90 bytes
    with pytest.raises(PoolFullError, match="there is room for"):
        pool.add([("b", "日本語" * 2)])
    pool.remove("a")
    assert pool.add([("b", "日本語" * 2)]) == (1, 0)
