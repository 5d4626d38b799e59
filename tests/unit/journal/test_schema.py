"""The file of a journal: what its durability rests on, and that no other file is taken for one."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from thresher.errors import JournalError
from thresher.journal.database import FILE
from thresher.journal.journal import Journal
from thresher.journal.record import Entry


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "model.journal"


def test_the_durability_pragmas_are_set(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        found = {
            name: journal.database._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "locking_mode", "mmap_size", "foreign_keys", "busy_timeout")
        }
        assert journal.database._connection.isolation_level is None  # no transaction begins by itself
    wanted = {"journal_mode": "wal", "synchronous": 2, "locking_mode": "exclusive", "mmap_size": 0, "foreign_keys": 1}
    assert found == wanted | {"busy_timeout": 0}
    assert not (folder / f"{FILE}-shm").exists()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_settings_are_those_that_durability_needs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = sqlite3.connect

    def connect(*given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(*given, **named)
        connection.set_trace_callback(asked.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect)
    Journal(folder, create=True).close()
    settings = "locking_mode=exclusive journal_mode=wal synchronous=2 mmap_size=0 foreign_keys=1 fullfsync=1"
    for setting in [*settings.split(), "checkpoint_fullfsync=1"]:
        assert f"PRAGMA {setting}" in asked  # some are so by themselves, here, and not in every SQLite


def test_the_first_version_gets_its_seals(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        record = journal.append(
            Entry("a", "correction", "ada", {"accept": ["a"], "reject": []}, text="z", features=[("z", 1)])
        )
    _make_older(folder)
    _execute(folder / FILE, "ALTER TABLE records DROP COLUMN seal")
    _execute(folder / FILE, "PRAGMA user_version=1")
    with Journal(folder) as journal:
        assert list(journal.log.read()) == [record]
    Journal(folder).close()  # once


def test_the_second_version_gets_its_mistakes(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for number in range(4):
            journal.append(
                Entry(f"{number}", "correction", "", {"accept": ["a"], "reject": []}, text="z", features=[("z", 1)])
            )
        effect: dict[str, Any] = {"predicted": [], "promoted": {}, "demoted": {}}
        journal.effects.write({1: effect | {"mistakes": ["a", "b"]}, 2: effect | {"mistakes": []}})
        journal.effects.write({4: effect | {"mistakes": ["b"]}})
    _make_older(folder)
    _execute(folder / FILE, "UPDATE effects SET effect = 'damaged' WHERE seq = 4")
    _execute(folder / FILE, "PRAGMA user_version=2")
    with Journal(folder) as journal:
        assert [record.seq for record in journal.corrections.read_mistakes(["a"], 10)] == [1]
        assert [record.seq for record in journal.corrections.read_mistakes(["b"], 10)] == [1]


def _make_older(folder: Path) -> None:
    for what in ("TABLE mistakes", "INDEX by_kind", "INDEX by_document"):
        _execute(folder / FILE, f"DROP {what}")


def test_a_setting_that_does_not_hold_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.journal.schema._PRAGMAS", {"locking_mode": "exclusive", "journal_mode": "bogus"})
    with pytest.raises(JournalError, match="SQLite has journal_mode=delete, and durability needs bogus"):
        Journal(folder, create=True)
    monkeypatch.undo()
    Journal(folder, create=True).close()  # the lock was given up


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(b"no database, but long enough to look at" * 100), "not a database"),
        (lambda path: path.write_bytes(b""), "no journal here"),
        (lambda path: _execute(path, "PRAGMA application_id=7"), "this is not a Thresher journal"),
        (lambda path: _execute(path, "PRAGMA user_version=9"), "newer version"),
    ],
)
def test_a_foreign_file_is_refused(folder: Path, spoil: object, message: str) -> None:
    with Journal(folder, create=True) as journal:
        journal.append(Entry("a", "correction", "ada", {"accept": ["a"], "reject": []}, text="z", features=[("z", 1)]))
    spoil(folder / FILE)  # type: ignore[operator]
    with pytest.raises(JournalError, match=message):
        Journal(folder)


def test_the_names_of_a_journal_and_its_log_are_synced_before_use(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[list[str]] = []

    def sync(synced_folder: Path) -> None:
        synced.append(sorted(file.name for file in synced_folder.iterdir()))

    monkeypatch.setattr("thresher.journal.schema.sync_folder", sync)
    for _ in range(2):
        Journal(folder, create=True).close()
        assert not (folder / f"{FILE}-wal").exists()
    assert synced == [[FILE, f"{FILE}-wal", "lock"]] * 2


def test_the_file_says_what_it_is(folder: Path) -> None:
    Journal(folder, create=True).close()
    head = (folder / FILE).read_bytes()[:100]
    assert (head[68:72], head[60:64]) == (b"Thre", (3).to_bytes(4, "big"))  # where `file` looks, and the version


def test_a_foreign_database_is_not_changed(folder: Path) -> None:
    folder.mkdir()
    _execute(folder / FILE, "CREATE TABLE others (name TEXT)")
    before = (folder / FILE).read_bytes()
    with pytest.raises(JournalError, match=f"{FILE}: this is not a Thresher journal"):
        Journal(folder, create=True)
    assert (folder / FILE).read_bytes() == before
    _execute(folder / FILE, "INSERT INTO others VALUES ('still here')")


def _execute(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
