"""Bodies of JSON lines: read while they come, and answered while they still come."""

from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from thresher.web import bodies
from thresher.web.problems import Problem

_LINES_AT_ONCE = 256


class Lines(StreamingResponse):
    """An answer that is made while the body of its request still comes, so that nothing else may listen for that."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what there is."""
        await self.stream_response(send)


async def begun(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Wait for the first line: what is wrong with the first documents is then still a status."""
    try:
        first = await anext(lines)
    except StopAsyncIteration:
        raise Problem(422, "there are no documents") from None

    async def all_lines() -> AsyncIterator[bytes]:
        yield first
        async for line in lines:
            yield line

    return all_lines()


async def line_batches(request: Request) -> AsyncIterator[list[Any]]:
    """Yield what the lines of a body say, as many at a time as have come, up to so many."""
    rest, number = b"", 0
    async for part in request.stream():
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > bodies.LONGEST_BODY:
            raise Problem(413, f"line {number + len(lines) + 1} is longer than {bodies.LONGEST_BODY:,} bytes")
        for first in range(0, len(lines), _LINES_AT_ONCE):
            few = lines[first : first + _LINES_AT_ONCE]
            found = [_line(line, number + i) for i, line in enumerate(few, 1) if line.strip()]
            number += len(few)
            if found:
                yield found
    if rest.strip():
        yield [_line(rest, number + 1)]


def _line(line: bytes, number: int) -> Any:
    if len(line) > bodies.LONGEST_BODY:
        raise Problem(413, f"line {number} is longer than {bodies.LONGEST_BODY:,} bytes")
    try:
        return bodies.parsed(line)
    except Problem as problem:
        raise Problem(problem.status, f"line {number}: {problem.detail}") from None


def document_of(found: Any) -> str | bodies.DocumentIn:
    """Return a line's text, or its document once it is checked."""
    return found if isinstance(found, str) else bodies.checked(bodies.DocumentIn, found)
