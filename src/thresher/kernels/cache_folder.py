"""Where compiled kernels may be kept: what lies there is run, so nobody else may write there; `cache.py` asks."""

import hashlib
import os
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from thresher.notices import tell

_ANYONE = ("anyone", -1)


@lru_cache
def safe_folder(folder: Path, program: Path) -> Path:
    """Return a folder in which only we may write, or those who may write the program's own; else a private one.

    RuntimeError if there is none.
    """
    if is_safe(folder, program):
        return folder
    own = _private_folder(program)
    tell(f"{folder}: others may write there, and what is there would be run; compiled kernels are kept in {own}")
    return own


def is_safe(folder: Path, program: Path) -> bool:
    """Tell whether nobody can put something into a folder, or another in its place, who cannot change the program."""
    if os.name != "posix":
        return True
    trusted = {("user", 0), ("user", os.geteuid()), ("group", os.getegid()), *_writers(program)}
    whole = folder.resolve()
    if not set(_writers(whole)) <= trusted:
        return False
    return all(path.stat().st_mode & stat.S_ISVTX or set(_writers(path)) <= trusted for path in whole.parents)


def _writers(folder: Path) -> Iterator[tuple[str, int]]:
    about = folder.stat()
    yield "user", about.st_uid
    if about.st_mode & stat.S_IWGRP:
        yield "group", about.st_gid
    if about.st_mode & stat.S_IWOTH:
        yield _ANYONE


def _private_folder(program: Path) -> Path:
    """Return a folder within the user's cache that is open to nobody else, made if it is not there."""
    given = Path(os.environ.get("XDG_CACHE_HOME") or ".")
    name = hashlib.sha256(bytes(program)).hexdigest()[:16]  # two installations do not write over one another's
    try:
        own = (given if given.is_absolute() else Path.home() / ".cache") / "thresher" / "kernels" / name
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        own.chmod(0o700)
    except (OSError, RuntimeError):
        raise RuntimeError("there is no folder for compiled kernels") from None
    if not is_safe(own, program):
        raise RuntimeError("there is no folder for compiled kernels in which nobody else may write")
    return own
