"""A service that is asked to end answers what it has begun, or refuses it, and loses nothing acknowledged (P20).

Fifty corrections are in flight when the signal comes, as each commit takes 5 ms longer here. A second signal hurries
it: then some that are kept may be refused, which a client who sends them again learns, and none that was acknowledged
is lost. THRESHER_SHUTDOWNS says how many rounds.
"""

import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from faults.harness import clients_at_work, forked_service, slow_commits, started_service, tell
from faults.ledger import Ledger, check_ledger
from faults.nursery import Nursery
from support.tiers import number_of

ROUNDS, CLIENTS, LONGEST = number_of("THRESHER_SHUTDOWNS", 20, quick=3), 50, 10.0
ROUNDS_OF_TWO = 3
LATE = """
from thresher.web.server import PromptProtocol
made, seen = PromptProtocol.connection_made, []
def made_late(self, transport):
    def now():
        made(self, transport)
        transport.resume_reading()
    transport._loop.call_soon(transport.pause_reading)  # Python 3.11.2 forgets it if it comes from connection_made
    seen.append(transport)
    transport._loop.call_later(0 if len(seen) == 1 else 0.6, now)
PromptProtocol.connection_made = made_late
"""  # the second connection is known only when the first has been told to end
TWICE = [(signal.SIGTERM, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGINT)]


def test_requests_in_flight_are_answered_or_refused(nursery: Nursery, model: Path) -> None:
    ledger = Ledger()
    for round in range(ROUNDS):
        assert ended_by(nursery, model, ledger, round, [signal.SIGTERM]) == 0
        records = check_ledger(model, ledger)
        # Nobody left while the service lived, and so nothing was kept that was not also told.
        assert {record.id for record in records} == ledger.acked.keys()
    tell(f"{ROUNDS} shutdowns, {len(ledger.acked)} acks")


@pytest.mark.slow
def test_a_connection_during_shutdown_is_closed(nursery: Nursery, model: Path) -> None:
    ledger = Ledger()
    with forked_service(nursery, model, LATE + slow_commits(1, model.with_name("commits"))) as service:
        with clients_at_work(service, ledger, clients=2) as working:
            time.sleep(0.3)  # the first waits for its commit
            service.running.send(signal.SIGTERM)
            assert service.running.wait() == 0
        said = service.running.said()
        assert not said, said  # no request had to be broken off
        assert [one.result() for one in working] == [[], []]
    check_ledger(model, ledger, only_acked=True)


@pytest.mark.parametrize("signals", TWICE)
def test_a_second_signal_loses_no_ack(nursery: Nursery, model: Path, signals: tuple[signal.Signals, ...]) -> None:
    ledger = Ledger()
    for round in range(ROUNDS_OF_TWO):
        assert ended_by(nursery, model, ledger, round, signals) in (0, 130, 143)
        check_ledger(model, ledger)


def ended_by(
    nursery: Nursery, model: Path, ledger: Ledger, round: int, signals: Sequence[signal.Signals]
) -> int | None:
    """Send signals to a service that many correct; returns its exit code when what they were told is in order."""
    with forked_service(nursery, model, slow_commits(0.005, model.with_name("commits"))) as service:
        ledger.has_ack.clear()
        with clients_at_work(service, ledger, CLIENTS, round) as working:
            assert ledger.has_ack.wait(30)
            time.sleep(0.1)
            began = time.monotonic()
            for number in signals:
                service.running.send(number)
                time.sleep(0.02 * (round + 1) if len(signals) > 1 else 0)
            code = service.running.wait()
            assert time.monotonic() - began < LONGEST
            assert "Traceback" not in service.running.said()
        assert {answer.status for one in working for answer in one.result()} <= {503}
    return code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_idle_service_ends_at_once(nursery: Nursery, model: Path, number: signal.Signals) -> None:
    with ExitStack() as stack:
        fresh = number == signal.SIGTERM  # this one as a user starts it
        service = stack.enter_context(started_service(model) if fresh else forked_service(nursery, model))
        service.running.send(number)
        assert service.running.wait(LONGEST) == 0, service.running.said()
        assert service.running.said() == ""
    assert check_ledger(model, Ledger()) == []
