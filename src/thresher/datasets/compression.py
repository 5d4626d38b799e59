"""Open files, standard input and streams as bytes, and decompress gzip, xz and zstd.

The first bytes show the compression. A file that is truncated, has other data after its end, or expands far beyond its
size raises a DataError, so an incomplete corpus is never mistaken for a complete one.
"""

import io
import lzma
import sys
import zlib
from collections.abc import Callable
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO

from thresher.errors import DataError, MissingPackageError, ParameterError, printable

BUFFER = 2**20
_HEAD = 2**16  # bytes that are inspected before reading starts
_PIECE = 2**10
# The decompressors of xz and zstd stop at this size, and a piece of gzip never expands to more.
_AT_ONCE = 2**21
_ALWAYS_ALLOWED, _MAX_RATIO = 2**26, 200
_MAX_UNPACKED = 2**40  # bytes of one file, whatever its ratio
_MAX_MEMORY = 2**28  # bytes that decompressing an .xz file may use; files with xz's defaults need a quarter

Source = str | PathLike[str] | BinaryIO


def _new_gzip() -> Any:
    return zlib.decompressobj(wbits=31)


def import_zstd() -> Any:
    """Return the module for zstd: that of the standard library from Python 3.14 on, and its backport before."""
    try:
        if sys.version_info >= (3, 14):
            import compression.zstd as zstd
        else:
            import backports.zstd as zstd
    except ImportError:
        raise MissingPackageError(
            ".zst files need one more package", hint="pip install 'thresher-text[zstd]'"
        ) from None
    return zstd


def _new_zstd() -> Any:
    return import_zstd().ZstdDecompressor()


_MAGIC: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": _new_gzip,
    b"\xfd7zXZ\x00": partial(lzma.LZMADecompressor, memlimit=_MAX_MEMORY),
    b"\x28\xb5\x2f\xfd": _new_zstd,
}
SUFFIXES = (".gz", ".xz", ".zst")


def name_of(source: Source) -> str:
    """Return the name of a source for one-line messages."""
    if isinstance(source, str | PathLike):
        return "<stdin>" if source == "-" else printable(fspath(source))
    name = getattr(source, "name", None)
    return printable(name) if isinstance(name, str) else "<stream>"


def open_bytes(source: Source) -> io.BufferedReader:
    """Open a path, "-" for standard input, or a binary stream, and decompress it if needed."""
    stream = _open(source)
    try:
        head, stream = peek_until(stream, lambda head: not any(magic.startswith(head) for magic in _MAGIC))
        for magic, new in _MAGIC.items():
            if head.startswith(magic):
                return io.BufferedReader(DecompressedStream(stream, name_of(source), new), BUFFER)
    except BaseException:
        stream.close()
        raise
    return stream


def peek_until(stream: io.BufferedReader, enough: Callable[[bytes], bool]) -> tuple[bytes, io.BufferedReader]:
    """Return the first bytes of a stream, and a stream that still contains them.

    A pipe delivers its bytes in pieces. The function reads until `enough` returns true and no further, since the
    writer may be waiting for an answer.
    """
    head = stream.peek()[:_HEAD]
    if enough(head) or len(head) == _HEAD:
        return head, stream
    head = stream.read(len(head))
    while not enough(head) and len(head) < _HEAD and (more := stream.read1(_HEAD - len(head))):
        head += more
    return head, io.BufferedReader(PieceStream(stream, head), BUFFER)


def _open(source: Source) -> io.BufferedReader:
    if source == "-":
        return io.BufferedReader(_BorrowedStream(sys.stdin.buffer), BUFFER)
    if isinstance(source, str | PathLike):
        path = Path(source)
        if path.is_dir():
            raise IsADirectoryError(f"{path}: is a folder (name a file)")
        return open_file(path)
    if isinstance(source, io.TextIOBase):
        raise ParameterError("is a stream of text", path=name_of(source), hint="open the file with mode 'rb'")
    return io.BufferedReader(_BorrowedStream(source), BUFFER)


def open_file(path: Path) -> io.BufferedReader:
    """Open a file whose errors name it, including errors during reading."""
    return io.BufferedReader(_NamedFile(path), BUFFER)


class _NamedFile(io.FileIO):
    """A file whose errors name it."""

    def readinto(self, buffer: Any) -> int | None:
        try:
            return super().readinto(buffer)
        except OSError as error:
            error.filename = fspath(self.name)
            raise


class PieceStream(io.RawIOBase):
    """A raw stream that transforms another stream piece by piece; `piece` returns b"" at the end."""

    def __init__(self, stream: io.BufferedReader, ready: bytes = b"") -> None:
        self._stream, self._ready = stream, memoryview(ready)

    def readable(self) -> bool:
        """Return True, as the stream can be read."""
        return True

    def close(self) -> None:
        """Close this stream and the underlying one."""
        self._stream.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer from the current or the next piece, and return the number of bytes."""
        if not self._ready:
            self._ready = memoryview(b"")  # even an empty view would keep the whole old piece in memory
            self._ready = memoryview(self.piece())
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def piece(self) -> bytes:
        """Return the next bytes; this class returns those of the underlying stream unchanged."""
        return self._stream.read1(BUFFER)


class _BorrowedStream(io.RawIOBase):
    """A stream that the caller opened and closes."""

    def __init__(self, stream: Any) -> None:
        self._read = getattr(stream, "read1", stream.read)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._read(len(buffer))
        buffer[: len(block)] = block
        return len(block)


class DecompressedStream(PieceStream):
    """The decompressed bytes of all members of a stream; more than `most` bytes raise a DataError."""

    def __init__(self, stream: io.BufferedReader, name: str, new: Callable[[], Any], most: int = _MAX_UNPACKED) -> None:
        super().__init__(stream)
        self._name, self._new, self._member, self._max_unpacked = name, new, new(), most
        self._n_packed = self._n_unpacked = 0

    def piece(self) -> bytes:
        """Return the next decompressed bytes, reading on while the input gives none."""
        while True:
            packed = self._member.unused_data if self._member.eof else b""
            if not packed and not self._has_output() and not (packed := self._next_packed()):
                if not self._member.eof:
                    raise DataError("the compressed file ends too early", path=self._name, hint="copy it again")
                return b""
            if unpacked := self._unpack(packed):
                return unpacked

    def _has_output(self) -> bool:
        """Return whether the member has stopped before its input was used up; gzip never does."""
        return not self._member.eof and not getattr(self._member, "needs_input", True)

    def _next_packed(self) -> bytes:
        """Read compressed bytes and count them once; those after the end of a member go to the next member."""
        packed = self._stream.read(_PIECE)
        self._n_packed += len(packed)
        return packed

    def _unpack(self, piece: bytes) -> bytes:
        if self._member.eof:
            self._member = self._new()
        try:
            unpacked: bytes = self._member.decompress(piece, _AT_ONCE)
        except Exception as error:
            problem = f"the compressed data are damaged: {error}"
            raise DataError(problem, path=self._name, hint="copy the file again") from None
        self._n_unpacked += len(unpacked)
        limit = ""
        if self._n_unpacked > max(_ALWAYS_ALLOWED, _MAX_RATIO * self._n_packed):
            limit = f"{_MAX_RATIO} times its size"
        elif self._n_unpacked > self._max_unpacked:
            limit = f"{self._max_unpacked:,} bytes"
        if limit:
            problem = f"unpacks to more than {limit}"
            raise DataError(problem, path=self._name, hint="unpack it yourself if that is right")
        return unpacked
