"""Threads for long calls: how many, and work done ahead of its use; learners and text features ask."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

_ROOM = 2**27  # bytes of addresses that a thread may take before it has done anything
Item = TypeVar("Item")
Result = TypeVar("Result")


class _AtOnce(Executor):
    """Does what it is given at once, on the thread that gives it."""

    def submit(self, function: Callable[..., Result], /, *given: Any, **more: Any) -> "Future[Result]":
        future: Future[Result] = Future()
        try:
            future.set_result(function(*given, **more))
        except BaseException as error:
            future.set_exception(error)
        return future


@contextmanager
def thread_pool(n_threads: int) -> Iterator[Executor]:
    """Give threads for work or, where memory is short, what does the work without any.

    A thread that finds no memory as it starts cannot say so: whoever started it waits for ever, or the process ends.
    """
    try:
        np.empty(n_threads * _ROOM, dtype=np.uint8)
    except MemoryError:
        yield _AtOnce()
        return
    try:
        with ThreadPoolExecutor(n_threads) as pool:
            yield pool
    except RuntimeError as error:
        if "start new thread" in str(error):
            raise MemoryError(str(error)) from None
        raise


def count_threads(n_threads: int | None) -> int:
    """Return how many threads to use: as many as asked for, or one for each core that this process may use."""
    if n_threads is not None:
        return n_threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_turns(function: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    """Yield function(item) for each item, in order, as `ahead` does; but no thread works while the caller has its turn.

    >>> list(in_turns(abs, [-1, 2, -3], n_threads=2))
    [1, 2, 3]
    """
    remaining = iter(items)
    first = list(islice(remaining, 2))
    if len(first) < 2 or n_threads == 1:
        yield from map(function, chain(first, remaining))
        return
    remaining = chain(first, remaining)
    with thread_pool(n_threads) as pool:
        while some := list(islice(remaining, n_threads)):
            yield from list(pool.map(function, some))


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
    with thread_pool(n_threads) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in chain(first, remaining):
            waiting.append(pool.submit(function, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
