"""Out of memory is an error, not a wreck: exit code 71 or status 503, and what was there is there (P22).

A process may take only so many megabytes more than it has, once it has loaded all that it runs: what LLVM and glibc
find no memory for ends any process. Trainings and a service are tried with several such limits, a third of
THRESHER_LIMITS each; nothing may crash, hang or write half of anything, and at least one of them must be refused.
"""

import json
import random
import resource
from collections import Counter
from http.client import HTTPException
from pathlib import Path
from typing import Any

from faults.harness import Client, client_of, command_code, forked, forked_service, new_draw, number_of, tell
from faults.ledger import Ledger, begin_model, check_ledger
from faults.nursery import Nursery
from thresher import Categorizer

LIMITS = number_of("THRESHER_LIMITS", 9)
MOST = 32  # megabytes: enough for what is trained here
SMALL, LARGE = 40, 1500  # documents
CLOSED = 0
# A small training loads what a large one runs; then the process may take so much more.
LIMITED = """
import resource
from pathlib import Path
from thresher.cli import run
run({small!r})
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + int({megabytes} * 2**20),) * 2)
"""


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


def test_a_training_that_finds_no_memory_leaves_the_model_that_was_there(nursery: Nursery, memory: Path) -> None:
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
                assert running.said() == "thresher: out of memory (read fewer documents at once)\n"
                assert model.read_bytes() == before
                assert sorted(place.iterdir()) == [model, other], "something unfinished was left"
            else:
                model.write_bytes(before)
    tell(f"trainings with too little memory: {codes[71]} refused, {codes[0]} done")
    assert codes[71] > 0


def test_learning_that_finds_no_memory_loses_no_correction(nursery: Nursery, memory: Path) -> None:
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
    assert codes[71] > 0


def test_a_service_that_finds_no_memory_refuses_and_goes_on(nursery: Nursery, memory: Path) -> None:
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
    assert statuses[503] + statuses[CLOSED] > 0
    assert statuses[503] > 0 or LIMITS < 30


def test_a_correction_that_finds_no_memory_is_kept_or_refused_and_can_be_sent_again(
    nursery: Nursery, memory: Path
) -> None:
    draw, statuses = new_draw(), Counter[int]()
    model = begin_model(memory / "taught")
    for number in range(LIMITS // 3):
        with forked_service(nursery, model) as service, client_of(service) as client:
            assert long_correction(client, f"{number}.0") == 201  # which loads what it runs
            limit(service.pid, 2 ** draw.uniform(-4, 2) if number else 0.1)
            kept = Counter(long_correction(client, f"{number}.{turn}") for turn in range(1, 5))
            statuses += kept
            assert kept.keys() <= {CLOSED, 201, 503}
            if service.is_alive():
                limit(service.pid, None)
                service.stop()
            assert service.running.wait() in (0, 71), service.running.said()
            assert "a fault of ours" not in service.running.said()
        records = check_ledger(model, Ledger(), with_contents=False)
        with forked_service(nursery, model) as service, client_of(service) as client:
            again = [long_correction(client, f"{number}.{turn}") for turn in range(5)]
            assert again.count(200) >= 1 + kept[201], "one that was acknowledged is gone"
            assert set(again) <= {200, 201}
            assert again.count(200) == sum(record.id.startswith(f"{number}.") for record in records)
            service.stop()
    tell(
        f"corrections with too little memory: {statuses[503]} refused, {statuses[CLOSED]} cut off, {statuses[201]} kept"
    )
    assert statuses[503] + statuses[CLOSED] > 0


def limit(pid: int, megabytes: float | None) -> None:
    """Let a process take only so much more memory, or as much as it likes."""
    size = resource.RLIM_INFINITY
    if megabytes is not None:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
        size = pages * resource.getpagesize() + int(megabytes * 2**20)
    resource.prlimit(pid, resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


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
    text = " ".join(f"n{number}x{id}" for number in range(20_000))
    return answered(client, "/v1/corrections", {"id": id, "text": text, "accept": ["energy"]})


def answered(client: Client, path: str, body: dict[str, Any]) -> int:
    try:
        return client.ask("POST", path, body).status
    except (OSError, HTTPException):
        client.connection.close()
        return CLOSED
