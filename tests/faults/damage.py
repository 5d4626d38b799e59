"""A journal that was left by a process, damaged by a byte or cut short, and what comes of opening it again.

It is opened in a process of its own, as what is damaged might kill it; that tells of each damage in a line of JSON.
"""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from faults.ledger import begin_model, content_of, copied
from thresher.errors import JournalError, ThresherError
from thresher.journal import journaled_model as desks
from thresher.journal.database import FILE
from thresher.journal.journaled_model import JournaledModel, journal_folder
from thresher.journal.record import Record

WAL = f"{FILE}-wal"
LAST_CUT = 4096  # bytes
RECORDS = 40


class Left(NamedTuple):
    """What a process left behind, and what it knew: the records, and the model's digest after each of them."""

    model: Path
    records: list[Record]
    digests: list[str]


class Damage(NamedTuple):
    """A byte of a file with one bit changed or, where there is no bit, the file's end cut off."""

    file: str
    place: int
    bit: int | None
    from_the_first: bool

    def do(self, model: Path) -> None:
        """Damage the file."""
        path = journal_folder(model) / self.file
        data = bytearray(path.read_bytes())
        if self.bit is None:
            del data[self.place :]
        else:
            data[self.place] ^= 1 << self.bit
        path.write_bytes(data)


def left_behind(folder: Path, checkpoint: int, closed: bool) -> Left:
    """Teach a journaled model, with its log written back every few pages, and return its files.

    They are as a killed process leaves them, or one that was `closed`.
    """
    model, digests = begin_model(folder / "open"), list[str]()
    with mock.patch.object(desks, "SNAPSHOT_EVERY", 8):
        desk = JournaledModel(model)
        desk.journal.database._connection.execute(f"PRAGMA wal_autocheckpoint={checkpoint}")
        digests.append(desk.model.digest())
        for number in range(RECORDS):
            step = number % 10
            if step == 5:
                desk.undo(f"undo {number}", [desk.position - 2, desk.position])
            elif step == 7:
                desk.change_categories(f"new {number}", "new", [f"newer {number}"])
            else:
                desk.correct(f"a.{number}", **content_of(f"a.{number}"))
            digests.append(desk.model.digest())
            if number == RECORDS // 2:
                desk.write_model()
    records = plain_records(desk)
    if closed:
        desk.close()
    place = shutil.copytree(model.parent, folder / "left")
    desk.journal.close()
    return Left(place / model.name, records, digests)


def plain_records(desk: JournaledModel) -> list[Record]:
    """Return the records without what they changed, which is made again where it is lost."""
    return [record._replace(effect=None) for record in desk.journal.log.read()]


def flips(left: Left, draw: random.Random, count: int) -> Iterator[Damage]:
    """Draw bits to change: of the database and its log more often than of snapshots, which have their own tests."""
    files = sorted(path.name for path in journal_folder(left.model).iterdir() if path.name != "lock")
    weights = [1 if name.startswith("snapshot") else 4 for name in files]
    for name in draw.choices(files, weights, k=count):
        size = (journal_folder(left.model) / name).stat().st_size
        replays_all = not name.startswith("snapshot") and draw.random() < 0.5
        yield Damage(name, draw.randrange(size), draw.randrange(8), replays_all)


def cuts(left: Left, lengths: range | list[int]) -> Iterator[Damage]:
    """Cut the last bytes of the log."""
    size = (journal_folder(left.model) / WAL).stat().st_size
    for length in lengths:
        yield Damage(WAL, size - length, None, length % 2 == 0)


def try_damages(folder: str, checkpoint: int, closed: bool, seed: int, count: int, every_cut: bool) -> None:
    """Damage the files left behind in many ways, one at a time, and print the outcome of each."""
    draw, left = random.Random(seed), left_behind(Path(folder), checkpoint, closed)
    damages = list(flips(left, draw, count))
    if not closed:
        some = [1, 24, 4072, 4095, 4096, *draw.sample(range(1, LAST_CUT), min(count, 40))]
        damages += cuts(left, range(1, LAST_CUT + 1) if every_cut else some)
    for damage in damages:
        with copied(left.model, from_the_first=damage.from_the_first) as copy:
            damage.do(copy)
            print(json.dumps([*damage, *outcome(copy, left)]), flush=True)


def outcome(model: Path, left: Left) -> tuple[str, str]:
    """Return what came of opening a damaged journal, and more about it: "wrong" is what must never be."""
    try:
        desk = JournaledModel(model)
    except ThresherError as error:
        names_it = str(journal_folder(model)) in str(error) and "\n" not in str(error)
        return "refused" if names_it else "wrong", str(error)
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error}"
    try:
        return opened(desk, left)
    finally:
        desk.journal.close()


def opened(desk: JournaledModel, left: Left) -> tuple[str, str]:
    """Return what a desk is that could be opened."""
    position, remarks = desk.position, "; ".join(desk.remarks)
    if desk.model.digest() != left.digests[position]:
        return "wrong", f"another model at {position} ({remarks})"
    faults: list[Any] = []
    try:
        found = plain_records(desk)
        faults = desk.journal.find_damage()
    except JournalError as error:
        return "found", str(error)
    if found != as_they_were(left.records[:position]):
        return "wrong", f"other records at {position} ({faults}, {remarks})"
    if faults:
        return "found", str(faults[0])
    if any(desk.journal.log.find(record.id) is None for record in found):
        return "wrong", "an id is not found"
    if position < len(left.records):
        return taught_further(desk, left, remarks)
    return "whole", remarks


def as_they_were(records: list[Record]) -> list[Record]:
    """Return the first records as they were before others took some of them back."""
    last = len(records)
    return [one._replace(undone_by=None) if (one.undone_by or 0) > last else one for one in records]


def taught_further(desk: JournaledModel, left: Left, remarks: str) -> tuple[str, str]:
    """Teach what has lost its last records, and see it come back: nothing of those may be left."""
    lost = len(left.records) - desk.position
    for number in range(lost + 1):
        desk.correct(f"b.{number}", **content_of(f"b.{number}"))
    desk.journal.close()
    with JournaledModel(desk.path) as again:
        same = again.model.digest() == desk.model.digest()
    return ("prefix", remarks) if same else ("wrong", f"{lost} records were lost, and come back in part ({remarks})")
