"""The file that holds every correction: durable, whole or refused, and owned by one process."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from thresher.errors import JournalBusyError, JournalError, JournalFullError
from thresher.journal import FILE, Journal, Record


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "model.journal"


def append(journal: Journal, number: int) -> Record:
    features = [(f"word {number}", 1), ("ünïcode \0", 2)]
    return journal.append(
        f"id {number}", "correction", "ada", {"accept": ["a"]}, text={"title": "z", "body": "a\0"}, features=features
    )


def test_records_come_back_as_they_were(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        written = [append(journal, number) for number in range(1, 1203)]
        assert list(journal.records()) == written
        assert list(journal.records(after=700, limit=501)) == written[700:1201]
        assert list(journal.records(limit=0)) == []
        journal.set_fact("base", "abc")
    with Journal(folder) as again:
        assert list(again.records()) == written
        assert [list(record.text) for record in again.records(limit=1)] == [["title", "body"]]  # in their order
        assert (again.last(), again.fact("base"), again.fact("other")) == (1202, "abc", None)
        assert again.check() == []


def test_what_durability_rests_on_is_set(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        found = {
            name: journal._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "locking_mode")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "locking_mode": "exclusive"}
    assert not (folder / f"{FILE}-shm").exists()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_setting_that_does_not_hold_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.journal._PRAGMAS", {"journal_mode": "bogus"})
    with pytest.raises(JournalError, match="SQLite has journal_mode=delete, and durability needs bogus"):
        Journal(folder, create=True)
    monkeypatch.undo()
    Journal(folder, create=True).close()  # the lock was given up


def test_a_known_id_is_not_written_twice(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        first = append(journal, 1)
        assert append(journal, 1) == first
        assert journal.last() == 1
        for id in ("", "x" * 201):
            with pytest.raises(JournalError, match="is none"):
                journal.append(id, "correction", "", {})


def test_a_failed_transaction_leaves_nothing(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        append(journal, 1)
        with suppress(ZeroDivisionError), journal.transaction() as connection:
            connection.execute("DELETE FROM records")
            raise ZeroDivisionError
        with pytest.raises(JournalError, match="no such table: nowhere"), journal.transaction() as connection:
            connection.execute("DELETE FROM nowhere")
        assert journal.last() == 1


def test_a_full_disk_refuses_a_record_and_takes_it_later(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        append(journal, 1)
        (pages,) = journal._connection.execute("PRAGMA page_count").fetchone()
        journal._connection.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(JournalFullError, match=r"full \(make room and send it again\)"):
            list(map(partial(append, journal), range(2, 200)))
        kept = journal.last()
        journal._connection.execute("PRAGMA max_page_count=100000")
        assert append(journal, kept + 1).seq == kept + 1
        assert journal.check() == []


def test_a_backup_is_a_journal(folder: Path, tmp_path: Path) -> None:
    with Journal(folder, create=True) as journal:
        written = [append(journal, number) for number in range(1, 20)]
        (tmp_path / "copy").mkdir()
        journal.backup(tmp_path / "copy" / FILE)
        append(journal, 20)
    with Journal(tmp_path / "copy") as copy:
        assert list(copy.records()) == written


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(b"no database, but long enough to look at" * 100), "not a database"),
        (lambda path: path.write_bytes(b""), "no journal here"),
        (lambda path: _execute(path, "PRAGMA application_id=7"), "not a journal of Thresher's"),
        (lambda path: _execute(path, "PRAGMA user_version=9"), "newer version"),
    ],
)
def test_a_foreign_file_is_refused(folder: Path, spoil: object, message: str) -> None:
    with Journal(folder, create=True) as journal:
        append(journal, 1)
    spoil(folder / FILE)  # type: ignore[operator]
    with pytest.raises(JournalError, match=message):
        Journal(folder)


def _execute(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_damage_is_found(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for number in range(1, 200):
            append(journal, number)
        journal._connection.execute("DELETE FROM records WHERE seq = 5")
        assert journal.check() == ["1 records are missing"]
    data = bytearray((folder / FILE).read_bytes())
    data[len(data) // 2 : len(data) // 2 + 3000] = bytes(3000)
    (folder / FILE).write_bytes(bytes(data))
    assert _faults(folder)


def _faults(folder: Path) -> list[str]:
    try:
        with Journal(folder) as journal:
            return journal.check()
    except JournalError as error:
        return [str(error)]


def test_a_second_owner_is_told_at_once(folder: Path) -> None:
    first = Journal(folder, create=True)
    with pytest.raises(JournalBusyError, match=f"process {os.getpid()} has the journal"):
        Journal(folder)
    first.close()
    Journal(folder).close()


WRITER = """
import sys
from thresher.journal import Journal
journal = Journal(sys.argv[1], create=True)
number = journal.last()
while True:
    number += 1
    journal.append(f"id {number}", "correction", "ada", {"accept": ["a"]}, text="crude oil " * 20)
    print(number, flush=True)
"""


def test_what_was_acknowledged_outlives_the_process(folder: Path) -> None:
    acknowledged = 0
    for kill in range(6):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        seen = [int(writer.stdout.readline())]
        time.sleep(0.005 * kill)
        writer.send_signal(signal.SIGKILL)
        seen += [int(line) for line in writer.communicate()[0].split("\n") if line.endswith(tuple("0123456789"))][:-1]
        assert seen[0] == acknowledged + 1
        with Journal(folder) as journal:
            assert journal.last() >= seen[-1]
            assert [record.seq for record in journal.records()] == list(range(1, journal.last() + 1))
            assert journal.check() == []
            acknowledged = journal.last()
