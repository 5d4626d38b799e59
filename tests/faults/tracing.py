"""strace over a process: system calls that fail or kill when they are called, and a record of those that were made."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from faults.harness import LONGEST_WAIT, Running

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace, which only Linux has")
_LINE = re.compile(r"(?P<pid>\d+) +(?P<rest>.*)")
_RESUMED = re.compile(r"<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)")


class Call(NamedTuple):
    """A system call in the output of strace: the lines where it began and ended, and its result."""

    name: str
    said: str
    began: int
    ended: int

    @property
    def succeeded(self) -> bool:
        return re.search(r"\) += \d", self.said) is not None

    @property
    def was_injected(self) -> bool:
        return "(INJECTED)" in self.said

    def is_on(self, name: str) -> bool:
        """Return whether its first argument is an open file of a path that ends so."""
        return re.match(rf"\w+\(\d+<[^>]*{re.escape(name)}>", self.said) is not None


@contextmanager
def injected(running: Running, calls: str, fault: str, *, also: str = "", on: Path | None = None) -> Iterator[Path]:
    """Trace a forked process that waits for it, with a fault in some system calls, and kill it at the end.

    Each thread counts its own calls: those of a journal are made by one. Gives the record, in which calls stand that
    are to be there `also`; with `on` only those on that file are counted and recorded.
    """
    record = running.err.with_suffix(".trace")
    traced = calls + (f",{also}" if also else "")
    options = ["-f", "-qq", "-y", "-o", str(record), "-e", f"trace={traced}", "-e", "signal=none"]
    options += [] if on is None else ["-P", str(on)]
    command = ["strace", *options, "-e", f"inject={calls}:{fault}", "-p", str(running.pid)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as tracer:
        try:
            while not record.exists():
                assert tracer.poll() is None, tracer.communicate()
                time.sleep(0.005)
            yield record
        finally:
            running.kill()
            tracer.communicate(timeout=LONGEST_WAIT)


def read_calls(record: Path) -> list[Call]:
    """Return the calls of a record, in the order in which they ended; those that never did come last."""
    found: list[Call] = []
    begun: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(record.read_text(errors="replace").splitlines()):
        matched = _LINE.fullmatch(line)
        assert matched, line
        pid, rest = matched["pid"], matched["rest"]
        resumed = _RESUMED.search(rest)
        if rest.endswith("<unfinished ...>"):
            begun[pid] = number, rest.removesuffix("<unfinished ...>").rstrip()
        elif resumed and pid in begun:
            began, first = begun.pop(pid)
            found.append(_call(first + resumed["rest"], began, number))
        elif "(" in rest:
            found.append(_call(rest, number, number))
    return found + [_call(said, began, 2**62) for began, said in begun.values()]


def _call(said: str, began: int, ended: int) -> Call:
    said = re.sub(r"^[\d:.]+ ", "", said)  # the time
    said = re.sub(r"(?<=<)(\\x[0-9a-f]{2})+(?=>)", lambda found: plain(found[0]), said)  # -xx hides paths too
    return Call(said.partition("(")[0], said, began, ended)


def plain(written: str) -> str:
    """Return text of which strace wrote every byte in hexadecimal.

    >>> plain(r"\\x6f\\x6b")
    'ok'
    """
    return bytes.fromhex(written.replace(r"\x", "")).decode("utf-8", "replace")
