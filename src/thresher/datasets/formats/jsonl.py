"""Read JSON Lines files: one object per line, with fields for the text and its categories."""

import codecs
import re
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from thresher.datasets.columns import Columns, guess_columns_again, make_document, use_own_text_column
from thresher.datasets.document import Document
from thresher.datasets.lines import Lines
from thresher.datasets.options import ReadOptions
from thresher.errors import DataError
from thresher.support.strict_json import MAX_DEPTH, JsonError, check_keys, is_deeper

_MEMBER = re.compile(rb'"[ \t\r]*:')
_INCOMPLETE = "incomplete JSON (file truncated?)"


def read_jsonl(
    lines: Lines, options: ReadOptions, on_columns: Callable[[Columns], None]
) -> Iterator[Document | DataError]:
    """Yield the document of each line that is not blank, or a DataError for a line that is not a document."""
    columns: Columns | None = None
    known: dict[str, None] = {}

    def document(number: int, line: bytes) -> Document:
        nonlocal columns
        record = _parse_object(number, line, lines)
        if columns is None or not record.keys() <= known.keys():
            known.update(dict.fromkeys(record))
            columns = guess_columns_again(columns, known, options)
            on_columns(columns)
        chosen = use_own_text_column(columns, record, options)
        return make_document(record, chosen, options, f"{lines.name}:{number}", str(number))

    return lines.documents(document)


def _parse_object(number: int, line: bytes, lines: Lines) -> dict[str, Any]:
    """Return the object on a line."""
    if lines.options.decode_errors == "replace":
        line = line.decode("utf-8", "replace").encode()
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        if "Not enough memory" in error.msg:
            raise MemoryError from None
        _check_encoding(line, lines)
        raise DataError(_explain_error(number, line.strip(), error)) from None
    if type(record) is not dict:
        raise DataError(_explain_type(record))
    # orjson allows any depth, and silently takes the last one of equal keys
    if line.count(b"{") + line.count(b"[") > MAX_DEPTH and is_deeper(record, MAX_DEPTH):
        raise DataError("nested too deeply", hint=f"allowed: {MAX_DEPTH} levels")
    if len(_MEMBER.findall(line)) != len(record):
        try:
            check_keys(line)
        except JsonError as error:
            raise DataError(f"field {error.quoted!r} occurs twice", hint="keep one") from None
    return record


def _check_encoding(line: bytes, lines: Lines) -> None:
    """Raise a DataError if a line is not text in the encoding."""
    try:
        lines.text(line)
    except DataError as error:
        raise DataError(_INCOMPLETE) if _is_cut_off(line) else error from None


def _is_cut_off(line: bytes) -> bool:
    """Return whether a line is valid UTF-8 except for an incomplete last character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(line)
    except UnicodeDecodeError:
        return False
    return True


def _explain_type(record: Any) -> str:
    if isinstance(record, list):
        return "an array, not an object (write one object per line)"
    return 'a single value, not an object (write {"text": ..., "categories": [...]})'


def _explain_error(number: int, start: bytes, error: orjson.JSONDecodeError) -> str:
    if start in (b"{", b"[") or (number == 1 and start.startswith(b"[")):
        return "JSON that spans several lines (write one object per line)"
    if "content after document" in str(error):
        return "several objects on one line (write one object per line)"
    if "unexpected end" in str(error):
        return _INCOMPLETE
    return f"not JSON: {error.msg} at column {error.colno}"
