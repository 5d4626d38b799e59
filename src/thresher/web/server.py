"""Run the service until it is asked to stop: one process, one worker, h11 with time limits."""

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

from thresher.journal.database import ADDRESS
from thresher.support.atomic_file import whole_file
from thresher.web.app import create_app
from thresher.web.guards import DEADLINE, MAX_HEAD_BYTES, Rules
from thresher.web.service import Service

_GRACE = 5  # seconds for requests to finish
_PATIENCE = 2.0  # more seconds for the call that is being written
_ROOM = 2**22  # bytes: creating the routes takes half of it
_MAX_END = 9.0  # seconds in total, including the model file: supervisors kill the process a second later


class PromptProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for the head of a request, however slowly its bytes arrive."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start a connection; its first request must arrive soon, and it ends if the client does not read answers."""
        super().connection_made(transport)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
            connection = transport.get_extra_info("socket")
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * DEADLINE))
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Process received data; a request in progress has no deadline here."""
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
    """uvicorn's server, with the same shutdown signals as other verbs; a second signal forces it, without data loss.

    Parameters
    ----------
    config : uvicorn.Config
        What to serve, and how.
    listens : callable
        Called once the server accepts requests and handles signals.
    """

    def __init__(self, config: uvicorn.Config, listens: Callable[[], None]) -> None:
        super().__init__(config)
        self._listens = listens
        self.has_ended = False
        self.ending_since: float | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal arrives.

        asyncio starts one more thread to end its threads, and there may be no memory for it.
        """
        try:
            super().run(sockets)
        except RuntimeError:  # can't start new thread
            if not self.has_ended:
                raise

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start accepting requests."""
        await super().startup(sockets)
        if self.started:
            self._listens()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all connections; uvicorn would let late connections send requests as long as it waits."""
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
        """Let signals stop the server while it runs."""

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


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket for the service; port 0 picks a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets declared as TCP. Otherwise small answers wait 40 ms for an ACK.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, TypeError) as error:  # TypeError: a host name that cannot be looked up
        listening.close()
        number, said = getattr(error, "errno", None), getattr(error, "strerror", error)
        raise OSError(number, f"{host}:{port}: {said} (choose another with --host and --port)") from None
    return listening


def serve(
    service: Service,
    rules: Rules,
    listening: socket.socket,
    ready: Callable[[Service], None],
) -> None:
    """Serve until a signal arrives or the disk fails; raise the failure.

    Everything acknowledged is saved by then.
    """
    sys.setswitchinterval(0.001)  # readers must not wait long for the writing thread
    failures: list[BaseException] = []
    running: list[Server] = []

    def stop(error: BaseException) -> None:
        failures.append(error)
        for one in running:
            one.should_exit = True

    service.on_failure = stop
    config = _new_config(service, rules)
    service.begin()  # only now: it may leave no memory for the routes

    def announce_ready(done: "Future[None]") -> None:
        if done.exception() is not None:
            return
        gc.collect()
        gc.freeze()  # otherwise collecting all imported objects halts every request for 40 ms from time to time
        try:
            ready(service)
        except BaseException as error:  # the address and token would be unknown to the user
            stop(error)

    # The service is ready only when it can be reached, so `ready` is not called before.
    running.append(Server(config, lambda: service.opening.add_done_callback(announce_ready)))
    try:
        if not failures:
            running[0].run(sockets=[listening])
    finally:
        listening.close()
        try:
            since = running[0].ending_since or time.monotonic()
            service.close(_PATIENCE, max(_MAX_END - _PATIENCE - (time.monotonic() - since), 0))
        finally:
            if failures:  # the reason, even if a signal or a lack of memory occurs during shutdown
                raise failures[0]


def _new_config(service: Service, rules: Rules) -> uvicorn.Config:
    np.empty(_ROOM, dtype=np.uint8)  # if pydantic runs out of memory, it ends the process without a message
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    return uvicorn.Config(
        create_app(service, rules), http=PromptProtocol, loop="asyncio", ws="none", lifespan="off", access_log=False,
        log_level="error", server_header=False, limit_concurrency=500, timeout_keep_alive=5,
        timeout_graceful_shutdown=_GRACE, h11_max_incomplete_event_size=MAX_HEAD_BYTES, proxy_headers=False,
    )  # fmt: skip


def has_work_left() -> bool:
    """Return whether threads still work for clients that have left; only the process's end stops them."""
    return threading.active_count() > 1


def _is_news(record: logging.LogRecord) -> bool:
    """Drop log records on cancelled requests: forcing the shutdown implies them."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def announce(folder: Path, url: str, token: str | None) -> Path:
    """Write the address of the service to a file readable by this user only, and return its path."""
    path = folder / ADDRESS
    path.unlink(missing_ok=True)  # it may be a link, or readable by others
    with whole_file(path, mode=0o600) as file:
        file.write(json.dumps({"url": url, "token": token, "pid": os.getpid()}).encode())
    return path
