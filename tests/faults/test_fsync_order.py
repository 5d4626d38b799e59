"""An answer leaves only after what it promises is on the disk: strace tells in which order that happened (P2a).

A commit is there when its last frame (whose head says how large the file is then) is in the -wal, and on the disk when
a later fdatasync of the -wal has succeeded. The writing thread commits in the order of seq, so that the answer with seq
n needs n commits since the start to be synced before its first byte is sent. The same check must fail for the same run
with synchronous=NORMAL, or it would prove nothing.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from faults.harness import Service, client_of, command_code, python, service_arguments, started, tell
from faults.ledger import Ledger, check_ledger
from faults.tracing import Call, needs_strace, plain, read_calls

ACKS, CLIENTS = 500, 4
WAL = "journal.sqlite3-wal"
NORMAL = "import thresher.journal.schema as j; j._PRAGMAS['synchronous'] = 1"
_HEAD, _HEAD_SIZE = re.compile(r"^pwrite64\(\d+<[^>]*>, \"\\x..\\x..\\x..\\x..(?P<size>(\\x..){4})"), 24
_LENGTH = re.compile(r"\"(?:\.\.\.)?, (?P<length>\d+), \d+\) += (?P=length)$")
_SENT = re.compile(r"^\w+\((?P<connection>\d+<[^>]*>), \"(?P<bytes>(\\x..)*)\"")


def traced_service(model: Path, patch: str) -> tuple[list[Call], dict[str, int]]:
    """Let clients have their corrections acknowledged by a service under strace; returns its calls and the acks."""
    record, ledger = model.with_suffix(".trace"), Ledger()
    calls = "trace=pwrite64,fdatasync,fsync,sendto,write"
    options = ["-f", "--seccomp-bpf", "-qq", "-y", "-tt", "-xx", "-s", "300", "-e", "signal=none", "-e", calls]
    command = ["strace", *options, "-o", str(record), *python(command_code(service_arguments(model), patch))]
    if not patch:
        command[-2:] = ["-m", "thresher", *service_arguments(model)]
    with started(model.parent, command) as running:
        service = Service(running)

        def correct(name: str) -> None:
            with client_of(service, name, ledger) as client:
                for number in range(ACKS // CLIENTS):
                    assert client.correct(f"{name}.{number}").status == 201

        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(correct, [f"c{number}" for number in range(CLIENTS)]))
        assert service.stop() == 0, running.said()
    check_ledger(model, ledger, only_acked=True)
    return read_calls(record), ledger.acked


def too_early(calls: list[Call], acked: dict[str, int]) -> list[str]:
    """Return the ids whose answer began to be sent before their commit was on the disk."""
    ready = next(call.began for call in calls if call.name == "write" and '{"url"' in sent(call))
    commits = [call for call in committed(calls) if call.began > ready]
    synced = on_the_disk(calls, commits)
    begun = answers_begun(calls)
    assert len(begun) == len(acked), "not every answer is in the record"
    assert len(commits) >= len(acked), "not every commit is in the record"
    return [id for id, seq in acked.items() if not synced[seq - 1] < begun[seq]]


def committed(calls: list[Call]) -> list[Call]:
    """Return the last write of each commit: the page that follows the head of a frame with a size in it."""
    found, is_last = [], False
    for call in calls:
        if call.name != "pwrite64" or not call.is_on(WAL):
            continue
        length = _LENGTH.search(call.said)
        assert length, call
        if int(length["length"]) == _HEAD_SIZE:
            head = _HEAD.match(call.said)
            assert head, call
            is_last = head["size"] != r"\x00" * 4
        elif is_last:
            found.append(call)
            is_last = False
    return found


def on_the_disk(calls: list[Call], commits: list[Call]) -> list[float]:
    """Return when each commit was synced, never being infinite."""
    syncs = [call for call in calls if call.name in ("fdatasync", "fsync") and call.is_on(WAL) and call.succeeded]
    return [
        min((sync.ended for sync in syncs if sync.began > commit.ended), default=float("inf")) for commit in commits
    ]


def answers_begun(calls: list[Call]) -> dict[int, int]:
    """Return when the head of the answer with each seq began to be sent."""
    heads, found = dict[str, int](), dict[int, int]()
    for call in sorted(calls, key=lambda call: call.began):
        matched = _SENT.match(call.said) if call.name == "sendto" else None
        if matched is None:
            continue
        text = sent(call)
        if text.startswith("HTTP/1.1 20"):
            heads[matched["connection"]] = call.began
        if body := re.search(r'\{"seq":(\d+),"id":"c', text):
            found[int(body[1])] = heads[matched["connection"]]
    return found


def sent(call: Call) -> str:
    """Return what a call sends, as far as it was recorded."""
    matched = _SENT.match(call.said)
    return plain(matched["bytes"]) if matched else ""


@needs_strace
def test_every_answer_is_sent_after_its_commit_is_synced(model: Path) -> None:
    calls, acked = traced_service(model, "")
    assert len(acked) == ACKS
    assert too_early(calls, acked) == []
    tell(f"{ACKS} acks, each after its sync")


@needs_strace
def test_the_check_fails_where_commits_are_not_synced(model: Path) -> None:
    calls, acked = traced_service(model, NORMAL)
    assert len(too_early(calls, acked)) > ACKS * 0.9
