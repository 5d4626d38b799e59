"""Files and folders that are written whole or not at all; model files, converted corpora, reports and backups are."""

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from io import BufferedIOBase
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover; Windows has no such locks: what is left there, stays
    fcntl = None  # type: ignore[assignment]


_HALF = ".thresher-half-"  # how the name of a folder begins until it is whole


@contextmanager
def whole_file(
    path: str | os.PathLike[str],
    check: Callable[[BufferedIOBase], object] = lambda file: None,
    mode: int | None = None,
) -> Iterator[BufferedIOBase]:
    """Open a file to be written that takes its place only when the block ends well, and `check` can read it.

    It has another name until its bytes are on the disk. A link is followed, and the permissions are never wider than
    those of the file replaced, nor than `mode`, which is 0o666 for a new file by default. Should only the last sync
    fail, of the folder, the new file stands, whole. What a process that was killed left of the same file is removed.
    """
    target = _resolved(path)
    # Names may have 255 bytes, and this one has more to say.
    begin = f".{target.name[:50]}."
    temporary = target.with_name(f"{begin}{secrets.token_hex(4)}.tmp")
    _remove_left(target.parent, begin)
    descriptor = _created(temporary, target, mode)
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


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder, to be filled in the block, that has its name only when the block ends well.

    Until then it has another name, and nobody else may look into it. Folders next to it that a process which was
    killed left unfinished are removed.
    """
    whole = Path(path)
    remove_halves(whole.parent)
    try:
        half, descriptor = _new_half(whole.parent)
    except OSError as error:  # the reader of the message knows the folder alone
        raise OSError(error.errno, error.strerror, str(whole)) from None
    try:
        yield half
        half.rename(whole)
    except BaseException:
        shutil.rmtree(half, ignore_errors=True)
        raise
    finally:
        os.close(descriptor)
    sync_folder(whole.parent)


def _new_half(parent: Path) -> tuple[Path, int]:
    """Return a new folder and its descriptor, which keeps it locked."""
    while True:
        half = Path(tempfile.mkdtemp(prefix=_HALF, dir=parent))
        with suppress(FileNotFoundError):  # another process took it for left, and removed it before it was locked
            descriptor = lock_folder(half)
            if half.exists():
                return half, descriptor
            os.close(descriptor)


def lock_folder(folder: Path) -> int:
    """Return a descriptor of a folder that keeps `remove_folder_left` from removing it until it is closed."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0))
    _lock(descriptor)
    return descriptor


def remove_halves(parent: Path) -> None:
    """Remove what processes that were killed left of the folders that they made in a folder with `whole_folder`."""
    for left in parent.glob(f"{_HALF}*"):
        remove_folder_left(left)


def remove_folder_left(folder: Path) -> None:
    """Remove a folder unless a process has it locked, or it is another user's."""
    if fcntl is None:  # pragma: no cover
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(descriptor).st_uid == os.geteuid() and _lock(descriptor, wait=False):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)


def _created(temporary: Path, target: Path, mode: int | None) -> int:
    """Open the temporary file; whoever reads of an error knows the target alone."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        while True:
            descriptor = os.open(temporary, flags, _permissions(target, mode))
            _lock(descriptor)
            if os.fstat(descriptor).st_nlink:
                _keep_group(descriptor, target)
                return descriptor
            os.close(descriptor)  # another process took it for left, and removed it before it was locked
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None


def _keep_group(descriptor: int, target: Path) -> None:
    """Give a file the group of the one that it replaces; if the system forbids that, no group may use it."""
    if not hasattr(os, "fchown") or not target.exists():
        return
    group, found = target.stat().st_gid, os.fstat(descriptor)
    if found.st_gid != group:
        try:
            os.fchown(descriptor, -1, group)
        except OSError:
            os.fchmod(descriptor, found.st_mode & 0o707)


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


def _permissions(target: Path, most: int | None) -> int:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return 0o666 if most is None else most
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(target))
    return mode & (0o777 if most is None else most)


def sync_folder(folder: Path) -> None:
    """Let the names in a folder be on the disk."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows opens no folders
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
