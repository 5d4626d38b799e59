"""Threads and queues for the work of requests, so that the event loop never blocks."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from thresher.errors import is_out_of_memory
from thresher.support.memory import require_memory
from thresher.web.errors import busy

Result = TypeVar("Result")
_ROOM = 2**24  # bytes: the stack of a thread takes half of it
_ATTEMPTS = 3  # to report an error


class Workers:
    """Some threads with one queue of calls.

    The threads start immediately, while there is memory for them. Python does not wait for them at exit.

    Parameters
    ----------
    count : int
        The number of threads.
    name : str
        The prefix of the threads' names.
    max_waiting : int
        The number of calls that may wait; more are refused with status 503.
    too_many : str
        The message of that refusal.
    failed : callable
        Called on the thread with the error of a call, before the caller gets it.
    """

    def __init__(
        self,
        count: int,
        name: str,
        max_waiting: int,
        too_many: str = "too many requests of this kind wait already",
        failed: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        self._line: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._changed = threading.Condition()
        self.max_waiting, self._too_many, self._failed, self._ending = max_waiting, too_many, failed, False
        self._threads = [threading.Thread(target=self._run, name=f"{name}-{i}", daemon=True) for i in range(count)]
        try:
            for thread in self._threads:
                require_memory(_ROOM)  # starting a thread that then runs out of memory would block indefinitely
                thread.start()
        except (MemoryError, RuntimeError):
            self.stop()
            raise MemoryError("threads cannot be started") from None

    @property
    def waiting(self) -> int:
        """The number of waiting calls."""
        return len(self._line)

    def call(self, function: Callable[[], Result]) -> "Future[Result]":
        """Queue a function call; return its future, which may be cancelled before the call begins."""
        future: Future[Result] = Future()
        with self._changed:
            if self._ending:
                raise busy("the service is ending")
            if len(self._line) >= self.max_waiting:  # drop the calls of clients that have left
                self._line = deque(one for one in self._line if not one[0].cancelled())
            if len(self._line) >= self.max_waiting:
                raise busy(self._too_many)
            self._line.append((future, function))
            self._changed.notify()
        return future

    def stop(self) -> None:
        """Refuse all waiting and later calls; each thread ends after the call that it has begun."""
        with self._changed:
            self._ending = True
            waiting, self._line = self._line, deque()
            self._changed.notify_all()
        for future, _ in waiting:
            if future.set_running_or_notify_cancel():
                future.set_exception(busy("the service is ending"))

    def _run(self) -> None:
        while (waiting := self._next()) is not None:
            future, function = waiting
            if not future.set_running_or_notify_cancel():  # the client has left
                continue
            try:
                result = function()
            except BaseException as raised:
                error = _without_frames(raised) if is_out_of_memory(raised) else raised
                for _ in range(_ATTEMPTS):  # memory may be lacking even for this; the caller gets an answer anyway
                    with suppress(Exception):
                        self._failed(error)
                        break
                future.set_exception(error)
            else:
                future.set_result(result)
                del result
            del waiting, future, function  # an idle thread holds no references

    def _next(self) -> "tuple[Future[Any], Callable[[], Any]] | None":
        with self._changed:
            while not self._line:
                if self._ending:
                    return None
                self._changed.wait()
            return self._line.popleft()


def _without_frames(error: BaseException) -> MemoryError:
    """Return a MemoryError without the frames of the failed call, which would keep their memory allocated."""
    error.__traceback__ = error.__context__ = error.__cause__ = None
    return error if isinstance(error, MemoryError) else MemoryError()


class WorkerPools:
    """Threads for reading, by duration: long requests do not delay short ones."""

    def __init__(self) -> None:
        self.quick = Workers(4, "quick", 500)
        self.queue = Workers(2, "queue", 64)
        self.long = Workers(2, "long", 64)

    def stop(self) -> None:
        """Refuse all waiting and later calls."""
        for workers in (self.quick, self.queue, self.long):
            workers.stop()
