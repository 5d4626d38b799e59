"""Read folders of text files: one folder per category, or one label file next to each document.

Files are read in the order of their names. The id of a document is its path relative to the folder. Symbolic links are
read only if they lead to a file in the folder, since an untrusted corpus must not expose other files of the user.
"""

import os
from collections.abc import Iterator
from glob import escape
from pathlib import Path

from thresher.datasets.columns import check_categories
from thresher.datasets.compression import open_file
from thresher.datasets.document import Document
from thresher.datasets.lines import check_signature, invalid_byte
from thresher.datasets.options import ReadOptions
from thresher.errors import DataError, printable

SIDECARS = (".key", ".labels")


def read_folder(folder: Path, options: ReadOptions) -> Iterator[Document | DataError]:
    """Yield a document for each file below a folder; its category is the name of the folder that contains it."""
    for path in _list_files(folder):
        yield _read_document(path, folder, path.parent.relative_to(folder).as_posix(), options)


def read_sidecars(folder: Path, options: ReadOptions) -> Iterator[Document | DataError]:
    """Yield a document for each file; NAME.key or NAME.labels holds the categories of NAME.txt, one per line."""
    for path in _list_files(folder):
        if path.suffix in SIDECARS:
            if not _has_document(path):
                yield _make_error(path, "a label file without its document", "remove it")
            continue
        sidecar = next((path.with_suffix(suffix) for suffix in SIDECARS if path.with_suffix(suffix).is_file()), None)
        if sidecar is None and options.labelled:
            wanted = printable(path.with_suffix(SIDECARS[0]).name)
            hint = f"write them into {wanted}; or name one file that holds all"
            yield _make_error(path, "no label file next to it", hint)
        else:
            yield _read_document(path, folder, sidecar, options)


def _has_document(sidecar: Path) -> bool:
    return any(path.suffix not in SIDECARS for path in sidecar.parent.glob(f"{escape(sidecar.stem)}.*"))


def has_sidecars(folder: Path) -> bool:
    """Return whether a folder has no subfolders, so that its categories, if any, are in label files."""
    return not any(path.is_dir() and not path.name.startswith(".") for path in folder.iterdir())


def is_link_outside(path: Path, folder: Path) -> bool:
    """Return whether a path in a folder is a symbolic link to something outside of the folder."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _list_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder by name, except hidden ones; links to folders are not followed."""
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        if not path.is_dir():
            yield path
        elif path == folder or not path.is_symlink():
            waiting += sorted((below for below in path.iterdir() if not below.name.startswith(".")), reverse=True)


def _relative_name(path: Path, folder: Path) -> str:
    return printable(path.relative_to(folder).as_posix())


def _make_error(path: Path, problem: str, hint: str = "") -> DataError:
    return DataError(problem, path=printable(str(path)), hint=hint)


def _read_document(
    path: Path, folder: Path, categories: str | Path | None, options: ReadOptions
) -> Document | DataError:
    try:
        text = _read_text(path, folder, options)
        if isinstance(categories, str):
            if categories == "." and options.labelled:
                raise _make_error(path, "is not in a category's folder", "move it into one")
            names = _check_names([] if categories == "." else [categories], path)
        else:
            names = _check_names(_read_text(categories, folder, options).split("\n"), categories) if categories else ()
        return Document(text, names, _relative_name(path, folder), place=printable(str(path)))
    except DataError as error:
        return error


def _check_names(names: list[str], path: Path) -> tuple[str, ...]:
    try:
        return check_categories([name.removesuffix("\r") for name in names if name.strip()])
    except DataError as error:
        raise error.at(printable(str(path))) from None


def _read_text(path: Path, folder: Path, options: ReadOptions) -> str:
    if is_link_outside(path, folder):
        hint = "copy the folder with cp -rL if you trust it"
        raise _make_error(path, "is a link to a file outside of the folder", hint)
    if path.exists() and not path.is_file():
        raise _make_error(path, "is not a file, but a pipe or a device", "remove it")  # reading it might never end
    with open_file(path) as file:
        content = file.read(options.longest + 1)
    if len(content) > options.longest:
        hint = "split it, or allow more with {longest}"
        raise _make_error(path, f"longer than {options.longest:,} bytes", hint)
    return _decode(content, path, options)


def _decode(content: bytes, path: Path, options: ReadOptions) -> str:
    try:
        if options.is_utf8:
            check_signature(content)
        return content.decode(options.codec, options.decode_errors).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(options.codec, "replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise invalid_byte(content[error.start], column, options).at(printable(str(path)), line) from None
    except DataError as error:
        raise error.at(printable(str(path)), 1) from None
