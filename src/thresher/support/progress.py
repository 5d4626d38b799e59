"""Progress reports of long-running calls."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

Item = TypeVar("Item")


class Step(NamedTuple):
    """The progress of a long-running call.

    Parameters
    ----------
    stage : str
        The name of the current stage.
    done, total : int
        The number of items done, and the number of all items; `total` is 0 if it is unknown.
    mistakes : int
        The number of mistakes so far.
    """

    stage: str
    done: int
    total: int
    mistakes: int = 0


Report = Callable[[Step], None]


def make_reporter(stage: str, progress: Report | None) -> Any:
    """Return the callback that a learner reports its progress to, or None if `progress` is None."""
    return None if progress is None else lambda state: progress(Step(stage, *state))


def report_reading(texts: Iterable[Item], progress: Report | None) -> Iterable[Item]:
    """Return the texts unchanged; iterating over them reports how many were read."""
    if progress is None or isinstance(texts, str | bytes):
        return texts
    return _yield_counted(texts, progress)


def _yield_counted(texts: Iterable[Item], progress: Report) -> Iterator[Item]:
    total = len(texts) if isinstance(texts, Sequence) else 0
    for done, text in enumerate(texts, 1):
        yield text
        if done % 1000 == 0 or done == total:
            progress(Step("read", done, total))
