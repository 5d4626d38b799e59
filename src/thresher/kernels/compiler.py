"""Compilation of kernels: cached on disk, without the GIL, and with strict IEEE arithmetic.

If no cache folder is writable, kernels are compiled again in each process. Kernels use neither fastmath nor parallel
reductions, so the compiled result equals the interpreted one bit for bit. Kernels copy arrays in loops: where a slice
is assigned to a slice, Numba also compiles the message that their sizes differ, which takes more than a second.
"""

import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core import event, types

from thresher.kernels.cache import KernelCache

_log = logging.getLogger(__name__)
Function = TypeVar("Function", bound=Callable[..., object])

COMPILED: bool = not getattr(config, "DISABLE_JIT", False)
BOUNDSCHECK: bool = bool(getattr(config, "BOUNDSCHECK", False))


class _Announcement(event.Listener):  # type: ignore[misc, unused-ignore]
    """Announces the first compilation in this process, but not the ones that follow."""

    def on_start(self, event: Any) -> None:
        """Send the notice, once per process."""
        dispatcher = event.data["dispatcher"]
        if _announced or not dispatcher.py_func.__module__.startswith("thresher"):
            return
        _announced.append(event)
        if dispatcher._cache.cache_path is None:
            _log.info(
                "compiling for this machine, which takes some seconds each time (set NUMBA_CACHE_DIR to keep it) ..."
            )
        else:
            _log.info("compiling for this machine, which takes some seconds and is done once ...")

    def on_end(self, event: Any) -> None:
        """Do nothing."""


_announced: list[Any] = []
event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call, unused-ignore]


def kernel(function: Function) -> Function:
    """Compile `function` with Numba, unless NUMBA_DISABLE_JIT is set."""
    compiled = njit(nogil=True)(function)
    if COMPILED:
        _take_constants_as_numbers(compiled)
        with suppress(RuntimeError):  # no cache folder is writable
            compiled._cache = KernelCache(function, _digest_of(Path(function.__code__.co_filename).parent))  # type: ignore[attr-defined, unused-ignore]
    return cast(Function, compiled)


def _take_constants_as_numbers(compiled: Any) -> None:
    """Let a kernel that is called with a constant, as 0, compile for an int64 only.

    Numba would also compile it for the constant, while it does not know yet what else a loop assigns to a variable.
    """
    as_number: Callable[[Any], Any] = types.unliteral
    get_call_template = compiled.get_call_template
    compiled.get_call_template = lambda args, kws: get_call_template(
        tuple(map(as_number, args)), {name: as_number(kind) for name, kind in kws.items()}
    )


@cache
def _digest_of(folder: Path) -> str:
    """Return a digest of the source of all kernels in a folder and in this one, whose kernels they may call.

    It reads the contents, because modification times differ between copies and between image layers.
    """
    digest = hashlib.sha256()
    for place in dict.fromkeys((Path(__file__).parent, folder)):
        for path in sorted(place.glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
