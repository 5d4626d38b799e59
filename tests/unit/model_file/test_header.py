"""Crafted, hostile and damaged model files: each is refused in one line, at once and without memory to speak of."""

import gzip
import io
import json
import os
import pickle
import random
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from safetensors.numpy import save

from fuzz.mutants import damaged
from thresher.errors import ModelFileError
from thresher.model_file.header import FORMAT, MAX_HEADER, MAX_VALUES
from thresher.model_file.io import digest, read_model, write_model

MUTANTS = int(os.environ.get("THRESHER_MUTANTS", "3000"))
MB = 2**20
NOISE = random.Random(0).randbytes(MB)


def manifest(**changes: Any) -> str:
    arrays = {"a": np.zeros(2, dtype=np.float32)}
    return json.dumps({"format": FORMAT, "digest": digest({}, arrays), "settings": {}, "about": {}} | changes)


def entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def with_header(header: str | bytes, data: bytes = bytes(8), length: int | None = None) -> bytes:
    octets = header.encode() if isinstance(header, str) else header
    return (len(octets) if length is None else length).to_bytes(8, "little") + octets + data


def with_entries(data: bytes = bytes(8), text: str | None = None, **entries: Any) -> bytes:
    head = {"__metadata__": {"thresher": manifest() if text is None else text}}
    return with_header(json.dumps(head | (entries or {"a": entry()})), data)


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model", "x" * 100)
    return file.getvalue()


GOOD = with_entries()
HEAD = GOOD[8:-8]
CRAFTED: dict[str, tuple[bytes, str]] = {
    "0 bytes": (b"", "the file is empty"),
    "7 bytes": (bytes(7), "7 bytes are too few"),
    "9 bytes": (bytes(9), "9 bytes are too few"),
    "10 bytes": (bytes(10), "header length 0 is out of range"),
    "header of two bytes": (with_header("{}"), "another product"),
    "header of two other bytes": (with_header("[]"), "header does not start with {"),
    "header as long as allowed, and none": (with_header("x" * MAX_HEADER), "header does not start with {"),
    "header as long as the file, and none": (with_header("x" * 20, b""), "header does not start with {"),
    "header followed by a letter": (with_header(HEAD + b"X"), "it does not end with }"),
    "header length 0": (with_header(HEAD, length=0), "header length 0 is out of range"),
    "header length 1": (with_header(HEAD, length=1), "header length 1 is out of range"),
    "header length 2^63": (
        with_header(HEAD, length=2**63),
        "header length 9223372036854775808 is larger than the file",
    ),
    "header length 2^64 - 1": (with_header(HEAD, length=2**64 - 1), "larger than the file"),
    "header one longer than the file": (with_header(HEAD, b"", len(HEAD) + 1), "larger than the file"),
    "header over the cap": (with_header(HEAD.ljust(MAX_HEADER + 1)), "out of range (allowed: 2 to 2097152)"),
    "header shorter than its JSON": (with_header(HEAD, length=len(HEAD) - 1), "header is not the JSON"),
    "header not UTF-8": (with_header(HEAD.replace(b'"a"', b'"\xff"')), "header is not UTF-8 at byte"),
    "header in UTF-16": (with_header(HEAD.decode().encode("utf-16-le")), "header is not the JSON"),
    "header not JSON": (with_header("{no json at all}"), "header is not the JSON"),
    "header a list": (with_header("[]      "), "does not start with {"),
    "header after a space": (with_header(b" " + HEAD), "does not start with {"),
    "array name twice": (with_header(HEAD[:-1] + b', "a": {}}'), "a key occurs twice: 'a'"),
    "metadata twice": (with_header(HEAD[:-1] + b', "__metadata__": {}}'), "a key occurs twice: '__metadata__'"),
    "key twice in an entry": (with_header(HEAD.replace(b'"shape"', b'"dtype": "U8", "shape"')), "twice: 'dtype'"),
    "key twice in the manifest": (with_entries(text=manifest()[:-1] + ', "format": 1}'), "twice: 'format'"),
    "key twice in the settings": (with_entries(text=manifest().replace('s": {}', 's": {"x": 1, "x": 1}')), "twice"),
    "bytes after the header's brace": (with_header(HEAD + b"\0"), "it does not end with }"),
    "line end after the header's brace": (with_header(HEAD + b"\n"), "it does not end with }"),
    "bytes after the manifest's brace": (
        with_entries(text=manifest() + "{}"),
        "something follows its end at character",
    ),
    "NaN in the settings": (with_entries(text=manifest(settings={"x": float("nan")})), "number NaN is not finite"),
    "infinity in about": (with_entries(text=manifest(about={"x": float("-inf")})), "number -Infinity is not finite"),
    "number beyond the floats": (with_entries(text=manifest().replace("{}", '{"x": 1e999}')), "is not finite"),
    "number of 5000 digits": (with_entries(text=manifest().replace("{}", '{"x": %s}' % ("9" * 5000))), "digits"),
    "half a surrogate pair in the settings": (with_entries(text=manifest(settings={"x": "\ud800"})), "surrogate"),
    "half a surrogate pair in about": (with_entries(text=manifest(about={"x": "\ud800"})), "surrogate"),
    "half a surrogate pair in a name": (with_header(HEAD.replace(b'"a"', rb'"\ud800"')), "surrogate"),
    "brackets too deep": (with_header('{"a":' + "[" * 50_000 + "]" * 50_000 + "}"), "nested too deeply"),
    "brackets too deep in a shape": (with_entries(a=entry(shape=json.loads("[" * 400 + "]" * 400))), "has shape"),
    "offsets overlapping": (with_entries(bytes(12), a=entry(), b=entry(offsets=(4, 12))), "begins at byte 4"),
    "offsets equal": (with_entries(a=entry(), b=entry()), "begins at byte 0, where byte 8 is next"),
    "offsets with a hole": (with_entries(bytes(24), a=entry(), b=entry(offsets=(16, 24))), "begins at byte 16"),
    "offsets not from 0": (with_entries(bytes(16), a=entry(offsets=(8, 16))), "begins at byte 8, where byte 0 is next"),
    "offsets negative": (with_entries(a=entry(offsets=(-8, 0))), "has data_offsets [-8, 0]"),
    "offsets decreasing": (with_entries(a=entry(offsets=(8, 0))), "has data_offsets [8, 0]"),
    "offsets past the end": (with_entries(a=entry(shape=(4,), offsets=(0, 16))), "8 bytes follow the header, where 16"),
    "offsets of 2^64": (with_entries(a=entry(offsets=(0, 2**64))), "has data_offsets"),
    "offsets as floats": (with_entries(a=entry(offsets=(0.0, 8.0))), "has data_offsets"),
    "offsets as truth values": (with_entries(a=entry("U8", (1,), (False, True))), "has data_offsets"),
    "three offsets": (with_entries(a=entry(offsets=(0, 8, 8))), "has data_offsets"),
    "shape product 2^64": (with_entries(a=entry("U8", (2**32, 2**32), (0, 0))), "which no memory holds"),
    "shape product 2^64, but empty": (with_entries(b"", a=entry("U8", (2**32, 2**32, 0), (0, 0))), "no memory holds"),
    "shape of 2^63": (with_entries(a=entry("U8", (2**63,), (0, 0))), "has shape [9223372036854775808]"),
    "shape of 2^63 - 1": (with_entries(a=entry("U8", (2**63 - 1,), (0, 2**63 - 1))), "8 bytes follow the header"),
    "offsets to 2^63": (with_entries(a=entry("U8", (0,), (2**63, 2**63))), "has data_offsets"),
    "offsets from 2^63 - 1": (
        with_entries(a=entry("U8", (0,), (2**63 - 1, 2**63 - 1))),
        "begins at byte 9223372036854775807",
    ),
    "shape and itemsize 2^64": (with_entries(a=entry("F64", (2**61,), (0, 0))), "which no memory holds"),
    "shape of 2^62, all of it missing": (
        with_entries(a=entry("U8", (2**62,), (0, 2**62))),
        "8 bytes follow the header",
    ),
    "shape with many ones": (with_entries(a=entry("U8", (2**40, *(1,) * 31), (0, 2**40))), "8 bytes follow the header"),
    "shape larger than its offsets": (with_entries(a=entry(shape=(3,))), "does not fill data_offsets"),
    "shape negative": (with_entries(a=entry(shape=(-1, -2))), "has shape [-1, -2]"),
    "shape not a list": (with_entries(a=entry(shape="2")), "has shape '2'"),
    "shape with too many sizes": (with_entries(a=entry(shape=(1,) * 33)), "has shape"),
    "dtype unknown": (with_entries(a=entry("F8_E4M3")), "has dtype 'F8_E4M3' (allowed: BOOL, U8"),
    "dtype object": (with_entries(a=entry("O")), "has dtype 'O'"),
    "dtype a list": (with_entries(a=entry(["F32"])), "has dtype ['F32']"),
    "entry with a key more": (with_entries(a=entry() | {"x": 1}), "and nothing else"),
    "entry with a key less": (
        with_entries(a={"dtype": "F32", "shape": [2]}),
        "must have dtype, shape and data_offsets",
    ),
    "entry not an object": (with_entries(a=[1]), "must have dtype, shape and data_offsets"),
    "truth value of 2": (with_entries(b"\1\2", a=entry("BOOL", (2,), (0, 2))), "neither 0 nor 1"),
    "last byte missing": (GOOD[:-1], "7 bytes follow the header, where 8 belong"),
    "all data missing": (GOOD[:-8], "0 bytes follow the header, where 8 belong"),
    "a byte more at the end": (GOOD + b"\0", "9 bytes follow the header, where 8 belong"),
    "a zip archive at the end": (GOOD + zipped(), "bytes follow the header, where 8 belong"),
    "wrong digest": (with_entries(text=manifest(digest="0" * 64)), "digest does not match"),
    "digest not a text": (with_entries(text=manifest(digest=None)), "digest does not match"),
    "array changed": (GOOD[:-1] + b"\1", "digest does not match"),
    "array renamed": (with_entries(b=entry()), "digest does not match"),
    "settings changed": (with_entries(text=manifest(settings={"x": 1})), "digest does not match"),
    "newer format": (with_entries(text=manifest(format=FORMAT + 1)), "format 2 needs a newer thresher"),
    "newer format, and nobody says whose": (with_entries(text='{"format": 7, "about": 3}'), "format 7 needs a newer"),
    "newer format with other keys": (
        with_entries(text='{"format": 7, "about": {"thresher": "3.1\\n"}}', a=entry("F4")),
        "format 7 needs thresher 3.1\\n, and this one reads up to format 1 (pip install --upgrade thresher-text)",
    ),
    "format 0": (with_entries(text=manifest(format=0)), "format 0 is not a version"),
    "format a text": (with_entries(text=manifest(format="1")), "format '1' is not a version"),
    "format a truth value": (with_entries(text=manifest(format=True)), "format True is not a version"),
    "manifest empty": (with_entries(text="{}"), "format None is not a version"),
    "manifest a list": (with_entries(text="[]"), "does not start with {"),
    "manifest with a key more": (with_entries(text=manifest(extra=1)), "manifest must hold about, digest"),
    "settings a list": (with_entries(text=manifest(settings=[])), "must be JSON objects"),
    "manifest not a text": (with_header('{"__metadata__": {"thresher": {}}}'), "metadata must hold"),
    "a second metadata key": (with_header(HEAD.replace(b'{"thr', b'{"x": "", "thr')), "metadata must hold"),
    "pickle": (pickle.dumps({"weights": [1.0] * 100}), "this is a pickle, not a model"),
    "pickle of protocol 2": (pickle.dumps({"weights": [1.0] * 100}, protocol=2), "this is a pickle, not a model"),
    "pickle of protocol 3": (pickle.dumps({"weights": [1.0] * 100}, protocol=3), "this is a pickle, not a model"),
    "pickle of protocol 5": (pickle.dumps({"weights": [1.0] * 100}, protocol=5), "this is a pickle, not a model"),
    "zip": (zipped(), "this is a zip archive, not a model"),
    "gzip": (gzip.compress(GOOD, mtime=0), "this is a gzip file, not a model"),
    "gzip with room for its header length": (gzip.compress(NOISE, mtime=0), "this is a gzip file"),
    "SQLite": (b"SQLite format 3\0" + bytes(100), "this is an SQLite database"),
    "a list as JSON text": (b"[1, 2, 3, 4, 5, 6, 7, 8]", "this is JSON text, not a model"),
    "JSON text": (b'\xef\xbb\xbf\n{"weights": [1, 2, 3]}', "this is JSON text, not a model"),
    "another product's safetensors": (save({"a": np.zeros(2)}, {"format": "pt"}), "another product"),
    "safetensors without metadata": (save({"a": np.zeros(2, dtype=np.float16)}), "another product"),
}


def header_of_lists() -> bytes:
    return with_header(('{"a":[' + "[]," * (MAX_HEADER // 3 - 10) + "[]]}").encode())


def header_of_many_keys() -> bytes:
    keys = ",".join(f'"{key}":{{}}' for key in range(MAX_VALUES // 2 - 1))
    return with_header(("{" + keys + "}").encode())


def manifest_of_hidden_lists() -> bytes:
    """A file whose header, read as text, has few brackets and commas; they stand in escapes."""
    lists = r"\u005b\u005d\u002c" * (MAX_HEADER // 18 - 10)
    return with_header('{"__metadata__":{"thresher":"{' + lists + '"}}')


def wide_text(part: str, character: str) -> bytes:
    """A file with one text as long as the header may be, which a single character makes four times as wide."""
    body = manifest(**{part: {"x": character + "x" * (MAX_HEADER - 1000)}})
    header = json.dumps({"__metadata__": {"thresher": body}, "a": entry()}, ensure_ascii=False)
    return with_header(header.replace("\\\\ud83d\\\\ude00", character))


def wide_text_and_many_keys() -> bytes:
    settings: dict[str, Any] = {str(key): {} for key in range(MAX_VALUES // 2 - 100)}
    body = manifest(settings=settings, about={"x": "x" * (MAX_HEADER - 17 * len(settings))})
    header = json.dumps({"__metadata__": {"thresher": body}, "😀": entry()}, ensure_ascii=False)
    return with_header(header)


HEAVY: dict[str, Callable[[], bytes]] = {
    "a header of lists": header_of_lists,
    "a header of many keys": header_of_many_keys,
    "a manifest of hidden lists": manifest_of_hidden_lists,
    "wide settings": lambda: wide_text("settings", "😀"),
    "wide text and many keys": wide_text_and_many_keys,
    "wide digest": lambda: wide_text("digest", "😀"),
}


@pytest.fixture
def refused(tmp_path: Path) -> Iterator[Callable[[bytes], str]]:
    """Read bytes as a model file: refused in one line, at once, and without memory to speak of; return why."""

    def reason(data: bytes) -> str:
        path = tmp_path / "news.thresher"
        path.write_bytes(data)
        tracemalloc.start()
        start = time.process_time()
        with pytest.raises(ModelFileError) as caught:
            read_model(path)
        elapsed = time.process_time() - start
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        message = str(caught.value)
        assert elapsed < 1
        assert peak < len(data) + 64 * MB
        assert message.isprintable()
        assert len(message) < 400
        assert message.startswith(f"{path}: ")
        assert path.read_bytes() == data
        return message.removeprefix(f"{path}: ")

    yield reason
    tracemalloc.stop()


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_file_is_refused_for_its_fault(refused: Callable[[bytes], str], name: str) -> None:
    data, message = CRAFTED[name]
    assert message in refused(data)


@pytest.mark.parametrize("name", HEAVY)
def test_a_header_made_to_fill_the_memory_does_not(refused: Callable[[bytes], str], name: str) -> None:
    data = HEAVY[name]()
    assert MAX_HEADER / 4 < len(data) < MAX_HEADER
    refused(data)


@pytest.mark.parametrize("padding", [b"", b"   "], ids=["no padding", "spaces"])
def test_the_file_that_the_crafted_ones_vary_is_good(tmp_path: Path, padding: bytes) -> None:
    (tmp_path / "m").write_bytes(with_header(HEAD + padding))
    assert read_model(tmp_path / "m").arrays["a"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        ("BOOL", "bool"),
        ("U8", "uint8"),
        ("I8", "int8"),
        ("I32", "<i4"),
        ("I64", "<i8"),
        ("F32", "<f4"),
        ("F64", "<f8"),
    ],
)
def test_the_types_have_the_names_that_other_readers_know(tmp_path: Path, code: str, dtype: str) -> None:
    array = np.array([1, 0], dtype=dtype)
    text = manifest(digest=digest({}, {"a": array}))
    (tmp_path / "m").write_bytes(with_entries(array.tobytes(), text, a=entry(code, (2,), (0, array.nbytes))))
    assert read_model(tmp_path / "m").arrays["a"].dtype == dtype
    assert safetensors.numpy.load((tmp_path / "m").read_bytes())["a"].tolist() == array.tolist()


def test_a_header_may_be_as_long_as_the_limit_and_hold_as_many_values(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(with_header(HEAD.ljust(MAX_HEADER)))
    read_model(tmp_path / "m")
    (tmp_path / "m").write_bytes(with_entries(text=manifest(about={"x": "X" * MAX_VALUES})))
    assert read_model(tmp_path / "m").about == {"x": "X" * MAX_VALUES}
    around = sum(map(with_entries(text=manifest(about={"x": []})).count, (b",", b"[", b"{")))
    most = [0] * (MAX_VALUES - around + 1)  # which have one comma less
    (tmp_path / "m").write_bytes(with_entries(text=manifest(about={"x": most})))
    assert read_model(tmp_path / "m").about == {"x": most}
    (tmp_path / "m").write_bytes(with_entries(text=manifest(about={"x": [*most, 0]})))
    with pytest.raises(ModelFileError, match=f"more than {MAX_VALUES} values"):
        read_model(tmp_path / "m")


def test_a_header_may_name_the_arrays_in_any_order(tmp_path: Path) -> None:
    first, second = np.arange(2, dtype=np.uint8), np.arange(3, dtype=np.uint8)
    text = manifest(digest=digest({}, {"a": first, "b": second}))
    data = with_entries(bytes([0, 1, 0, 1, 2]), text, b=entry("U8", (3,), (2, 5)), a=entry("U8", (2,), (0, 2)))
    (tmp_path / "m").write_bytes(data)
    arrays = read_model(tmp_path / "m").arrays
    assert (arrays["a"].tolist(), arrays["b"].tolist()) == ([0, 1], [0, 1, 2])


def test_an_array_may_have_32_dimensions_and_be_empty(tmp_path: Path) -> None:
    arrays = {"a": np.zeros((1,) * 32), "b": np.zeros((0, 2)), "c": np.zeros((2, 0, 3))}
    expected = write_model(tmp_path / "m", {}, {}, arrays)
    assert digest({}, read_model(tmp_path / "m").arrays) == expected


def test_a_huge_file_is_refused_by_its_header_alone(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    path.write_bytes(with_entries(b"", a=entry("F64", (2**30,), (0, 2**33))))
    os.truncate(path, 2**33)
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="bytes follow the header"):
        read_model(path)
    assert tracemalloc.get_traced_memory()[1] < MB
    tracemalloc.stop()


def test_a_pickle_is_never_run(tmp_path: Path) -> None:
    class Canary:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "canary",)

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        (tmp_path / "m").write_bytes(pickle.dumps(Canary(), protocol))
        with pytest.raises(ModelFileError):
            read_model(tmp_path / "m")
    assert not (tmp_path / "canary").exists()


def test_a_mutant_is_refused_or_differs_in_about_alone(tmp_path: Path) -> None:
    path = tmp_path / "news.thresher"
    arrays = {"weights": np.array([[0.5, -1.5], [2.0, 0.0]], dtype=np.float32), "kept": np.array([True, False, True])}
    expected = write_model(path, {"theta": 1.0, "name": "Grüße 😀"}, {"thresher": "0.1.0"}, arrays)
    data, taken = path.read_bytes(), 0
    for seed in range(MUTANTS):
        path.write_bytes(damaged(data, random.Random(seed)))
        with suppress(ModelFileError):
            loaded = read_model(path)
            assert digest(loaded.settings, loaded.arrays) == expected, seed
            taken += 1
    assert 0 < taken < MUTANTS / 10
