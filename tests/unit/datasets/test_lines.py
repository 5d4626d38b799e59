"""Bytes to lines: what ends one, which bytes are text, what is unpacked, and what is refused, with its place."""

import errno
import gzip
import io
import lzma
import os
import random
import re
import subprocess
import sys
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.tiers import number_of
from thresher.datasets.compression import BUFFER, DecompressedStream, _new_gzip, _new_zstd, import_zstd, open_bytes
from thresher.datasets.document import Document
from thresher.datasets.lines import Lines
from thresher.datasets.options import ReadOptions
from thresher.datasets.reader import read_documents
from thresher.errors import DataError, MissingPackageError, ParameterError

MB = 2**20


class Pieces(io.RawIOBase):
    """A stream that comes in given pieces, as a pipe's bytes do."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = piece
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def one_by_one(content: bytes) -> Any:
    return Pieces(bytes([byte]) for byte in content)


def lines_of(content: bytes, **options: Any) -> list[bytes]:
    found = [line for _, line in Lines(io.BytesIO(content), ReadOptions(**options))]
    assert not any(isinstance(line, DataError) for line in found)
    return [line for line in found if isinstance(line, bytes)]


def texts(source: Any, **options: Any) -> list[str]:
    return [document.text for document in read_documents(source, format="text", **options)]


def refusal(source: Any, **options: Any) -> str:
    """Return the message, in one line, with which a source is refused."""
    with pytest.raises(DataError) as caught:
        list(read_documents(source, **{"format": "text"} | options))
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Lines end at newlines, with or without a return before it, and nowhere else.


def naive_lines(content: bytes) -> list[bytes]:
    *whole, last = content.split(b"\n" if b"\n" in content else b"\r")
    lines = [line.removesuffix(b"\r") for line in whole]
    return [*lines, last] if last else lines


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\r", b" ", b"\0", "é\u2028".encode()])).map(b"".join))
@example(b"\r\n\r")
@example(b"a\r\r\n")
def test_lines_equal_those_of_a_naive_splitter(content: bytes) -> None:
    assert lines_of(content) == naive_lines(content)


@pytest.mark.parametrize(
    "letter",
    [*"\0\x01\v\f\x1c\x1d\x1e\x1f\x7f\x85\u2028\u2029\ufeff", "\r"],
    ids=lambda letter: f"U+{ord(letter):04X}",
)
def test_no_other_character_ends_a_line_or_is_lost(letter: str) -> None:
    content = f"first{letter}line\nsecond".encode()
    assert texts(io.BytesIO(content)) == [f"first{letter}line", "second"]


@pytest.mark.parametrize(
    "content",
    [
        b"one\ntwo\nthree\n",
        b"one\r\ntwo\r\nthree\r\n",
        b"one\rtwo\rthree\r",
        b"one\ntwo\r\nthree",
        b"one\r\ntwo\nthree",
    ],
    ids=["newlines", "returns and newlines", "returns alone", "mixed, no last end", "mixed the other way"],
)
def test_every_kind_of_line_end_gives_the_same_documents(content: bytes) -> None:
    found = list(read_documents(io.BytesIO(content), format="text"))
    assert [document.text for document in found] == ["one", "two", "three"]
    assert [document.place for document in found] == [f"<stream>:{number}" for number in (1, 2, 3)]


def test_one_line_that_ends_with_a_return_alone_loses_it() -> None:
    assert texts(io.BytesIO(b"one\r")) == ["one"]


def test_a_return_and_newline_that_a_buffer_parts_are_one_end() -> None:
    first = b"x" * (BUFFER - 1)
    for content in (first + b"\r\nnext", first + b"\r\r\nnext", b"a\r" + b"x" * (BUFFER - 3) + b"\r\nnext\r"):
        assert lines_of(content, longest=2 * MB)[-1] == b"next"
    assert lines_of(b"a\r" + b"x" * (2 * BUFFER - 3) + b"\r\nnext", longest=3 * MB)[-1] == b"next"


def test_blank_lines_are_skipped_but_count_as_lines() -> None:
    found = list(read_documents(io.BytesIO(b"\n  \none\n\t\n\ntwo"), format="text"))
    assert [(document.text, document.id) for document in found] == [("one", "3"), ("two", "6")]


# Bytes that are no text.


@pytest.mark.parametrize(
    ("line", "byte", "column"),
    [
        (b"Konsum g\xfcnstig", "fc", 9),
        (b"\x93quoted\x94", "93", 1),
        ("grüße ".encode() + b"\xe9", "e9", 7),
        (b"cut off \xc3", "c3", 9),
        (b"\xed\xa0\x80 surrogate", "ed", 1),
        (b"overlong \xc0\x80", "c0", 10),
    ],
    ids=["latin-1", "cp1252", "after wider characters", "cut off", "surrogate", "overlong"],
)
def test_a_byte_that_is_not_utf8_is_named_with_line_and_column(
    tmp_path: Path, line: bytes, byte: str, column: int
) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(b"fine\n" * 811 + line + b"\nfine\n")
    assert refusal(path) == (
        f"{path}:812: byte 0x{byte} at column {column} is not UTF-8 (use encoding='latin-1' or decode_errors='replace')"
    )
    reading = read_documents(path, format="text", skip_bad=True)
    assert len(list(reading)) == 812
    assert reading.skipped == 1


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "shift_jis", "utf-8-sig"])
def test_other_encodings_are_read_when_named(encoding: str) -> None:
    content = "wheat, oil\nsecond line\r\n" + ("日本\n" if encoding == "shift_jis" else "")
    assert texts(io.BytesIO(content.encode(encoding)), encoding=encoding) == content.splitlines()
    assert texts(one_by_one(content.encode(encoding)), encoding=encoding) == content.splitlines()


def test_a_mark_is_dropped_in_any_encoding() -> None:
    assert texts(io.BytesIO("\ufeffone".encode("utf-16-le")), encoding="utf-16-le") == ["one"]


def test_an_invalid_byte_of_another_encoding_spoils_only_its_line() -> None:
    content = b"one\ntwo \x81\nthree\xfc"
    expected = "<stream>:2: byte 0x81 at column 5 is not cp1252 (use another encoding or decode_errors='replace')"
    assert refusal(io.BytesIO(content), encoding="cp1252") == expected
    assert texts(io.BytesIO(content), encoding="cp1252", skip_bad=True) == ["one", "threeü"]
    assert texts(io.BytesIO(content), encoding="cp1252", decode_errors="replace")[1] == "two \ufffd"


def test_utf8_is_not_taken_for_ascii() -> None:
    assert refusal(io.BytesIO("grüße".encode()), encoding="ascii").startswith(
        "<stream>:1: byte 0xc3 at column 3 is not"
    )


def test_half_a_character_of_utf16_is_refused_with_its_line() -> None:
    content = "one\ntwo".encode("utf-16-le")[:-1]
    assert refusal(io.BytesIO(content), encoding="utf-16-le").startswith("<stream>:2: byte 0x6f is not utf-16-le")


def test_replacement_keeps_the_document() -> None:
    assert texts(io.BytesIO(b"g\xfcnstig"), decode_errors="replace") == ["g\ufffdnstig"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("order", ["le", "be"])
def test_the_byte_order_mark_of_another_encoding_is_named(encoding: str, order: str) -> None:
    content = ("\ufeff" + "oil").encode(f"{encoding}-{order}")
    expected = f"<stream>:1: begins with the byte order mark of {encoding.upper()} (use encoding='{encoding}')"
    assert refusal(io.BytesIO(content)) == expected
    assert refusal(one_by_one(content)) == expected
    assert texts(io.BytesIO(content), encoding=encoding) == ["oil"]


@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, lzma.compress, import_zstd().compress], ids=["plain", "gz", "xz", "zst"]
)
def test_the_mark_of_utf8_is_dropped_at_the_start_and_only_there(pack: Callable[[bytes], bytes]) -> None:
    content = pack("\ufefffoo\n\ufeffbar \ufeff".encode())
    assert texts(io.BytesIO(content)) == ["foo", "\ufeffbar \ufeff"]
    assert texts(one_by_one(content)) == ["foo", "\ufeffbar \ufeff"]


@pytest.mark.parametrize(
    "text", ["😀👍🏽", "12 345", "the of and", "é", "e\u0301", "ﬁne ＡＢＣ", "İı", "soft\u00adhyphen", "\u200fab"]
)
def test_texts_are_passed_on_unchanged(text: str) -> None:
    assert texts(io.BytesIO(text.encode())) == [text]


@pytest.mark.parametrize("encoding", ["utf-7", "UTF7", "unicode-1-1-utf-7"])
def test_an_encoding_that_decodes_differently_in_pieces_is_refused(encoding: str) -> None:
    with pytest.raises(ParameterError, match=r"invalid encoding: .*it cannot be relied on: convert the file to utf-8"):
        read_documents(io.BytesIO(b"text\n"), encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-9", "", "base64", "rot13", "hex"])
def test_an_unknown_encoding_is_refused(encoding: str) -> None:
    with pytest.raises(ParameterError, match="invalid encoding: "):
        ReadOptions(encoding=encoding)


@pytest.mark.parametrize(
    "wrong",
    [
        {"decode_errors": "ignore"},
        {"separator": ""},
        {"delimiter": ""},
        {"delimiter": "ab"},
        {"delimiter": "\n"},
        {"delimiter": '"'},
        {"longest": 0},
        {"longest": True},
        {"longest": 1.5},
        {"longest": 2**31},
        {"max_bad": -1},
        {"label_prefix": ""},
        {"label_prefix": "a b"},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        ReadOptions(**wrong)


# Sizes.


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b""], ids=repr)
@pytest.mark.parametrize("extra", [0, 1, 2, 3, 100])
def test_a_line_may_be_as_long_as_the_limit_and_no_longer(end: bytes, extra: int) -> None:
    lines = [b"first", b"x" * (10 + extra), b"last"]
    found = list(Lines(io.BytesIO((end or b"\n").join(lines) + end), ReadOptions(longest=10)))
    assert [number for number, _ in found] == [1, 2, 3]
    message = "<stream>:2: line longer than 10 bytes (split it, or allow more with longest)"
    assert [str(line) if isinstance(line, DataError) else line for _, line in found] == [
        b"first", message if extra else lines[1], b"last"
    ]  # fmt: skip


@pytest.mark.parametrize("end", [b"\n", b"\r"], ids=repr)
def test_a_line_of_100_mb_is_refused_with_its_number_and_is_never_held_in_memory(end: bytes) -> None:
    block = b"x" * MB
    pieces = [b"one" + end, *[block] * 100, end, b"two"]
    tracemalloc.start()
    try:
        start = time.process_time()
        reading = read_documents(Pieces(iter(pieces)), format="text", skip_bad=True)  # type: ignore[arg-type]
        assert [document.id for document in reading] == ["1", "3"]
        assert time.process_time() - start < 5
        assert tracemalloc.get_traced_memory()[1] < 12 * MB
    finally:
        tracemalloc.stop()
    assert list(map(str, reading.first_skipped)) == [
        "<stream>:2: line longer than 1,000,000 bytes (split it, or allow more with longest)"
    ]


@pytest.mark.parametrize("end", [b"\n", b"\r"], ids=repr)
@pytest.mark.parametrize(("format", "first"), [("text", b"one"), ("jsonl", b'{"text": "one"}'), ("csv", b"text")])
def test_a_line_without_end_is_refused_where_it_has_become_too_long(format: str, first: bytes, end: bytes) -> None:
    def endless() -> Iterator[bytes]:
        yield first + end
        yield from [b"x" * MB] * 20
        pytest.fail("more was read")

    message = "<stream>:2: line longer than 1,000,000 bytes (split it, or allow more with longest)"
    assert refusal(Pieces(endless()), format=format) == message


def test_any_length_of_jsonl_from_a_pipe_is_read_in_flat_memory() -> None:
    """THRESHER_STREAM_MB=5000 reads five gigabytes."""
    filler, n_lines = b"wheat " * 8000, 22 * number_of("THRESHER_STREAM_MB", 50, quick=5)
    pieces = (b'{"id": %d, "text": "%d %s", "labels": ["grain"]}\n' % (i, i, filler) for i in range(n_lines))
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_documents(Pieces(pieces)))  # type: ignore[arg-type, misc]
        assert tracemalloc.get_traced_memory()[1] < 12 * MB + 300 * n_lines  # for the texts met before
    finally:
        tracemalloc.stop()
    assert count == n_lines


@pytest.mark.parametrize("content", [b"", b"\n\n", b" \t \r\n  ", b"\r\r", b"\xef\xbb\xbf", b"\n" * 70_000])
@pytest.mark.parametrize("format", ["text", "jsonl", "csv", "tsv", "fasttext", "libmultilabel", None])
def test_a_source_without_documents_is_refused_unless_that_is_allowed(content: bytes, format: str | None) -> None:
    assert refusal(io.BytesIO(content), format=format) == "<stream>: no documents (is it the right file?)"
    assert list(read_documents(io.BytesIO(content), format=format, allow_empty=True)) == []


# Compression.

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": import_zstd().compress,
}


@pytest.mark.parametrize("kind", PACKERS)
@given(
    lines=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1)),
    cut=st.integers(0),
)
def test_compressed_files_give_the_same_documents(kind: str, lines: list[str], cut: int) -> None:
    content = "\n".join(lines).encode()
    cut = min(cut, len(content))
    plain = texts(io.BytesIO(content), allow_empty=True)
    for packed in (PACKERS[kind](content), PACKERS[kind](content[:cut]) + PACKERS[kind](content[cut:])):
        assert texts(io.BytesIO(packed), allow_empty=True) == plain
        assert texts(one_by_one(packed), allow_empty=True) == plain


CONTENT = b"".join(b"line %d, sixty times as much\n" % i for i in range(5000))


@pytest.mark.parametrize("kind", PACKERS)
def test_the_first_bytes_show_the_compression(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(PACKERS[kind](CONTENT))
    assert "".join(f"{text}\n" for text in texts(path)).encode() == CONTENT


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("kept", [0.02, 0.5, 0.9, -1])
def test_a_compressed_file_that_ends_too_early_is_refused(tmp_path: Path, kind: str, kept: float) -> None:
    packed = PACKERS[kind](CONTENT)
    path = tmp_path / f"f.txt.{kind}"
    path.write_bytes(packed[: int(kept * len(packed)) if kept > 0 else -1])
    assert refusal(path) == f"{path}: the compressed file ends too early (copy it again)"


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("garbage", [b"x", b"garbage after the end", b"\0" * 5], ids=["a byte", "text", "zeros"])
def test_a_compressed_file_with_data_after_its_end_is_refused(tmp_path: Path, kind: str, garbage: bytes) -> None:
    path = tmp_path / f"f.txt.{kind}"
    path.write_bytes(PACKERS[kind](CONTENT) + garbage)
    assert refusal(path).startswith(f"{path}: the compressed ")


@pytest.mark.parametrize("kind", ["gz", "xz"])
def test_a_compressed_file_with_a_changed_byte_is_refused(tmp_path: Path, kind: str) -> None:
    packed = bytearray(PACKERS[kind](CONTENT))
    packed[len(packed) // 2] ^= 0xFF
    path = tmp_path / f"f.txt.{kind}"
    path.write_bytes(packed)
    assert "compressed data are damaged" in refusal(path, skip_bad=True)


@pytest.mark.parametrize("kind", PACKERS)
def test_a_decompression_bomb_is_refused_quickly(kind: str) -> None:
    packed = lzma.compress(bytes(2**27), preset=0) if kind == "xz" else PACKERS[kind](bytes(2**27))
    assert len(packed) < MB
    start = time.process_time()
    message = refusal(io.BytesIO(packed * 8), skip_bad=True)  # or its one line would be refused before
    assert message == "<stream>: unpacks to more than 200 times its size (unpack it yourself if that is right)"
    assert time.process_time() - start < 2


ZEROS = {"gz": 100_000, "xz": 120_000, "zst": 90_000}  # that one member holds


def small_member(kind: str) -> bytes:
    """Return a member of at most 200 bytes that unpacks to zeros, several hundred times its size."""
    if kind == "zst":  # one block, a run of one byte
        return b"\x28\xb5\x2f\xfd\x00\x58" + (ZEROS[kind] << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    return PACKERS[kind](bytes(ZEROS[kind]))


@pytest.mark.parametrize("kind", PACKERS)
def test_a_bomb_of_many_small_members_is_refused(kind: str) -> None:
    member = small_member(kind)
    assert len(member) <= 200 < ZEROS[kind] / len(member) / 2
    packed = member * (2**28 // ZEROS[kind])
    message = refusal(io.BytesIO(packed), skip_bad=True)
    assert message == "<stream>: unpacks to more than 200 times its size (unpack it yourself if that is right)"


@pytest.mark.parametrize("kind", PACKERS)
def test_ordinary_text_in_many_small_members_is_read(kind: str) -> None:
    lines = [f"line {i}: the harvest was good\n".encode() for i in range(5000)]
    pack = partial(lzma.compress, preset=0) if kind == "xz" else PACKERS[kind]  # others take 94 MB for each member
    packed = b"".join(map(pack, lines))
    assert "".join(f"{text}\n" for text in texts(io.BytesIO(packed))).encode() == b"".join(lines)


@pytest.mark.parametrize("kind", PACKERS)
def test_repetitive_text_in_members_of_an_ordinary_size_is_read(kind: str) -> None:
    draw = random.Random(1)
    block = b"".join(b"%06d: the same line of a log again\n" % draw.randrange(10**6) for _ in range(20_000))
    packed = PACKERS[kind](block) * 100  # 74 MB, more than is read at any ratio
    stream = open_bytes(io.BytesIO(packed))
    assert sum(len(piece) for piece in iter(lambda: stream.read(MB), b"")) == 100 * len(block)


@pytest.mark.parametrize("kind", PACKERS)
def test_a_file_that_unpacks_to_more_than_the_limit_is_refused_at_any_ratio(kind: str) -> None:
    new = {"gz": _new_gzip, "xz": lzma.LZMADecompressor, "zst": _new_zstd}[kind]
    unpacked = DecompressedStream(io.BufferedReader(io.BytesIO(PACKERS[kind](CONTENT) * 3)), "f", new, 2 * len(CONTENT))
    with pytest.raises(DataError, match=rf"^f: unpacks to more than {2 * len(CONTENT):,} bytes \(unpack it yourself"):
        unpacked.readall()


def gzip_bomb() -> bytes:
    """Return 10 MB that unpack to 10 GB: one block of zeros again and again."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(MB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + block * 10_240


def zstd_bomb() -> bytes:
    """Return a frame of runs, of 128 KB of one byte each: 10 GB in 320 KB."""
    run = (2**17 << 3 | 1 << 1).to_bytes(3, "little") + b"a"
    return b"\x28\xb5\x2f\xfd\x00\x58" + run * 80_000


BOMBS = {"gz": gzip_bomb, "xz": lambda: lzma.compress(bytes(2**27), preset=0) * 80, "zst": zstd_bomb}
READ_A_BOMB = """
import io, resource, sys
from thresher.datasets.reader import read_documents
from thresher.errors import DataError
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
import lzma, zlib
from thresher.datasets.compression import import_zstd
list(read_documents(io.BytesIO(import_zstd().compress(b"oil"))))
data = sys.stdin.buffer.read()
before = peak()
try:
    list(read_documents(io.BytesIO(data), skip_bad=True))
except DataError as error:
    print((peak() - before) // 1024, error)
"""


@pytest.mark.parametrize("kind", PACKERS)
def test_a_bomb_of_ten_gigabytes_takes_little_memory(kind: str) -> None:
    run = subprocess.run([sys.executable, "-c", READ_A_BOMB], input=BOMBS[kind](), capture_output=True, check=True)
    megabytes, message = run.stdout.decode().split(maxsplit=1)
    assert "unpacks to more than 200 times its size" in message
    assert int(megabytes) < 16


def test_an_xz_file_cannot_claim_gigabytes() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0}]
    packer = lzma.LZMACompressor(filters=filters, format=lzma.FORMAT_RAW)
    body = packer.compress(b"oil\n") + packer.flush()
    header = bytes([2, 0, 0x21, 1, 39, 0, 0, 0])  # one filter, LZMA2, with a dictionary of 3 GB
    flags = b"\0\4"
    stream = b"\xfd7zXZ\0" + flags + zlib.crc32(flags).to_bytes(4, "little")
    packed = stream + header + zlib.crc32(header).to_bytes(4, "little") + body
    assert "Memory usage limit exceeded" in refusal(io.BytesIO(packed))


def test_zst_without_its_package_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.txt.zst"
    path.write_bytes(import_zstd().compress(b"oil"))
    monkeypatch.setitem(sys.modules, "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", None)
    with pytest.raises(MissingPackageError, match=re.escape("pip install 'thresher-text[zstd]'")):
        texts(path)


# What is no plain file.


def test_standard_input_is_named_in_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"oil\n\xfc")))
    reading = read_documents("-", format="text", skip_bad=True)
    assert [document.place for document in reading] == ["<stdin>:1"]
    assert str(reading.first_skipped[0]).startswith("<stdin>:2: byte 0xfc")
    assert not sys.stdin.buffer.closed


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            for piece in (b"\xef", b"\xbb\xbf{", b'"text": "oi', b'l"}\n{"text": "gas"}'):
                file.write(piece)
                time.sleep(0.01)

    writer = threading.Thread(target=write)
    writer.start()
    reading = read_documents(pipe)
    assert [document.text for document in reading] == ["oil", "gas"]
    assert reading.format == "jsonl"
    writer.join()


def test_a_line_is_yielded_before_the_next_one_is_written() -> None:
    source, sink = os.pipe()
    with open(source, "rb", buffering=0) as read, open(sink, "wb", buffering=0) as write:  # noqa: PTH123
        write.write(b"hi\n")
        found = iter(read_documents(read, format="text"))
        assert next(found).text == "hi"
        write.write(b"there\n")
        assert next(found).text == "there"


def test_a_borrowed_stream_stays_open() -> None:
    stream = io.BytesIO(b"oil")
    texts(stream)
    assert not stream.closed


def test_a_stream_of_text_is_refused() -> None:
    with pytest.raises(ParameterError, match="mode 'rb'"):
        read_documents(io.StringIO("oil"))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["missing.txt", "folder/missing.txt", ""])
def test_a_missing_file_keeps_its_own_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        read_documents(str(tmp_path / name) if name else "")
    assert name in str(caught.value)


def test_a_loop_of_links_keeps_its_own_error(tmp_path: Path) -> None:
    loop = tmp_path / "loop.txt"
    loop.symlink_to(loop)
    with pytest.raises(OSError, match="loop") as caught:
        read_documents(loop)
    assert caught.value.errno == errno.ELOOP


def test_a_folder_where_a_file_is_wanted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"):
        Lines(tmp_path, ReadOptions())


def test_a_file_that_vanishes_while_it_is_read_is_still_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(b"oil rose\n" * 200_000)
    found = iter(read_documents(path, format="text"))
    next(found)
    path.unlink()
    assert sum(1 for _ in found) == 199_999


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs Linux, where this file cannot be read")
def test_an_error_while_reading_names_the_file() -> None:
    with pytest.raises(OSError, match="/proc/self/mem") as caught:
        texts("/proc/self/mem")
    assert caught.value.errno == errno.EIO


def test_a_name_that_breaks_lines_does_not_break_messages(tmp_path: Path) -> None:
    path = tmp_path / "two\nlines\udcff.txt"
    path.write_bytes(b"\xfc")
    assert refusal(path).startswith(f"{tmp_path}/two\\nlines\\udcff.txt:1: byte 0xfc")


# Whatever comes, and in whatever pieces.


@st.composite
def chunked(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """Return bytes that resemble a corpus, and the same bytes in pieces."""
    marks = [b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfc", b"\0", "ü".encode()]
    breaks = [b"\n", b"\r\n", b"\r", b"\t", b" ", b",", b"|", b'"']
    words = [b"{", b'"text"', b":", b'"oil"', b"}", b"[", b"1:2", b"__label__a ", b"text,label"]
    tokens = [*marks, *breaks, *words, b'{"text": "oil", "labels": ["a"]}\n']
    content = draw(st.lists(st.sampled_from(tokens) | st.binary(max_size=3)).map(b"".join))
    cuts = sorted(draw(st.lists(st.integers(0, len(content)))))
    ends = [0, *cuts, len(content)]
    return content, [content[start:end] for start, end in pairwise(ends)]


def outcome(source: Any, **options: Any) -> tuple[str, list[Document], list[str]] | str:
    try:
        reading = read_documents(source, skip_bad=True, **options)
        return reading.format, list(reading), list(map(str, reading.first_skipped))
    except DataError as error:
        return repr(error)


@given(chunked(), st.sampled_from([None, "jsonl", "csv", "tsv", "text", "fasttext", "libmultilabel"]))
def test_any_bytes_in_any_pieces_give_the_same_documents_or_one_refusal(
    content: tuple[bytes, list[bytes]], format: str | None
) -> None:
    whole, pieces = content
    assert outcome(Pieces(iter(pieces)), format=format) == outcome(io.BytesIO(whole), format=format)


@given(
    st.binary(max_size=400),
    st.sampled_from(["utf-8", "latin-1", "cp1252", "utf-16", "utf-16-le", "shift_jis", "ascii"]),
)
def test_any_bytes_in_any_encoding_give_documents_or_one_refusal(content: bytes, encoding: str) -> None:
    for format in (None, "csv", "text"):
        outcome(io.BytesIO(content), format=format, encoding=encoding)


@pytest.mark.parametrize("format", ["jsonl", "csv", "tsv", "text", "fasttext", "libmultilabel"])
@pytest.mark.parametrize("seed", range(3))
def test_a_megabyte_of_noise_is_handled_quickly(format: str, seed: int) -> None:
    start = time.process_time()
    outcome(io.BytesIO(random.Random(seed).randbytes(MB)), format=format)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("head", "kind"), [(b"PK\x03\x04", "a zip archive"), (b"\xd0\xcf\x11\xe0", "an old Excel"), (b"%PDF-1.7", "a PDF")]
)
def test_office_files_are_not_read_as_text(head: bytes, kind: str) -> None:
    for format in ("text", "csv", "jsonl"):
        said = refusal(io.BytesIO(head + bytes(range(256))), format=format)
        assert said.startswith("<stream>:1: is ")
        assert kind in said
        assert said.endswith("(save it as CSV, or as text)")
