"""Work in slices, each short enough for Ctrl-C and progress."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thresher.threads import thread_pool

# A slice of this many features times lanes takes a block a few milliseconds to score and, if every category erred on
# every document, about a fifth of a second to learn.
SLICE_WORK = 2**25


def slices(order: NDArray[np.int64], lengths: NDArray[np.int64], width: int) -> list[NDArray[np.int64]]:
    """Cut an order of rows where their features, counted for each lane, would exceed what a slice may hold."""
    work = np.cumsum(lengths[order], dtype=np.int64)
    size = SLICE_WORK // max(width, 1)
    steps = np.arange(size, work[-1] if len(work) else 0, size)
    return np.split(order, np.unique(np.searchsorted(work, steps))) if len(steps) else [order]


def on_threads(work: Callable[[int, int], None], parts: list[NDArray[np.int64]], n_threads: int) -> None:
    """Let threads do the work of each part, which is a range of rows, from its first to behind its last."""
    ranges = [(int(part[0]), int(part[-1]) + 1) for part in parts if len(part)]
    if len(ranges) < 2 or n_threads == 1:
        for first, last in ranges:
            work(first, last)
        return
    with thread_pool(n_threads) as pool:
        list(pool.map(work, *zip(*ranges, strict=True)))
