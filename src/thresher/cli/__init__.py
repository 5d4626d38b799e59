"""The command line: one short function per verb, on top of the library."""

import errno
import os
import sys
from contextlib import suppress

from thresher.cli.exit_codes import INTERRUPTED, UsageError, exit_code, report
from thresher.cli.signals import catch_signals, ignore_signals
from thresher.errors import MissingPackageError


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, and exit with its code."""
    catch_signals()
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")  # colorama would write to the terminal
    code = run(sys.argv[1:] if arguments is None else arguments)
    _end_quietly()
    serving = sys.modules.get("thresher.web.server")
    if serving is not None and serving.has_work_left():
        os._exit(code)  # Python would wait for those threads, or fail while they continue
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a verb and return the exit code; an error is reported in one line on standard error."""
    try:
        _prepare_streams()
        code = _call_verb(arguments)
        sys.stdout.flush()
        return code
    except (BrokenPipeError, SystemExit):  # typer and rich convert the former to the latter
        return 0
    except BaseException as error:
        with suppress(OSError):
            report(error, "--debug" in arguments)
        return exit_code(error)


def _call_verb(arguments: list[str]) -> int:
    import typer

    from thresher.cli.app import PACKAGES, VERBS, add_installed_commands, app

    asked = arguments[0] if arguments else ""
    if asked not in {"--version", *VERBS}:
        add_installed_commands(asked)
    if asked in PACKAGES and asked not in {command.name for command in app.registered_commands}:
        raise MissingPackageError(f"{asked} is a package of its own (pip install {PACKAGES[asked]})")
    command = typer.main.get_command(app)
    try:
        code = command.main(args=arguments or ["--help"], prog_name="thresher", standalone_mode=False)
    except Exception as error:
        if isinstance(error, typer.BadParameter) and error.message and error.param is not None:
            raise UsageError(f"invalid {error.param.opts[0]}: {error.message.rstrip('.')}") from None
        if hasattr(error, "format_message"):
            raise UsageError(f"{error.format_message().rstrip('.')} ({_help_command(arguments)} says more)") from None
        raise
    if code == INTERRUPTED:  # typer's code for Ctrl-C
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _help_command(arguments: list[str]) -> str:
    from thresher.cli.app import app

    names = {command.name for command in app.registered_commands}
    known = arguments[:1] if arguments[:1] and arguments[0] in names else []
    return " ".join(["thresher", *known, "--help"])


def _end_quietly() -> None:
    """Keep Python from reporting signals and unwritable output at its exit."""
    ignore_signals()
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _prepare_streams() -> None:
    """Write UTF-8 whatever the locale is, and keep later files from taking the descriptor of a closed stream."""
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
