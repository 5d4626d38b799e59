"""The corrections that are not undone: found by their features, mistakes, users and times, and counted."""

from pathlib import Path
from typing import Any

import pytest

from support.journals import append_correction, make_effect, seqs
from thresher.journal.journal import Journal
from thresher.journal.record import Entry


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "model.journal"


def test_mistakes_are_found_by_category(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for number in range(1, 7):
            append_correction(journal, number)
        mistakes = {1: ["a"], 2: ["b", "c"], 3: [], 4: ["a"], 5: ["c", "a"]}
        journal.effects.write({seq: make_effect(*names) for seq, names in mistakes.items()})
        journal.append(Entry("u", "undo", "", {"seqs": [4]}), undoes=[4])
        records = journal.corrections.read_mistakes(["a"], 10)
        assert seqs(records) == [5, 1]
        assert (records[0].effect, records[0].features) == (make_effect("c", "a"), None)
        assert records[0].text == {"title": "z", "body": "a\0"}
        assert seqs(journal.corrections.read_mistakes(["a", "b"], 10)) == [5, 2, 1]
        assert seqs(journal.corrections.read_mistakes(["c", "b"], 1)) == [5]
        assert journal.corrections.read_mistakes(["d"], 10) == []


def test_active_corrections_are_found_by_their_features(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for number, (kind, digest) in enumerate(
            [("correction", "x"), ("correction", "y"), ("skip", "x"), ("correction", "x"), ("correction", "x")]
        ):
            body: dict[str, Any] = {"categories": [], "seqs": []}
            journal.append(Entry(str(number), kind, "", body, text="oil", features=[("oil", 1)], digest=digest))
        journal.append(Entry("u", "undo", "", {"seqs": [4]}), undoes=[4])
        assert seqs(journal.corrections.read_digest("x")) == [1, 5]
        assert [(record.text, record.features) for record in journal.corrections.read_digest("x")] == [(None, None)] * 2
        assert journal.corrections.read_digest("z") == []
        assert seqs(journal.corrections.read_digest("x", limit=1)) == [5]
        assert journal.corrections.find_digests(["x", "y", "z"]) == {"x", "y"}
        assert journal.corrections.find_digests([]) == set()


def fill(journal: Journal) -> None:
    """Append corrections of two users, of which the second is undone, a change of categories and an undo."""
    for number, user in enumerate(("ada", "bob", "bob", "ada", "bob"), 1):
        journal.append(Entry(f"id {number}", "correction", user, {"categories": [f"c{number}"]}))
    journal.append(Entry("change", "categories", "ada", {"change": "new", "names": ["bees"]}))
    journal.append(Entry("undo", "undo", "ada", {"seqs": [2]}), undoes=[2])


def test_corrections_are_selected_by_id_user_time_and_number(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        fill(journal)
        corrections, third = journal.corrections, journal.log.get(3)
        assert third is not None
        assert corrections.find_ids() == {5: "id 5"}  # the last one
        assert corrections.find_ids(id="id 4") == {4: "id 4"}
        assert corrections.find_ids(id="id 2") == corrections.find_ids(id="change") == {}
        assert corrections.find_ids(user="bob") == {3: "id 3", 5: "id 5"}
        assert list(corrections.find_ids(since=third.time, user="ada"))[-1] == 4
        assert corrections.find_ids(since="9999") == {}
        assert corrections.find_ids(seq=6) == {6: "change"}
        assert corrections.find_ids(seq=2) == corrections.find_ids(seq=7) == {}


def test_undone_corrections_are_not_counted(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        assert (journal.corrections.count(), journal.corrections.count_undone()) == (0, 0)
        fill(journal)
        assert (journal.corrections.count(), journal.corrections.count_undone()) == (4, 1)
        assert list(journal.corrections.count_by_user(5).items()) == [("ada", 2), ("bob", 2)]
        assert journal.corrections.count_by_user(1) == {"ada": 2}


def test_bodies_and_outcomes_are_those_of_active_corrections(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        fill(journal)
        journal.effects.write({1: make_effect("c1"), 2: make_effect("c2"), 4: make_effect()})
        bodies = {seq: body["categories"] for seq, body in journal.corrections.read_bodies()}
        assert bodies == {1: ["c1"], 3: ["c3"], 4: ["c4"], 5: ["c5"]}
        assert journal.corrections.read_outcomes() == [(1, True), (3, None), (4, False), (5, None)]
