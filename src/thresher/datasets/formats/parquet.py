"""Read Parquet files in batches, with columns chosen by name."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from thresher.datasets.columns import Columns, guess_columns, make_document
from thresher.datasets.compression import name_of
from thresher.datasets.document import Document
from thresher.datasets.options import ReadOptions
from thresher.errors import DataError, MissingPackageError, printable

_BATCH = 2048


def read_parquet(
    path: Path, options: ReadOptions, on_columns: Callable[[Columns], None]
) -> Iterator[Document | DataError]:
    """Yield the document of each row, or a DataError for a row that is not a document."""
    arrow, parquet = import_pyarrow()
    path.open("rb").close()  # raise errors of the operating system as they are
    try:
        with parquet.ParquetFile(path) as file:
            yield from _read_documents(file, name_of(path), options, on_columns)
    except DataError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"is damaged or not a Parquet file: {_first_line(error)}", path=name_of(path)) from None


def import_pyarrow() -> tuple[Any, Any]:
    """Import pyarrow, which is slow to import and optional, and return it with its parquet module."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        hint = "pip install 'thresher-text[parquet]'"
        raise MissingPackageError("Parquet files need one more package", hint=hint) from None
    return pyarrow, parquet


def _read_documents(
    file: Any, name: str, options: ReadOptions, on_columns: Callable[[Columns], None]
) -> Iterator[Document | DataError]:
    columns = _find_columns(file.schema_arrow.names, name, options)
    on_columns(columns)
    number = 0
    for group in range(file.num_row_groups):
        row = 0
        for batch in file.iter_batches(batch_size=_BATCH, row_groups=[group]):
            for record in _convert_rows(batch):
                row, number = row + 1, number + 1
                yield _make_document(record, columns, options, f"{name}: row group {group + 1}, row {row}", number)


def _find_columns(names: list[str], name: str, options: ReadOptions) -> Columns:
    twice = [column for column, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"column {twice[0]!r} occurs twice", path=name, hint="rename one")
    try:
        return guess_columns(names, options)
    except DataError as error:
        raise error.at(name) from None


def _convert_rows(batch: Any) -> list[dict[str, Any] | DataError]:
    """Return the rows of a batch; if that fails, convert them one by one."""
    _check_bounds(batch)
    try:
        rows: list[dict[str, Any] | DataError] = batch.to_pylist()
    except (ValueError, OverflowError):
        return [_convert_row(batch, row) for row in range(batch.num_rows)]
    return rows


def _check_bounds(batch: Any) -> None:
    """Raise a ValueError for arrays with offsets out of bounds; invalid UTF-8 is reported later, for its row."""
    try:
        batch.validate(full=True)
    except ValueError as error:
        if "UTF8" not in str(error):
            raise


def _convert_row(batch: Any, row: int) -> dict[str, Any] | DataError:
    record = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            record[name] = _convert_cell(column[row])
        except ValueError as error:
            return DataError(f"field {name!r} cannot be read: {_first_line(error)}")
    return record


def _convert_cell(cell: Any) -> Any:
    """Return a cell; times beyond the precision or range of Python become text, invalid UTF-8 raises an error."""
    try:
        return cell.as_py()
    except UnicodeDecodeError:
        raise
    except (ValueError, OverflowError):
        return cell.cast("string").as_py()


def _make_document(
    record: dict[str, Any] | DataError, columns: Columns, options: ReadOptions, place: str, number: int
) -> Document | DataError:
    if isinstance(record, DataError):
        return record.at(place)
    try:
        document = make_document(record, columns, options, place, str(number))
    except DataError as error:
        return error.at(place)
    if len(document.text) > options.longest:
        problem = f"text longer than {options.longest:,} characters"
        return DataError(problem, path=place, hint="allow more with {longest}")
    return document


def _first_line(error: BaseException) -> str:
    return printable(str(error).partition("\n")[0][:200])
