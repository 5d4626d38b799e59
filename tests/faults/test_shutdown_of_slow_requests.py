"""A service that is asked to end while any kind of request goes on ends within 10 s, with exit code 0 (P20).

What a route calls takes a minute here, and no thread can be broken off. Except in the last tests, requests get one
second to end instead of five, what is written one instead of two, and all of it three instead of nine.
"""

import json
import signal
import socket
import threading
import time
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from faults.harness import TOKEN, Service, client_of, command_code, forked, forked_service, service_arguments
from faults.ledger import Ledger, check_ledger
from faults.nursery import Nursery
from support.tiers import few
from support.worst import JSON, LINES, Request, send

LONGEST = 10.0  # seconds
IMPATIENT = """
from thresher.web import server
server._GRACE, server._PATIENCE, server._MAX_END = 1, 1.0, 3.0
"""
SLOW = """
import importlib, os, time
module, _, path = {target!r}.partition(":")
owner = importlib.import_module(module)
*within, name = path.split(".")
for one in within:
    owner = getattr(owner, one)
wanted = getattr(owner, name)
def slow(*given, **more):
    if os.path.exists({flag!r}):
        open({flag!r} + ".begun", "w").close()
        time.sleep(60)
    return wanted(*given, **more)
setattr(owner, name, slow)
"""
LONG_TEXT = "wheat " * 10_000


class Case(NamedTuple):
    """A request, and what takes a minute of it; without a request, of the end itself."""

    slow: str
    asked: Request | None


def case(slow: str, method: str, path: str, body: Any = None, kind: str = JSON) -> Case:
    """Return a case whose body is written as JSON, or as one line of it."""
    written = b"" if body is None else json.dumps(body).encode() + (b"\n" if kind == LINES else b"")
    return Case(slow, Request(method, path, written, kind=kind))


SERVICE, QUERIES, COMMANDS, POOL, BODIES = (
    "thresher.web.service:Service.",
    "thresher.web.queries:Queries.",
    "thresher.web.commands:Commands.",
    "thresher.web.review_documents:ReviewDocuments.",
    "thresher.web.request_models:parse",
)
CORRECTION = {"id": "slow", "text": "wheat", "accept": ["grain"]}
CASES = {
    "categorize": case(QUERIES + "categorize", "POST", "/v1/categorize", {"text": LONG_TEXT}),
    "categorize, explained": case(
        "thresher.web.serializers:explain_text", "POST", "/v1/categorize", {"text": "wheat", "explain": True}
    ),
    "categorize, many": case(QUERIES + "categorize", "POST", "/v1/categorize", {"documents": ["wheat"] * 9}),
    "categorize, lines": case(QUERIES + "categorize", "POST", "/v1/categorize", "wheat", LINES),
    "categorize, a long body": case(BODIES, "POST", "/v1/categorize", {"text": LONG_TEXT}),
    "correct": case(COMMANDS + "correct", "POST", "/v1/corrections", CORRECTION),
    "correct, a long body": case(BODIES, "POST", "/v1/corrections", CORRECTION | {"text": LONG_TEXT}),
    "corrections": case(QUERIES + "list_corrections", "GET", "/v1/corrections"),
    "undo": case(COMMANDS + "undo", "DELETE", "/v1/corrections/a.0"),
    "export": case("thresher.web.routes.corrections:export_correction", "GET", "/v1/export"),
    "categories": case(QUERIES + "list_categories", "GET", "/v1/categories"),
    "category": case(QUERIES + "describe_category", "GET", "/v1/categories/grain"),
    "category, mistakes": case(QUERIES + "list_mistakes", "GET", "/v1/categories/grain"),
    "change_categories": case(
        COMMANDS + "change_categories", "POST", "/v1/categories", {"change": "new", "name": "bees"}
    ),
    "queue": case(QUERIES + "list_documents", "GET", "/v1/queue"),
    "queue, corrections": case(QUERIES + "add_corrections", "GET", "/v1/queue"),
    "add_documents": case(POOL + "add", "POST", "/v1/documents", {"documents": ["wheat"]}),
    "add_documents, lines": case(POOL + "add", "POST", "/v1/documents", "wheat", LINES),
    "document": case("thresher.web.review_documents:ReviewDocument._asdict", "GET", "/v1/documents/d"),
    "set_state": case(POOL + "set_state", "PATCH", "/v1/documents/d", {"state": "unsure"}),
    "remove_document": case(POOL + "remove", "DELETE", "/v1/documents/d"),
    "stats": case(QUERIES + "summarize", "GET", "/v1/stats"),
    "model": case(QUERIES + "describe_model", "GET", "/v1/model"),
    "reload": case(SERVICE + "reload", "POST", "/v1/model/reload", {}),
    "back_up": case(SERVICE + "backup", "POST", "/v1/backup", {}),
    "metrics": case(POOL + "count_states", "GET", "/metrics"),
    "openapi": case("thresher.web.app:describe", "GET", "/openapi.json"),
}
AT_ONCE = {"healthz", "readyz"}  # they do nothing that could take long


def test_every_route_has_a_case(nursery: Nursery, model: Path) -> None:
    with forked_service(nursery, model) as service, client_of(service) as client:
        paths = client.ask("GET", "/openapi.json").body["paths"]
    described = {operation["operationId"] for route in paths.values() for operation in route.values()}
    assert described == {name.partition(",")[0] for name in CASES} - {"openapi"} | AT_ONCE


@pytest.mark.parametrize("name", few(CASES, quick=4))
def test_a_slow_request_does_not_delay_the_shutdown(nursery: Nursery, model: Path, name: str) -> None:
    assert seconds_to_end(nursery, model, CASES[name], IMPATIENT) < LONGEST


@pytest.mark.slow
@pytest.mark.parametrize("name", ["categorize, explained", "correct"])
def test_the_shutdown_takes_at_most_ten_seconds(nursery: Nursery, model: Path, name: str) -> None:
    assert seconds_to_end(nursery, model, CASES[name]) < LONGEST


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slow", "patch"), [("thresher.journal.journaled_model:JournaledModel.write_model", IMPATIENT), ("os:fsync", "")]
)
def test_a_slow_model_file_does_not_delay_the_shutdown(nursery: Nursery, model: Path, slow: str, patch: str) -> None:
    """The second is cut off in the middle of the file, and has its own patience."""
    before = model.read_bytes()
    assert seconds_to_end(nursery, model, Case(slow, None), patch) < LONGEST
    assert model.read_bytes() == before  # the journal has what it lacks, which `seconds_to_end` has checked
    with forked_service(nursery, model) as service:
        assert service.position == 1
        assert service.stop() == 0
    assert model.read_bytes() != before
    assert [path.name for path in model.parent.glob(".*")] == []


def test_a_second_signal_speeds_up_the_shutdown(nursery: Nursery, model: Path) -> None:
    assert seconds_to_end(nursery, model, CASES["categorize, explained"], signals=2) < 4


def test_a_slow_start_can_be_interrupted(nursery: Nursery, model: Path) -> None:
    flag = model.with_name("slow")
    flag.touch()
    patch = IMPATIENT + SLOW.format(target="thresher.web.served_model:ServedModel.read_records", flag=str(flag))
    with forked(nursery, model.parent, command_code(service_arguments(model), patch)) as running:
        wait_for(flag.with_name("slow.begun"))
        start = time.monotonic()
        running.send(signal.SIGTERM)
        assert running.wait(LONGEST) in (0, 143), running.said()  # the latter if it did not listen yet
        assert time.monotonic() - start < LONGEST
    check_ledger(model, Ledger())


def seconds_to_end(nursery: Nursery, model: Path, slow: Case, patch: str = "", signals: int = 1) -> float:
    """Return how long a service takes to end while a request goes on; what was acknowledged must be kept."""
    ledger, flag = Ledger(), model.with_name("slow")
    patch += SLOW.format(target=slow.slow, flag=str(flag))
    with forked_service(nursery, model, patch) as service, client_of(service, "a", ledger) as client:
        assert client.correct("a.0").status == 201
        client.ask("POST", "/v1/documents", {"documents": [{"id": "d", "text": "wheat"}]})
        client.close()
        flag.touch()
        asking = threading.Thread(target=ask, args=(service, slow.asked))
        asking.start()
        if slow.asked is not None:
            wait_for(flag.with_name("slow.begun"))
        start = time.monotonic()
        for _ in range(signals):
            service.running.send(signal.SIGTERM)
            time.sleep(0.2)
        code = service.running.wait(LONGEST)
        seconds = time.monotonic() - start
        asking.join(20)
        assert flag.with_name("slow.begun").exists()
        assert code == 0, service.running.said()
        assert "Traceback" not in service.running.said()
    assert len(check_ledger(model, ledger, only_acked=True)) == 1
    return seconds


def ask(service: Service, asked: Request | None) -> None:
    with suppress(OSError, HTTPException, socket.timeout):
        assert asked is None or send(service.port, TOKEN, asked) in (200, 503)


def wait_for(path: Path) -> None:
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end, "it was never called"
        time.sleep(0.01)
