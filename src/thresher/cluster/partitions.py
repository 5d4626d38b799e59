"""Split documents into partitions that workers read: files, ranges of a source, or parts of a Dask collection."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from thresher.datasets.compression import SUFFIXES
from thresher.datasets.document import Document
from thresher.datasets.formats.folders import is_link_outside
from thresher.datasets.reader import is_data_suffix, read_documents
from thresher.errors import DataError

RANGE = 20_000  # documents per partition if a source is not a folder of files


class Partition(NamedTuple):
    """Some documents of a `source`, read with `options`: from `first` up to, not including, `last`, or to the end."""

    source: str
    options: dict[str, Any]
    first: int = 0
    last: int | None = None

    def documents(self) -> Iterator[Document]:
        """Yield the documents; a file may have none."""
        reading = read_documents(self.source, **self.options | {"allow_empty": True})
        return islice(iter(reading), self.first, self.last)


def partitions_of(source: str, *, size: int = RANGE, **options: Any) -> list[Partition]:
    """Return the partitions of a source: one per file of a folder, sorted by name, otherwise ranges of documents.

    Parameters
    ----------
    source : str
        A folder, or a source for `read_documents`.
    size : int
        The number of documents per range. Each range is read from the beginning of its source, so provide large corpora
        as files.
    **options
        See `ReadOptions`.
    """
    folder = Path(source)
    if folder.is_dir():
        files = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
        others = [file.name for file in files if not _is_data(file)]
        if files and len(others) < len(files):
            if others:
                raise DataError(f"{others[0]} is not a file of documents", path=folder, hint="each file is a partition")
            if links := [file.name for file in files if is_link_outside(file, folder)]:
                raise DataError(
                    f"{links[0]} is a link to a file outside of the folder", path=folder, hint="name the file"
                )
            return [Partition(str(file.absolute()), options) for file in files]
    count = sum(1 for _ in read_documents(source, **options))
    if count == 0:
        raise DataError(f"{source}: there are no documents")
    name = str(folder.absolute()) if folder.exists() else source
    return [Partition(name, options, first, min(first + size, count)) for first in range(0, count, size)]


def _is_data(file: Path) -> bool:
    plain = file.with_suffix("") if file.suffix.lower() in SUFFIXES else file
    return is_data_suffix(plain.suffix.lower())


def as_documents(part: Any) -> Iterable[Document]:
    """Return the documents of a partition, or of a part of a bag or a dataframe with columns text and categories."""
    if isinstance(part, Partition):
        return part.documents()
    if hasattr(part, "itertuples"):
        return (
            _document({"text": row.text, "categories": _cell(getattr(row, "categories", ()))})
            for row in part.itertuples()
        )
    return map(_document, part)


def _cell(cell: Any) -> Any:
    """Return the categories in a dataframe's cell: a list, or a text with | as the separator."""
    if not isinstance(cell, str):
        return cell
    if cell.startswith("["):
        advice = "dask.config.set({'dataframe.convert-string': False}) keeps them"
        raise DataError("the lists in the column categories have become texts", hint=advice)
    return [name.strip() for name in cell.split("|") if name.strip()]


def _document(item: Any) -> Document:
    if isinstance(item, Document):
        return item
    if isinstance(item, str):
        return Document(item)
    if isinstance(item, Mapping):
        text, categories = item["text"], item.get("categories", ())
    else:
        text, categories = item
    names = (categories,) if isinstance(categories, str) else tuple(categories)
    if isinstance(text, Mapping):
        return Document("\n".join(text.values()), names, fields=dict(text))
    return Document(text, names)
