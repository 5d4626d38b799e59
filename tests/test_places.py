"""Where a model and its journal lie: what is wrong with the place is said by the doctor, and a bad one refused."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cli import Run, said
from faults.ledger import begin_model, content_of, copied
from thresher.desk import Desk, journal_folder
from thresher.errors import JournalError
from thresher.places import anyone_may_write, file_system_of

MOUNTS = """
23 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
24 23 0:5 / /proc rw,nosuid - proc proc rw
31 23 0:40 / /home rw - nfs4 server:/home rw,vers=4.2
32 31 8:2 / /home/ann rw - ext4 /dev/sdb1 rw
33 23 0:41 / /mnt/two\\040words rw - cifs //server/share rw
34 23 0:42 / /media rw - vfat /dev/sdc1 rw
35 23 0:43 / /media rw - fuse.sshfs host: rw
""".lstrip()


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text(MOUNTS)
    monkeypatch.setattr("thresher.places.MOUNTS", path)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return begin_model(tmp_path / "models")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/etc", "ext4"), ("/", "ext4"), ("/proc/1", "proc"), ("/home/bob/desk", "nfs4"), ("/homes", "ext4"),
        ("/home/ann/desk", "ext4"), ("/mnt/two words/x", "cifs"), ("/media/x", "fuse.sshfs"),
    ],
)  # fmt: skip
def test_a_path_lies_on_the_innermost_file_system(mounts: Path, path: str, kind: str) -> None:
    assert file_system_of(path) == kind


def test_where_the_system_does_not_tell_nothing_is_said(mounts: Path) -> None:
    mounts.unlink()
    assert file_system_of("/") == ""


def test_a_journal_is_not_kept_on_a_network(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.journal.file_system_of", lambda folder: "nfs4")
    with pytest.raises(JournalError, match="is on a network file system, nfs4"):
        Desk(model)
    monkeypatch.setattr("thresher.journal.file_system_of", lambda folder: "")
    Desk(model).close()


@pytest.mark.parametrize(("mode", "open_to_all"), [(0o755, False), (0o775, False), (0o757, True), (0o1777, False)])
def test_anyone_may_write_to_what_is_open_to_all(tmp_path: Path, mode: int, open_to_all: bool) -> None:
    tmp_path.chmod(mode)
    assert anyone_may_write(tmp_path) == open_to_all
    (tmp_path / "a").touch()
    (tmp_path / "a").chmod(0o646)
    assert anyone_may_write(tmp_path / "a")


def checks(called: Run, model: Path, code: int = 1) -> dict[str, dict[str, Any]]:
    ended = called("doctor", model, "--json")
    assert (ended.code, ended.err) == (code, "")
    told = json.loads(ended.out)
    assert told["good"] == (code == 0)
    return {check["name"]: check for check in told["checks"]}


def test_a_model_in_a_good_place_is_said_to_be(called: Run, model: Path) -> None:
    assert checks(called, model, 0)["journal"]["found"] == "none"
    with Desk(model) as desk:
        assert checks(called, model, 0)["journal"]["found"].endswith(f", open in process {os.getpid()}")
        desk.write_model()
    link = model.with_name("link.thresher")
    link.symlink_to(model)
    found = checks(called, link, 0)
    assert found["model"]["found"] == f"{link} -> {model}"
    assert found["journal"]["found"] == str(journal_folder(model))
    said(called("doctor", model.with_name("none")), 66, "none: No such file")


def test_whatever_is_wrong_with_the_place_is_named(called: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Desk(model).close()
    for path in (model, model.parent, journal_folder(model), journal_folder(model) / "journal.sqlite3"):
        mode = path.stat().st_mode
        path.chmod(mode | 0o002)
        found = checks(called, model)["permissions"]
        assert (found["found"], found["good"]) == (f"anyone may write to {path}", False)
        path.chmod(mode)
    with monkeypatch.context() as patch:
        patch.setattr("thresher.cli.model_place.file_system_of", lambda place: "nfs")
        assert "--journal" in checks(called, model)["file system"]["advice"]
    real = os.statvfs(model)
    for change, word in (({"f_favail": 0}, "inodes"), ({"f_bavail": 10}, "0 MB")):
        values = {name: getattr(real, name) for name in dir(real) if name.startswith("f_")} | {"f_files": 10} | change
        with monkeypatch.context() as patch:
            patch.setattr(os, "statvfs", lambda place, values=values: type("Found", (), values))
            assert word in checks(called, model)["room"]["found"]


def test_another_user_s_model_is_told(called: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(model, 4711, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert checks(called, model)["owner"]["found"] == f"{model} is another user's"


def test_what_is_lost_of_a_journal_is_named(called: Run, model: Path) -> None:
    with Desk(model) as desk:
        for number in range(3):
            desk.correct(f"a.{number}", **content_of(f"a.{number}"))
        with copied(model) as killed:
            folder = journal_folder(killed)
            assert checks(called, killed, 0)["journal"]["good"]
            (folder / "journal.sqlite3").rename(folder / "aside")
            assert "is gone, its log is here" in checks(called, killed)["journal"]["found"]
            (folder / "aside").rename(folder / "journal.sqlite3")
            (folder / "journal.sqlite3-wal").unlink()
            assert "is gone after a kill" in checks(called, killed)["journal"]["found"]
            (folder / "journal.sqlite3").unlink()
            assert checks(called, killed)["journal"]["found"] == "missing"
        desk.write_model()
    shutil.rmtree(journal_folder(model))
    assert checks(called, model)["journal"]["found"] == "missing"
