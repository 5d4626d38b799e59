"""Documents to review: which comes next, new ones, and what has become of one."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Annotated, Literal

from fastapi import FastAPI, Query, Request
from starlette.responses import Response

from thresher.text.analysers import Text
from thresher.web import bodies, outcomes
from thresher.web.description import route
from thresher.web.routes.lines import document_of, line_batches
from thresher.web.routes.shared import answer, body_of, is_lines, keep, look_up
from thresher.web.service import Service


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes of documents to review."""
    _add_queue(app, service)
    _add_documents(app, service)


def _add_queue(app: FastAPI, service: Service) -> None:
    first = {"id": "$response.body#/documents/0/id"}

    @app.get("/v1/queue", **route("reader", outcomes.Queue, leads={"document": first, "set_state": first}))
    async def queue(
        request: Request,
        order: Literal["uncertain", "random", "diverse"] = "uncertain",
        category: Annotated[str | None, Query(max_length=200)] = None,
        q: Annotated[str, Query(max_length=1000)] = "",
        state: Literal["open", "unsure", "done"] = "open",
        limit: Annotated[int, Query(ge=1, le=200)] = 20,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> Response:
        """Say what to review next, the uncertain first."""
        service.check_ready()
        found, matching = await asyncio.to_thread(service.queued, order, category or None, q, state, limit, offset)
        told = await look_up(service, lambda: [service.with_corrections(one) for one in found])
        return answer({"documents": told, "matching": matching, **service.pool.counts()})


def _add_documents(app: FastAPI, service: Service) -> None:
    sent = {"id": "$request.body#/documents/0/id"}

    @app.post(
        "/v1/documents",
        **route("teacher", outcomes.Added, takes=bodies.DocumentsIn, leads={"document": sent, "set_state": sent}),
    )
    async def add_documents(request: Request) -> Response:
        """Add documents to review."""
        added = known = 0
        async for pairs in _document_batches(request):
            new, old = await keep(service, partial(_added, service, pairs))
            added, known = added + new, known + old
        return answer({"added": added, "known": known})

    @app.get("/v1/documents/{id:path}", **route("reader", outcomes.Document))
    async def document(request: Request, id: str) -> Response:
        """Show a document to review."""
        service.check_ready()
        return answer(service.pool.get(id)._asdict())

    @app.patch("/v1/documents/{id:path}", **route("teacher", outcomes.Document, takes=bodies.StateIn))
    async def set_state(request: Request, id: str) -> Response:
        """Say what has become of a document to review."""
        given = await body_of(request, bodies.StateIn)
        found = await keep(service, lambda: service.pool.set_state(id, given.state))
        return answer(found._asdict())


async def _document_batches(request: Request) -> AsyncIterator[list[tuple[str | None, Text]]]:
    if is_lines(request):
        async for lines in line_batches(request):
            yield _pairs(document_of(one) for one in lines)
    else:
        yield _pairs((await body_of(request, bodies.DocumentsIn)).documents)


def _pairs(documents: Iterable[str | bodies.DocumentIn]) -> list[tuple[str | None, Text]]:
    return [(None, one) if isinstance(one, str) else (one.id, one.text) for one in documents]


def _added(service: Service, pairs: list[tuple[str | None, Text]]) -> tuple[int, int]:
    return service.pool.add(pairs)
