"""A full disk refuses corrections and loses none; with room again they are kept again (P4).

At the desk every write fails from the K-th on, by strace; the process ends with all that it said it kept and nothing
else. At the service the room ends and comes back: by strace, for some writes, and by a limit to the pages of the file.
"""

from pathlib import Path

import pytest

from faults.harness import (
    Answer,
    Service,
    client_of,
    command_code,
    forked,
    forked_service,
    service_arguments,
)
from faults.ledger import Ledger, check_ledger
from faults.nursery import Nursery
from faults.sessions import CORRECTIONS
from faults.tracing import injected, needs_strace
from support.tiers import few
from thresher.journal.journaled_model import JournaledModel

LAST = 60
# The file has no room as long as another one is there.
LIMITED = """
from pathlib import Path
from thresher.journal.journal import Journal
append = Journal.append
def limited(self, *given, **more):
    ((pages,),) = self.database.query("PRAGMA page_count")
    self.database.query(f"PRAGMA max_page_count={{pages if Path({full!r}).exists() else 2**30}}")
    return append(self, *given, **more)
Journal.append = limited
"""


@needs_strace
@pytest.mark.parametrize("number", few(range(1, LAST + 1), quick=5))
def test_a_full_disk_loses_no_acknowledged_correction(nursery: Nursery, model: Path, number: int) -> None:
    ledger = Ledger()
    code = f"from faults.sessions import short_life\nshort_life({str(model)!r})"
    with (
        forked(nursery, model.parent, code, traced=True) as running,
        injected(running, "pwrite64", f"error=ENOSPC:when={number}+"),
    ):
        told = running.rest()
        if running.wait() != 0:  # it could not begin, or not keep what it would only have to replay
            assert "JournalFullError" in running.said()
        else:
            assert "\n-" in told, "nothing was refused"
    ledger.read(told)
    check_ledger(model, ledger, only_acked=True)


@needs_strace
def test_a_snapshot_without_room_fails_no_correction(nursery: Nursery, model: Path) -> None:
    ledger = Ledger()
    JournaledModel(model).close()  # which keeps the first snapshot
    code = f"from faults.sessions import short_life\nshort_life({str(model)!r})"
    with (
        forked(nursery, model.parent, code, traced=True) as running,
        injected(running, "write", "error=ENOSPC:when=3+"),  # after two notes in the lock
    ):
        told = running.rest()
        assert running.wait() != 0, "the model file was asked for, and could not be written"
    ledger.read(told)
    assert len(ledger.acked) == CORRECTIONS + 1, told
    check_ledger(model, ledger, only_acked=True)


@needs_strace
@pytest.mark.parametrize("number", [70, 100])
def test_a_service_refuses_while_the_disk_is_full_and_goes_on_later(nursery: Nursery, model: Path, number: int) -> None:
    ledger = Ledger()
    with (
        forked(nursery, model.parent, command_code(service_arguments(model)), traced=True) as running,
        injected(running, "pwrite64", f"error=ENOSPC:when={number}..{number + 5}"),
    ):
        service = Service(running)
        with client_of(service, "a", ledger) as client:
            answers = [client.correct(f"a.{correction}") for correction in range(40)]
            check_refusals(answers)
            again = [client.correct(f"a.{i}") for i, answer in enumerate(answers) if answer.status == 507]
            assert {answer.status for answer in again} == {201}
        assert service.stop() == 0, running.said()
    records = check_ledger(model, ledger, only_acked=True)
    assert len(records) == 40


def check_refusals(answers: list[Answer]) -> None:
    assert {answer.status for answer in answers} == {201, 507}
    assert answers[-1].status == 201, "with room again the next correction is kept"
    refused = next(answer for answer in answers if answer.status == 507)
    assert refused.body["title"] == "Insufficient Storage"


def test_a_service_still_categorizes_if_its_file_cannot_grow(nursery: Nursery, model: Path) -> None:
    ledger, full = Ledger(), model.with_name("full")
    with forked_service(nursery, model, LIMITED.format(full=str(full))) as service:
        with client_of(service, "a", ledger) as client:
            assert client.correct("a.0").status == 201
            full.touch()
            answers = [client.correct(f"a.{correction}") for correction in range(1, 60)]
            assert 507 in {answer.status for answer in answers}
            assert {answer.status for answer in answers} <= {201, 507}
            seen = client.ask("POST", "/v1/categorize", {"text": "crude oil"})
            assert (seen.status, seen.position) == (200, len(ledger.acked))
            assert client.ask("GET", "/readyz").status == 200
            full.unlink()
            assert client.correct("a.60").status == 201
        service.kill()
    check_ledger(model, ledger, only_acked=True)
