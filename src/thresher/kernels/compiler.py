"""How every kernel is compiled: cached on disk, free of the interpreter lock, IEEE arithmetic to the letter.

Where no folder for the cache may be written to, kernels are compiled anew in each process. No fastmath
and no parallel reductions: the compiled result equals the interpreted one bit for bit.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core import event

from thresher.kernels.cache import KernelCache
from thresher.notices import tell

Function = TypeVar("Function", bound=Callable[..., object])

COMPILED: bool = not getattr(config, "DISABLE_JIT", False)
BOUNDSCHECK: bool = bool(getattr(config, "BOUNDSCHECK", False))


class _Announcement(event.Listener):  # type: ignore[misc, unused-ignore]
    """Tells of the first compilation in this process: the others follow, and all are kept if they can be."""

    def on_start(self, event: Any) -> None:
        """Tell once."""
        dispatcher = event.data["dispatcher"]
        if _announced or not dispatcher.py_func.__module__.startswith("thresher"):
            return
        _announced.append(event)
        if dispatcher._cache.cache_path is None:
            tell("compiling for this machine, which takes some seconds each time (set NUMBA_CACHE_DIR to keep it) ...")
        else:
            tell("compiling for this machine, which takes some seconds and is done once ...")

    def on_end(self, event: Any) -> None:
        """Tell nothing."""


_announced: list[Any] = []
event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call, unused-ignore]


def kernel(function: Function) -> Function:
    """Compile `function` with Numba, unless NUMBA_DISABLE_JIT asks for plain Python."""
    compiled = njit(nogil=True)(function)
    if COMPILED:
        with suppress(RuntimeError):  # no folder for the cache may be written to
            compiled._cache = KernelCache(function, _SOURCES)  # type: ignore[attr-defined, unused-ignore]
    return cast(Function, compiled)


def _sources() -> str:
    """Return a digest of all kernels, by what is in them: copies, and layers of an image, have other times."""
    found = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


_SOURCES = _sources()
