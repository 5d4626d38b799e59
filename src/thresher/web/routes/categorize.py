"""The route that categorizes documents: one, many, or JSON lines."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from thresher.errors import ThresherError
from thresher.text.analysers import Text
from thresher.web import request_models, response_models
from thresher.web.description import ANSWER, needs, options_in_query, refer_to, takes_lines_or
from thresher.web.errors import Problem, as_problem
from thresher.web.guards import LINES, is_lines
from thresher.web.micro_batching import Gathering, is_short, letters_of
from thresher.web.routes.lines import Lines, line_batches, wait_for_first
from thresher.web.routes.shared import (
    MAX_ANSWER_BYTES,
    Answer,
    compute,
    encode,
    encode_documents,
    parse_body,
)
from thresher.web.service import Service
from thresher.web.workers import Workers

_FEW_LETTERS, _FEW_CATEGORIES = 50_000, 10_000  # limits for one text that takes a few milliseconds
_SCORES_AT_ONCE = 20_000  # documents x categories that are answered at once for JSON lines


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the route for categorizing."""
    gathering = Gathering(service)
    lines = {LINES: {"schema": refer_to(response_models.Categorized)}}

    @app.post(
        "/v1/categorize",
        response_model=response_models.Categorized,
        responses={200: ANSWER | {"content": lines}},
        openapi_extra=needs("reader")
        | takes_lines_or(request_models.CategorizeIn)
        | {"parameters": options_in_query()},
    )
    async def categorize(request: Request) -> Response:
        """Return the categories of documents and, if requested, the words that decided."""
        service.check_ready()
        if is_lines(request.scope["headers"]):
            return Lines(await wait_for_first(_stream_answers(service, request)), media_type=LINES)
        options, body = _options(request), await request.body()
        given = await parse_body(service, body, partial(_parse_request, options))
        position = service.served.position
        plain = not (given.top or given.all or given.details or given.explain)
        if plain and given.documents is None and is_short(service, text := _text_of(service, given)):
            body = encode(await gathering.categorize(text, _id_of(given)))
        else:
            body = await compute(request, _workers(service, given), partial(_answer, service, given))
        return Answer(body, headers={"Thresher-Position": str(position)})


def _parse_request(options: dict[str, Any], body: bytes) -> request_models.CategorizeIn:
    given = request_models.parse(body)
    return request_models.validate(request_models.CategorizeIn, options | given if isinstance(given, dict) else given)


def _workers(service: Service, given: request_models.CategorizeIn) -> Workers:
    """Return the threads for a request, by its expected duration."""
    is_quick = given.documents is None and not given.explain and len(service.served.view.categories) <= _FEW_CATEGORIES
    if is_quick and letters_of(_text_of(service, given)) <= _FEW_LETTERS:
        return service.workers.quick
    return service.workers.long


def _options(request: Request) -> dict[str, Any]:
    """Return the options in the query; they are checked even if the body overrides them."""
    if not request.scope["query_string"]:
        return {}
    known = {"true": True, "false": False}
    given: dict[str, Any] = {
        name: known.get(value, value)
        for name, value in request.query_params.items()
        if name in request_models.OptionsIn.model_fields
    }
    if str(given.get("top", "")).isdecimal() and len(given["top"]) < 10:
        given["top"] = int(given["top"])
    request_models.validate(request_models.OptionsIn, given)
    return given


def _text_of(service: Service, given: request_models.CategorizeIn) -> Text:
    return (given.text or "") if given.document is None else service.served.documents.get(given.document).text


def _id_of(given: request_models.CategorizeIn) -> str:
    return given.id or given.document or "1"


def _split(documents: Iterable[str | request_models.DocumentIn], before: int = 0) -> tuple[list[Text], list[str]]:
    """Return texts and ids; a document without an id gets its number, counting those before."""
    pairs = [(one, None) if isinstance(one, str) else (one.text, one.id) for one in documents]
    return [text for text, _ in pairs], [id or str(i) for i, (_, id) in enumerate(pairs, before + 1)]


def _answer(service: Service, given: request_models.CategorizeIn) -> bytes:
    """Return the JSON answer for one document or many."""
    if given.documents is None:
        return next(_encode_answers(service, [_text_of(service, given)], [_id_of(given)], given))
    answer = bytearray(b'{"documents":[')
    for part in _encode_answers(service, *_split(given.documents), given):
        answer += part
        answer += b","
        if len(answer) > MAX_ANSWER_BYTES:
            raise Problem(422, f"an answer may have {MAX_ANSWER_BYTES:,} bytes (send fewer documents, or stream them)")
    if given.documents:
        del answer[-1:]
    answer += b"]}"
    return bytes(answer)


def _encode_answers(
    service: Service, texts: list[Text], ids: list[str], given: request_models.OptionsIn
) -> Iterator[bytes]:
    top = len(service.served.view.categories) if given.all else given.top
    return encode_documents(
        service.queries.categorize(texts, ids, top=top, details=given.details, explain=given.explain)
    )


async def _stream_answers(service: Service, request: Request) -> AsyncIterator[bytes]:
    """Categorize documents as their lines arrive; an error after the first answer is sent as a last line."""
    wanted = request_models.validate(request_models.OptionsIn, _options(request))
    count = 0
    try:
        async for batch in line_batches(request):
            documents = await asyncio.wrap_future(service.workers.quick.call(batch.documents))
            step = _lines_at_once(service, wanted)
            for first in range(0, len(documents), step):
                some = partial(_answer_lines, service, documents[first : first + step], count, wanted)
                yield await asyncio.wrap_future(service.workers.long.call(some))
                count += len(documents[first : first + step])
    except (Problem, ThresherError, MemoryError) as error:
        if count == 0:
            raise
        problem = error if isinstance(error, Problem) else as_problem(error)
        yield bytes(problem.response().body) + b"\n"
    except ClientDisconnect:
        if count == 0:
            raise


def _lines_at_once(service: Service, wanted: request_models.OptionsIn) -> int:
    """Return the number of lines to answer at once: 1 with explanations, otherwise by a limit on scores."""
    most = len(service.served.view.categories)
    most = most if wanted.all or not wanted.top else min(most, wanted.top)
    return 1 if wanted.explain else max(_SCORES_AT_ONCE // max(most, 1), 1)


def _answer_lines(
    service: Service, documents: list[str | request_models.DocumentIn], before: int, wanted: request_models.OptionsIn
) -> bytes:
    return b"".join(one + b"\n" for one in _encode_answers(service, *_split(documents, before), wanted))
