"""Short texts that come at the same time are categorized in one call: eight cost hardly more than one."""

import asyncio
from typing import Any, NamedTuple

from thresher.text.analysers import Text
from thresher.web.service import Service


class Waiting(NamedTuple):
    """A text whose categories are waited for."""

    text: Text
    id: str
    answer: "asyncio.Future[dict[str, Any]]"


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
        waiting, self._waiting = self._waiting, []
        try:
            found = self._found(waiting)
        except Exception as error:
            if len(waiting) > 1:  # whoever is at fault alone is told
                for one in waiting:
                    self._waiting = [one]
                    self._answer()
            else:
                _settle(waiting[0], error)
            return
        for one, answer in zip(waiting, found, strict=True):
            _settle(one, answer)

    def _found(self, waiting: list[Waiting]) -> list[dict[str, Any]]:
        texts, ids = [one.text for one in waiting], [one.id for one in waiting]
        return self._service.categorize(texts, ids, top=None, details=False, explain=False)


def _settle(one: Waiting, found: dict[str, Any] | Exception) -> None:
    if one.answer.done():  # whoever asked has left
        return
    if isinstance(found, Exception):
        one.answer.set_exception(found)
    else:
        one.answer.set_result(found)
