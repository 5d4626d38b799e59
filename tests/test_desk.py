"""A model with its journal: what was said to be learned is there again, bit for bit, however it comes back."""

import errno
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from thresher import Categorizer
from thresher.desk import Desk, backup, journal_folder, skip
from thresher.errors import JournalBusyError, JournalError, JournalFullError, RepeatedIdError, TextError
from thresher.journal import Journal
from thresher.journal_schema import SEALED
from thresher.replay import features_digest
from thresher.snapshots import snapshots_in
from thresher.store import read_model
from thresher.text.features import FeatureCounts

TEXTS = ["crude oil rose", "oil and gas", "wheat harvest", "corn and wheat", "gold mine", "silver and gold"] * 5
CATEGORIES = ["energy", "energy", "grain", "grain", "metal", "metal"] * 5
KINDS = ["oil", "gas", "wheat", "corn", "gold", "silver", "tin", "price"]
WORDS = [*KINDS, "market", "rose", "fell", "new", "mine", "field", "harvest", "export"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model = Categorizer(min_count=1).fit(TEXTS, CATEGORIES)
    model.save(tmp_path / "desk.thresher")
    return tmp_path / "desk.thresher"


def teach(desk: Desk, count: int, first: int = 0) -> None:
    """Teach corrections of every kind, new words and a new category among them."""
    for i in range(first, first + count):
        text = f"{WORDS[i % 16]} {WORDS[i * 7 % 16]} word{i % 9} {WORDS[i * 5 % 16]}"
        if i % 3 == 0:
            desk.correct(
                f"c{i}", {"title": text, "body": "and more"}, categories=["metal", "grain"][i % 2 :], user="ada"
            )
        elif i % 3 == 1:
            desk.correct(f"c{i}", text, accept=["tin" if i % 2 else "energy"], user="bob")
        else:
            desk.correct(f"c{i}", text, accept=["grain"], reject=["metal"], user="ada")


def test_a_desk_comes_back_as_it_was(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 40)
        digest = desk.model.digest()
    with Desk(path) as again:
        assert again.model.digest() == digest
        assert again.position == 40
        assert again.remarks == []


def test_live_and_replayed_from_anywhere_are_one_model(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.desk.SNAPSHOT_EVERY", 7)
    with Desk(path, new=True) as desk:
        teach(desk, 33)
        digest = desk.model.digest()
        kept = snapshots_in(desk.journal.folder)
        assert [file.name for file in kept] == [f"snapshot-{position:010}.thresher" for position in (0, 21, 28)]
    for drop in range(4):  # from the newest snapshot, from older ones, from the first record
        for file in journal_folder(path).glob("snapshot-*"):
            if int(file.stem.partition("-")[2]) > (35, 28, 21, 0)[drop]:
                file.unlink()
        with Desk(path) as again:
            assert again.model.digest() == digest


def test_a_repeated_correction_is_learned_once(path: Path) -> None:
    with Desk(path, new=True) as desk:
        first = desk.correct("a", "tin mine", accept=["metal"])
        digest = desk.model.digest()
        second = desk.correct("a", "tin mine", accept=["metal"])
        assert (first.repeated, second.repeated) == (False, True)
        assert second.record.seq == first.record.seq
        assert desk.model.digest() == digest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"accept": ["metal"], "reject": ["metal"]}, "both accepted and rejected"),
        ({"reject": ["wood"]}, "unknown and cannot be rejected"),
        ({}, "at least one category"),
        ({"accept": ["metal"], "categories": ["metal"]}, "not both"),
        ({"text": "...", "accept": ["metal"]}, "no features"),
        ({"text": "lone \ud800", "accept": ["metal"]}, "surrogate"),
        ({"accept": ["x" * 300]}, "is no name"),
    ],
)
def test_what_cannot_be_learned_is_not_kept(path: Path, arguments: dict[str, object], message: str) -> None:
    with Desk(path, new=True) as desk:
        digest = desk.model.digest()
        with pytest.raises(TextError, match=message):
            desk.correct("a", **({"text": "tin mine"} | arguments))  # type: ignore[arg-type]
        with pytest.raises(JournalError, match="the id '' is none"):
            desk.correct("", "tin mine", accept=["metal"])
        assert (desk.journal.last(), desk.model.digest()) == (0, digest)


def test_undone_corrections_were_never_made(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.desk.SNAPSHOT_EVERY", 5)
    other = path.with_name("other.thresher")
    shutil.copy(path, other)
    with Desk(path, new=True) as desk, Desk(other, new=True) as without:
        teach(desk, 20)
        teach(without, 8)
        teach(without, 10, first=9)
        undone = [record.seq for record in desk.journal.records() if record.id in ("c8", "c19")]
        record = desk.undo("u", undone, user="ada")
        assert desk.model.digest() == without.model.digest()
        assert desk.undo("u", undone) == desk.journal.by_id("u") == record
        with pytest.raises(JournalError, match="record 9 was undone already, by record 21"):
            desk.undo("v", [9])
        with pytest.raises(JournalError, match="record 21 is no correction"):
            desk.undo("v", [21])
        teach(desk, 5, first=20)
        teach(without, 5, first=20)
        assert desk.model.digest() == without.model.digest()
    with Desk(path) as again, Desk(other) as reference:
        assert again.model.digest() == reference.model.digest()


def test_what_later_corrections_need_cannot_be_undone(path: Path) -> None:
    with Desk(path, new=True) as desk:
        desk.correct("a", "tin mine", accept=["tin"])
        desk.correct("b", "gold mine", reject=["tin"])
        digest = desk.model.digest()
        with pytest.raises(
            JournalError, match=r"record 2 cannot be applied: category 'tin' is unknown.* \(undo that one first\)$"
        ):
            desk.undo("u", [1])
        assert (desk.journal.last(), desk.model.digest()) == (2, digest)


def test_changes_of_categories_are_kept(path: Path) -> None:
    with Desk(path, new=True) as desk:
        desk.change_categories("a", "rename", ["metal"], into="metals")
        desk.correct("b", "tin mine", accept=["tin"])
        desk.change_categories("c", "merge", ["metals", "tin"], into="metal")
        desk.change_categories("d", "retire", ["energy"])
        with pytest.raises(TextError, match="energy"):
            desk.change_categories("e", "retire", ["energy"])
        with pytest.raises(TextError, match="allowed: new, rename, merge, retire"):
            desk.change_categories("e", "rename", ["grain", "metal"], into="x")
        assert desk.model.categories == ["grain", "metal"]
        assert desk.journal.last() == 4
        digest = desk.model.digest()
    for file in journal_folder(path).glob("snapshot-*[1-9].thresher"):
        file.unlink()
    with Desk(path) as again:
        assert again.model.digest() == digest


def test_what_a_correction_changed_is_kept_with_it(path: Path) -> None:
    with Desk(path, new=True) as desk:
        taught = desk.correct("a", "gold and silver", accept=["grain"], reject=["metal"])
        told = taught.record.effect
        assert told is not None
        assert told["predicted"] == ["metal"]
        assert told["mistakes"] == ["grain", "metal"]
        assert (told["promoted"], told["demoted"]) == ({"grain": 3}, {"metal": 3})
        assert desk.correct("b", "crude oil", categories=["energy"]).record.effect["mistakes"] == []  # type: ignore[index]
    with Desk(path) as again:
        assert next(record.effect for record in again.journal.records()) == told
        assert again.journal.query("SELECT wrong FROM effects ORDER BY seq") == [(1,), (0,)]


def test_what_a_correction_changed_is_told_again_after_a_crash(path: Path) -> None:
    desk = Desk(path, new=True)
    teach(desk, 5)
    told = [desk.with_effect(record).effect for record in desk.journal.records()]
    assert None not in told
    desk.journal.close()  # nothing more is written
    with Desk(path) as again:
        assert [again.with_effect(record).effect for record in again.journal.records()] == told
    with Desk(path) as again:
        assert [record.effect for record in again.journal.records()] == told


def test_an_id_stands_for_one_correction_alone(path: Path) -> None:
    with Desk(path, new=True) as desk:
        desk.correct("a", "gold and wheat", accept=["grain"])
        desk.change_categories("b", "new", ["bees"])
        digest = desk.model.digest()
        for other in ({"accept": ["metal"]}, {"categories": ["grain"]}, {"accept": ["grain"], "document": "7"}):
            with pytest.raises(RepeatedIdError, match="record 1"):
                desk.correct("a", "gold and wheat", **other)
        with pytest.raises(RepeatedIdError):
            desk.correct("a", "another text", accept=["grain"])
        with pytest.raises(RepeatedIdError):
            desk.correct("b", "gold and wheat", accept=["grain"])
        with pytest.raises(RepeatedIdError):
            desk.change_categories("b", "new", ["wasps"])
        assert desk.change_categories("b", "new", ["bees"]).seq == 2
        assert desk.model.digest() == digest


def test_new_categories_and_thresholds_are_kept(path: Path) -> None:
    with Desk(path, new=True) as desk:
        desk.change_categories("a", "new", ["bees"])
        desk.change_categories("b", "threshold", ["energy"], threshold=0.25)
        desk.correct("c", "a swarm of bees", accept=["bees"])
        with pytest.raises(TextError, match="exists already"):
            desk.change_categories("d", "new", ["bees"])
        with pytest.raises(TextError, match="needs a name"):
            desk.change_categories("d", "rename", ["bees"])
        digest = desk.model.digest()
        assert desk.journal.last() == 3
    with Desk(path) as again:
        assert again.model.digest() == digest
        assert again.model.decisions.thresholds[again.model.number_of("energy")] == 0.25


def test_a_forgotten_text_leaves_its_features(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 12)
        digest = desk.model.digest()
        for seq in range(1, 13):
            desk.journal.forget_text(seq)
    folder = journal_folder(path)
    for file in folder.glob("snapshot-*12.thresher"):
        file.unlink()
    assert b"and more" not in b"".join(file.read_bytes() for file in folder.glob("journal*"))
    with Desk(path) as again:
        assert again.model.digest() == digest
        assert again.remarks == []


def test_features_that_changed_are_said_and_not_taken(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 3)
        digest = desk.model.digest()
        with desk.journal.transaction() as connection:
            connection.execute("UPDATE records SET text = ? WHERE seq = 2", (json.dumps("other words now"),))
            connection.execute(f"UPDATE records SET seal = {SEALED}")
        desk._snapshot_at = desk.position
        desk.close()
    with Desk(path) as again:
        assert again.model.digest() == digest
        assert again.remarks == ["record 2: its text now has other features; those kept are taken"]


def test_a_record_that_cannot_be_applied_is_named_and_may_be_skipped(path: Path) -> None:
    with Desk(path, new=True) as desk:
        desk.correct("a", "tin mine", accept=["metal"])
        digest = desk.model.digest()
        desk.journal.append("b", "categories", "", {"change": "retire", "names": ["wood"], "into": ""})
    with pytest.raises(JournalError, match=r"record 2 cannot be applied: category 'wood' .*journal skip"):
        Desk(path)
    with pytest.raises(JournalError, match="record 3 is no correction"):
        skip(journal_folder(path), 3)
    skip(journal_folder(path), 2)
    with Desk(path) as again:
        assert again.model.digest() == digest


def test_a_damaged_snapshot_gives_way_to_an_older_one(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 9)
        digest = desk.model.digest()
    newest = max(journal_folder(path).glob("snapshot-*"))
    newest.write_bytes(newest.read_bytes()[:-10])
    with Desk(path) as again:
        assert again.model.digest() == digest
        assert again.remarks[0].endswith(" (an older snapshot is taken)")
    for file in journal_folder(path).glob("snapshot-*"):
        file.write_bytes(b"nothing")
    with pytest.raises(JournalError, match="no snapshot can be read"):
        Desk(path)


def test_another_model_is_refused(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 3)
    Categorizer(min_count=1).fit(TEXTS[:12], CATEGORIES[:12]).save(path)
    with pytest.raises(JournalError, match="this is not the model of"):
        Desk(path)


def test_the_model_file_may_be_written_anew(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 3)
        digest = desk.write_model()
        teach(desk, 3, first=3)
    assert Categorizer.load(path).digest() == digest
    with Desk(path) as again:
        assert again.position == 6
        again.model.save(path)  # written, and the process dies before that is noted
    with Desk(path):
        pass


def test_a_journal_that_is_missing_is_never_begun_in_silence(path: Path) -> None:
    with pytest.raises(JournalError, match="it has no journal yet"):
        Desk(path, new=False)
    assert not journal_folder(path).exists()
    with Desk(path) as desk:  # it never had one
        teach(desk, 3)
        desk.write_model()
    (journal_folder(path) / "journal.sqlite3").unlink()
    with pytest.raises(JournalError, match=r"its journal is missing, .* \(--new-journal begins a new one\)"):
        Desk(path)
    shutil.rmtree(journal_folder(path))
    with pytest.raises(JournalError, match="its journal is missing"):
        Desk(path)
    with Desk(path, new=True) as desk:
        teach(desk, 2)
    (journal_folder(path) / "journal.sqlite3").unlink()
    with Desk(path, new=True) as desk:
        assert desk.position == 0
    assert len(list(path.parent.glob("desk.thresher.journal.left-*/snapshot-*"))) == 2


def test_a_second_process_is_told_who_has_it(path: Path) -> None:
    code = "import sys; from thresher.desk import Desk; Desk(sys.argv[1])"
    with Desk(path, new=True):
        run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
        assert "JournalBusyError" in run.stderr
        with pytest.raises(JournalBusyError, match=r"process \d+ has the journal \(stop it first\)"):
            Desk(path)
    Desk(path).close()


def test_a_correction_that_was_kept_and_not_applied_stops_the_desk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(path, new=True)
    with monkeypatch.context() as patch:
        patch.setattr("thresher.replay.apply", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            desk.correct("a", "tin mine", accept=["metal"])
    with pytest.raises(JournalError, match="record 1 is kept and was not applied"):
        desk.correct("b", "tin mine", accept=["metal"])
    desk.journal.close()
    with Desk(path) as again:
        assert again.position == 1


# Snapshots.


def positions(path: Path) -> list[int]:
    return sorted(int(file.stem.partition("-")[2]) for file in journal_folder(path).glob("snapshot-*.thresher"))


def test_a_snapshot_comes_after_so_many_corrections(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.desk.SNAPSHOT_EVERY", 3)
    with Desk(path, new=True) as desk:
        kept = []
        for i in range(10):
            teach(desk, 1, first=i)
            kept.append(positions(path)[1:])  # the first, of the model that was taught, always stays
        assert kept == [[], [], [3], [3], [3], [3, 6], [3, 6], [3, 6], [6, 9], [6, 9]]
    assert positions(path) == [0, 9, 10]
    with Desk(path):
        pass
    assert positions(path) == [0, 9, 10]  # nothing was learned since


def test_a_snapshot_that_finds_no_room_is_tried_again_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.desk.SNAPSHOT_EVERY", 3)
    tried: list[Path] = []

    def full(model: Categorizer, target: Path) -> str:
        tried.append(target)
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    with Desk(path, new=True) as desk:
        with monkeypatch.context() as patch:
            patch.setattr(Categorizer, "save", full)
            teach(desk, 8)
        assert [file.name for file in tried] == ["snapshot-0000000003.thresher", "snapshot-0000000006.thresher"]
        assert len(desk.remarks) == 2
        assert desk.remarks[0].startswith("[Errno 28] No space left on device")
        assert desk.remarks[0].endswith("(a snapshot could not be written; nothing is lost)")
        teach(desk, 1, first=8)
        assert (desk.journal.last(), positions(path)) == (9, [0, 9])
        digest = desk.model.digest()
    with Desk(path) as again:
        assert again.model.digest() == digest


def test_a_snapshot_that_finds_no_room_for_effects_is_tried_again_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(journal: Journal, effects: object) -> None:
        raise JournalFullError("full")

    monkeypatch.setattr("thresher.desk.SNAPSHOT_EVERY", 2)
    with Desk(path, new=True) as desk:
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "keep_effects", full)
            teach(desk, 3)
        assert desk.remarks == ["full (a snapshot could not be written; nothing is lost)"]


def test_an_error_that_is_no_lack_of_room_is_not_passed_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.desk.SNAPSHOT_EVERY", 1)
    desk = Desk(path, new=True)
    monkeypatch.setattr(Categorizer, "save", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        desk.correct("a", "tin mine", accept=["metal"])
    assert desk.journal.last() == 1
    desk.journal.close()


def test_a_snapshot_that_holds_what_was_undone_is_removed_and_never_taken(path: Path) -> None:
    folder = journal_folder(path)
    with Desk(path, new=True) as desk:
        teach(desk, 4)
        stale = desk.snapshot()
        shutil.copy(stale, path.with_name("stale"))
        desk.undo("u", [2])
        assert positions(path) == [0, 5]
        digest = desk.model.digest()
    # As if the process had been killed before it removed one, and before it wrote the next.
    shutil.move(path.with_name("stale"), stale)
    (folder / "snapshot-0000000005.thresher").unlink()
    (folder / ".snapshot-0000000005.thresher.abcd.tmp").write_bytes(b"half of one")
    (folder / "snapshot-of-mine.txt").write_bytes(b"kept")
    with Desk(path) as again:
        assert again.model.digest() == digest
        assert positions(path) == [0]
    assert sorted(file.name for file in folder.iterdir() if "snapshot-0" not in file.name) == [
        "journal.sqlite3",
        "lock",
        "snapshot-of-mine.txt",
    ]


def test_a_snapshot_of_before_what_was_undone_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.desk.SNAPSHOT_EVERY", 3)
    with Desk(path, new=True) as desk:
        teach(desk, 5)
        desk.undo("u", [4])
        assert positions(path) == [0, 3, 6]
        desk.undo("v", [3])  # the one of 3 holds it
        assert positions(path) == [0, 7]


def test_a_snapshot_of_more_than_the_journal_has_is_not_taken(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 2)
        digest = desk.model.digest()
        teach(desk, 1, first=2)
        later = desk.model.digest()
    shutil.copytree(journal_folder(path), path.with_name("whole"))
    _execute(path, "DELETE FROM effects WHERE seq = 3", "DELETE FROM records WHERE seq = 3")
    with Desk(path) as again:
        assert again.model.digest() == digest != later
        assert again.position == 2


def _execute(path: Path, *statements: str) -> None:
    """Change a journal behind the desk's back."""
    connection = sqlite3.connect(journal_folder(path) / "journal.sqlite3")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_backup_is_a_desk(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    with Desk(path, new=True) as desk:
        teach(desk, 4)
        desk.snapshot()
        teach(desk, 2, first=4)
        (desk.journal.folder / "snapshot-of-mine.txt").write_bytes(b"not copied")
        backup(desk.journal, copy)
        digest = desk.model.digest()
        teach(desk, 2, first=6)
    names = ["journal.sqlite3", "snapshot-0000000000.thresher", "snapshot-0000000004.thresher"]
    assert sorted(file.name for file in copy.iterdir()) == names
    with Desk(path, copy) as restored:
        assert (restored.model.digest(), restored.position) == (digest, 6)


# What is left out, and what is refused.


def test_what_is_skipped_is_marked_and_only_snapshots_that_hold_it_go(path: Path) -> None:
    with Desk(path, new=True) as desk:
        for count in (2, 1, 1):
            teach(desk, count, first=desk.position)
            shutil.copy(desk.snapshot(), path.with_name(f"kept-{desk.position}"))
        without = desk._without([3]).digest()
    for position in (2, 3, 4):
        shutil.copy(path.with_name(f"kept-{position}"), journal_folder(path) / f"snapshot-{position:010}.thresher")
    with pytest.raises(
        JournalError, match=r"desk\.thresher\.journal: record 5 is no correction that could be left out"
    ):
        skip(journal_folder(path), 5)
    record = skip(journal_folder(path), 3, user="ada")
    assert (record.seq, record.kind, record.user, record.body) == (5, "skip", "ada", {"seqs": [3]})
    assert re.fullmatch("skip [0-9a-f]{16}", record.id)
    assert positions(path) == [0, 2]
    with pytest.raises(JournalError, match="record 5 is no correction"):  # not even the skipping itself
        skip(journal_folder(path), 5)
    with Desk(path) as again:
        assert again.model.digest() == without
        assert [record.undone_by for record in again.journal.records()] == [None, None, 5, None, None]
        assert again.position == 5


def test_a_record_that_came_by_another_way_stops_the_desk(path: Path) -> None:
    desk = Desk(path, new=True)
    teach(desk, 2)
    assert not desk.is_stuck()
    desk.journal.append("b", "categories", "", {"change": "new", "names": ["bees"]})
    assert desk.is_stuck()
    with pytest.raises(JournalError, match=r"^record 3 is kept and was not applied \(start again to replay it\)$"):
        desk.correct("a", "tin mine", accept=["metal"])
    desk.close()
    assert positions(path) == [0]
    with Desk(path) as again:
        assert (again.position, again.is_stuck(), "bees" in again.model.categories) == (3, False, True)


def test_what_a_killed_process_left_of_a_snapshot_is_removed(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 2)
    left = journal_folder(path) / ".snapshot-0000000009.thresher-1-ab.tmp"
    left.write_bytes(b"half")
    with Desk(path) as again:
        assert (again.position, left.exists()) == (2, False)


def test_what_is_undone_is_named_once_and_in_order(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 12)
        record = desk.undo("u", [11, 3, 11, 2])
        assert record.body == {"seqs": [2, 3, 11]}
        assert record.user == ""
        assert [one.seq for one in desk.journal.records() if one.undone_by == 13] == [2, 3, 11]


def test_effects_are_written_once_with_the_record_that_comes_next(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 3)
        assert list(desk.effects) == [3]
        assert desk.journal.query("SELECT seq FROM effects ORDER BY seq") == [(1,), (2,)]
        assert desk.journal.fact("written") == desk.journal.fact("base")


def test_an_undo_needs_something_to_undo(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 2)
        with pytest.raises(JournalError, match="there is nothing to undo"):
            desk.undo("u", [])
        for seq in (0, 3):
            with pytest.raises(JournalError, match=f"record {seq} is no correction that could be undone"):
                desk.undo("u", [1, seq])
        assert desk.journal.last() == 2
        record = desk.undo("u", [2, 1, 2], user="ada")
        assert (record.seq, record.user, record.body) == (3, "ada", {"seqs": [1, 2]})
        assert (desk.position, [r.undone_by for r in desk.journal.records()]) == (3, [3, 3, None])
        for other in ([1], [2]):
            with pytest.raises(RepeatedIdError, match="the id 'u' is that of record 3, which says something else"):
                desk.undo("u", other)
        with pytest.raises(RepeatedIdError):
            desk.undo("c0", [1])


def test_a_change_of_categories_is_undone_too(path: Path) -> None:
    with Desk(path, new=True) as desk:
        digest = desk.model.digest()
        desk.change_categories("a", "new", ["bees"])
        desk.undo("u", [1])
        assert desk.model.digest() == digest


@pytest.mark.parametrize(
    ("change", "names", "more", "message"),
    [
        (
            "burn",
            ["metal"],
            {},
            r"'burn' is no change of so many categories \(allowed: new, rename, merge, retire, thr",
        ),
        ("new", ["a", "b"], {}, "'new' is no change of so many categories"),
        ("retire", [], {}, "'retire' is no change of so many categories"),
        ("merge", ["metal", "grain"], {}, "to merge needs a name to change into"),
        ("rename", ["metal"], {}, "to rename needs a name to change into"),
        ("threshold", ["wood"], {"threshold": 1.0}, "wood"),
    ],
)
def test_a_change_of_categories_that_cannot_be_made_is_not_kept(
    path: Path, change: str, names: list[str], more: dict[str, Any], message: str
) -> None:
    with Desk(path, new=True) as desk:
        digest = desk.model.digest()
        with pytest.raises(TextError, match=message):
            desk.change_categories("a", change, names, **more)
        assert (desk.journal.last(), desk.model.digest()) == (0, digest)


def test_a_change_says_no_more_than_it_needs(path: Path) -> None:
    with Desk(path, new=True) as desk:
        desk.change_categories("a", "new", ["bees"], user="ada")
        desk.change_categories("b", "rename", ["bees"], into="wasps", threshold=2.0)
        record = desk.change_categories("c", "threshold", ["wasps"], threshold=2)
        assert [record.body for record in desk.journal.records()] == [
            {"change": "new", "names": ["bees"]},
            {"change": "rename", "names": ["bees"], "into": "wasps"},
            {"change": "threshold", "names": ["wasps"], "threshold": 2.0},
        ]
        assert record == desk.change_categories("c", "threshold", ["wasps"], threshold=2)
        assert (desk.position, record.seq) == (3, 3)
        assert desk.journal.by_id("a").user == "ada"  # type: ignore[union-attr]
        with pytest.raises(RepeatedIdError, match="the id 'c' is that of record 3, which says something else"):
            desk.correct("c", "gold", accept=["metal"])
        with pytest.raises(RepeatedIdError, match="the id 'c' is that of record 3, which says something else"):
            desk.undo("c", [1])


def test_a_record_says_who_corrected_what_and_of_which_document(path: Path) -> None:
    with Desk(path, new=True) as desk:
        taught = desk.correct("a", "tin tin mine", accept=["metal", "metal"], user="ada", document="7")
        record = desk.journal.by_id("a")
        assert record is not None
        assert (record.kind, record.user, record.text) == ("correction", "ada", "tin tin mine")
        assert record.body == {"accept": ["metal"], "reject": [], "document": "7"}
        assert record.features == [("tin", 2), ("mine", 1)]
        assert record.digest == features_digest(FeatureCounts(["tin", "mine"], [2, 1]))
        assert taught.record == desk.with_effect(record)
        assert taught.correction is not None
        repeated = desk.correct("a", "tin tin mine", accept=["metal"], document="7")
        assert (repeated.record, repeated.correction, repeated.repeated) == (taught.record, None, True)
        desk.journal.forget_text(1)
        assert desk.correct("a", "whatever it was", accept=["metal"], document="7").repeated  # nobody knows any more


def test_a_model_that_has_learned_nothing_is_taught(tmp_path: Path) -> None:
    Categorizer(min_count=1).save(tmp_path / "new.thresher")
    with Desk(tmp_path / "new.thresher") as desk:
        taught = desk.correct("a", "gold mine", categories=["metal"])
        assert taught.record.effect is not None
        assert (taught.record.effect["predicted"], taught.record.effect["mistakes"]) == ([], ["metal"])
        assert desk.correct("b", "gold", categories=[]).record.effect["mistakes"] == ["metal"]  # type: ignore[index]


def test_what_was_predicted_and_is_not_so_is_told_as_demoted(path: Path) -> None:
    with Desk(path, new=True) as desk:
        effect = desk.correct("a", "gold and silver", categories=["grain"]).record.effect
        assert effect is not None
        assert (effect["mistakes"], effect["promoted"], effect["demoted"]) == (
            ["grain", "metal"],
            {"grain": 3},
            {"metal": 3},
        )
        right = desk.correct("b", "crude oil", accept=["energy"]).record.effect
        assert right is not None
        assert (right["predicted"], right["mistakes"], right["demoted"]) == (["energy"], [], {})


# Beginning, and coming back.


def test_a_journal_begins_with_the_model_as_it_is(path: Path) -> None:
    digest = Categorizer.load(path).digest()
    with Desk(path, new=True) as desk:
        assert (desk.journal.fact("base"), desk.journal.fact("written")) == (digest, digest)
        assert Categorizer.load(journal_folder(path) / "snapshot-0000000000.thresher").digest() == digest
        assert desk.path == path
        written = desk.write_model()
        assert "journal" not in read_model(journal_folder(path) / "snapshot-0000000000.thresher").about
        assert read_model(path).about["journal"] == digest
        teach(desk, 1)
        later = desk.write_model()
        assert desk.journal.fact("written") == later != written
        assert desk.journal.fact("base") == digest


def test_a_journal_stands_where_it_is_told_to(path: Path, tmp_path: Path) -> None:
    with Desk(path, tmp_path / "elsewhere", new=True) as desk:
        teach(desk, 1)
    assert not journal_folder(path).exists()
    with Desk(path, str(tmp_path / "elsewhere")) as desk:
        assert desk.position == 1


@pytest.mark.parametrize("model", ["", ".", "/"])
def test_what_has_no_name_has_no_journal(model: str) -> None:
    with pytest.raises(IsADirectoryError):
        journal_folder(model)


def test_a_journal_is_enough_where_the_model_file_is_gone(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 3)
        digest = desk.model.digest()
    path.unlink()
    with Desk(path) as again:
        assert again.model.digest() == digest == again.write_model()


def test_a_model_written_and_not_noted_is_noted_at_the_next_start(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 3)
        desk.model.save(path)
    with Desk(path) as again:
        assert again.journal.fact("written") == again.model.digest()
        teach(again, 1, first=3)
    with Desk(path) as again:  # the file is older than the journal, which knows it
        assert again.position == 4


def test_whatever_fails_while_a_desk_opens_gives_the_journal_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Desk(path, new=True).close()
    with monkeypatch.context() as patch:
        patch.setattr("thresher.desk.restored", lambda *_: [][0])
        with pytest.raises(IndexError):
            Desk(path)
        patch.setattr("thresher.desk.restored", interrupt)
        with pytest.raises(KeyboardInterrupt):
            Desk(path)
    Desk(path).close()


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_kill_before_there_is_a_journal_leaves_nothing_that_stops_the_next_start(path: Path) -> None:
    folder = journal_folder(path)
    folder.mkdir()
    for name in ("lock", "journal.sqlite3", "journal.sqlite3-wal", "service.json", ".snapshot-0.thresher.tmp"):
        (folder / name).touch()
    with Desk(path) as desk:
        teach(desk, 1)
    assert not list(path.parent.glob("*.left-*"))


def test_what_is_left_of_a_journal_is_moved_aside_under_a_name_of_its_own(path: Path) -> None:
    folder = journal_folder(path)
    for _ in range(2):
        folder.mkdir()
        (folder / "snapshot-0000000007.thresher").write_bytes(b"something")
        with pytest.raises(JournalError, match=f"{path}: its journal is missing, there is none in {folder} "):
            Desk(path)
        Desk(path, new=True).close()
        shutil.rmtree(folder)
    left = [file.name for file in path.parent.glob("*.left-*")]
    assert len(left) == 2
    assert all(re.fullmatch(r"desk\.thresher\.journal\.left-[0-9a-f]{6}", name) for name in left)


def test_a_desk_that_failed_writes_no_snapshot_and_takes_nothing_more(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(path, new=True)
    teach(desk, 2)
    with monkeypatch.context() as patch:
        patch.setattr("thresher.replay.apply", interrupt)
        with pytest.raises(KeyboardInterrupt):
            desk.correct("a", "tin mine", accept=["metal"])
    assert (desk.failed_at, desk.position) == (3, 2)
    for act in (
        lambda: desk.undo("u", [1]),
        lambda: desk.change_categories("n", "new", ["bees"]),
        lambda: desk.correct("a", "tin mine", accept=["metal"]),
        desk.snapshot,
        desk.write_model,
    ):
        with pytest.raises(JournalError, match=r"^record 3 is kept and was not applied \(start again to replay it\)"):
            act()
    desk.close()
    assert positions(path) == [0]
    with Desk(path) as again:
        assert again.position == 3
        assert [record.effect is None for record in again.journal.records()] == [False, False, True]
        assert again.with_effect(next(again.journal.records(2))).effect is not None


def test_the_journal_is_given_up_though_the_last_snapshot_fails(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(path, new=True)
    teach(desk, 1)
    with monkeypatch.context() as patch:
        patch.setattr(Categorizer, "save", interrupt)
        with pytest.raises(KeyboardInterrupt):
            desk.close()
    Desk(path).close()


# What does not fit together.


def test_records_without_what_they_began_with_are_refused(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 2)
    for file in journal_folder(path).glob("snapshot-*2.thresher"):
        file.unlink()
    _execute(path, "DELETE FROM facts WHERE name = 'base'")
    with pytest.raises(JournalError, match="it is damaged: it has records, and not what it began with"):
        Desk(path)


def test_a_journal_that_was_begun_with_another_model_and_never_used_is_refused(path: Path) -> None:
    Desk(path, new=True).close()
    _execute(path, "DELETE FROM facts")  # as if it had been killed before it noted them
    Desk(path).close()
    _execute(path, "DELETE FROM facts")
    Categorizer(min_count=1).fit(TEXTS[:12], CATEGORIES[:12]).save(path)
    with pytest.raises(JournalError, match=f"this journal is empty, and was begun with another model than {path} "):
        Desk(path)


def test_a_record_that_is_marked_as_undone_by_none_that_says_so_is_refused(path: Path) -> None:
    with Desk(path, new=True) as desk:
        teach(desk, 3)
        with desk.journal.transaction():
            desk.journal._change(2, "undone_by", 3)
        desk.journal.close()
        desk._snapshot_at = desk.position
        desk.effects = {}
    with pytest.raises(JournalError, match=r"record 2 is not marked as it was undone \(damaged\)"):
        Desk(path)
    with Journal(journal_folder(path)) as journal:
        assert journal.check() == ["record 2 is not marked as it was undone"]
