"""`thresher doctor`: check versions, caches and known faults of this machine."""

import os
import platform
import sqlite3
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from thresher import __version__
from thresher.cli.console import Shell
from thresher.cli.doctor_checks import Check, check_model
from thresher.cli.options import JournalOption
from thresher.kernels.cache_folder import is_safe

_PACKAGES = ("numpy", "numba", "orjson", "typer", "rich")
_EXTRAS = (
    "scikit-learn",
    "scipy",
    "pyarrow",
    *(() if sys.version_info >= (3, 14) else ("backports.zstd",)),
    "matplotlib",
    "jinja2",
    "lemminflect",
    "fastapi",
    "prometheus-client",
    "distributed",
)
# Before this version, two simultaneous checkpoints may damage a database in WAL mode; two older branches are fixed too.
_SQLITE_FIXED, _SQLITE_BACKPORTS = (3, 51, 3), ((3, 44, 6), (3, 50, 7))


def doctor(
    shell: Shell,
    model: Annotated[Path | None, typer.Argument(metavar="[MODEL]", help="A model file.", show_default=False)] = None,
    journal: JournalOption = None,
) -> None:
    """Check versions, caches and known faults, or the files of a model; exit with 1 if you should do something.

    thresher doctor desk.thresher
    """
    checks = check_machine() if model is None else list(check_model(model, journal))
    if shell.json:
        shell.emit({"checks": [check._asdict() for check in checks], "good": _is_healthy(checks)})
    else:
        marks = {True: "ok", False: "!!", None: ""}
        rows = [[marks[check.good], check.name, check.found, check.advice] for check in checks]
        shell.table("", ["", "what", "found", "what to do"], rows)
    if not _is_healthy(checks):
        raise typer.Exit(1)


def check_machine() -> list[Check]:
    """Return all checks of this machine."""
    return [
        Check("thresher", __version__),
        Check("python", platform.python_version(), sys.version_info >= (3, 11), ""),
        Check("machine", f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"),
        *(_check_package(name, needed=True) for name in _PACKAGES),
        *(_check_package(name, needed=False) for name in _EXTRAS),
        _check_sqlite(),
        _check_kernel_cache(),
        _check_reuters(),
    ]


def _is_healthy(checks: list[Check]) -> bool:
    return all(check.good is not False for check in checks)


def _check_package(name: str, needed: bool) -> Check:
    try:
        return Check(name, metadata.version(name), True)
    except metadata.PackageNotFoundError:
        return Check(name, "missing", False if needed else None, "pip install thresher-text" if needed else "")


def _check_sqlite() -> Check:
    """Return whether SQLite may damage a journal when two processes checkpoint at once."""
    version = sqlite3.sqlite_version_info
    fixed = version >= _SQLITE_FIXED or any(version[:2] == line[:2] and version >= line for line in _SQLITE_BACKPORTS)
    advice = "" if fixed else "has a known fault with several writers; the journal keeps to one"
    return Check("sqlite", sqlite3.sqlite_version, True if fixed else None, advice)


def _check_kernel_cache() -> Check:
    """Return where compiled kernels are cached, and whether the folder is writable."""
    from thresher.datasets.corpora.reuters21578 import cache_folder

    given = os.environ.get("NUMBA_CACHE_DIR")
    program = Path(__file__).parent.parent / "kernels"
    folder = Path(given) if given else program / "__pycache__"
    if folder.exists() and not is_safe(folder, program):
        return Check("compiled kernels", f"{folder}: others may write there", False, "chmod go-w, or choose another")
    if _is_writable(folder):
        return Check("compiled kernels", str(folder), True)
    problem = f"{folder} cannot be written"
    user_cache = cache_folder()
    if user_cache is not None and _is_writable(user_cache):
        return Check("compiled kernels", problem, None, "they are kept in the user's cache")
    return Check("compiled kernels", problem, None, "every start compiles: set NUMBA_CACHE_DIR to a folder of yours")


def _is_writable(folder: Path) -> bool:
    """Return whether a folder can be written to or created."""
    existing = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    return os.access(existing, os.W_OK)


def _check_reuters() -> Check:
    from thresher.datasets.corpora.reuters21578 import find_collection

    folder: Any = find_collection()
    return Check("reuters21578", str(folder or "not here"), None, "" if folder else "thresher fetch reuters21578")
