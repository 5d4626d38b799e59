"""What a document is about: one, many or lines of them."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

from fastapi import FastAPI, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from thresher.errors import ThresherError
from thresher.text.analysers import Text
from thresher.web import bodies, outcomes
from thresher.web.description import content, options_in_query, route
from thresher.web.gathering import Gathering
from thresher.web.guards import LINES
from thresher.web.problems import Problem, as_problem
from thresher.web.routes.lines import Lines, begun, document_of, line_batches
from thresher.web.routes.shared import answer, is_lines, written_many
from thresher.web.service import Service

_FEW_LETTERS = 4000  # up to which a text is categorized at once; longer ones, and many, on another thread
_MOST_DETAILED = 1000


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the route that most requests ask for."""
    gathering = Gathering(service)
    categorized = {"200": content("The answer", outcomes.Categorized, lines=outcomes.Categorized)}

    @app.post(
        "/v1/categorize",
        **route("reader", None, takes=bodies.CategorizeIn, query=options_in_query(), responses=categorized),
    )
    async def categorize(request: Request) -> Response:
        """Say which categories documents belong to and, if asked, which words decided."""
        service.check_ready()
        if is_lines(request):
            return Lines(await begun(_lines_of_answers(service, request)), media_type=LINES)
        options, found = _options(request), bodies.parsed(await request.body())
        given = bodies.checked(bodies.CategorizeIn, options | found if isinstance(found, dict) else found)
        texts, ids = _texts_of(service, given)
        position = service.position
        if is_short(texts) and not (given.top or given.all or given.details or given.explain):
            told = [await gathering.categorize(texts[0], ids[0])]
        else:
            told = await _categorized(service, texts, ids, given)
        found = {"documents": told} if given.documents is not None else told[0]
        return answer(found, headers={"Thresher-Position": str(position)})


def _options(request: Request) -> dict[str, Any]:
    """Return the options that a query gives, which must be right though the body may have others."""
    if not request.scope["query_string"]:
        return {}
    known = {"true": True, "false": False}
    given: dict[str, Any] = {
        name: known.get(value, value)
        for name, value in request.query_params.items()
        if name in bodies.OptionsIn.model_fields
    }
    if str(given.get("top", "")).isdecimal() and len(given["top"]) < 10:
        given["top"] = int(given["top"])
    bodies.checked(bodies.OptionsIn, given)
    return given


def _texts_of(service: Service, given: bodies.CategorizeIn) -> tuple[list[Text], list[str]]:
    if given.document is not None:
        return [service.pool.get(given.document).text], [given.id or given.document]
    if given.documents is None:
        return [given.text or ""], [given.id or "1"]
    return _listed(given.documents)


def _listed(documents: Iterable[str | bodies.DocumentIn], before: int = 0) -> tuple[list[Text], list[str]]:
    """Return texts and ids; a document without one has its number for an id, counted from those before."""
    pairs = [(one, None) if isinstance(one, str) else (one.text, one.id) for one in documents]
    return [text for text, _ in pairs], [id or str(i) for i, (_, id) in enumerate(pairs, before + 1)]


async def _categorized(
    service: Service, texts: list[Text], ids: list[str], given: bodies.OptionsIn
) -> list[dict[str, Any]]:
    top = len(service.view.categories) if given.all else given.top
    if (given.details or given.explain) and len(texts) > _MOST_DETAILED:
        raise Problem(
            422, f"details and explanations are given of {_MOST_DETAILED:,} documents at a time (stream them)"
        )

    def work() -> list[dict[str, Any]]:
        return service.categorize(texts, ids, top=top, details=given.details, explain=given.explain)

    return work() if is_short(texts) else await asyncio.to_thread(work)


def is_short(texts: list[Text]) -> bool:
    """Tell whether texts are so few and short that another thread would cost more than it spares."""
    return len(texts) == 1 and isinstance(texts[0], str) and len(texts[0]) <= _FEW_LETTERS


async def _lines_of_answers(service: Service, request: Request) -> AsyncIterator[bytes]:
    """Categorize documents as their lines come; what is wrong after the first answer ends them with a problem."""
    wanted = bodies.checked(bodies.OptionsIn, _options(request))
    count = 0
    try:
        async for documents in line_batches(request):
            texts, ids = _listed(map(document_of, documents), count)
            found = await _categorized(service, texts, ids, wanted)
            count += len(found)
            yield b"".join(one + b"\n" for one in written_many(found))
    except (Problem, ThresherError, MemoryError) as error:
        if count == 0:
            raise
        problem = error if isinstance(error, Problem) else as_problem(error)
        yield bytes(problem.response().body) + b"\n"
    except ClientDisconnect:
        if count == 0:
            raise
