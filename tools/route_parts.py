"""The HTTP API as a page: routes, roles, bodies and answers, made of the service's own description and of its refusals.

What a route takes and returns is in its OpenAPI description. The role that it requires comes from the service itself: a
reader sends a request, and the refusal names the role.
"""

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

import httpx

from thresher.web.access_tokens import Holder, Tokens
from thresher.web.app import create_app
from thresher.web.guards import Rules
from thresher.web.service import Service
from thresher.web.workers import WorkerPools

HOST, READER = "127.0.0.1:8765", "token-of-a-reader"
BODIES, ANSWERS = "## What routes take", "## What they give"


async def _ask_service() -> tuple[dict[str, Any], dict[tuple[str, str], str]]:
    """Return the description, and the role of each method and path."""
    rules = Rules(frozenset({HOST}), Tokens({READER: Holder("rita", "reader")}))
    # Only the checks before the service matter here; a request that passes them fails there, which is also an answer.
    transport = httpx.ASGITransport(
        create_app(cast(Service, SimpleNamespace(workers=WorkerPools())), rules), raise_app_exceptions=False
    )
    headers = {"Authorization": f"Bearer {READER}"}
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
        described = (await client.get("/openapi.json", headers=headers)).json()
        roles = {}
        for path, methods in described["paths"].items():
            for method in methods:
                sent: dict[str, Any] = {"json": {}} if method in ("post", "patch") else {}
                open_to_all = (await client.request(method, path, **sent)).status_code != 401
                answer = await client.request(method, path, headers=headers, **sent)
                refused = answer.status_code == 403 and answer.json()["detail"].rpartition(" ")[2]
                roles[method, path] = "anyone" if open_to_all else refused or "reader"
    return described, roles


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _kind(schema: dict[str, Any]) -> str:
    """Return what a JSON schema asks for, in few words."""
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return " or ".join(dict.fromkeys(_kind(choice) for choice in choices))
    if schema.get("type") == "array":
        inside = schema.get("prefixItems")
        return f"({', '.join(map(_kind, inside))})" if inside else f"list of {_kind(schema.get('items', {}))}"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"object of {_kind(values)}" if isinstance(values, dict) and values else "object"
    names = {"string": "text", "integer": "whole number", "boolean": "true or false", None: "anything"}
    return names.get(schema.get("type"), str(schema.get("type"))) + _limits(schema)


def _limits(schema: dict[str, Any]) -> str:
    words = {"minimum": "from {:,}", "maximum": "to {:,}", "maxLength": "at most {:,} letters"}
    said = [words[name].format(schema[name]) for name in words if name in schema]
    return f" ({' '.join(said)})" if said else ""


def _default(schema: dict[str, Any]) -> str:
    return "" if schema.get("default") is None else f"`{json.dumps(schema['default'])}`"


def _example(schema: dict[str, Any]) -> str:
    return f"`{json.dumps(schema['examples'][0])}`" if schema.get("examples") else ""


def _cells(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _schema(name: str, schema: dict[str, Any]) -> list[str]:
    lines = [f"### {name}", "", schema.get("description", "").strip(), ""]
    if "properties" not in schema:
        return [*lines, f"{_kind(schema)}.", ""]
    needed = schema.get("required", [])
    rows = [
        _cells(f"`{key}`", _kind(kind), "required" if key in needed else _default(kind), _example(kind))
        for key, kind in schema["properties"].items()
    ]
    if rows:
        lines += ["| name | kind | | for example |", "|---|---|---|---|", *rows, ""]
    return lines


def _content(body: dict[str, Any]) -> str:
    """Return what a body or an answer holds, by its kind of media."""
    said = []
    kinds = body.get("content", {})
    for media, about in kinds.items():
        schema = about.get("schema", {})
        if not schema and media == "application/json" and len(kinds) > 1:
            continue  # what FastAPI says of every route that says nothing of its own
        lines = " a line" if media == "application/x-ndjson" else ""
        said.append(f"{_kind(schema)}{lines} (`{media}`)" if schema else f"`{media}`")
    return " or ".join(said)


def _route(method: str, path: str, about: dict[str, Any], role: str) -> list[str]:
    lines = [f"### {method.upper()} {path}", "", about.get("description", "").strip(), ""]
    body = about.get("requestBody")
    answers = [
        f"{status}: {_content(answer) or answer['description']}"
        for status, answer in about["responses"].items()
        if status.startswith("2")
    ]
    said = [f"Role: {role}."] + ([f"Takes {_content(body)}."] if body else []) + [f"Gives {'; '.join(answers)}."]
    lines += [" ".join(said), ""]
    asked = [one for one in about.get("parameters", []) if one["in"] == "query"]
    if asked:
        rows = [_cells(f"`{one['name']}`", _kind(one["schema"]), _default(one["schema"])) for one in asked]
        lines += ["| in the query | kind | default |", "|---|---|---|", *rows, ""]
    return lines


def _references(value: Any) -> set[str]:
    """Return the names of the schemas that something names."""
    if isinstance(value, dict):
        named = {value["$ref"].rpartition("/")[2]} if isinstance(value.get("$ref"), str) else set()
        return named.union(*map(_references, value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()


def _collect_schemas(value: Any, schemas: dict[str, Any]) -> list[str]:
    """Return the schemas that something names, and those that these name, in the order of the description."""
    known: set[str] = set()
    while new := _references(value) - known:
        known |= new
        value = [schemas[name] for name in new]
    return [name for name in schemas if name in known]


def routes() -> str:
    """Return the tables of all routes, and of what they take and give."""
    described, roles = asyncio.run(_ask_service())
    every = [(method, path, about) for path, methods in described["paths"].items() for method, about in methods.items()]
    schemas = described["components"]["schemas"]
    table = [
        _cells(f"[`{method.upper()} {path}`](#{_anchor(method, path)})", roles[method, path], about["description"])
        for method, path, about in every
    ]
    lines = ["| route | role | |", "|---|---|---|", *table, "", "## Routes", ""]
    for method, path, about in every:
        lines += _route(method, path, about, roles[method, path])
    taken = _collect_schemas([about.get("requestBody") for *_, about in every], schemas)
    given = [
        name for name in _collect_schemas([about["responses"] for *_, about in every], schemas) if name not in taken
    ]
    for title, names in ((BODIES, taken), (ANSWERS, given)):
        lines += [title, ""]
        for name in names:
            lines += _schema(name, schemas[name])
    return "\n".join(lines).rstrip()


def _anchor(method: str, path: str) -> str:
    """Return the anchor that a forge, and the site, give to the heading of a route."""
    return f"{method}-{path}".translate(str.maketrans("", "", "/{}.:"))
