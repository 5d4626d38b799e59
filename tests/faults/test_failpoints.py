"""Death, failure and delay between any two steps of keeping, learning, snapshots, forgetting, replaying and migrating.

The fourteen places of `failpoints.POINTS`, THRESHER_FAILPOINT_SEEDS times each: a process that has something to replay,
and a journal of the first version to migrate where that is the place, lives on until it is killed there, or something
is raised, which the desk must bear, or it waits. What it left is held against what it told (P1), and bears a second
life. Which time of those that a place is met it happens is drawn.
"""

import json
import shutil
import signal
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from faults.failpoints import ACTIONS, POINTS
from faults.harness import forked, new_draw, tell
from faults.ledger import Ledger, begin_model, check_ledger
from faults.nursery import Nursery
from support.tiers import number_of
from thresher.journal.database import FILE
from thresher.journal.journaled_model import JournaledModel, journal_folder

MIGRATED = 3  # records
SEEDS = number_of("THRESHER_FAILPOINT_SEEDS", 2, quick=1)
# Records as the first version wrote them, and no word that they were not.
LATER = "DROP TABLE mistakes; DROP INDEX by_kind; DROP INDEX by_document"  # of the third version
OLD = f"{LATER}; ALTER TABLE records DROP COLUMN seal; PRAGMA user_version=1"


def life(nursery: Nursery, model: Path, point: str, action: str, number: int, ledger: Ledger) -> tuple[int, str]:
    """Let a process run, and return how it ended and its output."""
    code = f"from faults.sessions import full_life\nfull_life({str(model)!r}, {point!r}, {action!r}, {number})"
    with forked(nursery, model.parent, code) as running:
        told = running.rest()
        ended = running.wait()
        assert ended in (0, 1, -signal.SIGKILL), running.said()
        assert ended != 1 or "a failpoint" in running.said() or "function raised exception" in running.said()
    ledger.read(told)
    return ended, told


def second_life(nursery: Nursery, model: Path, client: str, ledger: Ledger) -> None:
    """Let a process correct a little, and be killed."""
    code = f"from faults.sessions import killed_life\nkilled_life({str(model)!r}, {client!r})"
    with forked(nursery, model.parent, code) as running:
        ledger.read(running.rest())
        assert running.wait() == -signal.SIGKILL, running.said()


@pytest.fixture(scope="module")
def begun(nursery: Nursery, memory: Path) -> Path:
    """A model whose journal has records to replay, and was left by a process that was killed."""
    model = begin_model(memory / "begun")
    second_life(nursery, model, "z", Ledger())
    return model


@pytest.fixture(scope="module")
def times_met(nursery: Nursery, begun: Path, memory: Path) -> Counter[str]:
    """How often each place is met in a life in which nothing happens."""
    ended, told = life(nursery, copy_of(begun, memory / "counted", ""), "", "", 0, begun_ledger())
    assert ended == 0
    return Counter(json.loads(told.splitlines()[-1]) | {"migrate_half": MIGRATED})


def begun_ledger() -> Ledger:
    ledger = Ledger()
    for number in range(MIGRATED):
        ledger.attempt("z", f"z.{number}")
        ledger.ack(f"z.{number}", number + 1)
    return ledger


def copy_of(begun: Path, folder: Path, point: str) -> Path:
    """Copy what was begun; where it is to be migrated, as the first version would have left it."""
    shutil.copytree(begun.parent, folder)
    model = folder / begun.name
    if point == "migrate_half":
        JournaledModel(model).close()
        connection = sqlite3.connect(journal_folder(model) / FILE)
        connection.executescript(OLD)
        connection.close()
    return model


@pytest.mark.parametrize("point", POINTS)
def test_no_acknowledged_correction_is_lost_at_a_failpoint(
    nursery: Nursery, begun: Path, times_met: Counter[str], memory: Path, point: str
) -> None:
    draw = new_draw()
    for seed in range(SEEDS):
        action, number = ACTIONS[seed % len(ACTIONS)], draw.randint(1, times_met[point])
        model, ledger = copy_of(begun, memory / f"{point}{seed}", point), begun_ledger()
        ended, told = life(nursery, model, point, action, number, ledger)
        assert (ended == -signal.SIGKILL) is (action == "kill"), (action, number, told)
        assert ended == 0 or action != "sleep"
        second_life(nursery, model, "b", ledger)
        check_ledger(model, ledger)
    tell(f"{point}: {SEEDS} times")
