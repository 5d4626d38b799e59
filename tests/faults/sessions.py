"""What a process of the nursery does with a journaled model, without the service; it prints each step.

Lines are "? client id" before a correction is sent, "! id seq" once it is kept, "- client id" where it was refused,
"x id" before its text is forgotten.
"""

import json
import os
import signal
import threading
from contextlib import suppress
from itertools import count
from pathlib import Path

from faults.ledger import content_of
from thresher.errors import JournalError, JournalFullError
from thresher.journal import journaled_model as desks
from thresher.journal.journaled_model import JournaledModel
from thresher.web.writer import Writer

CLIENTS = 8
CORRECTIONS = 20


def tell(*said: object) -> None:
    """Write a line at once; not by `write`, which tests let fail."""
    os.writev(1, [f"{' '.join(map(str, said))}\n".encode()])


def many_clients(model: str, round: int, unanswered: dict[str, str], snapshot_every: int) -> None:
    """Correct as the service does, one writing thread for several clients, until the process is killed.

    Each client first sends again what it had no answer to.
    """
    desks.SNAPSHOT_EVERY = snapshot_every
    desk = JournaledModel(Path(model))
    writer = Writer(lambda error: None)

    def teach(client: str) -> None:
        for number in count():
            id = unanswered.pop(client, None) or f"{client}.{round}.{number}"
            tell("?", client, id)
            tell("!", id, writer.call(lambda id=id: desk.correct(id, **content_of(id))).result().record.seq)  # type: ignore[misc]

    threads = [threading.Thread(target=teach, args=(f"c{number}",)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def short_life(model: str) -> None:
    """Start, correct some, take one back, keep snapshots in between, write the model, and shut down."""
    desks.SNAPSHOT_EVERY = 8
    with JournaledModel(Path(model)) as desk:
        for number in range(CORRECTIONS):
            _correct(desk, f"a.{number}")
            if number == CORRECTIONS // 2:
                _undo(desk, "a.4")
        desk.write_model()


def killed_life(model: str, client: str = "b") -> None:
    """Start, correct a few, and be killed."""
    desk = JournaledModel(Path(model))
    for number in range(3):
        _correct(desk, f"{client}.{number}")
    os.kill(os.getpid(), signal.SIGKILL)


def _correct(desk: JournaledModel, id: str, refusal: type[JournalError] = JournalFullError) -> None:
    """Correct, and tell of it where it is kept and where it is refused; of any other failure nothing is told."""
    client = id.partition(".")[0]
    tell("?", client, id)
    try:
        tell("!", id, desk.correct(id, **content_of(id)).record.seq)
    except refusal:
        tell("-", client, id)


def _undo(desk: JournaledModel, id: str) -> None:
    undone = desk.journal.log.find(id)
    if undone is None:
        return
    tell("?", "a", "undo")
    try:
        tell("!", "undo", desk.undo("undo", [undone.seq]).seq)
    except JournalFullError:
        tell("-", "a", "undo")


def full_life(model: str, point: str, action: str, number: int) -> None:
    """Start with something to replay, correct, take back, forget, keep snapshots, write the model and shut down.

    At a failpoint something happens; whoever is not told goes on with the next correction. Tells at its end how often
    each place was met.
    """
    from faults import failpoints

    desks.SNAPSHOT_EVERY = 8
    failpoints.set_failpoint(point, action, number)
    with JournaledModel(Path(model)) as desk:
        for count in range(CORRECTIONS):
            with suppress(failpoints.FailpointError):
                _correct(desk, f"a.{count}", JournalError)
            if count == CORRECTIONS // 2:
                with suppress(failpoints.FailpointError, JournalError):
                    _undo(desk, "a.4")
                    _forget(desk, "a.2")
        with suppress(failpoints.FailpointError, JournalError):
            desk.write_model()
    tell(json.dumps(failpoints.met))


def _forget(desk: JournaledModel, id: str) -> None:
    forgotten = desk.journal.log.find(id)
    if forgotten is not None:
        tell("x", id)
        desk.forget_text(forgotten.seq)
