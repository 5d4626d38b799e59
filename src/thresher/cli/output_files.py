"""Output files of the verbs: checked before the work begins, and written atomically."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thresher.cli.exit_codes import FULL, OutputError
from thresher.support.atomic_file import whole_file


def check_output(path: Path, force: bool) -> None:
    """Raise an error unless a file may be written to the path."""
    if is_special(path):
        return
    try:
        _check_name(path, force)
        folder = path.resolve().parent
    except PermissionError:
        raise
    except (OSError, RuntimeError) as error:  # older versions of Python raise RuntimeError for a loop of links
        what = "is a loop of links" if isinstance(error, RuntimeError) else error.strerror
        raise OutputError(f"{path}: {what} (choose another place)") from None
    if not folder.is_dir():
        raise OutputError(f"{path}: the folder {folder} does not exist (make it first)")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, "no permission to write into its folder", str(path))


def check_model_output(path: Path, force: bool) -> None:
    """Raise an error unless a model may be written to the path; a model is checked before it replaces a file."""
    if is_special(path):
        raise OutputError(f"{path}: not a regular file, which a model must be (name another)")
    check_output(path, force)


def _check_name(path: Path, force: bool) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise OutputError(f"{path}: is a folder (name a file)")
    if not force:
        raise OutputError(f"{path}: exists already (--force replaces it)")


def format_size(count: int) -> str:
    """Return a number of bytes in a readable form.

    >>> format_size(7818), format_size(4_460_000)
    ('8 kB', '4.5 MB')
    """
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{max(count / 1e3, 1):.0f} kB"


def is_special(path: Path) -> bool:
    """Return whether a path is a device or a pipe, which is written to and not replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def output_file(path: Path) -> Iterator[Any]:
    """Open a binary file that replaces the path when the block succeeds."""
    try:
        with path.open("wb") if is_special(path) else whole_file(path) as file:
            yield file
    except OSError as error:
        if error.errno in FULL and error.filename is None:  # errors on input files have a name
            error.filename = str(path)
        raise


def output_format(path: Path) -> str:
    """Return the format by a file's name; JSON lines for devices and pipes, which have no such names."""
    from thresher.datasets.writer import guess_format

    return "jsonl" if is_special(path) else guess_format(path)
