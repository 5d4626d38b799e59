"""The requests that cost a service most for their size, and a model that makes them cost as much as they can."""

import http.client
import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from support.served import as_lines
from thresher import Categorizer

JSON, LINES = "application/json", "application/x-ndjson"
LONG_NAMES, SHORT_NAMES = 600, 400  # categories that all accept the same texts
TEXT = "lamps dark street "


class Request(NamedTuple):
    """What is sent, and which statuses may be answered."""

    method: str
    path: str
    body: bytes = b""
    statuses: frozenset[int] = frozenset({200})
    kind: str = JSON


def long_name(number: int) -> str:
    """Return a name of 199 letters that is like all others of its kind."""
    return "".join(random.Random(number).choices("ab", k=190)) + f" {number:08}"


def large_model(folder: Path) -> Path:
    """Write a model of 1,000 categories that accept a text about lamps, 600 of them with very long names."""
    names = [long_name(number) for number in range(LONG_NAMES)] + [f"c{number}" for number in range(SHORT_NAMES)]
    texts = [f"{TEXT} {i}" for i in range(20)] + [f"wheat harvest grain {i}" for i in range(20)]
    model = Categorizer(learner="balanced-winnow", choose="nothing", min_count=1)
    model.fit(texts, [names] * 20 + [["other"]] * 20)
    assert len(model.predict([TEXT])[0]) == len(names)
    model.save(folder / "desk.thresher")
    return folder / "desk.thresher"


def post(path: str, body: Any, *statuses: int) -> Request:
    """Return a request that posts JSON."""
    return Request("POST", path, json.dumps(body).encode(), frozenset(statuses or (200,)))


def lines(path: str, body: bytes) -> Request:
    """Return a request that posts JSON lines."""
    return Request("POST", path, body, kind=LINES)


def documents_to_review() -> Request:
    """Return a request that adds documents to review, of which some are long."""
    texts = [f"{TEXT} {i}" for i in range(2000)] + [TEXT * 5000 + str(i) for i in range(9)]
    return post("/v1/documents", {"documents": [{"id": str(i), "text": text} for i, text in enumerate(texts)]})


def worst_requests() -> dict[str, Request]:
    """Return the requests by what they are."""
    kilobytes, many = (TEXT * 300)[:3900], [{"id": str(i), "text": "lamps"} for i in range(25_000)]
    fields = {f"f{i}": "lamps dark " * 80 for i in range(1000)}
    return {
        "a text with explanations": post("/v1/categorize", {"text": kilobytes, "explain": True}),
        "a short text with explanations": post("/v1/categorize", {"text": TEXT, "explain": True}),
        "a text with everything": post("/v1/categorize", {"text": TEXT, "explain": True, "all": True, "details": True}),
        "an explanation of an unknown name": post("/v1/categorize", {"text": TEXT, "explain": long_name(-1)}, 404),
        "an unknown category": Request("GET", f"/v1/categories/{'ab' * 10_000}", statuses=frozenset({404})),
        "a queue of an unknown category": Request("GET", f"/v1/queue?category={'ab' * 99}", statuses=frozenset({404})),
        "a word again and again, explained": post("/v1/categorize", {"text": "lamps " * 160_000, "explain": True}, 422),
        "a long text, explained": post("/v1/categorize", {"text": TEXT * 1000, "explain": "c1"}),
        "fields, explained": post("/v1/categorize", {"text": fields, "explain": "c1"}, 422),
        "many words": post("/v1/categorize", {"documents": ["lamps"] * 99_999}),
        "many unknown words": post("/v1/categorize", {"documents": ["unheard"] * 70_000}),
        "many documents": post("/v1/categorize", {"documents": many}),
        "many documents with explanations": post("/v1/categorize", {"documents": [TEXT] * 900, "explain": True}, 422),
        "many documents with details": post(
            "/v1/categorize", {"documents": [TEXT] * 900, "all": True, "details": True}, 422
        ),
        "lines": lines("/v1/categorize", b'"unheard"\n' * 60_000),
        "lines with many categories": lines("/v1/categorize", as_lines(*[TEXT] * 300)),
        "a long line": lines("/v1/categorize", as_lines(TEXT * 50_000)),
        "an unknown name": post("/v1/corrections", {"id": "u", "text": TEXT, "accept": [long_name(-1)]}, 422),
        "many unknown names": post(
            "/v1/corrections", {"id": "u", "text": TEXT, "accept": [long_name(-i - 1) for i in range(1000)]}, 422
        ),
        "many known names": post(
            "/v1/corrections", {"id": "k", "text": TEXT, "reject": [f"c{i}" for i in range(SHORT_NAMES)]}, 200, 201
        ),
        "objects that are empty": Request("POST", "/v1/categorize", b"[" + b"{}," * 330_000 + b"{}]", frozenset({422})),
        "documents to review": documents_to_review(),
        "the queue": Request("GET", "/v1/queue?limit=200"),
        "the queue at random": Request("GET", "/v1/queue?limit=200&order=random&q=lamps"),
        "the queue of a category": Request("GET", "/v1/queue?limit=200&category=c1&order=diverse"),
        "a document": Request("GET", "/v1/documents/2001"),
        "the categories": Request("GET", "/v1/categories"),
        "a category": Request("GET", "/v1/categories/c1"),
        "the stats": Request("GET", "/v1/stats"),
        "the corrections": Request("GET", "/v1/corrections?limit=500"),
        "the export": Request("GET", "/v1/export"),
        "the model": Request("GET", "/v1/model"),
        "the description": Request("GET", "/openapi.json"),
        "the metrics": Request("GET", "/metrics"),
    }


def new_names(count: int, id: str) -> Request:
    """Return a correction with very many new categories."""
    names = [f"new {id} {i}" for i in range(count)]
    body = {"id": id, "text": TEXT, "accept": names, "create_category": True}
    return post("/v1/corrections", body, 201, 422)


def send(port: int, token: str, asked: Request) -> int:
    """Send a request over a connection of its own, read the whole answer, and return its status."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request(asked.method, asked.path, asked.body or None, headers(token, asked))
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def headers(token: str, asked: Request) -> dict[str, str]:
    """Return the headers of a request."""
    return {"Authorization": f"Bearer {token}"} | ({"Content-Type": asked.kind} if asked.body else {})


@contextmanager
def polled(port: int, every: float = 0.02) -> Iterator[list[float]]:
    """Poll a service while the block runs; yields the list of the seconds that each answer took."""
    waits: list[float] = []
    ending = threading.Event()

    def poll() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        while not ending.is_set():
            start = time.perf_counter()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            waits.append(time.perf_counter() - start)
            ending.wait(every)
        connection.close()

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield waits
    finally:
        ending.set()
        thread.join()
