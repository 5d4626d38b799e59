"""Check the file system and the permissions of a path, for journals and `thresher doctor`."""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# Locks and syncs on these work on one machine only, or not at all.
_REMOTE = {
    "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncp", "ncpfs", "afs", "auristorfs", "coda", "ceph",
    "lustre", "davfs", "glusterfs", "gpfs", "beegfs", "fhgfs", "orangefs", "pvfs2", "panfs", "wekafs", "9p",
    "virtiofs", "vboxsf", "vmhgfs", "prl_fs", "drvfs", "fakeowner",
}  # fmt: skip
# FUSE file systems ("fuse.NAME") that keep their files on a disk of this machine.
_LOCAL_FUSE = {
    "fuse.fuse-overlayfs", "fuse.unionfs", "fuse.unionfs-fuse", "fuse.mergerfs", "fuse.bindfs", "fuse.gocryptfs",
    "fuse.encfs", "fuse.cryfs", "fuse.securefs", "fuse.veracrypt", "fuse.dislocker", "fuse.ntfs", "fuse.ntfs-3g",
    "fuse.exfat", "fuse.exfat-fuse", "fuse.fuse2fs", "fuse.ext2", "fuse.ext4", "fuse.zfs-fuse",
}  # fmt: skip
MOUNTS = Path("/proc/self/mountinfo")


def find_file_system(path: str | os.PathLike[str]) -> str:
    """Return the type of the file system of a path, such as "ext4", or "" if it is unknown."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    real, kind, depth = Path(os.path.realpath(path)), "", -1
    for line in lines:
        before, _, after = line.partition(" - ")
        point = Path(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), before.split(" ")[4]))
        if real.is_relative_to(point) and len(point.parts) >= depth:  # a later mount hides an earlier one
            kind, depth = after.partition(" ")[0], len(point.parts)
    return kind


def is_remote(kind: str) -> bool:
    """Return whether a file system is a network one, or a FUSE one that is not known to be local.

    >>> is_remote("nfs4"), is_remote("fuse.s3fs"), is_remote("fuse.gocryptfs"), is_remote("ext4"), is_remote("")
    (True, True, False, False, False)
    """
    return kind in _REMOTE or kind == "fuse" or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE)


class Distrust(NamedTuple):
    """A reason not to trust a folder: the path that it concerns, the problem, and a hint what to do."""

    path: Path
    problem: str
    hint: str


def find_distrust(folder: Path, user: int | None = None) -> Distrust | None:
    """Return how users other than root, `user` and its groups could have put files into a folder, or None.

    `user` defaults to the user of this process.
    """
    if os.name != "posix":
        return None
    about, user = folder.stat(), os.geteuid() if user is None else user
    if about.st_uid not in (0, user):
        problem = f"belongs to user {about.st_uid}, and you are user {user}"
        return Distrust(folder, problem, "run as that user, or chown the folder")
    if about.st_mode & stat.S_IWOTH:
        return Distrust(folder, "anyone may write to it", f"chmod go-w {folder}")
    if about.st_mode & stat.S_IWGRP and about.st_gid not in (os.getegid(), *os.getgroups()):
        problem = f"group {about.st_gid}, which you are not in, may write to it"
        return Distrust(folder, problem, f"chmod g-w {folder}")
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if (owner := path.lstat().st_uid) not in (0, user):
                problem = f"belongs to user {owner}, and the folder is yours"
                return Distrust(path, problem, f"remove it, or chown it to user {user}")
    return None


def is_world_writable(path: Path) -> bool:
    """Return whether all users of the machine may change a file, or replace the files in a folder."""
    mode = path.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not (stat.S_ISDIR(mode) and mode & stat.S_ISVTX)
