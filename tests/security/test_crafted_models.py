"""A valid model, spoilt in every way on the list of threats, is quickly refused in one line with the exit code 65."""

import io
import json
import pickle
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from fuzz.models import contents_of, packed
from support.command_line import Run, said
from thresher import Categorizer
from thresher.model_file import packing
from thresher.model_file.header import FORMAT, MAX_HEADER

MB = 2**20


@cache
def model() -> bytes:
    """Return the file of a small model that works."""
    texts, names = ["crude oil rose", "oil and gas", "wheat harvest", "corn and wheat"] * 3, ["energy", "grain"] * 6
    file = packed(*packing.pack(Categorizer(preset="paper", min_count=1).fit(texts, sorted(names[:2] * 6)).state))
    assert file is not None
    return file


def parts() -> tuple[dict[str, Any], bytes]:
    """Return the header of the model's file, and the bytes after it."""
    length = int.from_bytes(model()[:8], "little")
    return json.loads(model()[8 : 8 + length]), model()[8 + length :]


def joined(header: bytes, data: bytes, length: int | None = None) -> bytes:
    return (len(header) if length is None else length).to_bytes(8, "little") + header + data


def with_array(change: Callable[[dict[str, Any], int], object], place: int = 1) -> bytes:
    """Return the file with the entry of one array changed, which is given with the size of all."""
    header, data = parts()
    names = sorted((name for name in header if name != "__metadata__"), key=lambda name: header[name]["data_offsets"])
    change(header[names[place]], len(data))
    return joined(json.dumps(header).encode(), data)


def with_manifest(**changes: Any) -> bytes:
    header, data = parts()
    manifest = json.loads(header["__metadata__"]["thresher"]) | changes
    return joined(json.dumps(header | {"__metadata__": {"thresher": json.dumps(manifest)}}).encode(), data)


def with_contents(settings: dict[str, Any] | None = None, **arrays: Any) -> bytes:
    """Return the file with other contents, and the digest of those."""
    found = contents_of(model())
    assert found is not None
    file = packed(
        found.settings | (settings or {}), found.arrays | {n.replace("__", "."): a for n, a in arrays.items()}
    )
    assert file is not None
    return file


def array(name: str) -> Any:
    found = contents_of(model())
    assert found is not None
    return found.arrays[name].copy()


def put(name: str, value: float) -> Any:
    """Return an array with its first value changed."""
    changed = array(name)
    changed[0] = value
    return changed


def moved(by: int) -> Callable[[dict[str, Any], int], None]:
    def change(entry: dict[str, Any], size: int) -> None:
        entry["data_offsets"] = [offset + by for offset in entry["data_offsets"]]

    return change


def raw(change: Callable[[bytes], bytes]) -> bytes:
    header, data = parts()
    return joined(change(json.dumps(header).encode()), data)


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model", "x" * 100)
    return file.getvalue()


def names_of(*names: bytes) -> dict[str, Any]:
    stops = np.cumsum([len(name) for name in names], dtype=np.int64)
    return {"categories__letters": np.frombuffer(b"".join(names), np.uint8), "categories__stops": stops}


CRAFTED: dict[str, Callable[[], bytes]] = {
    "0 bytes": lambda: b"",
    "7 bytes": lambda: model()[:7],
    "header length 0": lambda: joined(b"", model()[8:], 0),
    "header length 2^63": lambda: joined(b"", model()[8:], 2**63),
    "header longer than the file": lambda: joined(b"", model()[8:], len(model())),
    "header over the cap": lambda: raw(lambda header: header.ljust(MAX_HEADER + 1)),
    "header not UTF-8": lambda: raw(lambda header: header.replace(b"categories", b"cat\xffgories")),
    "header not JSON": lambda: raw(lambda header: header[:-1] + b"]"),
    "header that does not start with a brace": lambda: raw(lambda header: b" " + header),
    "a key twice": lambda: raw(lambda header: header[:-1] + b', "categories.stops": {}}'),
    "bytes after the brace": lambda: raw(lambda header: header + b"\0"),
    "offsets overlapping": lambda: with_array(moved(-1)),
    "offsets with a hole": lambda: with_array(moved(1)),
    "offsets negative": lambda: with_array(moved(-(2**20)), place=0),
    "offsets decreasing": lambda: with_array(lambda entry, _: entry["data_offsets"].reverse()),
    "offsets past the end": lambda: with_array(lambda entry, size: entry["data_offsets"].__setitem__(1, size + 8), -1),
    "a shape of 2^64": lambda: with_array(lambda entry, _: entry.update(shape=[2**32, 2**32])),
    "a type that is unknown": lambda: with_array(lambda entry, _: entry.update(dtype="F16")),
    "a type of objects": lambda: with_array(lambda entry, _: entry.update(dtype="O")),
    "bytes missing": lambda: model()[:-1],
    "bytes at the end": lambda: model() + zipped(),
    "another SHA-256": lambda: with_manifest(digest="0" * 64),
    "settings changed, and the digest not": lambda: with_manifest(settings={"theta": 2.0}),
    "a weight that is not a number": lambda: with_contents(weights__positive=put("weights.positive", np.nan)),
    "an infinite weight": lambda: with_contents(weights__positive=put("weights.positive", np.inf)),
    "a negative weight": lambda: with_contents(weights__negative=put("weights.negative", -1.0)),
    "a category twice": lambda: with_contents(**names_of(b"energy", b"energy")),
    "a category without a name": lambda: with_contents(**names_of(b"", b"energy")),
    "fewer features than weights": lambda: with_contents(features__documents=array("features.documents")[:-1]),
    "a newer format": lambda: with_manifest(format=FORMAT + 1, about={"thresher": "9.8"}),
    "a pickle": lambda: pickle.dumps({"weights": [1.0] * 50}),
    "a zip archive": zipped,
    "the safetensors of another product": lambda: save({"weights": np.zeros(3)}, {"format": "pt"}),
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data.jsonl").write_text('{"text": "oil"}\n')
    return tmp_path / "data.jsonl"


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_model_exits_with_65_quickly_and_in_little_memory(
    name: str, called: Run, data: Path, tmp_path: Path
) -> None:
    file, path = CRAFTED[name](), tmp_path / "desk.thresher"
    path.write_bytes(file)
    tracemalloc.start()
    start = time.process_time()
    message = said(called("predict", path, data), 65, "desk.thresher: ")
    took, most = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert took < 2  # a second, but for what is imported the first time
    assert most < len(file) + 64 * MB
    assert path.read_bytes() == file
    assert name != "a newer format" or "thresher 9.8" in message


def test_the_model_is_valid_before_it_is_spoilt(called: Run, data: Path, tmp_path: Path) -> None:
    for number, file in enumerate((model(), raw(lambda header: header))):
        path = tmp_path / f"{number}.thresher"
        path.write_bytes(file)
        assert called("predict", path, data).code == 0


@pytest.mark.parametrize("verb", ["predict", "evaluate", "explain", "inspect", "learn", "serve", "journal"])
def test_no_verb_runs_a_pickle(verb: str, called: Run, data: Path, tmp_path: Path) -> None:
    class Canary:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "canary",)

    path = tmp_path / "desk.thresher"
    rest = {"inspect": [], "serve": ["--port", "0"], "journal": [], "explain": ["oil"]}.get(verb, [str(data)])
    for protocol in (0, 2, pickle.HIGHEST_PROTOCOL):
        path.write_bytes(pickle.dumps(Canary(), protocol))
        ended = called(verb, *(["check"] if verb == "journal" else []), path, *rest)
        assert ended.code == 65, ended
    assert not (tmp_path / "canary").exists()
