"""Division of work into chunks that are short enough for Ctrl-C and progress reports."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thresher.support.parallel import thread_pool

# A chunk of this many features x lanes takes a few milliseconds to score. If every category makes a mistake on every
# document, it takes about a fifth of a second to learn.
CHUNK_WORK = 2**25


def split_order(order: NDArray[np.int64], lengths: NDArray[np.int64], width: int) -> list[NDArray[np.int64]]:
    """Split an order of rows into chunks of about CHUNK_WORK features x lanes each."""
    work = np.cumsum(lengths[order], dtype=np.int64)
    size = CHUNK_WORK // max(width, 1)
    steps = np.arange(size, work[-1] if len(work) else 0, size)
    return np.split(order, np.unique(np.searchsorted(work, steps))) if len(steps) else [order]


def run_on_threads(work: Callable[[int, int], None], parts: list[NDArray[np.int64]], n_threads: int) -> None:
    """Call `work(first, last)` on threads for each part, which is a range of consecutive rows."""
    ranges = [(int(part[0]), int(part[-1]) + 1) for part in parts if len(part)]
    if len(ranges) < 2 or n_threads == 1:
        for first, last in ranges:
            work(first, last)
        return
    with thread_pool(n_threads) as pool:
        list(pool.map(work, *zip(*ranges, strict=True)))
