"""Choice of a folder for compiled kernels that nobody else can write to; `cache` calls it.

Cached kernels are executed, so anyone who can write there can run code.
"""

import hashlib
import logging
import os
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_log = logging.getLogger(__name__)

_ANYONE = ("anyone", -1)


@lru_cache
def safe_folder(folder: Path, program: Path) -> Path:
    """Return `folder` if it is safe, or else a private folder.

    Raise a RuntimeError if there is no safe folder.
    """
    if is_safe(folder, program):
        return folder
    private = _private_folder(program)
    _log.info(f"{folder}: others can write there, and cached code is executed; compiled kernels are kept in {private}")
    return private


def is_safe(folder: Path, program: Path) -> bool:
    """Return whether only trusted users can write to a folder or replace it.

    Trusted are root, the current user and group, and those who can write to the program's own folder.
    """
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
    """Return a folder in the user's cache that is closed to others; create it if needed."""
    given = Path(os.environ.get("XDG_CACHE_HOME") or ".")
    # Two installations must not overwrite each other's kernels.
    name = hashlib.sha256(bytes(program)).hexdigest()[:16]
    try:
        folder = (given if given.is_absolute() else Path.home() / ".cache") / "thresher" / "kernels" / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except (OSError, RuntimeError):
        raise RuntimeError("there is no folder for compiled kernels") from None
    if not is_safe(folder, program):
        raise RuntimeError("there is no folder for compiled kernels in which nobody else may write")
    return folder
