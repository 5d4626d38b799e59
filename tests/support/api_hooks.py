"""Hooks for schemathesis: streams, and ids that are new. `api_schema.toml` names this module."""

import itertools
import json
from typing import Any

import schemathesis
from hypothesis import strategies as st

from thresher.journal.event_log import MAX_ID_LENGTH

LINES = "application/x-ndjson"
EXAMPLE = "5e1b7a3c"  # the id of the description's example
_count = itertools.count()


@schemathesis.serializer(LINES)
def as_lines(_: Any, line: Any) -> bytes:
    """Return a body in which the line that was made up occurs twice."""
    return (json.dumps(line) + "\n").encode() * 2


@schemathesis.deserializer(LINES)
def first_line(_: Any, response: Any) -> Any:
    """Return what the first line of an answer says; the description is of one."""
    lines = response.content.splitlines()
    return json.loads(lines[0]) if lines else None


@schemathesis.hook
def flatmap_body(_: Any, body: Any) -> Any:
    """Let half of the bodies that have an id have a new one: else most are refused because of it."""
    id = body.get("id") if isinstance(body, dict) else None
    if not isinstance(id, str) or not 0 < len(id) <= MAX_ID_LENGTH:
        return st.just(body)
    return st.one_of(st.just(body), st.uuids().map(lambda id: body | {"id": str(id)}))


@schemathesis.hook
def before_call(_: Any, case: Any, __: Any) -> None:
    """Let what was made of the description's example have an id of its own."""
    if isinstance(case.body, dict) and case.body.get("id") == EXAMPLE:
        case.body = case.body | {"id": f"example {next(_count)}"}
