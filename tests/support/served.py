"""Runs the service on a free port: on a thread of the test process, over a model of a made-up corpus, or as a verb."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import httpx
import pytest

from support.command_line import COMMAND
from support.corpora import made_up
from support.polling import slow as slow
from support.polling import watched, watched_process
from thresher import Categorizer
from thresher.datasets.document import Document
from thresher.journal.journaled_model import JournaledModel
from thresher.web import server
from thresher.web.access_tokens import Holder, Tokens
from thresher.web.guards import Rules, hosts_of
from thresher.web.service import Service

SHARED = "the-token-that-all-share"
HOLDERS = {
    SHARED: Holder("", "admin"),
    "token-of-rita": Holder("rita", "reader"),
    "token-of-ada": Holder("ada", "teacher"),
    "token-of-bob": Holder("bob", "teacher"),
    "token-of-zoe": Holder("zoe", "admin"),
}
TOKENS = {holder.name: token for token, holder in HOLDERS.items()}
LEARNED = 120  # documents
LINES = {"Content-Type": "application/x-ndjson"}


class Answer(NamedTuple):
    """A response over a bare socket: the status, the headers in lower case, and the body."""

    status: int
    headers: dict[str, str]
    body: bytes


class Served:
    """A running service and its clients, each with a token."""

    def __init__(self, url: str, service: Service, model: Path, tokens: bool, app: Any) -> None:
        self.url, self.service, self.model, self._tokens = url, service, model, tokens
        self.app = app  # the one behind the guard
        self.host = url.removeprefix("http://")
        self.port = int(url.rpartition(":")[2])
        self._clients: dict[str | None, httpx.Client] = {}
        self._count = 0

    def client(self, name: str | None = "") -> httpx.Client:
        """Return a client that bears the token of someone, or none."""
        if name not in self._clients:
            headers = {"Authorization": f"Bearer {TOKENS[name]}"} if name is not None and self._tokens else {}
            self._clients[name] = httpx.Client(base_url=self.url, headers=headers, trust_env=False, timeout=30)
        return self._clients[name]

    def close(self) -> None:
        """Close all clients."""
        for client in self._clients.values():
            client.close()

    def new_id(self) -> str:
        """Return an id that no correction has had."""
        self._count += 1
        return f"test-{self._count}"

    def get(self, path: str, **query: Any) -> Any:
        """Return what a route gives, which must be found."""
        found = self.client().get(path, params=query)
        assert found.status_code == 200, found.text
        return found.json()

    def post(self, path: str, body: Any, name: str = "", status: int = 200) -> Any:
        """Return what a route answers to a body; it must be of a status."""
        found = self.client(name).post(path, json=body)
        assert found.status_code == status, found.text
        return found.json()

    def categorize(self, **body: Any) -> Any:
        """Return the categories of what is given."""
        return self.post("/v1/categorize", body)

    def correct(self, *, by: str = "", status: int = 201, **body: Any) -> Any:
        """Teach a correction."""
        return self.post("/v1/corrections", {"id": self.new_id()} | body, by, status)

    @property
    def digest(self) -> str:
        """The digest of the model as it is, computed from its weights."""
        return self.service.write(lambda: self.service.served.journaled_model.model.digest()).result(30)

    @property
    def last(self) -> int:
        """How many records the journal has."""
        return self.service.write(lambda: self.service.served.journaled_model.journal.log.last_seq()).result(30)

    def exchange(self, request: bytes, *, end: bool = False) -> Answer:
        """Send bytes over a socket of their own, and return the answer; `end` says that nothing more will come."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(request)
            if end:
                connection.shutdown(socket.SHUT_WR)
            return read_answer(connection)


def read_answer(connection: socket.socket) -> Answer:
    """Read one answer from a socket: to the end of the body that its head announces, or to that of the connection."""
    got = b""
    while (head := got.partition(b"\r\n\r\n"))[1] == b"" or len(head[2]) < _length(head[0]):
        piece = connection.recv(2**16)
        if not piece:
            break
        got += piece
    first, *lines = head[0].decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Answer(int(first.split()[1]), headers, got.partition(b"\r\n\r\n")[2])


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return sys.maxsize


def request(service: Served, method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """Return a request as bytes, with the shared token; an empty header is left out, and `_` becomes a dash."""
    given = {"Host": service.host, "Authorization": f"Bearer {SHARED}", "Content-Length": str(len(body))}
    given |= {"Content-Type": "application/json"} if body else {}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def check_problem(found: httpx.Response | Answer, *statuses: int) -> dict[str, Any]:
    """Check that an answer is a refusal of one of these statuses, as problem+json; returns it."""
    status = found.status if isinstance(found, Answer) else found.status_code
    body = found.body if isinstance(found, Answer) else found.content
    assert status in statuses, (status, body)
    assert found.headers["content-type"] == "application/problem+json", found.headers
    problem: dict[str, Any] = json.loads(body)
    assert problem["status"] == status
    assert {"title", "detail"} <= problem.keys()
    return problem


@cache
def _learned(count: int) -> bytes:
    corpus = made_up(count)
    with TemporaryDirectory() as folder:
        path = Path(folder, "desk.thresher")
        Categorizer(min_count=1).fit(corpus.texts, corpus.categories).save(path)
        return path.read_bytes()


def new_model(folder: Path, count: int = LEARNED) -> Path:
    """Write a model of the made-up corpus into a folder."""
    path = folder / "desk.thresher"
    path.write_bytes(_learned(count))
    return path


class _Threaded(server.Server):
    """A server that leaves the signals alone, as those of other threads than the first must."""

    running: "_Threaded | None" = None

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        _Threaded.running = self

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _is_listening() -> bool:
    return _Threaded.running is not None and _Threaded.running.started


@contextmanager
def served(
    model: Path,
    *,
    holders: Mapping[str, Holder] | None = HOLDERS,
    holdout: Sequence[Document] = (),
    origins: Sequence[str] = (),
    rate: float = 0.0,
    opened: Callable[[], JournaledModel] | None = None,
    wait: bool = True,
    fails: type[BaseException] | None = None,
    polled: bool = True,
) -> Iterator[Served]:
    """Serve a model while the block runs; it waits until the journal is replayed, and ends well unless it `fails`.

    Meanwhile it is `polled`, and the test fails if /healthz is slow; not so where the test starves it.
    """
    listening = server.bind_socket("127.0.0.1", 0)
    port = listening.getsockname()[1]
    tokens = None if holders is None else Tokens(dict(holders))
    rules = Rules(hosts_of("127.0.0.1", port), tokens, frozenset(origins), rate)
    service = Service(opened or (lambda: JournaledModel(model)), holdout=holdout)
    failures: list[BaseException] = []
    ready = threading.Event()
    switching = sys.getswitchinterval()

    def run() -> None:
        try:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(server, "Server", _Threaded)
                server.serve(service, rules, listening, lambda service: ready.set())
        except BaseException as error:
            failures.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="server")
    thread.start()
    while not failures and not (_is_listening() and (ready.is_set() or not wait)):
        thread.join(0.005)
    assert not failures, failures
    threaded = _Threaded.running
    assert threaded is not None
    _Threaded.running = None
    running = Served(f"http://127.0.0.1:{port}", service, model, tokens is not None, threaded.config.app.app)  # type: ignore[union-attr]
    try:
        with watched(port) if polled else nullcontext():
            yield running
    finally:
        running.close()
        threaded.should_exit = True
        thread.join(30)
        sys.setswitchinterval(switching)
    assert not thread.is_alive()
    assert [type(error) for error in failures] == ([fails] if fails else []), failures


def all_at_once(service: Served, requests: Sequence[tuple[str, str, Any]]) -> list[httpx.Response]:
    """Send requests in parallel, each a method, a path and a body, and return the answers in that order."""

    async def ask() -> list[httpx.Response]:
        headers = {"Authorization": f"Bearer {SHARED}"}
        limits = httpx.Limits(max_connections=50)
        async with httpx.AsyncClient(
            base_url=service.url, headers=headers, trust_env=False, timeout=30, limits=limits
        ) as client:
            asked = (client.request(method, path, json=body) for method, path, body in requests)
            return list(await asyncio.gather(*asked))

    return asyncio.run(ask())


class Started(NamedTuple):
    """A service that runs in a process of its own: what it printed, and how to ask it."""

    process: "subprocess.Popen[str]"
    said: dict[str, Any]
    client: httpx.Client


@contextmanager
def started(*arguments: str | Path, ends: int = 0, **environment: str | Path) -> Iterator[Started]:
    """Run `thresher serve` on a free port while the block runs, and end it as a system would; it is polled too."""
    env = {name: value for name, value in os.environ.items() if name != "THRESHER_TOKEN"}
    env |= {name: str(value) for name, value in environment.items()}
    command = [*COMMAND, "serve", *map(str, arguments), "--port", "0", "--json"]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            said = json.loads(line)
            headers = {"Authorization": f"Bearer {said['token']}"} if said["token"] else {}
            with (
                httpx.Client(base_url=said["url"], headers=headers, trust_env=False, timeout=30) as client,
                watched_process(int(said["url"].rpartition(":")[2]), process.pid),
            ):
                yield Started(process, said, client)
            process.terminate()
            assert process.wait(20) == ends, process.stderr.read()
        finally:
            process.kill()


def as_lines(*documents: Any) -> bytes:
    """Return documents as lines of JSON."""
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def from_lines(found: httpx.Response) -> list[Any]:
    """Return what lines of JSON hold that were answered."""
    assert found.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in found.text.splitlines()]


def names(answer: dict[str, Any]) -> list[str]:
    """Return the categories of an answer."""
    return [entry["category"] for entry in answer["categories"]]


def known(service: Served) -> list[str]:
    """Return the names of all categories."""
    return [row["name"] for row in service.get("/v1/categories")["categories"]]


def holdout(count: int = 80) -> list[Document]:
    """Return labelled documents that no model here has learned."""
    corpus = made_up(count, seed=5)
    return [
        Document(id=str(i), text=text, categories=tuple(names))
        for i, (text, names) in enumerate(zip(corpus.texts, corpus.categories, strict=True))
    ]
