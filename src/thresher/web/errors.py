"""Errors as problem+json (RFC 9457): a status, a title and one line, never the client's input or a path."""

import json
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from thresher import errors

MEDIA = "application/problem+json"
_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}  # other names before Python 3.13


class Problem(Exception):  # noqa: N818
    """An error response; `more` adds members next to title and detail."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers, self.more = status, detail, headers or {}, more

    def response(self) -> Response:
        """Return the HTTP response."""
        about = {
            "type": "about:blank",
            "title": _TITLES.get(self.status) or HTTPStatus(self.status).phrase,
            "status": self.status,
        }
        body = json.dumps(about | {"detail": self.detail} | self.more, ensure_ascii=False, separators=(",", ":"))
        return Response(body, self.status, headers=self.headers, media_type=MEDIA)


def busy(detail: str) -> Problem:
    """Return a problem with status 503, which the client may retry soon."""
    return Problem(503, detail, {"Retry-After": "1"})


def as_problem(error: errors.ThresherError | MemoryError) -> Problem:
    """Return the problem for an error of the library, or for a lack of memory."""
    if isinstance(error, errors.JournalMemoryError):
        return busy("this is saved, but there is not enough memory to learn it (send the same again later)")
    if isinstance(error, MemoryError):
        return busy("there is not enough memory for this (send less at once, or again later)")
    if isinstance(error, errors.JournalFullError):
        return Problem(507, "the disk is full (make room, and send the same again)")
    if isinstance(error, errors.JournalBrokenError):
        return busy("the journal cannot be written; the service is ending")
    if isinstance(error, errors.RepeatedIdError):
        return Problem(409, "this id was used before, with other contents")
    if isinstance(error, errors.JournalError):
        return Problem(409, error.message(with_values=False))
    return Problem(422, error.message(with_values=False))
