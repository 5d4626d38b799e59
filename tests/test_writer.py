"""The one thread that writes: it goes on whatever it is given, and nobody waits for ever."""

import pytest

from thresher.web.writer import Writer


def test_who_asked_is_told_whatever_becomes_of_telling_others() -> None:
    def failed(error: BaseException) -> None:
        raise MemoryError

    writer = Writer(failed)
    with pytest.raises(ZeroDivisionError):
        writer.call(lambda: 1 / 0).result(30)
    assert writer.call(lambda: "done").result(30) == "done"
    ended: list[bool] = []
    writer.end(lambda: ended.append(True))
    assert ended == [True]
