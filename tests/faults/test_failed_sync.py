"""A disk that fails is never passed over: nothing is acknowledged, the service ends with 74 and comes back whole (P5).

strace lets the K-th fdatasync of the thread that writes fail with EIO, at the start and under corrections of several
clients. What was sent with it may be there after a new start or not, and what waited behind it is not even tried: after
a failed sync the system may hold for clean what never reached the disk.

Two failures SQLite passes over. To sync the file itself, not its -wal, at a checkpoint: rightly, as the -wal holds it
all and is synced, and the next checkpoint writes every page again. And to sync the folder, when the -journal or the
-wal is new in it: with its name the whole -wal could be lost, so the journal syncs the folder itself, at every start.
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
    service_arguments,
)
from faults.ledger import Ledger, check_ledger
from faults.nursery import Nursery
from faults.tracing import injected, needs_strace, read_calls
from support.tiers import number_of
from thresher.journal.journaled_model import journal_folder

EVERY = number_of("THRESHER_EVERY_SYNC", 0)
FOLDER = [2, 6]  # where SQLite syncs the folder
AT_THE_START = [number for number in range(1, 11) if number not in FOLDER] if EVERY else [1, 4, 5, 7, 10]
UNDER_WAY = list(range(11, 41)) if EVERY else [11, 12, 16, 25, 40]
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
@pytest.mark.parametrize("number", FOLDER)
def test_a_folder_that_sqlite_could_not_sync_is_synced_again(nursery: Nursery, model: Path, number: int) -> None:
    with (
        forked(nursery, model.parent, command_code(service_arguments(model)), traced=True) as running,
        injected(running, "fdatasync", f"error=EIO:when={number}", also="fsync") as record,
    ):
        Service(running).kill()
    syncs = [call for call in read_calls(record) if call.is_on(journal_folder(model).name)]
    assert next(call.was_injected for call in syncs if call.name == "fdatasync" and not call.succeeded)
    assert syncs[-1].name == "fsync"
    assert syncs[-1].succeeded


@needs_strace
@pytest.mark.parametrize("start", ["first", "second"])
def test_a_service_that_cannot_sync_the_folder_does_not_start(nursery: Nursery, model: Path, start: str) -> None:
    if start == "second":
        with forked_service(nursery, model) as service:
            service.stop()
    with (
        forked(nursery, model.parent, command_code(service_arguments(model)), traced=True) as running,
        injected(running, "fsync", "error=EIO:when=1", on=journal_folder(model)) as record,
    ):
        assert running.rest() == ""
        assert running.wait() == 74, running.said()
        assert running.said().count("\n") == 1
    assert [call.was_injected for call in read_calls(record)] == [True]
    check_ledger(model, Ledger())


@needs_strace
@pytest.mark.parametrize("number", UNDER_WAY)
def test_a_failed_sync_is_not_acknowledged_and_ends_the_service(nursery: Nursery, model: Path, number: int) -> None:
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
