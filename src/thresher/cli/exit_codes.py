"""Convert errors to exit codes, and to one line on standard error."""

import errno
import sys
import traceback

from thresher.errors import (
    JournalBrokenError,
    JournalBusyError,
    JournalFullError,
    JournalMemoryError,
    MissingPackageError,
    ParameterError,
    SpillError,
    ThresherError,
    is_out_of_memory,
    printable,
)

USAGE, DATA, NO_INPUT, BUG, MEMORY, NO_OUTPUT, IO, BUSY, FORBIDDEN = 2, 65, 66, 70, 71, 73, 74, 75, 77
INTERRUPTED, TERMINATED = 130, 143

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_INPUT = (errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)


class UsageError(ThresherError):
    """An option is invalid, or options do not fit together."""


class OutputError(ThresherError):
    """A file cannot be written to its path; the message says why."""


class TerminatedError(BaseException):
    """A signal asked the process to end."""


def exit_code(error: BaseException) -> int:
    """Return the exit code for an error."""
    by_kind: list[tuple[type[BaseException] | tuple[type[BaseException], ...], int]] = [
        ((UsageError, ParameterError, MissingPackageError), USAGE),
        (OutputError, NO_OUTPUT),
        (JournalBusyError, BUSY),
        ((JournalFullError, JournalBrokenError, SpillError), IO),
        (JournalMemoryError, MEMORY),
        (ThresherError, DATA),
        (KeyboardInterrupt, INTERRUPTED),
        (TerminatedError, TERMINATED),
    ]
    for kinds, code in by_kind:
        if isinstance(error, kinds):
            return code
    if is_out_of_memory(error) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return MEMORY
    if isinstance(error, OSError):
        return FORBIDDEN if error.errno in _FORBIDDEN else NO_INPUT if error.errno in _NO_INPUT else IO
    return BUG


def format_error(error: BaseException) -> str:
    """Return the message of an error, in one line."""
    if isinstance(error, OSError) and error.strerror:
        names = [str(name) for name in (error.filename, error.filename2) if name is not None]
        if not names and error.errno in FULL:  # errors on files have a name
            names = ["standard output"]
        message = ": ".join([*names, error.strerror])
    elif is_out_of_memory(error) and not isinstance(error, ThresherError):
        message = "out of memory (read fewer documents at once)"
    elif isinstance(error, KeyboardInterrupt):
        message = "interrupted"
    elif isinstance(error, TerminatedError):
        message = "terminated"
    elif isinstance(error, ThresherError):
        message = format_library_error(error)
    elif isinstance(error, OSError):
        message = str(error)
    else:
        message = f"{type(error).__name__}: {error}; this is a bug (run again with --debug and report what it prints)"
    return printable(" ".join(message.split()))


def format_library_error(error: ThresherError) -> str:
    """Return place, problem and hint, with the parameters in it as options."""
    from thresher.cli.options import as_option

    place, message = error.place(), error.message(as_option)
    return f"{place}: {message}" if place else message


def report(error: BaseException, debug: bool) -> None:
    """Write the error to standard error."""
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    print(f"thresher: {format_error(error)}", file=sys.stderr)
