"""The life of the service: it starts, takes turns on the writing thread, reloads, writes backups, and ends.

`Queries` and `Commands` do the work of the routes on the `ServedModel`.
"""

import logging
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, TypeVar

from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.errors import JournalBrokenError, JournalError, ThresherError
from thresher.journal.database import ADDRESS
from thresher.journal.journaled_model import JournaledModel
from thresher.journal.recovery import prepared_folder
from thresher.support.atomic_file import sync_folder
from thresher.web.backups import Backups
from thresher.web.commands import Commands
from thresher.web.errors import Problem, busy
from thresher.web.quality_monitor import QualityMonitor
from thresher.web.queries import Queries
from thresher.web.review_documents import ReviewDocuments
from thresher.web.served_model import ServedModel
from thresher.web.workers import WorkerPools
from thresher.web.writer import Writer

_log = logging.getLogger("thresher.web")
Result = TypeVar("Result")


class State(StrEnum):
    """The state of a service: requests are answered when it is ready."""

    STARTING = "starting"
    READY = "ready"
    BROKEN = "broken"
    ENDING = "ending"


_REFUSALS = {
    State.STARTING: "the journal is being replayed",
    State.BROKEN: "the journal cannot be written",
    State.ENDING: "the service is ending",
}


class Service:
    """The service that the routes call.

    Parameters
    ----------
    open_model : callable
        Returns the model with its journal. The journal is replayed on the writing thread, and requests are refused
        until it is done.
    holdout : sequence of Document
        Labelled documents to measure on, never learned.
    on_failure : callable
        Called with the error when the disk fails and the service must stop; the server sets it.

    Attributes
    ----------
    state : State
        Whether requests are answered.
    queries : Queries
        What the routes read.
    commands : Commands
        What the routes change.
    """

    def __init__(
        self,
        open_model: Callable[[], JournaledModel],
        *,
        holdout: Sequence[Document] = (),
        on_failure: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        self._monitor, self.on_failure = QualityMonitor(holdout), on_failure
        self.state = State.STARTING
        self._journaled_model: JournaledModel | None = None  # before its records are read, `served` is None
        self._served: ServedModel | None = None
        self.queries, self.commands = Queries(lambda: self.served), Commands(lambda: self.served)
        self.workers, self._backups = WorkerPools(), Backups()
        self._writer, self._open_model = Writer(self._fail), open_model

    def begin(self) -> Self:
        """Open the model and its journal on the writing thread; `opening` is done when the service is ready."""
        self.opening = self._writer.call(lambda: self._open(self._open_model()))
        return self

    def _open(self, journaled_model: JournaledModel) -> None:
        self._journaled_model = journaled_model
        self._served = ServedModel(journaled_model, self._monitor)
        self.state = State.READY

    @property
    def served(self) -> ServedModel:
        """The model that is served; a Problem if none is open yet."""
        if self._served is None:
            raise self._refusal()
        return self._served

    def _fail(self, error: BaseException) -> None:
        starting = self.state == State.STARTING
        refused = isinstance(error, OSError) and starting  # by the system; the command line reports it
        if isinstance(error, JournalBrokenError) or starting or self._is_stuck():
            self.state = State.BROKEN
            self.on_failure(error)
        if isinstance(error, MemoryError):
            _log.warning("there was not enough memory")
        elif not refused and not isinstance(error, Problem | ThresherError):
            _log.error("a fault of ours", exc_info=error)

    def _is_stuck(self) -> bool:
        """Return whether a saved record is not learned, or this is unknown; only a restart fixes that."""
        try:
            return self._journaled_model is not None and self._journaled_model.is_stuck()
        except (JournalError, MemoryError):
            return True

    def write(self, function: Callable[[], Result]) -> "Future[Result]":
        """Run a function on the writing thread, in turn, unless the journal breaks before."""

        def run() -> Result:
            if self.state == State.BROKEN:
                self.check_ready()
            return function()

        self.check_ready()
        return self._writer.call(run)

    def check_ready(self) -> None:
        """Refuse requests before the journal is replayed, or after it broke."""
        if self.state != State.READY:
            raise self._refusal()

    def _refusal(self) -> Problem:
        return busy(_REFUSALS.get(self.state, _REFUSALS[State.STARTING]))

    @property
    def waiting(self) -> int:
        """The number of calls that wait for the writing thread."""
        return self._writer.waiting

    # -- the end -----------------------------------------------------------------------------------------------------

    def close(self, patience: float | None = None, last_patience: float | None = None) -> None:
        """Finish waiting calls, write the model file, save a snapshot and close the journal.

        If the writing thread is not free within `patience` seconds, leave it: the journal has everything acknowledged,
        and the next start learns the rest. For the same reason, the files may stay as they were if writing them takes
        `last_patience` seconds more. Each file is replaced atomically.
        """
        if self.state != State.BROKEN:
            self.state = State.ENDING
        self.workers.stop()
        if not self._writer.end(self._close, patience, last_patience):
            _log.warning("the service ends before its last task; what was acknowledged is in the journal")
        self._monitor.stop()

    def _close(self) -> None:
        journaled_model, served = self._journaled_model, self._served
        if journaled_model is None:
            return
        if self.state == State.BROKEN:
            journaled_model.journal.close()
            return
        if served is not None and served.journaled_model is journaled_model:  # otherwise it was not opened completely
            self._write_model(served)
            self._monitor.save(journaled_model.journal)
        journaled_model.close()

    def _write_model(self, served: ServedModel) -> None:
        """Write the model file if something was learned, for readers without a journal; the journal has it all."""
        try:
            if served.journaled_model.journal.facts.get("written") != served.digest():
                served.journaled_model.write_model()
        except (OSError, ThresherError, MemoryError) as error:
            said = error.strerror if isinstance(error, OSError) else error
            _log.warning("the model file is left as it was: %s", said or "out of memory")

    # -- the journal as a whole, on the writing thread ---------------------------------------------------------------

    def backup(self, *, temporary: bool = False) -> dict[str, Any]:
        """Write a copy of the journal; see `Backups.write`."""
        return self._backups.write(self.served.journaled_model, temporary=temporary)

    def reload(self, new_journal: bool) -> dict[str, Any]:
        """Load the model file if it holds another model than the one learned from; the old journal is moved aside."""
        served = self.served
        journaled_model, path = served.journaled_model, served.journaled_model.path
        try:
            digest = Categorizer.load(path).digest()
        except OSError as error:
            raise Problem(409, f"the model's file cannot be read: {str(error.strerror).lower()}") from None
        if digest in (journaled_model.journal.facts.get("written"), served.digest()):
            return {"changed": False, "digest": served.digest()}
        if not new_journal:
            raise Problem(409, "the file has another model than this journal (new_journal moves the journal aside)")
        folder, anyway = journaled_model.journal.folder, journaled_model.journal.database.anyway
        self._prepare_journal(path, prepared_folder(folder), anyway)
        self.state = State.STARTING  # a failure from here on leaves nothing to continue with
        journaled_model.close()
        aside = Path(tempfile.mkdtemp(prefix=f"{folder.name}.before-", dir=folder.parent))
        folder.rename(aside / folder.name)
        # It takes the prepared journal. If this process dies before, the next start does so.
        self._open(JournaledModel(path, folder, anyway=anyway))
        if (aside / folder.name / ADDRESS).exists():
            (aside / folder.name / ADDRESS).rename(folder / ADDRESS)
        return {"changed": True, "digest": self.served.digest()}

    def _prepare_journal(self, path: Path, folder: Path, anyway: bool) -> None:
        """Create a journal for another model in a new folder, with the documents that are still to review."""
        if folder.exists():
            shutil.rmtree(folder)  # left by a process that was killed before it could move the other aside
        with JournaledModel(path, folder, new=True, anyway=anyway) as new:
            waiting = [one for one in self.served.documents.by_id.values() if one.state != "done"]
            ReviewDocuments(new.journal.queue).add((document.id, document.text) for document in waiting)
        sync_folder(folder.parent)
