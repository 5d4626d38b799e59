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
    target = _resolved(path)
    # Names may have 255 bytes, and this one has more to say.
    temporary = target.with_name(f".{target.name[:50]}.{secrets.token_hex(4)}.tmp")
    descriptor = _created(temporary, target)
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
    sync_folder(target.parent)


def _resolved(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(path).resolve()
    except RuntimeError:  # what older versions of Python raise
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path)) from None


def _created(temporary: Path, target: Path) -> int:
    """Open the temporary file; whoever reads of an error knows the target alone."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        return os.open(temporary, flags, _permissions(target))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None


def _permissions(target: Path) -> int:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return 0o666
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(target))
    return mode & 0o777


def sync_folder(folder: Path) -> None:
    """Let the names in a folder be on the disk."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows opens no folders
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
