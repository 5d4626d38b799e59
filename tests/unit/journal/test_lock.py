"""The lock of a journal: one process has it, and whoever comes second learns which."""

import errno
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from support.open_files import no_more_open_files
from thresher.errors import JournalBusyError, JournalError
from thresher.journal.lock import LOCK, note_closed, note_open, owner_of, take_lock, was_left_open


@pytest.fixture
def gone() -> int:
    """Return the number of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def locked_with(path: Path, content: str) -> int:
    """Lock a file, and leave in it what a process left that has not said yet that it is the owner."""
    descriptor, _ = take_lock(path)
    path.write_text(content)
    return descriptor


def at_the_pause(number: int, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Have something done in one of the pauses of whoever waits; returns what is set by then."""
    pauses, done = count(1), threading.Event()

    def sleep(_: float) -> None:
        if next(pauses) == number:
            act()
            done.set()

    monkeypatch.setattr(time, "sleep", sleep)
    return done


@pytest.mark.parametrize("before", ["", "gone\n"])
def test_an_owner_that_writes_its_pid_late_is_named(
    tmp_path: Path, gone: int, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / LOCK
    descriptor = locked_with(path, before.replace("gone", str(gone)))
    done = at_the_pause(30, lambda: path.write_text(f"{os.getpid()}\n"), monkeypatch)
    with pytest.raises(JournalBusyError, match=f"process {os.getpid()} has the journal"):
        take_lock(path)
    assert done.is_set()
    os.close(descriptor)


def test_an_owner_that_never_writes_its_pid_is_not_awaited(tmp_path: Path) -> None:
    descriptor = locked_with(tmp_path / LOCK, "")
    began = time.monotonic()
    with pytest.raises(JournalBusyError, match="process unknown has the journal"):
        take_lock(tmp_path / LOCK)
    assert time.monotonic() - began < 10
    os.close(descriptor)


def test_a_process_of_another_user_counts_as_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(pid: int, number: int) -> None:
        raise PermissionError(pid, number)

    slept: list[float] = []
    descriptor = locked_with(tmp_path / LOCK, "1\n")
    monkeypatch.setattr(os, "kill", refused)
    monkeypatch.setattr(time, "sleep", slept.append)
    assert (owner_of(tmp_path), sum(slept)) == ("1", 0)
    os.close(descriptor)


def test_a_lock_that_nobody_has_has_no_owner(tmp_path: Path) -> None:
    assert owner_of(tmp_path) is None
    os.close(take_lock(tmp_path / LOCK)[0])
    assert owner_of(tmp_path) is None
    assert (tmp_path / LOCK).stat().st_mode & 0o777 == 0o600


def test_a_lock_that_fails_for_another_reason_raises_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(descriptor: int, operation: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("fcntl.flock", broken)
    with pytest.raises(OSError, match="Input/output error"):
        take_lock(tmp_path / LOCK)


def test_a_lock_has_only_the_pid_of_its_owner(tmp_path: Path) -> None:
    path = tmp_path / LOCK
    path.write_text("12345678901234567890\nopen\n")
    descriptor, _ = take_lock(path)
    assert path.read_text() == f"{os.getpid()}\n"
    assert owner_of(tmp_path) == str(os.getpid())
    os.close(descriptor)


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_lock_that_cannot_be_written_is_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fail(descriptor: int, data: bytes) -> int:
        raise error

    with no_more_open_files(), monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        with pytest.raises(error):
            take_lock(tmp_path / LOCK)
    os.close(take_lock(tmp_path / LOCK)[0])


def test_asking_for_the_owner_leaves_nothing_open_and_nothing_locked(tmp_path: Path) -> None:
    os.close(take_lock(tmp_path / LOCK)[0])
    with no_more_open_files():
        owner_of(tmp_path)
    descriptor, _ = take_lock(tmp_path / LOCK)
    with no_more_open_files():
        owner_of(tmp_path)
    os.close(descriptor)


def test_reading_the_owner_does_not_prevent_locking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / LOCK).touch()
    with (tmp_path / LOCK).open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        done = at_the_pause(5, lambda: fcntl.flock(asking, fcntl.LOCK_UN), monkeypatch)
        os.close(take_lock(tmp_path / LOCK)[0])
        assert done.is_set()


def test_a_lock_shows_whether_its_owner_closed_the_journal(tmp_path: Path) -> None:
    path = tmp_path / LOCK
    assert not was_left_open(path)
    descriptor, _ = take_lock(path)
    assert not was_left_open(path)
    note_open(descriptor)
    assert was_left_open(path)
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\nopen\n"  # what other versions look for
    assert owner_of(tmp_path) == str(os.getpid())
    note_closed(descriptor)
    assert not was_left_open(path)
    assert path.read_text() == f"{os.getpid()}\n"
    os.close(descriptor)


def test_a_waiting_process_reads_how_the_lock_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, left_open = take_lock(tmp_path / LOCK)
    assert not left_open
    note_open(first)

    def close() -> None:
        note_closed(first)
        os.close(first)

    done = at_the_pause(5, close, monkeypatch)
    second, left_open = take_lock(tmp_path / LOCK)  # which begins while the first has it open
    assert done.is_set()
    assert not left_open
    note_open(second)
    os.close(second)
    third, left_open = take_lock(tmp_path / LOCK)
    assert left_open
    os.close(third)


def test_a_note_that_a_full_disk_refuses_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int, what: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    descriptor, _ = take_lock(tmp_path / LOCK)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        note_open(descriptor)
    assert not was_left_open(tmp_path / LOCK)
    note_open(descriptor)
    with monkeypatch.context() as patch:
        patch.setattr(os, "truncate", fail)
        note_closed(descriptor)
    assert was_left_open(tmp_path / LOCK)
    os.close(descriptor)


def test_a_free_lock_is_taken_at_once_and_another_is_tried_for_a_tenth_of_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    descriptor, _ = take_lock(tmp_path / LOCK)
    assert sum(slept) == 0
    with pytest.raises(JournalBusyError, match=f"process {os.getpid()} "):
        take_lock(tmp_path / LOCK)
    assert sum(slept) == pytest.approx(0.09)
    slept.clear()
    assert owner_of(tmp_path) == str(os.getpid())
    assert sum(slept) == 0
    (tmp_path / LOCK).write_bytes(b"\xff?\n")  # what no process has written
    assert owner_of(tmp_path) == "\ufffd?"
    assert sum(slept) == pytest.approx(0.49)
    os.close(descriptor)


# What someone else put in its place.


def test_a_link_in_place_of_the_lock_is_refused_and_what_it_names_stays(tmp_path: Path) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "journal"
    precious.write_text("kept")
    folder.mkdir()
    (folder / LOCK).symlink_to(precious)
    with no_more_open_files(), pytest.raises(JournalError, match=r"lock: is a link, and not the lock .*\(remove it\)$"):
        take_lock(folder / LOCK)
    assert (owner_of(folder), was_left_open(folder / LOCK)) == (None, False)
    assert precious.read_text() == "kept"
    (folder / LOCK).unlink()
    (folder / LOCK).symlink_to(tmp_path / "nowhere")
    with pytest.raises(JournalError, match="is a link"):
        take_lock(folder / LOCK)
    assert not (tmp_path / "nowhere").exists()


def test_a_hard_link_is_refused_as_a_lock_and_the_file_stays(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    os.link(precious, tmp_path / LOCK)
    with no_more_open_files(), pytest.raises(JournalError, match="is also the file of another name"):
        take_lock(tmp_path / LOCK)
    assert precious.read_text() == "kept"


def test_a_pipe_in_place_of_the_lock_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LOCK)
    with no_more_open_files(), pytest.raises(JournalError, match="is not a file, and not the lock"):
        take_lock(tmp_path / LOCK)
    assert (owner_of(tmp_path), was_left_open(tmp_path / LOCK)) == (None, False)


def test_the_lock_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / LOCK).touch()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 4711)
    if os.getuid() == 0:
        os.chown(tmp_path / LOCK, 65534, -1)
    with no_more_open_files(), pytest.raises(JournalError, match=r"lock: is another user's \(\d+\)"):
        take_lock(tmp_path / LOCK)
