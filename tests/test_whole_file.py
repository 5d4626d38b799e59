"""A file is written whole or not at all, under its own name only when it is."""

import errno
import os
import stat
from io import BufferedIOBase
from pathlib import Path

import pytest

from thresher.whole_file import whole_file


def write(path: Path, content: bytes = b"new") -> None:
    with whole_file(path) as file:
        file.write(content)


def test_a_new_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with whole_file(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path: Path) -> None:
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


def test_what_the_check_refuses_is_not_put_in_place(tmp_path: Path) -> None:
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


def test_errors_name_the_file_that_was_asked_for(tmp_path: Path) -> None:
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
