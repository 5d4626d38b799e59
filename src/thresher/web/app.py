"""The routes: what each takes and gives. `create_app` makes the application that a server runs."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from importlib import resources
from typing import Annotated, Any, Literal
from uuid import uuid4

import orjson
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from thresher import __version__
from thresher.errors import ThresherError
from thresher.journal import exported
from thresher.text.analysers import Text
from thresher.web import bodies, outcomes
from thresher.web.description import content, described, options_in_query, role_of, route
from thresher.web.gathering import Gathering
from thresher.web.guards import ASSETS, JSON, LINES, WRITING, Guard, Rules, check_kind
from thresher.web.meters import Meters
from thresher.web.problems import Problem, as_problem
from thresher.web.service import Service
from thresher.web.tokens import Holder

_FEW_LETTERS = 4000  # up to which a text is categorized at once; longer ones, and many, on another thread
_LINES_AT_ONCE, _RECORDS_AT_ONCE, _WRITTEN_AT_ONCE = 256, 50, 50
_ROOM = 2**24  # bytes that so many documents never take
_MOST_DETAILED = 1000
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_PAGE = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_SAFE_ASSET = re.compile(r"[a-z0-9_-]+\.(css|js|svg)")


def create_app(service: Service, rules: Rules) -> Guard:
    """Return the application: the routes of a service behind its guard."""
    app = FastAPI(
        title="Thresher",
        version=__version__,
        summary="Sorts text into categories, learns from every correction, and says which words decided.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.router.route_class = Route
    meters = Meters()
    for kind in (
        Problem,
        ThresherError,
        MemoryError,
        ClientDisconnect,
        HTTPException,
        RequestValidationError,
        Exception,
    ):
        app.add_exception_handler(kind, _refused)
    _add_reading(app, service)  # first, for routes are looked through in their order
    _add_page(app)
    _add_health(app, service, meters)
    _add_teaching(app, service)
    _add_keeping(app, service)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    return Guard(app, rules, meters)


# -- what routes share -------------------------------------------------------------------------------------------------


async def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, Problem):
        return error.response()
    if isinstance(error, ClientDisconnect):
        return Problem(400, "the client left before all had come").response()
    if isinstance(error, ThresherError | MemoryError):
        return as_problem(error).response()
    if isinstance(error, HTTPException) and error.status_code == 405:
        return Problem(405, "method not allowed", {"Allow": _allowed(request)}).response()
    if isinstance(error, HTTPException):
        return Problem(error.status_code, str(error.detail).lower(), dict(error.headers or {})).response()
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return Problem(422, f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg'].lower()}").response()
    return Problem(500, "something went wrong here; the log says what").response()


def _answer(found: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(_written(found), status, headers, media_type=JSON)


def _written(found: Any) -> bytes:
    """Return JSON; what is no number, as a share of nothing, is null."""
    if isinstance(found, dict) and found.keys() == {"documents"}:
        return b'{"documents":[%b]}' % b",".join(_written_many(found["documents"]))
    try:
        return _ENCODER.encode(found).encode()
    except ValueError:
        bytearray(_ROOM)
        return orjson.dumps(found)


def _written_many(documents: list[dict[str, Any]]) -> Iterator[bytes]:
    """Yield each of many documents as JSON, which orjson writes ten times as fast; see to it that it finds memory.

    Where it finds none it does not raise, but takes the process down.
    """
    for first in range(0, len(documents), _WRITTEN_AT_ONCE):
        bytearray(_ROOM)
        for document in documents[first : first + _WRITTEN_AT_ONCE]:
            yield _written(document) if "explanations" in document else orjson.dumps(document)


def _holder(request: Request) -> Holder:
    """Return who asks."""
    holder: Holder = request.scope["state"]["holder"]
    return holder


async def _body(request: Request, kind: type[bodies.Model]) -> bodies.Model:
    if _is_lines(request):
        raise Problem(415, f"this takes {JSON}")
    return bodies.checked(kind, bodies.parsed(await request.body()))


def _is_lines(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == LINES


class Route(APIRoute):
    """A route that looks at who asks, and at the kind of a body, before it answers; one that names no role is admins'.

    Another method than its own is told before all that.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer, role = super().get_route_handler(), role_of(self.path, self.openapi_extra)

        async def checked(request: Request) -> Response:
            if role is not None and not _holder(request).may(role):
                raise Problem(403, f"this takes the role {role}")
            if request.method in WRITING:
                check_kind(request.scope["headers"])
            return await answer(request)

        return checked


def _allowed(request: Request) -> str:
    """Return the methods that some route takes for a path."""
    methods: set[str] = set()
    for one in request.app.router.routes:
        if one.matches(request.scope)[0] is not Match.NONE:
            methods |= one.methods or set()
    return ", ".join(sorted(methods))


# -- the page, and whether it lives ------------------------------------------------------------------------------------


def _add_page(app: FastAPI) -> None:
    folder = resources.files("thresher.web") / "page"
    files = {
        file.name: (file.read_bytes(), _PAGE[suffix])
        for file in folder.iterdir()
        if (suffix := "." + file.name.rpartition(".")[2]) in _PAGE
    }
    fresh = {"cache-control": "no-cache"}

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        if "index.html" not in files:
            raise Problem(404, "this installation has no page")
        return Response(files["index.html"][0], headers=fresh, media_type="text/html")

    @app.get(ASSETS + "{name}", include_in_schema=False)
    async def asset(name: str) -> Response:
        if name not in files or not _SAFE_ASSET.fullmatch(name):
            raise Problem(404, "there is no such file")
        return Response(files[name][0], headers=fresh, media_type=files[name][1])


def _add_health(app: FastAPI, service: Service, meters: Meters) -> None:
    @app.get("/healthz", **route(None, outcomes.Health))
    async def healthz() -> Response:
        """Tell that the service lives."""
        return _answer({"status": "ok"})

    @app.get("/readyz", **route(None, outcomes.Health))
    async def readyz() -> Response:
        """Tell whether the service may be asked."""
        service.check_ready()
        return _answer({"status": service.state})

    prometheus = {"200": {"description": "Prometheus", "content": {"text/plain": {}}}}

    @app.get("/metrics", **route("reader", None, responses=prometheus))
    async def metrics(request: Request) -> Response:
        """Count what was answered, and how fast."""
        gauges = {"ready": service.state == "ready", "writer_waiting": service.waiting}
        if service.state == "ready":
            gauges |= {
                "position": service.position,
                "corrections": sum(service.users.values()),
                "documents_open": service.pool.counts()["open"],
            }
        return Response(meters.text(**gauges), media_type="text/plain; version=0.0.4")


# -- looking -----------------------------------------------------------------------------------------------------------


def _add_reading(app: FastAPI, service: Service) -> None:
    gathering = Gathering(service)

    categorized = {"200": content("The answer", outcomes.Categorized, lines=outcomes.Categorized)}

    @app.post(
        "/v1/categorize",
        **route("reader", None, takes=bodies.CategorizeIn, query=options_in_query(), responses=categorized),
    )
    async def categorize(request: Request) -> Response:
        """Say which categories documents belong to and, if asked, which words decided."""
        service.check_ready()
        if _is_lines(request):
            return Lines(await _begun(_lines_of_answers(service, request)), media_type=LINES)
        options, found = _options(request), bodies.parsed(await request.body())
        given = bodies.checked(bodies.CategorizeIn, options | found if isinstance(found, dict) else found)
        texts, ids = _texts_of(service, given)
        position = service.position
        if is_short(texts) and not (given.top or given.all or given.details or given.explain):
            told = [await gathering.categorize(texts[0], ids[0])]
        else:
            told = await _categorized(service, texts, ids, given)
        answer = {"documents": told} if given.documents is not None else told[0]
        return _answer(answer, headers={"Thresher-Position": str(position)})

    @app.get(
        "/v1/categories",
        **route("reader", outcomes.Categories, leads={"category": {"name": "$response.body#/categories/0/name"}}),
    )
    async def categories(request: Request) -> Response:
        """List the categories and how well they do."""
        service.check_ready()
        return _answer(await asyncio.to_thread(service.categories))

    @app.get("/v1/categories/{name:path}", **route("reader", outcomes.Category))
    async def category(request: Request, name: str) -> Response:
        """Show a category: its words, its counts, its curve and its latest mistakes."""
        service.check_ready()
        found = await asyncio.to_thread(service.category, name)
        mistakes = await asyncio.wrap_future(service.write(lambda: service.latest_mistakes(name)))
        return _answer(found | {"mistakes": mistakes})

    first = {"id": "$response.body#/documents/0/id"}

    @app.get("/v1/queue", **route("reader", outcomes.Queue, leads={"document": first, "set_state": first}))
    async def queue(
        request: Request,
        order: Literal["uncertain", "random", "diverse"] = "uncertain",
        category: Annotated[str | None, Query(max_length=200)] = None,
        q: Annotated[str, Query(max_length=1000)] = "",
        state: Literal["open", "unsure", "done"] = "open",
        limit: Annotated[int, Query(ge=1, le=200)] = 20,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> Response:
        """Say what to review next, the uncertain first."""
        service.check_ready()
        found, matching = await asyncio.to_thread(service.queued, order, category or None, q, state, limit, offset)
        told = await asyncio.wrap_future(service.write(lambda: [service.with_corrections(one) for one in found]))
        return _answer({"documents": told, "matching": matching, **service.pool.counts()})

    @app.get("/v1/stats", **route("reader", outcomes.Stats))
    async def stats(request: Request) -> Response:
        """Count the mistakes so far, and say whether they have become more."""
        service.check_ready()
        return _answer(await asyncio.to_thread(service.stats))

    @app.get("/v1/model", **route("reader", outcomes.Model))
    async def model(request: Request) -> Response:
        """Show settings and digest of the model, and who asks."""
        holder = _holder(request)
        about = await asyncio.wrap_future(service.write(service.about))
        return _answer(about | {"role": holder.role, "user": holder.name})


def _options(request: Request) -> dict[str, Any]:
    """Return the options that a query gives, which must be right though the body may have others."""
    if not request.scope["query_string"]:
        return {}
    known = {"true": True, "false": False}
    given: dict[str, Any] = {
        name: known.get(value, value)
        for name, value in request.query_params.items()
        if name in bodies.OptionsIn.model_fields
    }
    if str(given.get("top", "")).isdecimal() and len(given["top"]) < 10:
        given["top"] = int(given["top"])
    bodies.checked(bodies.OptionsIn, given)
    return given


def _texts_of(service: Service, given: bodies.CategorizeIn) -> tuple[list[Text], list[str]]:
    if given.document is not None:
        return [service.pool.get(given.document).text], [given.id or given.document]
    if given.documents is None:
        return [given.text or ""], [given.id or "1"]
    return _listed(given.documents)


def _listed(documents: Iterable[str | bodies.DocumentIn]) -> tuple[list[Text], list[str]]:
    pairs = [(one, None) if isinstance(one, str) else (one.text, one.id) for one in documents]
    return [text for text, _ in pairs], [id or str(i) for i, (_, id) in enumerate(pairs, 1)]


async def _categorized(
    service: Service, texts: list[Text], ids: list[str], given: bodies.OptionsIn
) -> list[dict[str, Any]]:
    top = len(service.view.categories) if given.all else given.top
    if (given.details or given.explain) and len(texts) > _MOST_DETAILED:
        raise Problem(
            422, f"details and explanations are given of {_MOST_DETAILED:,} documents at a time (stream them)"
        )

    def work() -> list[dict[str, Any]]:
        return service.categorize(texts, ids, top=top, details=given.details, explain=given.explain)

    return work() if is_short(texts) else await asyncio.to_thread(work)


def is_short(texts: list[Text]) -> bool:
    """Tell whether texts are so few and short that another thread would cost more than it spares."""
    return len(texts) == 1 and isinstance(texts[0], str) and len(texts[0]) <= _FEW_LETTERS


class Lines(StreamingResponse):
    """An answer that is made while the body of its request still comes, so that nothing else may listen for that."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what there is."""
        await self.stream_response(send)


async def _begun(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Wait for the first line: what is wrong with the first documents is then still a status."""
    try:
        first = await anext(lines)
    except StopAsyncIteration:
        raise Problem(422, "there are no documents") from None

    async def all_lines() -> AsyncIterator[bytes]:
        yield first
        async for line in lines:
            yield line

    return all_lines()


async def _lines_of_answers(service: Service, request: Request) -> AsyncIterator[bytes]:
    """Categorize documents as their lines come; what is wrong after the first answer ends them with a problem."""
    wanted = bodies.checked(bodies.OptionsIn, _options(request))
    count = 0
    try:
        async for documents in _line_batches(request):
            given = [_document(one) for one in documents]
            texts, ids = _listed(given)
            ids = [one.id or str(count + i) if isinstance(one, bodies.DocumentIn) else str(count + i)
                   for i, one in enumerate(given, 1)]  # fmt: skip
            found = await _categorized(service, texts, ids, wanted)
            count += len(found)
            yield b"".join(one + b"\n" for one in _written_many(found))
    except (Problem, ThresherError, MemoryError) as error:
        if count == 0:
            raise
        problem = error if isinstance(error, Problem) else as_problem(error)
        yield bytes(problem.response().body) + b"\n"
    except ClientDisconnect:
        if count == 0:
            raise


def _document(found: Any) -> str | bodies.DocumentIn:
    return found if isinstance(found, str) else bodies.checked(bodies.DocumentIn, found)


async def _line_batches(request: Request) -> AsyncIterator[list[Any]]:
    """Yield what the lines of a body say, as many at a time as have come, up to so many."""
    rest, number = b"", 0
    async for part in request.stream():
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > bodies.LONGEST_BODY:
            raise Problem(413, f"line {number + len(lines) + 1} is longer than {bodies.LONGEST_BODY:,} bytes")
        for first in range(0, len(lines), _LINES_AT_ONCE):
            few = lines[first : first + _LINES_AT_ONCE]
            found = [_line(line, number + i) for i, line in enumerate(few, 1) if line.strip()]
            number += len(few)
            if found:
                yield found
    if rest.strip():
        yield [_line(rest, number + 1)]


def _line(line: bytes, number: int) -> Any:
    if len(line) > bodies.LONGEST_BODY:
        raise Problem(413, f"line {number} is longer than {bodies.LONGEST_BODY:,} bytes")
    try:
        return bodies.parsed(line)
    except Problem as problem:
        raise Problem(problem.status, f"line {number}: {problem.detail}") from None


# -- teaching ----------------------------------------------------------------------------------------------------------


def _user(holder: Holder, claimed: str | None) -> str:
    """Return who corrects: the holder of the token or, of the one that all share, what is claimed."""
    return holder.name or claimed or ""


def _add_teaching(app: FastAPI, service: Service) -> None:
    created = {"201": content("Kept and learned", outcomes.Taught)}

    made = {"id": "$response.body#/id"}

    @app.post(
        "/v1/corrections",
        **route("teacher", outcomes.Taught, takes=bodies.CorrectionIn, leads={"undo": made}, responses=created),
    )
    async def correct(request: Request) -> Response:
        """Keep a correction, learn it, and say what it changed."""
        holder = _holder(request)
        given = await _body(request, bodies.CorrectionIn)
        work = service.write(lambda: service.correct(given, _user(holder, given.user)))
        found, repeated = await asyncio.shield(asyncio.wrap_future(work))
        return _answer(found, 200 if repeated else 201)

    others = {"corrections": {"after": "$response.body#/next"}, "undo": {"id": "$response.body#/corrections/0/id"}}

    @app.get("/v1/corrections", **route("reader", outcomes.Corrections, leads=others))
    async def corrections(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        after: Annotated[int | None, Query(ge=0, le=2**53)] = None,
        before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
        newest: bool = False,
    ) -> Response:
        """List what was corrected, by whom, and its effect."""
        work = service.write(lambda: service.corrections(limit, after, before, newest))
        return _answer(await asyncio.wrap_future(work))

    @app.delete("/v1/corrections/{id:path}", **route("teacher", outcomes.Undone))
    async def undo(request: Request, id: str, user: Annotated[str, Query(max_length=200)] = "") -> Response:
        """Take a correction back, as if it had never been."""
        holder = _holder(request)
        work = service.write(lambda: service.undo(id, holder, _user(holder, user)))
        return _answer(await asyncio.shield(asyncio.wrap_future(work)))

    sent = {"id": "$request.body#/documents/0/id"}

    @app.post(
        "/v1/documents",
        **route("teacher", outcomes.Added, takes=bodies.DocumentsIn, leads={"document": sent, "set_state": sent}),
    )
    async def add_documents(request: Request) -> Response:
        """Add documents to review."""
        added = known = 0
        async for pairs in _document_batches(request):
            work = service.write(lambda pairs=pairs: service.pool.add(pairs))  # type: ignore[misc]
            new, old = await asyncio.shield(asyncio.wrap_future(work))
            added, known = added + new, known + old
        return _answer({"added": added, "known": known})

    @app.get("/v1/documents/{id:path}", **route("reader", outcomes.Document))
    async def document(request: Request, id: str) -> Response:
        """Show a document to review."""
        service.check_ready()
        return _answer(service.pool.get(id)._asdict())

    @app.patch("/v1/documents/{id:path}", **route("teacher", outcomes.Document, takes=bodies.StateIn))
    async def set_state(request: Request, id: str) -> Response:
        """Say what has become of a document to review."""
        given = await _body(request, bodies.StateIn)
        work = service.write(lambda: service.pool.set_state(id, given.state))
        return _answer((await asyncio.shield(asyncio.wrap_future(work)))._asdict())


async def _document_batches(request: Request) -> AsyncIterator[list[tuple[str | None, Text]]]:
    if _is_lines(request):
        async for lines in _line_batches(request):
            yield _pairs(_document(one) for one in lines)
    else:
        yield _pairs((await _body(request, bodies.DocumentsIn)).documents)


def _pairs(documents: Iterable[str | bodies.DocumentIn]) -> list[tuple[str | None, Text]]:
    return [(None, one) if isinstance(one, str) else (one.id, one.text) for one in documents]


# -- keeping -----------------------------------------------------------------------------------------------------------


def _add_keeping(app: FastAPI, service: Service) -> None:
    def written(work: Callable[[], Any]) -> Any:
        return asyncio.shield(asyncio.wrap_future(service.write(work)))

    changed = {"category": {"name": "$response.body#/categories/0"}, "undo": {"id": "$response.body#/id"}}

    @app.post("/v1/categories", **route("admin", outcomes.Changed, takes=bodies.CategoryChangeIn, leads=changed))
    async def change_categories(request: Request) -> Response:
        """Add a category, give one another name or threshold, join some, or retire one."""
        holder = _holder(request)
        given = (await _body(request, bodies.CategoryChangeIn)).root
        id = given.id or uuid4().hex
        return _answer(await written(lambda: service.change_categories(id, given, _user(holder, given.user))))

    @app.post("/v1/model/reload", **route("admin", outcomes.Reloaded, takes=bodies.ReloadIn))
    async def reload(request: Request) -> Response:
        """Take up the model's file, if it holds another model now."""
        given = await _body(request, bodies.ReloadIn)
        return _answer(await written(lambda: service.reload(given.new_journal)))

    @app.post("/v1/backup", **route("admin", outcomes.BackedUp, takes=bodies.BackupIn))
    async def back_up(request: Request) -> Response:
        """Write a copy of the journal into a folder within its own."""
        await _body(request, bodies.BackupIn)
        return _answer(await written(service.backup))

    lines = {"200": {"description": "JSON lines", "content": {LINES: {}}}}

    @app.get("/v1/export", **route("admin", None, responses=lines))
    async def export(request: Request) -> Response:
        """Give all corrections that stand as documents to train on."""
        service.check_ready()
        return StreamingResponse(_exported(service), media_type=LINES)


async def _exported(service: Service) -> AsyncIterator[bytes]:
    after = 0
    while True:
        page = service.write(lambda after=after: list(service.desk.journal.oldest(after, _RECORDS_AT_ONCE)))  # type: ignore[misc]
        records = await asyncio.wrap_future(page)
        for record in records:
            if record.kind == "correction" and record.undone_by is None and record.text is not None:
                yield _written(exported(record, service.renames.renamed(record))) + b"\n"
        if len(records) < _RECORDS_AT_ONCE:
            return
        after = records[-1].seq
