"""Categorize short texts that arrive at the same time in one call: eight cost hardly more than one."""

import asyncio
from itertools import accumulate
from typing import Any, NamedTuple

from thresher.text.analysers import Text
from thresher.web.service import Service

_FEW_TEXTS = 64
_FEW_LETTERS = 4000  # per text
_LITTLE_WORK = 4_000_000  # letters x categories


class Waiting(NamedTuple):
    """A text that waits for its categories."""

    text: Text
    id: str
    answer: "asyncio.Future[dict[str, Any]]"


def is_short(service: Service, text: Text) -> bool:
    """Return whether a text is so cheap that another thread would cost more time than it saves."""
    return letters_of(text) <= _FEW_LETTERS and _work(service, text) <= _LITTLE_WORK


def letters_of(text: Text) -> int:
    """Return the length of a text, including all of its fields."""
    return len(text) if isinstance(text, str) else sum(map(len, text.values()))


def _work(service: Service, text: Text) -> int:
    """Return the cost of a text: its letters plus some overhead for the response, times the categories."""
    return (letters_of(text) + 500) * max(len(service.served.view.categories), 100)


class Gathering:
    """Collects texts, and categorizes all that arrived in one turn of the event loop together."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: list[Waiting] = []

    async def categorize(self, text: Text, id: str) -> dict[str, Any]:
        """Return the categories of a text, like `Queries.categorize`."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[dict[str, Any]] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._answer)
        self._waiting.append(Waiting(text, id, answer))
        return await answer

    def _answer(self) -> None:
        """Answer the waiting requests; if they are many, only the first, so that other tasks run in between."""
        ends = accumulate(_work(self._service, one.text) for one in self._waiting[:_FEW_TEXTS])
        count = max(sum(end <= _LITTLE_WORK for end in ends), 1)
        waiting, self._waiting = self._waiting[:count], self._waiting[count:]
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._answer)
        self._settle(waiting)

    def _settle(self, waiting: list[Waiting]) -> None:
        try:
            answers = self._categorize(waiting)
        except Exception as error:
            if len(waiting) > 1:  # one by one, so that only the faulty request gets the error
                for one in waiting:
                    self._settle([one])
            else:
                _settle(waiting[0], error)
            return
        for one, answer in zip(waiting, answers, strict=True):
            _settle(one, answer)

    def _categorize(self, waiting: list[Waiting]) -> list[dict[str, Any]]:
        texts, ids = [one.text for one in waiting], [one.id for one in waiting]
        return list(self._service.queries.categorize(texts, ids, top=None, details=False, explain=False))


def _settle(one: Waiting, answer: dict[str, Any] | Exception) -> None:
    if one.answer.done():  # the client has left
        return
    if isinstance(answer, Exception):
        one.answer.set_exception(answer)
    else:
        one.answer.set_result(answer)
