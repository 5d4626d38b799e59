"""How much the tests do: `quick` after each change, `full` before anything lands, and more in a soak.

`make test` sets THRESHER_TIER=quick: the tests of the groups below are left out, but for those marked `quick`, and
random tests draw fewer cases. `make test-all` runs everything. `tools/soak.py` sets the single numbers.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from support.paths import ROOT

Case = TypeVar("Case")
FULL = os.environ.get("THRESHER_TIER", "full") != "quick"

# The marker of each folder or file; the first that fits counts. A test can also have the marker `slow` by itself.
GROUPS = {
    "tests/faults/": "faults",
    "tests/fuzz/": "fuzz",
    "tests/contracts/": "contracts",
    "tests/unit/cluster/": "cluster",
    "tests/unit/kernels/test_cache.py": "contracts",
    "tests/service/test_workbench.py": "browser",
    "tests/service/test_api_schema.py": "schema",
    "tests/support/api_hooks.py": "schema",
    "tests/documents/": "documents",
    "tests/packaging/": "packaging",
    "tests/reproduction/": "research",
    "tests/tools/": "research",
    "reproduction/": "research",
}
IN_QUICK = ("faults", "fuzz")  # they count by `number_of`
LONGEST_FIRST = ("contracts", "packaging", "schema", "cluster", "browser", "documents")


def number_of(variable: str, full: int, *, quick: int | None = None) -> int:
    """Return a number of the full tier, or the lower one of the quick tier; a soak sets the variable."""
    return int(os.environ.get(variable, full if FULL or quick is None else quick))


def few(cases: Iterable[Case], quick: int) -> list[Case]:
    """Return all cases, or in the quick tier this number of them, evenly spaced."""
    every = list(cases)
    return every if FULL else every[:: max(len(every) // quick, 1)][:quick]


def group_of(path: Path) -> str | None:
    """Return the marker of the group that a test file is in."""
    place = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    return next((mark for start, mark in GROUPS.items() if place.startswith(start)), None)


def rank(group: str | None) -> int:
    """Return the place of a group in a run: those with long tests come first, so that none is left at the end."""
    return LONGEST_FIRST.index(group) if group in LONGEST_FIRST else len(LONGEST_FIRST)


def is_quick(marks: set[str]) -> bool:
    """Return whether a test with these markers runs in the quick tier."""
    return "quick" in marks or not marks & ({"slow", *GROUPS.values()} - set(IN_QUICK))
