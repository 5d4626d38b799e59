"""Where a model and its journal lie: what is wrong with the place is said by the doctor, and a bad one refused."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from faults.ledger import begin_model, content_of, copied
from support.command_line import Run, said
from thresher.errors import JournalError
from thresher.journal.journal import Journal
from thresher.journal.journaled_model import JournaledModel, journal_folder
from thresher.support.filesystem import find_file_system, is_remote, is_world_writable

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
    monkeypatch.setattr("thresher.support.filesystem.MOUNTS", path)
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
def test_a_path_is_on_the_innermost_file_system(mounts: Path, path: str, kind: str) -> None:
    assert find_file_system(path) == kind


def test_an_unknown_file_system_is_not_reported(mounts: Path) -> None:
    mounts.unlink()
    assert find_file_system("/") == ""


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "vboxsf", "gpfs", "beegfs", "orangefs", "lustre", "fuse"])
def test_file_systems_of_a_network_are_remote(kind: str) -> None:
    assert is_remote(kind)


@pytest.mark.parametrize("program", ["sshfs", "s3fs", "rclone", "gcsfuse", "juicefs", "mfs", "of-tomorrow"])
def test_file_systems_of_programs_are_remote_by_default(program: str) -> None:
    assert is_remote(f"fuse.{program}")


@pytest.mark.parametrize(
    "kind",
    ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuseblk", "ecryptfs", "fuse.fuse-overlayfs", "fuse.gocryptfs",
     "fuse.encfs", "fuse.mergerfs", ""],
)  # fmt: skip
def test_file_systems_of_this_machine_are_local(kind: str) -> None:
    assert not is_remote(kind)


@pytest.mark.parametrize("kind", ["nfs4", "fuse.s3fs"])
def test_a_journal_is_kept_on_a_network_only_on_request(
    model: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("thresher.journal.database.find_file_system", lambda folder: kind)
        with pytest.raises(JournalError, match=f"its file system, {kind}, is not known to be local.*anyway=True"):
            JournaledModel(model)
        JournaledModel(model, anyway=True).close()
        with pytest.raises(JournalError, match=kind):
            JournaledModel(model)
    JournaledModel(model).close()


def test_every_command_that_opens_a_journal_can_accept_the_risk(
    called: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thresher.journal.database.find_file_system", lambda folder: "fuse.s3fs")
    data, copy = model.with_name("data.jsonl"), model.with_name("copy")
    data.write_text('{"text": "crude oil", "accept": ["energy"]}\n{"text": "wheat", "accept": ["grain"]}\n')
    learn = ["learn", model, data]
    said(called(*learn), 65, "fuse.s3fs, is not known to be local")
    assert called(*learn, "--journal-anyway").code == 0
    id = json.loads(called("journal", "export", model, "--journal-anyway").out.splitlines()[0])["id"]
    for verb in (
        ["journal", "forget", model, id],
        ["undo", model],
        ["journal", "check", model],
        ["journal", "write", model],
        ["journal", "export", model],
        ["journal", "skip", model, "1"],
        ["journal", "backup", model, copy],
    ):
        said(called(*verb), 65, "fuse.s3fs, is not known to be local")
        ended = called(*verb, "--journal-anyway")
        assert ended.code == 0, ended
    said(called("serve", model, "--port", "0"), 65, "fuse.s3fs, is not known to be local")


# Who else could have put files into the folder of a journal.


def test_a_folder_that_anyone_may_write_to_takes_no_journal(called: Run, model: Path) -> None:
    JournaledModel(model).close()
    folder = journal_folder(model)
    for mode in (0o777, 0o1777, 0o702):
        folder.chmod(mode)
        advice = f"chmod go-w {folder}, or take the risk with anyway=True"
        with pytest.raises(JournalError, match=rf"{folder}: anyone may write to it \({advice}\)$"):
            JournaledModel(model)
        assert checks(called, model)["journal"]["advice"] == f"chmod go-w {folder}"
    folder.chmod(0o700)
    JournaledModel(model).close()


def test_a_folder_that_anyone_may_write_to_takes_a_journal_on_request(called: Run, model: Path) -> None:
    JournaledModel(model).close()
    journal_folder(model).chmod(0o777)  # as all folders are on vfat, and in an emptyDir of Kubernetes
    with JournaledModel(model, anyway=True) as desk:
        desk.correct("a", **content_of("a"))
        desk.write_model()
    said(called("journal", "check", model), 65, "anyone may write to it", "--journal-anyway")
    assert called("journal", "check", model, "--journal-anyway").code == 0


def test_a_lock_that_is_a_link_is_always_refused(model: Path, tmp_path: Path) -> None:
    JournaledModel(model).close()
    precious, lock = tmp_path / "precious", journal_folder(model) / "lock"
    precious.write_text("kept")
    lock.unlink()
    lock.symlink_to(precious)
    journal_folder(model).chmod(0o777)
    with pytest.raises(JournalError, match="is a link, and not the lock of a journal"):
        JournaledModel(model, anyway=True)
    assert precious.read_text() == "kept"


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755, 0o770, 0o2770])
def test_a_folder_that_others_may_read_or_our_group_may_write_takes_a_journal(model: Path, mode: int) -> None:
    JournaledModel(model).close()
    journal_folder(model).chmod(mode)
    with JournaledModel(model) as desk:
        desk.correct("a", **content_of("a"))
    assert journal_folder(model).stat().st_mode & 0o7777 == mode


def test_a_folder_that_a_foreign_group_may_write_to_takes_no_journal(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    JournaledModel(model).close()
    journal_folder(model).chmod(0o770)
    group = journal_folder(model).stat().st_gid
    monkeypatch.setattr(os, "getegid", lambda: group + 1)
    monkeypatch.setattr(os, "getgroups", lambda: [group + 2])
    with pytest.raises(JournalError, match=rf"group {group}, which you are not in, may write to it \(chmod g-w"):
        JournaledModel(model)
    JournaledModel(model, anyway=True).close()
    monkeypatch.setattr(os, "getgroups", lambda: [group])
    JournaledModel(model).close()


def test_the_folder_of_another_user_takes_no_journal(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    JournaledModel(model).close()
    folder = journal_folder(model)
    if os.geteuid() == 0:
        os.chown(folder, 65534, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    found = rf"{folder}: belongs to user \d+, and you are user \d+ \(run as that user, or chown the folder, or take"
    with pytest.raises(JournalError, match=found):
        JournaledModel(model)


PLANT = """
import os, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
folder, name, precious = sys.argv[1:]
if name == "lock":
    os.symlink(precious, f"{folder}/lock")
else:
    open(f"{folder}/{name}", "w").close()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
@pytest.mark.parametrize(
    "name", ["lock", "service.json", "journal.sqlite3", "journal.sqlite3-wal", "snapshot-0000000000.thresher"]
)
def test_a_file_of_another_user_is_named_although_the_folder_is_safe_now(name: str) -> None:
    with TemporaryDirectory() as place:  # where other users come, unlike the folders of pytest
        Path(place).chmod(0o755)
        model, precious = begin_model(Path(place, "models")), Path(place, "precious")
        precious.write_text("kept")
        folder = journal_folder(model)
        folder.mkdir()
        folder.chmod(0o777)
        command = [sys.executable, "-c", PLANT, str(folder), name, str(precious)]
        subprocess.run(command, check=True)
        with pytest.raises(JournalError, match="anyone may write to it"):
            Journal(folder, create=True)
        folder.chmod(0o700)
        with pytest.raises(JournalError, match=rf"{folder / name}: belongs to user 65534, and the folder is yours"):
            Journal(folder, create=True)
        assert precious.read_text() == "kept"


@pytest.mark.parametrize(("mode", "open_to_all"), [(0o755, False), (0o775, False), (0o757, True), (0o1777, False)])
def test_world_writable_files_and_folders_are_recognized(tmp_path: Path, mode: int, open_to_all: bool) -> None:
    tmp_path.chmod(mode)
    assert is_world_writable(tmp_path) == open_to_all
    (tmp_path / "a").touch()
    (tmp_path / "a").chmod(0o646)
    assert is_world_writable(tmp_path / "a")


def checks(called: Run, model: Path, code: int = 1) -> dict[str, dict[str, Any]]:
    ended = called("doctor", model, "--json")
    assert (ended.code, ended.err) == (code, "")
    report = json.loads(ended.out)
    assert report["good"] == (code == 0)
    return {check["name"]: check for check in report["checks"]}


def test_a_model_in_a_safe_place_passes_every_check(called: Run, model: Path) -> None:
    assert checks(called, model, 0)["journal"]["found"] == "none"
    with JournaledModel(model) as desk:
        assert checks(called, model, 0)["journal"]["found"].endswith(f", open in process {os.getpid()}")
        desk.write_model()
    link = model.with_name("link.thresher")
    link.symlink_to(model)
    found = checks(called, link, 0)
    assert found["model"]["found"] == f"{link} -> {model}"
    assert found["journal"]["found"] == str(journal_folder(model))
    said(called("doctor", model.with_name("none")), 66, "none: No such file")


def test_every_problem_of_the_place_is_named(called: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    JournaledModel(model).close()
    for path in (model, model.parent, journal_folder(model), journal_folder(model) / "journal.sqlite3"):
        mode = path.stat().st_mode
        path.chmod(mode | 0o002)
        found = checks(called, model)["permissions"]
        assert (found["found"], found["good"]) == (f"anyone may write to {path}", False)
        path.chmod(mode)
    with monkeypatch.context() as patch:
        patch.setattr("thresher.cli.doctor_checks.find_file_system", lambda place: "nfs")
        assert "--journal" in checks(called, model)["file system"]["advice"]
    real = os.statvfs(model)
    for change, word in (({"f_favail": 0}, "inodes"), ({"f_bavail": 10}, "0 MB")):
        values = {name: getattr(real, name) for name in dir(real) if name.startswith("f_")} | {"f_files": 10} | change
        with monkeypatch.context() as patch:
            patch.setattr(os, "statvfs", lambda place, values=values: type("Found", (), values))
            assert word in checks(called, model)["room"]["found"]


def test_the_model_of_another_user_is_reported(called: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(model, 4711, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert checks(called, model)["owner"]["found"] == f"{model} is another user's"


def test_lost_parts_of_a_journal_are_named(called: Run, model: Path) -> None:
    with JournaledModel(model) as desk:
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
