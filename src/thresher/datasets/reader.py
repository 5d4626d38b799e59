"""Read documents from a path, a stream or a corpus name with `read_documents`, or preview them with `look`."""

import errno
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from thresher.datasets.columns import Columns, has_text_column
from thresher.datasets.compression import SUFFIXES, Source, name_of
from thresher.datasets.corpora.reuters21578 import read_reuters
from thresher.datasets.corpora.reuters_sgml import read_sgml
from thresher.datasets.corpora.sample import read_sample
from thresher.datasets.document import Document
from thresher.datasets.formats.csv import read_csv, read_tsv
from thresher.datasets.formats.fasttext import read_fasttext
from thresher.datasets.formats.folders import has_sidecars, read_folder, read_sidecars
from thresher.datasets.formats.jsonl import read_jsonl
from thresher.datasets.formats.parquet import read_parquet
from thresher.datasets.formats.plain_text import read_libmultilabel, read_plain
from thresher.datasets.lines import Lines
from thresher.datasets.options import ReadOptions
from thresher.errors import DataError, ParameterError
from thresher.support.units import pluralize

Results = Iterator[Document | DataError]
MAX_SHOWN = 10
MAX_REMEMBERED = 200_000  # documents that are compared to find duplicates


def _read_sgml(lines: Lines, options: ReadOptions, seen: set[str] | None = None) -> Results:
    encoding = "latin-1" if options.encoding is None else "utf-8"  # `Lines` recodes other encodings to UTF-8
    return iter(read_sgml(lines.pieces(), lines.name, seen=seen, encoding=encoding))


def _read_sgml_folder(folder: Path, options: ReadOptions) -> Results:
    seen: set[str] = set()
    for path in sorted(folder.glob("*.sgm")):
        yield from _read_sgml(Lines(path, options), options, seen)


_BY_LINE: dict[str, Callable[[Lines, ReadOptions], Results]] = {
    "fasttext": read_fasttext,
    "libmultilabel": read_libmultilabel,
    "text": read_plain,
    "sgml": _read_sgml,
}
_BY_RECORD = {"jsonl": read_jsonl, "csv": read_csv, "tsv": read_tsv}
_BY_FOLDER = {"folders": read_folder, "files": read_sidecars, "sgml": _read_sgml_folder}
CORPORA: dict[str, Callable[[str], Iterable[Document | DataError]]] = {
    "reuters21578": read_reuters,
    "sample": read_sample,
}
FORMATS = tuple(dict.fromkeys((*_BY_RECORD, "parquet", *_BY_LINE, *_BY_FOLDER)))
_SUFFIXES = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".ft": "fasttext", ".fasttext": "fasttext", ".sgm": "sgml",
    ".sgml": "sgml",
}  # fmt: skip
_FOREIGN = {".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight"}  # formats of numbers, not of texts


def is_data_suffix(suffix: str) -> bool:
    """Return whether a file name suffix such as ".csv" is one of a data format."""
    return suffix in _SUFFIXES or suffix == ".txt"


class Reading:
    """An iterator over the documents of a source, with counts and warnings; `read_documents` returns it.

    `name` is the name of the source and `options` are its reading options. `format` and `columns` are given or guessed.
    `documents` counts the documents read and `skipped` the bad records; `first_skipped` holds the first ten of their
    errors. `warnings` holds the first ten of `n_warnings` warnings.
    """

    def __init__(self, name: str, format: str, options: ReadOptions) -> None:
        self.name, self.format, self.options = name, format, options
        self.columns: Columns | None = None
        self.documents = self.skipped = self.n_warnings = self.repeated = 0
        self.first_skipped: list[DataError] = []
        self.warnings: list[str] = []
        self._seen: dict[int, tuple[tuple[str, ...], str]] = {}
        self._results: Results = iter(())
        self._close: Callable[[], None] = lambda: None
        self._read = False

    def __iter__(self) -> Iterator[Document]:
        """Yield the documents, only once; a source without documents raises a DataError unless that is allowed."""
        if self._read:
            hint = "keep the documents in a list, or read it again"
            raise DataError("has been read already", path=self.name, hint=hint)
        self._read = True
        try:
            for result in self._results:
                if isinstance(result, DataError):
                    self._skip(result)
                    continue
                self.documents += 1
                yield self._check_duplicate(result)
        finally:
            self._close()
        if not self.documents and not self.options.allow_empty:
            skipped = f": all {self.skipped} records are bad" if self.skipped else ""
            raise DataError(f"no documents{skipped}", path=self.name, hint="is it the right file?")

    def close(self) -> None:
        """Close the source before its end is reached."""
        if isinstance(self._results, Generator):
            self._results.close()
        self._close()

    def _skip(self, error: DataError) -> None:
        options = self.options
        if not options.skip_bad and options.max_bad is None:
            raise error
        self.skipped += 1
        if len(self.first_skipped) < MAX_SHOWN:
            self.first_skipped.append(error)
        if options.max_bad is not None and self.skipped > options.max_bad:
            hint = "; ".join(filter(None, (error.hint, "allow more with {max_bad}")))
            problem = f"{error.problem}; that makes more than {options.max_bad} bad records"
            raise DataError(problem, path=error.path, line=error.line, hint=hint, **error.values)

    def _warn(self, message: str) -> None:
        self.n_warnings += 1
        if len(self.warnings) < MAX_SHOWN:
            self.warnings.append(message)

    def _check_duplicate(self, document: Document) -> Document:
        """Return a document with unique categories; warn of duplicates, and of a known text with other categories."""
        categories = document.categories
        if len(categories) > 1 and len(set(categories)) < len(categories):
            self._warn(f"{document.place}: a category occurs twice; it counts once")
            document = document._replace(categories=tuple(dict.fromkeys(categories)))
        key = hash(document.text)
        if (before := self._seen.get(key)) is not None:
            self.repeated += 1
            if set(before[0]) != set(document.categories):
                self._warn(f"{document.place}: the same text as {before[1]}, with other categories")
        elif len(self._seen) < MAX_REMEMBERED:
            self._seen[key] = (document.categories, document.place)
        return document


def read_documents(source: Source, *, format: str | None = None, **options: Any) -> Reading:
    """Return an iterable over the documents of a file, a folder, a known corpus or a binary stream.

    Parameters
    ----------
    source : path, name or binary stream
        Files may be compressed with gzip, xz or zstd, except Parquet. "-" is standard input. Name a corpus and its
        split as in "sample:train" and "reuters21578:modapte:test".
    format : str, optional
        One of FORMATS. By default it is guessed from the name, or else from the first bytes.
    **options
        See `ReadOptions`.

    Examples
    --------
    >>> import io
    >>> reading = read_documents(io.BytesIO(b'{"text": "oil rose", "labels": ["crude"]}'))
    >>> [document.categories for document in reading], reading.format
    ([('crude',)], 'jsonl')
    """
    settled = ReadOptions(**options)
    if format is not None and format not in FORMATS:
        raise ParameterError.of("format", format, allowed=", ".join(FORMATS))
    if source == "":
        raise FileNotFoundError(errno.ENOENT, "no file has an empty name", "")
    if isinstance(source, str | PathLike) and source != "-":
        path = Path(source)
        corpus, _, part = str(source).partition(":")
        if corpus in CORPORA and format is None and not path.exists():
            return _start(Reading(str(source), corpus, settled), lambda _: iter(CORPORA[corpus](part)))
        if path.is_dir():
            return _read_folder(path, format, settled)
        format = format or _guess_by_suffix(path)
        if format == "parquet":
            return _read_parquet(path, settled)
    return _read_lines(source, format, settled)


def _start(reading: Reading, read: Callable[..., Results]) -> Reading:
    """Attach a reader to a reading, and store the columns that the reader chooses."""
    reading._results = read(partial(setattr, reading, "columns"))
    return reading


def _read_parquet(path: Path, options: ReadOptions) -> Reading:
    return _start(Reading(name_of(path), "parquet", options), partial(read_parquet, path, options))


def _guess_by_suffix(path: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in SUFFIXES:
        suffixes.pop()
    if suffixes and suffixes[-1] in _FOREIGN:
        problem = f"{_FOREIGN[suffixes[-1]]} files hold features instead of texts"
        raise DataError(problem, path=name_of(path), hint="for lines of text name {format=text}")
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def _read_folder(folder: Path, format: str | None, options: ReadOptions) -> Reading:
    format = format or _guess_by_content(folder)
    if format not in _BY_FOLDER:
        hint = "name the file, or use {format=folders}"
        raise DataError(f"is a folder, and {format} needs a file", path=name_of(folder), hint=hint)
    reading = Reading(name_of(folder), format, options)
    reading._results = _BY_FOLDER[format](folder, options)
    return reading


def _guess_by_content(folder: Path) -> str:
    if any(folder.glob("*.sgm")):
        return "sgml"
    return "files" if has_sidecars(folder) else "folders"


def _read_lines(source: Source, format: str | None, options: ReadOptions) -> Reading:
    if format in ("folders", "files", "parquet"):
        raise DataError(f"{format} cannot be read from here", path=name_of(source), hint="name a file or folder")
    lines = Lines(source, options)
    try:
        return _read_format(source, lines, format or guess_format(lines.peek(), options), options)
    except BaseException:
        lines.close()
        raise


def _read_format(source: Source, lines: Lines, format: str, options: ReadOptions) -> Reading:
    reading = Reading(lines.name, format, options)
    if format == "parquet":
        if not isinstance(source, str | PathLike) or not Path(source).is_file():
            raise DataError("Parquet cannot be read from here", path=lines.name, hint="name a file")
        lines.close()
        return _read_parquet(Path(source), options)
    reading._close = lines.close
    if format in _BY_RECORD:
        return _start(reading, partial(_BY_RECORD[format], lines, options))
    reading._results = _BY_LINE[format](lines, options)
    return reading


_JSON = re.compile(rb'\{|\[\s*([\[{"\]]|$)')  # plain text may begin with a word in brackets


def guess_format(head: bytes, options: ReadOptions) -> str:
    """Return the format that the first bytes of a source suggest.

    >>> guess_format(b'{"text": "oil"}', ReadOptions()), guess_format(b"id,text", ReadOptions())
    ('jsonl', 'csv')
    """
    start = head.lstrip()
    if _JSON.match(start):
        return "jsonl"
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(options.label_prefix.encode()):
        return "fasttext"
    if start[:9].lower().startswith((b"<!doctype", b"<reuters")):
        return "sgml"
    first = re.split(rb"[\r\n]", start, maxsplit=1)[0].decode("utf-8", "replace")
    for format, delimiter in (("csv", ","), ("tsv", "\t")):
        if has_text_column([name.strip('" ') for name in first.split(delimiter)]):
            return format
    return "text"


class Look(NamedTuple):
    """A preview of a source, as `look` returns it.

    Parameters
    ----------
    name, format, columns : str, str, Columns or None
        The name of the source, its format, and the columns that hold text, categories and id.
    documents, whole : int, bool
        The number of documents read, and whether these are all.
    categories : dict from str to int
        The number of documents per category, the most frequent first.
    first : Document
        The first document.
    warnings : list of str
        The first warnings.
    """

    name: str
    format: str
    columns: Columns | None
    documents: int
    whole: bool
    categories: dict[str, int]
    first: Document
    warnings: list[str]

    def describe(self) -> str:
        """Return a description in three lines."""
        chosen = f": {self.columns.describe()}" if self.columns else ""
        count = f"{'all' if self.whole else 'the first'} {self.documents} documents"
        common = ", ".join(f"{name} ({n})" for name, n in list(self.categories.items())[:5]) or "none"
        more = ", ..." if len(self.categories) > 5 else ""
        excerpt = " ".join(self.first.text.split())[:100]
        return (
            f"{self.name}: {self.format}{chosen}\n"
            f"{count} have {pluralize(len(self.categories), 'category', 'categories')}: {common}{more}\n"
            f"the first: {', '.join(self.first.categories) or 'no category'}: {excerpt}"
        )


def look(source: Source, *, format: str | None = None, most: int = 1000, **options: Any) -> Look:
    """Return a preview of the first documents of a `source`, at most `most` of them.

    `format` and `options` are those of `read_documents`.
    """
    reading = read_documents(source, format=format, **options)
    documents = list(islice(reading, most + 1))
    is_whole, documents = len(documents) <= most, documents[:most]
    counts = Counter(name for document in documents for name in document.categories)
    first = documents[0] if documents else Document("")
    return Look(
        reading.name, reading.format, reading.columns, len(documents), is_whole, dict(counts.most_common()), first,
        reading.warnings,
    )  # fmt: skip
