"""The database of a journal: durable, whole or refused, and owned by one process."""

import json
import os
import resource
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Run
from support.journals import append_correction
from support.open_files import no_more_open_files
from thresher.errors import JournalBrokenError, JournalBusyError, JournalError, JournalFullError
from thresher.journal.database import FILE
from thresher.journal.journal import Journal
from thresher.journal.record import Entry


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "model.journal"


@pytest.mark.parametrize(
    ("version", "mended"),
    [
        ((3, 40, 1), False), ((3, 44, 5), False), ((3, 44, 6), True), ((3, 45, 9), False), ((3, 50, 6), False),
        ((3, 50, 7), True), ((3, 51, 2), False), ((3, 51, 3), True), ((3, 52, 0), True),
    ],
)  # fmt: skip
def test_the_doctor_names_a_sqlite_that_several_writers_could_damage(
    called: Run, monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...], mended: bool
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    (check,) = (one for one in json.loads(called("doctor", "--json").out)["checks"] if one["name"] == "sqlite")
    assert (check["good"], "several writers" in check["advice"]) == (True if mended else None, not mended)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_failed_transaction_leaves_nothing(folder: Path, error: type[BaseException]) -> None:
    with Journal(folder, create=True) as journal:
        append_correction(journal, 1)
        with suppress(error), journal.database.transaction() as connection:
            connection.execute("DELETE FROM records")
            raise error
        with pytest.raises(JournalError, match="no such table: nowhere"), journal.database.transaction() as connection:
            connection.execute("DELETE FROM nowhere")
        assert journal.log.last_seq() == 1


def test_a_rollback_that_ran_out_of_memory_is_repeated(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Short(sqlite3.Connection):
        is_short = False

        def execute(self, query: str, *values: Any) -> sqlite3.Cursor:
            if self.is_short and (query.startswith("INSERT INTO records") or query == "ROLLBACK"):
                raise MemoryError
            return super().execute(query, *values)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Short))
    with Journal(folder, create=True) as journal:
        Short.is_short = True
        with pytest.raises(MemoryError):
            append_correction(journal, 1)
        Short.is_short = False
        assert append_correction(journal, 2).seq == 1
    with Journal(folder) as journal:
        assert [record.id for record in journal.log.read()] == ["id 2"]


def test_a_full_disk_refuses_a_record_that_is_accepted_later(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        append_correction(journal, 1)
        (pages,) = journal.database._connection.execute("PRAGMA page_count").fetchone()
        journal.database._connection.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(JournalFullError, match=r"full \(make room and send it again\)"):
            list(map(partial(append_correction, journal), range(2, 200)))
        kept = journal.log.last_seq()
        journal.database._connection.execute("PRAGMA max_page_count=100000")
        assert append_correction(journal, kept + 1).seq == kept + 1
        assert journal.find_damage() == []


def test_a_backup_is_a_journal(folder: Path, tmp_path: Path) -> None:
    with Journal(folder, create=True) as journal:
        written = [append_correction(journal, number) for number in range(1, 20)]
        (tmp_path / "copy").mkdir()
        journal.database.backup(tmp_path / "copy" / FILE)
        append_correction(journal, 20)
    with Journal(tmp_path / "copy") as copy:
        assert list(copy.log.read()) == written


def test_damage_that_sqlite_cannot_describe_is_reported(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        append_correction(journal, 1)
    data = (folder / FILE).read_bytes().replace(b"CREATE TABLE documents", b"CREATE FABLE documents")
    (folder / FILE).write_bytes(data.replace(b"documents", b"\xff\xfe\xfduments"))
    with pytest.raises(JournalError, match=r"it is damaged: what it holds is not UTF-8 \(restore a backup\)"):
        Journal(folder)


def test_a_second_owner_is_refused_immediately(folder: Path) -> None:
    first = Journal(folder, create=True)
    with pytest.raises(JournalBusyError, match=f"process {os.getpid()} has the journal"):
        Journal(folder)
    first.close()
    Journal(folder).close()


# A file that is begun, opened and closed.


def test_a_journal_is_not_created_by_default(folder: Path) -> None:
    with pytest.raises(JournalError, match=r"model\.journal: there is no journal here"):
        Journal(folder)
    assert not folder.exists()


def test_a_journal_exists_if_only_its_log_has_data(folder: Path) -> None:
    assert not Journal.is_in(folder)
    folder.mkdir()
    (folder / FILE).touch()
    assert not Journal.is_in(folder)
    (folder / f"{FILE}-wal").write_bytes(b"x")
    assert Journal.is_in(str(folder))


def test_closing_twice_closes_once(folder: Path) -> None:
    journal = Journal(folder, create=True)
    journal.close()
    with (folder / "other").open("w") as other:  # it has the number that the lock had
        journal.close()
        other.write("still open")
    with pytest.raises(JournalError, match="closed"):
        journal.log.last_seq()


def test_a_journal_may_be_written_by_another_thread(folder: Path) -> None:
    with Journal(folder, create=True) as journal, ThreadPoolExecutor(1) as other:
        assert other.submit(append_correction, journal, 1).result().seq == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ZeroDivisionError])
def test_a_journal_that_cannot_be_opened_is_unlocked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fail(connection: sqlite3.Connection, path: Path) -> None:
        connection.execute("CREATE TABLE something (x)")
        raise error

    with no_more_open_files(), monkeypatch.context() as patch:
        patch.setattr("thresher.journal.database.set_up", fail)
        with pytest.raises((error, JournalError)):
            Journal(folder, create=True)
    with pytest.raises(JournalError, match="this is not a Thresher journal"):  # but not that somebody has it
        Journal(folder)


def test_the_name_of_a_new_folder_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("thresher.journal.database.sync_folder", synced.append)
    for _ in range(2):
        Journal(tmp_path / "new.journal", create=True).close()
    assert synced == [tmp_path]


# Errors of SQLite become errors that a caller can act on.


def test_a_file_that_others_have_open_is_busy(folder: Path) -> None:
    Journal(folder, create=True).close()
    other = sqlite3.connect(folder / FILE, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    begun = time.monotonic()
    with pytest.raises(JournalBusyError, match=r"locked \(another process has it open\)"):
        Journal(folder)
    assert time.monotonic() - begun < 3
    other.close()


@pytest.mark.parametrize(
    "give",
    [
        lambda journal: journal.log.find("\udcff"),
        lambda journal: journal.append(Entry("a", "correction", "\udcff", {})),
        lambda journal: journal.append(Entry("a", "correction", "", {}), undoes=[2**63]),
        lambda journal: list(journal.log.read(2**63)),
    ],
    ids=["id", "user", "number", "place"],
)
def test_values_that_sqlite_cannot_store_are_refused(folder: Path, give: Callable[[Journal], object]) -> None:
    with Journal(folder, create=True) as journal:
        append_correction(journal, 1)
        with pytest.raises(JournalError, match="it holds UTF-8, and numbers of 64 bits, and no others"):
            give(journal)
        assert (journal.log.last_seq(), journal.find_damage()) == (1, [])


def test_a_failing_disk_breaks_the_journal(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        append_correction(journal, 1)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        try:
            with pytest.raises(JournalBrokenError, match=r"error \(look after the disk, then start again\)") as caught:
                append_correction(journal, 2)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert str(caught.value).startswith(f"{folder / FILE}: ")
    with Journal(folder) as again:
        assert (again.log.last_seq(), again.find_damage()) == (1, [])


@pytest.mark.parametrize("name", ["SQLITE_CORRUPT", "SQLITE_CANTOPEN", "SQLITE_NOTADB", "SQLITE_READONLY_DBMOVED"])
def test_a_disk_error_during_a_record_breaks_the_journal(tmp_path: Path, name: str) -> None:
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorname = name
    with Journal(tmp_path / "a.journal", create=True) as journal:
        for _ in range(2):
            with pytest.raises(JournalError) as caught, journal.database.name_errors():  # to who only looks
                raise error
            assert caught.type is JournalError
            with (
                pytest.raises(JournalBrokenError, match=r"is malformed \(look after the disk"),
                journal.database.transaction(),
            ):
                raise error
        error.sqlite_errorname = "SQLITE_IOERR_READ"
        with pytest.raises(JournalBrokenError), journal.database.name_errors():
            raise error


def test_a_transaction_within_another_ends_with_that(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        with suppress(ZeroDivisionError), journal.database.transaction():
            append_correction(journal, 1)
            append_correction(journal, 2)
            raise ZeroDivisionError
        assert journal.log.last_seq() == 0
        with journal.database.transaction():
            append_correction(journal, 1)
            append_correction(journal, 2)
        assert journal.log.last_seq() == 2


def test_two_threads_cannot_share_a_transaction(folder: Path) -> None:
    with Journal(folder, create=True) as journal, ThreadPoolExecutor(1) as other, journal.database.transaction():
        refused = other.submit(journal.facts.set, "a", "1").exception()
    assert isinstance(refused, RuntimeError)


def test_an_id_that_is_used_already_is_refused(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        append_correction(journal, 1)
        with pytest.raises(JournalError, match="UNIQUE"):
            append_correction(journal, 1)
        assert journal.log.last_seq() == 1
