"""The lock of a journal: a file that one process has, with its number in it; it ends with the process, in any case."""

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from thresher.errors import JournalBusyError, JournalError

LOCK = "lock"
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # not through a link, and without waiting for a pipe
_OPEN = b"open\n"
_ATTEMPTS, _PATIENCE, _PAUSE = 10, 50, 0.01  # to take the lock, to learn who has it, and seconds between


def take_lock(path: Path) -> tuple[int, bool]:
    """Return an open file that this process alone has locked, and whether it was left open as `was_left_open` says.

    Closing it gives the lock up.
    """
    descriptor = _opened(path, os.O_RDWR | os.O_CREAT)
    try:
        _check_is_ours(descriptor, path)
        if not _is_taken(descriptor):
            raise JournalBusyError(f"{path.parent}: process {_owner(descriptor)} has the journal (stop it first)")
        left_open = _ends_open(descriptor)  # now, as whoever had it may have closed it meanwhile
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, left_open


def _opened(path: Path, flags: int) -> int:
    """Open a lock; refuse a link, a pipe or a device in its place."""
    try:
        descriptor = os.open(path, flags | _SAFELY, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise JournalError(f"{path}: is a link, and not the lock of a journal (remove it)") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise JournalError(f"{path}: is not a file, and not the lock of a journal (remove it)")
    return descriptor


def _check_is_ours(descriptor: int, path: Path) -> None:
    """Refuse a file that another user made, or that has a second name: something else would be written over."""
    about = os.fstat(descriptor)
    if about.st_uid not in (0, os.geteuid()):
        raise JournalError(f"{path}: is another user's ({about.st_uid}), and not the lock of your journal (remove it)")
    if about.st_nlink > 1:
        raise JournalError(f"{path}: is also the file of another name, and not the lock of a journal (remove it)")


def owner_of(folder: str | os.PathLike[str]) -> str | None:
    """Return the number of the process that has the journal in a folder, if one has it."""
    try:
        descriptor = _opened(Path(folder) / LOCK, os.O_RDONLY)
    except (OSError, JournalError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except OSError:
        return _owner(descriptor)
    finally:
        os.close(descriptor)


def note_open(descriptor: int) -> None:
    """Note in a lock just taken that the log of the journal is there from now on; on a full disk that is not noted."""
    with suppress(OSError):
        os.write(descriptor, _OPEN)


def note_closed(descriptor: int) -> None:
    """Note in a lock that the log of the journal is about to go as it should."""
    with suppress(OSError):
        os.truncate(descriptor, len(f"{os.getpid()}\n"))


def was_left_open(path: Path) -> bool:
    """Tell whether a process took this lock and ended without a word; to be asked before it is taken again."""
    try:
        descriptor = _opened(path, os.O_RDONLY)
    except (OSError, JournalError):
        return False
    try:
        return _ends_open(descriptor)
    finally:
        os.close(descriptor)


def _ends_open(descriptor: int) -> bool:
    return os.pread(descriptor, 100, 0).endswith(_OPEN)


def _is_taken(descriptor: int) -> bool:
    """Lock a file if nobody has it; try for a while, as `owner_of` has it for a moment."""
    for attempt in range(_ATTEMPTS):
        time.sleep(_PAUSE if attempt else 0)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
    return False


def _owner(descriptor: int) -> str:
    """Return the number in a lock that another has, who may have taken it this moment and not have said so yet.

    Until then it holds nothing, or the number of a process that is gone.
    """
    found = ""
    for attempt in range(_PATIENCE):
        time.sleep(_PAUSE if attempt else 0)
        found = os.pread(descriptor, 20, 0).decode("ascii", "replace").partition("\n")[0].strip()
        if found.isdecimal() and _is_alive(int(found)):
            break
    return found or "unknown"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True
