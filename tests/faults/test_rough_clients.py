"""Clients that send too much, too slowly or too often: a service in a process of its own bears them all."""

import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event

import pytest

from faults.harness import TOKEN, Client, Service, client_of, forked_service, slow_commits
from faults.nursery import Nursery
from support.tiers import number_of

HEAD = "Host: 127.0.0.1:{port}\r\nAuthorization: Bearer " + TOKEN + "\r\nContent-Type: application/json\r\n"
BIG = b'{"text": "' + b"a" * 2_000_000 + b'"}'
MOST_MORE = 8_000  # kB
DEADLINE = number_of("THRESHER_DEADLINE", 2)  # seconds; the service's own is 15
IMPATIENT = f"from thresher.web import guards, server\nguards.DEADLINE = server.DEADLINE = {DEADLINE}"
SLOW, DEAF, TEACHERS = 300, 50, 8


def request(service: Service, method: str, path: str, *headers: str) -> bytes:
    """Return the head of a request."""
    lines = [f"{method} {path} HTTP/1.1", HEAD.format(port=service.port) + "\r\n".join(headers)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def highest(values: list[float], part: float = 0.99) -> float:
    """Return what so large a part of the values is not above."""
    return sorted(values)[int(len(values) * part) - 1]


def seconds_of(client: Client, method: str, path: str, body: dict[str, str] | None = None) -> float:
    """Return how long a client waits for an answer."""
    start = time.perf_counter()
    assert client.ask(method, path, body).status == 200
    return time.perf_counter() - start


# -- S5: too much ------------------------------------------------------------------------------------------------------


def test_large_bodies_take_no_memory(nursery: Nursery, model: Path) -> None:
    with forked_service(nursery, model) as service:
        for warm_up in (True, False):
            before = peak_memory(service)
            for _ in range(3 if warm_up else 20):
                assert refused(service, [f"Content-Length: {len(BIG)}"], BIG) == 413
                assert refused(service, ["Transfer-Encoding: chunked"], chunked(BIG)) == 413
                assert refused(service, ["Content-Length: 10"], BIG) == 400
        assert peak_memory(service) - before < MOST_MORE


def test_bodies_full_of_faults_take_no_memory(nursery: Nursery, model: Path) -> None:
    """Only the first fault of each is reported; all of them would take a thousand times the room of the body."""
    many = {"numbers": b"1", "objects": b"{}", "other names": b'{"a":1}'}
    bodies = [b'{"documents": [' + b",".join([one] * 99_999) + b"]}" for one in many.values()]
    fields = b",".join(b'"k%d":1' % number for number in range(90_000))
    bodies += [b"{%b}" % fields, b'{"id": "x", "text": {%b}, "accept": ["grain"]}' % fields]
    bodies += [b'{"id": "x", "text": "x", "accept": [' + b",".join([b"1"] * 490_000) + b"]}"]
    with forked_service(nursery, model) as service:
        assert refused(service, ["Content-Length: 1"], b"x") == 400
        before = peak_memory(service)
        for body in bodies:
            start = time.perf_counter()
            assert refused(service, [f"Content-Length: {len(body)}"], body) == 422
            assert time.perf_counter() - start < 1
        assert peak_memory(service) - before < 10 * MOST_MORE  # each thread may keep what one took


def peak_memory(service: Service) -> int:
    """Return the most memory that a service has had, in kB."""
    status = Path(f"/proc/{service.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def chunked(body: bytes) -> bytes:
    parts = (body[i : i + 65536] for i in range(0, len(body), 65536))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def refused(service: Service, headers: list[str], body: bytes) -> int:
    """Send a body, as far as it is taken, and return the status."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        connection.sendall(request(service, "POST", "/v1/categorize", *headers))
        with suppress(ConnectionError):
            connection.sendall(body)
        return int(connection.recv(2**16).split()[1])


# -- S6: too slowly ----------------------------------------------------------------------------------------------------


def test_hundreds_of_slow_clients_are_disconnected_and_delay_nobody(nursery: Nursery, model: Path) -> None:
    """Half send the head of a request byte by byte, half its body; fifteen bytes come within the deadline."""
    with forked_service(nursery, model, IMPATIENT) as service, client_of(service) as client:
        head, body = b"GET /v1/mo", request(service, "POST", "/v1/corrections", "Content-Length: 500")
        start, waits, ended = time.monotonic(), list[float](), list[float]()
        slow = {socket.create_connection(("127.0.0.1", service.port), timeout=20) for _ in range(SLOW)}
        for number, one in enumerate(slow):
            one.sendall(head if number % 2 else body)
            one.setblocking(False)
        while slow and time.monotonic() - start < 2 * DEADLINE + 10:
            beat = time.monotonic() + DEADLINE / 15
            for one in [one for one in slow if has_ended(one)]:
                ended.append(time.monotonic() - start)
                slow.remove(one)
                one.close()
            while time.monotonic() < beat:
                waits.append(seconds_of(client, "POST", "/v1/categorize", {"text": "crude oil"}))
                time.sleep(0.01)
        for one in slow:
            one.close()
        print(f"{SLOW} slow clients: left after {max(ended):.1f} s; others waited {1000 * highest(waits):.0f} ms (p99)")
    assert len(ended) == SLOW
    assert min(ended) >= 0.9 * DEADLINE
    assert max(ended) < DEADLINE + 3
    assert highest(waits) < 1


def has_ended(one: socket.socket) -> bool:
    """Send one more byte; return whether the service has closed the connection, or said that it will."""
    try:
        one.send(b"x")
        return one.recv(4096) is not None
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux ends such connections")
def test_clients_that_read_no_answers_are_disconnected(nursery: Nursery, model: Path) -> None:
    """Each asks for more than all buffers on the way can hold, and never reads."""
    with forked_service(nursery, model, IMPATIENT) as service, ExitStack() as stack:
        before, asked = open_sockets(service), 150 * request(service, "GET", "/openapi.json", "Accept: */*")
        for _ in range(DEAF):
            deaf = stack.enter_context(socket.socket())
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            deaf.connect(("127.0.0.1", service.port))
            deaf.setblocking(False)
            with suppress(BlockingIOError):
                deaf.send(asked)
        start = time.monotonic()
        until(lambda: open_sockets(service) > before, 20)
        until(lambda: open_sockets(service) == before, 10 * DEADLINE + 20)
        print(f"{DEAF} deaf clients: left after {time.monotonic() - start:.1f} s")
        with client_of(service) as client:
            assert client.ask("GET", "/healthz").status == 200


def open_sockets(service: Service) -> int:
    """Return how many sockets a service has open."""
    found = 0
    for descriptor in Path(f"/proc/{service.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found += str(descriptor.readlink()).startswith("socket:")
    return found


def until(is_so: Callable[[], bool], seconds: float) -> None:
    """Wait for something to be so."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


# -- S7: too often -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_learning_on_a_slow_disk_delays_nobody(nursery: Nursery, model: Path, tmp_path: Path) -> None:
    """Each commit takes half a second longer: a client that waited for one would exceed the limit."""
    for round, pause in enumerate((0.0, 0.5)):
        with forked_service(nursery, model, slow_commits(pause, tmp_path / "commits")) as service:
            waits = while_taught(service, round)
        print(f"{TEACHERS} learners, {pause} s a commit: healthz in {1000 * highest(waits):.0f} ms (p99)")
        assert highest(waits, 0.5) < 0.05
        assert highest(waits) < 0.4


def while_taught(service: Service, round: int) -> list[float]:
    """Return how long others wait while learners send one correction after the other."""
    ending = Event()

    def teach(name: str) -> int:
        with client_of(service, name) as client:
            taught = 0
            while not ending.is_set():
                taught += client.correct(f"{name}.{round}.{taught}").status == 201
            return taught

    with ThreadPoolExecutor(TEACHERS) as pool, client_of(service) as client:
        teachers = [pool.submit(teach, f"t{number}") for number in range(TEACHERS)]
        waits = []
        for _ in range(150):
            waits.append(seconds_of(client, "GET", "/healthz"))
            if waits[-1] > 3:
                break
            time.sleep(0.01)
        ending.set()
        assert all(teacher.result() for teacher in teachers)
    return waits
