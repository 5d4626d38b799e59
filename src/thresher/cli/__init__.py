"""The command line: one short function a verb, over the library; `thresher` and `python -m thresher` start here."""

import errno
import os
import sys
from contextlib import suppress

from thresher.cli.failures import INTERRUPTED, UsageError, exit_code, report
from thresher.cli.signals import catch_signals, ignore_signals


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, and exit with its code."""
    catch_signals()
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")  # colorama would write to the terminal
    code = run(sys.argv[1:] if arguments is None else arguments)
    _end_quietly()
    serving = sys.modules.get("thresher.web.serving")
    if serving is not None and serving.has_work_left():
        os._exit(code)  # Python would wait for those threads, or fail where they go on
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a verb, and return the exit code; an error is one line on standard error."""
    try:
        _prepare_streams()
        code = _called(arguments)
        sys.stdout.flush()
        return code
    except (BrokenPipeError, SystemExit):  # the latter is what typer and rich make of the former
        return 0
    except BaseException as error:
        with suppress(OSError):
            report(error, "--debug" in arguments)
        return exit_code(error)


def _called(arguments: list[str]) -> int:
    import typer

    from thresher.cli.app import app

    command = typer.main.get_command(app)
    try:
        code = command.main(args=arguments or ["--help"], prog_name="thresher", standalone_mode=False)
    except Exception as error:
        if hasattr(error, "format_message"):
            raise UsageError(f"{error.format_message().rstrip('.')} ({_hint(arguments)} says more)") from None
        raise
    if code == INTERRUPTED:  # what typer makes of Ctrl-C
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _hint(arguments: list[str]) -> str:
    from thresher.cli.app import VERBS

    known = arguments[:1] if arguments[:1] and arguments[0] in {verb.__name__ for verb in VERBS} else []
    return " ".join(["thresher", *known, "--help"])


def _end_quietly() -> None:
    """Keep Python from complaining at its end of signals, and of output that cannot be written."""
    ignore_signals()
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _prepare_streams() -> None:
    """Write UTF-8 whatever the locale is, and let no file that is opened later take the place of a closed stream."""
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        raise OSError(errno.EBADF, "is closed (send it to /dev/null if it is not wanted)", "standard output")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
