"""Files that are written whole or not at all; the model file, converted corpora and reports are written so."""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from io import BufferedIOBase
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover; Windows has no such locks: what is left there, stays
    fcntl = None  # type: ignore[assignment]


@contextmanager
def whole_file(
    path: str | os.PathLike[str], check: Callable[[BufferedIOBase], object] = lambda file: None
) -> Iterator[BufferedIOBase]:
    """Open a file to be written that takes its place only when the block ends well, and `check` can read it.

    It has another name until its bytes are on the disk. A link is followed, and the permissions are never wider than
    those of the file replaced. Should only the last sync fail, of the folder, the new file stands, whole. What a
    process that was killed left of the same file is removed.
    """
    target = _resolved(path)
    # Names may have 255 bytes, and this one has more to say.
    begin = f".{target.name[:50]}."
    temporary = target.with_name(f"{begin}{secrets.token_hex(4)}.tmp")
    _remove_left(target.parent, begin)
    descriptor = _created(temporary, target)
    with _held(descriptor):
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


@contextmanager
def _held(descriptor: int) -> Iterator[None]:
    """Keep a file locked, though it is closed, until it has its name."""
    if fcntl is None:
        yield
        return
    twin = os.dup(descriptor)
    try:
        yield
    finally:
        os.close(twin)


def _resolved(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(path).resolve()
    except RuntimeError:  # what older versions of Python raise
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path)) from None


def _created(temporary: Path, target: Path) -> int:
    """Open the temporary file; whoever reads of an error knows the target alone."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        while True:
            descriptor = os.open(temporary, flags, _permissions(target))
            _lock(descriptor)
            if os.fstat(descriptor).st_nlink:
                return descriptor
            os.close(descriptor)  # another process took it for left, and removed it before it was locked
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None


def _remove_left(folder: Path, begin: str) -> None:
    """Remove temporary files that no process has locked, which is to say that whoever made them is gone."""
    for path in folder.glob(f"{escape(begin)}{'[0-9a-f]' * 8}.tmp"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR)
            try:
                if _lock(descriptor, wait=False):
                    path.unlink()
            finally:
                os.close(descriptor)


def _lock(descriptor: int, *, wait: bool = True) -> bool:
    """Lock a file until it is closed, and tell whether that was possible; not every system can."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


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
