"""What is asked of a journal, and of corrections to import, whatever they hold: a refusal, or the same again."""

import io
import json
import resource
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path

from fuzz.readers import in_memory, one_line
from support.corpora import made_up
from thresher import Categorizer
from thresher.cli import learn
from thresher.datasets.reader import read_documents
from thresher.datasets.writer import json_line
from thresher.errors import DataError, JournalError, TextError
from thresher.journal.category_history import CategoryHistory
from thresher.journal.database import FILE
from thresher.journal.export import export_correction
from thresher.journal.journal import Journal
from thresher.journal.journaled_model import JournaledModel
from thresher.journal.prepared_correction import digest_features
from thresher.journal.record import Entry, Record, seal
from thresher.text.vectorizer import FeatureCounts
from thresher.web.review_documents import ReviewDocuments

FIELDS, RECORDS = b"\x1f", b"\x1e"  # what parts those of a record, and records
MOST_RECORDS = 20


@cache
def small_model() -> bytes:
    """Return the file of a small model."""
    with tempfile.TemporaryDirectory() as folder:
        Categorizer(preset="fast", n_threads=1).fit(*made_up(14)).save(Path(folder) / "m")
        return (Path(folder) / "m").read_bytes()


@contextmanager
def folder_of(journal: bytes) -> Iterator[Path]:
    """Yield a folder with a model, and next to it a journal whose file has these bytes."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        model, folder = Path(name) / "m", Path(name) / "m.journal"
        folder.mkdir()
        model.write_bytes(small_model())
        (folder / "snapshot-0000000000.thresher").write_bytes(small_model())
        (folder / FILE).write_bytes(journal)
        yield model


def journal(data: bytes) -> None:
    """Take bytes for the file of a journal: read all that is in it, replay it, and write to it."""
    with folder_of(data) as model:
        check_journal(model)


def check_journal(model: Path) -> None:
    """Open a journal by itself, and with its model; whatever is wrong is said in a line."""
    try:
        with Journal(model.with_name("m.journal")) as opened:
            ask_all(opened)
        with JournaledModel(model) as desk:
            digest = desk.model.digest()
    except JournalError as error:
        one_line(error)
        return
    except MemoryError:  # what SQLite says of some files that make no sense, though there is memory enough
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2**20  # kilobytes
        return
    with JournaledModel(model) as desk:
        assert desk.model.digest() == digest, "a journal is replayed in two ways"


def ask_all(opened: Journal) -> None:
    """Ask a journal all that is ever asked of one."""
    faults = opened.find_damage()
    for record in opened.log.read():
        if record.kind == "correction" and record.text is not None:
            json_line(export_correction(record))
    list(opened.log.read_newest(limit=5))
    opened.corrections.read_mistakes(["grain"], 5)
    opened.corrections.read_digest("")
    opened.log.find("c1")
    CategoryHistory.read(opened)
    ReviewDocuments(opened.queue)
    last = opened.log.last_seq()
    added = opened.append(Entry("fuzz", "correction", "", {"accept": ["grain"], "reject": []}, text="wheat"))
    assert added.seq == last + 1 or added.id == "fuzz"
    assert faults or opened.log.find("fuzz") is not None


def records(data: bytes) -> None:
    """Use bytes as the columns of records in an intact file."""
    rows = [line.split(FIELDS) for line in data.split(RECORDS)][:MOST_RECORDS]
    with folder_of(empty_journal()) as model:
        with sqlite3.connect(model.with_name("m.journal") / FILE) as connection:
            for seq, row in enumerate(rows, 1):
                write(connection, seq, [cell.decode("utf-8", "ignore") for cell in row])
        connection.close()
        check_journal(model)


PLAIN = ("correction", '{"accept": ["grain"], "reject": []}', '"wheat"', '[["wheat", 1]]', "", "", "")


def write(connection: sqlite3.Connection, seq: int, cells: list[str]) -> None:
    """Write a record of cells, and what it changed; cells that are not there are those of a plain correction."""
    kind, body, text, features, digest, undone_by, effect = (*cells[:7], *PLAIN[len(cells) :])
    packed = None if not features else zlib.compress(features.encode()) if features[0] == "[" else features.encode()
    by = int(undone_by) if undone_by.isascii() and undone_by.isdigit() and int(undone_by) <= MOST_RECORDS else None
    digest = digest or digest_of(features)
    values = (seq, f"c{seq}", kind, "2026-01-31T12:00:00.000+00:00", "ada", body, text or None, packed, digest, by)
    connection.execute(f"INSERT INTO records VALUES ({', '.join('?' * len(values))}, ?)", (*values, seal(*values)))
    if effect:
        connection.execute("INSERT INTO effects VALUES (?, ?, ?)", (seq, 1, effect))


def digest_of(features: str) -> str:
    """Return the digest of features that are written as a journal has them, or nothing."""
    try:
        names, counts = zip(*json.loads(features), strict=True)
        return digest_features(FeatureCounts(list(names), list(counts)))
    except (ValueError, TypeError, RecursionError):
        return ""


@cache
def empty_journal() -> bytes:
    """Return the file of a journal of that model, with no record in it."""
    with tempfile.TemporaryDirectory() as name:
        model = Path(name) / "m"
        model.write_bytes(small_model())
        with JournaledModel(model, new=True) as desk:
            pass
        return (desk.journal.folder / FILE).read_bytes()


def corrections(data: bytes) -> None:
    """Import corrections as `thresher learn` does; what is exported of them is imported as the same."""
    try:
        reading = read_documents(io.BytesIO(data), format="jsonl", allow_empty=True)
        found = [learn._read_correction(document, reading, "|") for document in reading]
        learn._try_corrections(deepcopy(loaded()), found)
    except (DataError, TextError) as error:
        one_line(error)
        return
    lines = b"".join(json_line(export_correction(recorded(one))) for one in found)
    again = read_documents(io.BytesIO(lines), format="jsonl", allow_empty=True)
    for one, document in zip(found, again, strict=True):
        told = learn._read_correction(document, again, "|")
        assert set(told.accept) == set(one.accept)
        assert set(told.reject) == set(one.reject)
        assert told.complete == one.complete
        assert told.document.text == one.document.text


@cache
def loaded() -> Categorizer:
    with in_memory(small_model()) as path:
        return Categorizer.load(path, n_threads=1)


def recorded(one: learn.Correction) -> Record:
    """Return a correction as a journal holds it."""
    body = {"categories": one.accept} if one.complete else {"accept": one.accept, "reject": one.reject}
    return Record(1, "c1", "correction", "", "", body, one.document.content, None, "", None)
