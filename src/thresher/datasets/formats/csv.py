"""Read CSV and TSV files: a header with the column names, then one document per record."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from thresher.datasets.columns import Columns, guess_columns, make_document
from thresher.datasets.document import Document
from thresher.datasets.lines import Lines
from thresher.datasets.options import ReadOptions
from thresher.datasets.spreadsheet_escape import unescape_formula
from thresher.errors import DataError, printable

_DECLARED = re.compile(rb"sep=([,;|\t])\r?\n")
_OTHER_DELIMITERS = {",": ";\t", "\t": ",;", ";": ",\t"}


def read_csv(
    lines: Lines, options: ReadOptions, on_columns: Callable[[Columns], None]
) -> Iterator[Document | DataError]:
    """Yield the documents of a file with comma-separated columns."""
    return _read(lines, options, on_columns, ",")


def read_tsv(
    lines: Lines, options: ReadOptions, on_columns: Callable[[Columns], None]
) -> Iterator[Document | DataError]:
    """Yield the documents of a file with tab-separated columns."""
    return _read(lines, options, on_columns, "\t")


def _read(
    lines: Lines, options: ReadOptions, on_columns: Callable[[Columns], None], delimiter: str
) -> Iterator[Document | DataError]:
    declared = _DECLARED.match(lines.peek())  # a first line "sep=;" that some spreadsheets write and read
    delimiter = options.delimiter or (declared[1].decode() if declared else delimiter)
    options = options if options.separator else replace(options, separator="|")
    records = iter(CsvRecords(lines, delimiter, options.quoting))
    if declared:
        next(records)
    line, header = next(filter(_is_filled, records), (1, []))
    if isinstance(header, DataError):
        raise header
    if not header:
        return
    header = [unescape_formula(name) for name in header]
    columns = _find_columns(header, delimiter, lines, line, options)
    on_columns(columns)
    for line, cells in records:
        if isinstance(cells, DataError):
            yield cells
        elif len(cells) != len(header):
            yield lines.error(line, f"{len(cells)} columns, but the header has {len(header)}", "fix the line")
        else:
            record = dict(zip(header, map(unescape_formula, cells), strict=True))
            try:
                yield make_document(record, columns, options, f"{lines.name}:{line}", str(line))
            except DataError as error:
                yield error.at(lines.name, line)


def _is_filled(record: tuple[int, list[str] | DataError]) -> bool:
    """Return whether a record may be the header: it is not empty, unlike rows that spreadsheets may put before it."""
    return isinstance(record[1], DataError) or any(cell.strip() for cell in record[1])


def _find_columns(header: list[str], delimiter: str, lines: Lines, line: int, options: ReadOptions) -> Columns:
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise lines.error(line, f"column {twice[0]!r} occurs twice in the header", "rename one")
    other = next((other for other in _OTHER_DELIMITERS.get(delimiter, "") if other in header[0]), None)
    if len(header) == 1 and other:
        hint = f"use {{delimiter={other}}}?"
        raise lines.error(line, f"one column, {header[0][:60]!r}, in the header", hint)
    try:
        return guess_columns(header, options)
    except DataError as error:
        error.hint += "; the first line must name the columns"
        raise error.at(lines.name, line) from None


class _UnclosedError(DataError):
    """An unclosed quote; it is never skipped, since the records after it cannot be separated."""


class CsvRecords:
    """The records of a file, each with the number of its first line; blank lines are skipped."""

    def __init__(self, lines: Lines, delimiter: str, quoting: bool) -> None:
        csv.field_size_limit(2**31 - 1)  # this class checks the size of whole records itself
        self._lines, self._source, self._delimiter = lines, iter(lines), delimiter
        self._start = self._size = self._quote = 0
        self._wrong: DataError | None = None
        self._cells = csv.reader(
            iter(self._next_text, None),  # continues after an error, unlike a generator
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE,
            strict=True,
        )

    def _next_text(self) -> str | None:
        """Return the next line, or None after the last, and store the first line of its record."""
        for number, line in self._source:
            if isinstance(line, DataError):
                raise self._make_unclosed_error() if self._start else line
            text = self._text(number, line)
            if not self._start and not text.strip() and self._delimiter not in text:
                continue
            self._start = self._start or number
            self._size += len(line)
            if self._size > self._lines.options.longest:
                raise self._make_unclosed_error()
            self._follow_quotes(number, text.replace('""', "").count('"'))
            return text + "\n"
        return None

    def _text(self, number: int, line: bytes) -> str:
        """Return a line as text; an invalid byte makes the record bad, but quotes in the line still count."""
        try:
            return self._lines.text(line)
        except DataError as error:
            self._wrong = self._wrong or error.at(self._lines.name, number)
            return line.decode("utf-8", "replace")

    def _follow_quotes(self, number: int, count: int) -> None:
        """Store the line of the quote that is open after this line, or 0."""
        is_open = bool(self._quote) != bool(count % 2)
        self._quote = (number if count else self._quote) if is_open else 0

    def _make_unclosed_error(self) -> DataError:
        longest = self._lines.options.longest
        return _UnclosedError(
            f"a quote opens here and does not close, or the record is longer than {longest:,} bytes",
            path=self._lines.name,
            line=self._quote or self._start,
            hint="close it; or {quoting=False} if quotes are plain characters; or allow more with {longest}",
        )

    def __iter__(self) -> Iterator[tuple[int, list[str] | DataError]]:
        """Yield (line, cells) pairs, with a DataError in place of a record that cannot be read."""
        while True:
            self._start = self._size = self._quote = 0
            self._wrong = None
            try:
                cells = next(self._cells)
            except StopIteration:
                return
            except _UnclosedError:
                raise
            except DataError as error:
                yield self._start, error
            except csv.Error as error:
                yield self._start, self._explain(str(error))
            else:
                yield self._start, self._wrong or cells

    def _explain(self, error: str) -> DataError:
        """Return an error of the csv module as a DataError that says how to fix the file."""
        if "unexpected end of data" in error:
            raise self._make_unclosed_error()
        if "new-line character" in error:
            hint = "remove it, or put the field into quotes"
            return self._lines.error(self._start, "a return within a field", hint)
        return self._lines.error(self._start, printable(error), "double the quotes within a quoted field")
