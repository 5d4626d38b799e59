"""Out of memory is an error, not a wreck: exit code 71 or status 503, and what was there is there (P22).

A process may take only so many megabytes more than it has, once it has loaded all that it runs: what LLVM and glibc
find no memory for ends any process. Trainings and a service are tried with several such limits, a third of
THRESHER_LIMITS each; nothing may crash, hang or write half of anything. Of many, at least one must be refused.
"""

import json
import random
import re
import signal
from collections import Counter
from collections.abc import Callable
from http.client import HTTPException
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from faults.harness import (
    Client,
    Running,
    client_of,
    command_code,
    forked,
    forked_service,
    limit,
    new_draw,
    service_arguments,
    tell,
)
from faults.ledger import Ledger, begin_model, check_ledger
from faults.nursery import Nursery
from support.tiers import number_of
from thresher import Categorizer

LIMITS = number_of("THRESHER_LIMITS", 9, quick=3)
MOST = 32  # megabytes: enough for what is trained here
SMALL, LARGE = 40, 1500  # documents
CLOSED = 0
_DIED = (-signal.SIGSEGV, -signal.SIGABRT)
MOST_TURNS = 40  # corrections until memory is short
# A small training loads what a large one runs; then the process may take so much more.
LIMITED = """
import resource
from pathlib import Path
from thresher.cli import run
run({small!r})
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + int({megabytes} * 2**20),) * 2)
"""

# A correction loads what others run; then the process may have only so much in all.
LOADED = """
import faulthandler, resource
faulthandler.enable()
from thresher import Categorizer
model = Categorizer.load({model!r})
model.predict(["crude oil"])
model.learn("crude oil", [f"c{{number}}" for number in range(100)])
del model
resource.setrlimit(resource.RLIMIT_AS, ({size}, resource.RLIM_INFINITY))
"""
# The weights of all features are asked for until there is no memory.
WEIGHTS = """
import resource
from pathlib import Path
import numpy as np
from thresher import Categorizer
text = " ".join(f"w{{number}}" for number in range(10_000))
model = Categorizer(preset="fast", min_count=1, **{options}).fit([text, "wheat"], ["energy", "grain"])
weights, features = model.state.learner.get_weights(), np.arange(10_000, dtype=np.int32)
held = [weights.category_weights(0, features, {last})]
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + {kilobytes} * 2**10,) * 2)
try:
    while True:
        held.append(weights.category_weights(0, features, {last}))
except MemoryError:
    print("no memory")
"""
# There is memory for the stack of a thread, and for little else.
THREADS = """
import resource
from pathlib import Path
from thresher.web.workers import Workers
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 9 * 2**20,) * 2)
try:
    Workers(1, "some", 10)
except MemoryError:
    print("no memory", flush=True)
"""
# No correction finds memory, and a signal comes while the service ends for that.
FAILING = """
import os, signal, time
from thresher.journal import replay
from thresher.web.service import Service
def learn(*_, **__):
    raise MemoryError
def close(self, close=Service.close):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(1)
    close(self)
replay.learn_validated, Service.close = learn, close
"""
OUT_OF_MEMORY = "thresher: out of memory (read fewer documents at once)\n"


def corpus(path: Path, documents: int, words: int, categories: list[str]) -> Path:
    """Write documents of many different words."""
    draw = random.Random(1)
    with path.open("w") as file:
        for number in range(documents):
            text = " ".join(f"w{draw.randrange(words * documents)}" for _ in range(words)) + " all"
            file.write(json.dumps({"text": text, "categories": [categories[number % len(categories)]]}) + "\n")
    return path


def train(data: Path, model: Path) -> list[str]:
    return ["train", str(data), "-o", str(model), "--preset", "fast", "--force", "--min-count", "1"]


def test_training_without_memory_leaves_the_old_model(nursery: Nursery, memory: Path) -> None:
    draw, codes, names = new_draw(), Counter[int](), [f"c{number}" for number in range(20)]
    small, large = (corpus(memory / f"{count}.jsonl", count, 60, names) for count in (SMALL, LARGE))
    place = memory / "trained"
    place.mkdir()
    model, other = place / "model.thresher", place / "other.thresher"
    Categorizer(preset="fast", min_count=1).fit(["oil", "wheat"], ["energy", "grain"]).save(model)
    before = model.read_bytes()
    for number in range(LIMITS // 3):
        patch = LIMITED.format(small=train(small, other), megabytes=draw.uniform(0, MOST) if number else 1)
        with forked(nursery, memory, command_code(train(large, model), patch)) as running:
            running.rest()
            code = running.wait(300)
            codes[code] += 1
            assert code in (0, 71), running.said()
            if code == 71:
                assert running.said() == OUT_OF_MEMORY
                assert model.read_bytes() == before
                assert sorted(place.iterdir()) == [model, other], "something unfinished was left"
            else:
                model.write_bytes(before)
    tell(f"trainings with too little memory: {codes[71]} refused, {codes[0]} done")
    assert codes[71] > 0 or LIMITS < 30  # free memory of other threads may suffice for a few


def test_learning_without_memory_loses_no_correction(nursery: Nursery, memory: Path) -> None:
    draw, codes = new_draw(), Counter[int]()
    few, more = (corpus(memory / f"{count}.jsonl", count, 1000, ["energy", "grain"]) for count in (2, 250))
    for number in range(LIMITS // 3):
        model, other = begin_model(memory / f"learn{number}"), begin_model(memory / f"warm{number}")
        megabytes = 2 ** draw.uniform(-4, 4) if number else 0.1
        patch = LIMITED.format(small=["learn", str(other), str(few)], megabytes=megabytes)
        with forked(nursery, memory, command_code(["learn", str(model), str(more)], patch)) as running:
            running.rest()
            code = running.wait(300)
            codes[code] += 1
            assert code in (0, 71), running.said()
        kept = [record.text for record in check_ledger(model, Ledger(), with_contents=False)]
        texts = [json.loads(line)["text"] for line in more.read_text().splitlines()]
        assert kept == (texts if code == 0 else texts[: len(kept)])
    tell(f"lessons with too little memory: {codes[71]} refused, {codes[0]} done")
    assert codes[71] > 0 or LIMITS < 30  # free memory of other threads may suffice for a few


def test_a_service_without_memory_refuses_and_continues(nursery: Nursery, memory: Path) -> None:
    draw, statuses, ledger = new_draw(), Counter[int](), Ledger()
    model = begin_model(memory / "served")
    for number in range(LIMITS // 3):
        with forked_service(nursery, model) as service, client_of(service, "a", ledger) as client:
            assert set(large_requests(client, 200)) == {200}  # which loads what they run
            assert client.correct(f"a.{2 * number}").status == 201
            digest = client.ask("GET", "/v1/model").body["digest"]
            limit(service.pid, 2 ** draw.uniform(-4, 4) if number else 0.1)
            found = large_requests(client, 1)
            assert set(found) <= {CLOSED, 200, 503}, (found, service.running.said())
            statuses.update(found)
            limit(service.pid, None)
            client.connection.close()  # which may be broken
            assert service.is_alive(), (service.running.wait(), service.running.said())
            assert client.ask("GET", "/v1/model").body["digest"] == digest
            assert client.correct(f"a.{2 * number + 1}").status == 201
            assert service.stop() == 0, service.running.said()
            assert "a fault of ours" not in service.running.said()
    check_ledger(model, ledger, only_acked=True)
    counts = f"{statuses[503]} refused, {statuses[CLOSED]} cut off, {statuses[200]} answered"
    tell(f"requests with too little memory: {counts}")
    # A thread has an arena of some 60 MB, which was counted when it was made: few draws may all find memory there.
    assert statuses[503] + statuses[CLOSED] > 0 or LIMITS < 30


def test_a_correction_without_memory_is_saved_or_refused_and_can_be_sent_again(nursery: Nursery, memory: Path) -> None:
    draw, statuses, starts = new_draw(), Counter[int](), Counter[str]()
    for number in range(LIMITS // 3):
        model = begin_model(memory / f"taught{number}")
        teach, most = [(long_correction, 1), (wide_correction, 4)][number % 2]
        with forked_service(nursery, model) as service, client_of(service) as client:
            assert teach(client, "0") == 201  # which loads what it runs
            size = limit(service.pid, 2 ** draw.uniform(-4, most))
            sent = teach_until_refused(client, teach)
            assert set(sent) <= {CLOSED, 201, 503, 422 if teach is wide_correction else 503}, service.running.said()
            assert set(sent) != {201}, "there was memory for all"
            statuses.update(sent)
            if draw.random() < 0.5:
                limit(service.pid, None)
            if service.is_alive():
                service.stop()
            check_ended(service.running)
        records = check_ledger(model, Ledger(), with_contents=False)
        starts[start_under(nursery, model, size)] += 1
        with forked_service(nursery, model) as service, client_of(service) as client:
            again = [teach(client, str(turn)) for turn in range(len(sent) + 1)]
            assert again.count(200) >= 1 + sent.count(201), "one that was acknowledged is gone"
            assert set(again) <= {200, 201, 422 if teach is wide_correction else 201}
            assert again.count(200) == len(records)
            assert service.stop() == 0
    counts = f"{statuses[503]} refused, {statuses[CLOSED]} cut off, {statuses[201]} kept"
    tell(f"corrections with too little memory: {counts}; {dict(starts)} starts with as little")


def teach_until_refused(client: Client, teach: Callable[[Client, str], int]) -> list[int]:
    """Teach until one correction is not kept, and three more; return the statuses."""
    statuses, more = list[int](), 3
    while more >= 0 and len(statuses) < MOST_TURNS:
        statuses.append(teach(client, str(len(statuses) + 1)))
        more -= set(statuses) != {201}
    return statuses


def start_under(nursery: Nursery, model: Path, size: int) -> str:
    """Start the service with as many bytes as it had before; it starts, or says in one line what it has no memory for.

    That is a record, with the command that leaves it out, unless there is not even memory for the rest. Some starts die
    in NumPy, which does not check all allocations. They have acknowledged nothing by then; the traceback is printed.
    """
    patch = LOADED.format(model=str(model), size=size)
    with forked(nursery, model.parent, command_code(service_arguments(model), patch)) as running:
        is_ready = bool(running.read())  # nothing if it ends
        if is_ready:
            running.send(signal.SIGTERM)
        if not is_ready and running.wait() in _DIED:
            tell(f"a start died: {running.said()}")
            return "died"
        check_ended(running)
        if is_ready:
            return "started"
        assert running.code == 71
        (line,) = re.findall("^thresher: .*", running.said(), re.MULTILINE)
        found = re.search(r"record (\d+) cannot be applied: out of memory .* thresher (.*) leaves it out", line)
        if found is None:
            assert f"{line}\n" == OUT_OF_MEMORY or line.endswith("Cannot allocate memory"), running.said()
            return "refused"
        assert found[2] == f"journal skip {model} {found[1]}"
        return "named"


def check_ended(running: Running) -> None:
    """See a service end in order, or for lack of memory."""
    assert running.wait() in (0, 71), running.said()
    assert "a fault of ours" not in running.said()


def test_a_service_without_memory_for_a_thread_still_ends_with_0(nursery: Nursery, memory: Path) -> None:
    with forked_service(nursery, begin_model(memory / "ended")) as service:
        limit(service.pid, 0.5)  # a thread takes 8
        assert service.stop() == 0, service.running.said()
        # Without memory for the digest, the service cannot know that the model file needs no writing.
        lines = service.running.said().splitlines()
        assert all(line.startswith("the model file is left as it was: ") for line in lines), lines


def test_a_thread_is_not_started_without_memory(nursery: Nursery, memory: Path) -> None:
    """Python waits indefinitely for one that starts and then finds none."""
    with forked(nursery, memory, THREADS) as running:
        assert running.read() == "no memory\n"
        assert running.wait() == 0, running.said()


def test_a_signal_does_not_hide_a_lack_of_memory(nursery: Nursery, memory: Path) -> None:
    with forked_service(nursery, begin_model(memory / "signalled"), FAILING) as service, client_of(service) as client:
        assert client.correct("a.0").status == 503
        assert service.running.wait() == 71
        assert "terminated" not in service.running.said()


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"average": True}, {"sparse": True}], ids=str)
def test_a_lack_of_memory_for_weights_is_an_error(nursery: Nursery, memory: Path, options: dict[str, bool]) -> None:
    for last, kilobytes in product((False, True), (0, 100)):
        with forked(nursery, memory, WEIGHTS.format(options=options, last=last, kilobytes=kilobytes)) as running:
            assert running.rest() == "no memory\n"
            assert running.wait() == 0, running.said()


def large_requests(client: Client, size: int) -> list[int]:
    """Ask for much, and return the statuses."""
    words = " ".join(f"w{number}" for number in range(120_000 // size))
    many = [" ".join(f"w{number} oil" for number in range(60))] * (1500 // size)
    asked: list[dict[str, Any]] = [
        {"text": words},
        {"documents": many, "all": True},
        {"text": words[: len(words) // 2], "explain": True},
    ]
    return [status_of(client, body) for body in asked]


def status_of(client: Client, body: dict[str, Any]) -> int:
    """Ask, and return the status; none where there was not even memory to read what is asked, and none was answered."""
    return answered(client, "/v1/categorize", body)


def long_correction(client: Client, id: str) -> int:
    """Teach a text of many new words, and return the status."""
    text = " ".join(f"n{number}x{id}" for number in range(6000))
    return answered(client, "/v1/corrections", {"id": id, "text": text, "accept": ["energy"]})


def wide_correction(client: Client, id: str) -> int:
    """Teach a text that has many new categories, and return the status."""
    text, names = " ".join(f"n{number}x{id}" for number in range(600)), [f"c{number}x{id}" for number in range(100)]
    return answered(client, "/v1/corrections", {"id": id, "text": text, "accept": names, "create_category": True})


def answered(client: Client, path: str, body: dict[str, Any]) -> int:
    try:
        return client.ask("POST", path, body).status
    except (OSError, HTTPException):
        client.connection.close()
        return CLOSED
