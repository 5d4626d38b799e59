"""Attacks on every route that the service describes, and so also on those that are added later.

The numbers are those of `docs/threats.md`.
"""

import logging
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from support.bad_bodies import BODIES, MARKER, NO_JSON
from support.openapi_routes import Route, bodies_of, routes
from support.served import TOKENS, Served, check_problem, new_model, request, served
from thresher.journal.journaled_model import JournaledModel
from thresher.web.access_tokens import ROLES

PAGE = ("/", "/assets/main.js")
OPEN = {"/", "/assets/{name}", "/healthz", "/readyz"}  # to anyone
ADMINS = [("GET", "/v1/export"), ("POST", "/v1/backup"), ("POST", "/v1/model/reload"), ("POST", "/v1/categories")]
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"}


@pytest.fixture
def service(service: Served) -> Iterator[Served]:
    """The service of this file, whose model and journal must be the same after each test."""
    before = service.digest, service.last
    yield service
    assert (service.digest, service.last) == before


@pytest.fixture
def open_to_all(tmp_path: Path) -> Iterator[Served]:
    """A service without tokens, where only origin and content type are checked; also unchanged."""
    with served(new_model(tmp_path), holders=None) as running:
        digest = running.digest
        yield running
        assert (running.digest, running.last) == (digest, 0)


def taking_bodies(service: Served) -> list[Route]:
    return [route for route in routes(service) if route.body is not None]


# -- S5, S20: bodies that are large or no JSON -------------------------------------------------------------------------

BIG = b'{"text": "' + b"a" * 2_000_000 + b'"}'


def test_a_large_body_is_refused_by_every_route_with_and_without_its_length(service: Served) -> None:
    for route in taking_bodies(service):
        parts = (BIG[i : i + 65536] for i in range(0, len(BIG), 65536))
        for body in (BIG, parts):
            check_problem(route.ask(service.client(), content=body), 413)
    for route in routes(service):
        check_problem(service.exchange(request(service, route.method, route.url(), Content_Length="2000000")), 413)


@pytest.mark.parametrize("name", BODIES)
def test_no_route_takes_a_bad_body_or_repeats_it(service: Served, name: str) -> None:
    for route in taking_bodies(service):
        if (route.path, name) == ("/v1/categorize", "no categories"):
            continue  # it does not take any
        start = time.perf_counter()
        found = route.ask(service.client(), content=BODIES[name])
        assert time.perf_counter() - start < 1
        assert MARKER not in str(check_problem(found, 400 if name in NO_JSON else 422)), route


def test_a_compressed_body_is_refused_by_every_route(service: Served) -> None:
    for route in routes(service):
        check_problem(route.ask(service.client(), {"Content-Encoding": "gzip"}), 415)


def test_reading_routes_unpack_no_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The features of a long text take a hundred times its room: a page of such corrections would fill the memory."""
    with served(new_model(tmp_path)) as running:
        running.post("/v1/documents", {"documents": [{"id": "1", "text": "crude oil"}]})
        running.correct(document="1", reject=["energy"])

        def unpacked(packed: bytes | None) -> None:
            assert packed is None

        monkeypatch.setattr("thresher.journal.record._parse_features", unpacked)
        for route in routes(running):
            if route.method == "GET":
                assert route.ask(running.client()).status_code == 200, route
        assert len(running.get("/v1/corrections", newest=True)["corrections"]) == 1
        assert running.get("/v1/queue", state="done")["documents"][0]["corrections"]


# -- S8: ranges --------------------------------------------------------------------------------------------------------


def test_a_thousand_ranges_get_one_response_on_every_route(service: Served) -> None:
    ranges = {"Range": "bytes=" + ",".join(f"{i}-{i + 1}" for i in range(1000))}
    shown = [route.url() for route in routes(service) if route.method == "GET"]
    for path in (*shown, *PAGE):
        whole, start = service.client().get(path), time.perf_counter()
        found = service.client().get(path, headers=ranges)
        assert time.perf_counter() - start < 1
        assert found.status_code == whole.status_code != 206, path
        assert "accept-ranges" not in found.headers
        assert path == "/metrics" or found.content == whole.content, path


# -- S9, S11: other hosts ----------------------------------------------------------------------------------------------

HOSTS = [
    "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}", "a/../healthz?",
]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", [None, ""], ids=["no token", "admin"])
def test_another_host_is_refused_on_every_route(service: Served, host: str, name: str | None) -> None:
    headers = {"Host": host.replace("{port}", str(service.port))}
    for route in routes(service):
        check_problem(route.ask(service.client(name), headers), 421)
    for path in (*PAGE, "/openapi.json", "/nothing"):
        check_problem(service.client(name).get(path, headers=headers), 421)


# -- S10, S12: pages of other origins ----------------------------------------------------------------------------------

KINDS = [
    "", "text/plain", "text/plain;application/json", "application/jsonx",
    "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
    "application/json; charset=utf-16", "*/*",
]  # fmt: skip
ELSEWHERE = [
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1"}, {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://127.0.0.1.evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_no_route_takes_a_body_of_another_kind(service: Served, open_to_all: Served, kind: str) -> None:
    for one in (service, open_to_all):
        for route in taking_bodies(one):
            check_problem(route.ask(one.client(), {"Content-Type": kind}), 415)


@pytest.mark.parametrize("headers", ELSEWHERE, ids=str)
def test_no_route_answers_a_page_of_another_origin(
    service: Served, open_to_all: Served, headers: dict[str, str]
) -> None:
    for one in (service, open_to_all):
        for route in routes(one):
            found = route.ask(one.client(), headers)
            check_problem(found, 403)
            assert not [header for header in found.headers if header.startswith("access-control")]


def test_a_preflight_request_of_another_origin_is_refused(service: Served) -> None:
    for route in routes(service):
        asks = {"Origin": "http://evil.example", "Access-Control-Request-Method": route.method}
        for name in (None, ""):
            found = service.client(name).options(route.url(), headers=asks)
            assert found.status_code >= 400
            assert not [header for header in found.headers if header.startswith("access-control")]


# -- S13, S23, S24: who may ask ----------------------------------------------------------------------------------------


def test_readers_cannot_change_and_teachers_cannot_delete(service: Served) -> None:
    roles = {(route.method, route.path): route.role for route in routes(service)}
    for (method, path), role in roles.items():
        assert method == "GET" or path == "/v1/categorize" or role in ("teacher", "admin"), path
    assert {roles[asked] for asked in ADMINS} == {"admin"}


@pytest.mark.parametrize(("name", "role"), [(None, None), ("rita", "reader"), ("ada", "teacher"), ("zoe", "admin")])
def test_a_route_answers_only_the_roles_that_it_allows(service: Served, name: str | None, role: str | None) -> None:
    for route in routes(service):
        found = route.ask(service.client(name))
        if route.role is not None and role is None:
            check_problem(found, 401)
            assert found.headers["WWW-Authenticate"] == "Bearer"
        elif route.role is not None and role is not None and ROLES.index(role) < ROLES.index(route.role):
            assert route.role in check_problem(found, 403)["detail"]
        else:
            assert found.status_code in (200, 404, 422), route


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Forwarded-Host", "X-Forwarded-User"]
)
def test_nobody_is_trusted_by_address_on_any_route(service: Served, header: str) -> None:
    for route in routes(service):
        for value in ("127.0.0.1", "for=127.0.0.1", "localhost", "admin"):
            if route.role is not None:
                check_problem(route.ask(service.client(None), {header: value}), 401)


def test_without_a_token_only_health_and_the_page_are_answered(service: Served) -> None:
    """All that the application has, described or not; its paths are read from itself."""
    paths = {route.path.replace(":path", "") for route in service.app.routes}
    assert paths > OPEN
    assert paths - {route.path for route in routes(service)} == {"/", "/assets/{name}", "/openapi.json"}
    for path in paths - OPEN:
        for method in METHODS:
            found = service.client(None).request(method, re.sub(r"\{\w+\}", "1", path))
            assert found.status_code == 401, (method, path)
    for path in OPEN:
        assert service.client(None).get(path.replace("{name}", "main.js")).status_code == 200


def test_a_route_without_a_role_answers_only_admins(tmp_path: Path) -> None:
    with served(new_model(tmp_path)) as running:
        running.app.add_api_route("/v1/tomorrow", lambda: {"secret": 1}, methods=["GET", "POST"])
        for name, status in {None: 401, "rita": 403, "ada": 403, "zoe": 200}.items():
            assert running.client(name).get("/v1/tomorrow").status_code == status
            assert running.client(name).post("/v1/tomorrow", json={}).status_code == status
        check_problem(running.client("zoe").post("/v1/tomorrow", content=b"{}"), 415)


# -- S21: what was sent is not repeated --------------------------------------------------------------------------------


def test_no_refusal_and_no_log_repeats_what_was_sent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """A secret is in every text of valid and invalid bodies, and in each path."""
    caplog.set_level(logging.DEBUG)
    with served(new_model(tmp_path)) as running:
        refused = [answer for route in routes(running) for answer in _answers(running, route)]
    assert len(refused) > 100
    for found in refused:
        assert MARKER not in found.text, (found.request.method, found.request.url, found.request.content, found.text)
        assert "Traceback" not in found.text
    logged = "".join(capfd.readouterr())
    logged += "".join(logging.Formatter().format(one) for one in caplog.records if not one.name.startswith("http"))
    for secret in (MARKER, *TOKENS.values()):
        assert secret not in logged


def _answers(running: Served, route: Route) -> Iterator[httpx.Response]:
    """Yield what a route refuses of bodies, paths and queries with the secret in them; each is sent twice."""
    client = running.client()
    bodies: list[Any] = [None] if route.body is None else list(bodies_of(route.body, MARKER))
    for body in [*bodies, *map(_spoilt, bodies)]:
        for path in (route.url(), route.url(MARKER), f"{route.url()}?{MARKER}={MARKER}&top={MARKER}&limit={MARKER}"):
            for _ in range(2):
                found = client.request(route.method, path, json=body)
                assert found.status_code < 500, (route, body, found.text)
                if found.status_code >= 400:
                    yield found


def _spoilt(body: Any) -> Any:
    """Return a body in which each text has another type, and which has additional names."""
    if isinstance(body, dict):
        return {name: _spoilt(part) for name, part in body.items()} | {MARKER: MARKER}
    return [MARKER] if isinstance(body, str) else body


# -- S22: paths --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["../x", "..", "../../../etc/passwd", "C:\\", "a\0b", "x" * 300, "/etc/passwd", "\u202e", "%2e%2e", "a\nb"],
    ids=ascii,
)
def test_nothing_in_a_path_is_a_path_of_the_disk(service: Served, name: str) -> None:
    before = sorted(service.model.parent.rglob("*"))
    for route in routes(service):
        if "{" in route.path:
            found = service.client().request(route.method, route.url(quote(name, safe="")), json={"state": "open"})
            check_problem(found, 404)
    assert sorted(service.model.parent.rglob("*")) == before


# -- when it may not be asked ------------------------------------------------------------------------------------------


def test_no_route_does_anything_before_the_journal_is_replayed(tmp_path: Path) -> None:
    model, may_go_on = new_model(tmp_path), threading.Event()

    def opened() -> JournaledModel:
        assert may_go_on.wait(30)
        return JournaledModel(model)

    with served(model, opened=opened, wait=False) as running:
        for route in routes(running):
            if route.role is None or route.path == "/metrics":
                continue
            bodies = [None] if route.body is None else [*bodies_of(route.body, "wheat")]
            answers = [running.client().request(route.method, route.url(), json=body) for body in bodies]
            waiting = [found for found in answers if found.status_code != 422]  # that says no more than the description
            assert waiting, route
            for found in waiting:
                check_problem(found, 503)
                assert found.headers["Retry-After"] == "1"
        may_go_on.set()
        running.service.opening.result(30)
        assert running.last == 0


# -- how it is asked ---------------------------------------------------------------------------------------------------


def test_a_wrong_method_gets_the_allowed_ones_on_every_path(service: Served) -> None:
    known: dict[str, set[str]] = {}
    for route in routes(service):
        known.setdefault(route.url(), set()).add(route.method)
    for path, methods in known.items():
        for method in METHODS - methods:
            for headers in ({}, {"Content-Type": "application/json"}):
                found = service.client().request(method, path, content=b"{}", headers=headers)
                assert found.status_code == 405, (method, path)
                assert {name.strip() for name in found.headers["allow"].split(",")} == methods
    assert service.client().head("/v1/model").content == b""


def test_every_answer_has_security_headers(service: Served) -> None:
    answers = [route.ask(service.client(name)) for route in routes(service) for name in (None, "")]
    answers += [service.client().get(path) for path in (*PAGE, "/openapi.json", "/nothing")]
    answers += [service.client().put("/v1/model", json={}), service.client().get("/", headers={"Host": "evil.example"})]
    for found in answers:
        policy = {part.strip() for part in found.headers["Content-Security-Policy"].split(";")}
        assert {"default-src 'self'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= policy
        assert "unsafe" not in found.headers["Content-Security-Policy"]
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert found.headers["Referrer-Policy"] == "no-referrer"
        assert not {"server", "set-cookie"} & set(found.headers)
