"""The routes of a service as its own description has them, so that what holds for every route is tested for all."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx

from support.served import Served

FILLED = {"name": "grain"}  # the parameters of a path; other documents do not exist


class Route(NamedTuple):
    """A route: how it is asked, by whom, and the schema of its body if it takes one."""

    method: str
    path: str
    role: str | None
    body: dict[str, Any] | None

    def url(self, parameter: str | None = None) -> str:
        """Return a path with something for each of its parameters."""
        return re.sub(r"\{(\w+)\}", lambda found: parameter or FILLED.get(found[1], "1"), self.path)

    def ask(self, client: httpx.Client, headers: dict[str, str] | None = None, content: Any = b"{}") -> httpx.Response:
        """Ask for it; with a body if it takes one."""
        kind = {"Content-Type": "application/json"} if self.body is not None else {}
        sent = content if self.body is not None else None
        return client.request(self.method, self.url(), headers=kind | (headers or {}), content=sent)


def routes(service: Served) -> list[Route]:
    """Return all routes that a service describes."""
    described = service.get("/openapi.json")
    found = [
        Route(method.upper(), path, _role(about), _body(about, described))
        for path, methods in described["paths"].items()
        for method, about in methods.items()
    ]
    assert len(found) > 15
    return found


def _role(about: dict[str, Any]) -> str | None:
    return next((role for one in about["security"] for role in one["token"]), None)


def _body(about: dict[str, Any], described: dict[str, Any]) -> dict[str, Any] | None:
    if "requestBody" not in about:
        return None
    found: dict[str, Any] = _resolved(about["requestBody"]["content"]["application/json"]["schema"], described)
    return found


def _resolved(schema: Any, described: dict[str, Any]) -> Any:
    """Return a schema in which no part is said elsewhere."""
    if isinstance(schema, list):
        return [_resolved(part, described) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(described["components"]["schemas"][schema["$ref"].rpartition("/")[2]], described)
    return {name: _resolved(part, described) for name, part in schema.items()}


def bodies_of(schema: dict[str, Any], text: str) -> Iterator[Any]:
    """Yield values of a schema, at least one of each kind that it allows, whose texts are all the same one."""
    if "const" in schema:
        yield schema["const"]
    elif "enum" in schema:
        yield from schema["enum"]
    elif "properties" in schema:
        parts = {name: list(bodies_of(part, text)) for name, part in schema["properties"].items()}
        for turn in range(max(map(len, parts.values()), default=1)):
            yield {name: values[turn % len(values)] for name, values in parts.items()}
        for name, values in parts.items():  # and each alone, with what it cannot be without
            yield {needed: parts[needed][0] for needed in schema.get("required", ())} | {name: values[0]}
    elif options := schema.get("oneOf", schema.get("anyOf")):
        for option in options:
            yield from bodies_of(option, text)
    elif schema.get("type") == "array":
        for item in bodies_of(schema["items"], text):
            yield [item]
    elif schema.get("type") == "object":
        yield {text: text}
    else:
        yield {"string": text, "boolean": True, "null": None, "integer": 1, "number": 0.5}[schema["type"]]
