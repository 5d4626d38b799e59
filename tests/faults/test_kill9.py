"""A correction that was acknowledged outlives the death of the process, whenever that comes (P1, P19).

Two halves, together THRESHER_KILLS kills (200 unless told). Most are of the desk alone, with the writing thread of the
service and eight clients in one process, 1 to 80 ms after the first ack: they show that the journal, its recovery and
its snapshots (here one in 20 corrections) bear a kill at any moment, and that what recovered bears the next. An eighth
are of the service, with eight clients over HTTP, after 5 to 500 ms: they show the same of what a client was answered,
and that it also sees what it was told. Most of these are forked (`nursery`), and one in five is started as a user does.
Neither shows that anything is on the disk, as a kill loses nothing that the system holds: `test_fsync_order` does.
"""

import random
import time
from contextlib import ExitStack
from pathlib import Path

from faults.harness import Running, Service, clients_at_work, forked, forked_service, new_draw, started_service, tell
from faults.ledger import Ledger, begin_model, check_ledger
from faults.nursery import Nursery
from support.tiers import number_of

KILLS = number_of("THRESHER_KILLS", 200, quick=16)
OF_THE_SERVICE = max(KILLS // 8, 1)
CLIENTS, SAME_JOURNAL = 8, 8  # a new journal is begun after so many kills
FRESH = 5  # of so many services one is started as a user does, not forked


def killed_soon(running: Running, draw: random.Random) -> str:
    """Kill a process a random time after the first acknowledgement, and return its output."""
    told = ""
    while "!" not in told:
        more = running.read()
        assert more, running.said()
        told += more
    end = time.monotonic() + draw.uniform(0.001, 0.08)
    while (left := end - time.monotonic()) > 0:
        told += running.read(left)
    running.kill()
    return told + running.rest()


def test_no_ack_of_a_desk_is_lost_when_it_is_killed(nursery: Nursery, tmp_path: Path) -> None:
    draw, acks, model, ledger = new_draw(), 0, tmp_path, Ledger()
    for number in range(KILLS - OF_THE_SERVICE):
        if number % SAME_JOURNAL == 0:
            model, ledger = begin_model(tmp_path / str(number)), Ledger()
        code = "from faults.sessions import many_clients\n"
        code += f"many_clients({str(model)!r}, {number}, {ledger.unanswered()!r}, snapshot_every=20)"
        before = len(ledger.acked)
        with forked(nursery, model.parent, code) as running:
            ledger.read(killed_soon(running, draw))
        acks += len(ledger.acked) - before
        check_ledger(model, ledger)
    tell(f"{KILLS - OF_THE_SERVICE} kills of the desk, {acks} acks, none lost")
    assert acks >= KILLS - OF_THE_SERVICE


def test_no_ack_of_a_service_is_lost_when_it_is_killed(nursery: Nursery, tmp_path: Path) -> None:
    draw, acks, model, ledger = new_draw(), 0, tmp_path, Ledger()
    for number in range(OF_THE_SERVICE):
        if number % SAME_JOURNAL == 0:
            model, ledger = begin_model(tmp_path / str(number)), Ledger()
        before = len(ledger.acked)
        with ExitStack() as stack:
            fresh = number % FRESH == 0
            service: Service = stack.enter_context(started_service(model) if fresh else forked_service(nursery, model))
            ledger.has_ack.clear()
            with clients_at_work(service, ledger, CLIENTS, number):
                assert ledger.has_ack.wait(60)
                time.sleep(draw.uniform(0.005, 0.5))
                service.kill()
        acks += len(ledger.acked) - before
        check_ledger(model, ledger)
    tell(f"{OF_THE_SERVICE} kills of the service, {acks} acks, none lost")
    assert acks >= OF_THE_SERVICE
