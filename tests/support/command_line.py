"""Runs the real command in a process of its own, for tests of its behavior in a shell."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

COMMAND = [sys.executable, "-m", "thresher"]
# Linux takes from the program that is started next what its bounding set lacks: 1 and 2 are the capabilities to pass
# over permissions (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH), 24 drops one (PR_CAPBSET_DROP).
_BOUND = """
import ctypes, os, sys
if os.geteuid() == 0:
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-m", "thresher", *sys.argv[1:]])
"""


class Ended(NamedTuple):
    """The result of a command: its exit code, its output, and the CPU seconds that it took."""

    code: int
    out: str
    err: str
    seconds: float = 0.0


Run = Callable[..., Ended]


def thresher(
    *arguments: str | Path, env: dict[str, str | None] | None = None, command: list[str] | None = None
) -> Ended:
    """Run the command; `env` changes the environment, None removing a variable."""
    changed: dict[str, str | None] = {**os.environ, **(env or {})}
    environment = {name: value for name, value in changed.items() if value is not None}
    ended = subprocess.run(
        [*(command or COMMAND), *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def in_shell(line: str, **variables: str | Path) -> Ended:
    """Run a line of bash in which thresher is the command; with pipefail, as a careful script would."""
    environment = dict(os.environ) | {name: str(value) for name, value in variables.items()}
    script = f"set -o pipefail; thresher() {{ '{sys.executable}' -m thresher \"$@\"; }}; {line}"
    ended = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, timeout=300)
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def interrupted(arguments: Sequence[str | Path], shown: bytes, signals: list[signal.Signals]) -> Ended:
    """Run the command in a terminal, and send signals as soon as it shows some text.

    `seconds` is the CPU time from then to the end, which is what a machine with nothing else to do would take at most.
    """
    inside, outside = pty.openpty()
    environment = dict(os.environ) | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [*COMMAND, *arguments],
        env=environment,
        stdin=outside,
        stdout=subprocess.PIPE,
        stderr=outside,
        preexec_fn=_heed_signals,
    ) as process:
        os.close(outside)
        printed = _read_until(inside, shown)
        before = _cpu_so_far(process.pid)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.02)
        printed += _read_until(inside, b"\0")
        out = process.stdout.read() if process.stdout else b""
        seconds = _ended(process) - before
    os.close(inside)
    return Ended(process.returncode, out.decode(), printed.decode("utf-8", "replace"), seconds)


def _heed_signals() -> None:
    """Let signals end a process though the tests run under nohup, or in the background of a shell."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _cpu_so_far(pid: int) -> float:
    """Return the CPU seconds that a running process has taken, or 0 where the system does not report them."""
    path = Path(f"/proc/{pid}/stat")
    if not path.exists():
        return 0.0
    after_name = path.read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def _ended(process: "subprocess.Popen[bytes]") -> float:
    """Wait for a process, and return the CPU seconds that it has taken, of the user and of the system."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


def _read_until(terminal: int, wanted: bytes) -> bytes:
    printed = b""
    with suppress(OSError):  # what a terminal says at its end
        while wanted not in printed and (piece := os.read(terminal, 2**16)):
            printed += piece
    return printed


def cpu_seconds(*arguments: str | Path) -> float:
    """Return the CPU time, of the user and of the system, that the command takes."""
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = _ended(process)
    assert process.returncode == 0, arguments
    return seconds


def without_privileges(*arguments: str | Path) -> Ended:
    """Run the command so that permissions bind it; they do not bind root, who runs tests in many a container."""
    return thresher(*arguments, command=[sys.executable, "-c", _BOUND])


def said(ended: Ended, code: int, *parts: str) -> str:
    """Check the contract for a failure: the exit code, one line, nothing on standard output; returns the line."""
    assert (ended.code, ended.out) == (code, ""), ended
    assert ended.err.startswith("thresher: "), ended
    assert ended.err.count("\n") == 1, ended
    assert ended.err.endswith("\n")
    assert all(part in ended.err for part in parts), ended.err
    return ended.err
