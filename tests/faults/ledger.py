"""The corrections that clients sent and the answers that they got, and the check of a journal against them."""

import os
import random
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.corpora import COMMON, WORDS, made_up
from thresher import Categorizer
from thresher.journal.journaled_model import JournaledModel, journal_folder
from thresher.journal.record import Record

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where syncing a copy takes no time


class Ledger:
    """Ids that clients sent, each client's in their order, and those that were acknowledged, with their places."""

    def __init__(self) -> None:
        self.attempted: dict[str, list[str]] = {}
        self.acked: dict[str, int] = {}
        self.forgotten: set[str] = set()
        self.has_ack = threading.Event()

    def attempt(self, client: str, id: str) -> None:
        """Record that a client is about to send a correction; one sent again keeps its place."""
        ids = self.attempted.setdefault(client, [])
        if id not in ids[-1:]:
            ids.append(id)

    def ack(self, id: str, seq: int) -> None:
        """Record the answer that a correction is saved."""
        assert self.acked.setdefault(id, seq) == seq, f"{id} was acknowledged as {self.acked[id]} and as {seq}"
        self.has_ack.set()

    def refuse(self, client: str, id: str) -> None:
        """Record the answer that a correction is not saved."""
        self.attempted[client].remove(id)

    def unanswered(self) -> dict[str, str]:
        """Return the last correction of each client that got no answer."""
        return {client: ids[-1] for client, ids in list(self.attempted.items()) if ids and ids[-1] not in self.acked}

    def read(self, lines: str) -> None:
        """Add the steps that a process printed, in lines as `sessions` writes them."""
        for line in lines.splitlines(keepends=True):
            mark, *said = line.split()
            if line.endswith("\n") and mark == "?":
                self.attempt(said[0], said[1])
            elif line.endswith("\n") and mark == "!":
                self.ack(said[0], int(said[1]))
            elif line.endswith("\n") and mark == "-":
                self.refuse(said[0], said[1])
            elif line.endswith("\n") and mark == "x":
                self.forgotten.add(said[0])


def content_of(id: str) -> dict[str, Any]:
    """Return the correction that goes by an id: always the same one, so that what was kept can be held against it."""
    draw = random.Random(id)
    name, other = draw.sample(sorted(WORDS), 2)
    words = draw.choices(WORDS[name].split(), k=4) + draw.choices(COMMON.split(), k=4) + [f"new{draw.randrange(2000)}"]
    kinds: list[dict[str, Any]] = [{"categories": [name]}, {"accept": [name]}, {"accept": [name], "reject": [other]}]
    return {"text": " ".join(words), **draw.choice(kinds)}


def begin_model(folder: Path) -> Path:
    """Write a model that was taught a little, in a folder of its own, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    _taught().save(folder / "desk.thresher")
    return folder / "desk.thresher"


@cache
def _taught() -> Categorizer:
    corpus = made_up(60, single=True)
    return Categorizer(preset="fast", min_count=1).fit(corpus.texts, corpus.categories)


@contextmanager
def copied(model: Path, *, from_the_first: bool = False) -> Iterator[Path]:
    """Copy a model and its journal, as they lie, for a while; without all snapshots but the first if so wanted."""
    with TemporaryDirectory(dir=MEMORY) as place:
        copy = Path(place, model.name)
        shutil.copyfile(model, copy)
        if journal_folder(model).exists():
            shutil.copytree(journal_folder(model), journal_folder(copy))
        for snapshot in journal_folder(copy).glob("snapshot-*") if from_the_first else ():
            if int(snapshot.stem.partition("-")[2]) > 0:
                snapshot.unlink()
        yield copy


def replayed_digest(model: Path) -> str:
    """Return the digest of what a replay of all records gives, from the model that the journal began with."""
    with copied(model, from_the_first=True) as copy, JournaledModel(copy) as desk:
        return desk.model.digest()


def check_ledger(model: Path, ledger: Ledger, *, only_acked: bool = False, with_contents: bool = True) -> list[Record]:
    """Hold the journal of a process that is gone against a ledger, and return its records.

    What was acknowledged is there, what is there was sent, nothing twice, each client's in its order, the file is
    whole, and what comes back is what a replay from the first record gives. The files stay as they were left.
    `only_acked` wants nothing there that was not acknowledged. Without contents, records may be of anyone's.
    """
    replayed = replayed_digest(model)
    with copied(model) as copy:
        for _ in range(2):  # what recovers must itself leave a whole journal
            with JournaledModel(copy) as desk:
                records, digest = list(desk.journal.log.read()), desk.model.digest()
                assert desk.journal.find_damage() == []
                assert desk.remarks == []
            assert digest == replayed
        assert not list(journal_folder(copy).glob(".*.tmp")), "a file that was never finished is left for ever"
    if with_contents:
        check_records(records, ledger, only_acked=only_acked)
    return records


def check_records(records: list[Record], ledger: Ledger, *, only_acked: bool = False) -> None:
    """Hold records against a ledger."""
    places = {record.id: record.seq for record in records}
    assert len(places) == len(records), "an id occurs twice"
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    lost = {id: seq for id, seq in ledger.acked.items() if places.get(id) != seq}
    assert not lost, f"acknowledged and not there: {lost}"
    invented = places.keys() - {id for ids in ledger.attempted.values() for id in ids}
    assert not invented, f"there and never sent: {invented}"
    for client, ids in ledger.attempted.items():
        kept = [places[id] for id in ids if id in places]
        assert kept == sorted(kept), f"not in the order in which {client} sent them"
    for record in records:
        if record.kind == "correction":
            sent = content_of(record.id)
            text = sent.pop("text")
            body = sent if "categories" in sent else {"accept": [], "reject": []} | sent
            assert record.body == body, record.id
            assert record.text == text or (record.text is None and record.id in ledger.forgotten), record.id
    if only_acked:
        assert places.keys() == ledger.acked.keys(), places.keys() ^ ledger.acked.keys()
