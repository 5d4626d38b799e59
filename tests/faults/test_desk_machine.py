"""A desk is what a plain list and a learner without a journal are, after any sequence of whatever may happen (P18).

After each step the model has the digest of the learner and predicts what it predicts, the records are the list, and a
step that was refused has changed nothing. A crash is a copy of the folder as it lies, which a killed process leaves;
that it really is, `test_kill9` and the machine over the service show. THRESHER_MACHINES says how many sequences,
THRESHER_STEPS how long.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from faults import reference as known
from faults.harness import tell
from faults.ledger import MEMORY
from faults.reference import BASES, PROBES, Entry, Reference, run_machine
from thresher.errors import JournalError, RepeatedIdError, ThresherError
from thresher.journal.journaled_model import JournaledModel, journal_folder, skip
from thresher.journal.snapshots import backup
from thresher.text.analysers import Text

has_records = precondition(lambda machine: machine.desk is not None and len(machine.reference.entries) > 0)
SEQ = st.integers(0, 10**6)  # of a record, counted round and round


class DeskMachine(RuleBasedStateMachine):
    """A journaled model and its reference."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(mkdtemp(prefix="machine-", dir=MEMORY))
        self.desk: Any = None
        self.number = 0

    @initialize(kind=st.sampled_from(sorted(BASES)))
    def begin(self, kind: str) -> None:
        self.path = self.root / "0" / "desk.thresher"
        self.path.parent.mkdir()
        self.path.write_bytes(known.base_model(kind))
        self.reference = Reference(self.path)
        self.desk = JournaledModel(self.path)

    def teardown(self) -> None:
        if self.desk is not None:
            assert self.reference.replayed().digest() == self.desk.model.digest()
            self.desk.close()
        shutil.rmtree(self.root)

    def new_id(self) -> str:
        self.number += 1
        return f"id {self.number}"

    def picked(self, seq: int) -> int:
        return seq % len(self.reference.entries) + 1

    def both(self, expected: Callable[[], None], done: Callable[[], Any]) -> None:
        """Do the same here and there: both do it, or both refuse and have changed nothing."""
        before, count = self.reference.model.digest(), len(self.reference.entries)
        try:
            expected()
        except ThresherError:
            assert (self.reference.model.digest(), len(self.reference.entries)) == (before, count)
            self.refused(done, ThresherError)
        else:
            assert done() == count + 1

    def refused(self, done: Callable[[], object], kind: type[ThresherError]) -> None:
        with pytest.raises(kind):
            done()

    # -- looking and teaching ----------------------------------------------------------------------------------------

    @rule(text=known.documents)
    def categorize(self, text: Text) -> None:
        if self.reference.model.state.learner.is_fitted:
            assert self.desk.model.predict([text]) == self.reference.model.predict([text])

    @rule(text=known.documents, said=known.corrections, user=st.sampled_from(["", "ada"]))
    def correct(self, text: Text, said: dict[str, list[str]], user: str) -> None:
        body = {key: sorted(set(names)) for key, names in said.items()}
        entry = Entry(self.new_id(), "correction", body, text, user)
        self.both(
            lambda: self.reference.append(entry),
            lambda: self.desk.correct(entry.id, text, **said, user=user).record.seq,
        )

    @rule(change=known.changes)
    def change_categories(self, change: dict[str, Any]) -> None:
        entry = Entry(self.new_id(), "categories", change)
        self.both(lambda: self.reference.append(entry), lambda: self.changed(entry).seq)

    def changed(self, entry: Entry) -> Any:
        return self.desk.change_categories(entry.id, **entry.body)

    @has_records
    @rule(seq=SEQ)
    def again(self, seq: int) -> None:
        seq = self.picked(seq)
        entry = self.reference.entries[seq - 1]
        if entry.kind == "correction" and entry.said is None:  # all of it was forgotten, and nobody may learn it again
            self.refused(lambda: self.desk.correct(entry.id, "oil", accept=["energy"]), RepeatedIdError)
        elif entry.kind == "correction":
            taught = self.desk.correct(entry.id, entry.said, **entry.body)
            assert (taught.is_repeated, taught.record.seq) == (True, seq)
        elif entry.kind == "categories":
            assert self.changed(entry).seq == seq
        elif entry.kind == "undo":
            assert self.desk.undo(entry.id, entry.body["seqs"]).seq == seq

    @has_records
    @rule(seq=SEQ, text=known.documents, said=known.corrections)
    def other_with_the_same_id(self, seq: int, text: Text, said: dict[str, list[str]]) -> None:
        entry = self.reference.entries[self.picked(seq) - 1]
        same_body = entry.body == {key: sorted(set(names)) for key, names in said.items()}
        if not same_body or (entry.said != text and not entry.is_forgotten):
            self.refused(lambda: self.desk.correct(entry.id, text, **said), RepeatedIdError)
        self.refused(lambda: self.desk.change_categories(entry.id, "new", ["another"]), RepeatedIdError)
        self.refused(lambda: self.desk.undo(entry.id, [10**6]), RepeatedIdError)

    # -- taking back -------------------------------------------------------------------------------------------------

    @has_records
    @rule(seqs=st.lists(SEQ, min_size=1, max_size=3))
    def undo(self, seqs: list[int]) -> None:
        chosen = sorted({self.picked(seq) for seq in seqs})
        entry = Entry(self.new_id(), "undo", {"seqs": chosen})

        def undo() -> int:
            return int(self.desk.undo(entry.id, chosen).seq)

        if set(chosen) <= set(self.reference.undoable()):
            self.both(lambda: self.reference.take_back(entry, chosen), undo)
        else:
            self.refused(undo, JournalError)

    @rule()
    def undo_what_is_not_there(self) -> None:
        for seqs in ([], [0], [-1], [len(self.reference.entries) + 1]):
            self.refused(lambda seqs=seqs: self.desk.undo("nothing", seqs), JournalError)  # type: ignore[misc]

    @has_records
    @rule(seq=SEQ)
    def skip(self, seq: int) -> None:
        """Leave a record out, though it could be applied, unless a later one needs it: then nothing could start."""
        seq = self.picked(seq)
        if seq not in self.reference.undoable():
            return
        try:
            self.reference.take_back(Entry("", "skip", {"seqs": [seq]}), [seq])
        except ThresherError:
            return
        self.desk.close()
        record = skip(journal_folder(self.path), seq)
        self.reference.entries[-1] = Entry(record.id, "skip", {"seqs": [seq]})
        self.reopen()

    # -- keeping -----------------------------------------------------------------------------------------------------

    @rule()
    def snapshot(self) -> None:
        self.desk.write_snapshot()

    @rule()
    def write_model(self) -> None:
        assert self.desk.write_model() == self.reference.model.digest()

    @has_records
    @rule(seq=SEQ)
    def forget_text(self, seq: int) -> None:
        seq = self.picked(seq)
        if self.reference.entries[seq - 1].kind != "correction":
            self.refused(lambda: self.desk.forget_text(seq), JournalError)
        else:
            self.desk.forget_text(seq)
            self.reference.forget(seq)

    @has_records
    @rule(seq=SEQ)
    def forget_correction(self, seq: int) -> None:
        seq = self.picked(seq)
        entry = self.reference.entries[seq - 1]
        if entry.kind != "correction":
            self.refused(lambda: self.desk.forget_correction(seq), JournalError)
            return
        if entry.undone_by is None:
            try:
                self.reference.take_back(Entry("", "undo", {"seqs": [seq]}), [seq])
            except ThresherError:
                self.refused(lambda: self.desk.forget_correction(seq), JournalError)
                return
        self.desk.forget_correction(seq)
        if entry.undone_by is None:
            record = self.desk.journal.log.get(self.desk.position)
            self.reference.entries[-1] = Entry(record.id, "undo", {"seqs": [seq]})
        self.reference.entries[seq - 1] = self.reference.entries[seq - 1]._replace(
            body={"accept": [], "reject": []}, said=None, is_forgotten=True
        )

    @rule()
    def restart(self) -> None:
        self.desk.close()
        self.reopen()

    def reopen(self) -> None:
        self.desk = JournaledModel(self.path)
        assert self.desk.remarks == []

    @rule(unfinished=st.booleans())
    def crash(self, unfinished: bool) -> None:
        """Go on from what lies there while the desk is open, perhaps with a snapshot that was never finished."""
        place = self.root / str(len(list(self.root.iterdir())))
        shutil.copytree(self.path.parent, place)
        self.desk.journal.close()
        self.path = place / self.path.name
        if unfinished:
            (journal_folder(self.path) / ".snapshot-0000000007.thresher.a1b2c3d4.tmp").write_bytes(b"half")
        self.reopen()
        assert not list(journal_folder(self.path).glob(".*"))

    @rule(with_file=st.booleans())
    def backup_and_restore(self, with_file: bool) -> None:
        """Continue from a backup, with the model file as it is now, or without one."""
        place = self.root / str(len(list(self.root.iterdir())))
        place.mkdir()
        model = place / self.path.name
        backup(self.desk.journal, journal_folder(model))
        if with_file and self.path.exists():
            shutil.copyfile(self.path, model)
        self.desk.close()
        self.path = model
        self.reopen()

    # -- what must hold ----------------------------------------------------------------------------------------------

    @invariant()
    def is_as_the_reference(self) -> None:
        if self.desk is None:
            return
        model, twin = self.desk.model, self.reference.model
        assert model.digest() == twin.digest()
        assert model.categories == twin.categories
        self.reference.check_records(list(self.desk.journal.log.read()))
        assert self.desk.position == len(self.reference.entries)
        if twin.state.learner.is_fitted:
            assert model.predict(PROBES) == twin.predict(PROBES)


def test_a_journaled_model_behaves_like_a_list_and_a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.journal.journaled_model.SNAPSHOT_EVERY", 5)
    tell(run_machine(DeskMachine, "THRESHER_MACHINES", examples=100, steps=50))
