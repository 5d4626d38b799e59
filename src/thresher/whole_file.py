"""Files that are written whole or not at all; the model file, converted corpora and reports are written so."""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path


@contextmanager
def whole_file(
    path: str | os.PathLike[str], check: Callable[[BufferedIOBase], object] = lambda file: None
) -> Iterator[BufferedIOBase]:
    """Open a file to be written that takes its place only when the block ends well, and `check` can read it.

    It has another name until its bytes are on the disk. A link is followed, and the permissions are never wider than
    those of the file replaced. Should only the last sync fail, of the folder, the new file stands, whole.
    """
    target = Path(path).resolve()
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, _permissions(target))
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            check(file)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _permissions(target: Path) -> int:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return 0o666
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(target))
    return mode & 0o777


def _sync_folder(folder: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):  # Windows opens no folders
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
