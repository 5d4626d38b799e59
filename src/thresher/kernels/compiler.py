"""How every kernel is compiled: cached on disk, free of the interpreter lock, IEEE arithmetic to the letter.

No fastmath and no parallel reductions: the compiled result equals the interpreted one bit for bit.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core import event

from thresher.notices import tell

Function = TypeVar("Function", bound=Callable[..., object])

COMPILED: bool = not getattr(config, "DISABLE_JIT", False)
BOUNDSCHECK: bool = bool(getattr(config, "BOUNDSCHECK", False))


class _Announcement(event.Listener):  # type: ignore[misc, unused-ignore]
    """Tells of the first compilation in this process: the others follow, and all are kept for later processes."""

    def on_start(self, event: Any) -> None:
        """Tell once."""
        if not _announced and event.data["dispatcher"].py_func.__module__.startswith("thresher"):
            _announced.append(event)
            tell("compiling for this machine, which takes some seconds and is done once ...")

    def on_end(self, event: Any) -> None:
        """Tell nothing."""


_announced: list[Any] = []
event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call, unused-ignore]


def kernel(function: Function) -> Function:
    """Compile `function` with Numba, unless NUMBA_DISABLE_JIT asks for plain Python."""
    compiled = njit(cache=True, nogil=True)(function)
    if COMPILED:
        _depend_on_all_kernels(compiled)
    return cast(Function, compiled)


def _depend_on_all_kernels(compiled: Any) -> None:
    """Let a change of any kernel make this one's cached code stale: Numba looks at the kernel's own file alone.

    Kernels are compiled into one another, so a kernel would otherwise go on with what its callee was before.
    """
    compiled._cache._cache_file._source_stamp = _SOURCES


_SOURCES = tuple(
    (path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(Path(__file__).parent.glob("*.py"))
)
