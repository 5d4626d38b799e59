"""The one thread that touches a model and its journal: whatever writes, or reads the journal, waits in its line."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from thresher.web.problems import busy

LONGEST_LINE = 1000
Result = TypeVar("Result")


class Writer:
    """A thread and the line before it.

    Parameters
    ----------
    failed : callable
        Called, on that thread, with whatever a call raises before the caller gets it.
    """

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        self._line: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._failed, self._ending = failed, False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return self._line.qsize()

    def call(self, function: Callable[[], Result]) -> "Future[Result]":
        """Have a function called in its turn."""
        if self._ending:
            raise busy("the service is ending")
        if self._line.qsize() >= LONGEST_LINE:
            raise busy(f"{LONGEST_LINE} corrections wait already")
        future: Future[Result] = Future()
        self._line.put((future, function))
        return future

    def end(self, last: Callable[[], None]) -> None:
        """Do what waits, then the last thing, and end; what comes later is refused."""
        self._ending = True
        future: Future[Any] = Future()
        self._line.put((future, last))
        self._line.put(None)
        self._thread.join()
        future.result()

    def _run(self) -> None:
        while (waiting := self._line.get()) is not None:
            future, function = waiting
            if not future.set_running_or_notify_cancel():  # whoever asked has left
                continue
            try:
                result = function()
            except BaseException as error:
                with suppress(Exception):  # nobody waits for ever, be there no memory even for this
                    self._failed(error)
                future.set_exception(error)
            else:
                future.set_result(result)
