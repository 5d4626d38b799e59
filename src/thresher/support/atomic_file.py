"""Write files and folders atomically: they appear under their names complete, or not at all."""

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
except ImportError:  # pragma: no cover; Windows has no such locks, so leftover files stay there
    fcntl = None  # type: ignore[assignment]


_HALF = ".thresher-half-"  # name prefix of a folder until it is complete


@contextmanager
def whole_file(
    path: str | os.PathLike[str],
    check: Callable[[BufferedIOBase], object] = lambda file: None,
    mode: int | None = None,
) -> Iterator[BufferedIOBase]:
    """Open a file for writing that replaces `path` only if the block succeeds and `check` can read the file.

    The file has a temporary name until its bytes are on the disk. Symbolic links are followed. The permissions are
    never wider than those of the replaced file, nor than `mode`, which defaults to 0o666 for a new file. If only the
    final sync of the folder fails, the new file is in place and complete. Temporary files that a killed process left
    for the same path are removed.
    """
    target = _resolve(path)
    # File names have at most 255 bytes, and the temporary name is longer than the target's.
    begin = f".{target.name[:50]}."
    temporary = target.with_name(f"{begin}{secrets.token_hex(4)}.tmp")
    _remove_leftover_files(target.parent, begin)
    descriptor = _create_temporary(temporary, target, mode)
    with _hold_lock(descriptor):
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
def _hold_lock(descriptor: int) -> Iterator[None]:
    """Keep a file locked until it is renamed, although it is closed before."""
    if fcntl is None:
        yield
        return
    twin = os.dup(descriptor)
    try:
        yield
    finally:
        os.close(twin)


def _resolve(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(path).resolve()
    except RuntimeError:  # older versions of Python raise this for a loop of links
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path)) from None


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Create a folder that the block fills, and give it its name only if the block succeeds.

    Until then it has a temporary name, and only the current user has access. Unfinished folders that killed processes
    left in the same parent folder are removed.
    """
    target = Path(path)
    remove_unfinished_folders(target.parent)
    try:
        temporary, descriptor = _make_half(target.parent)
    except OSError as error:  # the user knows only the final folder, not the temporary one
        raise OSError(error.errno, error.strerror, str(target)) from None
    try:
        yield temporary
        temporary.rename(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        os.close(descriptor)
    sync_folder(target.parent)


def _make_half(parent: Path) -> tuple[Path, int]:
    """Return a new temporary folder and the descriptor that keeps it locked."""
    while True:
        half = Path(tempfile.mkdtemp(prefix=_HALF, dir=parent))
        with suppress(FileNotFoundError):  # another process removed it as a leftover before it was locked
            descriptor = lock_folder(half)
            if half.exists():
                return half, descriptor
            os.close(descriptor)


def lock_folder(folder: Path) -> int:
    """Lock a folder and return its descriptor; `remove_leftover_folder` does not remove it until that is closed."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0))
    _lock(descriptor)
    return descriptor


def remove_unfinished_folders(parent: Path) -> None:
    """Remove the unfinished folders that killed processes left in `parent` while they were in `whole_folder`."""
    for left in parent.glob(f"{_HALF}*"):
        remove_leftover_folder(left)


def remove_leftover_folder(folder: Path) -> None:
    """Remove a leftover folder unless a process has locked it or it belongs to another user."""
    if fcntl is None:  # pragma: no cover
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(descriptor).st_uid == os.geteuid() and _lock(descriptor, wait=False):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)


def _create_temporary(temporary: Path, target: Path, mode: int | None) -> int:
    """Create, lock and open the temporary file; errors name the target, the only path that the user knows."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        while True:
            descriptor = os.open(temporary, flags, _choose_permissions(target, mode))
            _lock(descriptor)
            if os.fstat(descriptor).st_nlink:
                _keep_group(descriptor, target)
                return descriptor
            os.close(descriptor)  # another process removed it as a leftover before it was locked
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None


def _keep_group(descriptor: int, target: Path) -> None:
    """Give a file the group of the file it replaces; if the system forbids that, remove all group permissions."""
    if not hasattr(os, "fchown") or not target.exists():
        return
    group, about = target.stat().st_gid, os.fstat(descriptor)
    if about.st_gid != group:
        try:
            os.fchown(descriptor, -1, group)
        except OSError:
            os.fchmod(descriptor, about.st_mode & 0o707)


def _remove_leftover_files(folder: Path, begin: str) -> None:
    """Remove temporary files that no process has locked, because the processes that created them have ended."""
    for path in folder.glob(f"{escape(begin)}{'[0-9a-f]' * 8}.tmp"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR)
            try:
                if _lock(descriptor, wait=False):
                    path.unlink()
            finally:
                os.close(descriptor)


def _lock(descriptor: int, *, wait: bool = True) -> bool:
    """Lock a file until it is closed, and return whether that succeeded; not every system supports locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _choose_permissions(target: Path, most: int | None) -> int:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return 0o666 if most is None else most
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(target))
    return mode & (0o777 if most is None else most)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the names of its files are on the disk."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows cannot open folders
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
