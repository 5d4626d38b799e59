"""Bytes of a file or of standard input, unpacked on the way where they are compressed; line readers start here.

What a file is compressed with is seen from its first bytes. A file that ends too early, that goes on after its end, or
that unpacks to absurdly much is refused: half a corpus is never taken for a whole one.
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
_HEAD = 2**16  # bytes that are looked at before the first is read
# Pieces of this size unpack to 32 MB each at the most (zstd's runs of one byte) before the ratio is looked at.
_PIECE = 2**10
_HARMLESS, _MOST_RATIO = 2**26, 200
_MOST_UNPACKED = 2**40  # bytes of one file, whatever its ratio
_MOST_MEMORY = 2**28  # that unpacking an .xz file may claim; what xz writes by itself needs a quarter

Source = str | PathLike[str] | BinaryIO


def _new_gzip() -> Any:
    return zlib.decompressobj(wbits=31)


def _new_zstd() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingPackageError(".zst files need one more package (pip install 'thresher[zstd]')") from None
    return zstandard.ZstdDecompressor().decompressobj()


_MAGIC: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": _new_gzip,
    b"\xfd7zXZ\x00": partial(lzma.LZMADecompressor, memlimit=_MOST_MEMORY),
    b"\x28\xb5\x2f\xfd": _new_zstd,
}
SUFFIXES = (".gz", ".xz", ".zst")


def name_of(source: Source) -> str:
    """Return what messages, which have one line, call a source."""
    if isinstance(source, str | PathLike):
        return "<stdin>" if source == "-" else printable(fspath(source))
    name = getattr(source, "name", None)
    return printable(name) if isinstance(name, str) else "<stream>"


def open_bytes(source: Source) -> io.BufferedReader:
    """Open a path, "-" for standard input, or a binary stream, and unpack what is compressed."""
    stream = _opened(source)
    try:
        head, stream = looked_at(stream, lambda head: not any(magic.startswith(head) for magic in _MAGIC))
        for magic, new in _MAGIC.items():
            if head.startswith(magic):
                return io.BufferedReader(Unpacked(stream, name_of(source), new), BUFFER)
    except BaseException:
        stream.close()
        raise
    return stream


def looked_at(stream: io.BufferedReader, enough: Callable[[bytes], bool]) -> tuple[bytes, io.BufferedReader]:
    """Return the first bytes of a stream, and the stream with those bytes still in it.

    A pipe brings its bytes in pieces: as many are waited for as are needed to be `enough`, and no more, since whoever
    writes them may in turn wait for an answer.
    """
    head = stream.peek()[:_HEAD]
    if enough(head) or len(head) == _HEAD:
        return head, stream
    head = stream.read(len(head))
    while not enough(head) and len(head) < _HEAD and (more := stream.read1(_HEAD - len(head))):
        head += more
    return head, io.BufferedReader(Pieces(stream, head), BUFFER)


def _opened(source: Source) -> io.BufferedReader:
    if source == "-":
        return io.BufferedReader(_Borrowed(sys.stdin.buffer), BUFFER)
    if isinstance(source, str | PathLike):
        path = Path(source)
        if path.is_dir():
            raise IsADirectoryError(f"{path}: is a folder, where a file is wanted")
        return open_file(path)
    if isinstance(source, io.TextIOBase):
        raise ParameterError(f"{name_of(source)}: is a stream of text (open the file with mode 'rb')")
    return io.BufferedReader(_Borrowed(source), BUFFER)


def open_file(path: Path) -> io.BufferedReader:
    """Open a file whose errors name it, also those that come while it is read."""
    return io.BufferedReader(_Named(path), BUFFER)


class _Named(io.FileIO):
    """A file whose errors name it."""

    def readinto(self, buffer: Any) -> int | None:
        try:
            return super().readinto(buffer)
        except OSError as error:
            error.filename = fspath(self.name)
            raise


class Pieces(io.RawIOBase):
    """Bytes that are made of another stream, piece by piece; `piece` gives the next one, and nothing at the end."""

    def __init__(self, stream: io.BufferedReader, ready: bytes = b"") -> None:
        self._stream, self._ready = stream, memoryview(ready)

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def close(self) -> None:
        """Close the other stream too."""
        self._stream.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as far as the next piece goes."""
        if not self._ready:
            self._ready = memoryview(b"")  # what is left of a piece, though nothing, would keep all of it
            self._ready = memoryview(self.piece())
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def piece(self) -> bytes:
        """Return the next bytes; here, those of the stream as they are."""
        return self._stream.read1(BUFFER)


class _Borrowed(io.RawIOBase):
    """A stream that someone else opened and will close."""

    def __init__(self, stream: Any) -> None:
        self._read = getattr(stream, "read1", stream.read)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._read(len(buffer))
        buffer[: len(found)] = found
        return len(found)


class Unpacked(Pieces):
    """The bytes of a compressed stream, of all its members; more than `most` bytes are refused."""

    def __init__(
        self, stream: io.BufferedReader, name: str, new: Callable[[], Any], most: int = _MOST_UNPACKED
    ) -> None:
        super().__init__(stream)
        self._name, self._new, self._member, self._most = name, new, new(), most
        self._packed = self._unpacked = 0

    def piece(self) -> bytes:
        """Return what the next bytes unpack to; some unpack to nothing yet."""
        while True:
            packed = self._member.unused_data if self._member.eof else b""
            if not packed and not (packed := self._next_packed()):
                if not self._member.eof:
                    raise DataError(f"{self._name}: the compressed file ends too early (copy it again)")
                return b""
            if found := self._unpack(packed):
                return found

    def _next_packed(self) -> bytes:
        """Read from the stream. Count here: bytes after the end of a member are fed again to the next member."""
        packed = self._stream.read(_PIECE)
        self._packed += len(packed)
        return packed

    def _unpack(self, piece: bytes) -> bytes:
        if self._member.eof:
            self._member = self._new()
        try:
            found: bytes = self._member.decompress(piece)
        except Exception as error:
            raise DataError(f"{self._name}: the compressed data are damaged: {error} (copy the file again)") from None
        self._unpacked += len(found)
        limit = ""
        if self._unpacked > max(_HARMLESS, _MOST_RATIO * self._packed):
            limit = f"{_MOST_RATIO} times its size"
        elif self._unpacked > self._most:
            limit = f"{self._most:,} bytes"
        if limit:
            raise DataError(f"{self._name}: unpacks to more than {limit} (unpack it yourself if that is right)")
        return found
