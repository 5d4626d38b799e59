"""What a request costs grows no faster than it does: for each route, along two dimensions of its body or of the state.

Each is measured at sizes (n, m), (8n, m) and (n, 8m), in CPU time and memory of a service in a process of its own.
What took quadratic time would take 64 times as long; 20 times are allowed, for the machine has other things to do.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from faults.harness import TOKEN, Service, client_of, started_service
from support.corpora import made_up
from support.served import as_lines
from support.worst import LINES, Request, post, send
from thresher import Categorizer

TIMES, ALLOWED = 8, 20
LEAST = 0.03  # seconds of CPU time below which nothing can be told
MOST_MEMORY = 300_000  # kB that one request may take
CATEGORIES = 400
SIZES = ((1, 1), (TIMES, 1), (1, TIMES))
Make = Callable[[int, int, str], Request]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of a model with many categories."""
    with started_service(model_in(tmp_path_factory.mktemp("grown"))) as service:
        for name, (make, n, m) in BODIES.items():  # which compiles and loads what they run
            send(service.port, TOKEN, make(n, m, f"first {name}"))
        yield service


def model_in(folder: Path) -> Path:
    """Write a model with many categories into a folder."""
    corpus = made_up(60)
    names = [[*own, f"c{i % CATEGORIES}"] for i, own in enumerate(corpus.categories * 10)]
    model = Categorizer(choose="nothing", analyser="words+chars:3-5", min_count=1)
    model.fit(corpus.texts * 10, names).save(folder / "desk.thresher")
    return folder / "desk.thresher"


def words(count: int, of: str = "w") -> str:
    """Return a text of different words."""
    return " ".join(f"{of}{i} oil" for i in range(count))


def documents(n: int, m: int, **options: Any) -> Request:
    """Return n documents of m words to be categorized."""
    return post("/v1/categorize", {"documents": [words(m)] * n, **options})


def correction(id: str, n: int, m: int, *, create: bool) -> Request:
    """Return a correction with n names and m words."""
    names = [f"new {id} {i}" if create else f"c{i}" for i in range(n)]
    body = {"id": id, "text": words(m, "x"), "accept": names, "create_category": create}
    return post("/v1/corrections", body, 200, 201, *([422] if create else []))  # which costs little


def as_json_lines(path: str, n: int, m: int, id: str) -> Request:
    """Return n lines with documents of m words."""
    return Request("POST", path, as_lines(*(f"{id} {i} {words(m)}" for i in range(n))), kind=LINES)


def nonsense(path: str, n: int, m: int, method: str = "POST") -> Request:
    """Return a body that no route takes, of n names and m letters each."""
    body = json.dumps({"id": {f"{i}": "x" * m for i in range(n)}}).encode()
    return Request(method, path, body, frozenset({404, 422}))


def fields(n: int, m: int) -> dict[str, str]:
    """Return n fields of m words."""
    return {f"f{i}": words(m, f"{i}y") for i in range(n)}


BODIES: dict[str, tuple[Make, int, int]] = {
    "categorize: documents x words": (lambda n, m, id: documents(n, m), 1000, 10),
    "categorize: documents x categories": (lambda n, m, id: documents(n, 3, top=m), 400, 20),
    "categorize: documents x details": (lambda n, m, id: documents(n, 3, top=m, details=True), 60, 20),
    "categorize: fields x words": (lambda n, m, id: post("/v1/categorize", {"text": fields(n, m)}), 120, 20),
    "categorize: documents x words, explained": (lambda n, m, id: documents(n, m, explain="c1"), 40, 20),
    "categorize: fields x words, explained": (
        lambda n, m, id: post("/v1/categorize", {"text": fields(n, m), "explain": "c1"}), 120, 10,
    ),
    "categorize: documents x letters of one word, explained": (
        lambda n, m, id: post("/v1/categorize", {"documents": ["oil " * m] * n, "explain": "c1"}), 4, 1500,
    ),
    "categorize: lines x words": (lambda n, m, id: as_json_lines("/v1/categorize", n, m, "l"), 1000, 10),
    "correct: names x words": (lambda n, m, id: correction(id, n, m, create=False), 40, 200),
    "correct: new names x words": (lambda n, m, id: correction(id, n, m, create=True), 2, 40),
    "add_documents: documents x words": (
        lambda n, m, id: post("/v1/documents", {"documents": [f"{id} {i} {words(m)}" for i in range(n)]}), 600, 10,
    ),
    "add_documents: lines x words": (lambda n, m, id: as_json_lines("/v1/documents", n, m, id), 600, 10),
    "change_categories: words x letters": (
        lambda n, m, id: post(
            "/v1/categories", {"change": "new", "name": id, "words": [f"s{i}" + "z" * m for i in range(n)]}
        ), 60, 20,
    ),
    "set_state: names x letters": (lambda n, m, id: nonsense("/v1/documents/1", n, m, "PATCH"), 5000, 10),
    "reload: names x letters": (lambda n, m, id: nonsense("/v1/model/reload", n, m), 5000, 10),
    "back_up: names x letters": (lambda n, m, id: nonsense("/v1/backup", n, m), 5000, 10),
}  # fmt: skip
STATES = {
    "queue": "/v1/queue?limit=200",
    "document": "/v1/documents/0",
    "categories": "/v1/categories",
    "category": "/v1/categories/c1",
    "corrections": "/v1/corrections?limit=500",
    "export": "/v1/export",
    "stats": "/v1/stats",
    "model": "/v1/model",
    "metrics": "/metrics",
    "healthz": "/healthz",
    "readyz": "/readyz",
}
CHANGES = {"undo": "/v1/corrections/{}", "remove_document": "/v1/documents/{}"}


def test_each_route_is_measured(grown: Service) -> None:
    with client_of(grown) as client:
        paths = client.ask("GET", "/openapi.json").body["paths"]
    described = {operation["operationId"] for route in paths.values() for operation in route.values()}
    assert described == {name.partition(":")[0] for name in BODIES} | STATES.keys() | CHANGES.keys()


@pytest.mark.parametrize("name", BODIES)
def test_the_cost_of_a_body_grows_as_it_does(grown: Service, name: str) -> None:
    make, n, m = BODIES[name]
    costs = []
    for size, (a, b) in enumerate(SIZES):
        costs.append(min(cost_of(grown, make(a * n, b * m, f"{name} {size} {turn}")) for turn in range(2)))
    print(name, costs)
    assert is_linear(costs)


@pytest.mark.slow
def test_the_cost_of_a_request_without_a_body_grows_with_the_journal(tmp_path: Path) -> None:
    costs: dict[str, list[float]] = {name: [] for name in STATES | CHANGES}
    with ExitStack() as stack:
        for a, b in SIZES:
            folder = tmp_path / f"{a} {b}"
            folder.mkdir()
            service = stack.enter_context(started_service(model_in(folder)))
            fill(service, 25 * a, 20 * b)
            for name, path in STATES.items():
                asked = Request("GET", path)
                cost_of(service, asked)
                costs[name].append(min(cost_of(service, asked) for _ in range(2)))
            for name, path in CHANGES.items():  # the oldest first: all that came later is replayed
                found = [cost_of(service, Request("DELETE", path.format(number))) for number in range(3)]
                costs[name].append(min(found[1:]))
    print(costs)
    assert [name for name in costs if not is_linear(costs[name])] == []


def fill(service: Service, n: int, m: int) -> None:
    """Give a service n documents of m words to review, and n corrections with m names."""
    texts = [{"id": str(i), "text": f"{i} {words(m)}"} for i in range(n)]
    assert send(service.port, TOKEN, post("/v1/documents", {"documents": texts})) == 200
    for i in range(n):
        assert send(service.port, TOKEN, correction(f"{i}", m, 3, create=False)) == 201


def is_linear(costs: list[float]) -> bool:
    """Tell whether eight times as much of one thing costs no more than it may."""
    return max(costs[1:]) <= ALLOWED * max(costs[0], LEAST)


def test_what_takes_quadratic_time_is_found_out() -> None:
    assert not is_linear([LEAST, TIMES**2 * LEAST, TIMES * LEAST])
    assert is_linear([LEAST, 2 * TIMES * LEAST, TIMES * LEAST])


def cost_of(service: Service, asked: Request) -> float:
    """Return the CPU time that a service takes for a request, which must not take much memory."""
    seconds, memory = cpu_time(service), peak_memory(service)
    assert send(service.port, TOKEN, asked) in asked.statuses
    assert peak_memory(service) - memory < MOST_MEMORY
    return cpu_time(service) - seconds


def cpu_time(service: Service) -> float:
    fields = Path(f"/proc/{service.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory(service: Service) -> int:
    status = Path(f"/proc/{service.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])
