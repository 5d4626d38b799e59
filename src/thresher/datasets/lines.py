"""Read the numbered lines of a source as UTF-8 bytes, for the readers of line-based formats.

Lines end at "\\n" or "\\r\\n" only, whatever other characters a text holds. They also end at "\\r" if the first lines
of the file do.
"""

import codecs
import io
import re
from collections.abc import Callable, Iterator

from thresher.datasets.compression import BUFFER, PieceStream, Source, name_of, open_bytes, peek_until
from thresher.datasets.document import Document
from thresher.datasets.options import ReadOptions
from thresher.errors import DataError

# UTF-32 comes first because one of its byte order marks begins with one of UTF-16.
_OTHER_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_OTHER_KINDS = {
    b"PK\x03\x04": "a zip archive, as Excel and Word write them",
    b"\xd0\xcf\x11\xe0": "a file of an old Excel or Word",
    b"%PDF-": "a PDF",
}
_OLD_MAC = re.compile(rb"\r(?!\n)")


def _has_line(head: bytes) -> bool:
    """Return whether the bytes contain the end of a line that is not blank."""
    return b"\n" in head.removeprefix(codecs.BOM_UTF8).lstrip()


def check_signature(head: bytes) -> None:
    """Raise a DataError, without the place, for the marks of encodings other than UTF-8 and of binary formats."""
    encoding = next((encoding for mark, encoding in _OTHER_MARKS.items() if head.startswith(mark)), None)
    if encoding:
        hint = f"use {{encoding={encoding.lower()}}}"
        raise DataError(f"begins with the byte order mark of {encoding}", hint=hint)
    kind = next((kind for mark, kind in _OTHER_KINDS.items() if head.startswith(mark)), None)
    if kind:
        raise DataError(f"is {kind}", hint="save it as CSV, or as text")


def invalid_byte(byte: int, column: int, options: ReadOptions) -> DataError:
    """Return the error, without the place, for a byte that is invalid in the encoding."""
    advice = "use {encoding=latin-1}" if options.is_utf8 else "use another {encoding}"
    name = "UTF-8" if options.is_utf8 else options.codec
    hint = f"{advice} or {{decode_errors=replace}}"
    return DataError(f"byte 0x{byte:02x} at column {column} is not {name}", hint=hint)


class Lines:
    """The lines of one source, as (number, line) pairs without line endings.

    A line that is too long is replaced by a DataError. `name` is the name of the source in messages.

    >>> import io
    >>> list(Lines(io.BytesIO(b"one\\r\\ntwo"), ReadOptions()))
    [(1, b'one'), (2, b'two')]
    """

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.name, self.options = name_of(source), options
        self._stream = open_bytes(source)
        try:
            self._inspect_start()
        except BaseException:
            self._stream.close()
            raise

    def _inspect_start(self) -> None:
        """Inspect the first bytes, and drop the byte order mark of UTF-8."""
        if not self.options.is_utf8:
            self._stream = io.BufferedReader(_RecodedStream(self._stream, self.name, self.options), BUFFER)
        self._head, self._stream = peek_until(self._stream, _has_line)
        if self._head.startswith(codecs.BOM_UTF8):
            self._stream.read(len(codecs.BOM_UTF8))
            self._head = self._head[len(codecs.BOM_UTF8) :]
        try:
            check_signature(self._head)
        except DataError as error:
            raise error.at(self.name, 1) from None

    def peek(self) -> bytes:
        """Return the first bytes without consuming them, normally up to the first line that is not blank."""
        return self._head

    def close(self) -> None:
        """Close the source without reading it."""
        self._stream.close()

    def pieces(self) -> Iterator[bytes]:
        """Yield all bytes in order, for formats whose records are not lines."""
        with self._stream:
            while piece := self._stream.read1(BUFFER):
                yield piece

    def error(self, line: int, problem: str, hint: str = "") -> DataError:
        """Return the error to raise or yield for a line."""
        return DataError(problem, path=self.name, line=line, hint=hint)

    def text(self, line: bytes) -> str:
        """Return a line as text, or raise a DataError, without the place, that names the first invalid byte."""
        try:
            return line.decode("utf-8", self.options.decode_errors)
        except UnicodeDecodeError as error:
            column = len(line[: error.start].decode("utf-8")) + 1
            raise invalid_byte(self._original(line[error.start :]), column, self.options) from None

    def _original(self, rest: bytes) -> int:
        """Return the invalid byte as it was in the source, before it was recoded to UTF-8."""
        return rest[0] if self.options.is_utf8 else ord(rest[:3].decode("utf-8", "surrogatepass")) & 0xFF

    def documents(self, parse: Callable[[int, bytes], Document]) -> Iterator[Document | DataError]:
        """Yield the document of each line that is not blank, or a DataError with its place if `parse` fails."""
        for number, line in self:
            if isinstance(line, DataError):
                yield line
            elif line and not line.isspace():
                try:
                    yield parse(number, line)
                except DataError as error:
                    yield error.at(self.name, number)

    def __iter__(self) -> Iterator[tuple[int, bytes | DataError]]:
        """Yield (number, line) pairs, with a DataError in place of a line that is too long."""
        old_mac = b"\n" not in self._head and _OLD_MAC.search(self._head)
        ended = self._split_at_returns if old_mac else self._split_at_newlines
        with self._stream:
            for number, line in enumerate(ended(), 1):
                yield number, self._too_long(number) if line is None else line

    def _too_long(self, number: int) -> DataError:
        problem = f"line longer than {self.options.longest:,} bytes"
        return self.error(number, problem, "split it, or allow more with {longest}")

    def _split_at_newlines(self) -> Iterator[bytes | None]:
        """Yield lines without their endings, or None as soon as a line is too long, since its end may never come."""
        read, most = self._stream.readline, self.options.longest + 2
        while line := read(most):
            if line[-1] == 10:
                line = line[:-2] if line[-2:] == b"\r\n" else line[:-1]
            elif len(line) == most:
                yield None
                while (rest := read(BUFFER)) and rest[-1] != 10:
                    pass
                continue
            yield line if len(line) <= self.options.longest else None

    def _split_at_returns(self) -> Iterator[bytes | None]:
        """Yield the lines of a file whose lines end with carriage returns."""
        held, overlong = b"", False
        while block := self._stream.read1(BUFFER):
            if block.endswith(b"\r"):
                block += self._stream.read(1)
            *whole, held = (held + block).replace(b"\r\n", b"\r").replace(b"\n", b"\r").split(b"\r")
            for line in whole:
                if not overlong:
                    yield line if len(line) <= self.options.longest else None
                overlong = False
            if not overlong and len(held) > self.options.longest:
                yield None
                overlong = True
            if overlong:
                held = b""
        if held:
            yield held


class _RecodedStream(PieceStream):
    """Recode another encoding to UTF-8; an invalid byte becomes a lone surrogate, which `Lines.text` then rejects."""

    def __init__(self, stream: io.BufferedReader, name: str, options: ReadOptions) -> None:
        super().__init__(stream)
        self._name, self._encoding = name, options.codec
        errors = "surrogateescape" if options.decode_errors == "strict" else options.decode_errors
        self._decoder = codecs.getincrementaldecoder(options.codec)(errors)
        self._lines, self._ended = 1, False

    def piece(self) -> bytes:
        """Return the next characters as UTF-8, reading on while the bytes are an incomplete character."""
        while not self._ended:
            block = self._stream.read1(BUFFER)
            self._ended = not block
            if text := self._decode(block):
                return text.encode("utf-8", "surrogatepass")
        return b""

    def _decode(self, block: bytes) -> str:
        try:
            text = self._decoder.decode(block, final=self._ended)
        except UnicodeDecodeError as error:
            line = self._lines + error.object[: error.start].count(b"\n")
            problem = f"byte 0x{error.object[error.start]:02x} is not {self._encoding}"
            hint = "use another {encoding} or {decode_errors=replace}"
            raise DataError(problem, path=self._name, line=line, hint=hint) from None
        except UnicodeError as error:
            hint = "use another {encoding}"
            raise DataError(str(error), path=self._name, line=self._lines, hint=hint) from None
        self._lines += text.count("\n")
        return text
