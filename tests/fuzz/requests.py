"""What is asked of the service, whatever is sent: an answer or a problem, and nothing changed by what it refuses."""

import asyncio
import atexit
import json
import shutil
import tempfile
from collections.abc import MutableMapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from fuzz.journals import small_model
from thresher.journal.journaled_model import JournaledModel
from thresher.web.app import create_app
from thresher.web.errors import MEDIA, Problem
from thresher.web.guards import Rules
from thresher.web.request_models import (
    CategorizeIn,
    CategoryChangeIn,
    CorrectionIn,
    DocumentIn,
    DocumentsIn,
    ReloadIn,
    StateIn,
    parse,
    validate,
)
from thresher.web.service import Service

HOST, JSON, LINES = "localhost:8765", "application/json", "application/x-ndjson"
KINDS = (
    CategorizeIn, CorrectionIn, CategoryChangeIn, DocumentsIn, DocumentIn,
    StateIn, ReloadIn,
)  # fmt: skip
# What the first byte of an input chooses: how its other bytes are sent.
ROUTES = (
    ("POST", "/v1/categorize", JSON),
    ("POST", "/v1/corrections", JSON),
    ("POST", "/v1/documents", JSON),
    ("POST", "/v1/categories", JSON),
    ("PATCH", "/v1/documents/1", JSON),
    ("POST", "/v1/model/reload", JSON),
    ("POST", "/v1/categorize", LINES),
    ("POST", "/v1/documents", LINES),
    ("GET", "/v1/queue?", ""),
    ("GET", "/v1/corrections?", ""),
    ("GET", "/v1/categories/", ""),
    ("DELETE", "/v1/corrections/", ""),
    ("GET", "/v1/documents/", ""),
)


def body(data: bytes) -> None:
    """Take bytes for a body: what is taken is what JSON says, and what is refused is reported in a line."""
    try:
        found = parse(data)
    except Problem as problem:
        check_problem(problem)
        return
    assert found == json.loads(data, object_pairs_hook=distinct)
    json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    for kind in KINDS:
        try:
            validate(kind, found)
        except Problem as problem:
            check_problem(problem)


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), "a name that occurs twice was taken"
    return dict(pairs)


def check_problem(problem: Problem) -> None:
    assert 400 <= problem.status < 500
    assert problem.detail.isprintable()
    assert len(problem.detail) < 400
    problem.response()


class Answer:
    """What the application sends."""

    def __init__(self) -> None:
        self.status, self.body = 0, b""
        self.headers: dict[bytes, bytes] = {}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
        else:
            self.body += message.get("body", b"")


class InProcess:
    """A service in this process, over a small model with two documents to review and a correction."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        self.model = self.folder / "now" / "m"
        self.model.parent.mkdir()
        self.model.write_bytes(small_model())
        self.service = Service(lambda: JournaledModel(self.model)).begin()
        self.service.opening.result(30)
        self.app, self.runner = create_app(self.service, Rules(frozenset({HOST}), None)), asyncio.Runner()
        self.ask("POST", "/v1/documents", JSON, b'{"documents": [{"id": "1", "text": "wheat"}, "oil and gas"]}')
        self.ask("POST", "/v1/corrections", JSON, b'{"id": "c1", "text": "wheat rose", "accept": ["grain"]}')
        self.service.served.journaled_model.close()
        shutil.copytree(self.model.parent, self.folder / "then")
        self.service._open(JournaledModel(self.model))

    def begin_anew(self) -> None:
        """Forget all that was sent since the beginning."""
        self.service.served.journaled_model.journal.close()
        shutil.rmtree(self.model.parent)
        shutil.copytree(self.folder / "then", self.model.parent)
        self.service._open(JournaledModel(self.model))

    def ask(self, method: str, path: str, kind: str, sent: bytes) -> Answer:
        """Send a request; whatever the application raises comes out of here."""
        answer, parts = Answer(), [sent[: len(sent) // 2], sent[len(sent) // 2 :]]
        leaves = asyncio.Event()  # which never happens: the client waits for its answer
        whole, _, query = path.encode("latin-1").partition(b"?")
        headers = [(b"host", HOST.encode())] + ([(b"content-type", kind.encode())] if kind else [])
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": unquote_to_bytes(whole).decode("utf-8", "replace"), "raw_path": whole, "query_string": query,
            "root_path": "", "headers": headers, "server": ("127.0.0.1", 8765), "client": ("127.0.0.1", 1),
        }  # fmt: skip

        async def receive() -> MutableMapping[str, Any]:
            if not parts:
                await leaves.wait()
            part = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        self.runner.run(self.app(scope, receive, answer.send))
        return answer

    def state(self) -> tuple[str, int, list[str]]:
        """Return what no refusal may change."""
        desk = self.service.served.journaled_model
        states = [document.state for document in self.service.served.documents.by_id.values()]
        return desk.model.digest(), desk.journal.log.last_seq(), states


@cache
def running() -> InProcess:
    """Return the one service of this process."""
    made = InProcess()
    atexit.register(shutil.rmtree, made.folder, ignore_errors=True)
    return made


def service(data: bytes) -> None:
    """Send bytes to one of the routes, of a service that nothing was sent to before that changed it."""
    if not data:
        return
    process, (method, path, kind) = running(), ROUTES[data[0] % len(ROUTES)]
    before = process.state()
    if kind:
        answer = process.ask(method, path, kind, data[1:])
    else:
        answer = process.ask(method, path + data[1:].decode("latin-1"), "", b"")
    check_answer(answer, kind)
    after = process.state()
    learned = after[:2] != before[:2] or (
        after[2] != before[2] and kind != LINES
    )  # of lines, those before a bad one count
    assert not learned or answer.status in (200, 201), "what was refused has changed something"
    if after != before:
        process.begin_anew()


def check_answer(answer: Answer, kind: str) -> None:
    assert 200 <= answer.status < 500, answer.body
    if answer.status >= 400:
        assert answer.headers[b"content-type"] == MEDIA.encode()
        assert json.loads(answer.body)["status"] == answer.status
    elif kind == LINES:
        for line in answer.body.splitlines():
            json.loads(line)
    else:
        json.loads(answer.body)
