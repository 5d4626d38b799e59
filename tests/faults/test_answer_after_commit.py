"""No answer leaves before its commit has ended, whoever else waits or has left (P6).

Each COMMIT of the service waits THRESHER_PAUSE milliseconds first, and sixteen clients wait for one thread. Both
processes read the same clock. Some clients leave as soon as they have sent theirs.
"""

import json
import select
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from faults.harness import HEADERS, Client, Service, client_of, forked_service, slow_commits
from faults.ledger import Ledger, check_ledger, content_of
from faults.nursery import Nursery
from support.tiers import number_of

ROUNDS, CLIENTS, PAUSE = number_of("THRESHER_ROUNDS", 10, quick=2), 16, number_of("THRESHER_PAUSE", 100) / 1000


def first_byte(client: Client, id: str) -> tuple[int, float]:
    """Correct, and return the seq and when the first byte of the answer came."""
    client.ledger.attempt(client.name, id)
    client.connection.request("POST", "/v1/corrections", json.dumps({"id": id, **content_of(id)}), HEADERS)
    select.select([client.connection.sock], [], [])
    came = time.monotonic()
    response = client.connection.getresponse()
    answer = json.loads(response.read())
    assert response.status == 201, answer
    client.ledger.ack(id, answer["seq"])
    return answer["seq"], came


def send_and_leave(service: Service, ledger: Ledger, id: str) -> None:
    """Send a correction, and do not wait for the answer."""
    ledger.attempt(id, id)  # each is a client of its own: nothing says in which order they come
    body = json.dumps({"id": id, **content_of(id)}).encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    head = (
        f"POST /v1/corrections HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n{head}Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(head.encode() + body)
        time.sleep(max(PAUSE / 2, 0.1))


def test_no_answer_comes_before_its_commit(nursery: Nursery, model: Path) -> None:
    ledger, log = Ledger(), model.with_name("commits")
    with forked_service(nursery, model, slow_commits(PAUSE, log)) as service, ThreadPoolExecutor(CLIENTS) as pool:
        came = dict[int, float]()
        for round in range(ROUNDS):
            clients = [Client(service, f"c{number}", ledger) for number in range(CLIENTS - 4)]
            leaving = [pool.submit(send_and_leave, service, ledger, f"left{number}.{round}") for number in range(4)]
            answered = [pool.submit(first_byte, client, f"{client.name}.{round}") for client in clients]
            came |= dict(one.result() for one in answered)
            for one in leaving:
                one.result()
            for client in clients:
                client.close()
        with client_of(service, "late", ledger) as client:
            statuses = [client.correct(id).status for id in list(ledger.attempted) if id.startswith("left")]
            assert set(statuses) <= {200, 201}
        service.kill()
    committed = dict(line.split() for line in log.read_text().splitlines())
    assert len(came) == ROUNDS * (CLIENTS - 4)
    early = {seq: moment for seq, moment in came.items() if moment < float(committed[str(seq)])}
    assert not early
    ledger.attempted.pop("late")
    check_ledger(model, ledger, only_acked=True)


def test_clients_that_disconnect_do_not_stop_others(nursery: Nursery, model: Path) -> None:
    ledger = Ledger()
    with forked_service(nursery, model, slow_commits(PAUSE / 10, model.with_name("commits"))) as service:
        with ThreadPoolExecutor(CLIENTS) as pool:
            working = [pool.submit(send_and_leave, service, ledger, f"left.{number}") for number in range(CLIENTS)]
            for path in ("export", "corrections", "model", "categories", "queue") * 2:
                with client_of(service) as client:
                    client.connection.request("GET", f"/v1/{path}", None, HEADERS)
                    time.sleep(0.002)
            for one in working:
                one.result()
        with client_of(service, "last", ledger) as client:
            assert client.correct("last.1").status == 201
            assert client.ask("GET", "/v1/model").body["position"] == len(client.ledger.attempted)
        assert service.stop() == 0, service.running.said()
    assert len(check_ledger(model, ledger)) == CLIENTS + 1
