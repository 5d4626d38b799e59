"""The single thread that changes a model and accesses its journal."""

from collections.abc import Callable
from concurrent.futures import Future

from thresher.web.workers import Workers

MAX_WAITING = 1000


class Writer(Workers):
    """A single thread with a queue.

    Parameters
    ----------
    failed : callable
        Called on that thread with the error of a call, before the caller gets it.
    """

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        super().__init__(1, "writer", MAX_WAITING, f"{MAX_WAITING} corrections wait already", failed)

    def end(self, last: Callable[[], None], patience: float | None = None, last_patience: float | None = None) -> bool:
        """Finish the waiting calls, then call `last` and end; later calls are refused.

        Return False if `last` has not begun within `patience` seconds; it is then skipped. Also return False if it is
        not done `last_patience` seconds later; it then continues until the process ends.
        """
        future: Future[None] = Future()
        with self._changed:
            self._ending = True
            self._line.append((future, last))
            self._changed.notify()
        self._threads[0].join(patience)
        if self._threads[0].is_alive() and future.cancel():
            return False
        self._threads[0].join(last_patience)
        if self._threads[0].is_alive():
            return False
        future.result()
        return True
