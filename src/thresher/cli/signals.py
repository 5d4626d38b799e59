"""Convert the signals that end a process (Ctrl-C, TERM, a closed terminal) to errors, so that files are cleaned up."""

import signal
import sys
from collections.abc import Callable
from types import FrameType

from thresher.cli.exit_codes import TerminatedError

# Windows lacks the signal for a closed terminal, and the timer.
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_AGAIN = 0.2  # seconds


def catch_signals() -> None:
    """Make the signals that end a process raise an error; ignored signals stay ignored, as nohup requires."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _make_handler(KeyboardInterrupt if number == signal.SIGINT else TerminatedError))


def ignore_signals() -> None:
    """Ignore these signals from now on: the process is ending."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def _make_handler(kind: type[BaseException]) -> Callable[[int, FrameType | None], None]:
    """Return a handler that raises an error, and raises it again if it is lost, but not during cleanup.

    Python drops an error raised within a callback from compiled code, and the compiler has many such callbacks.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if isinstance(sys.exc_info()[1], KeyboardInterrupt | TerminatedError):
            return
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, handle)
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
            if _is_compiling(frame):
                return
        raise kind

    return handle


def _is_compiling(frame: FrameType | None) -> bool:
    while frame is not None:
        if "llvmlite" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False
