"""The command line: one short function a verb, over the library; `thresher` and `python -m thresher` start here."""

import os
import signal
import sys
from typing import Any

from thresher.cli.failures import TERMINATED, TerminatedError, UsageError, report
from thresher.cli.options import REPEATABLE


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, and exit with its code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run a verb, and return the exit code; an error is one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, _terminate)
    try:
        _check_once(arguments)
        code = _called(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not try to write the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BaseException as error:
        return _failed(error, "--debug" in arguments)


def _called(arguments: list[str]) -> int:
    import typer

    from thresher.cli.app import app

    command = typer.main.get_command(app)
    try:
        result = command.main(args=arguments, prog_name="thresher", standalone_mode=False)
    except Exception as error:
        if hasattr(error, "format_message"):
            hint = " ".join(["thresher", *arguments[:1], "--help"]) if arguments else "thresher --help"
            raise UsageError(f"{error.format_message().rstrip('.')} ({hint} says more)") from None
        if type(error).__name__ == "Abort":
            raise KeyboardInterrupt from None
        raise
    return result if isinstance(result, int) else 0


def _failed(error: BaseException, debug: bool) -> int:
    try:
        return report(error, debug)
    except BrokenPipeError:
        return TERMINATED


def _terminate(*_: Any) -> None:
    raise TerminatedError


def _check_once(arguments: list[str]) -> None:
    """Refuse an option that is given twice; of two values one would be dropped without a word."""
    seen: set[str] = set()
    for argument in arguments:
        if argument == "--":
            return
        name = argument.partition("=")[0]
        if name.startswith("--") and name[2:] not in REPEATABLE:
            if name in seen:
                raise UsageError(f"{name} is given twice (give it once)")
            seen.add(name)
