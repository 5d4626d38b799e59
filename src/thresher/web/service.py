"""A model, its journal and its documents to review, with a single writing thread.

Readers use `view`, which is replaced after each correction and never blocks. Writers, and readers of the journal, use
`write`.
"""

import errno
import logging
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self, TypeVar
from uuid import uuid4

from thresher import __version__
from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.errors import JournalBrokenError, JournalError, RepeatedIdError, ThresherError
from thresher.journal.category_history import Renames
from thresher.journal.database import ADDRESS, LONGEST_ID, Record
from thresher.journal.journaled_model import JournaledModel
from thresher.journal.recovery import prepared_folder
from thresher.journal.snapshots import backup
from thresher.model.online_learning import check_words
from thresher.support.atomic_file import remove_folder_left, sync_folder
from thresher.text.analysers import Text
from thresher.web import quality, serializers
from thresher.web.access_tokens import Holder
from thresher.web.category_input import CategoryNames, check_distinct, clean
from thresher.web.correction_stats import Tally, categories_in
from thresher.web.errors import Problem, busy
from thresher.web.quality_monitor import Watch
from thresher.web.request_models import CategoryChange, CorrectionIn, Merge, NewCategory, NewThreshold, Rename
from thresher.web.review_documents import Pool
from thresher.web.review_order import Queue, disagreement, few_letters, reviewed
from thresher.web.workers import Pools
from thresher.web.writer import Writer

LATEST_MISTAKES = 10
MOST_CORRECTIONS = 20  # per document, that the queue shows
_FETCHED_WITHIN = 60.0  # seconds in which the process that moves a temporary backup locks it
_log = logging.getLogger("thresher.web")
Result = TypeVar("Result")


class Service:
    """The service that the routes call.

    Parameters
    ----------
    opened : callable
        Returns the model with its journal. The journal is replayed on the writing thread, and requests are refused
        until it is done.
    holdout : sequence of Document
        Labelled documents to measure on, never learned.
    ended : callable
        Called when the disk fails and the service must stop.
    """

    def __init__(
        self,
        opened: Callable[[], JournaledModel],
        *,
        holdout: Sequence[Document] = (),
        ended: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        self.watch, self._ended = Watch(holdout), ended
        self.state = "starting"
        self._temporary: dict[str, float] = {}  # backups to be moved away, and when they were made
        self.pools, self._names = Pools(), CategoryNames([])
        self._forget()
        self._writer, self._opened = Writer(self._failed), opened

    def begin(self) -> Self:
        """Open the model and its journal on the writing thread; `opening` is done when the service is ready."""
        self.opening = self._writer.call(lambda: self._open(self._opened()))
        return self

    def _forget(self) -> None:
        """Drop everything cached about a model at a position."""
        self.queue = Queue()
        self._digest: tuple[int, str] | None = None

    def _open(self, desk: JournaledModel) -> None:
        self._forget()
        self.desk, self._remarked = desk, len(desk.remarks)  # the caller that opened it reports those
        self.pool = Pool(desk.journal)
        self.watch.begin(desk.model, desk.journal)
        self._read_records()
        self._publish()
        self.state = "ready"

    def _read_records(self) -> None:
        """Read the active corrections and category names; it takes a second for 100,000 records."""
        self.renames = Renames.of(self.desk.journal)
        self.tally = Tally(self.desk, self.renames)
        self.watch.read_taught(self.desk.journal)

    def _publish(self) -> None:
        """Publish the current model for readers, and measure it from time to time."""
        for remark in self.desk.remarks[self._remarked :]:
            _log.warning("%s", remark)
        self._remarked = len(self.desk.remarks)
        self.shown = self.watch.published(self.desk.model.view(), self.desk.position, self.renames)
        self.watch.keep(self.desk.journal)

    @property
    def view(self) -> Categorizer:
        """The last published model."""
        return self.shown.model

    @property
    def position(self) -> int:
        """The last record that the published model has learned."""
        return self.shown.position

    def _failed(self, error: BaseException) -> None:
        refused = isinstance(error, OSError) and self.state == "starting"  # by the system; the command line reports it
        if isinstance(error, JournalBrokenError) or self.state == "starting" or self._is_stuck():
            self.state = "broken"
            self._ended(error)
        if isinstance(error, MemoryError):
            _log.warning("there was not enough memory")
        elif not refused and not isinstance(error, Problem | ThresherError):
            _log.error("a fault of ours", exc_info=error)

    def _is_stuck(self) -> bool:
        """Return whether a saved record is not learned, or this is unknown; only a restart fixes that."""
        try:
            return hasattr(self, "desk") and self.desk.is_stuck()
        except (JournalError, MemoryError):
            return True

    def write(self, function: Callable[[], Result]) -> "Future[Result]":
        """Run a function on the writing thread, in turn, unless the journal breaks before."""

        def in_turn() -> Result:
            if self.state == "broken":
                self.check_ready()
            return function()

        self.check_ready()
        return self._writer.call(in_turn)

    def check_ready(self) -> None:
        """Refuse requests before the journal is replayed, or after it broke."""
        if self.state != "ready":
            said = {"starting": "the journal is being replayed", "broken": "the journal cannot be written"}
            raise busy(said.get(self.state, "the service is ending"))

    @property
    def waiting(self) -> int:
        """The number of calls that wait for the writing thread."""
        return self._writer.waiting

    def close(self, patience: float | None = None, last_patience: float | None = None) -> None:
        """Finish waiting calls, write the model file, save a snapshot and close the journal.

        If the writing thread is not free within `patience` seconds, leave it: the journal has everything acknowledged,
        and the next start learns the rest. For the same reason, the files may stay as they were if writing them takes
        `last_patience` seconds more. Each file is replaced atomically.
        """
        if self.state != "broken":
            self.state = "ending"
        self.pools.stop()
        if not self._writer.end(self._close, patience, last_patience):
            _log.warning("the service ends before its last task; what was acknowledged is in the journal")
        self.watch.stop()

    def _close(self) -> None:
        if hasattr(self, "desk"):
            if self.state == "broken":
                self.desk.journal.close()
            else:
                self._write_model()
                self.watch.keep(self.desk.journal)
                self.desk.close()

    def _write_model(self) -> None:
        """Write the model file if something was learned, for readers without a journal; the journal has it all."""
        try:
            if self.desk.journal.fact("written") != self.digest():
                self.desk.write_model()
        except (OSError, ThresherError, MemoryError) as error:
            said = error.strerror if isinstance(error, OSError) else error
            _log.warning("the model file is left as it was: %s", said or "out of memory")

    # -- reading -----------------------------------------------------------------------------------------------------

    def categorize(
        self, texts: list[Text], ids: list[str], *, top: int | None, details: bool, explain: bool | str
    ) -> Iterator[dict[str, Any]]:
        """Return the categories of texts one by one, with explanations if requested."""
        model = self.view
        if isinstance(explain, str):
            self.names_of(model).check_known(explain)
        return serializers.answered(model, texts, ids, top=top, details=details, explain=explain)

    def names_of(self, model: Categorizer) -> CategoryNames:
        """Return the category names of a model, for lookups."""
        found = self._names
        if found.names is not model.categories:
            found = self._names = CategoryNames(model.categories)
        return found

    def queued(
        self, order: str, category: str | None, words: str, state: str, limit: int, offset: int
    ) -> tuple[list[dict[str, Any]], int]:
        """Return a page of documents to review with their predictions, in review order, and the number of matches."""
        model, position = self.view, self.position
        if category is not None:
            self.names_of(model).check_known(category)
        wanted = words.casefold()
        found = [
            document
            for document in self.queue.ordered(model, position, self.pool, order, category)
            if document.state == state and (not wanted or wanted in document.plain.casefold())
        ]
        shown = few_letters(found[offset : offset + limit])
        return [reviewed(model, one, category) for one in shown], len(found)

    def with_corrections(self, document: dict[str, Any]) -> dict[str, Any]:
        """Add the last corrections of a document, and where teachers disagree. Runs on the writing thread."""
        digest = document.pop("digest")
        said = [
            {"seq": record.seq, "user": record.user, "accept": [], "reject": [], "categories": None}
            | {key: value for key, value in self.renames.renamed(record).items() if key not in ("document", "seeds_of")}
            for record in self.desk.journal.of_features(digest, MOST_CORRECTIONS)
        ]
        return document | {"corrections": said, "disagreement": disagreement(said)}

    def categories(self) -> dict[str, Any]:
        """Return all categories with their quality."""
        shown = self.shown
        found = self.watch.measured(shown)
        rows = [self._category(shown.model, found, name) for name in shown.model.categories]
        return {"categories": rows, "measured_on": self.watch.measured_on(shown, found)}

    def _category(self, model: Categorizer, found: quality.Quality | None, name: str) -> dict[str, Any]:
        rates = found.rows.get(name, {}) if found else {}
        return serializers.category(model, name, rates) | {"corrections": self.tally.named[name]}

    def category(self, name: str) -> dict[str, Any]:
        """Return the details of one category, except its latest mistakes."""
        shown = self.shown
        self.names_of(shown.model).check_known(name)
        found = self.watch.measured(shown)
        about = self._category(shown.model, found, name)
        about |= serializers.strongest_words(shown.model, name)
        about["curve"] = quality.curve(found, name, about["threshold"]) if found else []
        about["measured_on"] = self.watch.measured_on(shown, found)
        return about

    def latest_mistakes(self, name: str) -> list[dict[str, Any]]:
        """Return the last corrections for which a category was wrong. Runs on the writing thread."""
        self.desk.keep_effects()
        return list(map(serializers.recorded, self.desk.journal.mistakes_of(self.renames.then(name), LATEST_MISTAKES)))

    def stats(self) -> dict[str, Any]:
        """Return the statistics since the journal began."""
        return self.tally.summary() | {"holdout": self.watch.summary(self.shown), "documents": self.pool.counts()}

    # -- the journal, on the writing thread --------------------------------------------------------------------------

    def digest(self) -> str:
        """Return the digest of the current model."""
        if self._digest is None or self._digest[0] != self.desk.position:
            self._digest = self.desk.position, self.desk.model.digest()
        return self._digest[1]

    def about(self) -> dict[str, Any]:
        """Return a description of the model."""
        which = {"model": self.desk.path.name, "version": __version__, "digest": self.digest()}
        return which | {"position": self.desk.position} | serializers.about(self.desk.model)

    def correct(self, given: CorrectionIn, user: str) -> tuple[dict[str, Any], bool]:
        """Save and learn a correction; return its effect, and whether it was known already."""
        known = self.desk.journal.by_id(given.id)
        text = self._text_of(given) if known is None else self._repeated_text(given, known)
        renamed = self._renamed(given, known)
        taught = self.desk.correct(
            given.id,
            text,
            accept=[renamed[name] for name in given.accept],
            reject=[renamed[name] for name in given.reject],
            categories=None if given.categories is None else [renamed[name] for name in given.categories],
            user=user,
            document=given.document,
        )
        effect = taught.record.effect or {"predicted": [], "mistakes": [], "promoted": {}, "demoted": {}}
        correction = taught.correction
        if not taught.repeated:
            self.tally.add(taught.record, wrong=bool(effect["mistakes"]))
            self.watch.add_taught(taught.record.digest)
            if given.document is not None:
                self.pool.corrected(given.document)
            self._publish()
        return {
            "seq": taught.record.seq,
            "id": given.id,
            "repeated": taught.repeated,
            "undone_by": taught.record.undone_by,
            "position": self.desk.position,
            "new_categories": correction.new_categories if correction else [],
            "effect": effect,
            "words": serializers.changed_words(correction) if correction else {},
        }, taught.repeated

    def _text_of(self, given: CorrectionIn) -> Text:
        if given.text is not None:
            return given.text
        return self.pool.get(str(given.document)).text

    def _repeated_text(self, given: CorrectionIn, known: Record) -> Text:
        """Return the text of a repeated correction; its document may be deleted by now."""
        same = given.document is not None and known.body.get("document") == given.document
        text: Text = (known.text or "") if same else self._text_of(given)  # empty if it was forgotten
        return text

    def _renamed(self, given: CorrectionIn, before: Record | None) -> dict[str, str]:
        """Return the names of a correction in their known form; for a repeated correction, as they were sent before."""
        named = {*given.accept, *(given.categories or ())}
        if before is not None:
            said = categories_in(before.body)
            return {name: name if name in said else clean(name) for name in {*named, *given.reject}}
        known = self.names_of(self.desk.model)
        found = {name: known.known_name(name, create=given.create_category) for name in named}
        check_distinct([name for name in found.values() if name not in known])
        return found | {name: known.known_name(name, create=False) for name in {*given.reject} - named}

    def change_categories(self, id: str, given: CategoryChange, user: str) -> dict[str, Any]:
        """Save and apply a change of the categories; seed words of a new category become its first document."""
        names = given.names if isinstance(given, Merge) else [given.name]
        into = clean(given.into) if isinstance(given, Rename | Merge) else ""
        words = given.words if isinstance(given, NewCategory) else []
        threshold = given.threshold if isinstance(given, NewThreshold) else 0.0
        if given.change == "new":
            names = [clean(name) for name in names]
        if self.desk.journal.by_id(id) is None:
            for name in names if given.change == "new" else [into] if into else []:
                self.names_of(self.desk.model).check_new(name, but=names)
            self._check_words(f"{id} words", words, names)
        elif words and names[0] not in self.desk.model.categories and self.desk.journal.by_id(f"{id} words") is None:
            raise RepeatedIdError("the words of a category that has another name now are something else")
        position = self.desk.position
        record = self.desk.change_categories(id, given.change, names, into=into, threshold=threshold, user=user)
        if record.seq > position:  # otherwise it is a repeated one
            self.renames = self.renames.followed_by(record.seq, record.body)
            if given.change in ("rename", "merge", "retire"):
                self.tally.rename(names, into or None)
        try:
            if words:
                self._give_words(record, words, user)
        finally:
            self._publish()
        return {"seq": record.seq, "id": id, "position": self.desk.position, "categories": self.desk.model.categories}

    def _give_words(self, change: Record, words: Sequence[str], user: str) -> None:
        """Teach a new category its seed words, and note the change they belong to in their record."""
        known = self.desk.journal.by_id(f"{change.id} words")
        seeds_of = change.seq if known is None else known.body.get("seeds_of")  # version 0.1 did not store it
        names, text = change.body["names"], " ".join(words)
        taught = self.desk.correct(f"{change.id} words", text, accept=names, user=user, seeds_of=seeds_of)
        if not taught.repeated:
            self.tally.add(taught.record, wrong=bool(taught.record.effect and taught.record.effect["mistakes"]))
            self.watch.add_taught(taught.record.digest)

    def _words_of(self, change: Record) -> Record | None:
        """Return the record of a new category's seed words, and no other correction that has their id."""
        words = self.desk.journal.by_id(f"{change.id} words")
        if words is None or words.undone_by is not None or change.body.get("change") != "new":
            return None
        if "seeds_of" in words.body:
            return words if words.body["seeds_of"] == change.seq else None
        same = (change.seq + 1, change.user, change.body["names"])  # as version 0.1 wrote them
        return words if (words.seq, words.user, words.body.get("accept")) == same else None

    def _check_words(self, id: str, words: Sequence[str], names: list[str]) -> None:
        """Refuse seed words that could not be learned, before their category is created."""
        if words and len(id) > LONGEST_ID:
            raise Problem(422, "id: too long for a change that has words")
        if words and self.desk.journal.by_id(id) is not None:
            raise Problem(409, "this id was used before, for something else")
        if words:
            check_words(self.desk.model.state, self.desk.model.state.features.found_in(" ".join(words)), names)

    def undo(self, id: str, holder: Holder, user: str) -> dict[str, Any]:
        """Undo a correction; undoing a new category also undoes its seed words."""
        record = self.desk.journal.by_id(id)
        if record is None or record.kind not in ("correction", "categories"):
            raise Problem(404, "there is no correction of this id")
        if record.kind == "categories" and not holder.may("admin"):
            raise Problem(403, "this takes the role admin")
        if record.undone_by is None:
            words = self._words_of(record) if record.kind == "categories" else None
            both = [record.seq, *([] if words is None else [words.seq])]
            undone_by = self.desk.undo(uuid4().hex, both, user).seq
            if record.kind == "categories":
                self._read_records()
            else:
                self.tally.undo(self.desk, [record], self.renames)
                self.watch.read_taught(self.desk.journal)
            self._publish()
            self.pool.undone(record.body.get("document"))
        else:
            undone_by = record.undone_by
        return {"seq": undone_by, "id": id, "undone": record.seq, "position": self.desk.position}

    def corrections(self, limit: int, after: int | None, before: int | None, newest: bool) -> dict[str, Any]:
        """Return a page of the journal."""
        journal = self.desk.journal
        backwards = newest or before is not None
        found = journal.newest(before, limit + 1) if backwards else journal.oldest(after or 0, limit + 1)
        shown = [serializers.recorded(self.desk.with_effect(record)) for record in found]
        return {"corrections": shown[:limit], "next": shown[limit - 1]["seq"] if len(shown) > limit else None}

    def backup(self, *, temporary: bool = False) -> dict[str, Any]:
        """Write a copy of the journal into its folder; return the name of the copy and its number of records.

        A temporary copy is removed at the next start or by a later backup, unless it was moved away by then.
        """
        folder = self.desk.journal.folder
        for old, since in list(self._temporary.items()):
            if time.monotonic() - since > _FETCHED_WITHIN:
                remove_folder_left(folder / old)
                del self._temporary[old]
        name = f"{'.' if temporary else ''}backup-{secrets.token_hex(6)}"
        try:
            backup(self.desk.journal, folder / name)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            said = f"the backup could not be written: {str(error.strerror).lower()}"
            raise Problem(507 if full else 503, said) from None
        if temporary:
            self._temporary[name] = time.monotonic()
        return {"folder": name, "records": self.desk.position}

    def reload(self, new_journal: bool) -> dict[str, Any]:
        """Load the model file if it holds another model than the one learned from; the old journal is moved aside."""
        try:
            found, desk = Categorizer.load(self.desk.path).digest(), self.desk
        except OSError as error:
            raise Problem(409, f"the model's file cannot be read: {str(error.strerror).lower()}") from None
        if found in (desk.journal.fact("written"), self.digest()):
            return {"changed": False, "digest": self.digest()}
        if not new_journal:
            raise Problem(409, "the file holds another model than this journal's (new_journal puts the journal aside)")
        folder, path, anyway = desk.journal.folder, desk.path, desk.journal.anyway
        self._prepare_journal(path, prepared_folder(folder), anyway)
        self.state = "starting"  # a failure from here on leaves nothing to continue with
        desk.close()
        aside = Path(tempfile.mkdtemp(prefix=f"{folder.name}.before-", dir=folder.parent))
        folder.rename(aside / folder.name)
        self._open(
            JournaledModel(path, folder, anyway=anyway)
        )  # takes the prepared journal, also if this process dies here
        if (aside / folder.name / ADDRESS).exists():
            (aside / folder.name / ADDRESS).rename(folder / ADDRESS)
        return {"changed": True, "digest": self.digest()}

    def _prepare_journal(self, path: Path, folder: Path, anyway: bool) -> None:
        """Create a journal for another model in a new folder, with the documents that are still to review."""
        if folder.exists():
            shutil.rmtree(folder)  # left by a process that was killed before it could move the other aside
        with JournaledModel(path, folder, new=True, anyway=anyway) as new:
            waiting = [document for document in self.pool.documents.values() if document.state != "done"]
            Pool(new.journal).add((document.id, document.text) for document in waiting)
        sync_folder(folder.parent)
