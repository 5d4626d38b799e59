"""Short texts that come at the same time are categorized in one call: eight cost hardly more than one."""

import asyncio
from itertools import accumulate
from typing import Any, NamedTuple

from thresher.text.analysers import Text
from thresher.web.service import Service

_FEW_TEXTS = 64
_FEW_LETTERS = 4000  # of one text
_LITTLE_WORK = 4_000_000  # letters x categories


class Waiting(NamedTuple):
    """A text whose categories are waited for."""

    text: Text
    id: str
    answer: "asyncio.Future[dict[str, Any]]"


def is_short(service: Service, text: Text) -> bool:
    """Tell whether a text takes so little time that another thread would cost more than it spares."""
    return letters_of(text) <= _FEW_LETTERS and _work(service, text) <= _LITTLE_WORK


def letters_of(text: Text) -> int:
    """Return how long a text is, with all of its fields."""
    return len(text) if isinstance(text, str) else sum(map(len, text.values()))


def _work(service: Service, text: Text) -> int:
    """Return what a text costs: its letters, and some more for what is said of it, for each category."""
    return (letters_of(text) + 500) * max(len(service.view.categories), 100)


class Gathering:
    """Takes texts one by one, and asks the model for all that came in one turn of the event loop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: list[Waiting] = []

    async def categorize(self, text: Text, id: str) -> dict[str, Any]:
        """Return the categories of a text, as `Service.categorize` gives them."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[dict[str, Any]] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._answer)
        self._waiting.append(Waiting(text, id, answer))
        return await answer

    def _answer(self) -> None:
        """Answer those who wait; of very many only the first, so that others have their turn before the rest."""
        ends = accumulate(_work(self._service, one.text) for one in self._waiting[:_FEW_TEXTS])
        count = max(sum(end <= _LITTLE_WORK for end in ends), 1)
        waiting, self._waiting = self._waiting[:count], self._waiting[count:]
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._answer)
        self._settle(waiting)

    def _settle(self, waiting: list[Waiting]) -> None:
        try:
            found = self._found(waiting)
        except Exception as error:
            if len(waiting) > 1:  # whoever is at fault alone is told
                for one in waiting:
                    self._settle([one])
            else:
                _settle(waiting[0], error)
            return
        for one, answer in zip(waiting, found, strict=True):
            _settle(one, answer)

    def _found(self, waiting: list[Waiting]) -> list[dict[str, Any]]:
        texts, ids = [one.text for one in waiting], [one.id for one in waiting]
        return list(self._service.categorize(texts, ids, top=None, details=False, explain=False))


def _settle(one: Waiting, found: dict[str, Any] | Exception) -> None:
    if one.answer.done():  # whoever asked has left
        return
    if isinstance(found, Exception):
        one.answer.set_exception(found)
    else:
        one.answer.set_result(found)
