"""The header of a model file, checked completely before anything trusts it.

The safetensors library accepts a duplicate key and uses the last one, so these checks do not rely on it. No function
here opens a file or allocates memory by a number that the file claims.
"""

import codecs
import json
from collections.abc import Mapping
from math import prod
from reprlib import repr as shown
from typing import Any, NamedTuple

import numpy as np

from thresher.errors import ModelFileError
from thresher.support import strict_json

FORMAT = 1

# Together these two keep the memory for a hostile header below 64 MB: one character outside the Basic Multilingual
# Plane makes Python store a text at four bytes per character, and an empty list (2 bytes in the file) takes 64 bytes.
MAX_HEADER = 2 * 2**20
MAX_VALUES = 100_000

TYPES = {"BOOL": "|b1", "U8": "|u1", "I8": "|i1", "I32": "<i4", "I64": "<i8", "F32": "<f4", "F64": "<f8"}

_KEY = "thresher"
_MANIFEST_KEYS = {"format", "digest", "settings", "about"}
_MAX_DIMENSIONS = 32
_MAX_SIZE = 2**63 - 1
_BEGINNINGS = {
    b"\x80\x02": "a pickle",
    b"\x80\x03": "a pickle",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip file",
    b"SQLite format 3": "an SQLite database, perhaps a journal",
    b"{": "JSON text",
    b"[": "JSON text",
}


class Span(NamedTuple):
    """The position of an array among the bytes after the header, with its type and shape."""

    begin: int
    end: int
    name: str
    code: str
    shape: tuple[int, ...]


def canonical_json(value: object) -> bytes:
    """Return the canonical JSON text of a value; equal values have the same text.

    >>> canonical_json({"b": (1, 2.0), "a": None})
    b'{"a":null,"b":[1,2.0]}'
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"settings and about must be JSON values: {error}") from None


def make_metadata(digest: str, settings: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata of a new model file, in a single key: the library writes several keys in no stable order."""
    manifest = {"format": FORMAT, "digest": digest, "settings": settings, "about": about}
    return {_KEY: canonical_json(manifest).decode()}


def read_header_length(start: bytes, size: int) -> int:
    """Return the header length that the first 16 bytes claim, after checking it against the file size and our limit."""
    length = int.from_bytes(start[:8], "little")
    if start[8:9] == b"{" and 2 <= length <= min(size - 8, MAX_HEADER):
        return length
    _refuse_known_kind(start)
    if size < 10:
        raise ModelFileError(f"{size} bytes are too few", hint="not a model, or damaged")
    if length > size - 8:
        raise ModelFileError(f"header length {length} is larger than the file", hint="not a model, or damaged")
    if not 2 <= length <= MAX_HEADER:
        raise ModelFileError(f"header length {length} is out of range", hint=f"allowed: 2 to {MAX_HEADER}")
    raise ModelFileError("header does not start with { (not a model, or damaged)")


def read_header(header: bytes, size: int) -> tuple[dict[str, Any], list[Span]]:
    """Return the manifest and the spans of the arrays, in the order in which they fill the `size` bytes that follow."""
    try:
        entries = _parse_object(header.decode(), "header")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"header is not UTF-8 at byte {8 + error.start}", hint="damaged") from None
    manifest = _parse_manifest(entries.pop("__metadata__", None))
    spans = sorted(_parse_span(name, entry) for name, entry in entries.items())
    end = 0
    for span in spans:
        if span.begin != end:
            fault = f"begins at byte {span.begin}, where byte {end} is next"
            raise ModelFileError(f"array {shown(span.name)} {fault}", hint="overlap or hole: damaged")
        end = span.end
    if end != size:
        raise ModelFileError(
            f"{size} bytes follow the header, where {end} belong", hint="cut short, or something was added"
        )
    return manifest, spans


def _refuse_known_kind(start: bytes) -> None:
    if not start:
        raise ModelFileError("the file is empty", hint="was it written in full?")
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    for beginning, kind in _BEGINNINGS.items():
        if text.startswith(beginning):
            raise ModelFileError(f"this is {kind}, not a model of thresher")
    if len(start) == 16 and _is_text(start):
        raise ModelFileError("this is text, not a model of thresher", hint="MODEL comes before DATA")


def _is_text(start: bytes) -> bool:
    """Return whether these may be the first bytes of a text; the last character may be cut off."""
    try:
        letters = codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return all(letter.isprintable() or letter in "\t\r\n" for letter in letters)


def _parse_manifest(metadata: object) -> dict[str, Any]:
    if not isinstance(metadata, dict) or _KEY not in metadata:
        raise ModelFileError("this is a safetensors file of another product", hint=f'its metadata has no "{_KEY}"')
    if len(metadata) > 1 or not isinstance(metadata[_KEY], str):
        raise ModelFileError(f'metadata must hold "{_KEY}", a text, and nothing else', hint="damaged")
    manifest = _parse_object(metadata[_KEY], "manifest")
    _check_format(manifest)
    if manifest.keys() != _MANIFEST_KEYS:
        raise ModelFileError(f"manifest must hold {', '.join(sorted(_MANIFEST_KEYS))} and nothing else", hint="damaged")
    if not isinstance(manifest["settings"], dict) or not isinstance(manifest["about"], dict):
        raise ModelFileError("settings and about must be JSON objects", hint="damaged")
    return manifest


def _check_format(manifest: dict[str, Any]) -> None:
    """Check the format version before anything else: a newer format may have other keys and types."""
    version = manifest.get("format")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"format {shown(version)} is not a version", hint="damaged")
    if version > FORMAT:
        about = manifest.get("about")
        writer = about.get("thresher") if isinstance(about, dict) else None
        needed = f"thresher {shown(writer)[1:-1]}" if isinstance(writer, str) else "a newer thresher"
        problem = f"format {shown(version)} needs {needed}, and this one reads up to format {FORMAT}"
        raise ModelFileError(problem, hint="pip install --upgrade thresher-text")


def _parse_span(name: str, entry: object) -> Span:
    """Return the span of an array after checking its entry: the keys, a known type, and a shape that fills the span."""
    array = f"array {shown(name)}"
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"{array} must have dtype, shape and data_offsets and nothing else", hint="damaged")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(code, str) or code not in TYPES:
        raise ModelFileError(f"{array} has dtype {shown(code)}", hint=f"allowed: {', '.join(TYPES)}")
    if not _are_sizes(shape) or len(shape) > _MAX_DIMENSIONS:
        raise ModelFileError(f"{array} has shape {shown(shape)}", hint=f"allowed: up to {_MAX_DIMENSIONS} sizes from 0")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise ModelFileError(f"{array} has data_offsets {shown(offsets)}", hint="allowed: begin and end, in this order")
    itemsize = np.dtype(TYPES[code]).itemsize
    # NumPy rejects such a shape even if a 0 makes the array empty.
    if itemsize * prod(max(size, 1) for size in shape) > _MAX_SIZE:
        raise ModelFileError(f"{array} has shape {shown(shape)}, which no memory holds", hint="damaged")
    if itemsize * prod(shape) != offsets[1] - offsets[0]:
        raise ModelFileError(
            f"{array} of shape {shown(shape)} does not fill data_offsets {shown(offsets)}", hint="damaged"
        )
    return Span(offsets[0], offsets[1], name, code, tuple(shape))


def _are_sizes(values: object) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value <= _MAX_SIZE for value in values)


def _parse_object(text: str, what: str) -> dict[str, Any]:
    """Return the JSON object that a text holds, with nothing before it and only spaces after it."""
    try:
        if sum(map(text.count, ",[{")) > MAX_VALUES:
            raise ValueError(f"more than {MAX_VALUES} values")
        if not text.startswith("{"):
            raise ValueError("it does not start with {")
        if not text.rstrip(" ").endswith("}"):
            raise ValueError("it does not end with }")
        parsed: dict[str, Any] = strict_json.parse(text)
    except ValueError as error:
        raise ModelFileError(f"{what} is not the JSON of a model: {error}") from None
    return parsed
