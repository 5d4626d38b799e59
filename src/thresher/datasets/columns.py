"""Find the columns that hold text, categories and id, and turn records into documents.

The readers of JSONL, CSV and Parquet use it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from thresher.datasets.category_names import check_name
from thresher.datasets.document import Document
from thresher.datasets.options import MAX_CATEGORIES, ReadOptions
from thresher.errors import DataError, TextError, escape_braces

# The first name of each list that exists is taken.
_TEXTS = ("text", "body", "content", "message", "document", "description", "abstract", "comment", "review", "sentence")
TITLES = ("title", "subject", "headline")
_CATEGORIES = ("categories", "labels", "topics", "tags", "category", "label", "topic", "tag", "class")
_IDS = ("id", "_id", "newid", "doc_id", "docid", "document_id", "uid", "key")
_TYPE_NAMES = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    dict: "an object",
    list: "a list",
    type(None): "null",
    bytes: "bytes",
}
_NUMBERED = re.compile(rf"(?:{'|'.join(_CATEGORIES)})[ _-]?\d+")


class Columns(NamedTuple):
    """The columns that hold a document's text, categories and id; `text` maps field names to columns."""

    text: dict[str, str]
    categories: tuple[str, ...]
    id: str

    def describe(self) -> str:
        """Return a description of the chosen columns.

        >>> guess_columns(["Title", "body", "labels", "price"], ReadOptions()).describe()
        "text from 'Title' and 'body', categories from 'labels', no id (the line's number)"
        """
        text = " and ".join(repr(name) for name in self.text.values())
        categories = " and ".join(repr(name) for name in self.categories)
        labelled = f"categories from {categories}" if categories else "no categories"
        identified = f"id from {self.id!r}" if self.id else "no id (the line's number)"
        return f"text from {text}, {labelled}, {identified}"


def guess_columns(names: Iterable[str], options: ReadOptions) -> Columns:
    """Return the columns that the options name, or else those with well-known names."""
    known = list(names)
    for wanted in (*options.text, *options.categories, *filter(None, [options.id])):
        if wanted not in known:
            raise DataError(f"there is no column {wanted!r}", hint=f"there are: {_list_names(known)}")
    text = options.text or _find_text_columns(known)
    if not text:
        raise DataError(
            "no column holds the text", hint=f"there are: {_list_names(known)}; name it with {{text=COLUMN}}"
        )
    taken = set(text)
    categories = options.categories or _find_category_columns([name for name in known if name not in taken])
    if options.labelled and not categories:
        hint = f"there are: {_list_names(known)}; name it with {{categories=COLUMN}}"
        raise DataError("no column holds the categories", hint=hint)
    return Columns(_map_fields(text), categories, options.id or _find_first(known, _IDS))


def guess_columns_again(columns: Columns | None, names: Iterable[str], options: ReadOptions) -> Columns:
    """Return the columns after a record has added new names; earlier columns of categories stay."""
    guessed = guess_columns(names, options)
    before = columns.categories if columns else ()
    return guessed._replace(categories=tuple(dict.fromkeys((*before, *guessed.categories))))


def use_own_text_column(columns: Columns, record: Mapping[str, Any], options: ReadOptions) -> Columns:
    """Return the columns of one record, whose text may have another well-known name than in earlier records."""
    missing = {field for field, column in columns.text.items() if field != "title" and column not in record}
    name = _find_first(list(record), _TEXTS) if missing and not options.text else ""
    if not name:
        return columns
    return columns._replace(text={f: name if f in missing else column for f, column in columns.text.items()})


def _list_names(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:20]) + (", ..." if len(names) > 20 else "")
    return escape_braces(shown) or "none"


def _find_first(names: list[str], wanted: Iterable[str]) -> str:
    by_name = {name.strip().lower(): name for name in reversed(names)}
    return next((by_name[name] for name in wanted if name in by_name), "")


def has_text_column(names: list[str]) -> bool:
    """Return whether these may be column names: at least two, one of them well known for text."""
    return len(names) > 1 and bool(_find_text_columns(names))


def _find_text_columns(names: list[str]) -> tuple[str, ...]:
    return tuple(filter(None, (_find_first(names, TITLES), _find_first(names, _TEXTS))))


def _find_category_columns(names: list[str]) -> tuple[str, ...]:
    single = _find_first(names, _CATEGORIES)
    return (single,) if single else tuple(name for name in names if _NUMBERED.fullmatch(name.strip().lower()))


def _map_fields(columns: tuple[str, ...]) -> dict[str, str]:
    """Return a mapping from field names to columns; only "title" and "body" are known to the features."""
    if len(columns) == 1:
        return {"text": columns[0]}
    fields: dict[str, str] = {}
    for column in columns:
        low = column.strip().lower()
        field = "title" if low in TITLES else "body" if low in _TEXTS else column
        fields[column if field in fields else field] = column
    return fields


def make_document(
    record: Mapping[str, Any], columns: Columns, options: ReadOptions, place: str, default_id: str
) -> Document:
    """Return the document of a record, or raise a DataError without the place."""
    categories = _read_categories(record, columns.categories, options)
    id = record.get(columns.id) if columns.id else None
    if len(columns.text) == 1:
        (column,) = columns.text.values()
        return Document(_get_text(record, column), categories, _choose_id(id, default_id), None, record, place)
    fields = {
        field: _get_text(record, column) for field, column in columns.text.items() if record.get(column) is not None
    }
    if not fields:
        raise DataError("no text: {columns} are missing", columns=list(columns.text.values()))
    text = "\n".join(fields.values())
    return Document(text, categories, _choose_id(id, default_id), fields, record, place)


def _get_text(record: Mapping[str, Any], column: str) -> str:
    text = record.get(column)
    if type(text) is str:
        return text
    if column not in record:
        raise DataError(f"field {column!r} is missing", hint=f"there are: {_list_names(list(record))}")
    raise DataError(f"field {column!r} must hold text, not {_describe_type(text)}")


def _describe_type(value: Any) -> str:
    return _TYPE_NAMES.get(type(value), type(value).__name__)


def _choose_id(value: Any, default: str) -> str:
    if value is None or value == "":
        return default
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    problem = f"the id must be text or a whole number below 2**64, not {_describe_type(value)}"
    raise DataError(problem, hint="write it as text")


def _read_categories(record: Mapping[str, Any], columns: tuple[str, ...], options: ReadOptions) -> tuple[str, ...]:
    names: list[str] = []
    if options.labelled and not any(column in record for column in columns):
        raise DataError(f"field {columns[0]!r} is missing", hint=f"there are: {_list_names(list(record))}")
    for column in columns:
        cell = record.get(column)
        if type(cell) is str:
            names += split_cell(cell, options.separator) if options.separator else [cell]
        elif cell is not None:
            names += _read_names(cell, column)
    return check_categories(names)


def _read_names(cell: Any, column: str) -> list[str]:
    """Return the names in a cell that is not text: a list of names, or of objects as in predictions."""
    cells = cell if isinstance(cell, list) else [cell]
    cells = [one["category"] if isinstance(one, dict) and "category" in one else one for one in cells]
    for name in cells:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise DataError(f"field {column!r} must hold names of categories, not {_describe_type(name)}")
    return [str(name) for name in cells]


def split_cell(cell: str, separator: str) -> list[str]:
    """Return the categories in one cell, without spaces next to separators; an empty cell has none."""
    if separator in cell:
        return [name.strip(" ") for name in cell.split(separator)]
    return [cell] if cell else []


def check_categories(names: list[str]) -> tuple[str, ...]:
    """Return the names, or raise a DataError if one is invalid or there are too many; duplicates stay."""
    if len(names) > MAX_CATEGORIES:
        raise DataError(f"{len(names):,} categories in one document are too many", hint=f"allowed: {MAX_CATEGORIES:,}")
    try:
        for name in names:
            check_name(name)
    except TextError as error:
        if any(not name.strip() for name in names):
            raise DataError("a category without a name", hint="remove it, or its separator") from None
        raise DataError(error.message()) from None
    return tuple(names)
