"""Death at any single write is safe: of the journal, of a snapshot, of a name in the folder (P3).

A desk starts, corrects 20 times, undoes once, keeps snapshots, writes its model and shuts down; strace kills it at the
K-th call of a kind, before that is made, until a run ends by itself. K is every 7th (THRESHER_EVERY_WRITE) of the
frequent kinds and every one of the others. The desk alone, not the service: it makes all of these calls.
"""

import signal
from pathlib import Path

import pytest

from faults.harness import forked, tell
from faults.ledger import Ledger, begin_model, check_ledger
from faults.nursery import Nursery
from faults.sessions import CORRECTIONS
from faults.tracing import injected, needs_strace
from support.tiers import number_of

EVERY = number_of("THRESHER_EVERY_WRITE", 7, quick=100)
FREQUENT = ("pwrite64", "fdatasync", "/^open")
RARE = ("write", "fsync", "/^rename", "/^unlink", "ftruncate")


def killed_at(nursery: Nursery, model: Path, calls: str, number: int) -> bool:
    """Let a desk live until its so-manieth call, check what it left, and return whether it was killed.

    What it left must also bear a second life, which is killed too.
    """
    ledger, lives = Ledger(), "from faults.sessions import killed_life, short_life\n"
    with (
        forked(nursery, model.parent, f"{lives}short_life({str(model)!r})", traced=True) as running,
        injected(running, calls, f"signal=SIGKILL:when={number}"),
    ):
        ledger.read(running.rest())
        code = running.wait()
    assert code in (0, -signal.SIGKILL), running.said()
    assert code != 0 or len(ledger.acked) == CORRECTIONS + 1
    check_ledger(model, ledger)
    with forked(nursery, model.parent, f"{lives}killed_life({str(model)!r})") as running:
        ledger.read(running.rest())
        assert running.wait() == -signal.SIGKILL, running.said()
    check_ledger(model, ledger)
    return code != 0


@needs_strace
@pytest.mark.parametrize("calls", FREQUENT)
def test_death_at_a_write_of_the_journal_loses_no_ack(nursery: Nursery, tmp_path: Path, calls: str) -> None:
    number = 1
    while killed_at(nursery, begin_model(tmp_path / str(number)), calls, number):
        number += EVERY
    tell(f"{(number - 1) // EVERY} deaths at {calls}")
    assert number > 20


@needs_strace
@pytest.mark.parametrize("calls", RARE)
def test_death_at_a_change_of_the_folder_loses_no_ack(nursery: Nursery, tmp_path: Path, calls: str) -> None:
    number = 1
    while killed_at(nursery, begin_model(tmp_path / str(number)), calls, number):
        number += 1
    tell(f"{number - 1} deaths at {calls}")
    assert number > 1
