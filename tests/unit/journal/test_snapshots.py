"""Snapshots of a model at a desk: when they are kept, which are taken up again, and what is left of damaged ones."""

import errno
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.journaled_models import execute, interrupt, new_small_model, positions, teach
from thresher import Categorizer
from thresher.errors import JournalBrokenError, JournalFullError, LemmatizerError
from thresher.journal.journaled_model import JournaledModel, journal_folder
from thresher.journal.snapshots import backup, note_snapshot, position_of, snapshot_path
from thresher.text import lemmas


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return new_small_model(tmp_path)


def test_a_snapshot_is_written_after_a_number_of_corrections(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.journal.journaled_model.SNAPSHOT_EVERY", 3)
    with JournaledModel(path, new=True) as journaled_model:
        kept = []
        for i in range(10):
            teach(journaled_model, 1, first=i)
            kept.append(positions(path)[1:])  # the first, of the model that was taught, always stays
        assert kept == [[], [], [3], [3], [3], [3, 6], [3, 6], [3, 6], [6, 9], [6, 9]]
    assert positions(path) == [0, 9, 10]
    with JournaledModel(path):
        pass
    assert positions(path) == [0, 9, 10]  # nothing was learned since


def test_a_snapshot_that_finds_no_room_is_tried_again_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.journal.journaled_model.SNAPSHOT_EVERY", 3)
    tried: list[Path] = []

    def full(model: Categorizer, target: Path, mode: int) -> str:
        tried.append(target)
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    with JournaledModel(path, new=True) as journaled_model:
        with monkeypatch.context() as patch:
            patch.setattr(Categorizer, "save", full)
            teach(journaled_model, 8)
        assert [file.name for file in tried] == ["snapshot-0000000003.thresher", "snapshot-0000000006.thresher"]
        assert len(journaled_model.remarks) == 2
        assert journaled_model.remarks[0].startswith("[Errno 28] No space left on device")
        assert journaled_model.remarks[0].endswith("(a snapshot could not be written; nothing is lost)")
        teach(journaled_model, 1, first=8)
        assert (journaled_model.journal.log.last_seq(), positions(path)) == (9, [0, 9])
        digest = journaled_model.model.digest()
    with JournaledModel(path) as again:
        assert again.model.digest() == digest


def test_a_snapshot_that_finds_no_room_for_effects_is_tried_again_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise JournalFullError("full")

    monkeypatch.setattr("thresher.journal.journaled_model.SNAPSHOT_EVERY", 2)
    with JournaledModel(path, new=True) as journaled_model:
        with monkeypatch.context() as patch:
            patch.setattr(JournaledModel, "write_effects", full)
            teach(journaled_model, 3)
        assert journaled_model.remarks == ["full (a snapshot could not be written; nothing is lost)"]


def test_a_full_disk_at_closing_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise JournalFullError("full")

    with monkeypatch.context() as patch:
        with JournaledModel(path, new=True) as journaled_model:
            teach(journaled_model, 5)
            digest = journaled_model.model.digest()
            patch.setattr(JournaledModel, "write_effects", full)
        assert journaled_model.remarks == ["full (a snapshot could not be written; nothing is lost)"] * 2
    with JournaledModel(path) as again:
        assert (again.model.digest(), again.remarks) == (digest, [])
        assert all(record.effect for record in map(again.attach_effect, again.journal.log.read()))


def test_an_error_other_than_a_full_disk_is_raised(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.journal.journaled_model.SNAPSHOT_EVERY", 1)
    journaled_model = JournaledModel(path, new=True)
    monkeypatch.setattr(Categorizer, "save", lambda *_, mode: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        journaled_model.correct("a", "tin mine", accept=["metal"])
    assert journaled_model.journal.log.last_seq() == 1
    journaled_model.journal.close()


def test_a_disk_error_during_a_snapshot_is_raised(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, mode: int) -> str:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("thresher.journal.journaled_model.SNAPSHOT_EVERY", 1)
    journaled_model = JournaledModel(path, new=True)
    with monkeypatch.context() as patch:
        patch.setattr(Categorizer, "save", broken)
        with pytest.raises(JournalBrokenError, match="look after the disk, then start again"):
            journaled_model.correct("a", "tin mine", accept=["metal"])
    journaled_model.journal.close()
    with JournaledModel(path) as again:
        assert again.correct("a", "tin mine", accept=["metal"]).is_repeated


def test_a_snapshot_of_another_journal_is_not_taken(path: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = shutil.copy(path, tmp_path / "other" / path.name)
    for model, first in ((path, 0), (other, 5)):
        with JournaledModel(model, new=True) as journaled_model:
            teach(journaled_model, 12, first=first)
            digest = journaled_model.model.digest()
    shutil.copy(journal_folder(other) / "journal.sqlite3", journal_folder(path))
    newest = snapshot_path(journal_folder(path), 12)
    with JournaledModel(path) as journaled_model:
        assert journaled_model.model.digest() == digest == journaled_model.compute_replayed_digest()
        assert journaled_model.remarks[0] == f"{newest}: does not match its recorded digest (an older snapshot is used)"


def test_a_snapshot_without_a_recorded_digest_is_ignored(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journaled_model = JournaledModel(path, new=True)
    teach(journaled_model, 4)
    digest = journaled_model.model.digest()
    with monkeypatch.context() as patch:
        patch.setattr("thresher.journal.journaled_model.note_snapshot", interrupt)
        with pytest.raises(KeyboardInterrupt):
            journaled_model.write_snapshot()
    journaled_model.journal.close()
    assert positions(path) == [0, 4]
    Categorizer(min_count=1).fit(["oil"], ["energy"]).save(snapshot_path(journal_folder(path), 4))
    with JournaledModel(path) as again:
        assert (again.model.digest(), again.remarks) == (digest, [])


def test_snapshots_of_a_version_without_digests_are_used(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 4)
        digest = journaled_model.model.digest()
    execute(path, "DELETE FROM facts WHERE name = 'snapshots'")
    snapshot_path(journal_folder(path), 0).write_bytes(b"damaged, and so it is the newest that is taken")
    with JournaledModel(path) as again:
        assert (again.model.digest(), again.remarks) == (digest, [])
        assert "4" in json.loads(str(again.journal.facts.get("snapshots")))


@pytest.mark.parametrize("note", ["", "{", "[]", '{"four": 4}', '{"4": 4}'])
def test_damaged_digests_leave_the_first_snapshot(path: Path, note: str) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 4)
        digest = journaled_model.model.digest()
    execute(path, f"UPDATE facts SET value = '{note}' WHERE name = 'snapshots'")
    with JournaledModel(path) as again:
        assert again.model.digest() == digest
        teach(again, 1, first=4)
        digest = again.model.digest()
    snapshot_path(journal_folder(path), 0).unlink()
    with JournaledModel(path) as again:  # which took the newest, as that is noted again
        assert (again.model.digest(), again.remarks) == (digest, [])


def test_half_a_backup_is_removed(path: Path) -> None:
    JournaledModel(path, new=True).close()
    for name in ("backup-whole", ".backup-half"):
        (journal_folder(path) / name).mkdir()
        (journal_folder(path) / name / "journal.sqlite3").touch()
    JournaledModel(path).close()
    assert (journal_folder(path) / "backup-whole").exists()
    assert not (journal_folder(path) / ".backup-half").exists()


def test_records_that_replay_to_another_model_are_reported(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 4)
        other = Categorizer(min_count=1).fit(["oil"], ["energy"]).save(journaled_model.write_snapshot())
        note_snapshot(journaled_model.journal, 4, other)
        digest = journaled_model.model.digest()
    with JournaledModel(path) as again:
        assert again.model.digest() == other
        assert again.compute_replayed_digest() == digest


def test_a_file_with_another_name_is_not_a_snapshot(path: Path) -> None:
    assert position_of(Path("snapshot-0000000012.thresher")) == 12
    assert position_of(Path("snapshot-12.thresher")) == position_of(Path(".snapshot-0000000012.thresher.tmp")) == -1


def test_a_snapshot_with_undone_records_is_removed_and_never_used(path: Path) -> None:
    folder = journal_folder(path)
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 4)
        stale = journaled_model.write_snapshot()
        shutil.copy(stale, path.with_name("stale"))
        journaled_model.undo("u", [2])
        assert positions(path) == [0, 5]
        digest = journaled_model.model.digest()
    # As if the process had been killed before it removed one, and before it wrote the next.
    shutil.move(path.with_name("stale"), stale)
    (folder / "snapshot-0000000005.thresher").unlink()
    (folder / ".snapshot-0000000005.thresher.abcd.tmp").write_bytes(b"half of one")
    (folder / "snapshot-of-mine.txt").write_bytes(b"kept")
    with JournaledModel(path) as again:
        assert again.model.digest() == digest
        assert positions(path) == [0]
    assert sorted(file.name for file in folder.iterdir() if "snapshot-0" not in file.name) == [
        "journal.sqlite3",
        "lock",
        "snapshot-of-mine.txt",
    ]


def test_a_snapshot_before_the_undone_record_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.journal.journaled_model.SNAPSHOT_EVERY", 3)
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 5)
        journaled_model.undo("u", [4])
        assert positions(path) == [0, 3, 6]
        journaled_model.undo("v", [3])  # the one of 3 holds it
        assert positions(path) == [0, 7]
        assert sorted(json.loads(str(journaled_model.journal.facts.get("snapshots")))) == [
            "0",
            "7",
        ]  # of those that are there


def test_a_snapshot_beyond_the_end_of_the_journal_is_not_used(path: Path) -> None:
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 2)
        digest = journaled_model.model.digest()
        teach(journaled_model, 1, first=2)
        later = journaled_model.model.digest()
    shutil.copytree(journal_folder(path), path.with_name("whole"))
    execute(path, "DELETE FROM effects WHERE seq = 3", "DELETE FROM records WHERE seq = 3")
    with JournaledModel(path) as again:
        assert again.model.digest() == digest != later
        assert again.position == 2


def test_a_backup_opens_as_a_journaled_model(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("thresher.support.atomic_file.sync_folder", synced.append)
    copy = tmp_path / "copy"
    with JournaledModel(path, new=True) as journaled_model:
        teach(journaled_model, 4)
        journaled_model.write_snapshot()
        teach(journaled_model, 2, first=4)
        (journaled_model.journal.folder / "snapshot-of-mine.txt").write_bytes(b"not copied")
        before = set(tmp_path.iterdir())
        for error in (OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()):
            halves: list[Path] = []

            def failing(file: object, copy: Any, error: BaseException = error, halves: list[Path] = halves) -> None:
                halves += set(tmp_path.iterdir()) - before
                if isinstance(error, KeyboardInterrupt):  # and whatever there was is gone already
                    shutil.rmtree(halves[0])
                raise error

            with monkeypatch.context() as patch:
                patch.setattr("thresher.journal.snapshots.shutil.copyfileobj", failing)
                with pytest.raises(type(error)):
                    backup(journaled_model.journal, copy)
            assert re.fullmatch(r"\.thresher-half-\w+", halves[0].name)
            assert set(tmp_path.iterdir()) == before
        assert tmp_path not in synced
        backup(journaled_model.journal, copy)
        assert (synced[-1], copy.stat().st_mode & 0o777) == (tmp_path, 0o700)
        assert not list(tmp_path.glob(".*"))
        digest = journaled_model.model.digest()
        teach(journaled_model, 2, first=6)
    names = ["journal.sqlite3", "snapshot-0000000000.thresher", "snapshot-0000000004.thresher"]
    assert sorted(file.name for file in copy.iterdir()) == names
    with JournaledModel(path, copy) as restored:
        assert (restored.model.digest(), restored.position) == (digest, 6)


def test_other_lemmatizers_are_named_and_no_older_snapshot_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Categorizer(analyser="lemmas:de", min_count=1, preset="fast").fit(["Häuser", "Autos"] * 3, ["a", "b"] * 3)
    model.save(tmp_path / "m")
    with JournaledModel(tmp_path / "m") as journaled:
        journaled.correct("1", "Bäume", accept=["a"])
    monkeypatch.setattr(lemmas, "version", lambda package: "9.9")
    with pytest.raises(LemmatizerError, match=r"simplemma 9\.9 is installed \(pip install simplemma=="):
        JournaledModel(tmp_path / "m")
