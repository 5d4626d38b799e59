"""Request bodies of JSON lines, read and answered while they arrive."""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from thresher.web import request_models
from thresher.web.errors import Problem

_LINES_AT_ONCE = 256


class Lines(StreamingResponse):
    """A response that is sent while the body of its request still arrives.

    Nothing else may listen for that body, not even for a disconnect.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        await self.stream_response(send)


async def wait_for_first(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Wait for the first line, so that an error in the first documents can still set the status."""
    try:
        first = await anext(lines)
    except StopAsyncIteration:
        raise Problem(422, "there are no documents") from None

    async def all_lines() -> AsyncIterator[bytes]:
        yield first
        async for line in lines:
            yield line

    return all_lines()


class Batch(NamedTuple):
    """Some lines of a body, and the number of the first of them."""

    first: int
    lines: list[bytes]

    def documents(self) -> list[str | request_models.DocumentIn]:
        """Return the checked documents of the lines."""
        values = [_parse_line(line, number) for number, line in enumerate(self.lines, self.first) if line.strip()]
        return [document_of(value) for value in values]


async def line_batches(request: Request) -> AsyncIterator[Batch]:
    """Yield the lines of a body as they arrive, up to _LINES_AT_ONCE at a time; batches of blank lines are skipped."""
    rest, number = bytearray(), 1
    async for part in request.stream():
        *lines, last = part.split(b"\n")
        if lines:
            lines[0] = bytes(rest + lines[0])
            rest.clear()
        rest += last
        for first in range(0, len(lines), _LINES_AT_ONCE):
            few = Batch(number, lines[first : first + _LINES_AT_ONCE])
            number += len(few.lines)
            if any(line.strip() for line in few.lines):
                yield few
        if len(rest) > request_models.MAX_BODY_BYTES:
            raise _too_long(number)
    if rest.strip():
        yield Batch(number, [bytes(rest)])


def _too_long(number: int) -> Problem:
    return Problem(413, f"line {number} is longer than {request_models.MAX_BODY_BYTES:,} bytes")


def _parse_line(line: bytes, number: int) -> Any:
    if len(line) > request_models.MAX_BODY_BYTES:
        raise _too_long(number)
    try:
        return request_models.parse(line)
    except Problem as problem:
        raise Problem(problem.status, f"line {number}: {problem.detail}") from None


def document_of(value: Any) -> str | request_models.DocumentIn:
    """Return a line's text, or its checked document."""
    return value if isinstance(value, str) else request_models.validate(request_models.DocumentIn, value)
