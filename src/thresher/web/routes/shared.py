"""Helpers that routes share: identity, request bodies, threads, JSON answers and errors."""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import orjson
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from thresher.errors import ThresherError
from thresher.web import request_models
from thresher.web.access_tokens import Holder
from thresher.web.errors import Problem, as_problem
from thresher.web.guards import JSON
from thresher.web.service import Service
from thresher.web.workers import Workers

Result = TypeVar("Result")
FEW_BYTES = 2**14  # a body up to this size is parsed at once, a longer one on another thread
MAX_ANSWER_BYTES = 50_000_000  # bytes of one answer
_ENCODED_AT_ONCE = 1000  # categories of documents, or list entries, encoded at once: no other thread runs meanwhile
_ROOM = 2**24  # bytes: more than these entries ever take
_PIECE = 2**18  # bytes sent at once
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


async def make_refusal(request: Request, error: Exception) -> Response:
    """Return the response for an error."""
    if isinstance(error, Problem):
        return error.response()
    if isinstance(error, ClientDisconnect):
        return Problem(400, "the client left before all had come").response()
    if isinstance(error, ThresherError | MemoryError):
        return as_problem(error).response()
    if isinstance(error, HTTPException) and error.status_code == 405:
        return Problem(405, "method not allowed", {"Allow": _list_allowed_methods(request)}).response()
    if isinstance(error, HTTPException):
        return Problem(error.status_code, str(error.detail).lower(), dict(error.headers or {})).response()
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where, *loc = first["loc"]
        if where == "body":
            return request_models.invalid_body(first | {"loc": tuple(loc)}).response()
        return Problem(422, f"{'.'.join(map(str, loc))}: {first['msg'].lower()}").response()
    return Problem(500, "something went wrong here; the log says what").response()


class Answer(Response):
    """A JSON response, sent in pieces as fast as the client reads it."""

    media_type = JSON

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        body = memoryview(self.body)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for first in range(0, len(body), _PIECE):
            if first:
                await asyncio.sleep(0)  # let others run, even if the client reads everything at once
            rest = first + _PIECE < len(body)
            await send({"type": "http.response.body", "body": bytes(body[first : first + _PIECE]), "more_body": rest})


def answer(value: Any) -> Response:
    """Return a small JSON response."""
    return Answer(encode(value))


def encode(value: Any) -> bytes:
    """Return JSON, encoded in parts so that other threads run in between."""
    return b"".join(_encode_parts(value))


def _encode_parts(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict) and any(isinstance(part, list | dict) for part in value.values()):
        before = b"{"
        for key, part in value.items():
            yield before + _encode_part(key) + b":"
            yield from _encode_parts(part)
            before = b","
        yield b"}"
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        before = b"["
        for part in value:
            yield before
            yield from _encode_parts(part)
            before = b","
        yield b"]"
    elif isinstance(value, list) and len(value) > _ENCODED_AT_ONCE:
        parts = (value[first : first + _ENCODED_AT_ONCE] for first in range(0, len(value), _ENCODED_AT_ONCE))
        yield b"[" + b",".join(_encode_part(part)[1:-1] for part in parts) + b"]"
    else:
        yield _encode_part(value)


def _encode_part(value: Any) -> bytes:
    """Return JSON; NaN, as in a share of nothing, becomes null."""
    try:
        return _ENCODER.encode(value).encode()
    except ValueError:
        _require_room()
        return orjson.dumps(value)


def encode_documents(documents: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Yield each of many documents as JSON, encoded with orjson, which is ten times as fast."""
    count = _ENCODED_AT_ONCE
    for document in documents:
        entries = len(document["categories"]) + 1
        count += entries
        if count > _ENCODED_AT_ONCE:
            _require_room()
            count = entries
        yield encode(document) if "explanations" in document or entries > _ENCODED_AT_ONCE else orjson.dumps(document)


def _require_room() -> None:
    """Raise a MemoryError if there is no memory for orjson's next output: orjson would end the process instead."""
    np.empty(_ROOM, dtype=np.uint8)


def holder_of(request: Request) -> Holder:
    """Return the token holder of a request."""
    holder: Holder = request.state.holder
    return holder


def user_of(holder: Holder, claimed: str | None) -> str:
    """Return the user of a correction: the holder of the token or, for the shared token, the `claimed` name."""
    return holder.name or claimed or ""


async def parse_body(service: Service, body: bytes, reader: Callable[[bytes], Result]) -> Result:
    """Parse a body with a reader: at once if it is short, otherwise on another thread."""
    if len(body) <= FEW_BYTES:
        return reader(body)
    return await asyncio.wrap_future(service.workers.quick.call(lambda: reader(body)))


async def write(service: Service, work: Callable[[], Result]) -> Result:
    """Run work on the writing thread, to its end even if the client leaves.

    Work that has not begun when the service must end is refused and not done.
    """
    future = service.write(work)
    try:
        return await asyncio.shield(asyncio.wrap_future(future))
    except asyncio.CancelledError:
        future.cancel()
        raise


async def read_journal(request: Request, service: Service, work: Callable[[], Result]) -> Result:
    """Run a read on the writing thread, unless the client leaves before its turn."""
    return await _wait_unless_left(request, service.write(work))


async def compute(request: Request, workers: Workers, work: Callable[[], Result]) -> Result:
    """Run read-only work on a thread, unless the client leaves before its turn."""
    return await _wait_unless_left(request, workers.call(work))


async def _wait_unless_left(request: Request, future: "Future[Result]") -> Result:
    result, left = asyncio.wrap_future(future), asyncio.ensure_future(_wait_until_left(request))
    both: tuple[asyncio.Future[Any], ...] = (result, left)
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not result.done():
            raise ClientDisconnect
        return result.result()
    finally:
        left.cancel()
        result.cancel()


async def _wait_until_left(request: Request) -> None:
    """Wait until the client leaves, or the body is refused."""
    with suppress(Problem):
        while (await request.receive())["type"] != "http.disconnect":
            pass


def _list_allowed_methods(request: Request) -> str:
    """Return the methods that the routes of a path accept."""
    methods: set[str] = set()
    for one in request.app.router.routes:
        if one.matches(request.scope)[0] is not Match.NONE:
            methods |= one.methods or set()
    return ", ".join(sorted(methods))
