"""Places where a process may die, fail or dawdle that strace does not reach; set from outside, in a process of a test.

The program knows nothing of them: `set_failpoint` puts something before or behind what it calls. `POINTS` names them.
"""

import os
import signal
import sqlite3
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any

from thresher.journal import journaled_model as desks
from thresher.journal import schema
from thresher.model import online_learning
from thresher.model_file import io
from thresher.support import atomic_file

POINTS = (
    "before_begin", "after_insert", "before_commit", "after_commit_before_apply", "mid_apply",
    "after_apply_before_reply", "snapshot_open", "snapshot_half", "snapshot_before_fsync", "snapshot_before_rename",
    "snapshot_before_dirsync", "compact_half", "replay_half", "migrate_half",
)  # fmt: skip
ACTIONS = ("kill", "raise", "hurry", "sleep")
met: Counter[str] = Counter()


class FailpointError(Exception):
    """What is raised at a place, and means nothing to the program."""


class HastyError(BaseException):
    """The same, as a signal raises it: not an Exception."""


def act(action: str) -> None:
    """Do what is to be done at a place."""
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "raise":
        raise FailpointError("a failpoint")
    elif action == "hurry":
        raise HastyError("a failpoint")
    elif action == "sleep":
        time.sleep(0.02)


def set_failpoint(point: str, action: str, number: int) -> None:
    """Have something happen where a place is reached the so-manieth time; at all others only count."""

    def reached(name: str) -> None:
        met[name] += 1
        if (name, met[name]) == (point, number):
            act(action)

    _in_transactions(reached)
    _in_snapshots(reached)
    after(online_learning, "_learn_rows", lambda: reached("mid_apply"))
    after(desks.JournaledModel, "_apply", lambda: reached("after_apply_before_reply"))
    before(desks, "prepare_record", lambda *_: reached("replay_half"))
    before(schema, "seal", lambda *_: reached("migrate_half"))


def _in_transactions(reached: Callable[[str], None]) -> None:
    class Watched(sqlite3.Connection):
        def execute(self, query: str, *values: Any) -> sqlite3.Cursor:
            if query.startswith("BEGIN"):
                reached("before_begin")
            if query == "COMMIT":
                reached("before_commit")
            if query == "VACUUM":
                self.set_progress_handler(lambda: _stops(reached), 20)
            found = super().execute(query, *values)
            self.set_progress_handler(None, 0)
            if query.startswith("INSERT INTO records"):
                reached("after_insert")
            if query == "COMMIT":
                reached("after_commit_before_apply")
            return found

    sqlite3.connect = partial(sqlite3.connect, factory=Watched)  # type: ignore[assignment]


def _stops(reached: Callable[[str], None]) -> int:
    """Return whether SQLite should interrupt its work; SQLite calls this regularly."""
    try:
        reached("compact_half")
    except (FailpointError, HastyError):
        return 1
    return 0


def _in_snapshots(reached: Callable[[str], None]) -> None:
    after(atomic_file, "_create_temporary", lambda: reached("snapshot_open"))
    before(Path, "replace", lambda *_: reached("snapshot_before_rename"))
    whole = io.whole_file  # type: ignore[attr-defined]

    @contextmanager
    def in_halves(*given: Any) -> Iterator[Any]:
        with whole(*given) as file:
            write = file.write

            def write_half(data: bytes) -> None:
                write(data[: len(data) // 2])
                file.flush()
                reached("snapshot_half")
                write(data[len(data) // 2 :])

            yield type("Halves", (), {"write": staticmethod(write_half)})

    def synced(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            reached("snapshot_before_fsync")

    io.whole_file = in_halves  # type: ignore[attr-defined, assignment]
    before(os, "fsync", synced)
    before(atomic_file, "sync_folder", lambda *_: reached("snapshot_before_dirsync"))


def before(owner: Any, name: str, then: Callable[..., object]) -> None:
    """Have something called before a function, with what that is given."""
    function = getattr(owner, name)

    @wraps(function)
    def called(*given: Any, **more: Any) -> Any:
        then(*given)
        return function(*given, **more)

    setattr(owner, name, called)


def after(owner: Any, name: str, then: Callable[[], object]) -> None:
    """Have something called after a function."""
    function = getattr(owner, name)

    @wraps(function)
    def called(*given: Any, **more: Any) -> Any:
        found = function(*given, **more)
        then()
        return found

    setattr(owner, name, called)
