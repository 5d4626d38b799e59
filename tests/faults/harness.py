"""The service, or a part of it, in a process of its own: started, asked by clients, killed. Fault tests use it."""

import http.client
import json
import os
import random
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from faults.ledger import Ledger, content_of
from faults.nursery import Nursery
from support.paths import TESTS
from support.polling import watched_process

TOKEN = "a-token-for-tests"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
LONGEST_WAIT = 120.0  # seconds; nothing takes as long, even on a machine with five times as many processes as cores


def tell(figure: str) -> None:
    """Print what a test reached, as a line that a soak gathers."""
    print(f"\nfigure: {figure}")


def new_seed() -> int:
    """Return THRESHER_SEED, or a new seed where it is not set, and print it: pytest shows it if the test fails."""
    seed = int(os.environ.get("THRESHER_SEED", random.SystemRandom().randrange(2**32)))
    print(f"THRESHER_SEED={seed}", flush=True)
    return seed


def new_draw() -> random.Random:
    """Return random numbers that THRESHER_SEED repeats."""
    return random.Random(new_seed())


def service_arguments(model: Path) -> list[str]:
    """Return the arguments that start the service of a model."""
    return ["serve", str(model), "--port", "0", "--token", TOKEN, "--json"]


def command_code(arguments: Sequence[str], patch: str = "") -> str:
    """Return Python code that is the command line, with something in it changed before."""
    return f"{patch}\nfrom thresher.cli import main\nmain({list(arguments)!r})"


def slow_commits(seconds: float, log: Path) -> str:
    """Return code that lets every COMMIT wait before it is made, and note in a file when which record was committed."""
    return f"""
import functools, os, sqlite3, time
class Slow(sqlite3.Connection):
    def execute(self, query, *values):
        if query != "COMMIT":
            return super().execute(query, *values)
        time.sleep({seconds})
        done = super().execute(query)
        (seq,) = super().execute("SELECT max(seq) FROM records").fetchone()
        os.write(log, f"{{seq}} {{time.monotonic()}}\\n".encode())
        return done
log = os.open({str(log)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
sqlite3.connect = functools.partial(sqlite3.connect, factory=Slow)
"""


class Running:
    """A process that was started, with what it prints."""

    def __init__(self, pid: int, out: int, err: Path, ended: Callable[[float], int | None]) -> None:
        self.pid, self.err, self._ended, self._out = pid, err, ended, out
        self.code: int | None = None

    def read(self, seconds: float = LONGEST_WAIT) -> str:
        """Return what it prints next; nothing if it has ended, or printed nothing for so many seconds."""
        if not select.select([self._out], [], [], max(seconds, 0))[0]:
            return ""
        return os.read(self._out, 2**16).decode()

    def rest(self) -> str:
        """Return all that it prints until it ends, however long it is silent meanwhile on a machine that is busy."""
        told = ""
        while select.select([self._out], [], [], 10 * LONGEST_WAIT)[0]:
            printed = os.read(self._out, 2**16).decode()
            if not printed:
                return told
            told += printed
        raise AssertionError(f"process {self.pid} neither prints nor ends; so far: {told[-500:]}")

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it is gone."""
        if self.code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self, seconds: float = LONGEST_WAIT) -> int:
        """Return its exit code."""
        if self.code is None:
            self.code = self._ended(seconds)
        assert self.code is not None, f"process {self.pid} did not end within {seconds} s"
        return self.code

    def kill(self) -> None:
        """Kill it, and see it dead."""
        self.send(signal.SIGKILL)
        self.wait()

    def said(self) -> str:
        """Return what it wrote to standard error."""
        return self.err.read_text()

    def close(self) -> None:
        """Kill it if it still lives, and let go of what it prints."""
        self.kill()
        os.close(self._out)


@contextmanager
def forked(nursery: Nursery, folder: Path, code: str, *, traced: bool = False) -> Iterator[Running]:
    """Run code in a process that the nursery forks."""
    out, theirs = os.pipe()
    path = folder / f"err-{time.monotonic_ns()}"
    with path.open("wb") as err:
        pid = nursery.fork(code, theirs, err.fileno(), traced=traced)
    os.close(theirs)
    running = Running(pid, out, path, lambda seconds: nursery.wait(pid, seconds))
    try:
        yield running
    finally:
        running.close()


@contextmanager
def started(folder: Path, command: Sequence[str]) -> Iterator[Running]:
    """Run a command in a process that is started as a user starts it."""
    out, theirs = os.pipe()
    path = folder / f"err-{time.monotonic_ns()}"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    with path.open("wb") as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=err, env=environment)
    os.close(theirs)

    def ended(seconds: float) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(seconds)
        return None

    running = Running(process.pid, out, path, ended)
    try:
        yield running
    finally:
        running.close()


def python(code: str) -> list[str]:
    """Return the command that runs some code."""
    return [sys.executable, "-c", code]


class Answer(NamedTuple):
    """What the service answered."""

    status: int
    body: dict[str, Any]
    position: int


class Service:
    """A service that has said that it is ready."""

    def __init__(self, running: Running) -> None:
        line = running.read()
        assert line.endswith("\n"), f"{line!r}; {running.said()}"
        about = json.loads(line)
        self.running, self.pid, self.position = running, int(about["pid"]), int(about["position"])
        self.port = int(about["url"].rpartition(":")[2])

    def kill(self) -> None:
        """Kill it at once, whatever it was started by."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.running.wait()

    def is_alive(self) -> bool:
        """Return whether it has not ended."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"

    def watched(self) -> AbstractContextManager[None]:
        """Poll it for a while, and let the test fail if it is slow."""
        return watched_process(self.port, self.pid)

    def stop(self) -> int:
        """Ask it to end, and return its exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self.running.wait()


@contextmanager
def forked_service(nursery: Nursery, model: Path, patch: str = "", *, polled: bool | None = None) -> Iterator[Service]:
    """Run the service of a model in a process that the nursery forks; killed at the end if it still lives.

    Meanwhile it is `polled`, and the test fails if /healthz is slow; by default not one with a patch, which may be
    about connections, or make it slow.
    """
    with forked(nursery, model.parent, command_code(service_arguments(model), patch)) as running:
        service = Service(running)
        with service.watched() if polled or (polled is None and not patch) else nullcontext():
            yield service


@contextmanager
def started_service(model: Path, *, polled: bool = True) -> Iterator[Service]:
    """Run the service of a model as a user starts it, and poll it; killed at the end if it still lives."""
    with started(model.parent, [sys.executable, "-m", "thresher", *service_arguments(model)]) as running:
        service = Service(running)
        with service.watched() if polled else nullcontext():
            yield service


class Client:
    """A client that keeps its connection; a ledger records what it sends and the answers."""

    def __init__(self, service: Service, name: str, ledger: Ledger) -> None:
        self.name, self.ledger = name, ledger
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=LONGEST_WAIT)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Answer:
        """Send a request and return the answer; OSError or HTTPException where the connection ends."""
        self.connection.request(method, path, None if body is None else json.dumps(body).encode(), HEADERS)
        response = self.connection.getresponse()
        found = response.read()
        return Answer(response.status, json.loads(found or b"{}"), int(response.headers.get("Thresher-Position", 0)))

    def correct(self, id: str) -> Answer:
        """Send the correction that goes by an id."""
        self.ledger.attempt(self.name, id)
        answer = self.ask("POST", "/v1/corrections", {"id": id, **content_of(id)})
        if answer.status in (200, 201):
            assert answer.body["id"] == id
            assert answer.body["repeated"] is (answer.status == 200)
            self.ledger.ack(id, answer.body["seq"])
        elif answer.status == 507:
            self.ledger.refuse(self.name, id)
        return answer

    def close(self) -> None:
        """Leave."""
        self.connection.close()


@contextmanager
def client_of(service: Service, name: str = "one", ledger: Ledger | None = None) -> Iterator[Client]:
    """Have a client of a service for a while."""
    client = Client(service, name, ledger or Ledger())
    try:
        yield client
    finally:
        client.close()


def correct_until_it_ends(service: Service, name: str, ledger: Ledger, round: int) -> list[Answer]:
    """Correct until the connection ends, and return the refusals; what had no answer before is sent again first.

    What one was told is seen at once: now and then it is checked that an answer about a text is of a model no older.
    """
    again, refused = ledger.unanswered().get(name), []
    with client_of(service, name, ledger) as client, suppress(OSError, http.client.HTTPException):
        for number in range(2**31):
            id = again or f"{name}.{round}.{number}"
            again = None
            answer = client.correct(id)
            if answer.status >= 300:
                refused.append(answer)
            elif number % 10 == 0:
                seen = client.ask("POST", "/v1/categorize", {"text": "crude oil"})
                assert seen.status == 503 or seen.position >= answer.body["seq"], (seen, answer)
    return refused


@contextmanager
def clients_at_work(
    service: Service, ledger: Ledger, clients: int, round: int = 0
) -> Iterator[list[Future[list[Answer]]]]:
    """Let clients correct while the block lasts, which must end the service; what they assert fails the test."""
    with ThreadPoolExecutor(clients) as pool:
        working = [
            pool.submit(correct_until_it_ends, service, f"c{number}", ledger, round) for number in range(clients)
        ]
        try:
            yield working
        except BaseException:
            service.kill()
            raise
        for one in working:
            one.result()


def limit(pid: int, megabytes: float | None) -> int:
    """Let a process take only this much more memory, or as much as it likes; return how much it may have in all."""
    size = resource.RLIM_INFINITY
    if megabytes is not None:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
        size = pages * resource.getpagesize() + int(megabytes * 2**20)
    resource.prlimit(pid, resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
    return size
