"""A file is written whole or not at all, under its own name only when it is."""

import errno
import fcntl
import os
import re
import stat
import subprocess
import sys
from io import BufferedIOBase
from pathlib import Path

import pytest

from support.open_files import no_more_open_files
from thresher.support.atomic_file import lock_folder, remove_leftover_folder, sync_folder, whole_file, whole_folder


def write(path: Path, content: bytes = b"new") -> None:
    with whole_file(path) as file:
        file.write(content)


def test_a_new_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with whole_file(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with whole_file(str(path)) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize(
    "error", [ValueError("bad"), OSError(errno.ENOSPC, "full"), KeyboardInterrupt(), SystemExit(1)]
)
def test_an_error_leaves_nothing_behind(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def write_half() -> None:
        with whole_file(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)) as caught:
        write_half()
    assert caught.value is error
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_the_check_refuses_is_not_put_in_place(tmp_path: Path) -> None:
    def check(file: BufferedIOBase) -> None:
        assert file.read() == b"new"
        raise ValueError("unreadable")

    with pytest.raises(ValueError, match="unreadable"), whole_file(tmp_path / "a", check) as file:
        file.write(b"new")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_sync_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "lost")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="lost"):
        write(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_are_on_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    real_sync, real_replace = os.fsync, Path.replace

    def sync(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real_sync(descriptor)

    def replace(self: Path, target: Path) -> Path:
        steps.append("name")
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", replace)
    write(tmp_path / "a")
    assert steps == ["file", "name", "folder"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("target")
    write(link)
    assert link.is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_loop_of_links_is_an_error_of_the_system(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(OSError, match="loop") as caught:
        write(loop)
    assert caught.value.errno == errno.ELOOP


def test_permissions_never_become_wider(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    path.chmod(0o600)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["x" * 255, "ü" * 127])
def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path, name: str) -> None:
    write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"new"


def test_errors_name_the_requested_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write(tmp_path / "nowhere" / "a")
    assert caught.value.filename == str(tmp_path / "nowhere" / "a")


def test_folders_pipes_and_devices_are_not_replaced(tmp_path: Path) -> None:
    folder, pipe = tmp_path / "folder", tmp_path / "pipe"
    folder.mkdir()
    os.mkfifo(pipe)
    with pytest.raises(IsADirectoryError):
        write(folder)
    for path in (pipe, Path("/dev/full")):
        with pytest.raises(OSError, match="not a regular file"):
            write(path)
    assert sorted(tmp_path.iterdir()) == [folder, pipe]


def test_a_new_file_has_the_permissions_that_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write(tmp_path / "a")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666
        (tmp_path / "a").chmod(0o4755)
        write(tmp_path / "a")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o755
    finally:
        os.umask(before)


def test_a_temporary_file_is_hidden_and_named_after_its_target(tmp_path: Path) -> None:
    with whole_file(tmp_path / "model.thresher"):
        (half,) = tmp_path.iterdir()
        assert re.fullmatch(r"\.model\.thresher\.[0-9a-f]{8}\.tmp", half.name)


def test_the_temporary_file_of_another_process_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda size: "0" * size)
    (tmp_path / ".a.0000.tmp").write_bytes(b"another's")
    with pytest.raises(FileExistsError) as caught:
        write(tmp_path / "a")
    assert caught.value.filename == str(tmp_path / "a")
    assert (tmp_path / ".a.0000.tmp").read_bytes() == b"another's"


def test_a_temporary_file_that_is_gone_causes_no_second_error(tmp_path: Path) -> None:
    def lose(file: BufferedIOBase) -> None:
        next(tmp_path.glob(".a.*.tmp")).unlink()
        raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"), whole_file(tmp_path / "a", lose):
        pass


def test_the_file_is_written_even_if_folders_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_DIRECTORY")  # as on Windows
    write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_folder_is_synced_and_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").touch()
    with no_more_open_files():
        sync_folder(tmp_path)
    with pytest.raises(NotADirectoryError):
        sync_folder(tmp_path / "a")
    monkeypatch.setattr(os, "fsync", lambda descriptor: 1 / 0)
    with no_more_open_files(), pytest.raises(ZeroDivisionError):
        sync_folder(tmp_path)


LEAVE = """
import os, signal, sys
from thresher.support.atomic_file import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"half")
    print("begun", flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
"""


def test_files_of_killed_processes_are_removed_and_files_in_use_are_not(tmp_path: Path) -> None:
    path = tmp_path / "a[1]"
    subprocess.run([sys.executable, "-c", LEAVE, str(path), "killed"], check=False)
    (left,) = tmp_path.iterdir()
    command = [sys.executable, "-c", LEAVE, str(path), "alive"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert not left.exists()
        (theirs,) = tmp_path.iterdir()
        write(path, b"ours")
        assert sorted(tmp_path.iterdir()) == sorted([path, theirs])
        other.communicate()
    assert path.read_bytes() == b"half"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_another_process_removed_as_a_leftover_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = fcntl.flock, list[int]()

    def too_late(descriptor: int, how: int) -> None:
        if not seen:
            next(tmp_path.glob(".a.*.tmp")).unlink()
        seen.append(descriptor)
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", too_late)
    write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert len(seen) == 2


@pytest.mark.parametrize("without", ["locks", "permission"])
def test_nothing_is_removed_if_files_cannot_be_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    def refused(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    left = tmp_path / ".a.0123abcd.tmp"
    left.write_bytes(b"left")
    if without == "locks":
        monkeypatch.setattr("thresher.support.atomic_file.fcntl", None)  # as on Windows
    else:
        monkeypatch.setattr(fcntl, "flock", refused)
    write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert left.exists()


def test_only_unlocked_leftovers_of_the_same_file_are_removed(tmp_path: Path) -> None:
    others = [
        ".a.0123abcd",
        ".b.0123abcd.tmp",
        ".a.0123abc.tmp",
        ".a.0123abcde.tmp",
        ".a.0123wxyz.tmp",
        "a.0123abcd.tmp",
    ]
    for name in (*others, ".a.0123abcd.tmp", ".a.89abcdef.tmp", ".a.76543210.tmp"):
        (tmp_path / name).touch()
    with no_more_open_files(), (tmp_path / ".a.89abcdef.tmp").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        write(tmp_path / "a")
        assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*others, ".a.89abcdef.tmp", "a"])
    write(tmp_path / "a")
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*others, "a"])


def test_a_file_is_locked_until_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_replace, refused = Path.replace, []

    def replace(self: Path, target: Path) -> Path:
        with self.open() as file, pytest.raises(BlockingIOError) as caught:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        refused.append(caught)
        return real_replace(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    write(tmp_path / "a")
    assert len(refused) == 1
    with (tmp_path / "a").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_nothing_stays_open_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with no_more_open_files(), pytest.raises(ZeroDivisionError), whole_file(tmp_path / "a", lambda file: 1 / 0):
        pass
    real, seen = fcntl.flock, list[int]()

    def too_late(descriptor: int, how: int) -> None:
        for half in () if seen else tmp_path.glob(".a.*.tmp"):
            half.unlink()
        seen.append(descriptor)
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", too_late)
    with no_more_open_files():
        write(tmp_path / "a")


def test_a_new_file_waits_for_its_lock_and_a_leftover_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, how: asked.append(how))
    (tmp_path / ".a.0123abcd.tmp").touch()
    write(tmp_path / "a")
    assert asked == [fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_EX]


# Permissions.


@pytest.mark.parametrize(
    ("before", "most", "after"),
    [(None, 0o600, 0o600), (0o644, 0o600, 0o600), (0o400, 0o600, 0o400), (0o644, None, 0o644)],
)
def test_permissions_are_at_most_those_requested(
    tmp_path: Path, before: int | None, most: int | None, after: int
) -> None:
    path = tmp_path / "a"
    if before is not None:
        path.touch()
        path.chmod(before)
    with whole_file(path, mode=most) as file:
        (half,) = tmp_path.glob(".a.*")
        assert stat.S_IMODE(half.stat().st_mode) == after, "nobody else may read what is written"
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == after


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can choose any group")
def test_the_group_of_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    path.chmod(0o640)
    os.chown(path, -1, 4711)
    write(path)
    assert (path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (4711, 0o640)


def test_no_other_group_may_read_if_the_group_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = tmp_path / "a", os.fstat
    path.touch()
    path.chmod(0o644)

    def in_another_group(descriptor: int) -> os.stat_result:
        found = list(real(descriptor))
        found[5] += 1
        return os.stat_result(found)

    def refused(descriptor: int, user: int, group: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fstat", in_another_group)
    monkeypatch.setattr(os, "fchown", refused)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


# Folders.


def test_a_folder_gets_its_name_when_it_is_complete_and_is_private_before(tmp_path: Path) -> None:
    whole = tmp_path / "copy"
    with whole_folder(whole) as half:
        (half / "a").touch()
        assert not whole.exists()
        assert stat.S_IMODE(half.stat().st_mode) == 0o700
    assert [path.name for path in whole.iterdir()] == ["a"]
    assert list(tmp_path.iterdir()) == [whole]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_no_folder_behind(tmp_path: Path, error: type[BaseException]) -> None:
    def write_half() -> None:
        with whole_folder(tmp_path / "copy") as half:
            (half / "a").touch()
            raise error

    with no_more_open_files(), pytest.raises(error):
        write_half()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError) as caught, whole_folder(tmp_path / "nowhere" / "copy"):
        pass
    assert caught.value.filename == str(tmp_path / "nowhere" / "copy")


LEAVE_FOLDER = """
import os, signal, sys
from thresher.support.atomic_file import whole_folder
with whole_folder(sys.argv[1]) as half:
    (half / "texts").write_text("half")
    print("begun", flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
"""


def test_a_folder_of_a_killed_process_is_removed_by_the_next_writer(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", LEAVE_FOLDER, str(tmp_path / "monday"), "killed"], check=False)
    (left,) = tmp_path.iterdir()
    assert (left / "texts").read_text() == "half"
    command = [sys.executable, "-c", LEAVE_FOLDER, str(tmp_path / "tuesday"), "alive"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert not left.exists()
        (theirs,) = tmp_path.iterdir()
        with whole_folder(tmp_path / "wednesday"):
            pass
        assert sorted(tmp_path.iterdir()) == sorted([theirs, tmp_path / "wednesday"])
        other.communicate()
    assert {path.name for path in tmp_path.iterdir()} == {"tuesday", "wednesday"}


def test_only_an_unlocked_folder_of_the_same_user_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    (folder / "deep").mkdir(parents=True)
    link.symlink_to(folder)
    remove_leftover_folder(link)
    descriptor = lock_folder(folder)
    remove_leftover_folder(folder)
    os.close(descriptor)
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        remove_leftover_folder(folder)
    assert folder.exists()
    with no_more_open_files():
        remove_leftover_folder(folder)
        remove_leftover_folder(folder)
    assert not folder.exists()


def test_a_folder_that_another_process_removed_as_a_leftover_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = fcntl.flock, list[Path]()

    def too_late(descriptor: int, how: int) -> None:
        seen.extend(tmp_path.iterdir())
        if len(seen) == 1:
            seen[0].rmdir()
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", too_late)
    with whole_folder(tmp_path / "copy"):
        pass
    assert len(seen) == 2
    assert list(tmp_path.iterdir()) == [tmp_path / "copy"]
