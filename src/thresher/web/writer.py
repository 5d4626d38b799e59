"""The one thread that touches a model and its journal: whatever writes, or reads the journal, waits in its line."""

from collections.abc import Callable
from concurrent.futures import Future

from thresher.web.workers import Workers

LONGEST_LINE = 1000


class Writer(Workers):
    """A thread and the line before it.

    Parameters
    ----------
    failed : callable
        Called, on that thread, with whatever a call raises before the caller gets it.
    """

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        super().__init__(1, "writer", LONGEST_LINE, f"{LONGEST_LINE} corrections wait already", failed)

    def end(self, last: Callable[[], None], patience: float | None = None, last_patience: float | None = None) -> bool:
        """Do what waits, then the last thing, and end; what comes later is refused.

        Returns False if the last thing has not begun within `patience` seconds, and it is left undone; and if it is not
        done `last_patience` seconds later, and it goes on until the process ends.
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
