"""The route class of the API: it checks role, content type and JSON before a handler runs."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from thresher.web import request_models
from thresher.web.description import role_of
from thresher.web.errors import Problem
from thresher.web.guards import JSON, WRITING, check_kind, is_lines
from thresher.web.routes.shared import holder_of, parse_body


class JsonRequest(Request):
    """A request whose body is an object in strict JSON."""

    async def json(self) -> Any:
        """Return the body."""
        if not hasattr(self, "_json"):
            if is_lines(self.scope["headers"]):
                raise Problem(415, f"this takes {JSON}")
            self._json = await parse_body(self.app.state.service, await self.body(), request_models.parse)
            request_models.check_object(self._json)
        return self._json


class CheckedRoute(APIRoute):
    """A route that checks role, content type and JSON before it answers; a route without a role is for admins.

    A wrong method is refused before these checks.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of requests."""
        answer, role = super().get_route_handler(), role_of(self.path, self.openapi_extra)

        async def check_and_answer(request: Request) -> Response:
            if role is not None and not holder_of(request).may(role):
                raise Problem(403, f"this takes the role {role}")
            if request.method in WRITING:
                check_kind(request.scope["headers"])
            if self.body_field is not None:
                request = JsonRequest(request.scope, request.receive)
                await request.json()  # here, because FastAPI would answer every error in it with status 400
            return await answer(request)

        return check_and_answer
