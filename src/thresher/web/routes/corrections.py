"""Routes for corrections: make, list, undo and export them."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from starlette.responses import Response, StreamingResponse

from thresher.journal.export import export_correction
from thresher.journal.record import Record
from thresher.web import request_models, response_models
from thresher.web.description import Responses, links, needs
from thresher.web.guards import LINES
from thresher.web.routes.shared import (
    Answer,
    answer,
    compute,
    encode,
    holder_of,
    read_journal,
    user_of,
    write,
)
from thresher.web.service import Service

_RECORDS_AT_ONCE = 50
_MAX_PAGE_BYTES = 4_000_000  # bytes after which a page of corrections ends


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes for corrections."""
    _add_corrections(app, service)
    _add_export(app, service)


def _add_corrections(app: FastAPI, service: Service) -> None:
    made = links(undo={"id": "$response.body#/id"})

    @app.post(
        "/v1/corrections",
        response_model=response_models.Taught,
        responses={200: made, 201: made | {"model": response_models.Taught, "description": "Saved and learned"}},
        openapi_extra=needs("teacher"),
    )
    async def correct(request: Request, given: request_models.CorrectionIn) -> Response:
        """Save a correction, learn it, and return what it changed."""
        holder = holder_of(request)

        def correct_and_encode() -> tuple[bytes, bool]:
            effect, is_repeated = service.commands.correct(given, user_of(holder, given.user))
            return encode(effect), is_repeated

        effect, is_repeated = await write(service, correct_and_encode)
        return Answer(effect, 200 if is_repeated else 201)

    others = links(corrections={"after": "$response.body#/next"}, undo={"id": "$response.body#/corrections/0/id"})

    @app.get(
        "/v1/corrections",
        response_model=response_models.Corrections,
        responses={200: others},
        openapi_extra=needs("reader"),
    )
    async def corrections(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        after: Annotated[int | None, Query(ge=0, le=2**53)] = None,
        before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
        newest: bool = False,
    ) -> Response:
        """List the corrections with their users and effects."""
        return Answer(await _read_page(request, service, limit, after, before, newest))

    @app.delete("/v1/corrections/{id:path}", response_model=response_models.Undone, openapi_extra=needs("teacher"))
    async def undo(request: Request, id: str, user: Annotated[str, Query(max_length=200)] = "") -> Response:
        """Undo a correction, as if it had never been made."""
        holder = holder_of(request)
        return answer(await write(service, lambda: service.commands.undo(id, holder, user_of(holder, user))))


def _add_export(app: FastAPI, service: Service) -> None:
    lines: Responses = {200: {"description": "JSON lines", "content": {LINES: {}}}}

    @app.get("/v1/export", responses=lines, openapi_extra=needs("admin"))
    async def export(request: Request) -> Response:
        """Return all corrections in effect, as documents to train on."""
        service.check_ready()
        return StreamingResponse(_stream_export(service), media_type=LINES)


async def _read_page(
    request: Request, service: Service, limit: int, after: int | None, before: int | None, newest: bool
) -> bytes:
    """Return a page of corrections, read in parts so that writers have a turn; it ends early if it grows long."""
    encoded: list[bytes] = []
    while True:
        count = min(limit - len(encoded), _RECORDS_AT_ONCE)
        some = partial(service.queries.list_corrections, count, after, before, newest)
        page = await read_journal(request, service, some)
        encoded += await compute(request, service.workers.quick, partial(_encode_each, page["corrections"]))
        if page["next"] is None or len(encoded) == limit or sum(map(len, encoded)) > _MAX_PAGE_BYTES:
            return b'{"corrections":[' + b",".join(encoded) + b"]," + encode({"next": page["next"]})[1:]
        after, before = (None, page["next"]) if newest or before is not None else (page["next"], None)


def _encode_each(corrections: list[dict[str, Any]]) -> list[bytes]:
    return list(map(encode, corrections))


async def _stream_export(service: Service) -> AsyncIterator[bytes]:
    after = 0
    while True:
        read_page = partial(service.queries.read_records, after, _RECORDS_AT_ONCE)
        records = await asyncio.wrap_future(service.write(read_page))
        yield await asyncio.wrap_future(service.workers.quick.call(partial(_encode_lines, service, records)))
        if len(records) < _RECORDS_AT_ONCE:
            return
        after = records[-1].seq


def _encode_lines(service: Service, records: list[Record]) -> bytes:
    active = (one for one in records if one.kind == "correction" and one.undone_by is None and one.text is not None)
    history = service.served.history
    return b"".join(encode(export_correction(one, history.translate_body(one))) + b"\n" for one in active)
