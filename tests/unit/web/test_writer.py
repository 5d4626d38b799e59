"""The one thread that writes: it goes on whatever it is given, and nobody waits for ever."""

import weakref

import pytest

from thresher.errors import JournalMemoryError
from thresher.web.writer import Writer


def test_the_caller_gets_the_error_even_if_reporting_it_fails() -> None:
    def failed(error: BaseException) -> None:
        raise MemoryError

    writer = Writer(failed)
    with pytest.raises(ZeroDivisionError):
        writer.call(lambda: 1 / 0).result(30)
    assert writer.call(lambda: "done").result(30) == "done"
    ended: list[bool] = []
    writer.end(lambda: ended.append(True))
    assert ended == [True]


def test_a_system_error_for_a_lack_of_memory_is_a_memory_error() -> None:
    def without_a_frame() -> None:
        raise SystemError("error return without exception set")

    failures: list[BaseException] = []
    writer = Writer(failures.append)
    with pytest.raises(MemoryError):
        writer.call(without_a_frame).result()
    assert [type(error) for error in failures] == [MemoryError]
    writer.end(lambda: None)


class Large:
    """Stands for what takes memory."""


def test_memory_is_freed_before_the_lack_of_it_is_reported() -> None:
    held: list[weakref.ref[Large]] = []
    reported: list[bool] = []

    def take_all() -> None:
        large = Large()
        held.append(weakref.ref(large))
        try:
            raise MemoryError
        except MemoryError:
            raise JournalMemoryError("record 1 cannot be applied") from None

    def failed(error: BaseException) -> None:
        reported.append(held[0]() is None)
        if len(reported) < 3:
            raise MemoryError

    writer = Writer(failed)
    with pytest.raises(JournalMemoryError, match="record 1 cannot be applied"):
        writer.call(take_all).result(30)
    assert reported == [True, True, True]
    writer.end(lambda: None)
