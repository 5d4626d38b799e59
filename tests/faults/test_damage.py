"""A torn tail is repaired, and damage is found: what opens is what was acknowledged, or a first part of it (P7).

One bit is changed in THRESHER_FLIPS random bytes of the database, its log or a snapshot, and 1 to 4,096 bytes are cut
off the log, some of them or each (THRESHER_EVERY_CUT=1). The journals are one that was closed, one whose process was
killed, and one whose process was killed with half of the log written back. Each opens as what it was or, where the log
is damaged, as what it was before its last records; or it is refused by a line that names the file; and whatever opens
in spite of damage `thresher journal check` finds. SQLite has checksums in its log alone, so this rests on the seals of
records: without them one flip in ten of the database gives another text, body or user in silence.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from faults.damage import WAL, Damage, left_behind
from faults.harness import forked, new_draw, tell
from faults.nursery import Nursery
from support.command_line import Run
from support.tiers import number_of
from thresher.journal.journaled_model import journal_folder

FLIPS, EVERY_CUT = number_of("THRESHER_FLIPS", 120, quick=12), number_of("THRESHER_EVERY_CUT", 0) > 0
LEFT = {"closed": (1000, True), "killed": (1000, False), "killed at a checkpoint": (8, False)}


@pytest.mark.parametrize("how", LEFT)
def test_damage_never_yields_another_model(nursery: Nursery, memory: Path, how: str) -> None:
    (checkpoint, closed), seed = LEFT[how], new_draw().randrange(2**32)
    asked = (str(memory / how), checkpoint, closed, seed, FLIPS // len(LEFT), EVERY_CUT)
    code = f"from faults.damage import try_damages\ntry_damages(*{asked!r})"
    with forked(nursery, memory, code) as running:
        told = running.rest()
        assert running.wait() == 0, (told.splitlines()[-1:], running.said())
    outcomes = [json.loads(line) for line in told.splitlines()]
    wrong = [outcome for outcome in outcomes if outcome[-2] == "wrong"]
    assert not wrong, wrong[:5]
    torn = [outcome for outcome in outcomes if outcome[2] is None]
    assert closed or len(torn) > FLIPS / 3
    if how == "killed":
        assert {outcome[-2] for outcome in torn} <= {"prefix", "whole"}, "a torn tail is no reason to refuse"
    counts = Counter(outcome[-2] for outcome in outcomes)
    assert not closed or counts["refused"] + counts["found"] > 0 or FLIPS < 100
    tell(f"{how}: {len(outcomes)} damages, {', '.join(f'{count} {what}' for what, count in sorted(counts.items()))}")


def test_journal_check_names_the_file_and_the_record(memory: Path, called: Run) -> None:
    model = left_behind(memory / "check", 1000, closed=True).model
    file = journal_folder(model) / "journal.sqlite3"
    assert called("journal", "check", model).code == 0
    place = file.read_bytes().index(b"newer 17")
    Damage(file.name, place, 0, False).do(model)
    ended = called("journal", "check", model)
    assert ended.code == 65
    assert f"{file}: record 18 is damaged: its seal does not match" in ended.err
    assert ended.err.count("\n") == 1


def test_a_truncated_log_loses_only_its_last_record(memory: Path, called: Run) -> None:
    left = left_behind(memory / "cut", 1000, closed=False)
    log = journal_folder(left.model) / WAL
    Damage(WAL, log.stat().st_size - 1, None, False).do(left.model)
    checked = json.loads(called("journal", "check", left.model, "--json").out)
    assert (checked["records"], checked["digest"]) in [(39, left.digests[39]), (40, left.digests[40])]
