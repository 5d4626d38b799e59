"""Runs the service until it is asked to end: one process, one worker, h11 with limits on what it waits for."""

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from thresher.journal import ADDRESS
from thresher.web.app import create_app
from thresher.web.guards import DEADLINE, LARGEST_HEAD, Rules
from thresher.web.service import Service
from thresher.whole_file import whole_file

_GRACE = 5  # seconds for requests to end
_PATIENCE = 2.0  # seconds more for what is being written
_ROOM = 2**22  # bytes: making the routes takes half of it
_LONGEST_END = 9.0  # seconds for all of it, the model file too: whoever asked kills the process a second later


class PromptProtocol(H11Protocol):
    """HTTP/1.1 that does not wait for ever for the head of a request, however often a byte of it comes."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin a connection, whose first request must come soon, and which ends if answers are not taken."""
        super().connection_made(transport)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
            connection = transport.get_extra_info("socket")
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * DEADLINE))
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came; a request that is under way has no deadline here."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._deadline is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(DEADLINE, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


class Server(uvicorn.Server):
    """uvicorn's server, ended by the signals that end other verbs; a second signal hurries it, and loses nothing.

    Parameters
    ----------
    config : uvicorn.Config
        What to serve, and how.
    listens : callable
        Called once requests are taken, and signals end it as they should.
    """

    def __init__(self, config: uvicorn.Config, listens: Callable[[], None]) -> None:
        super().__init__(config)
        self._listens = listens
        self.has_ended = False
        self.ending_since: float | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal comes; asyncio ends the threads with one more, for which there may be no memory."""
        try:
            super().run(sockets)
        except RuntimeError:  # can't start new thread
            if not self.has_ended:
                raise

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take requests."""
        await super().startup(sockets)
        if self.started:
            self._listens()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what is open; uvicorn would let connections of the last moment ask for as long as it waits."""
        self.ending_since = time.monotonic()
        closing = asyncio.create_task(self._close_connections())
        try:
            await super().shutdown(sockets)
            self.has_ended = True
        finally:
            closing.cancel()

    async def _close_connections(self) -> None:
        while True:
            await asyncio.sleep(0.05)
            for connection in list(self.server_state.connections):
                if not connection.transport.is_closing():
                    connection.shutdown()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let signals end the server while it runs."""

        def end(number: int, frame: FrameType | None) -> None:
            self.force_exit = self.should_exit
            self.should_exit = True

        wanted = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
        before = {number: signal.signal(number, end) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens for the service; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends at once only on sockets that say they are TCP: else small answers wait 40 ms for the client's word
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, TypeError) as error:  # the latter of a name that cannot even be asked for
        listening.close()
        number, said = getattr(error, "errno", None), getattr(error, "strerror", error)
        raise OSError(number, f"{host}:{port}: {said} (choose another with --host and --port)") from None
    return listening


def serve(
    make_service: Callable[[Callable[[BaseException], None]], Service],
    rules: Rules,
    listening: socket.socket,
    ready: Callable[[Service], None],
) -> None:
    """Answer until a signal comes or the disk fails, which is raised; all that was acknowledged is kept by then."""
    sys.setswitchinterval(0.001)  # those who look must not wait long for the one who writes
    failures: list[BaseException] = []
    running: list[Server] = []

    def ended(error: BaseException) -> None:
        failures.append(error)
        for one in running:
            one.should_exit = True

    service = make_service(ended)
    config = _new_config(service, rules)
    service.begin()  # only now: it may leave no memory for the routes

    def opened(done: "Future[None]") -> None:
        if done.exception() is not None:
            return
        gc.collect()
        gc.freeze()  # or else looking through all that was imported halts every request for 40 ms now and then
        try:
            ready(service)
        except BaseException as error:  # nobody would know where it is, nor its token
            ended(error)

    # Only who can be reached is ready, and so nobody is told before.
    running.append(Server(config, lambda: service.opening.add_done_callback(opened)))
    try:
        if not failures:
            running[0].run(sockets=[listening])
    finally:
        listening.close()
        try:
            since = running[0].ending_since or time.monotonic()
            service.close(_PATIENCE, max(_LONGEST_END - _PATIENCE - (time.monotonic() - since), 0))
        finally:
            if failures:  # the reason, even if a signal or a lack of memory comes while it ends
                raise failures[0]


def _new_config(service: Service, rules: Rules) -> uvicorn.Config:
    np.empty(_ROOM, dtype=np.uint8)  # where pydantic finds no memory it ends the process without a word
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    return uvicorn.Config(
        create_app(service, rules), http=PromptProtocol, loop="asyncio", ws="none", lifespan="off", access_log=False,
        log_level="error", server_header=False, limit_concurrency=500, timeout_keep_alive=5,
        timeout_graceful_shutdown=_GRACE, h11_max_incomplete_event_size=LARGEST_HEAD, proxy_headers=False,
    )  # fmt: skip


def has_work_left() -> bool:
    """Tell whether threads still work, for clients that have left: they cannot be ended but with the process."""
    return threading.active_count() > 1


def _is_news(record: logging.LogRecord) -> bool:
    """Leave out that requests were cut off: whoever hurries the end has asked for it."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def announce(folder: Path, url: str, token: str | None) -> Path:
    """Write where the service answers, for this user alone, and return the file."""
    path = folder / ADDRESS
    path.unlink(missing_ok=True)  # it may be a link, or have been open to others
    with whole_file(path, mode=0o600) as file:
        file.write(json.dumps({"url": url, "token": token, "pid": os.getpid()}).encode())
    return path
