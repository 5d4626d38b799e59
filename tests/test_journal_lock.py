import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from thresher.errors import JournalBusyError
from thresher.journal_lock import LOCK, owner_of, take_lock


@pytest.fixture
def gone() -> int:
    """Return the number of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def locked_with(path: Path, content: str) -> int:
    """Lock a file, and leave in it what a process left that has not said yet that it is the owner."""
    descriptor = take_lock(path)
    path.write_text(content)
    return descriptor


@pytest.mark.parametrize("before", ["", "gone\n"])
def test_whoever_has_it_is_named_though_it_says_so_late(tmp_path: Path, gone: int, before: str) -> None:
    path = tmp_path / LOCK
    descriptor = locked_with(path, before.replace("gone", str(gone)))
    late = threading.Timer(0.2, path.write_text, [f"{os.getpid()}\n"])
    late.start()
    with pytest.raises(JournalBusyError, match=f"process {os.getpid()} has the journal"):
        take_lock(path)
    late.join()
    os.close(descriptor)


def test_whoever_never_says_so_is_not_waited_for(tmp_path: Path) -> None:
    descriptor = locked_with(tmp_path / LOCK, "")
    began = time.monotonic()
    with pytest.raises(JournalBusyError, match="process unknown has the journal"):
        take_lock(tmp_path / LOCK)
    assert time.monotonic() - began < 10
    os.close(descriptor)


def test_the_process_of_another_user_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(pid: int, number: int) -> None:
        raise PermissionError(pid, number)

    descriptor = locked_with(tmp_path / LOCK, "1\n")
    monkeypatch.setattr(os, "kill", refused)
    assert owner_of(tmp_path) == "1"
    os.close(descriptor)


def test_a_lock_that_nobody_has_has_no_owner(tmp_path: Path) -> None:
    assert owner_of(tmp_path) is None
    os.close(take_lock(tmp_path / LOCK))
    assert owner_of(tmp_path) is None
    assert (tmp_path / LOCK).stat().st_mode & 0o777 == 0o600


def test_a_lock_that_cannot_be_taken_for_another_reason_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(descriptor: int, operation: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("fcntl.flock", broken)
    with pytest.raises(OSError, match="Input/output error"):
        take_lock(tmp_path / LOCK)
