"""Write documents and other records to JSONL, CSV, TSV or Parquet files, atomically and with the user's own columns.

The commands `convert` and `predict` use it. In CSV and TSV, a cell that a spreadsheet would run as a formula gets a
leading apostrophe, unless it is a number.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from reprlib import repr as shown
from typing import Any

import orjson

from thresher.datasets.columns import TITLES, Columns
from thresher.datasets.document import Document
from thresher.datasets.formats.parquet import import_pyarrow
from thresher.datasets.spreadsheet_escape import escape_formula
from thresher.errors import DataError, ParameterError
from thresher.support.atomic_file import whole_file

Record = Mapping[str, Any]
_HEAD = 1000  # records that determine the columns of a table
_BATCH = 2048


def make_record(document: Document, columns: Columns | None = None) -> dict[str, Any]:
    """Return a document as a record: id, title if it has one, text, categories, then its other columns.

    `columns` are those of the reading that the `document` comes from. The columns in it are not repeated.

    >>> make_record(Document("wheat rose", ("grain",), "7", columns={"labels": "grain", "price": 3}), None)
    {'id': '7', 'text': 'wheat rose', 'categories': ['grain'], 'labels': 'grain', 'price': 3}
    """
    record: dict[str, Any] = {"id": document.id}
    fields = dict(document.fields or {})
    if "title" in fields:
        record["title"] = fields.pop("title")
    record["text"] = _join_text_without_title(document, fields)
    record["categories"] = list(document.categories)
    remaining = dict(document.columns or {})
    for name in _list_converted_columns(columns):
        remaining.pop(name, None)
    others = {
        name: part for name, part in fields.items() if name not in ("body", "text") and name not in remaining
    } | remaining
    new = {name: value for name, value in others.items() if name not in record or value != record[name]}
    return record | {f"given_{name}" if _is_taken(name, record) else name: value for name, value in new.items()}


def _is_taken(name: str, record: Mapping[str, Any]) -> bool:
    """Return whether a column name is used in the record, or would later be read as a title."""
    return name in record or name.strip().lower() in TITLES


def _join_text_without_title(document: Document, fields: Mapping[str, str]) -> str:
    if isinstance(document.content, str):  # the fields hold only metadata such as the dateline
        return document.text
    if "body" in fields:
        return fields["body"]
    return "\n".join(part for name, part in fields.items() if name != "dateline")


def _list_converted_columns(columns: Columns | None) -> list[str]:
    """Return the columns whose contents a converted record already has."""
    if columns is None:
        return []
    parts = [column for field, column in columns.text.items() if field in ("title", "body", "text")]
    return [*parts, *columns.categories, columns.id]


def write_records(
    path: str | PathLike[str], records: Iterable[Record], *, format: str | None = None, separator: str = "|"
) -> int:
    """Write `records` to the file `path` atomically, and return their number.

    `format` is "jsonl", "csv", "tsv" or "parquet"; by default the suffix of the file name decides. In CSV and TSV,
    lists are joined with the `separator`.
    """
    format = format or guess_format(path)
    with whole_file(path) as file:
        return write_to(file, records, format, separator)


def guess_format(path: str | PathLike[str]) -> str:
    """Return the format for the suffix of a file name."""
    format = _SUFFIXES.get(Path(path).suffix.lower())
    if format is None:
        raise ParameterError("no format has this suffix", path=path, hint=f"allowed: {', '.join(_SUFFIXES)}")
    return format


def write_to(file: Any, records: Iterable[Record], format: str, separator: str = "|") -> int:
    """Write records to an open binary file, and return their number."""
    if format not in _WRITERS:
        raise ParameterError.of("format", format, allowed=", ".join(_WRITERS))
    return _WRITERS[format](file, records, separator)


def json_line(record: Record) -> bytes:
    """Return a record as a line of JSON; NaN and infinities become null."""
    try:
        return orjson.dumps(
            record, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY, default=_convert_unknown
        )
    except orjson.JSONEncodeError as error:
        raise DataError(f"{shown(dict(record))} cannot be written as JSON: {error}") from None


def _convert_unknown(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def _write_jsonl(file: Any, records: Iterable[Record], separator: str) -> int:
    count = 0
    for record in records:
        file.write(json_line(record))
        count += 1
    return count


def _write_csv(file: Any, records: Iterable[Record], separator: str, delimiter: str = ",") -> int:
    names, everything = _collect_columns(records)
    writer = csv.writer(_RowWriter(file), delimiter=delimiter)
    writer.writerow([_format_cell(name, separator) for name in names])
    count = 0
    for count, record in enumerate(everything, 1):
        _check_columns(record, names, count)
        writer.writerow([_format_cell(record.get(name), separator) for name in names])
    return count


class _RowWriter:
    """Write the rows of a csv writer with "\\n" endings; the writer itself ends them with "\\r\\n".

    With another line terminator the writer would not quote fields that contain one of the two characters.
    """

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, row: str) -> None:
        try:
            self._file.write(row.removesuffix("\r\n").encode() + b"\n")
        except UnicodeEncodeError:
            problem = f"{shown(row)} holds a lone surrogate, which is not a character"
            raise DataError(problem, hint="remove it") from None


def _write_tsv(file: Any, records: Iterable[Record], separator: str) -> int:
    return _write_csv(file, records, separator, "\t")


def _write_parquet(file: Any, records: Iterable[Record], separator: str) -> int:
    arrow, parquet = import_pyarrow()
    names, everything = _collect_columns(records)
    head = list(islice(everything, _HEAD))
    count = 0
    with _translate_arrow_errors(arrow):
        schema = arrow.Table.from_pylist([{name: record.get(name) for name in names} for record in head]).schema
        schema = arrow.schema([_replace_null_type(arrow, field) for field in schema])
        with parquet.ParquetWriter(file, schema) as writer:
            for batch in _split_batches(chain(head, everything)):
                for number, record in enumerate(batch, count + 1):
                    _check_columns(record, names, number)
                writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
                count += len(batch)
    return count


@contextmanager
def _translate_arrow_errors(arrow: Any) -> Iterator[None]:
    """Turn the errors of pyarrow into one-line DataErrors that say what to do."""
    try:
        yield
    except DataError:
        raise
    except UnicodeEncodeError as error:
        problem = f"{shown(error.object)} holds a lone surrogate, which is not a character"
        raise DataError(problem, hint="remove it") from None
    except (arrow.ArrowException, TypeError, OverflowError) as error:
        first = str(error).partition("\n")[0]
        problem = f"a column holds values of different types: {first}"
        raise DataError(problem, hint="write JSONL instead") from None


def _replace_null_type(arrow: Any, field: Any) -> Any:
    """Return a field with the type text, or list of text, if its values so far are all null or empty lists."""
    if arrow.types.is_null(field.type):
        return arrow.field(field.name, arrow.string())
    if arrow.types.is_list(field.type) and arrow.types.is_null(field.type.value_type):
        return arrow.field(field.name, arrow.list_(arrow.string()))
    return field


def _split_batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    remaining = iter(records)
    while batch := list(islice(remaining, _BATCH)):
        yield batch


def _collect_columns(records: Iterable[Record]) -> tuple[list[str], Iterator[Record]]:
    """Return the union of the columns of the first records, and an iterator over all records."""
    remaining = iter(records)
    head = list(islice(remaining, _HEAD))
    return list(dict.fromkeys(name for record in head for name in record)), chain(head, remaining)


def _check_columns(record: Record, names: list[str], number: int) -> None:
    if len(record) > len(names) or any(name not in names for name in record):
        new = next(name for name in record if name not in names)
        problem = f"record {number} has a column {new!r} that the first {_HEAD} do not have"
        raise DataError(problem, hint="write JSONL instead")


def _check_separable(names: Sequence[str], separator: str) -> None:
    """Raise a DataError for names that would change when they are read back from one cell."""
    within = next((name for name in names if separator in name), None)
    if within is not None:
        hint = "choose another {separator}"
        raise DataError(f"{within!r} holds the separator {separator!r}", hint=hint)
    blank = next((name for name in names if name != name.strip(" ")), None)
    if blank is not None and len(names) > 1:
        problem = f"{blank!r} begins or ends with a blank, which is lost next to a separator"
        raise DataError(problem, hint="write JSONL instead")


def _format_cell(value: Any, separator: str) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        _check_separable(value, separator)
        return escape_formula(separator.join(value))
    if isinstance(value, str):
        return escape_formula(value)
    if isinstance(value, bytes):
        return escape_formula(value.decode("utf-8", "replace"))
    if isinstance(value, Mapping | list | tuple):
        return json_line({"": value})[4:-2].decode()
    return str(value)


_WRITERS: dict[str, Callable[[Any, Iterable[Record], str], int]] = {
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "tsv": _write_tsv,
    "parquet": _write_parquet,
}
_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}
