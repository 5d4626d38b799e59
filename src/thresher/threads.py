"""Threads for long calls: how many, and work done ahead of its use; learners and text features ask."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_threads(n_threads: int | None) -> int:
    """Return how many threads to use: as many as asked for, or one for each core that this process may use."""
    if n_threads is not None:
        return n_threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ahead(function: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    """Yield function(item) for each item, in order, made by threads that run a few items ahead; a single one by none.

    >>> list(ahead(abs, [-1, 2, -3], n_threads=2))
    [1, 2, 3]
    """
    remaining = iter(items)
    first = list(islice(remaining, 2))
    if len(first) < 2 or n_threads == 1:
        yield from map(function, chain(first, remaining))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in chain(first, remaining):
            waiting.append(pool.submit(function, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
