"""What a desk leaves out, and what it refuses before it is kept."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.journaled_models import new_small_model, positions, teach
from thresher import Categorizer
from thresher.errors import JournalError, RepeatedIdError, TextError
from thresher.journal.journaled_model import JournaledModel, journal_folder, skip
from thresher.journal.prepared_correction import digest_features
from thresher.journal.record import Entry
from thresher.text.vectorizer import FeatureCounts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return new_small_model(tmp_path)


def test_a_skipped_record_is_marked_and_only_its_snapshots_are_deleted(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        for count in (2, 1, 1):
            teach(journaled_model, count, first=journaled_model.position)
            shutil.copy(journaled_model.write_snapshot(), path.with_name(f"kept-{journaled_model.position}"))
        without = journaled_model._replay_without([3]).digest()
    for position in (2, 3, 4):
        shutil.copy(path.with_name(f"kept-{position}"), journal_folder(path) / f"snapshot-{position:010}.thresher")
    with pytest.raises(
        JournalError, match=r"desk\.thresher\.journal: record 5 is not a correction, so it cannot be left out"
    ):
        skip(journal_folder(path), 5)
    record = skip(journal_folder(path), 3, user="ada")
    assert (record.seq, record.kind, record.user, record.body) == (5, "skip", "ada", {"seqs": [3]})
    assert re.fullmatch("skip [0-9a-f]{16}", record.id)
    assert positions(path) == [0, 2]
    with pytest.raises(JournalError, match="record 5 is not a "):  # not even the skipping itself
        skip(journal_folder(path), 5)
    with JournaledModel(path) as again:
        assert again.model.digest() == without
        assert [record.undone_by for record in again.journal.log.read()] == [None, None, 5, None, None]
        assert again.position == 5


def test_a_record_written_by_another_connection_stops_the_model(path: Path) -> None:
    journaled_model = JournaledModel(path, new=True)
    teach(journaled_model, 2)
    assert not journaled_model.is_stuck()
    journaled_model.journal.append(Entry("b", "categories", "", {"change": "new", "names": ["bees"]}))
    assert journaled_model.is_stuck()
    with pytest.raises(JournalError, match=r"^record 3 was written but not applied \(start again to replay it\)$"):
        journaled_model.correct("a", "tin mine", accept=["metal"])
    journaled_model.close()
    assert positions(path) == [0]
    with JournaledModel(path) as again:
        assert (again.position, again.is_stuck(), "bees" in again.model.categories) == (3, False, True)


def test_the_unfinished_snapshot_of_a_killed_process_is_removed(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 2)
    left = journal_folder(path) / ".snapshot-0000000009.thresher-1-ab.tmp"
    left.write_bytes(b"half")
    with JournaledModel(path) as again:
        assert (again.position, left.exists()) == (2, False)


def test_undone_records_are_listed_once_and_in_order(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 12)
        record = journaled_model.undo("u", [11, 3, 11, 2])
        assert record.body == {"seqs": [2, 3, 11]}
        assert record.user == ""
        assert [one.seq for one in journaled_model.journal.log.read() if one.undone_by == 13] == [2, 3, 11]


def test_effects_are_written_once_with_the_record_that_comes_next(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 3)
        assert list(journaled_model.unwritten_effects) == [3]
        assert journaled_model.journal.database.query("SELECT seq FROM effects ORDER BY seq") == [(1,), (2,)]
        assert journaled_model.journal.facts.get("written") == journaled_model.journal.facts.get("base")


def test_an_undo_needs_something_to_undo(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 2)
        with pytest.raises(JournalError, match="there is nothing to undo"):
            journaled_model.undo("u", [])
        for seq in (0, 3):
            with pytest.raises(JournalError, match=f"record {seq} is not a record that can be undone"):
                journaled_model.undo("u", [1, seq])
        assert journaled_model.journal.log.last_seq() == 2
        record = journaled_model.undo("u", [2, 1, 2], user="ada")
        assert (record.seq, record.user, record.body) == (3, "ada", {"seqs": [1, 2]})
        assert (journaled_model.position, [r.undone_by for r in journaled_model.journal.log.read()]) == (
            3,
            [3, 3, None],
        )
        for other in ([1], [2]):
            with pytest.raises(RepeatedIdError, match="the id 'u' is that of record 3, which has other contents"):
                journaled_model.undo("u", other)
        with pytest.raises(RepeatedIdError):
            journaled_model.undo("c0", [1])


def test_a_change_of_categories_is_undone_too(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        digest = journaled_model.model.digest()
        journaled_model.change_categories("a", "new", ["bees"])
        journaled_model.undo("u", [1])
        assert journaled_model.model.digest() == digest


@pytest.mark.parametrize(
    ("change", "names", "more", "message"),
    [
        (
            "burn",
            ["metal"],
            {},
            r"'burn' is not a change of categories \(allowed: new, rename, merge, retire, thr",
        ),
        ("new", ["a", "b"], {}, "'new' takes one category"),
        ("retire", [], {}, "'retire' takes one category"),
        ("merge", ["metal", "grain"], {}, "to merge needs a name to change into"),
        ("rename", ["metal"], {}, "to rename needs a name to change into"),
        ("threshold", ["wood"], {"threshold": 1.0}, "wood"),
    ],
)
def test_an_invalid_change_of_categories_is_not_recorded(
    path: Path, change: str, names: list[str], more: dict[str, Any], message: str
) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        digest = journaled_model.model.digest()
        with pytest.raises(TextError, match=message):
            journaled_model.change_categories("a", change, names, **more)
        assert (journaled_model.journal.log.last_seq(), journaled_model.model.digest()) == (0, digest)


def test_the_body_of_a_change_has_only_the_needed_names(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        journaled_model.change_categories("a", "new", ["bees"], user="ada")
        journaled_model.change_categories("b", "rename", ["bees"], into="wasps", threshold=2.0)
        record = journaled_model.change_categories("c", "threshold", ["wasps"], threshold=2)
        assert [record.body for record in journaled_model.journal.log.read()] == [
            {"change": "new", "names": ["bees"]},
            {"change": "rename", "names": ["bees"], "into": "wasps"},
            {"change": "threshold", "names": ["wasps"], "threshold": 2.0},
        ]
        assert record == journaled_model.change_categories("c", "threshold", ["wasps"], threshold=2)
        assert (journaled_model.position, record.seq) == (3, 3)
        assert journaled_model.journal.log.find("a").user == "ada"  # type: ignore[union-attr]
        with pytest.raises(RepeatedIdError, match="the id 'c' is that of record 3, which has other contents"):
            journaled_model.correct("c", "gold", accept=["metal"])
        with pytest.raises(RepeatedIdError, match="the id 'c' is that of record 3, which has other contents"):
            journaled_model.undo("c", [1])


def test_a_record_has_user_text_and_document(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        taught = journaled_model.correct("a", "tin tin mine", accept=["metal", "metal"], user="ada", document="7")
        record = journaled_model.journal.log.find("a")
        assert record is not None
        assert (record.kind, record.user, record.text) == ("correction", "ada", "tin tin mine")
        assert record.body == {"accept": ["metal"], "reject": [], "document": "7"}
        assert record.features == [("tin", 2), ("mine", 1)]
        assert record.digest == digest_features(FeatureCounts(["tin", "mine"], [2, 1]))
        assert taught.record == journaled_model.attach_effect(record)
        assert taught.changes is not None
        repeated = journaled_model.correct("a", "tin tin mine", accept=["metal"], document="7")
        assert (repeated.record, repeated.changes, repeated.is_repeated) == (taught.record, None, True)
        journaled_model.forget_text(1)
        assert journaled_model.correct(
            "a", "whatever it was", accept=["metal"], document="7"
        ).is_repeated  # nobody knows any more


def test_a_model_that_has_learned_nothing_is_taught(tmp_path: Path) -> None:
    Categorizer(min_count=1).save(tmp_path / "new.thresher")
    with JournaledModel(tmp_path / "new.thresher") as journaled_model:
        taught = journaled_model.correct("a", "gold mine", categories=["metal"])
        assert taught.record.effect is not None
        assert (taught.record.effect["predicted"], taught.record.effect["mistakes"]) == ([], ["metal"])
        assert journaled_model.correct("b", "gold", categories=[]).record.effect["mistakes"] == ["metal"]  # type: ignore[index]


def test_words_of_a_wrong_category_are_reported_as_demoted(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        effect = journaled_model.correct("a", "gold and silver", categories=["grain"]).record.effect
        assert effect is not None
        assert (effect["mistakes"], effect["promoted"], effect["demoted"]) == (
            ["grain", "metal"],
            {"grain": 3},
            {"metal": 3},
        )
        right = journaled_model.correct("b", "crude oil", accept=["energy"]).record.effect
        assert right is not None
        assert (right["predicted"], right["mistakes"], right["demoted"]) == (["energy"], [], {})


def test_a_correction_of_too_many_categories_and_words_is_refused_before_it_is_recorded(path: Path) -> None:
    text = " ".join(f"n{number}" for number in range(20_000))
    many = [f"c{number}" for number in range(1000)]
    with JournaledModel(path, new=True) as journaled_model:
        before = journaled_model.model.digest()
        with pytest.raises(
            TextError,
            match=r"^the correction is too large: 1,000 categories \(1,000 new\), 20,000 features, 12 in the model "
            r"\(name fewer categories at once\)$",
        ):
            journaled_model.correct("a", text, accept=many)
        with pytest.raises(TextError, match="too large"):
            journaled_model.correct("a", text, categories=many)
        assert (journaled_model.position, journaled_model.journal.log.last_seq(), journaled_model.model.digest()) == (
            0,
            0,
            before,
        )
        journaled_model.correct("a", "gold and silver", accept=many)
        with pytest.raises(TextError, match=r"20,000 new features x 1,003 categories \(teach a part of the text\)$"):
            journaled_model.correct("b", text, accept=many[:10])
        journaled_model.correct("b", text[:100_000], accept=many[:10])
        assert journaled_model.position == 2
