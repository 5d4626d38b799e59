"""What the service refuses, and that a refusal changes nothing and gives nothing away."""

import gzip
import json
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from support.bad_bodies import BODIES, CORRECTION, MARKER
from support.served import LINES, SHARED, TOKENS, Served, all_at_once, check_problem, new_model, request, served
from support.tiers import number_of
from thresher.journal.journaled_model import JournaledModel, journal_folder
from thresher.web import guards, server
from thresher.web.guards import MAX_HEAD_BYTES, MAX_HEADERS

REPEATS = number_of("THRESHER_REPEATS", 2000, quick=200)
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def unchanged(service: Served) -> Iterator[Served]:
    """The service, whose model and journal must be the same afterwards."""
    before = service.digest, service.last
    yield service
    assert (service.digest, service.last) == before


# -- who may ask -------------------------------------------------------------------------------------------------------


def test_without_a_token_only_health_and_the_page_answer(service: Served) -> None:
    anyone = service.client(None)
    assert [anyone.get(path).status_code for path in ("/", "/healthz", "/readyz", "/assets/main.js")] == [200] * 4
    for path in (
        "/openapi.json",
        "/docs",
        "/redoc",
        "/v1",
        "/metrics",
        "/nothing",
        "/healthz/",
        "/readyz/x",
    ):
        check_problem(anyone.get(path), 401)
    assert service.client().get("/docs").status_code == 404


@pytest.mark.parametrize(
    "header",
    [
        "Bearer", "Bearer ", "Bearer wrong", f"Basic {SHARED}", SHARED, f"Bearer {SHARED}x", f"Bearer {SHARED[:-1]}",
        f"Bearer {SHARED.upper()}", "Bearer \xff\xfe", f"Token {SHARED}",
    ],
)  # fmt: skip
def test_a_wrong_token_is_refused(service: Served, header: str) -> None:
    found = service.exchange(request(service, "GET", "/v1/model", Authorization=header))
    check_problem(found, 401)


def test_requests_of_a_token_are_limited(tmp_path: Path) -> None:
    with served(new_model(tmp_path), rate=5.0) as running:
        found = [running.client("ada").get("/v1/model") for _ in range(8)]
        assert [one.status_code for one in found[:5]] == [200] * 5
        check_problem(found[-1], 429)
        assert found[-1].headers["Retry-After"] == "1"
        assert running.client("bob").get("/v1/model").status_code == 200
        assert running.client(None).get("/healthz").status_code == 200


# -- from where --------------------------------------------------------------------------------------------------------


def test_this_machine_has_three_names(service: Served) -> None:
    for name in ("localhost", "LOCALHOST", "127.0.0.1", "[::1]"):
        assert service.client().get("/v1/model", headers={"Host": f"{name}:{service.port}"}).status_code == 200


def test_no_host_and_two_hosts_are_refused(service: Served) -> None:
    for head in (b"", f"Host: {service.host}\r\nHost: {service.host}\r\n".encode()):
        found = service.exchange(b"GET /healthz HTTP/1.1\r\n" + head + b"\r\n")
        assert found.status in (400, 421)


def test_a_host_header_changes_no_path(service: Served) -> None:
    for path in ("/v1/model", "/v1/export"):
        found = service.exchange(request(service, "GET", path, Host="127.0.0.1/healthz?", Authorization=""))
        check_problem(found, 421)
    found = service.exchange(request(service, "GET", "http://127.0.0.1/healthz", Authorization=""))
    assert found.status in (400, 401, 404)


def test_the_page_of_this_origin_may_teach(service: Served) -> None:
    headers = {"Origin": service.url, "Sec-Fetch-Site": "same-origin"}
    found = service.client().post("/v1/corrections", json=CORRECTION | {"id": "own-page"}, headers=headers)
    assert found.status_code == 201


def test_a_link_from_elsewhere_opens_the_page_and_nothing_else(service: Served) -> None:
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert service.client(None).get("/", headers=elsewhere).status_code == 200
    check_problem(service.client().get("/v1/model", headers=elsewhere), 403)
    check_problem(service.client(None).get("/assets/main.js", headers=elsewhere), 403)


def test_an_origin_that_is_allowed_may_ask(tmp_path: Path) -> None:
    with served(new_model(tmp_path), origins=["https://desk.example"]) as running:
        origin = {"Origin": "https://desk.example", "Sec-Fetch-Site": "cross-site"}
        preflight = running.client(None).options("/v1/corrections", headers=origin)
        assert (preflight.status_code, preflight.headers["Access-Control-Allow-Origin"]) == (204, origin["Origin"])
        found = running.client().get("/v1/model", headers=origin)
        assert (found.status_code, found.headers["Vary"]) == (200, "origin")
        check_problem(running.client(None).get("/v1/model", headers=origin), 401)
        check_problem(running.client().get("/v1/model", headers={"Origin": "https://desk.example.evil"}), 403)


# -- how much, and how fast --------------------------------------------------------------------------------------------

BIG = b'{"text": "' + b"a" * 2_000_000 + b'"}'


def test_the_bytes_of_a_body_are_limited(unchanged: Served) -> None:
    least = b'{"text": "' + b"a" * (1_000_000 - 12) + b'"}'
    assert unchanged.client().post("/v1/categorize", content=least, headers=JSON).status_code == 200
    check_problem(unchanged.client().post("/v1/categorize", content=least + b" ", headers=JSON), 413)


def test_a_false_length_gains_nothing(unchanged: Served) -> None:
    less = unchanged.exchange(request(unchanged, "POST", "/v1/categorize", BIG, Content_Length="10"))
    assert less.status == 400
    for length in ("-1", "1e3", "99999999999999999999999", "0x10", "12, 13", "", "+5"):
        body = b"" if not length else b'{"text": "oil"}'
        found = unchanged.exchange(request(unchanged, "POST", "/v1/categorize", body, Content_Length=length))
        assert found.status in (400, 413, 415), (length, found)


def test_an_endless_body_is_refused_once_it_is_too_large(unchanged: Served) -> None:
    head = request(
        unchanged,
        "POST",
        "/v1/corrections",
        Content_Length="",
        Transfer_Encoding="chunked",
        Content_Type="application/json",
    )
    with socket.create_connection(("127.0.0.1", unchanged.port), timeout=20) as connection:
        connection.sendall(head)
        sent = 0
        with suppress(OSError):
            while sent < 50_000_000:
                connection.sendall(b"10000\r\n" + b"a" * 65536 + b"\r\n")
                sent += 65536
        assert sent < 50_000_000
    assert unchanged.client().get("/readyz").status_code == 200


def test_a_line_of_a_stream_may_not_be_longer_than_a_body(unchanged: Served) -> None:
    for body in (BIG, BIG + b"\n", b"\n" + BIG):
        check_problem(unchanged.client().post("/v1/categorize", content=body, headers=LINES), 413)
        check_problem(unchanged.client().post("/v1/documents", content=body, headers=LINES), 413)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> float:
    """Let the service wait for a third of a second only."""
    for module in (guards, server):
        monkeypatch.setattr(module, "DEADLINE", 0.33)
    return 0.33


def test_a_slow_body_is_refused(unchanged: Served, impatient: float) -> None:
    found = unchanged.exchange(request(unchanged, "POST", "/v1/corrections", b'{"id": ', Content_Length="500"))
    check_problem(found, 408)
    assert found.headers["connection"] == "close"


def test_a_stream_that_stops_ends_with_a_problem(unchanged: Served, impatient: float) -> None:
    parts = request(
        unchanged, "POST", "/v1/categorize", b'"oil"\n"go', Content_Length="500", Content_Type=LINES["Content-Type"]
    )
    with socket.create_connection(("127.0.0.1", unchanged.port), timeout=20) as connection:
        connection.sendall(parts)
        got = b""
        while not got.endswith(b"0\r\n\r\n"):
            piece = connection.recv(2**16)
            assert piece, got
            got += piece
    lines = [json.loads(line) for line in got.split(b"\r\n") if line.startswith(b"{")]
    assert [line.get("id", line.get("status")) for line in lines] == ["1", 408]


def test_a_bad_line_ends_a_stream_with_a_problem(unchanged: Served) -> None:
    good = b"".join(b'"oil"\n' for _ in range(300))
    for bad in (b"{", b"[1]", b"\xff", b'{"text": 1}', b'"\\ud800"', b'"unfinished'):
        found = unchanged.client().post("/v1/categorize", content=good + bad + b"\n", headers=LINES)
        lines = [json.loads(line) for line in found.text.splitlines()]
        assert (found.status_code, len(lines), lines[-1]["status"]) == (200, 257, lines[-1]["status"])
        assert lines[-1]["status"] in (400, 422)
        found = unchanged.client().post("/v1/categorize", content=bad + b"\n" + good, headers=LINES)
        check_problem(found, 400, 422)
        check_problem(unchanged.client().post("/v1/documents", content=bad, headers=LINES), 400, 422)


# -- how it is asked ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/v1/model/", "/v1/stats/", "/v1/queue/", "/healthz/", "/v1/%00", "/%00", "/%2e%2e", "/%2e%2e/etc/passwd",
        "/../etc/passwd", "/assets/../app.py", "/assets/%2e%2e/app.py", "/assets/..%2fapp.py", "/assets/%00",
        "/assets/index.html", "/assets/main.js%00.css", "/assets//etc/passwd", "/v1/documents/%00",
        "/v1/documents/..%2f..%2fetc%2fpasswd", "/v1/categories/%00", "/v1/categories/..%2fx", "/v1/categories/%ff",
        "/v1/categories/", "/v1/documents/", "/V1/MODEL", "/v1/categories/" + "x" * 5000, "/v1/model;x",
        "//v1/model", "/assets/", "/v1/%6dodel/x",
    ],
)  # fmt: skip
def test_an_unknown_path_is_not_found(unchanged: Served, path: str) -> None:
    check_problem(unchanged.exchange(request(unchanged, "GET", path)), 404)


def test_a_route_may_be_written_with_percent_signs(service: Served) -> None:
    """So no guard may look at the path as it was written."""
    assert service.exchange(request(service, "GET", "/v1/%6dodel")).status == 200
    check_problem(service.exchange(request(service, "GET", "/v1/%6dodel", Authorization="")), 401)
    check_problem(service.exchange(request(service, "GET", "/assets/../v1/model", Authorization="")), 404)


def test_an_invalid_query_is_refused_without_being_quoted(unchanged: Served) -> None:
    for path in (
        f"/v1/queue?order={MARKER}", f"/v1/queue?limit={MARKER}", "/v1/queue?limit=0", "/v1/queue?limit=201",
        "/v1/queue?offset=-1", f"/v1/queue?state={MARKER}", f"/v1/queue?q={'x' * 1001}",
        f"/v1/queue?category={'x' * 201}", "/v1/corrections?limit=501", f"/v1/corrections?after={MARKER}",
        "/v1/corrections?before=0", f"/v1/corrections?after={2**64}", f"/v1/corrections?newest={MARKER}",
    ):  # fmt: skip
        assert MARKER not in str(check_problem(unchanged.client().get(path), 422))
    for query in (f"top={MARKER}", "top=0", "top=-1", "top=1.5", "top=1000001", "details=2", f"all={MARKER}"):
        for options in ({}, {"top": 1, "details": True, "all": False}):  # which have the last word, and excuse nothing
            found = unchanged.client().post(f"/v1/categorize?{query}", json={"text": "oil", **options})
            assert MARKER not in str(check_problem(found, 422))


def test_too_many_and_too_large_headers_are_refused(unchanged: Served) -> None:
    check_problem(unchanged.exchange(request(unchanged, "GET", "/v1/model", X="a" * 65536)), 431)
    many = {f"X-{i}": "a" for i in range(1000)}
    check_problem(unchanged.exchange(request(unchanged, "GET", "/v1/model", b"", **many)), 431)
    few = {f"X-{i}": "a" * 100 for i in range(MAX_HEADERS - 10)}
    assert unchanged.exchange(request(unchanged, "GET", "/v1/model", b"", **few)).status == 200
    endless = request(unchanged, "GET", "/v1/model").removesuffix(b"\r\n") + b"X: " + b"a" * 10 * MAX_HEAD_BYTES
    with suppress(ConnectionError):  # the service may close it before all was sent
        assert unchanged.exchange(endless).status == 400


@pytest.mark.parametrize(
    "name", ["Content-Type", "Content-Length", "Authorization", "Origin", "Sec-Fetch-Site", "Content-Encoding"]
)
def test_a_repeated_header_is_refused(unchanged: Served, name: str) -> None:
    """The guard might read one of them, and the route the other: 2 GB of JSON as a stream, say."""
    values = {"Content-Type": "application/x-ndjson", "Content-Length": "5", "Origin": unchanged.url}
    twice = f"{name}: {values.get(name, 'same-origin')}\r\n"
    asked = request(unchanged, "POST", "/v1/categorize", b'{"text": "oil"}').decode().partition("\r\n")
    found = unchanged.exchange((asked[0] + "\r\n" + twice + twice + asked[2]).encode())
    assert found.status in (400, 415)


def test_invalid_http_is_refused(unchanged: Served) -> None:
    for sent in (
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ):
        assert unchanged.exchange(sent).status in (400, 421)


# -- bodies ------------------------------------------------------------------------------------------------------------


def test_a_body_that_is_compressed_is_refused(unchanged: Served) -> None:
    for encoding in ("gzip", "deflate", "br", "zstd", "GZIP"):
        headers = JSON | {"Content-Encoding": encoding}
        found = unchanged.client().post("/v1/corrections", content=gzip.compress(b"{}"), headers=headers)
        check_problem(found, 415)


def test_a_stream_is_refused_by_routes_for_one_body(unchanged: Served) -> None:
    body = json.dumps(CORRECTION).encode()
    for route in ("/v1/corrections", "/v1/categories", "/v1/model/reload"):
        check_problem(unchanged.client().post(route, content=body, headers=LINES), 415)


# -- names -------------------------------------------------------------------------------------------------------------

SHOWN = [
    "__proto__",
    "constructor",
    "<script>alert(1)</script>",
    "a/b",
    "../x",
    "C:\\",
    "a b",
    "x" * 200,
    "%00",
    "9007199254740993",
    "?a#b",
    "ქართული",
    "𝔘",
]


@pytest.mark.parametrize("name", SHOWN)
def test_an_odd_name_is_kept_and_shown_exactly(tmp_path: Path, name: str) -> None:
    with served(new_model(tmp_path)) as running:
        assert running.correct(text="plank timber", accept=[name], create_category=True)["new_categories"] == [name]
        assert running.get(f"/v1/categories/{quote(name, safe='')}")["name"] == name
        assert running.get("/v1/categories")["categories"][-1]["name"] == name
        assert running.get("/v1/queue", category=name)["documents"] == []
        (found,) = running.categorize(text="plank", explain=name)["explanations"]
        assert found["category"] == name
        assert running.post("/v1/categories", {"change": "retire", "name": name})["categories"][-1] == "trade"
    assert {path.name for path in tmp_path.iterdir()} == {"desk.thresher", "desk.thresher.journal"}


def test_dots_are_a_name_and_no_path(tmp_path: Path) -> None:
    with served(new_model(tmp_path)) as running:
        for name in (".", ".."):
            running.correct(text="plank", accept=[name], create_category=True)
            found = running.exchange(request(running, "GET", f"/v1/categories/{name}"))
            assert (found.status, json.loads(found.body)["name"]) == (200, name)


@pytest.mark.parametrize(
    ("given", "kept"),
    [("  grain ", "grain"), ("cafe\u0301", "café"), (" Straße\u00a0", "Straße"), ("A\u030angstro\u0308m", "Ångström")],
)
def test_a_name_is_composed_and_has_no_blanks_around_it(tmp_path: Path, given: str, kept: str) -> None:
    with served(new_model(tmp_path)) as running:
        body = {"id": "n", "text": "plank", "accept": [given], "create_category": True}
        running.post("/v1/corrections", body, status=201)
        assert running.post("/v1/corrections", body)["repeated"]
        assert kept in [row["name"] for row in running.get("/v1/categories")["categories"]]
        running.correct(text="nail", reject=[given])
        running.correct(text="saw", categories=[kept])
        said = [
            one["accept"] or one["reject"] or one["categories"] for one in running.get("/v1/corrections")["corrections"]
        ]
        assert said == [[kept]] * 3


@pytest.mark.parametrize("name", ["Grain", "GRAIN", " gRAIN "])
@pytest.mark.parametrize("create", [False, True])
def test_a_name_in_other_letters_is_refused_with_the_one_that_is_known(
    unchanged: Served, name: str, create: bool
) -> None:
    for said in ({"accept": [name]}, {"reject": [name]}, {"categories": [name]}):
        body = {"id": "twin", "text": "wheat", "create_category": create, **said}
        assert check_problem(unchanged.client().post("/v1/corrections", json=body), 409)["nearest"] == ["grain"]


@pytest.mark.parametrize(
    "name",
    [
        "a\u200bb",
        "\u200b",
        "a\u200d",
        "\ufeffgrain",
        "a\u2060b",
        "a\x00b",
        "a\nb",
        "a\tb",
        "a\x7fb",
        "a\x85b",
        "",
        " ",
        "\u00a0",
        "x" * 201,
    ],
    ids=ascii,
)
def test_an_invisible_name_is_refused(unchanged: Served, name: str) -> None:
    body = {"id": "unseen", "text": "wheat", "accept": [name], "create_category": True}
    check_problem(unchanged.client().post("/v1/corrections", json=body), 422)
    check_problem(unchanged.client().post("/v1/categories", json={"change": "new", "name": name}), 422)
    check_problem(
        unchanged.client().post("/v1/categories", json={"change": "rename", "name": "grain", "into": name}), 422
    )


# -- many at once, and what is told ------------------------------------------------------------------------------------


def test_two_hundred_corrections_of_one_document_have_one_order(tmp_path: Path) -> None:
    model = new_model(tmp_path)
    with served(model) as running:
        running.post("/v1/documents", {"documents": [{"id": "d", "text": "wheat and oil"}]})
        said = [(["grain"], ["energy"]), (["energy"], ["grain"])]
        bodies: list[Any] = [
            {"id": str(i), "document": "d", "accept": said[i % 2][0], "reject": said[i % 2][1], "user": f"u{i}"}
            for i in range(200)
        ]
        answers = [
            found.json() for found in all_at_once(running, [("POST", "/v1/corrections", body) for body in bodies])
        ]
        assert sorted(answer["seq"] for answer in answers) == list(range(1, 201))
        listed = running.get("/v1/corrections", limit=500)["corrections"]
        assert [one["id"] for one in listed] == [a["id"] for a in sorted(answers, key=lambda answer: answer["seq"])]
        digest = running.digest
        (shown,) = running.get("/v1/queue", state="done")["documents"]
        assert [one["seq"] for one in shown["corrections"]] == list(range(181, 201))
        assert shown["disagreement"] == ["energy", "grain"]
    for file in journal_folder(model).glob("snapshot-*[1-9]*.thresher"):
        file.unlink()
    with JournaledModel(model) as desk:
        assert desk.model.digest() == digest


def test_the_same_correction_sent_at_once_is_learned_once(tmp_path: Path) -> None:
    with served(new_model(tmp_path)) as running:
        found = all_at_once(running, [("POST", "/v1/corrections", CORRECTION)] * 50)
        assert sorted(one.status_code for one in found) == [200] * 49 + [201]
        assert {one.json()["seq"] for one in found} == {running.last} == {1}


def test_repeating_a_correction_thousands_of_times_keeps_weights_finite(tmp_path: Path) -> None:
    """With ids of their own, and then in turns with its opposite; on the thread that writes, for speed."""
    text = "wheat oil gold"
    with served(new_model(tmp_path)) as running:

        def teach() -> None:
            running.service.served.journaled_model.journal.database.query(
                "PRAGMA synchronous=OFF"
            )  # the disk is not what is tested
            for i in range(REPEATS):
                running.service.served.journaled_model.correct(f"same {i}", text, accept=["grain"], reject=["energy"])
            for i in range(REPEATS):
                accept, reject = (["grain"], ["energy"]) if i % 2 else (["energy"], ["grain"])
                running.service.served.journaled_model.correct(f"turn {i}", text, accept=accept, reject=reject)

        running.service.write(teach).result(600)
        assert running.correct(text=text, accept=["grain"])["seq"] == 2 * REPEATS + 1
        body = {"text": text, "all": True, "details": True, "explain": "grain"}
        found = running.client().post("/v1/categorize", json=body)
        assert found.status_code == 200
        assert "null" not in found.text  # as what is not finite would be written
        weights = [word["weight"] for word in running.get("/v1/categories/grain")["for"]]
        assert max(weights) < 1e6


def test_refusals_and_logs_quote_nothing_that_was_sent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    folder = tmp_path / "a folder with blanks"
    folder.mkdir()
    with served(new_model(folder)) as running:
        client = running.client()
        running.correct(text=f"{MARKER} plank", accept=["tin"], create_category=True)
        running.correct(text=f"{MARKER} nail", reject=["tin"])
        running.post("/v1/documents", {"documents": [f"{MARKER} saw"]})
        refusals = [client.delete("/v1/corrections/test-1")]
        refusals += [client.post("/v1/corrections", content=body, headers=JSON) for body in BODIES.values()]
        refusals += [
            client.post("/v1/corrections", json=CORRECTION | {"id": "test-1"}),
            client.post("/v1/corrections", json=CORRECTION | {"accept": [MARKER]}),
            client.post("/v1/corrections", json=CORRECTION | {"reject": [MARKER]}),
            client.post("/v1/categorize", json={"text": "oil", "explain": MARKER}),
            client.post("/v1/categorize", json={"document": MARKER}),
            *(client.get(f"/v1/{route}{MARKER}") for route in ("", "documents/", "categories/", "queue?order=")),
            client.get("/v1/model", headers={"Authorization": f"Bearer {MARKER}"}),
            client.get("/", headers={"Host": MARKER}),
        ]
        monkeypatch.setattr(running.service.queries, "categorize", _fault)
        refusals += [client.post("/v1/categorize", json={"text": MARKER, "details": True})]
        assert check_problem(refusals[-1], 500)["detail"] == "something went wrong here; the log says what"
        for found in refusals:
            assert found.status_code >= 400
            assert MARKER not in found.text
            assert "blanks" not in found.text, found.text
            assert "Traceback" not in found.text
            assert all(token not in found.text for token in TOKENS.values())
    logged = "".join(capfd.readouterr())
    for record in caplog.records:
        if not record.name.startswith("http"):  # the client's own
            logged += logging.Formatter().format(record)
    assert "a fault, for the test" in logged
    for secret in (MARKER, *TOKENS.values()):
        assert secret not in logged


def _fault(*_: object, **__: object) -> None:
    raise RuntimeError("a fault, for the test")


def test_clients_that_leave_cause_no_error(unchanged: Served, caplog: pytest.LogCaptureFixture) -> None:
    for path, kind in (
        ("/v1/categorize", "application/json"),
        ("/v1/corrections", "application/json"),
        ("/v1/categorize", LINES["Content-Type"]),
        ("/v1/documents", LINES["Content-Type"]),
    ):
        begun = request(unchanged, "POST", path, b'"oil"\n"go', Content_Length="500", Content_Type=kind)
        with socket.create_connection(("127.0.0.1", unchanged.port), timeout=20) as connection:
            connection.sendall(begun)
            if kind != "application/json" and path == "/v1/categorize":
                assert connection.recv(2**16)
    time.sleep(0.2)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
