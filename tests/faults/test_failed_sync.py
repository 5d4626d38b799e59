"""A disk that fails is never passed over: nothing is acknowledged, the service ends with 74 and comes back whole (P5).

strace lets the K-th fdatasync of the thread that writes fail with EIO, at the start and under corrections of several
clients. What was sent with it may be there after a new start or not, and what waited behind it is not even tried: after
a failed sync the system may hold for clean what never reached the disk.

One failure SQLite passes over, and rightly: to sync the file itself, not its -wal, at a checkpoint. The -wal holds it
all and is synced, and the next checkpoint writes every page again.
"""

from http.client import HTTPException
from pathlib import Path

import pytest

from faults.harness import (
    Client,
    Service,
    client_of,
    clients_at_work,
    command_code,
    forked,
    forked_service,
    number_of,
    service_arguments,
)
from faults.ledger import Ledger, check_ledger
from faults.nursery import Nursery
from faults.tracing import injected, needs_strace, read_calls
from thresher.desk import journal_folder

EVERY = number_of("THRESHER_EVERY_SYNC", 0)
AT_THE_START = list(range(1, 10)) if EVERY else [1, 4, 5, 7, 9]
UNDER_WAY = list(range(10, 41)) if EVERY else [10, 11, 16, 25, 40]
WAL, FILE = "journal.sqlite3-wal", "journal.sqlite3"


@needs_strace
@pytest.mark.parametrize("number", AT_THE_START)
def test_a_service_that_cannot_sync_does_not_start(nursery: Nursery, model: Path, number: int) -> None:
    with (
        forked(nursery, model.parent, command_code(service_arguments(model)), traced=True) as running,
        injected(running, "fdatasync", f"error=EIO:when={number}") as record,
    ):
        assert running.rest() == ""
        assert running.wait() == 74, running.said()
        assert running.said().count("\n") == 1
    assert sum(call.was_injected for call in read_calls(record)) == 1
    check_ledger(model, Ledger())


@needs_strace
@pytest.mark.parametrize("number", UNDER_WAY)
def test_a_failed_sync_is_no_ack_and_the_end(nursery: Nursery, model: Path, number: int) -> None:
    ledger = Ledger()
    with (
        forked(nursery, model.parent, command_code(service_arguments(model)), traced=True) as running,
        injected(running, "fdatasync", f"error=EIO:when={number}", also="pwrite64") as record,
    ):
        service = Service(running)
        with clients_at_work(service, ledger, clients=8) as working:
            assert running.wait() == 74, running.said()
            assert "disk I/O error" in running.said()
        refused = {answer.status for one in working for answer in one.result()}
        assert refused <= {503}
        with pytest.raises((OSError, HTTPException)), client_of(service) as late:
            late.ask("GET", "/readyz")
    calls = read_calls(record)
    failed = next(call for call in calls if call.was_injected)
    assert failed.is_on(WAL)
    assert not [call for call in calls if call.began > failed.ended and call.name == "pwrite64" and call.is_on(WAL)]
    records = check_ledger(model, ledger)
    assert len(records) - len(ledger.acked) in (0, 1), "more than the correction that failed was kept in silence"
    with forked_service(nursery, model) as service:
        assert service.position == len(records)
        for name, id in ledger.unanswered().items():
            with client_of(service, name, ledger) as client:
                assert client.correct(id).status in (200, 201)
        service.stop()
    check_ledger(model, ledger, only_acked=True)


@needs_strace
def test_a_checkpoint_that_cannot_be_synced_loses_nothing(nursery: Nursery, model: Path) -> None:
    ledger, file = Ledger(), journal_folder(model) / FILE
    with (
        forked(nursery, model.parent, command_code(service_arguments(model)), traced=True) as running,
        injected(running, "fdatasync", "error=EIO:when=2", on=file) as record,  # the first is at its creation
    ):
        service = Service(running)
        with client_of(service, "a", ledger) as client:
            correct_until_checkpoints(client, record)
        service.kill()
    check_ledger(model, ledger, only_acked=True)


def correct_until_checkpoints(client: Client, record: Path) -> None:
    """Correct until the file was to be synced at a checkpoint that failed, and at another that did not."""
    for number in range(1000):
        assert client.correct(f"a.{number}").status == 201
        if number % 10 == 0 and sum(call.is_on(FILE) for call in read_calls(record)) >= 3:
            break
    assert [call.was_injected for call in read_calls(record)] == [False, True, False]
