"""Compiled kernels are executed, so they are cached where nobody else can write."""

import json
import os
import pickle
import stat
from pathlib import Path
from typing import Any

import pytest
from numba import config

from support.command_line import Run
from support.toy_kernels import module_in, was_loaded
from thresher.kernels.cache_folder import is_safe, safe_folder

Log = pytest.LogCaptureFixture
pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: Log) -> Log:
    """What is logged while a test runs; the user's cache is in a folder of its own."""
    caplog.set_level("INFO", "thresher.kernels")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    safe_folder.cache_clear()
    return caplog


def made(path: Path, mode: int) -> Path:
    path.mkdir(parents=True)
    path.chmod(mode)
    return path


class Canary:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_folder_that_others_can_write_to_is_reported_and_replaced_by_a_private_one(
    logged: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, open_to_all = made(tmp_path / "program", 0o755), made(tmp_path / "open", 0o777)
    monkeypatch.setattr(config, "CACHE_DIR", str(open_to_all))
    assert not was_loaded(program)
    assert was_loaded(program)
    assert not list(open_to_all.rglob("*.nb?"))
    (own,) = (tmp_path / "own" / "thresher" / "kernels").iterdir()
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert list(own.glob("toy.*.nbc"))
    (said,) = logged.messages
    assert str(open_to_all) in said
    assert f"others can write there, and cached code is executed; compiled kernels are kept in {own}" in said


def test_files_that_others_put_there_are_not_run(logged: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, shared = made(tmp_path / "program", 0o755), made(tmp_path / "shared", 0o755)
    monkeypatch.setattr(config, "CACHE_DIR", str(shared))
    assert not was_loaded(program)
    poison = pickle.dumps(Canary(tmp_path / "run"))
    files = [path for path in shared.rglob("toy.*") if path.is_file()]
    for path in files:
        path.write_bytes(poison)
    files[0].parent.chmod(0o777)
    safe_folder.cache_clear()
    assert module_in(program).tenfold(4) == 40
    assert logged.messages
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("mode", "parent", "safe"),
    [(0o700, 0o755, True), (0o755, 0o755, True), (0o775, 0o755, True), (0o777, 0o755, False), (0o1777, 0o755, False),
     (0o702, 0o755, False), (0o755, 0o777, False), (0o755, 0o1777, True)],
)  # fmt: skip
def test_a_folder_is_only_as_safe_as_its_parents(tmp_path: Path, mode: int, parent: int, safe: bool) -> None:
    program, folder = made(tmp_path / "program", 0o755), made(tmp_path / "around" / "kernels", mode)
    folder.parent.chmod(parent)
    assert is_safe(folder, program) is safe


def test_users_who_can_write_the_program_are_trusted_with_its_kernels(tmp_path: Path) -> None:
    program = made(tmp_path / "program", 0o777)
    assert is_safe(made(program / "__pycache__", 0o777), program)


def test_a_folder_of_another_user_is_not_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, program = made(tmp_path / "theirs", 0o755), Path("/")
    assert is_safe(folder, program)
    if os.geteuid() == 0:
        os.chown(folder, 12345, 12345)
    else:  # we become someone else instead
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        monkeypatch.setattr(os, "getegid", lambda: 12345)
    assert not is_safe(folder, program)


def test_a_folder_of_another_group_is_not_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path / "theirs", 0o775)
    assert is_safe(folder, Path("/"))
    monkeypatch.setattr(os, "getegid", lambda: 12345)
    assert not is_safe(folder, Path("/"))


def test_nothing_is_cached_without_a_private_folder(
    logged: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, open_to_all = made(tmp_path / "program", 0o755), made(tmp_path / "open", 0o777)
    (tmp_path / "own").write_text("no folder")
    monkeypatch.setattr(config, "CACHE_DIR", str(open_to_all))
    assert not was_loaded(program)
    assert not was_loaded(program)
    assert not list(open_to_all.rglob("*.nb?"))


def test_the_doctor_reports_that_others_can_write_there(
    called: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(made(tmp_path / "open", 0o777)))
    ended = called("doctor", "--json")
    (check,) = (one for one in json.loads(ended.out)["checks"] if one["name"] == "compiled kernels")
    assert (ended.code, check["good"], check["found"]) == (1, False, f"{tmp_path / 'open'}: others may write there")
