"""The OpenAPI description of the routes: their parameters, bodies, answers and links."""

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from thresher.web import request_models, response_models
from thresher.web.errors import MEDIA
from thresher.web.guards import ASSETS, JSON, LINES

_SCHEMAS = "#/components/schemas/"
_PROBLEMS = ("400", "401", "403", "404", "405", "408", "409", "413", "415", "421", "422", "429", "431", "503", "507")
_STREAMED = (request_models.CategorizeIn, request_models.DocumentsIn)
_LINE = {"anyOf": [{"type": "string"}, {"$ref": f"{_SCHEMAS}DocumentIn"}]}
Links = dict[str, dict[str, str]]


def route(
    role: str | None,
    answer: type[BaseModel] | None,
    *,
    takes: type[BaseModel] | None = None,
    query: Sequence[dict[str, Any]] = (),
    leads: Links | None = None,
    responses: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the description of a route, except its name and its docstring.

    Parameters
    ----------
    role : str or None
        The role that the route requires; None: no token.
    answer : model or None
        The body of a response with status 200, unless `responses` has it.
    takes : model, optional
        The body of the request.
    query : sequence of dict
        Query parameters that the route reads itself.
    leads : dict, optional
        The routes to call next, by name, and where the parameters of each are in the request or the response.
    responses : dict, optional
        Other responses.
    """
    problem = {"description": "What is wrong", "content": {MEDIA: {"schema": {"$ref": f"{_SCHEMAS}Problem"}}}}
    found = dict.fromkeys(_PROBLEMS, problem) | (responses or {})
    if answer is not None:
        found["200"] = content("The answer", answer)
    links = {name: {"operationId": name, "parameters": given} for name, given in (leads or {}).items()}
    for status in ("200", "201"):
        if links and status in found:
            found[status] = found[status] | {"links": links}
    extra: dict[str, Any] = {"security": [] if role is None else [{"token": [role]}]}
    if query:
        extra["parameters"] = list(query)
    if takes is not None:
        body: dict[str, Any] = {JSON: {"schema": {"$ref": f"{_SCHEMAS}{takes.__name__}"}}}
        body |= {LINES: {"schema": _LINE}} if takes in _STREAMED else {}
        extra["requestBody"] = {"required": True, "content": body}
    return {"responses": found, "openapi_extra": extra}


def role_of(path: str, extra: dict[str, Any] | None) -> str | None:
    """Return the role that a route requires; by default "admin", and None for the page and its files."""
    if extra is None or "security" not in extra:
        return None if path == "/" or path.startswith(ASSETS) else "admin"
    role: str | None = extra["security"][0]["token"][0] if extra["security"] else None
    return role


def content(description: str, answer: type[BaseModel], lines: type[BaseModel] | None = None) -> dict[str, Any]:
    """Return the description of an answer, with JSON lines as an alternative if `lines` is given."""
    kinds = {JSON: answer} | ({LINES: lines} if lines is not None else {})
    found = {kind: {"schema": {"$ref": f"{_SCHEMAS}{one.__name__}"}} for kind, one in kinds.items()}
    return {"description": description, "content": found}


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


def described(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description, built once."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes, openapi_version="3.1.0"
        )
        kinds = [
            kind
            for module in (request_models, response_models)
            for kind in vars(module).values()
            if isinstance(kind, type) and issubclass(kind, BaseModel) and kind.__module__ == module.__name__
        ]
        _, schemas = models_json_schema([(kind, "validation") for kind in kinds], ref_template=f"{_SCHEMAS}{{model}}")
        found.setdefault("components", {})["schemas"] = schemas["$defs"]
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = found
    return app.openapi_schema
