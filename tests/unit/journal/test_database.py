"""The file that holds every correction: durable, whole or refused, and owned by one process."""

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Run
from support.open_files import no_more_open_files
from thresher.errors import JournalBrokenError, JournalBusyError, JournalError, JournalFullError
from thresher.journal.database import FILE, Journal, Record, exported


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "model.journal"


def append(journal: Journal, number: int) -> Record:
    features = [(f"word {number}", 1), ("ünïcode \0", 2)]
    return journal.append(
        f"id {number}",
        "correction",
        "ada",
        {"accept": ["a"], "reject": []},
        text={"title": "z", "body": "a\0"},
        features=features,
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


def test_a_known_id_is_not_written_twice(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        first = append(journal, 1)
        assert append(journal, 1) == first
        assert journal.last() == 1
        for id in ("", "x" * 201):
            with pytest.raises(JournalError, match=r"the id '(x{20})?' is not valid \(allowed: 1 to 200 characters\)"):
                journal.append(id, "correction", "", {})
        assert journal.append("x" * 200, "undo", "", {"seqs": []}).seq == 2


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_failed_transaction_leaves_nothing(folder: Path, error: type[BaseException]) -> None:
    with Journal(folder, create=True) as journal:
        append(journal, 1)
        with suppress(error), journal.transaction() as connection:
            connection.execute("DELETE FROM records")
            raise error
        with pytest.raises(JournalError, match="no such table: nowhere"), journal.transaction() as connection:
            connection.execute("DELETE FROM nowhere")
        assert journal.last() == 1


def test_a_rollback_that_finds_no_memory_is_made_up_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
            append(journal, 1)
        Short.is_short = False
        assert append(journal, 2).seq == 1
    with Journal(folder) as journal:
        assert [record.id for record in journal.records()] == ["id 2"]


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
        assert journal.check() == ["record 5 is missing (restore a backup)"]
    data = bytearray((folder / FILE).read_bytes())
    data[len(data) // 2 : len(data) // 2 + 3000] = bytes(3000)
    (folder / FILE).write_bytes(bytes(data))
    assert _faults(folder)


def test_damage_of_an_index_is_found(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        journal.append("a", "correction", "", {"categories": []}, digest="of-what-it-has")
        ((page,),) = journal.query("SELECT rootpage FROM sqlite_schema WHERE name = 'by_digest'")
        ((size,),) = journal.query("PRAGMA page_size")
    data = (folder / FILE).read_bytes()
    index = data[(page - 1) * size : page * size]
    assert b"of-what-it-has" in index
    (folder / FILE).write_bytes(data.replace(index, index.replace(b"of-what-it-has", b"of-what-it-had")))
    with Journal(folder) as journal:
        assert journal.check() == ["row 1 missing from index by_digest"]


def test_damage_that_sqlite_cannot_even_speak_of_is_told(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        append(journal, 1)
    data = (folder / FILE).read_bytes().replace(b"CREATE TABLE documents", b"CREATE FABLE documents")
    (folder / FILE).write_bytes(data.replace(b"documents", b"\xff\xfe\xfduments"))
    with pytest.raises(JournalError, match=r"it is damaged: what it holds is not UTF-8 \(restore a backup\)"):
        Journal(folder)


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
from thresher.journal.database import Journal
journal = Journal(sys.argv[1], create=True)
number = journal.last()
while True:
    number += 1
    journal.append(f"id {number}", "correction", "ada", {"accept": ["a"], "reject": []}, text="crude oil " * 20)
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


# What records are asked for.


def effect(*mistakes: str) -> dict[str, Any]:
    return {"predicted": ["a"], "mistakes": list(mistakes), "promoted": {}, "demoted": {}}


def seqs(records: Iterable[Record]) -> list[int]:
    return [record.seq for record in records]


def test_a_record_says_when_and_by_whom(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        before = datetime.now(UTC)
        record = journal.append("a", "skip", "ada", {"seqs": []})
        when = datetime.fromisoformat(record.time)
        assert before - timedelta(milliseconds=1) <= when <= datetime.now(UTC)
        assert (record.time[-10], record.time[-6:], record.user) == (".", "+00:00", "ada")
        assert (record.text, record.features, record.undone_by, record.effect) == (None, None, None, None)
        assert record.digest == ""
        assert list(journal.records()) == [record]


def test_records_are_listed_from_both_ends_without_their_features(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        assert list(journal.newest()) == list(journal.oldest()) == []
        for number in range(1, 46):  # more than are read at a time
            append(journal, number)
        assert seqs(journal.newest()) == list(range(45, 0, -1))
        assert seqs(journal.oldest()) == list(range(1, 46))
        assert seqs(journal.newest(limit=41)) == list(range(45, 4, -1))
        assert seqs(journal.oldest(limit=40)) == list(range(1, 41))
        assert seqs(journal.newest(before=4, limit=2)) == [3, 2]
        assert seqs(journal.oldest(after=42, limit=2)) == [43, 44]
        assert seqs(journal.newest(before=1)) == seqs(journal.oldest(after=45)) == []
        whole = journal.by_id("id 45")
        assert whole is not None
        assert list(journal.newest(limit=1)) == list(journal.oldest(after=44)) == [whole._replace(features=None)]


def test_reading_all_records_holds_few_of_them(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for number in range(120):
            journal.append(f"id {number}", "correction", "ada", {"accept": ["a"], "reject": []}, text="x" * 100_000)
        tracemalloc.start()
        try:
            assert sum(1 for _ in journal.records()) == 120
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 50 * 100_000


def test_records_of_a_kind_are_found_in_their_order(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for number, kind in enumerate(("undo", "skip", "undo", "skip")):
            journal.append(str(number), kind, "", {"seqs": []})
        assert seqs(journal.of_kind("undo")) == [1, 3]
        assert seqs(journal.of_kind("categories")) == []


def test_mistakes_are_found_by_category(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for number in range(1, 7):
            append(journal, number)
        journal.keep_effects({1: effect("a"), 2: effect("b", "c"), 3: effect(), 4: effect("a"), 5: effect("c", "a")})
        journal.append("u", "undo", "", {"seqs": [4]}, undoes=[4])
        found = journal.mistakes_of(["a"], 10)
        assert seqs(found) == [5, 1]
        assert (found[0].effect, found[0].text, found[0].features) == (
            effect("c", "a"),
            {"title": "z", "body": "a\0"},
            None,
        )
        assert seqs(journal.mistakes_of(["a", "b"], 10)) == [5, 2, 1]
        assert seqs(journal.mistakes_of(["c", "b"], 1)) == [5]
        assert journal.mistakes_of(["d"], 10) == []


def test_corrections_that_stand_are_found_by_their_features(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for number, (kind, digest) in enumerate(
            [("correction", "x"), ("correction", "y"), ("skip", "x"), ("correction", "x"), ("correction", "x")]
        ):
            body: dict[str, Any] = {"categories": [], "seqs": []}
            journal.append(str(number), kind, "", body, text="oil", features=[("oil", 1)], digest=digest)
        journal.append("u", "undo", "", {"seqs": [4]}, undoes=[4])
        assert seqs(journal.of_features("x")) == [1, 5]
        assert [(record.text, record.features) for record in journal.of_features("x")] == [(None, None)] * 2
        assert journal.of_features("z") == []


def test_effects_go_with_the_next_record_and_may_be_told_again(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        append(journal, 1)
        journal.append("b", "correction", "", {"categories": []}, effects={1: effect()})
        journal.keep_effects({1: effect("a")})
        assert [record.effect for record in journal.records()] == [effect("a"), None]
        assert (
            journal.append("b", "correction", "", {"categories": []}, effects={2: effect()}).effect is None
        )  # it is known: nothing is written
        assert journal.query("SELECT seq, wrong FROM effects") == [(1, 1)]
        with pytest.raises(JournalError, match="FOREIGN KEY"):
            journal.keep_effects({7: effect()})


def documents(journal: Journal) -> list[tuple[str, str]]:
    return [(id, state) for id, state in journal.query("SELECT id, state FROM documents ORDER BY id")]


def add_documents(journal: Journal, **texts: str) -> None:
    with journal.transaction() as connection:
        rows = [(id, json.dumps(text), "open") for id, text in texts.items()]
        connection.executemany("INSERT INTO documents VALUES (?, ?, ?)", rows)


def test_a_document_is_done_with_its_correction(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        add_documents(journal, a="one", b="two")
        journal.append("1", "correction", "", {"categories": ["x"]}, text="one")
        assert documents(journal) == [("a", "open"), ("b", "open")]
        journal.append("2", "correction", "", {"categories": ["x"], "document": "b"}, text="two")
        assert documents(journal) == [("a", "open"), ("b", "done")]


def test_a_document_is_open_again_once_no_correction_of_it_stands(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        add_documents(journal, a="one", b="two", c="three")
        for id, document in (("1", "a"), ("2", "a"), ("3", "b"), ("4", "c")):
            journal.append(id, "correction", "", {"categories": [], "document": document}, text="one")
        with journal.transaction() as connection:
            connection.execute("UPDATE records SET body = '{' WHERE seq = 4")  # damaged, and to be left out
        journal.append("undo", "undo", "", {"seqs": [2]}, undoes=[2])
        assert documents(journal) == [("a", "done"), ("b", "done"), ("c", "done")]
        journal.append("both", "undo", "", {"seqs": [1, 3]}, undoes=[1, 3])
        journal.append("skip", "skip", "", {"seqs": [4]}, undoes=[4])
        assert documents(journal) == [("a", "open"), ("b", "open"), ("c", "done")]


@pytest.mark.parametrize("length", [1, 5000])  # in a page with others, and over several pages of its own
def test_a_forgotten_text_goes_with_its_documents_and_from_the_file(folder: Path, length: int) -> None:
    secret = "one secret " * length
    with Journal(folder, create=True) as journal:
        add_documents(journal, a=secret, b="another secret", c="a third", d=secret)
        journal.append("1", "correction", "", {"categories": [], "document": "b"}, text=secret, features=[("one", 1)])
        journal.append("2", "correction", "", {"categories": [], "document": "c"}, text="a third")
    with Journal(folder) as journal:  # so that the text stands in the file, and not in the log alone
        journal._connection.execute("PRAGMA secure_delete=0").fetchall()  # which some builds of SQLite have, others not
        journal.forget_text(1)
        assert documents(journal) == [("c", "done")]
        assert [record.text for record in journal.records()] == [None, "a third"]
        assert next(journal.records()).features == [("one", 1)]
        held = b"".join(file.read_bytes() for file in folder.iterdir())  # at once, not only when it is closed
        assert b"secret" not in held
        assert b"a third" in held


# A file that is begun, opened and closed.


def test_a_journal_is_not_begun_unasked(folder: Path) -> None:
    with pytest.raises(JournalError, match=r"model\.journal: there is no journal here"):
        Journal(folder)
    assert not folder.exists()


def test_a_journal_is_there_if_its_log_alone_holds_something(folder: Path) -> None:
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
        journal.last()


def test_a_journal_may_be_written_by_another_thread(folder: Path) -> None:
    with Journal(folder, create=True) as journal, ThreadPoolExecutor(1) as other:
        assert other.submit(append, journal, 1).result().seq == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ZeroDivisionError])
def test_a_journal_that_cannot_be_opened_is_let_go_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fail(connection: sqlite3.Connection, path: Path) -> None:
        connection.execute("CREATE TABLE something (x)")
        raise error

    with no_more_open_files(), monkeypatch.context() as patch:
        patch.setattr("thresher.journal.database.set_up", fail)
        with pytest.raises((error, JournalError)):
            Journal(folder, create=True)
    with pytest.raises(JournalError, match="not a journal of Thresher's"):  # but not that somebody has it
        Journal(folder)


# What SQLite says becomes an error that a caller can act on.


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
        lambda journal: journal.by_id("\udcff"),
        lambda journal: journal.append("a", "correction", "\udcff", {}),
        lambda journal: journal.append("a", "correction", "", {}, undoes=[2**63]),
        lambda journal: list(journal.records(2**63)),
    ],
    ids=["id", "user", "number", "place"],
)
def test_what_sqlite_cannot_hold_is_refused(folder: Path, give: Callable[[Journal], object]) -> None:
    with Journal(folder, create=True) as journal:
        append(journal, 1)
        with pytest.raises(JournalError, match="it holds UTF-8, and numbers of 64 bits, and no others"):
            give(journal)
        assert (journal.last(), journal.check()) == (1, [])


def test_a_failing_disk_breaks_the_journal(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        append(journal, 1)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        try:
            with pytest.raises(JournalBrokenError, match=r"error \(look after the disk, then start again\)") as caught:
                append(journal, 2)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert str(caught.value).startswith(f"{folder / FILE}: ")
    with Journal(folder) as again:
        assert (again.last(), again.check()) == (1, [])


def test_a_correction_is_exported_as_a_document() -> None:
    record = Record(
        7, "x", "correction", "2024-02-29T00:00:00.000+00:00", "ada", {}, "tin mine", [("tin", 1)], "d", None
    )
    about = {"id": "x", "user": "ada", "time": record.time}
    some = record._replace(body={"accept": ["a"], "reject": ["b"], "document": "3"})
    assert exported(some) == {"text": "tin mine", "categories": ["a"], "accept": ["a"], "reject": ["b"]} | about
    none = record._replace(body={"accept": [], "reject": ["b"]}, text={"title": "t", "body": "b"})
    assert exported(none) == {"title": "t", "body": "b", "accept": [], "reject": ["b"]} | about
    whole = record._replace(body={"categories": []})
    assert exported(whole) == {"text": "tin mine", "categories": []} | about
    assert exported(some, {"accept": ["new"], "reject": []})["categories"] == ["new"]
    assert next(iter(exported(some))) == "id"


def test_the_name_of_a_new_folder_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("thresher.journal.database.sync_folder", synced.append)
    for _ in range(2):
        Journal(tmp_path / "new.journal", create=True).close()
    assert synced == [tmp_path]


@pytest.mark.parametrize("name", ["SQLITE_CORRUPT", "SQLITE_CANTOPEN", "SQLITE_NOTADB", "SQLITE_READONLY_DBMOVED"])
def test_a_file_that_breaks_under_a_record_ends_it(tmp_path: Path, name: str) -> None:
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorname = name
    with Journal(tmp_path / "a.journal", create=True) as journal:
        for _ in range(2):
            with pytest.raises(JournalError) as caught, journal.naming_errors():  # to who only looks
                raise error
            assert caught.type is JournalError
            with pytest.raises(JournalBrokenError, match=r"is malformed \(look after the disk"), journal.transaction():
                raise error
        error.sqlite_errorname = "SQLITE_IOERR_READ"
        with pytest.raises(JournalBrokenError), journal.naming_errors():
            raise error
