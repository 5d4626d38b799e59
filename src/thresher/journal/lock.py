"""The lock file of a journal: one process holds it, writes its PID into it, and loses it when the process ends."""

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from thresher.errors import JournalBusyError, JournalError

LOCK = "lock"
_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # do not follow a link, nor wait for a pipe
_OPEN = b"open\n"
_ATTEMPTS, _PATIENCE, _PAUSE = 10, 50, 0.01  # attempts to take the lock, to read its owner, and seconds between


def take_lock(path: Path) -> tuple[int, bool]:
    """Lock a journal; return the descriptor of the lock, and whether the last process left the journal open.

    Closing the descriptor releases the lock. `was_left_open` explains the second value.
    """
    descriptor = _open(path, os.O_RDWR | os.O_CREAT)
    try:
        _check_is_ours(descriptor, path)
        if not _try_to_lock(descriptor):
            raise JournalBusyError(
                f"process {_read_owner(descriptor)} has the journal", path=path.parent, hint="stop it first"
            )
        left_open = _ends_open(descriptor)  # read under the lock, as the last owner may have closed it just now
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, left_open


def _open(path: Path, flags: int) -> int:
    """Open a lock file; raise a JournalError for a link, a pipe or a device."""
    try:
        descriptor = os.open(path, flags | _SAFELY, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise JournalError("is a link, and not the lock of a journal", path=path, hint="remove it") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise JournalError("is not a file, and not the lock of a journal", path=path, hint="remove it")
    return descriptor


def _check_is_ours(descriptor: int, path: Path) -> None:
    """Raise a JournalError for another user's file or one with a second name, so that no other file is overwritten."""
    about = os.fstat(descriptor)
    if about.st_uid not in (0, os.geteuid()):
        raise JournalError(
            f"is another user's ({about.st_uid}), and not the lock of your journal", path=path, hint="remove it"
        )
    if about.st_nlink > 1:
        raise JournalError(
            "is also the file of another name, and not the lock of a journal", path=path, hint="remove it"
        )


def owner_of(folder: str | os.PathLike[str]) -> str | None:
    """Return the PID of the process that holds the journal in a folder, or None."""
    try:
        descriptor = _open(Path(folder) / LOCK, os.O_RDONLY)
    except (OSError, JournalError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except OSError:
        return _read_owner(descriptor)
    finally:
        os.close(descriptor)


def note_open(descriptor: int) -> None:
    """Note in a lock that the journal is open and has its write-ahead log; a full disk is ignored."""
    with suppress(OSError):
        os.write(descriptor, _OPEN)


def note_closed(descriptor: int) -> None:
    """Note in a lock that the journal is being closed, which removes its write-ahead log."""
    with suppress(OSError):
        os.truncate(descriptor, len(f"{os.getpid()}\n"))


def was_left_open(path: Path) -> bool:
    """Return whether the last owner of this lock ended without closing the journal; call it before `take_lock`."""
    try:
        descriptor = _open(path, os.O_RDONLY)
    except (OSError, JournalError):
        return False
    try:
        return _ends_open(descriptor)
    finally:
        os.close(descriptor)


def _ends_open(descriptor: int) -> bool:
    return os.pread(descriptor, 100, 0).endswith(_OPEN)


def _try_to_lock(descriptor: int) -> bool:
    """Lock a file if it is free, and return whether it worked; retry, as `owner_of` holds the lock for a moment."""
    for attempt in range(_ATTEMPTS):
        time.sleep(_PAUSE if attempt else 0)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
    return False


def _read_owner(descriptor: int) -> str:
    """Return the PID in a lock that another process holds, waiting for that process to write it.

    Until then the file is empty, or holds the PID of a process that has ended.
    """
    owner = ""
    for attempt in range(_PATIENCE):
        time.sleep(_PAUSE if attempt else 0)
        owner = os.pread(descriptor, 20, 0).decode("ascii", "replace").partition("\n")[0].strip()
        if owner.isdecimal() and _is_alive(int(owner)):
            break
    return owner or "unknown"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's process
        return True
    return True
