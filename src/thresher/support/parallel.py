"""Thread pools, the default number of threads, and a parallel map that runs ahead of its consumer."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

_ROOM = 2**27  # bytes of address space that a thread may reserve at its start
Item = TypeVar("Item")
Result = TypeVar("Result")


class _ImmediateExecutor(Executor):
    """An executor that runs each call immediately, on the calling thread."""

    def submit(self, function: Callable[..., Result], /, *given: Any, **more: Any) -> "Future[Result]":
        future: Future[Result] = Future()
        try:
            future.set_result(function(*given, **more))
        except BaseException as error:
            future.set_exception(error)
        return future


@contextmanager
def thread_pool(n_threads: int) -> Iterator[Executor]:
    """Open a pool of threads or, if memory is short, an executor that works without threads.

    A thread that runs out of memory at its start cannot report it. Its creator then waits indefinitely, or the process
    ends.
    """
    try:
        np.empty(n_threads * _ROOM, dtype=np.uint8)
    except MemoryError:
        yield _ImmediateExecutor()
        return
    try:
        with ThreadPoolExecutor(n_threads) as pool:
            yield pool
    except RuntimeError as error:
        if "start new thread" in str(error):
            raise MemoryError(str(error)) from None
        raise


def count_threads(n_threads: int | None) -> int:
    """Return the number of threads to use: `n_threads`, or by default one per core that this process may use."""
    if n_threads is not None:
        return n_threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_ahead(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int, *, in_turns: bool = False
) -> Iterator[Result]:
    """Yield function(item) for each item in order, computed by threads that run a few items ahead.

    A single item is computed without threads. With `in_turns`, no thread works while the caller handles a result.

    >>> list(map_ahead(abs, [-1, 2, -3], n_threads=2))
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
