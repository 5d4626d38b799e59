"""A model with its journal: what was said to be learned is there again, bit for bit, however it comes back."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.journaled_models import CATEGORIES, TEXTS, new_small_model, teach
from thresher import Categorizer
from thresher.errors import JournalBusyError, JournalError, RepeatedIdError, TextError
from thresher.journal.journaled_model import JournaledModel, journal_folder, skip
from thresher.journal.record import Entry
from thresher.journal.schema import SEALED
from thresher.journal.snapshots import find_snapshots


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return new_small_model(tmp_path)


def test_a_journaled_model_reopens_unchanged(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 40)
        digest = journaled_model.model.digest()
    with JournaledModel(path) as again:
        assert again.model.digest() == digest
        assert again.position == 40
        assert again.remarks == []


def test_a_replay_from_any_snapshot_gives_the_live_model(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.journal.journaled_model.SNAPSHOT_EVERY", 7)
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 33)
        digest = journaled_model.model.digest()
        kept = find_snapshots(journaled_model.journal.folder)
        assert [file.name for file in kept] == [f"snapshot-{position:010}.thresher" for position in (0, 21, 28)]
    for drop in range(4):  # from the newest snapshot, from older ones, from the first record
        for file in journal_folder(path).glob("snapshot-*"):
            if int(file.stem.partition("-")[2]) > (35, 28, 21, 0)[drop]:
                file.unlink()
        with JournaledModel(path) as again:
            assert again.model.digest() == digest


def test_a_repeated_correction_is_learned_once(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        first = journaled_model.correct("a", "tin mine", accept=["metal"])
        digest = journaled_model.model.digest()
        second = journaled_model.correct("a", "tin mine", accept=["metal"])
        assert (first.is_repeated, second.is_repeated) == (False, True)
        assert second.record.seq == first.record.seq
        assert journaled_model.model.digest() == digest


def test_a_repeated_correction_with_a_forgotten_text_is_known_by_its_features(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        seq = journaled_model.correct("a", "tin mine", accept=["metal"]).record.seq
        journaled_model.forget_text(seq)
        assert journaled_model.correct("a", "tin mine", accept=["metal"]).is_repeated
        with pytest.raises(RepeatedIdError):
            journaled_model.correct("a", "tin mines", accept=["metal"])
        seq = journaled_model.correct("b", "tin mine", accept=["metal"], document="7").record.seq
        journaled_model.forget_text(seq)
        assert journaled_model.correct(
            "b", "", accept=["metal"], document="7"
        ).is_repeated  # the document is forgotten too
        with pytest.raises(RepeatedIdError):
            journaled_model.correct("b", "tin mine", accept=["metal"], document="8")


def test_a_correction_returns_its_changes_even_if_a_snapshot_is_due(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thresher.journal.journaled_model.SNAPSHOT_EVERY", 2)
    with JournaledModel(path, new=True) as journaled_model:
        for i in range(4):
            effect = journaled_model.correct(f"{i}", f"tin mine {i}", accept=["tin"]).record.effect
            assert effect is not None
            assert effect == journaled_model.correct(f"{i}", f"tin mine {i}", accept=["tin"]).record.effect


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"accept": ["metal"], "reject": ["metal"]}, "both accepted and rejected"),
        ({"reject": ["wood"]}, "unknown and cannot be rejected"),
        ({}, "at least one category"),
        ({"accept": ["metal"], "categories": ["metal"]}, "not both"),
        ({"text": "...", "accept": ["metal"]}, "no features"),
        ({"text": "lone \ud800", "accept": ["metal"]}, "surrogate"),
        ({"accept": ["x" * 300]}, "is not a valid name"),
    ],
)
def test_a_correction_that_cannot_be_learned_is_not_recorded(
    path: Path, arguments: dict[str, object], message: str
) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        digest = journaled_model.model.digest()
        with pytest.raises(TextError, match=message):
            journaled_model.correct("a", **({"text": "tin mine"} | arguments))  # type: ignore[arg-type]
        with pytest.raises(JournalError, match="the id '' is not valid"):
            journaled_model.correct("", "tin mine", accept=["metal"])
        assert (journaled_model.journal.log.last_seq(), journaled_model.model.digest()) == (0, digest)


def test_undone_corrections_were_never_made(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.journal.journaled_model.SNAPSHOT_EVERY", 5)
    other = path.with_name("other.thresher")
    shutil.copy(path, other)
    with JournaledModel(path, new=True) as journaled_model, JournaledModel(other, new=True) as without:
        teach(journaled_model, 20)
        teach(without, 8)
        teach(without, 10, first=9)
        undone = [record.seq for record in journaled_model.journal.log.read() if record.id in ("c8", "c19")]
        record = journaled_model.undo("u", undone, user="ada")
        assert journaled_model.model.digest() == without.model.digest()
        assert journaled_model.undo("u", undone) == journaled_model.journal.log.find("u") == record
        with pytest.raises(JournalError, match="record 9 was undone already, by record 21"):
            journaled_model.undo("v", [9])
        with pytest.raises(JournalError, match="record 21 is not a "):
            journaled_model.undo("v", [21])
        teach(journaled_model, 5, first=20)
        teach(without, 5, first=20)
        assert journaled_model.model.digest() == without.model.digest()
    with JournaledModel(path) as again, JournaledModel(other) as reference:
        assert again.model.digest() == reference.model.digest()


def test_records_that_later_corrections_need_cannot_be_undone(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        journaled_model.correct("a", "tin mine", accept=["tin"])
        journaled_model.correct("b", "gold mine", reject=["tin"])
        digest = journaled_model.model.digest()
        with pytest.raises(
            JournalError, match=r"record 2 cannot be applied: category 'tin' is unknown.*; undo that one first\)$"
        ):
            journaled_model.undo("u", [1])
        assert (journaled_model.journal.log.last_seq(), journaled_model.model.digest()) == (2, digest)


def test_changes_of_categories_are_kept(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        journaled_model.change_categories("a", "rename", ["metal"], into="metals")
        journaled_model.correct("b", "tin mine", accept=["tin"])
        journaled_model.change_categories("c", "merge", ["metals", "tin"], into="metal")
        journaled_model.change_categories("d", "retire", ["energy"])
        with pytest.raises(TextError, match="energy"):
            journaled_model.change_categories("e", "retire", ["energy"])
        with pytest.raises(TextError, match="takes one category"):
            journaled_model.change_categories("e", "rename", ["grain", "metal"], into="x")
        assert journaled_model.model.categories == ["grain", "metal"]
        assert journaled_model.journal.log.last_seq() == 4
        digest = journaled_model.model.digest()
    for file in journal_folder(path).glob("snapshot-*[1-9].thresher"):
        file.unlink()
    with JournaledModel(path) as again:
        assert again.model.digest() == digest


def test_the_effect_of_a_correction_is_stored_with_it(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        taught = journaled_model.correct("a", "gold and silver", accept=["grain"], reject=["metal"])
        told = taught.record.effect
        assert told is not None
        assert told["predicted"] == ["metal"]
        assert told["mistakes"] == ["grain", "metal"]
        assert (told["promoted"], told["demoted"]) == ({"grain": 3}, {"metal": 3})
        assert journaled_model.correct("b", "crude oil", categories=["energy"]).record.effect["mistakes"] == []  # type: ignore[index]
    with JournaledModel(path) as again:
        assert next(record.effect for record in again.journal.log.read()) == told
        assert again.journal.database.query("SELECT wrong FROM effects ORDER BY seq") == [(1,), (0,)]


def test_the_effect_of_a_correction_is_computed_again_after_a_crash(path: Path) -> None:
    journaled_model = JournaledModel(path, new=True)
    teach(journaled_model, 5)
    told = [journaled_model.attach_effect(record).effect for record in journaled_model.journal.log.read()]
    assert None not in told
    journaled_model.journal.close()  # nothing more is written
    with JournaledModel(path) as again:
        assert [again.attach_effect(record).effect for record in again.journal.log.read()] == told
    with JournaledModel(path) as again:
        assert [record.effect for record in again.journal.log.read()] == told


def test_an_id_identifies_one_correction(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        journaled_model.correct("a", "gold and wheat", accept=["grain"])
        journaled_model.change_categories("b", "new", ["bees"])
        digest = journaled_model.model.digest()
        for other in ({"accept": ["metal"]}, {"categories": ["grain"]}, {"accept": ["grain"], "document": "7"}):
            with pytest.raises(RepeatedIdError, match="record 1"):
                journaled_model.correct("a", "gold and wheat", **other)
        with pytest.raises(RepeatedIdError):
            journaled_model.correct("a", "another text", accept=["grain"])
        with pytest.raises(RepeatedIdError):
            journaled_model.correct("b", "gold and wheat", accept=["grain"])
        with pytest.raises(RepeatedIdError):
            journaled_model.change_categories("b", "new", ["wasps"])
        assert journaled_model.change_categories("b", "new", ["bees"]).seq == 2
        assert journaled_model.model.digest() == digest


def test_new_categories_and_thresholds_are_kept(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        journaled_model.change_categories("a", "new", ["bees"])
        journaled_model.change_categories("b", "threshold", ["energy"], threshold=0.25)
        journaled_model.correct("c", "a swarm of bees", accept=["bees"])
        with pytest.raises(TextError, match="exists already"):
            journaled_model.change_categories("d", "new", ["bees"])
        with pytest.raises(TextError, match="needs a name"):
            journaled_model.change_categories("d", "rename", ["bees"])
        digest = journaled_model.model.digest()
        assert journaled_model.journal.log.last_seq() == 3
    with JournaledModel(path) as again:
        assert again.model.digest() == digest
        assert again.model.state.decisions.thresholds[again.model.state.number_of("energy")] == 0.25


def test_a_forgotten_text_leaves_its_features(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 12)
        digest = journaled_model.model.digest()
        for seq in range(1, 13):
            journaled_model.forget_text(seq)
    folder = journal_folder(path)
    for file in folder.glob("snapshot-*12.thresher"):
        file.unlink()
    assert b"and more" not in b"".join(file.read_bytes() for file in folder.glob("journal*"))
    with JournaledModel(path) as again:
        assert again.model.digest() == digest
        assert again.remarks == []


def test_changed_features_are_reported_and_not_used(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 3)
        digest = journaled_model.model.digest()
        with journaled_model.journal.database.transaction() as connection:
            connection.execute("UPDATE records SET text = ? WHERE seq = 2", (json.dumps("other words now"),))
            connection.execute(f"UPDATE records SET seal = {SEALED}")
        journaled_model._snapshot_at = journaled_model.position
        journaled_model.close()
    with JournaledModel(path) as again:
        assert again.model.digest() == digest
        assert again.remarks == ["record 2: its text now has other features; the recorded ones are used"]


def test_a_record_that_cannot_be_applied_is_named_and_may_be_skipped(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        journaled_model.correct("a", "tin mine", accept=["metal"])
        digest = journaled_model.model.digest()
        journaled_model.journal.append(
            Entry("b", "categories", "", {"change": "retire", "names": ["wood"], "into": ""})
        )
    with pytest.raises(JournalError, match=r"record 2 cannot be applied: category 'wood' .*journal skip"):
        JournaledModel(path)
    with pytest.raises(JournalError, match="record 3 is not a "):
        skip(journal_folder(path), 3)
    skip(journal_folder(path), 2)
    with JournaledModel(path) as again:
        assert again.model.digest() == digest


def test_a_damaged_snapshot_gives_way_to_an_older_one(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 9)
        digest = journaled_model.model.digest()
    newest = max(journal_folder(path).glob("snapshot-*"))
    newest.write_bytes(newest.read_bytes()[:-10])
    with JournaledModel(path) as again:
        assert again.model.digest() == digest
        assert again.remarks[0].endswith(") (an older snapshot is used)")
    for file in journal_folder(path).glob("snapshot-*"):
        file.write_bytes(b"nothing")
    with pytest.raises(JournalError, match="no snapshot can be read"):
        JournaledModel(path)


def test_another_model_is_refused(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 3)
    Categorizer(min_count=1).fit(TEXTS[:12], CATEGORIES[:12]).save(path)
    with pytest.raises(JournalError, match="this is not the model of"):
        JournaledModel(path)


def test_the_model_file_may_be_written_again(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 3)
        digest = journaled_model.write_model()
        teach(journaled_model, 3, first=3)
    assert Categorizer.load(path).digest() == digest
    with JournaledModel(path) as again:
        assert again.position == 6
        again.model.save(path)  # written, and the process dies before that is noted
    with JournaledModel(path):
        pass


def test_a_missing_journal_is_never_silently_created(path: Path) -> None:
    with pytest.raises(JournalError, match="it has no journal yet"):
        JournaledModel(path, new=False)
    assert not journal_folder(path).exists()
    with JournaledModel(path) as journaled_model:  # it never had one
        teach(journaled_model, 3)
        journaled_model.write_model()
    (journal_folder(path) / "journal.sqlite3").unlink()
    with pytest.raises(
        JournalError, match=r"its journal is missing, .* learn or serve with new=True begins a new one\)"
    ):
        JournaledModel(path)
    shutil.rmtree(journal_folder(path))
    with pytest.raises(JournalError, match="its journal is missing"):
        JournaledModel(path)
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 2)
    (journal_folder(path) / "journal.sqlite3").unlink()
    with JournaledModel(path, new=True) as journaled_model:
        assert journaled_model.position == 0
    assert len(list(path.parent.glob("desk.thresher.journal.left-*/snapshot-*"))) == 2


def test_a_second_process_is_given_the_owner(path: Path) -> None:
    code = "import sys; from thresher.journal.journaled_model import JournaledModel; JournaledModel(sys.argv[1])"
    with JournaledModel(path, new=True):
        run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
        assert "JournalBusyError" in run.stderr
        with pytest.raises(JournalBusyError, match=r"process \d+ has the journal \(stop it first\)"):
            JournaledModel(path)
    JournaledModel(path).close()


def test_a_correction_that_was_kept_and_not_applied_stops_the_desk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journaled_model = JournaledModel(path, new=True)
    with monkeypatch.context() as patch:
        patch.setattr("thresher.journal.replay.apply", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            journaled_model.correct("a", "tin mine", accept=["metal"])
    with pytest.raises(JournalError, match="record 1 was written but not applied"):
        journaled_model.correct("b", "tin mine", accept=["metal"])
    journaled_model.journal.close()
    with JournaledModel(path) as again:
        assert again.position == 1
