"""Bodies of JSON lines: read while they come, and answered while they still come."""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

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


class Batch(NamedTuple):
    """Some lines as they came, and the number of the first of them."""

    first: int
    lines: list[bytes]

    def documents(self) -> list[str | bodies.DocumentIn]:
        """Return the documents of the lines, once they are checked."""
        found = [_line(line, number) for number, line in enumerate(self.lines, self.first) if line.strip()]
        return [document_of(one) for one in found]


async def line_batches(request: Request) -> AsyncIterator[Batch]:
    """Yield the lines of a body, as many at a time as have come, up to so many; those without a document left out."""
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
        if len(rest) > bodies.LONGEST_BODY:
            raise _too_long(number)
    if rest.strip():
        yield Batch(number, [bytes(rest)])


def _too_long(number: int) -> Problem:
    return Problem(413, f"line {number} is longer than {bodies.LONGEST_BODY:,} bytes")


def _line(line: bytes, number: int) -> Any:
    if len(line) > bodies.LONGEST_BODY:
        raise _too_long(number)
    try:
        return bodies.parsed(line)
    except Problem as problem:
        raise Problem(problem.status, f"line {number}: {problem.detail}") from None


def document_of(found: Any) -> str | bodies.DocumentIn:
    """Return a line's text, or its document once it is checked."""
    return found if isinstance(found, str) else bodies.checked(bodies.DocumentIn, found)
