"""Two kernels in a file of their own, as a new process would import them."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

SOURCE = """
from thresher.kernels.compiler import kernel

@kernel
def doubled(value):
    return value + value

@kernel
def tenfold(value):
    return doubled(value) * 5
"""


def module_in(folder: Path) -> ModuleType:
    """Import the two kernels as a new process would, with nothing compiled yet."""
    path = folder / "toy.py"
    if not path.exists():
        path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("toy", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["toy"] = module  # where Numba looks for it when it reads what was compiled
    spec.loader.exec_module(module)
    return module


def was_loaded(folder: Path) -> bool:
    """Call a kernel, and return whether its code was there already."""
    tenfold: Any = module_in(folder).tenfold
    assert tenfold(4) == 40
    return bool(tenfold.stats.cache_hits)
