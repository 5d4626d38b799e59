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


def ahead(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int, *, in_turns: bool = False
) -> Iterator[Result]:
    """Yield function(item) for each item, in order, made by threads that run a few items ahead; a single one by none.

    If they work `in_turns`, no thread does anything while the caller has what it was given.

    >>> list(ahead(abs, [-1, 2, -3], n_threads=2))
    [1, 2, 3]
    """
    remaining = iter(items)
    first = list(islice(remaining, 2))
    remaining = chain(first, remaining)
    if len(first) < 2 or n_threads == 1:
        yield from map(function, remaining)
        return
    with thread_pool(n_threads) as pool:
        while in_turns and (some := list(islice(remaining, n_threads))):
            yield from list(pool.map(function, some))
        waiting: deque[Future[Result]] = deque()
        for item in remaining:
            waiting.append(pool.submit(function, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
