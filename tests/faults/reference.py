"""What a journal should hold and what its model should be: a plain list, and a learner that knows of no journal."""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from faults.harness import new_seed
from support.corpora import COMMON, WORDS, made_up
from support.tiers import number_of
from thresher import Categorizer
from thresher.journal.record import Record
from thresher.text.analysers import Text

# A model that was trained; one that has room for few more words; one of another kind; one that knows nothing yet.
BASES: dict[str, dict[str, Any]] = {
    "trained": {"preset": "fast"},
    "almost full": {"preset": "fast", "max_features": 88},
    "paper": {"preset": "paper"},
    "new": {"preset": "fast"},
}
NAMES = [*sorted(WORDS), "bees", "wasps", "flies"]
KNOWN = sorted({word for words in WORDS.values() for word in words.split()[:4]} | set(COMMON.split()[:8]))
PROBES = [" ".join(KNOWN), "oil fresh1 fresh2", "wheat gold fresh3 fresh4", "nothing that is known"]

texts = st.lists(st.sampled_from(KNOWN) | st.integers(1, 60).map("fresh{}".format), max_size=4).map(" ".join)
documents = texts | st.builds(lambda title, body: {"title": title, "body": body}, texts, texts)
some_names = st.lists(st.sampled_from(NAMES), max_size=2)
corrections = st.builds(lambda accept, reject: {"accept": accept, "reject": reject}, some_names, some_names)
corrections |= st.builds(lambda names: {"categories": names}, some_names)
name = st.sampled_from(NAMES)
changes = (
    st.builds(lambda name: {"change": "new", "names": [name]}, name)
    | st.builds(lambda name: {"change": "retire", "names": [name]}, name)
    | st.builds(lambda name, into: {"change": "rename", "names": [name], "into": into}, name, name)
    | st.builds(lambda names, into: {"change": "merge", "names": names, "into": into}, st.lists(name, max_size=3), name)
    | st.builds(lambda name, to: {"change": "threshold", "names": [name], "threshold": to}, name, st.floats(-1, 3))
)


@cache
def base_model(kind: str) -> bytes:
    """Return the file of a model to begin with."""
    model, corpus = Categorizer(min_count=1, **BASES[kind]), made_up(30, single=True)
    if kind != "new":
        model.fit(*corpus)
    with TemporaryDirectory() as folder:
        model.save(Path(folder, "model"))
        return Path(folder, "model").read_bytes()


class Entry(NamedTuple):
    """A record as it should be; `said` is its text, which is known here when the journal has forgotten it."""

    id: str
    kind: str
    body: dict[str, Any]
    said: Text | None = None
    user: str = ""
    undone_by: int | None = None
    is_forgotten: bool = False

    def is_kept_as(self, record: Record) -> bool:
        """Return whether a record holds this."""
        text = None if self.is_forgotten else self.said
        kept = (record.id, record.kind, record.body, record.text, record.user, record.undone_by)
        return kept == (self.id, self.kind, self.body, text, self.user, self.undone_by)


class Reference:
    """The list and the learner.

    Parameters
    ----------
    model : path
        The file that both this and the journal begin with.
    """

    def __init__(self, model: Path) -> None:
        self.base = model.read_bytes()
        self.entries: list[Entry] = []
        self.model = self.first_model()

    def first_model(self) -> Categorizer:
        """Return the model that it began with."""
        with TemporaryDirectory() as folder:
            path = Path(folder, "model")
            path.write_bytes(self.base)
            return Categorizer.load(path)

    def append(self, entry: Entry) -> None:
        """Learn and note an entry; one that cannot be learned is neither, and what the learner raises is raised."""
        learn(self.model, entry)
        self.entries.append(entry)

    def take_back(self, entry: Entry, seqs: Sequence[int]) -> None:
        """Add an entry that undoes others, and learn the remaining ones again; change nothing if that is impossible."""
        number = len(self.entries) + 1
        marked = [
            old._replace(undone_by=number) if seq in seqs else old for seq, old in enumerate(self.entries, 1)
        ]  # fmt: skip
        self.model = self.replayed(marked)
        self.entries = [*marked, entry]

    def replayed(self, entries: Sequence[Entry] | None = None) -> Categorizer:
        """Return the first model after learning all entries in effect."""
        model = self.first_model()
        for entry in self.entries if entries is None else entries:
            if entry.undone_by is None:
                learn(model, entry)
        return model

    def forget(self, seq: int) -> None:
        """Note that a text was forgotten."""
        self.entries[seq - 1] = self.entries[seq - 1]._replace(is_forgotten=True)

    def undoable(self) -> list[int]:
        """Return the places of what may be taken back, if nothing later needs it."""
        kinds = ("correction", "categories")
        return [seq for seq, e in enumerate(self.entries, 1) if e.kind in kinds and e.undone_by is None]

    def check_records(self, records: Sequence[Record]) -> None:
        """Hold records against the list."""
        assert [record.seq for record in records] == list(range(1, len(self.entries) + 1))
        for entry, record in zip(self.entries, records, strict=True):
            assert entry.is_kept_as(record), (entry, record)


def learn(model: Categorizer, entry: Entry) -> None:
    """Do what an entry says, by the verbs of the library."""
    body = entry.body
    if entry.kind == "correction":
        assert entry.said is not None
        if "categories" in body:
            model.partial_fit([entry.said], [body["categories"]])
        else:
            model.learn(entry.said, body["accept"], body["reject"])
    elif entry.kind == "categories":
        names, into = body["names"], body.get("into", "")
        verbs = {
            "new": lambda: model.add_category(*names),
            "retire": lambda: model.retire_category(*names),
            "rename": lambda: model.rename_category(names[0], into),
            "merge": lambda: model.merge_categories(names, into),
            "threshold": lambda: model.set_threshold(names[0], body["threshold"]),
        }
        verbs[body["change"]]()


def run_machine(machine: type[RuleBasedStateMachine], variable: str, examples: int, steps: int) -> str:
    """Let a machine take its steps: always the same in every test run, others by a seed where a soak asks for more.

    Returns how much was done.
    """
    count, steps = number_of(variable, examples, quick=max(examples // 10, 2)), number_of("THRESHER_STEPS", steps)
    is_soak = variable in os.environ
    if is_soak:
        seed(new_seed())(machine)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=count,
            stateful_step_count=steps,
            derandomize=not is_soak,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        ),
    )
    return f"{count} sequences of up to {steps} steps"
