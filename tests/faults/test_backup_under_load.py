"""A backup made while clients correct is a true state: it opens, it is whole, and it is what its records give (P26).

`thresher journal backup` asks the running service, THRESHER_BACKUPS times. What had been acknowledged before it was
asked is in it, and it holds the first records of the journal, without a gap. Commits are slower and snapshots more
frequent than they are, so that there is something to copy and not too much to replay.
"""

import json
import shutil
from pathlib import Path

from faults.harness import clients_at_work, command_code, forked, forked_service, slow_commits, tell
from faults.ledger import Ledger, check_ledger, check_records, replayed_digest
from faults.nursery import Nursery
from support.command_line import Run
from support.tiers import number_of
from thresher import Categorizer
from thresher.journal.journal import Journal
from thresher.journal.journaled_model import journal_folder
from thresher.journal.prepared_correction import prepare_record
from thresher.journal.record import Record
from thresher.journal.replay import apply

BACKUPS, CLIENTS = number_of("THRESHER_BACKUPS", 10, quick=3), 4
PATCH = "import thresher.journal.journaled_model as d; d.SNAPSHOT_EVERY = 20"


def back_up(nursery: Nursery, model: Path, folder: Path) -> int:
    """Have a backup written by the command line, in a process of its own, and return how many records it has."""
    arguments = ["journal", "backup", str(model), str(folder), "--json"]
    with forked(nursery, model.parent, command_code(arguments)) as running:
        printed = running.rest()
        assert running.wait() == 0, running.said()
    return int(json.loads(printed)["records"])


def restored(model: Path, backup: Path) -> Path:
    """Put a backup next to a copy of the model, as its journal, and return that model."""
    copy = backup.with_name(f"{backup.name}-restored") / model.name
    copy.parent.mkdir()
    shutil.copyfile(model, copy)
    shutil.copytree(backup, journal_folder(copy))
    return copy


def records_in(model: Path) -> list[Record]:
    with Journal(journal_folder(model)) as journal:
        assert journal.find_damage() == []
        return [record._replace(effect=None) for record in journal.log.read()]


def digests_at(begun: Path, records: list[Record], places: set[int]) -> dict[int, str]:
    """Return the digests that the first so many records give, by learning all of them once."""
    model, digests = Categorizer.load(begun), dict[int, str]()
    for record in records:
        apply(model, record, prepare_record(model.state, record, []))
        if record.seq in places:
            digests[record.seq] = model.digest()
    return digests


def test_every_backup_is_a_consistent_state(nursery: Nursery, model: Path, called: Run) -> None:
    ledger, backups = Ledger(), list[tuple[Path, dict[str, int], int]]()
    begun = shutil.copyfile(model, model.with_name("begun.thresher"))
    with (
        forked_service(nursery, model, PATCH + slow_commits(0.004, model.with_name("commits"))) as service,
        clients_at_work(service, ledger, CLIENTS),
    ):
        assert ledger.has_ack.wait(30)
        for number in range(BACKUPS):
            folder, before = model.with_name(f"backup{number}"), dict(ledger.acked)
            backups.append((folder, before, back_up(nursery, model, folder)))
        service.kill()
    last = [record._replace(effect=None) for record in check_ledger(model, ledger)]
    digests = digests_at(begun, last, {count for _, _, count in backups})
    for folder, before, count in backups:
        copy = restored(begun, folder)
        records = records_in(copy)
        assert records == last[: len(records)]
        assert len(records) == count
        assert {record.id for record in records} >= before.keys()
        checked = json.loads(called("journal", "check", copy, "--json").out)
        assert checked == {"records": count, "undone": 0, "digest": digests[count], "remarks": []}
    assert replayed_digest(copy) == digests[count], "the last of them from its first record on"
    assert backups[-1][2] > backups[0][2], "nothing was corrected meanwhile"
    tell(f"{BACKUPS} backups while {len(ledger.acked):,} corrections were acknowledged, each a true state")


def test_a_backup_can_be_taught_further(nursery: Nursery, model: Path) -> None:
    ledger = Ledger()
    with forked_service(nursery, model) as service, clients_at_work(service, ledger, CLIENTS):
        assert ledger.has_ack.wait(30)
        back_up(nursery, model, model.with_name("backup"))
        service.kill()
    copy = restored(model, model.with_name("backup"))
    kept = records_in(copy)
    later = Ledger()
    later.attempted = {client: list(ids) for client, ids in ledger.attempted.items()}
    with forked_service(nursery, copy) as service:
        assert service.position == len(kept)
        with clients_at_work(service, later, CLIENTS, round=1):
            assert later.has_ack.wait(30)
            service.kill()
    check_records(records_in(copy)[: len(kept)], ledger_of(kept))
    assert len(check_ledger(copy, later)) > len(kept)


def ledger_of(records: list[Record]) -> Ledger:
    """Return the ledger of records that were all acknowledged."""
    ledger = Ledger()
    for record in records:
        ledger.attempt(record.id.partition(".")[0], record.id)
        ledger.ack(record.id, record.seq)
    return ledger
