"""The journal as a whole: what one transaction does to the log, the effects and the documents to review."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.journals import append_correction, make_effect
from thresher.errors import JournalError
from thresher.journal.database import FILE
from thresher.journal.journal import Journal
from thresher.journal.record import Entry


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "model.journal"


WRITER = """
import sys
from thresher.journal.journal import Journal
from thresher.journal.record import Entry
journal = Journal(sys.argv[1], create=True)
number = journal.log.last_seq()
while True:
    number += 1
    journal.append(Entry(f"id {number}", "correction", "ada", {"accept": ["a"], "reject": []}, "crude oil " * 20))
    print(number, flush=True)
"""


def test_acknowledged_records_outlive_the_process(folder: Path) -> None:
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
            assert journal.log.last_seq() >= seen[-1]
            assert [record.seq for record in journal.log.read()] == list(range(1, journal.log.last_seq() + 1))
            assert journal.find_damage() == []
            acknowledged = journal.log.last_seq()


def _faults(folder: Path) -> list[str]:
    try:
        with Journal(folder) as journal:
            return journal.find_damage()
    except JournalError as error:
        return [str(error)]


def test_damage_is_found(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        for number in range(1, 200):
            append_correction(journal, number)
        journal.database._connection.execute("DELETE FROM records WHERE seq = 5")
        assert journal.find_damage() == ["record 5 is missing (restore a backup)"]
    data = bytearray((folder / FILE).read_bytes())
    data[len(data) // 2 : len(data) // 2 + 3000] = bytes(3000)
    (folder / FILE).write_bytes(bytes(data))
    assert _faults(folder)


def test_damage_of_an_index_is_found(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        journal.append(Entry("a", "correction", "", {"categories": []}, digest="of-what-it-has"))
        ((page,),) = journal.database.query("SELECT rootpage FROM sqlite_schema WHERE name = 'by_digest'")
        ((size,),) = journal.database.query("PRAGMA page_size")
    data = (folder / FILE).read_bytes()
    index = data[(page - 1) * size : page * size]
    assert b"of-what-it-has" in index
    (folder / FILE).write_bytes(data.replace(index, index.replace(b"of-what-it-has", b"of-what-it-had")))
    with Journal(folder) as journal:
        assert journal.find_damage() == ["row 1 missing from index by_digest"]


def test_effects_are_written_with_the_next_record_and_may_be_replaced(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        append_correction(journal, 1)
        journal.append(Entry("b", "correction", "", {"categories": []}), effects={1: make_effect()})
        journal.effects.write({1: make_effect("a")})
        assert [record.effect for record in journal.log.read()] == [make_effect("a"), None]
        with pytest.raises(JournalError, match="UNIQUE"):  # nothing is written
            journal.append(Entry("b", "correction", "", {"categories": []}), effects={2: make_effect()})
        assert journal.database.query("SELECT seq, wrong FROM effects") == [(1, 1)]
        with pytest.raises(JournalError, match="FOREIGN KEY"):
            journal.effects.write({7: make_effect()})


@pytest.mark.parametrize("failing", ["mark_undone", "reopen", "set_state", "write"])
def test_a_record_is_written_completely_or_not_at_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    with Journal(folder, create=True) as journal:
        journal.queue.add([("d", "oil", "open")])
        append_correction(journal, 1)
        before = list(journal.log.read())
        for part in (journal.log, journal.queue, journal.effects):
            if hasattr(part, failing):
                monkeypatch.setattr(part, failing, lambda *_: 1 / 0)
        entry = Entry("b", "correction", "", {"categories": [], "document": "d"})
        with pytest.raises(ZeroDivisionError):
            journal.append(entry, undoes=[1], effects={1: make_effect()})
        monkeypatch.undo()
        assert list(journal.log.read()) == before
        assert (documents(journal), journal.corrections.read_outcomes()) == ([("d", "open")], [(1, None)])
        assert journal.append(entry, undoes=[1], effects={1: make_effect()}).seq == 2
        assert documents(journal) == [("d", "done")]


def documents(journal: Journal) -> list[tuple[str, str]]:
    return sorted((id, state) for id, _, state in journal.queue.read())


def add_documents(journal: Journal, **texts: str) -> None:
    journal.queue.add((id, text, "open") for id, text in texts.items())


def test_a_document_is_done_with_its_correction(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        add_documents(journal, a="one", b="two")
        journal.append(Entry("1", "correction", "", {"categories": ["x"]}, text="one"))
        assert documents(journal) == [("a", "open"), ("b", "open")]
        journal.append(Entry("2", "correction", "", {"categories": ["x"], "document": "b"}, text="two"))
        assert documents(journal) == [("a", "open"), ("b", "done")]


def test_a_document_is_open_again_once_all_its_corrections_are_undone(folder: Path) -> None:
    with Journal(folder, create=True) as journal:
        add_documents(journal, a="one", b="two", c="three")
        for id, document in (("1", "a"), ("2", "a"), ("3", "b"), ("4", "c")):
            journal.append(Entry(id, "correction", "", {"categories": [], "document": document}, text="one"))
        with journal.database.transaction() as connection:
            connection.execute("UPDATE records SET body = '{' WHERE seq = 4")  # damaged, and to be left out
        journal.append(Entry("undo", "undo", "", {"seqs": [2]}), undoes=[2])
        assert documents(journal) == [("a", "done"), ("b", "done"), ("c", "done")]
        journal.append(Entry("both", "undo", "", {"seqs": [1, 3]}), undoes=[1, 3])
        journal.append(Entry("skip", "skip", "", {"seqs": [4]}), undoes=[4])
        assert documents(journal) == [("a", "open"), ("b", "open"), ("c", "done")]


@pytest.mark.parametrize("length", [1, 5000])  # in a page with others, and over several pages of its own
def test_a_forgotten_text_is_deleted_from_documents_and_file(folder: Path, length: int) -> None:
    secret = "one secret " * length
    with Journal(folder, create=True) as journal:
        add_documents(journal, a=secret, b="another secret", c="a third", d=secret)
        journal.append(
            Entry("1", "correction", "", {"categories": [], "document": "b"}, text=secret, features=[("one", 1)])
        )
        journal.append(Entry("2", "correction", "", {"categories": [], "document": "c"}, text="a third"))
    with Journal(folder) as journal:  # so that the text stands in the file, and not in the log alone
        journal.database.query("PRAGMA secure_delete=0")  # which some builds of SQLite have, others not
        journal.forget_text(1)
        assert documents(journal) == [("c", "done")]
        assert [record.text for record in journal.log.read()] == [None, "a third"]
        assert next(journal.log.read()).features == [("one", 1)]
        held = b"".join(file.read_bytes() for file in folder.iterdir())  # at once, not only when it is closed
        assert b"secret" not in held
        assert b"a third" in held
