"""A process that has imported everything and forks: each child begins at once, as if it had just been started.

Starting Python and its imports takes most of a second, a fork a few milliseconds. It opens no journal itself, and
has no thread of its own when it forks. `Nursery` starts it; `python -m faults.nursery FD` is the process.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from support.paths import TESTS

_ANYONE_MAY_TRACE = (0x59616D61, -1)  # PR_SET_PTRACER, PR_SET_PTRACER_ANY


class Nursery:
    """The process that forks others, as seen by a test."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair()
        path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}  # no threads before the fork
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.nursery", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        assert self._line.recv(100) == b"ready", "the nursery did not start"

    def fork(self, code: str, out: int, err: int, *, traced: bool = False) -> int:
        """Have a new process run some code, with these streams, and return its number.

        One that is to be `traced` waits until it is.
        """
        socket.send_fds(self._line, [json.dumps({"code": code, "traced": traced}).encode()], [out, err])
        return int(self._line.recv(100))

    def wait(self, pid: int, seconds: float) -> int | None:
        """Return how a process ended, None if it did not within so many seconds."""
        self._line.send(json.dumps({"wait": pid, "seconds": seconds}).encode())
        code: int | None = json.loads(self._line.recv(100))
        return code

    def close(self) -> None:
        """End it, and nothing that it forked."""
        self._line.close()
        self._process.wait(30)


def main(line: socket.socket) -> None:
    """Fork whenever one is asked for, until nobody asks any more."""
    _warm_up()
    line.send(b"ready")
    while True:
        message, descriptors, _, _ = socket.recv_fds(line, 2**20, 2)
        if not message:
            return
        asked = json.loads(message)
        if "wait" in asked:
            line.send(json.dumps(_ended(asked["wait"], asked["seconds"])).encode())
            continue
        pid = os.fork()
        if pid == 0:
            line.close()
            _live(asked, *descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        line.send(str(pid).encode())


def _warm_up() -> None:
    """Import what a service needs, and let compiled code be loaded."""
    from thresher.cli.loading import import_numba

    import_numba()
    import thresher.cli.app
    import thresher.web.server  # noqa: F401
    from faults import sessions  # noqa: F401
    from faults.ledger import begin_model
    from thresher.journal.journaled_model import JournaledModel

    with tempfile.TemporaryDirectory() as folder, JournaledModel(begin_model(Path(folder)), new=True) as desk:
        desk.correct("1", "oil new", accept=["energy"], reject=["grain"])
        desk.correct("2", "oil newer", categories=["wood"])


def _live(asked: dict[str, Any], out: int, err: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, out, err)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    if asked["traced"]:
        ctypes.CDLL(None).prctl(*_ANYONE_MAY_TRACE, 0, 0, 0)
        while "TracerPid:\t0\n" in Path("/proc/self/status").read_text():
            time.sleep(0.002)
    exec(asked["code"], {"__name__": "__main__"})


def _ended(pid: int, seconds: float) -> int | None:
    end = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            return None
        time.sleep(0.002)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
