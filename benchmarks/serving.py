"""Measure the service under load: requests, batches and simultaneous corrections, and a start with a long journal.

.venv/bin/python benchmarks/serving.py [--parts requests,mixed,taught] [--markdown docs/service.md]
.venv/bin/python benchmarks/serving.py --parts worst [--markdown docs/service.md]

It takes `wrk` (apt-get install wrk) as the load generator, which shares the two cores with the service: eight
connections that each wait for an answer before they ask again. Corrections are sent at a steady rate by one thread of
this process, on a connection of its own; each is durable when it is answered. The model is the one of the demo. The
part `worst` has a model of its own, and needs no `wrk`; another process sends its requests.
"""

import argparse
import asyncio
import http.client
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any
from uuid import uuid4

import numpy as np

from pages import write_between
from thresher.categorizer import Categorizer
from thresher.datasets.reader import read_documents
from thresher.journal.journaled_model import JournaledModel
from thresher.web.access_tokens import Holder, Tokens
from thresher.web.app import create_app
from thresher.web.guards import Rules
from thresher.web.service import Service

TOKEN = "a-token-for-the-benchmark"
PARTS = ("requests", "where", "batches", "mixed", "taught", "restart")
WORST = "worst"
CONNECTIONS, SECONDS, BATCH = 8, 8, 500
RATE = 200  # corrections a second
LONG = 100_900  # corrections in a journal, of which the last 900 are in no snapshot
SHORT = "The lamp outside my house is dark again"


@contextmanager
def run_service(model: Path) -> Iterator[tuple[str, int]]:
    """Run the service on a model while the block runs; yields the host and the port."""
    arguments = ["serve", str(model), "--port", "0", "--token", TOKEN, "--json"]
    with subprocess.Popen([sys.executable, "-m", "thresher", *arguments], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(json.loads(process.stdout.readline())["url"].rpartition(":")[2])
        try:
            yield "127.0.0.1", port
        finally:
            process.terminate()
            process.wait()


def wrk(port: int, body: bytes, folder: Path, seconds: int = SECONDS) -> dict[str, float]:
    """Ask for the categories of a body again and again; gives requests a second and latencies in milliseconds."""
    (folder / "body.json").write_bytes(body)
    lines = [f'wrk.body = io.open("{folder}/body.json", "rb"):read("*a")']
    return read_report(start_wrk(f"http://127.0.0.1:{port}/v1/categorize", lines, folder / "ask.lua", seconds))


def start_wrk(url: str, lines: list[str], script: Path, seconds: int) -> subprocess.Popen[str]:
    """Start wrk with a script that posts to an address."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    setup = [f'wrk.headers["{name}"] = "{value}"' for name, value in headers.items()]
    script.write_text("\n".join(['wrk.method = "POST"', *setup, *lines]))
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", str(script), url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def read_report(process: subprocess.Popen[str]) -> dict[str, float]:
    """Return the report of wrk: requests per second, and latencies in milliseconds."""
    said = process.communicate()[0]
    assert process.returncode == 0, said
    assert "Non-2xx" not in said, said
    units = {"us": 0.001, "ms": 1.0, "s": 1000.0}
    report = {
        f"p{share}": float(number) * units[unit]
        for share, number, unit in re.findall(r"(\d\d)%\s+([\d.]+)(us|ms|s)", said)
    }
    return report | {"rate": float(re.findall(r"Requests/sec:\s+([\d.]+)", said)[0])}


def correct(port: int, seconds: float, times: list[float]) -> None:
    """Send corrections at a steady rate, one after the other, and record how long each took."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    documents = list(read_documents("sample:test"))
    start, drawn = time.perf_counter(), random.Random(0)
    for i in range(int(seconds * RATE)):
        time.sleep(max(start + i / RATE - time.perf_counter(), 0))
        document = drawn.choice(documents)
        body = {
            "id": f"{i}",
            "text": f"{document.text} {drawn.randrange(10**6)}",
            "categories": list(document.categories),
        }
        begun = time.perf_counter()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
        connection.request("POST", "/v1/corrections", json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 201, answer.status
        times.append(time.perf_counter() - begun)


def demo_model(folder: Path) -> Path:
    """Train the model of the demo."""
    documents = list(read_documents("sample:train"))
    path = folder / "desk.thresher"
    Categorizer().fit([d.content for d in documents], [d.categories for d in documents]).save(path)
    return path


def requests(folder: Path) -> list[list[Any]]:
    """Measure requests with one short document each."""
    with run_service(demo_model(folder)) as (_, port):
        wrk(port, json.dumps({"text": SHORT}).encode(), folder, 2)
        reports = [wrk(port, json.dumps({"text": SHORT}).encode(), folder) for _ in range(3)]
    rate, p50, p99 = (median(one[name] for one in reports) for name in ("rate", "p50", "p99"))
    return [["one short document a request", f"{rate:,.0f} requests a second", f"{p50:.1f} ms, p99 {p99:.1f} ms"]]


def where(folder: Path) -> list[list[Any]]:
    """Measure a request without HTTP: eight at a time, as under load, within this process."""
    service = Service(lambda: JournaledModel(demo_model(folder))).begin()
    service.opening.result()
    rules = Rules(frozenset({"localhost"}), Tokens({TOKEN: Holder("", "admin")}))
    app, body = create_app(service, rules), json.dumps({"text": SHORT}).encode()
    headers = {"host": "localhost", "content-type": "application/json", "authorization": f"Bearer {TOKEN}"}
    scope = {"type": "http", "http_version": "1.1", "method": "POST", "path": "/v1/categorize", "query_string": b"",
             "raw_path": b"/v1/categorize", "root_path": "", "scheme": "http", "server": ("localhost", 80),
             "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}  # fmt: skip

    async def ask() -> None:
        parts, leaves = [body], asyncio.Event()

        async def receive() -> dict[str, Any]:
            if not parts:
                await leaves.wait()  # it never leaves
            return {"type": "http.request", "body": parts.pop(), "more_body": False}

        async def send(message: Any) -> None:
            assert message.get("status", 200) == 200

        await app(dict(scope), receive, send)

    async def ask_in_eights(times: int) -> None:
        for _ in range(times):
            await asyncio.gather(*(ask() for _ in range(CONNECTIONS)))

    def microseconds(work: Callable[[], Any]) -> float:
        work()
        times = []
        for _ in range(5):
            start = time.perf_counter()
            work()
            times.append((time.perf_counter() - start) / (100 * CONNECTIONS) * 1e6)
        return median(times)

    texts: list[Any] = [SHORT] * CONNECTIONS
    how: dict[str, Any] = {"top": None, "details": False, "explain": False}
    model = microseconds(lambda: [list(service.queries.categorize(texts, texts, **how)) for _ in range(100)])
    whole = microseconds(lambda: asyncio.run(ask_in_eights(100)))
    service.close()
    return [
        ["of that: the model, eight texts at a time", f"{model:.0f} µs a request", ""],
        [
            "of that: guard, routing, JSON",
            f"{whole - model:.0f} µs a request",
            "the rest is HTTP (h11) and the sockets",
        ],
    ]


def batches(folder: Path) -> list[list[Any]]:
    """Measure requests with many documents each."""
    texts = [document.text for document in read_documents("sample:test")]
    body = json.dumps({"documents": (texts * (BATCH // len(texts) + 1))[:BATCH]}).encode()
    with run_service(demo_model(folder)) as (_, port):
        wrk(port, body, folder, 2)
        reports = [wrk(port, body, folder) for _ in range(3)]
    rate, p50, p99 = (median(one[name] for one in reports) for name in ("rate", "p50", "p99"))
    letters = sum(map(len, texts)) / len(texts)
    what = f"{BATCH} documents a request, of {letters:.0f} letters each"
    return [[what, f"{rate * BATCH:,.0f} documents a second", f"{p50:.1f} ms, p99 {p99:.1f} ms"]]


def mixed(folder: Path) -> list[list[Any]]:
    """Measure requests while corrections are learned."""
    times: list[float] = []
    with run_service(demo_model(folder)) as (_, port):
        wrk(port, json.dumps({"text": SHORT}).encode(), folder, 2)
        teacher = Thread(target=correct, args=(port, 3 * SECONDS, times))
        teacher.start()
        reports = [wrk(port, json.dumps({"text": SHORT}).encode(), folder, SECONDS - 1) for _ in range(3)]
        teacher.join()
    rate, p50, p99 = (median(one[name] for one in reports) for name in ("rate", "p50", "p99"))
    milliseconds = 1000 * np.array(times)
    latency = f"{np.median(milliseconds):.1f} ms, p99 {np.quantile(milliseconds, 0.99):.1f} ms"
    what = f"while {RATE} corrections a second are learned"
    return [
        [f"one short document a request, {what}", f"{rate:,.0f} requests a second", f"{p50:.1f} ms, p99 {p99:.1f} ms"],
        ["those corrections, each durable", f"{len(times):,} in {3 * SECONDS} s", latency],
    ]


def taught(folder: Path) -> list[list[Any]]:
    """Measure the latency of /healthz while eight clients send corrections."""
    lines = [
        "local sent = 0",
        "request = function()",
        "  sent = sent + 1",
        """  local body = '{"id": "%d", "text": "the lamp %d is dark", "accept": ["lighting"]}'""",
        "  return wrk.format(nil, nil, nil, string.format(body, sent, sent))",
        "end",
    ]
    with run_service(demo_model(folder)) as (host, port):
        teachers = start_wrk(f"http://127.0.0.1:{port}/v1/corrections", lines, folder / "teach.lua", SECONDS)
        connection, waits = http.client.HTTPConnection(host, port), []
        while teachers.poll() is None:
            begun = time.perf_counter()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            waits.append(1000 * (time.perf_counter() - begun))
            time.sleep(0.01)
        report = read_report(teachers)
    what = f"{CONNECTIONS} teachers, one correction after the other, each durable"
    latency = f"{np.median(waits):.1f} ms, p99 {np.quantile(waits, 0.99):.1f} ms"
    return [
        [what, f"{report['rate']:,.0f} corrections a second", f"{report['p50']:.1f} ms, p99 {report['p99']:.1f} ms"],
        ["`/healthz` meanwhile", f"{len(waits):,} times", latency],
    ]


def many_categories(folder: Path) -> Path:
    """Learn 1,000 categories that all accept a text about lamps, 600 of them with names of 199 letters."""
    names = [long_name(number) for number in range(600)] + [f"c{number}" for number in range(400)]
    texts = [f"lamps dark street {i}" for i in range(20)] + [f"wheat harvest grain {i}" for i in range(20)]
    model = Categorizer(learner="balanced-winnow", choose="nothing", min_count=1)
    path = folder / "desk.thresher"
    model.fit(texts, [names] * 20 + [["other"]] * 20).save(path)
    return path


def long_name(number: int) -> str:
    """Return a name of 199 letters that is like all others of its kind."""
    return "".join(random.Random(number).choices("ab", k=190)) + f" {number:08}"


def worst_bodies() -> dict[str, tuple[str, Any]]:
    """Return the requests that cost most for their size: what they are called, their path, and their body."""
    text = ("lamps dark street " * 300)[:3900]
    names = [f"new {number}" for number in range(1000)]
    return {
        "3.9 kB explained, accepted by 1,000 categories": ("/v1/categorize", {"text": text, "explain": True}),
        "an unknown name of 199 letters": ("/v1/categorize", {"text": "lamps", "explain": long_name(-1)}),
        "99,999 documents of one word": ("/v1/categorize", {"documents": ["lamps"] * 99_999}),
        "900 documents, all details": (
            "/v1/categorize",
            {"documents": ["lamps dark street"] * 900, "all": True, "details": True},
        ),
        "a correction with an unknown name": (
            "/v1/corrections",
            {"text": "lamps", "accept": [long_name(-1)]},
        ),
        "a correction with 1,000 names": (
            "/v1/corrections",
            {"text": "lamps", "accept": names, "create_category": True},
        ),
        "the queue": ("/v1/queue?limit=200", None),
        "the categories": ("/v1/categories", None),
        "the stats": ("/v1/stats", None),
    }


def worst(folder: Path) -> list[list[Any]]:
    """Measure the latency of /healthz while the worst requests are sent, one by one and together."""
    bodies, rows = worst_bodies(), []
    with run_service(many_categories(folder)) as (host, port):
        texts = [{"id": str(i), "text": f"lamps {i}"} for i in range(5000)]
        send(host, port, "/v1/documents", json.dumps({"documents": texts}).encode())
        for name, body in [*bodies.items(), ("all of these at the same time", None)]:
            asked = [body] if body is not None else list(bodies.values())
            waits, times = poll_health(host, port, asked)
            waited = (
                f"p50 {np.median(waits):.1f} ms, p99 {np.quantile(waits, 0.99):.1f} ms, at most {max(waits):.1f} ms"
            )
            rows.append([name, f"{np.median(times):.2f} s a request", f"`/healthz` meanwhile: {waited}"])
    return rows


def send(host: str, port: int, path: str, body: bytes | None) -> None:
    """Send a request, and read its answer."""
    connection = http.client.HTTPConnection(host, port)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    connection.request("GET" if body is None else "POST", path, body, headers)
    connection.getresponse().read()
    connection.close()


def repeat(host: str, port: int, asked: list[tuple[str, Any]], seconds: float, times: "Queue[list[float]]") -> None:
    """Send each request again and again, each correction with an id of its own; report how many seconds each took."""
    end, seconds_taken = time.perf_counter() + seconds, list[float]()

    def send_on(path: str, body: Any) -> None:
        written = None if body is None else json.dumps(body).encode()
        while time.perf_counter() < end:
            if path == "/v1/corrections":
                written = json.dumps(body | {"id": uuid4().hex}).encode()
            begun = time.perf_counter()
            send(host, port, path, written)
            seconds_taken.append(time.perf_counter() - begun)

    threads = [Thread(target=send_on, args=one) for one in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.put(seconds_taken)


def poll_health(host: str, port: int, asked: list[tuple[str, Any]]) -> tuple[list[float], list[float]]:
    """Ask for /healthz every 20 ms while another process sends requests; returns waits in ms, and their times in s."""
    spawning, waits = get_context("spawn"), list[float]()
    times: Queue[list[float]] = spawning.Queue()
    process = spawning.Process(target=repeat, args=(host, port, asked, SECONDS / 2, times))
    process.start()
    connection = http.client.HTTPConnection(host, port)
    while times.empty():
        begun = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        waits.append(1000 * (time.perf_counter() - begun))
        time.sleep(0.02)
    connection.close()
    busy = times.get()
    process.join()
    return waits, busy


def restart(folder: Path) -> list[list[Any]]:
    """Measure how long a start takes with a long journal."""
    model, documents, drawn = demo_model(folder), list(read_documents("sample:test")), random.Random(0)
    start = time.perf_counter()
    desk = JournaledModel(model)
    for i in range(LONG):
        document = drawn.choice(documents)
        desk.correct(f"{i}", f"{document.text} {drawn.randrange(1000)}", categories=document.categories)
        if i % 10_000 == 0:
            print(f"{i:,} corrections kept", file=sys.stderr)
    desk.journal.close()  # as a kill would, without the snapshot that a clean end leaves
    seconds = time.perf_counter() - start
    times = []
    for _ in range(3):
        start = time.perf_counter()
        with run_service(model):
            times.append(time.perf_counter() - start)
    size = sum(file.stat().st_size for file in Path(f"{model}.journal").iterdir())
    return [[f"a start with {LONG:,} corrections in the journal", f"{median(times):.1f} s",
             f"{size / 1e6:.0f} MB; seconds and learned at {LONG / seconds:,.0f} a second"]]  # fmt: skip


def main() -> None:
    """Run the parts asked for, and show them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    if given.parts != WORST and shutil.which("wrk") is None:
        sys.exit("wrk is missing (apt-get install wrk)")
    rows = []
    for part in given.parts.split(","):
        with tempfile.TemporaryDirectory() as folder:
            rows += globals()[part](Path(folder))
    table = "\n".join(["| | | |", "|---|---|---|", *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"
    print(table, end="")
    if given.markdown:
        write_between(given.markdown, WORST if given.parts == WORST else "serving", table)


if __name__ == "__main__":
    main()
