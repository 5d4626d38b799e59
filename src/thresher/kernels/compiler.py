"""How every kernel is compiled: cached on disk, free of the interpreter lock, IEEE arithmetic to the letter.

No fastmath and no parallel reductions: the compiled result equals the interpreted one bit for bit.
"""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import config, njit

Function = TypeVar("Function", bound=Callable[..., object])

COMPILED: bool = not getattr(config, "DISABLE_JIT", False)


def kernel(function: Function) -> Function:
    """Compile `function` with Numba, unless NUMBA_DISABLE_JIT asks for plain Python."""
    return cast(Function, njit(cache=True, nogil=True)(function))
