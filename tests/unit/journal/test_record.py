"""A record of the journal comes back as it was kept; one that a disk has changed is refused with its place."""

import json
import sqlite3
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thresher import Categorizer
from thresher.errors import JournalError
from thresher.journal.database import FILE
from thresher.journal.journal import Journal
from thresher.journal.journaled_model import JournaledModel, journal_folder, skip
from thresher.journal.record import DamagedError, Entry, pack, pack_features, seal, unpack, unpack_body, unpack_document
from thresher.journal.schema import SEALED
from thresher.web.review_documents import ReviewDocuments

GOOD: dict[str, Any] = {
    "seq": 7,
    "id": "c7",
    "kind": "correction",
    "time": "2026-01-31T12:00:00.000+00:00",
    "user": "ada",
    "body": '{"accept": ["grain"], "reject": []}',
    "text": '"wheat"',
    "features": pack_features([("wheat", 1), ("größer", 2)]),
    "digest": "ab",
    "undone_by": None,
    "effect": '{"mistakes": ["grain"]}',
}


def row(**changes: Any) -> tuple[Any, ...]:
    *columns, effect = (GOOD | changes).values()
    return *columns, seal(*columns), effect


def packed(features: Any) -> bytes:
    return zlib.compress(json.dumps(features).encode())


def test_a_record_comes_back() -> None:
    record = unpack(row())
    assert (record.seq, record.id, record.user, record.digest) == (7, "c7", "ada", "ab")
    assert record.body == {"accept": ["grain"], "reject": []}
    assert record.text == "wheat"
    assert record.features == [("wheat", 1), ("größer", 2)]
    assert record.effect == {"mistakes": ["grain"]}


def test_text_is_stored_readably() -> None:
    assert pack("größer") == '"größer"'
    assert pack({"title": "é"}) == '{"title": "é"}'
    assert pack(None) is None


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize(
    ("column", "value"),
    [("id", None), ("kind", 3), ("time", b"x"), ("user", None), ("body", None), ("body", 1.5), ("text", 7),
     ("features", "x"), ("digest", None), ("undone_by", "x")],
)  # fmt: skip
def test_a_column_of_the_wrong_type_is_damaged(column: str, value: Any, sealed: bool) -> None:
    *columns, seal, effect = row(**{column: value})
    with pytest.raises(DamagedError, match=r"^record 7 is damaged: a column has the wrong type"):
        unpack((*columns, seal if sealed else None, effect))


def test_a_record_without_a_seal_is_damaged(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", create=True) as journal:
        journal.append(Entry("a", "undo", "", {"seqs": []}))
        journal.database._connection.execute("PRAGMA writable_schema=1")
        journal.database._connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, 'seal TEXT NOT NULL', 'seal TEXT')"
        )
    with Journal(tmp_path / "j") as journal:
        journal.database._connection.execute("UPDATE records SET seal = NULL")
        with pytest.raises(JournalError, match="record 1 is damaged: its seal does not match"):
            journal.log.find("a")
        assert journal.find_damage() == [
            "record 1 is damaged: its seal does not match (thresher journal skip MODEL 1 leaves it out)"
        ]


@pytest.mark.parametrize("packed", [None, 3, b"x"])
def test_a_document_or_body_that_is_not_text_is_damaged(packed: Any) -> None:
    with pytest.raises(DamagedError, match="expected text in a column"):
        unpack_body(3, "correction", packed)
    if packed is not None:
        with pytest.raises(DamagedError, match=r"^document '5' to review is damaged: expected text in a column"):
            unpack_document(5, packed)  # type: ignore[arg-type]


def test_features_that_unpack_to_too_many_bytes_are_refused() -> None:
    bomb = zlib.compress(b"[" + b" " * 2**28 + b"]", 9)
    tracemalloc.start()
    try:
        with pytest.raises(
            DamagedError, match="record 7 is damaged: its features are incomplete or have data after their end"
        ):
            unpack(row(features=bomb))
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()
    many = [(f"word{number}", number) for number in range(1, 100_000)]
    assert unpack(row(features=pack_features(many))).features == many
    same = [("a" * number, 1) for number in range(1, 2000)]  # which shrinks as far as names do
    assert unpack(row(features=pack_features(same))).features == same


@pytest.mark.parametrize("change", [lambda kept: kept[:-1], lambda kept: kept + b"x", lambda kept: b""])
def test_features_with_trailing_bytes_are_damaged(change: Callable[[bytes], bytes]) -> None:
    with pytest.raises(
        DamagedError, match="record 7 is damaged: its features are incomplete or have data after their end"
    ):
        unpack(row(features=change(packed([["wheat", 1]]))))


def test_a_damaged_document_is_named_by_the_beginning_of_its_id() -> None:
    with pytest.raises(DamagedError, match=f"^document '{'x' * 50}' to review is damaged"):
        unpack_document("x" * 60, "no JSON")


WHOLE: dict[str, dict[str, Any]] = {
    "all categories": {"body": '{"categories": []}'},
    "a document": {"body": '{"categories": ["a"], "document": "3"}'},
    "fields": {"text": '{"title": "a", "body": "\\u0000"}'},
    "no text, features or effect": {"text": None, "features": None, "effect": None},
    "no feature": {"features": packed([])},
    "a new category": {"kind": "categories", "body": '{"change": "new", "names": ["a"]}'},
    "a merge": {"kind": "categories", "body": '{"change": "merge", "names": ["a", "b"], "into": "c"}'},
    "a threshold": {"kind": "categories", "body": '{"change": "threshold", "names": ["a"], "threshold": 0.5}'},
    "an undo": {"kind": "undo", "body": '{"seqs": [1, 2]}'},
    "a skip": {"kind": "skip", "body": '{"seqs": [1]}'},
}


@pytest.mark.parametrize("changes", WHOLE.values(), ids=WHOLE)
def test_every_kind_of_record_comes_back(changes: dict[str, Any]) -> None:
    record = unpack(row(**changes))
    assert pack(record.body) == changes.get("body", GOOD["body"])
    assert record.text == (json.loads(changes["text"]) if changes.get("text") else changes.get("text", "wheat"))


DAMAGED: dict[str, dict[str, Any]] = {
    "body cut": {"body": '{"accept": ["gra'},
    "body a list": {"body": "[]"},
    "body of another kind": {"kind": "undo"},
    "unknown kind": {"kind": "correctioN"},
    "accept missing": {"body": '{"accepu": ["grain"], "reject": []}'},
    "reject missing": {"body": '{"accept": ["grain"], "rejecu": []}'},
    "accept a text": {"body": '{"accept": "grain", "reject": []}'},
    "a name that is a number": {"body": '{"accept": [1], "reject": []}'},
    "document a number": {"body": '{"categories": [], "document": 3}'},
    "half a letter": {"body": '{"accept": ["\\ud800"], "reject": []}'},
    "too deep": {"body": "[" * 100_000},
    "change missing": {"kind": "categories", "body": '{"names": ["a"]}'},
    "names missing": {"kind": "categories", "body": '{"change": "new"}'},
    "into a number": {"kind": "categories", "body": '{"change": "merge", "names": ["a"], "into": 3}'},
    "threshold a whole number": {
        "kind": "categories",
        "body": '{"change": "threshold", "names": ["a"], "threshold": 1%s}' % ("0" * 400),
    },
    "threshold missing": {"kind": "categories", "body": '{"change": "threshold", "names": ["a"]}'},
    "seqs missing": {"kind": "undo", "body": "{}"},
    "seqs of texts": {"kind": "skip", "body": '{"seqs": ["1"]}'},
    "seqs of truth values": {"kind": "skip", "body": '{"seqs": [true]}'},
    "text cut": {"text": '"whea'},
    "text a number": {"text": "1"},
    "text a list": {"text": "[]"},
    "fields of numbers": {"text": '{"title": 1}'},
    "features not packed": {"features": b"wheat"},
    "features not ASCII": {"features": zlib.compress('[["größer", 1]]'.encode())},
    "features no JSON": {"features": zlib.compress(b'[["wheat", 1]')},
    "features an object": {"features": packed({"wheat": 1})},
    "a feature alone": {"features": packed([["wheat"]])},
    "a feature that is a text": {"features": packed(["ab"])},
    "a feature without a name": {"features": packed([[1, 1]])},
    "a feature that occurs twice": {"features": packed([["a", 1], ["a", 2]])},
    "a count of nothing": {"features": packed([["a", 0]])},
    "a count that is a fraction": {"features": packed([["a", 1.5]])},
    "a count that is true": {"features": packed([["a", True]])},
    "a count beyond all": {"features": packed([["a", 2**31]])},
    "half a letter in a feature": {"features": packed([["\ud800", 1]])},
    "effect a list": {"effect": "[]"},
    "effect without mistakes": {"effect": '{"predicted": []}'},
}


@pytest.mark.parametrize("changes", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_record_is_refused_with_its_place(changes: dict[str, Any]) -> None:
    with pytest.raises(
        DamagedError, match=r"^record 7 is damaged: .+ \(thresher journal skip MODEL 7 leaves it out\)$"
    ):
        unpack(row(**changes))


@pytest.mark.parametrize("changes", DAMAGED.values(), ids=DAMAGED)
def test_a_skipped_damaged_record_is_ignored(changes: dict[str, Any]) -> None:
    *columns, _, effect = row(undone_by=9, **changes)
    record = unpack((*columns, "", effect))
    assert (record.seq, record.id, record.undone_by) == (7, "c7", 9)
    assert (record.body, record.text, record.features, record.effect) == ({}, None, None, None)
    with pytest.raises(DamagedError):  # of one that was undone, and damaged later
        unpack((*columns, seal(*columns), effect))
    with pytest.raises(DamagedError):
        unpack((*columns[:-1], None, "", effect))


@pytest.mark.parametrize("name", [name for name in GOOD if name not in ("undone_by", "effect")])
def test_a_record_that_differs_in_a_single_letter_is_refused(name: str) -> None:
    value = GOOD[name]
    other: dict[type, Any] = {int: 8, str: "?", bytes: packed([["wheaT", 1]])}
    columns = list(row())
    columns[list(GOOD).index(name)] = value[:-1] + other[str] if isinstance(value, str) else other[type(value)]
    with pytest.raises(DamagedError, match=r"^record \d is damaged: its seal does not match"):
        unpack(tuple(columns))
    assert unpack((*columns[:10], None, None) if name in ("id", "user") else row()).seq == 7, "what is not sealed"


def test_a_seal_is_of_every_column_and_of_their_order() -> None:
    columns = row()[:10]
    changed = [(*columns[:i], 99, *columns[i + 1 :]) for i in range(10)]
    swapped = [(*columns[:3], columns[4], columns[3], *columns[5:])]
    assert len({seal(*one) for one in [columns, *changed, *swapped]}) == 12


def test_a_body_and_a_document_are_refused_by_themselves() -> None:
    assert unpack_body(3, "correction", GOOD["body"]) == {"accept": ["grain"], "reject": []}
    assert unpack_document("a", '"wheat"') == "wheat"
    with pytest.raises(DamagedError, match=r"^record 3 is damaged: its body does not fit .* of kind 'correction'"):
        unpack_body(3, "correction", "{}")
    with pytest.raises(DamagedError, match=r"^document 'a' to review is damaged: its text is not valid \(take a"):
        unpack_document("a", "3")


# In a journal, and in the model that is made of it.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    texts = ["crude oil rose", "wheat harvest", "gold mine"] * 5
    Categorizer(min_count=1).fit(texts, ["energy", "grain", "metal"] * 5).save(tmp_path / "desk.thresher")
    return tmp_path / "desk.thresher"


def spoil(path: Path, statement: str, *values: Any, sealed: bool = False) -> None:
    connection = sqlite3.connect(journal_folder(path) / FILE)
    connection.execute(statement, values)
    if sealed:
        connection.create_function("seal", 10, seal)
        connection.execute(f"UPDATE records SET seal = {SEALED}")
    connection.commit()
    connection.close()


def test_a_journal_with_a_damaged_record_is_refused_until_it_is_skipped(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        journaled_model.correct("a", "tin mine", accept=["metal"])
        digest = journaled_model.model.digest()
        journaled_model.correct("b", "silver mine", accept=["metal"])
    for snapshot in journal_folder(path).glob("snapshot-*[1-9].thresher"):
        snapshot.unlink()
    spoil(path, "UPDATE records SET body = replace(body, 'accept', 'accepu') WHERE seq = 2")
    with pytest.raises(JournalError, match=r"journal\.sqlite3: record 2 is damaged: .*journal skip MODEL 2"):
        JournaledModel(path)
    skip(journal_folder(path), 2)
    with JournaledModel(path) as again:
        assert again.model.digest() == digest
        assert [record.id for record in again.journal.log.read()][:2] == ["a", "b"]


def test_a_text_or_features_that_have_changed_are_not_learned(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        journaled_model.correct("a", "tin mine", accept=["metal"])
    for snapshot in journal_folder(path).glob("snapshot-*[1-9].thresher"):
        snapshot.unlink()
    others = pack_features([("tin", 1), ("mind", 1)])
    spoil(path, "UPDATE records SET text = '\"tin mind\"', features = ?", others, sealed=True)
    with pytest.raises(JournalError, match="record 1 cannot be applied: its features differ from the recorded ones"):
        JournaledModel(path)
    spoil(path, "UPDATE records SET text = NULL, features = NULL", sealed=True)
    with pytest.raises(JournalError, match="record 1 cannot be applied: its features differ from the recorded ones"):
        JournaledModel(path)


def test_bodies_are_those_of_active_corrections(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        journaled_model.correct("a", "tin mine", accept=["metal"])
        journaled_model.correct("b", "corn", categories=["grain"])
        journaled_model.change_categories("c", "new", ["wood"])
        journaled_model.undo("d", [1])
        assert list(journaled_model.journal.corrections.read_bodies()) == [(2, {"categories": ["grain"]})]
    spoil(path, "UPDATE records SET body = '[]' WHERE seq = 2")
    with Journal(journal_folder(path)) as journal, pytest.raises(JournalError, match=r"sqlite3: record 2 is damaged"):
        list(journal.corrections.read_bodies())


def test_a_damaged_document_to_review_is_refused(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        ReviewDocuments(journaled_model.journal.queue).add([("1", "tin mine"), ("2", {"title": "oil"})])
        documents = ReviewDocuments(journaled_model.journal.queue).by_id.values()
        assert [document.text for document in documents] == ["tin mine", {"title": "oil"}]
    spoil(path, "UPDATE documents SET text = '{\"title\": 3}' WHERE id = '2'")
    with (
        JournaledModel(path) as journaled_model,
        pytest.raises(JournalError, match=r"sqlite3: document '2' to review is damaged"),
    ):
        ReviewDocuments(journaled_model.journal.queue)


def test_a_message_of_sqlite_about_a_damaged_file_is_one_line(path: Path) -> None:
    with JournaledModel(path, new=True):
        pass
    file = journal_folder(path) / FILE
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE records (", b"CREATE TABLE records \x1b", 1))
    with pytest.raises(JournalError, match="malformed database schema") as caught:
        Journal(journal_folder(path))
    assert str(caught.value).isprintable()


def test_a_database_that_sqlite_finds_no_memory_for_is_called_damaged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with JournaledModel(path, new=True):
        pass
    monkeypatch.setattr("thresher.journal.database.set_up", lambda *_: bytearray(2**62))
    with pytest.raises(JournalError, match=r"sqlite3: cannot be opened: it is damaged, or no memory is left"):
        Journal(journal_folder(path))
