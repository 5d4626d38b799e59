"""The same documents and corrections give one model and one answer, on every machine and by every way to train.

{1, 2, 4 threads} x {compiled, interpreted} x {this processor, any} x {NumPy and BLAS with all that the processor can,
with as little as they may} x {one machine, a cluster, a journal as it lives and replayed}, each run with another seed
of Python's hashes. Every test run does the corners; THRESHER_MATRIX=whole does all, with a journal of as many
records as THRESHER_MATRIX_RECORDS says. Interpreted code is made for no processor, so that those two are one there.
That the comparison sees a last bit was tried: with NumPy's exponential in place of ours, the cells of plain libraries
differ from the others.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import count, product
from typing import NamedTuple

import numpy as np
import pytest

from faults.harness import tell
from support.paths import TESTS
from support.tiers import number_of

WHOLE = os.environ.get("THRESHER_MATRIX") == "whole"
RECORDS = number_of("THRESHER_MATRIX_RECORDS", 5000 if WHOLE else 100)


def dispatched() -> str:
    """Return what NumPy found in this processor and has code of its own for."""
    found = np._core._multiarray_umath  # type: ignore[attr-defined]
    return " ".join(name for name in found.__cpu_dispatch__ if found.__cpu_features__[name])


ENVIRONMENTS = {
    "compiled": {},
    "interpreted": {"NUMBA_DISABLE_JIT": "1"},
    "any": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "plain": {
        "NPY_DISABLE_CPU_FEATURES": dispatched(),
        "OPENBLAS_CORETYPE": "Prescott",
        "OPENBLAS_NUM_THREADS": "1",
    },
}
_SEEDS = count(1)


class Cell(NamedTuple):
    """A way to the same models."""

    place: str
    threads: int
    code: str = "compiled"
    processor: str = "this"
    libraries: str = "full"

    def __str__(self) -> str:
        return "-".join(map(str, self))

    def environment(self) -> dict[str, str]:
        named = [ENVIRONMENTS.get(name, {}) for name in self[2:]]
        changes = {name: value for part in named for name, value in part.items()}
        path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        return {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": str(next(_SEEDS)), **changes}


CORNERS = [
    Cell("here", 4, "compiled", "any", "plain"),
    Cell("here", 2, "interpreted"),
    Cell("cluster", 2, "compiled", "this", "plain"),
    Cell("journal", 4, "compiled", "any", "plain"),
    Cell("journal", 2, "interpreted", "this", "plain"),
]
EVERY = [
    *map(
        Cell._make,
        product(("here", "cluster", "journal"), (1, 2, 4), ("compiled",), ("this", "any"), ("full", "plain")),
    ),
    *map(Cell._make, product(("here", "cluster"), (1, 2, 4), ("interpreted",), ("this",), ("full", "plain"))),
    # These take ten minutes each.
    *(Cell("journal", threads, "interpreted", "this", "plain" if threads == 2 else "full") for threads in (1, 2, 4)),
]


def digests(cell: Cell) -> dict[str, set[str]]:
    """Return the digests of each model that was taught in this way."""
    command = [sys.executable, str(TESTS / "digests.py"), cell.place, str(cell.threads), str(RECORDS)]
    run = subprocess.run(command, env=cell.environment(), capture_output=True, text=True, check=False)
    assert (run.returncode, "Traceback" in run.stderr) == (0, False), run.stderr
    found: dict[str, set[str]] = {}
    for line in run.stdout.splitlines():
        name, _, rest = line.partition(" ")
        found.setdefault(name, set()).add(rest)
    return found


@pytest.fixture(scope="module")
def ways() -> Iterator[list[Cell]]:
    """Tell, at the end, how many ways there were."""
    found: list[Cell] = []
    yield found
    tell(f"{len(found)} ways to the same models, each with the same digests; journals of {RECORDS:,} records")


@cache
def usual(place: str) -> dict[str, set[str]]:
    """Return the digests of one thread on one machine, as it is."""
    return digests(Cell("journal" if place == "journal" else "here", 1))


@pytest.mark.parametrize("cell", EVERY if WHOLE else CORNERS, ids=str)
def test_every_way_to_train_gives_the_same_digest(cell: Cell, ways: list[Cell]) -> None:
    found = digests(cell)
    assert len(found) == (1 if cell.place == "journal" else 8)
    assert found == usual(cell.place)
    assert all(len(own) == 1 for own in found.values()), "live and replayed are one"
    assert len({digest for own in found.values() for digest in own}) == len(found)
    ways.append(cell)
