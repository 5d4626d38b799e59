"""Routes for the documents to review: the queue, adding, showing, changing and deleting documents."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from functools import partial
from itertools import chain
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request
from starlette.responses import Response

from thresher.text.analysers import Text
from thresher.web import request_models, response_models
from thresher.web.description import links, needs, takes_lines_or
from thresher.web.guards import is_lines
from thresher.web.review_order import MAX_LETTERS
from thresher.web.routes.lines import Batch, line_batches
from thresher.web.routes.shared import (
    Answer,
    answer,
    compute,
    encode,
    parse_body,
    read_journal,
    write,
)
from thresher.web.service import Service

_LOOKED_UP_AT_ONCE = 50


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes for documents to review."""
    _add_queue(app, service)
    _add_documents(app, service)


def _add_queue(app: FastAPI, service: Service) -> None:
    id_of_first = {"id": "$response.body#/documents/0/id"}
    first = links(document=id_of_first, set_state=id_of_first)

    @app.get("/v1/queue", response_model=response_models.Queue, responses={200: first}, openapi_extra=needs("reader"))
    async def queue(
        request: Request,
        order: Literal["uncertain", "random", "diverse"] = "uncertain",
        category: Annotated[str | None, Query(max_length=200)] = None,
        q: Annotated[str, Query(max_length=1000)] = "",
        state: Literal["open", "unsure", "done"] = "open",
        limit: Annotated[int, Query(ge=1, le=200)] = 20,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> Response:
        """List the documents to review, the least certain first."""
        service.check_ready()
        list_page = partial(service.queries.list_documents, order, category or None, q, state, limit, offset)
        listed, matching = await compute(request, service.workers.queue, list_page)
        answers: list[dict[str, Any]] = []
        room = MAX_LETTERS
        while room >= 0 and len(answers) < len(listed):
            some = listed[len(answers) : len(answers) + _LOOKED_UP_AT_ONCE]  # in parts, so that writers have a turn
            more, room = await read_journal(request, service, partial(_add_corrections, service, some, room))
            answers += more

        def page() -> bytes:
            return encode({"documents": answers, "matching": matching, **service.served.documents.count_states()})

        return Answer(await compute(request, service.workers.queue, page))


def _add_documents(app: FastAPI, service: Service) -> None:
    id_sent = {"id": "$request.body#/documents/0/id"}

    @app.post(
        "/v1/documents",
        response_model=response_models.Added,
        responses={200: links(document=id_sent, set_state=id_sent)},
        openapi_extra=needs("teacher") | takes_lines_or(request_models.DocumentsIn),
    )
    async def add_documents(request: Request) -> Response:
        """Add documents to review."""
        added = known = 0
        async for pairs in _document_batches(request, service):
            new, old = await write(service, partial(_add, service, pairs))
            added, known = added + new, known + old
        return answer({"added": added, "known": known})

    @app.get("/v1/documents/{id:path}", response_model=response_models.Document, openapi_extra=needs("reader"))
    async def document(request: Request, id: str) -> Response:
        """Show a document to review."""
        service.check_ready()
        shown = service.served.documents.get(id)
        return Answer(await compute(request, service.workers.quick, lambda: encode(shown._asdict())))

    @app.patch(
        "/v1/documents/{id:path}",
        response_model=response_models.Document,
        openapi_extra=needs("teacher"),
    )
    async def set_state(id: str, given: request_models.StateIn) -> Response:
        """Set the state of a document to review."""
        return Answer(
            await write(service, lambda: encode(service.served.documents.set_state(id, given.state)._asdict()))
        )

    @app.delete("/v1/documents/{id:path}", response_model=response_models.Document, openapi_extra=needs("admin"))
    async def remove_document(request: Request, id: str) -> Response:
        """Delete a document to review; its corrections stay."""
        return Answer(await write(service, lambda: encode(service.served.documents.remove(id)._asdict())))


def _add_corrections(service: Service, documents: list[dict[str, Any]], room: int) -> tuple[list[dict[str, Any]], int]:
    """Return documents with their corrections until the names in them exceed the `room`, and the room left."""
    answers: list[dict[str, Any]] = []
    for document in documents:
        if room < 0:
            break
        answers.append(service.queries.add_corrections(document))
        for said in answers[-1]["corrections"]:
            room -= sum(map(len, chain(said["accept"], said["reject"], said["categories"] or ())))
    return answers, room


async def _document_batches(request: Request, service: Service) -> AsyncIterator[list[tuple[str | None, Text]]]:
    if is_lines(request.scope["headers"]):
        async for batch in line_batches(request):
            yield await asyncio.wrap_future(service.workers.quick.call(partial(_pairs_of, batch)))
    else:
        yield await parse_body(service, await request.body(), _pairs_in)


def _pairs_of(batch: Batch) -> list[tuple[str | None, Text]]:
    return _pairs(batch.documents())


def _pairs_in(body: bytes) -> list[tuple[str | None, Text]]:
    return _pairs(request_models.validate(request_models.DocumentsIn, request_models.parse(body)).documents)


def _pairs(documents: Iterable[str | request_models.DocumentIn]) -> list[tuple[str | None, Text]]:
    return [(None, one) if isinstance(one, str) else (one.id, one.text) for one in documents]


def _add(service: Service, pairs: list[tuple[str | None, Text]]) -> tuple[int, int]:
    return service.served.documents.add(pairs)
