"""One process has a model that is taught; a second is told which, at once, and who is killed leaves no lock (P24)."""

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from faults.harness import Running, client_of, command_code, forked, forked_service, service_arguments, tell
from faults.ledger import Ledger, check_ledger
from faults.nursery import Nursery
from support.command_line import said, thresher
from support.tiers import number_of
from thresher.journal.journal import Journal
from thresher.journal.journaled_model import JournaledModel, journal_folder

ROUNDS = number_of("THRESHER_STARTS", 50, quick=5)
CORRECTION = {"text": "crude oil", "accept": ["energy"]}


@contextmanager
def command(nursery: Nursery, model: Path, *arguments: str | Path) -> Iterator[Running]:
    with forked(nursery, model.parent, command_code([str(argument) for argument in arguments])) as running:
        yield running


@pytest.mark.parametrize("verb", ["serve", "learn", "undo", "check"])
def test_a_second_process_is_refused_with_the_owner_of_the_model(nursery: Nursery, model: Path, verb: str) -> None:
    corrections = model.with_name("corrections.jsonl")
    corrections.write_text(json.dumps(CORRECTION))
    arguments = {
        "serve": service_arguments(model),
        "learn": ["learn", str(model), str(corrections)],
        "undo": ["undo", str(model)],
        "check": ["journal", "check", str(model)],
    }[verb]
    ledger = Ledger()
    with forked_service(nursery, model) as service:
        with client_of(service, "a", ledger) as client:
            assert client.correct("a.0").status == 201
            with command(nursery, model, *arguments) as second:
                assert second.wait() == 75  # in half a second, where the machine has nothing else to do
                assert second.rest() == ""
                line = second.said()
                assert f"process {service.pid} has the journal" in line
                assert line.count("\n") == 1
            assert client.correct("a.1").status == 201
        assert service.stop() == 0
    check_ledger(model, ledger, only_acked=True)


def test_a_second_command_reports_the_owner_of_the_model(nursery: Nursery, model: Path) -> None:
    with forked_service(nursery, model) as service:
        line = said(thresher(*service_arguments(model)), 75)
        assert f"process {service.pid} has the journal" in line


def test_of_several_simultaneous_starts_one_wins(nursery: Nursery, model: Path) -> None:
    for _ in range(ROUNDS):
        with ExitStack() as stack:
            both = [stack.enter_context(command(nursery, model, *service_arguments(model))) for _ in range(2)]
            lines = [running.read() for running in both]
            won = [running for running, line in zip(both, lines, strict=True) if line]
            assert len(won) == 1, [running.said() for running in both]
            for lost in both:
                if lost is not won[0]:
                    assert lost.wait() == 75, lost.said()
                    assert f"process {won[0].pid} has the journal" in lost.said()
            won[0].send(signal.SIGKILL)
    check_ledger(model, Ledger())
    tell(f"{ROUNDS} pairs started at once, one of each won")


def test_a_process_that_is_killed_leaves_no_lock(nursery: Nursery, model: Path) -> None:
    ledger = Ledger()
    for round in range(3):
        with forked_service(nursery, model) as service:
            assert service.position == round
            with client_of(service, "a", ledger) as client:
                assert client.correct(f"a.{round}").status == 201
            service.kill()
    corrections = model.with_name("corrections.jsonl")
    corrections.write_text(json.dumps(CORRECTION))
    with command(nursery, model, "learn", model, corrections) as learning:
        assert learning.wait() == 0, learning.said()


def test_reading_needs_no_lock(nursery: Nursery, model: Path) -> None:
    with forked_service(nursery, model):
        texts = model.with_name("texts.txt")
        texts.write_text("crude oil\n")
        with command(nursery, model, "predict", model, texts, "--json") as looking:
            assert looking.wait() == 0, looking.said()
        with command(nursery, model, "inspect", model, "--json") as looking:
            assert looking.wait() == 0, looking.said()


def test_asking_for_the_owner_blocks_nobody(nursery: Nursery, model: Path) -> None:
    """Reading the owner takes the lock for a moment."""
    folder = journal_folder(model)
    JournaledModel(model).close()
    asking = f"from thresher.journal.lock import owner_of\nwhile True: owner_of({str(folder)!r})"
    with forked(nursery, model.parent, asking):
        for _ in range(100):
            with Journal(folder) as journal:
                assert journal.log.last_seq() == 0
