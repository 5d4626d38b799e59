"""Checks of every request before a route sees it: host, size, time, token, origin, content type. Plain ASGI."""

import asyncio
import time
from collections.abc import Iterable
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thresher.web.access_tokens import Holder, Tokens
from thresher.web.errors import Problem, as_problem, busy
from thresher.web.prometheus_metrics import RequestMetrics
from thresher.web.request_models import MAX_BODY_BYTES

DEADLINE = 15.0  # seconds for a whole body, or for the next part of a stream
MAX_STREAM_BYTES = 2**31  # bytes
MAX_HEAD_BYTES, MAX_HEADERS = 32_768, 100  # bytes, and number of headers
OPEN = frozenset({"/", "/healthz", "/readyz"})
ASSETS = "/assets/"
JSON, LINES = "application/json", "application/x-ndjson"
WRITING = frozenset({"POST", "PUT", "PATCH"})  # methods with a body
_ONCE = (b"authorization", b"content-encoding", b"content-length", b"content-type", b"origin", b"sec-fetch-site")
HEADERS = [
    (b"content-security-policy", b"default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
     b"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
]  # fmt: skip


class Rules(NamedTuple):
    """The access rules of a service.

    Parameters
    ----------
    hosts : set of str
        The hosts that a request may name, with their ports.
    tokens : Tokens or None
        The tokens. None allows everyone to do everything.
    origins : set of str
        Other origins whose pages may send requests.
    rate : float
        Requests per second and token; 0 for no limit.
    """

    hosts: frozenset[str]
    tokens: Tokens | None
    origins: frozenset[str] = frozenset()
    rate: float = 0.0


class Guard:
    """An ASGI middleware that checks each request."""

    def __init__(self, app: ASGIApp, rules: Rules, metrics: RequestMetrics) -> None:
        self.app, self.rules, self.metrics = app, rules, metrics
        self._allowances: dict[Holder, tuple[float, float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        start, status, begun = time.perf_counter(), 500, False
        headers = dict(scope["headers"])
        cors_headers = self._cors_headers(headers)

        async def answer(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message["headers"] = [*message.get("headers", ()), *HEADERS, *cors_headers]
            await send(message)

        try:
            self._check(scope, headers)
            if scope["method"] == "OPTIONS" and cors_headers:
                await answer({"type": "http.response.start", "status": 204})
                await answer({"type": "http.response.body"})
            else:
                await self.app(scope, _limit_body(receive, headers), answer)
        except Problem as problem:
            await problem.response()(scope, receive, answer)
        except MemoryError as error:  # the body did not fit
            if begun:
                raise
            await as_problem(error).response()(scope, receive, answer)
        except asyncio.CancelledError:  # forced shutdown: on a retry, the client learns whether it was saved
            if begun:
                raise
            await busy("the service is ending").response()(scope, receive, answer)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.count_response(route, status, time.perf_counter() - start)

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        if sum(name == b"host" for name, _ in scope["headers"]) != 1 or _host(headers) not in self.rules.hosts:
            raise Problem(421, "this service does not answer for that host")
        _check_head(scope["headers"])
        _check_length(headers)
        origin = headers.get(b"origin", b"").decode("latin-1")
        known = origin in self.rules.origins
        if scope["method"] == "OPTIONS" and known:
            return
        scope.setdefault("state", {})["holder"] = self._holder(scope["path"], headers)
        if origin and not known and origin not in (f"http://{_host(headers)}", f"https://{_host(headers)}"):
            raise Problem(403, "a page of another origin may not ask")
        site = headers.get(b"sec-fetch-site", b"same-origin")
        opens_page = scope["path"] == "/" and scope["method"] == "GET"
        if site not in (b"same-origin", b"none") and not known and not opens_page:
            raise Problem(403, "a page of another origin may not ask")

    def _holder(self, path: str, headers: dict[bytes, bytes]) -> Holder:
        if self.rules.tokens is None:
            return Holder("", "admin")
        kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        holder = self.rules.tokens.holder(token.strip()) if kind.lower() == "bearer" else None
        if holder is not None:
            self._check_rate(holder)
            return holder
        if path in OPEN or path.startswith(ASSETS):
            return Holder("", "reader")
        raise Problem(401, "a token is needed: Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"})

    def _check_rate(self, holder: Holder) -> None:
        """Allow a burst of one second's requests, then no more than the rate."""
        if self.rules.rate <= 0:
            return
        now, most = time.monotonic(), max(self.rules.rate, 1.0)
        left, last = self._allowances.get(holder, (most, now))
        left = min(left + (now - last) * self.rules.rate, most)
        if left < 1:
            raise Problem(429, "too many requests", {"Retry-After": "1"})
        self._allowances[holder] = left - 1, now

    def _cors_headers(self, headers: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        origin = headers.get(b"origin", b"")
        if origin.decode("latin-1") not in self.rules.origins:
            return []
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-headers", b"authorization, content-type"),
            (b"access-control-allow-methods", b"GET, POST, PATCH, DELETE"),
            (b"vary", b"origin"),
        ]


def _host(headers: dict[bytes, bytes]) -> str:
    return headers.get(b"host", b"").decode("latin-1").lower()


def _check_head(headers: list[tuple[bytes, bytes]]) -> None:
    """Refuse headers that are too many, too large or repeated.

    Some programs would read the first of two equal headers, and some the last.
    """
    if len(headers) > MAX_HEADERS or sum(len(name) + len(value) for name, value in headers) > MAX_HEAD_BYTES:
        raise Problem(431, f"a request may have {MAX_HEADERS} headers, and {MAX_HEAD_BYTES:,} bytes of them")
    names = [name for name, _ in headers]
    if len(set(names)) < len(names) and any(names.count(name) > 1 for name in _ONCE):
        raise Problem(400, "a header occurs twice")


def is_lines(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a body is JSON lines."""
    return dict(headers).get(b"content-type", b"").split(b";")[0].strip().lower() == LINES.encode()


def _check_length(headers: dict[bytes, bytes]) -> None:
    length = headers.get(b"content-length", b"0")
    most = MAX_STREAM_BYTES if is_lines(headers.items()) else MAX_BODY_BYTES
    if not length.isdigit() or int(length[:20]) > most:
        raise Problem(413, f"a body may have {most:,} bytes")
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Problem(415, "a body must be sent as it is, not compressed")


def check_kind(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse other content types, which pages of other origins could send without a preflight, and other encodings."""
    kind, _, more = dict(headers).get(b"content-type", b"").decode("latin-1").lower().partition(";")
    charset = more.partition("charset=")[2].strip(' "') or "utf-8"
    if kind.strip() not in (JSON, LINES) or charset not in ("utf-8", "utf8"):
        raise Problem(415, f"a body must be {JSON}, in UTF-8")


def _limit_body(receive: Receive, headers: dict[bytes, bytes]) -> Receive:
    """Return a `receive` that limits the size of a body and the time for it."""
    stream = is_lines(headers.items())
    most, seen, end = MAX_STREAM_BYTES if stream else MAX_BODY_BYTES, 0, time.monotonic() + DEADLINE
    whole = False

    async def next_part() -> Message:
        nonlocal seen, whole
        if whole:  # only the client's disconnect can follow, at any time
            return await receive()
        left = DEADLINE if stream else end - time.monotonic()
        try:
            async with asyncio.timeout(max(left, 0)):
                message = await receive()
        except TimeoutError:
            raise Problem(408, "the body took too long to come", {"Connection": "close"}) from None
        seen += len(message.get("body", b""))
        if seen > most:
            raise Problem(413, f"a body may have {most:,} bytes", {"Connection": "close"})
        whole = not message.get("more_body", False)
        return message

    return next_part


def hosts_of(host: str, port: int, others: Iterable[str] = ()) -> frozenset[str]:
    """Return the hosts that a request may name: this machine's own names, the bound host, and `others`.

    >>> sorted(hosts_of("127.0.0.1", 8765))
    ['127.0.0.1:8765', '[::1]:8765', 'localhost:8765']
    """
    bound = f"[{host}]" if ":" in host else host
    names = {"localhost", "127.0.0.1", "[::1]"} | ({bound} if host not in ("0.0.0.0", "::") else set())
    plain = {name.lower() for name in names} if port == 80 else set()  # browsers omit that port
    return frozenset({f"{name}:{port}".lower() for name in names} | plain | {other.lower() for other in others})
