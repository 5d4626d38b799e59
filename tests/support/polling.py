"""Polls services while tests run, and records slow answers."""

import os
import resource
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

slow: list[str] = []  # what was found since a test began; `lively` of conftest.py fails the test for it
_EVERY, _TICK, _LONGEST = 0.1, 0.02, 0.5  # seconds
_CONNECTS_WITHIN = 5.0  # seconds


@contextmanager
def watched(port: int, can_answer: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Poll a service while the block runs; the time during which it cannot answer does not count."""
    ending = threading.Event()
    polling = threading.Thread(target=_poll, args=(port, ending, can_answer), name="polling")
    polling.start()
    try:
        yield
    finally:
        ending.set()
        polling.join(10)


@contextmanager
def watched_process(port: int, pid: int) -> Iterator[None]:
    """Poll a service in a process of its own while the block runs, except while a test starves or stops it."""
    with watched(port, lambda: _is_free(pid)):
        yield


def _poll(port: int, ending: threading.Event, can_answer: Callable[[], bool]) -> None:
    """Note where a service takes half a second to answer.

    What is counted is the ticks of this thread. A test may hold Python's lock, to compile a kernel say, and the system
    may run other processes: while this thread does not run no time goes by. So of a service in this process only a
    stall is found that lets other threads run, and of one in a process of its own every stall.
    """
    asked = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    while not ending.wait(_EVERY):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=_CONNECTS_WITHIN) as connection:
                while not ending.wait(_EVERY):
                    if can_answer() and not _ask(connection, asked, ending, can_answer):
                        break
        except TimeoutError:
            _note(_CONNECTS_WITHIN)
        except OSError:  # it was killed, or has ended
            pass


def _ask(connection: socket.socket, asked: bytes, ending: threading.Event, can_answer: Callable[[], bool]) -> bool:
    """Ask once; returns whether the connection goes on."""
    connection.sendall(asked)
    waited = 0.0
    while not ending.is_set() and not select.select([connection], [], [], _TICK)[0]:
        waited += _TICK * can_answer()
    if waited >= _LONGEST:
        _note(waited)
    return not ending.is_set() and bool(connection.recv(2**12))


def _note(seconds: float) -> None:
    slow.append(f"/healthz took {seconds:.1f} s in {os.environ.get('PYTEST_CURRENT_TEST', 'no test')}")


def _is_free(pid: int) -> bool:
    """Return whether a process lives, is not stopped, and may have all the memory that it asks for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "TtZX" and resource.prlimit(pid, resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
    except OSError:
        return False
