"""The OpenAPI description of the routes: their parameters, bodies, answers and links."""

from functools import cache
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from thresher.web import request_models, response_models
from thresher.web.errors import MEDIA
from thresher.web.guards import ASSETS, JSON, LINES

_SCHEMAS = "#/components/schemas/"
_PROBLEMS = (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 431, 503, 507)
_PROBLEM: dict[str, Any] = {
    "description": "What is wrong",
    "content": {MEDIA: {"schema": {"$ref": f"{_SCHEMAS}Problem"}}},
}
_LINE = {"anyOf": [{"type": "string"}, {"$ref": f"{_SCHEMAS}DocumentIn"}]}
ANSWER: dict[str, Any] = {"description": "The answer"}
Responses = dict[int | str, dict[str, Any]]
RESPONSES: Responses = {200: ANSWER, **dict.fromkeys(_PROBLEMS, _PROBLEM)}  # of every route


def needs(role: str | None) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that requires a role; None: no token. The route checks it, too."""
    return {"security": [] if role is None else [{"token": [role]}]}


def links(**parameters: dict[str, str]) -> dict[str, Any]:
    """Return the description of an answer with the routes to call next.

    Parameters
    ----------
    parameters : dict
        For the name of each route: where its parameters are in the request or the response.
    """
    return ANSWER | {"links": {name: {"operationId": name, "parameters": given} for name, given in parameters.items()}}


def refer_to(kind: type[BaseModel]) -> dict[str, str]:
    """Return a reference to the schema of a model."""
    return {"$ref": f"{_SCHEMAS}{kind.__name__}"}


def takes_lines_or(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that reads its body itself, because it may also be JSON lines."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": refer_to(kind)}, LINES: {"schema": _LINE}}}}


def role_of(path: str, extra: dict[str, Any] | None) -> str | None:
    """Return the role that a route requires; by default "admin", and None for the page and its files."""
    if extra is None or "security" not in extra:
        return None if path == "/" or path.startswith(ASSETS) else "admin"
    role: str | None = extra["security"][0]["token"][0] if extra["security"] else None
    return role


def options_in_query() -> list[dict[str, Any]]:
    """Return the query parameters for the options that a body may also have."""
    properties = request_models.OptionsIn.model_json_schema()["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": _without_null(schema)}
        for name, schema in properties.items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema for a query parameter, which cannot be null."""
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind != {"type": "null"}]
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


def describe(app: FastAPI) -> dict[str, Any]:
    """Return FastAPI's OpenAPI description, with the schemas of all bodies and answers."""
    return app.openapi() | {"components": _components()}


@cache
def _components() -> dict[str, Any]:
    kinds = [
        kind
        for module in (request_models, response_models)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, BaseModel) and kind.__module__ == module.__name__
    ]
    _, schemas = models_json_schema([(kind, "validation") for kind in kinds], ref_template=f"{_SCHEMAS}{{model}}")
    return {"schemas": schemas["$defs"], "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}
