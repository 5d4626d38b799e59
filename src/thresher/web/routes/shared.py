"""What routes share: who asks, what a body holds, how an answer is written, and what a refusal says."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import orjson
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match

from thresher.errors import ThresherError
from thresher.web import bodies
from thresher.web.description import role_of
from thresher.web.guards import JSON, LINES, WRITING, check_kind
from thresher.web.problems import Problem, as_problem
from thresher.web.service import Service
from thresher.web.tokens import Holder

Result = TypeVar("Result")
_WRITTEN_AT_ONCE = 50
_ROOM = 2**24  # bytes that so many documents never take
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


async def refused(request: Request, error: Exception) -> Response:
    """Return what is told of an error."""
    if isinstance(error, Problem):
        return error.response()
    if isinstance(error, ClientDisconnect):
        return Problem(400, "the client left before all had come").response()
    if isinstance(error, ThresherError | MemoryError):
        return as_problem(error).response()
    if isinstance(error, HTTPException) and error.status_code == 405:
        return Problem(405, "method not allowed", {"Allow": _allowed(request)}).response()
    if isinstance(error, HTTPException):
        return Problem(error.status_code, str(error.detail).lower(), dict(error.headers or {})).response()
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return Problem(422, f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg'].lower()}").response()
    return Problem(500, "something went wrong here; the log says what").response()


def answer(found: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer in JSON."""
    return Response(written(found), status, headers, media_type=JSON)


def written(found: Any) -> bytes:
    """Return JSON; what is no number, as a share of nothing, is null."""
    if isinstance(found, dict) and found.keys() == {"documents"}:
        return b'{"documents":[%b]}' % b",".join(written_many(found["documents"]))
    try:
        return _ENCODER.encode(found).encode()
    except ValueError:
        bytearray(_ROOM)
        return orjson.dumps(found)


def written_many(documents: list[dict[str, Any]]) -> Iterator[bytes]:
    """Yield each of many documents as JSON, which orjson writes ten times as fast; see to it that it finds memory.

    Where it finds none it does not raise, but takes the process down.
    """
    for first in range(0, len(documents), _WRITTEN_AT_ONCE):
        bytearray(_ROOM)
        for document in documents[first : first + _WRITTEN_AT_ONCE]:
            yield written(document) if "explanations" in document else orjson.dumps(document)


def holder_of(request: Request) -> Holder:
    """Return who asks."""
    holder: Holder = request.scope["state"]["holder"]
    return holder


def user_of(holder: Holder, claimed: str | None) -> str:
    """Return who corrects: the holder of the token or, of the one that all share, what is claimed."""
    return holder.name or claimed or ""


async def body_of(request: Request, kind: type[bodies.Model]) -> bodies.Model:
    """Return what a body of JSON holds, once it is checked."""
    if is_lines(request):
        raise Problem(415, f"this takes {JSON}")
    return bodies.checked(kind, bodies.parsed(await request.body()))


async def keep(service: Service, work: Callable[[], Result]) -> Result:
    """Have something done by the writing thread, to its end even if the client leaves."""
    return await asyncio.shield(asyncio.wrap_future(service.write(work)))


async def look_up(service: Service, work: Callable[[], Result]) -> Result:
    """Have the writing thread look something up, unless the client leaves before its turn."""
    return await asyncio.wrap_future(service.write(work))


def is_lines(request: Request) -> bool:
    """Tell whether a body is one of JSON lines."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == LINES


class Route(APIRoute):
    """A route that looks at who asks, and at the kind of a body, before it answers; one that names no role is admins'.

    Another method than its own is told before all that.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer, role = super().get_route_handler(), role_of(self.path, self.openapi_extra)

        async def checked(request: Request) -> Response:
            if role is not None and not holder_of(request).may(role):
                raise Problem(403, f"this takes the role {role}")
            if request.method in WRITING:
                check_kind(request.scope["headers"])
            return await answer(request)

        return checked


def _allowed(request: Request) -> str:
    """Return the methods that some route takes for a path."""
    methods: set[str] = set()
    for one in request.app.router.routes:
        if one.matches(request.scope)[0] is not Match.NONE:
            methods |= one.methods or set()
    return ", ".join(sorted(methods))
