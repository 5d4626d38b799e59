"""What is asked of every reader, whatever bytes come: documents or one line of refusal, and the same ones again."""

import gzip
import io
import lzma
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from thresher.datasets.category_names import check_name
from thresher.datasets.compression import import_zstd, open_bytes
from thresher.datasets.document import Document
from thresher.datasets.reader import FORMATS, Reading, read_documents
from thresher.datasets.writer import make_record, write_to
from thresher.errors import DataError

PACKERS = (gzip.compress, lzma.compress, import_zstd().compress)


class Outcome(NamedTuple):
    """What a source came to: its documents, what was skipped, and why it was refused, if it was."""

    documents: list[Document]
    skipped: list[str]
    refusal: str | None
    reading: Reading | None = None


class Pieces(io.RawIOBase):
    """Bytes that come in pieces, of sizes that the bytes themselves decide."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        rest = self._data[self._place :]
        count = min(len(buffer), len(rest), 1 + rest[0] % 7 if rest else 0)
        buffer[:count] = rest[:count]
        self._place += count
        return count


def outcome(source: Any, **options: Any) -> Outcome:
    """Read a source to its end, or to what ends it; nothing but a DataError may."""
    documents: list[Document] = []
    reading = None
    try:
        reading = read_documents(source, allow_empty=True, **options)
        documents.extend(reading)
    except DataError as error:
        return Outcome(documents, list(map(str, reading.first_skipped)) if reading else [], one_line(error), reading)
    return Outcome(documents, list(map(str, reading.first_skipped)), None, reading)


def one_line(error: Exception) -> str:
    """Return a message, which must be one line that a terminal can show."""
    message = str(error)
    assert message.isprintable(), repr(message)
    return message


def check_reading(data: bytes, format: str | None, **options: Any) -> None:
    """Hold a reader to what it promises of any bytes."""
    found = outcome(io.BytesIO(data), format=format, skip_bad=True, **options)
    check_pieces(found, outcome(Pieces(data), format=format, skip_bad=True, **options), "encoding" in options)
    strict = outcome(io.BytesIO(data), format=format, **options)
    assert strict.documents == found.documents[: len(strict.documents)]
    assert strict.refusal == (found.skipped[0] if found.skipped else found.refusal)
    assert all(message.isprintable() for message in found.skipped), found.skipped
    for document in found.documents:
        check_document(document)
    if found.reading and found.documents:
        check_writing(found, ("jsonl", "csv", "tsv")[len(data) % 3])


def check_pieces(whole: Outcome, pieces: Outcome, recoded: bool) -> None:
    """In pieces a source reads the same; where another encoding breaks off, those before it may have been read."""
    if recoded and whole.refusal:
        assert pieces.refusal
        assert whole.documents == pieces.documents[: len(whole.documents)]
    else:
        assert whole[:3] == pieces[:3], "in pieces it reads differently"


def check_document(document: Document) -> None:
    """Whatever comes out of a reader can be encoded, and has names that a model would take."""
    document.text.encode()
    document.id.encode()
    assert document.place.isprintable()
    assert len(set(document.categories)) == len(document.categories)
    for name in document.categories:
        check_name(name)


def check_writing(found: Outcome, format: str) -> None:
    """What was read and is written comes back; a writer may refuse what its format cannot hold."""
    assert found.reading
    records = [make_record(document, found.reading.columns) for document in found.documents]
    file = io.BytesIO()
    try:
        write_to(file, records, format)
    except DataError as error:
        one_line(error)
        return
    again = outcome(io.BytesIO(file.getvalue()), format=format)
    assert again.refusal is None, again.refusal
    before, after = ([told(document, format) for document in one.documents] for one in (found, again))
    assert after == before, f"written as {format}, {before!a} came back as {after!a}"


def told(document: Document, format: str) -> tuple[str, list[str], tuple[str, ...]]:
    """Return what must come back of a document: id, text and categories; in CSV line ends become newlines."""
    parts = [part for name, part in (document.fields or {}).items() if name != "dateline"] or [document.text]
    id, *text = [document.id, *filter(None, parts)]
    if format != "jsonl":
        id, *text = [re.sub("\r+\n", "\n", part) for part in (id, *text)]
    return id, text, document.categories


def csv(data: bytes) -> None:
    check_reading(data, "csv")


def tsv(data: bytes) -> None:
    check_reading(data, "tsv")


def jsonl(data: bytes) -> None:
    check_reading(data, "jsonl")


def sgml(data: bytes) -> None:
    check_reading(data, "sgml")


LINES = (None, *(format for format in FORMATS if format not in ("parquet", "folders", "files")))
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"encoding": "latin-1"},
    {"encoding": "utf-16"},
    {"encoding": "utf-16-le", "decode_errors": "replace"},
    {"encoding": "shift_jis"},
    {"encoding": "iso2022_jp"},
    {"encoding": "cp1252", "quoting": False},
    {"decode_errors": "replace", "longest": 20},
    {"labelled": True},
    {"delimiter": ";", "separator": ", "},
    {"text": ("a", "b"), "categories": ("c", "d"), "id": "e"},
    {"longest": 20},
    {"label_prefix": "#"},
)


def lines(data: bytes) -> None:
    """Read lines in the format that the first byte chooses, or none, and with the options that the second one does."""
    if len(data) >= 2:
        check_reading(data[2:], LINES[data[0] % len(LINES)], **OPTIONS[data[1] % len(OPTIONS)])


def packed(data: bytes) -> None:
    """Unpack bytes as they are, and packed in each way; those come back."""
    sources: tuple[Any, ...] = io.BytesIO(data), Pieces(data)
    for source in sources:
        try:
            with open_bytes(source) as stream:
                while stream.read(2**16):
                    pass
        except DataError as error:
            one_line(error)
    for pack in PACKERS:
        with open_bytes(io.BytesIO(pack(data))) as stream:
            assert stream.read() == data


def parquet(data: bytes) -> None:
    with in_memory(data) as path:
        found = outcome(path, format="parquet", skip_bad=True)
    for document in found.documents:
        check_document(document)


@contextmanager
def in_memory(data: bytes) -> Iterator[str]:
    """Give bytes as a file that has a path and lies on no disk."""
    descriptor = os.memfd_create("fuzz")
    try:
        os.write(descriptor, data)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
