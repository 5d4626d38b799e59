"""Where files lie: on which kind of file system, and who may write there; journals and `thresher doctor` ask."""

import os
import re
import stat
from pathlib import Path

# Locks and syncs of these hold on one machine alone, or not at all.
REMOTE = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb2",
        "smb3",
        "smbfs",
        "ncpfs",
        "afs",
        "ceph",
        "lustre",
        "davfs",
        "fuse.sshfs",
        "fuse.davfs2",
        "fuse.glusterfs",
        "fuse.ceph",
        "fuse.ceph-fuse",
    }
)
MOUNTS = Path("/proc/self/mountinfo")


def file_system_of(path: str | os.PathLike[str]) -> str:
    """Return the kind of the file system that a path lies on, as "ext4"; "" where the system does not tell."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    whole, found, depth = Path(os.path.realpath(path)), "", -1
    for line in lines:
        before, _, after = line.partition(" - ")
        point = Path(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), before.split(" ")[4]))
        if whole.is_relative_to(point) and len(point.parts) >= depth:  # of two at one place, the later lies above
            found, depth = after.partition(" ")[0], len(point.parts)
    return found


def anyone_may_write(path: Path) -> bool:
    """Tell whether all users of the machine may change a file, or put others into a folder in its place."""
    mode = path.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not (stat.S_ISDIR(mode) and mode & stat.S_ISVTX)
