"""Files that verbs write: refused before the work begins where they cannot be written, and whole or not at all."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thresher.cli.failures import OutputError
from thresher.whole_file import whole_file


def check_output(path: Path, force: bool) -> None:
    """Raise an error unless a file may be written to the path."""
    if path.is_dir():
        raise OutputError(f"{path}: is a folder (name a file)")
    if is_special(path):
        return
    if path.exists() and not force:
        raise OutputError(f"{path}: exists already (--force replaces it)")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise OutputError(f"{path}: the folder {folder} does not exist (make it first)")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, "no permission to write into its folder", str(path))


def is_special(path: Path) -> bool:
    """Tell whether a path is a device or a pipe, which is written to and not replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def output_file(path: Path) -> Iterator[Any]:
    """Open a file for bytes that takes its place when the block ends well."""
    if is_special(path):
        with path.open("wb") as file:
            yield file
    else:
        with whole_file(path) as file:
            yield file
