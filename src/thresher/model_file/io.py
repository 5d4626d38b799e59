"""Read and write a model file: a safetensors file that holds data and never code."""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from reprlib import repr as shown
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ModelFileError
from thresher.model_file.header import (
    FORMAT,
    TYPES,
    Span,
    canonical_json,
    make_metadata,
    read_header,
    read_header_length,
)
from thresher.support.atomic_file import whole_file

__all__ = ["FORMAT", "ModelFile", "digest", "read_digest", "read_model", "write_model"]

_CODES = {numpy_name: code for code, numpy_name in TYPES.items()}
_LAID_OUT = ("I64", "F64", "F32", "I32", "I8", "U8", "BOOL")  # types that need alignment come first


class ModelFile(NamedTuple):
    """The contents of a model file; the digest covers all but `about` (versions, dates, times)."""

    settings: dict[str, Any]
    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def digest(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 digest, in hexadecimal, of the settings and of each array's name, type, shape and bytes.

    >>> digest({"theta": 1.0}, {"weights": np.zeros(2)})[:16]
    '8d6f37843f988644'
    """
    total = hashlib.sha256(canonical_json(settings))
    for name in sorted(arrays):
        array = _to_portable(name, arrays[name])
        total.update(canonical_json([name, _code(array), array.shape]))
        total.update(array.reshape(-1).data)
    return total.hexdigest()


def write_model(
    path: str | os.PathLike[str],
    settings: Mapping[str, Any],
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    mode: int | None = None,
) -> str:
    """Write a model file atomically, and return its digest.

    Parameters
    ----------
    path : path
        Where to write the file. An existing file is replaced only after the new one is on disk and has been read back
        successfully. A symbolic link is followed. The permissions are never wider than those of the replaced file.
    settings, about : mapping from str to JSON values
        Tuples come back as lists. `about["thresher"]`, if present, is the version that an older library asks its user
        to install if it cannot read the file.
    arrays : mapping from str to array
        Of any shape, and of bool, uint8, int8, int32, int64, float32 or float64.
    mode : int, optional
        The widest permissions that the file may get.
    """
    with _name_path(path):
        portable = {name: _to_portable(name, array) for name, array in arrays.items()}
        mark = digest(settings, portable)
        order = sorted(portable, key=lambda name: (_LAID_OUT.index(_code(portable[name])), name))
        head = _make_head({name: portable[name] for name in order}, make_metadata(mark, settings, about))
        if Path(path).exists():
            _check_kind(Path(path).stat().st_mode)
        with whole_file(path, _read, mode) as file:
            file.write(head)
            for name in order:
                file.write(portable[name].reshape(-1).view(np.uint8).data)
    return mark


def _make_head(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """Return the bytes before the arrays, which are written in this order; the same bytes as the library writes.

    The library builds the whole file in memory, and kills the process if memory does not suffice.
    """
    if "__metadata__" in arrays:
        raise ModelFileError("'__metadata__' occurs twice", hint="give the array another name")
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": _code(array), "shape": array.shape, "data_offsets": [begin, end]}
    written = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    written += b" " * (-len(written) % 8)
    return len(written).to_bytes(8, "little") + written


def _code(array: NDArray[Any]) -> str:
    return _CODES[array.dtype.str]


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Return the contents of a model file, in arrays that own their memory; refuse a file that breaks any rule.

    Claimed sizes are checked against the real file size before memory is allocated.
    """
    with _name_path(path):
        _check_kind(Path(path).stat().st_mode)
        with Path(path).open("rb") as file:
            return _read(file)


def read_digest(path: str | os.PathLike[str]) -> str:
    """Return the digest that a model file states, without reading the rest of it."""
    with _name_path(path):
        _check_kind(Path(path).stat().st_mode)
        with Path(path).open("rb") as file:
            manifest, _ = _read_head(file)
            return str(manifest["digest"])


@contextmanager
def _name_path(path: str | os.PathLike[str]) -> Iterator[None]:
    """Make every error name the path that the caller gave, never the temporary one."""
    try:
        yield
    except ModelFileError as error:
        raise error.at(os.fspath(path)) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error


def _check_kind(mode: int) -> None:
    """Refuse pipes, which would block, and devices, which would be replaced; directories fail without a check."""
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ModelFileError("not a regular file")


def _to_portable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in little-endian order and without gaps, the only layout that the library writes correctly."""
    plain = np.asarray(array)
    little = plain.dtype.newbyteorder("<")
    if little.str not in _CODES:
        allowed = ", ".join(np.dtype(known).name for known in _CODES)
        raise ModelFileError(f"array {shown(name)} has type {plain.dtype}", hint=f"allowed: {allowed}")
    return np.asarray(plain, dtype=little, order="C")


def _read(file: BufferedIOBase) -> ModelFile:
    manifest, spans = _read_head(file)
    arrays = {span.name: _read_array(file, span) for span in spans}
    if digest(manifest["settings"], arrays) != manifest["digest"]:
        raise ModelFileError("digest does not match the contents", hint="damaged, or edited")
    return ModelFile(manifest["settings"], manifest["about"], arrays)


def _read_head(file: BufferedIOBase) -> tuple[dict[str, Any], list[Span]]:
    size = os.fstat(file.fileno()).st_size
    length = read_header_length(file.read(16), size)
    file.seek(8)
    return read_header(file.read(length), size - 8 - length)


def _read_array(file: BufferedIOBase, span: Span) -> NDArray[Any]:
    array = np.empty(span.shape, dtype=TYPES[span.code])
    octets = array.reshape(-1).view(np.uint8)
    if file.readinto(octets.data) != array.nbytes:
        raise ModelFileError("the file became shorter while it was read")
    if span.code == "BOOL" and octets.size and octets.max() > 1:
        raise ModelFileError(f"array {shown(span.name)} holds a truth value that is neither 0 nor 1", hint="damaged")
    return array
