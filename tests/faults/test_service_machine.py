"""The service, asked over HTTP and killed now and then, is what a plain list and a learner without a journal are (P18).

The same as `test_desk_machine` does to a desk, through the routes, with SIGKILL and SIGTERM to a real process, and with
backups that take the place of the journal. THRESHER_SERVICE_MACHINES says how many sequences.
"""

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from faults import reference as known
from faults.harness import Answer, client_of, forked_service, tell
from faults.ledger import MEMORY
from faults.nursery import Nursery
from faults.reference import BASES, PROBES, Entry, Reference, run_machine
from thresher.errors import ThresherError
from thresher.journal.journaled_model import journal_folder
from thresher.text.analysers import Text

has_records = precondition(lambda machine: machine.is_running and len(machine.reference.entries) > 0)
PATCH = "import thresher.journal.journaled_model as d; d.SNAPSHOT_EVERY = 5"
SEQ = st.integers(0, 10**6)  # of a record, counted round and round


class ServiceMachine(RuleBasedStateMachine):
    """A service and its reference."""

    nursery: Nursery

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(mkdtemp(prefix="machine-", dir=MEMORY))
        self.running = ExitStack()
        self.is_running = False
        self.number = 0

    @initialize(kind=st.sampled_from(sorted(BASES)))
    def begin(self, kind: str) -> None:
        self.path = self.root / "desk.thresher"
        self.path.write_bytes(known.base_model(kind))
        self.reference = Reference(self.path)
        self.start()

    def start(self) -> None:
        self.service = self.running.enter_context(forked_service(self.nursery, self.path, PATCH))
        self.client = self.running.enter_context(client_of(self.service))
        self.is_running = True

    def teardown(self) -> None:
        self.running.close()
        shutil.rmtree(self.root)

    def new_id(self) -> str:
        self.number += 1
        return f"id {self.number}"

    def picked(self, seq: int) -> tuple[int, Entry]:
        seq = seq % len(self.reference.entries) + 1
        return seq, self.reference.entries[seq - 1]

    def both(self, expected: Callable[[], None], ask: Callable[[], Answer]) -> None:
        """Do the same here and there: both do it, or both refuse, which leaves all as it was."""
        try:
            expected()
        except ThresherError:
            answer = ask()
            assert answer.status in (409, 422), answer
        else:
            answer = ask()
            assert (answer.status, answer.body["seq"]) in ((200, self.count), (201, self.count)), answer

    @property
    def count(self) -> int:
        return len(self.reference.entries)

    def correct(self, id: str, text: Text | None, said: dict[str, Any]) -> Answer:
        return self.client.ask("POST", "/v1/corrections", {"id": id, "text": text, "create_category": True} | said)

    def change(self, id: str, change: dict[str, Any]) -> Answer:
        named = {"names": change["names"]} if change["change"] == "merge" else {"name": change["names"][0]}
        rest = {key: value for key, value in change.items() if key != "names"}
        return self.client.ask("POST", "/v1/categories", {"id": id} | named | rest)

    # -- what clients do ---------------------------------------------------------------------------------------------

    @rule(text=known.documents)
    def categorize(self, text: Text) -> None:
        self.check_prediction(text)

    @rule(text=known.documents, said=known.corrections)
    def teach(self, text: Text, said: dict[str, list[str]]) -> None:
        body = {key: sorted(set(names)) for key, names in said.items()}
        entry = Entry(self.new_id(), "correction", body, text)
        self.both(lambda: self.reference.append(entry), lambda: self.correct(entry.id, text, said))

    @rule(change=known.changes)
    def change_categories(self, change: dict[str, Any]) -> None:
        entry = Entry(self.new_id(), "categories", change)
        self.both(lambda: self.reference.append(entry), lambda: self.change(entry.id, change))

    @has_records
    @rule(seq=SEQ)
    def again(self, seq: int) -> None:
        seq, entry = self.picked(seq)
        if entry.kind != "undo":
            send = self.correct(entry.id, entry.said, entry.body) if entry.said else self.change(entry.id, entry.body)
            assert (send.status, send.body["seq"]) == (200, seq), send

    @has_records
    @rule(seq=SEQ, text=known.documents)
    def other_with_the_same_id(self, seq: int, text: Text) -> None:
        _, entry = self.picked(seq)
        if (entry.said, entry.body) != (text, {"categories": []}):
            assert self.correct(entry.id, text, {"categories": []}).status == 409
        assert self.change(entry.id, {"change": "new", "names": ["another"]}).status == 409

    @has_records
    @rule(seq=SEQ)
    def undo(self, seq: int) -> None:
        seq, entry = self.picked(seq)

        def ask() -> Answer:
            return self.client.ask("DELETE", f"/v1/corrections/{quote(entry.id)}")

        if entry.kind == "undo":
            assert ask().status == 404
        elif entry.undone_by is not None:
            assert ask().body["seq"] == entry.undone_by
        else:
            noted = Entry("", "undo", {"seqs": [seq]})
            before = self.count
            self.both(lambda: self.reference.take_back(noted, [seq]), ask)
            if self.count > before:
                (made,) = self.listed(after=before)
                self.reference.entries[-1] = noted._replace(id=made["id"])

    # -- what happens to it ------------------------------------------------------------------------------------------

    @rule()
    def kill(self) -> None:
        self.service.kill()
        self.restart()

    @rule()
    def stop(self) -> None:
        assert self.service.stop() == 0, self.service.running.said()
        self.restart()

    def restart(self) -> None:
        self.running.close()
        self.start()
        assert self.service.position == self.count

    @rule(keep_file=st.booleans())
    def backup_and_restore(self, keep_file: bool) -> None:
        answer = self.client.ask("POST", "/v1/backup", {})
        assert (answer.status, answer.body["records"]) == (200, self.count)
        self.service.kill()
        folder = journal_folder(self.path)
        (folder / answer.body["folder"]).rename(self.root / "backup")
        shutil.rmtree(folder)
        (self.root / "backup").rename(folder)
        if not keep_file:
            self.path.unlink(missing_ok=True)
        self.restart()

    # -- what must hold ----------------------------------------------------------------------------------------------

    def listed(self, after: int = 0) -> list[dict[str, Any]]:
        answer = self.client.ask("GET", f"/v1/corrections?limit=500&after={after}")
        found: list[dict[str, Any]] = answer.body["corrections"]
        return found

    def check_prediction(self, text: Text) -> None:
        twin, answer = self.reference.model, self.client.ask("POST", "/v1/categorize", {"text": text})
        expected = twin.predict([text])[0] if twin.state.learner.is_fitted and twin.categories else []
        assert (answer.status, answer.position) == (200, self.count)
        assert [found["category"] for found in answer.body["categories"]] == expected

    @invariant()
    def is_as_the_reference(self) -> None:
        if not self.is_running:
            return
        about = self.client.ask("GET", "/v1/model").body
        assert (about["digest"], about["position"]) == (self.reference.model.digest(), self.count)
        shown = [(record["id"], record["kind"], record["undone_by"]) for record in self.listed()]
        assert shown == [(entry.id, entry.kind, entry.undone_by) for entry in self.reference.entries]
        self.check_prediction(PROBES[0])


def test_a_service_behaves_like_a_list_and_a_learner(nursery: Nursery) -> None:
    ServiceMachine.nursery = nursery
    tell(run_machine(ServiceMachine, "THRESHER_SERVICE_MACHINES", examples=10, steps=30))
