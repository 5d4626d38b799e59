"""A model with a journal: it records each correction, then applies it; a replay gives the same model, bit for bit.

The folder of the journal holds the first model and the two newest snapshots.
"""

import errno
import glob
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from thresher.categorizer import Categorizer
from thresher.errors import (
    JournalBrokenError,
    JournalError,
    JournalFullError,
    JournalMemoryError,
    RepeatedIdError,
    ThresherError,
)
from thresher.journal.journal import Journal
from thresher.journal.prepared_correction import PreparedCorrection, check_new, prepare_correction, prepare_record
from thresher.journal.record import Entry, Record
from thresher.journal.recovery import (
    begin_journal,
    check_is_ours,
    check_is_written,
    check_missing,
    find_losses,
    private_mode,
    take_prepared,
)
from thresher.journal.replay import apply, apply_and_describe, change_categories, select_needed_features
from thresher.journal.snapshots import (
    SHARED,
    find_snapshots,
    note_all_snapshots,
    note_snapshot,
    position_of,
    remove_undone_snapshots,
    remove_unfinished_backups,
    restore_newest,
    snapshot_path,
)
from thresher.model.explanations import Correction
from thresher.text.analysers import Text

SNAPSHOT_EVERY, MAX_SNAPSHOTS = 1000, 2


class CorrectionResult(NamedTuple):
    """The result of a correction.

    Parameters
    ----------
    record : Record
        The record of the correction, with its effect.
    changes : Correction or None
        The changes to the model; None for a repeated id.
    is_repeated : bool
        Whether the id was known already, so that nothing has changed.
    """

    record: Record
    changes: Correction | None
    is_repeated: bool


class JournaledModel:
    """A model with a journal: a correction is on the disk before the model learns it.

    Parameters
    ----------
    model : path
        The model file. It does not change until `write_model`.
    folder : path, optional
        The folder of the journal. By default it is next to the model; see `journal_folder`.
    new : bool or None
        Whether to create a journal if there is none. None means only for a model that never had one. Remains of a
        missing journal are moved aside.
    anyway : bool
        Whether to accept a folder on a network file system, or one that other users can write to.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        folder: str | os.PathLike[str] | None = None,
        *,
        new: bool | None = None,
        anyway: bool = False,
    ) -> None:
        self.path = Path(model)
        location = Path(folder or journal_folder(model))
        take_prepared(location, self.path)
        if not Journal.is_in(location):
            check_missing(self.path, location, new)
        self.journal = Journal(location, create=new is not False, anyway=anyway)
        self.remarks: list[str] = []
        self.failed_at = 0
        self.unwritten_effects: dict[int, dict[str, Any]] = {}  # not written to the journal yet
        try:
            self._open()
        except BaseException:
            self.journal.close()
            raise

    def _open(self) -> None:
        self.remarks += find_losses(self.journal)
        if self.journal.facts.get("base") is None:
            begin_journal(self.journal, self.path)
        remove_undone_snapshots(self.journal)
        remove_unfinished_backups(self.journal)
        note_all_snapshots(self.journal)
        self.model, self.position = restore_newest(self.journal, self.remarks)
        self._snapshot_at = self._tried_at = self.position
        self._replay(self.model, self.position, describe=True)
        self.position = self.journal.log.last_seq()
        check_is_written(self.journal, self.path, self.model.digest())

    def close(self) -> None:
        """Write a snapshot if the model has learned since the last one, and close the journal."""
        try:
            if self.position > self._snapshot_at and not self.is_stuck():
                self._try_to_write(self.write_snapshot)
            self._try_to_write(self.write_effects)
        finally:
            self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- corrections -------------------------------------------------------------------------------------------------

    def correct(
        self,
        id: str,
        text: Text,
        *,
        accept: Iterable[str] = (),
        reject: Iterable[str] = (),
        categories: Iterable[str] | None = None,
        user: str = "",
        document: str | None = None,
        seeds_of: int | None = None,
    ) -> CorrectionResult:
        """Record a correction and learn it: some categories to accept and reject, or all categories of the text.

        A known `id` changes nothing, and raises an error if the correction differs. An invalid correction raises an
        error before it is recorded.

        Parameters
        ----------
        id, user : str
            The id that the client chose, and the user.
        text : str, or mapping from field names to str
            The text that is corrected.
        accept, reject : iterable of str
            Categories that the text has, and those it does not have. Other categories stay unchanged.
        categories : iterable of str, optional
            All categories of the text, instead of `accept` and `reject`.
        document : str, optional
            The id of the document to review with this text.
        seeds_of : int, optional
            The number of the record that created the category, if the text is its seed words.
        """
        correction = prepare_correction(
            self.model.state, id, text, accept=accept, reject=reject, categories=categories, user=user,
            document=document, seeds_of=seeds_of,
        )  # fmt: skip
        return self.correct_prepared(correction, self.journal.log.find(id))

    def correct_prepared(self, correction: PreparedCorrection, known: Record | None) -> CorrectionResult:
        """Record a prepared `correction` and learn it, unless its id is that of the `known` record."""
        self._check_whole()
        if known is not None:
            _check_repeats(known, "correction", correction.body, _has_text_of(known, correction))
            return CorrectionResult(self.attach_effect(known), None, True)
        check_new(self.model.state, correction)
        record = self.journal.append(correction.entry(), effects=self.unwritten_effects)
        self.unwritten_effects = {}
        changes, effect = self._apply(record, correction)
        return CorrectionResult(record._replace(effect=effect), changes, False)

    def attach_effect(self, record: Record) -> Record:
        """Return a `record` with its effect, even if the effect is not written yet."""
        return record._replace(effect=self.unwritten_effects.get(record.seq, record.effect))

    def write_effects(self) -> None:
        """Write the effects of corrections that are not written yet."""
        self.journal.effects.write(self.unwritten_effects)
        self.unwritten_effects = {}

    def is_stuck(self) -> bool:
        """Return whether a record was written but not fully applied, so that no later one may be applied."""
        return self.failed_at > 0 or self.journal.log.last_seq() != self.position

    def _find_repeated(self, id: str, kind: str, body: dict[str, Any]) -> Record | None:
        """Return the record with an id if there is one, after checking that it says the same."""
        self._check_whole()
        known = self.journal.log.find(id)
        if known is not None:
            _check_repeats(known, kind, body)
        return known

    def _check_whole(self) -> None:
        """Raise a JournalError if a record is missing from the model or only partly applied."""
        if self.is_stuck():
            failed_at = self.failed_at or self.journal.log.last_seq()
            raise JournalError(f"record {failed_at} was written but not applied", hint="start again to replay it")

    def change_categories(
        self, id: str, change: str, names: Sequence[str], *, into: str = "", threshold: float = 0.0, user: str = ""
    ) -> Record:
        """Record a change of categories and apply it.

        Parameters
        ----------
        id, user : str
            The id that the client chose, and the user.
        change, names : str, sequence of str
            "new", "rename", "merge", "retire" or "threshold", and the names of the categories.
        into, threshold : str, float
            The new name for "rename" and "merge", and the threshold for "threshold".
        """
        body: dict[str, Any] = {"change": change, "names": list(names)}
        body |= {"into": into} if into else {}
        body |= {"threshold": float(threshold)} if change == "threshold" else {}
        if (known := self._find_repeated(id, "categories", body)) is not None:
            return known
        change_categories(self.model.view(), body)  # a trial, so that errors come before the record
        record = self.journal.append(Entry(id, "categories", user, body))
        self._apply(record, None)
        return record

    def _apply(
        self, record: Record, correction: PreparedCorrection | None
    ) -> tuple[Correction | None, dict[str, Any] | None]:
        self.failed_at = record.seq  # stays set if anything is raised from here on, even by a signal
        with self._name_failure(record):
            changes, effect = apply_and_describe(self.model, record, correction)
        if effect is not None:
            self.unwritten_effects[record.seq] = effect
        self.position, self.failed_at = record.seq, 0
        if self.position - self._tried_at >= SNAPSHOT_EVERY:
            self._try_to_write(self.write_snapshot)
        return changes, effect

    def undo(self, id: str, seqs: Iterable[int], user: str = "") -> Record:
        """Undo the records `seqs`: the model becomes the result of a replay without them.

        `id` and `user` are those of `correct`.
        """
        undone = sorted(set(seqs))
        if not undone:
            raise JournalError("there is nothing to undo")
        if (known := self._find_repeated(id, "undo", {"seqs": undone})) is not None:
            return known
        for seq in undone:
            record = self.journal.log.get(seq)
            if record is None or record.kind not in ("correction", "categories"):
                raise JournalError(f"record {seq} is not a record that can be undone")
            if record.undone_by is not None:
                raise JournalError(f"record {seq} was undone already, by record {record.undone_by}")
        model = self._replay_without(undone)  # before it is recorded: later records may need the undone ones
        record = self.journal.append(Entry(id, "undo", user, {"seqs": undone}), undoes=undone)
        self.model, self.position = model, record.seq
        remove_undone_snapshots(self.journal)
        self._try_to_write(self.write_snapshot)
        return record

    def forget_text(self, seq: int) -> None:
        """Delete the text of the correction `seq`, but keep the features that a replay needs.

        The model keeps what it has learned, including the words. To remove these too, use `forget_correction`. Other
        corrections of the same text keep it; `EventLog.find_same_text` finds them.
        """
        record = self._get_correction(seq)
        self._check_whole()
        first, _ = restore_newest(self.journal, self.remarks, before=1)
        self.journal.forget_text(seq, select_needed_features(record, first))
        self._remark_on_copies()

    def forget_correction(self, seq: int, user: str = "") -> None:
        """Undo the correction `seq` if needed, and delete all data about the text from its record.

        Documents to review with the same text are deleted too. Other corrections of the text keep it;
        `EventLog.find_same_text` finds them. Call `write_model` afterwards, as the file may hold words that were
        learned only from this text. `user` is the user who undoes the correction.
        """
        if self._get_correction(seq).undone_by is None:
            self.undo(f"forget {secrets.token_hex(8)}", [seq], user)
        self.journal.forget_correction(seq)
        self._remark_on_copies()

    def find_copies(self) -> list[Path]:
        """Return the paths of backups and old journals, in the folder or next to it, that may hold the same texts."""
        folder = self.journal.folder.absolute()  # has a name even if it is given as .
        inside = [path for kind in ("lost-", "backup-", ".backup-") for path in folder.glob(f"{kind}*")]
        aside = (f"{glob.escape(folder.name)}.{kind}" for kind in ("before-*", "left-*", "next"))
        return sorted(inside + [path for name in aside for path in folder.parent.glob(name)])

    def _remark_on_copies(self) -> None:
        advice = "may still hold words of the text (delete it if it is not needed)"
        remarks = [f"{path}: {advice}" for path in self.find_copies()]
        self.remarks += [remark for remark in remarks if remark not in self.remarks]

    def _get_correction(self, seq: int) -> Record:
        record = self.journal.log.get(seq)
        if record is None or record.kind != "correction":
            raise JournalError(f"record {seq} is not a correction", path=self.journal.path)
        return record

    def _replay_without(self, undone: list[int]) -> Categorizer:
        model, position = restore_newest(self.journal, self.remarks, before=undone[0])
        self._replay(model, position, frozenset(undone))
        return model

    def compute_replayed_digest(self) -> str:
        """Return the digest of the model after a replay of all records from the first model."""
        model, _ = restore_newest(self.journal, self.remarks, before=1)
        self._replay(model, 0)
        return model.digest()

    # -- snapshots and replay ----------------------------------------------------------------------------------------

    def write_snapshot(self) -> Path:
        """Write a snapshot of the model and return its path; delete older ones except the first and the previous."""
        self._check_whole()
        self.write_effects()
        path = snapshot_path(self.journal.folder, self.position)
        note_snapshot(self.journal, self.position, self.model.save(path, mode=SHARED))
        self._snapshot_at = self._tried_at = self.position
        for old in find_snapshots(self.journal.folder)[:-MAX_SNAPSHOTS]:
            if position_of(old) > 0:
                old.unlink()
        return path

    def _try_to_write(self, write: Callable[[], object]) -> None:
        """Write a snapshot or effects; a full disk only adds a remark, as all records are on the disk already."""
        self._tried_at = self.position
        try:
            write()
        except (OSError, JournalFullError) as error:
            if isinstance(error, OSError) and error.errno == errno.EIO:
                raise JournalBrokenError(str(error), hint="look after the disk, then start again") from None
            self.remarks.append(f"{error} (a snapshot could not be written; nothing is lost)")

    def write_model(self) -> str:
        """Write the model to its file, with a note that it has a journal, and return its digest.

        If another process has written the file meanwhile, raise a JournalError and leave the file unchanged.
        """
        self._check_whole()
        check_is_ours(self.journal, self.path, self.model)
        about, mode = {"journal": str(self.journal.facts.get("base"))}, private_mode(self.journal, self.path)
        digest = self.model.save(self.path, about=about, mode=mode)
        self.journal.facts.set("written", digest)
        if mode is not None:
            self.journal.facts.set("private", "yes")
        return digest

    def _replay(
        self, model: Categorizer, position: int, without: frozenset[int] = frozenset(), describe: bool = False
    ) -> None:
        """Apply the records after a position to a model, without those undone, skipped or listed in `without`.

        With `describe`, compute the effects that corrections lack and store them in `unwritten_effects`.
        """
        undone = self.journal.log.read_undone(position)
        for record in self.journal.log.read(position):
            if record.undone_by != undone.get(record.seq):
                raise JournalError(
                    f"record {record.seq} is not marked as its undo record says", path=self.journal.path, hint="damaged"
                )
            if record.undone_by is None and record.seq not in without:
                with self._name_failure(record, undoing=bool(without)):
                    correction = prepare_record(model.state, record, self.remarks)
                    if describe and record.effect is None:
                        _, effect = apply_and_describe(model, record, correction)
                        self.unwritten_effects |= {} if effect is None else {record.seq: effect}
                    else:
                        apply(model, record, correction)

    @contextmanager
    def _name_failure(self, record: Record, undoing: bool = False) -> Iterator[None]:
        """Turn errors in the block into a JournalError that names the record and the command that helps."""
        advice = f"thresher journal skip {{model_path}} {record.seq} leaves it out"
        advice = "undo that one first" if undoing else advice
        failed, folder = f"record {record.seq} cannot be applied", self.journal.folder
        try:
            yield
        except MemoryError:
            hint = f"start again with more memory; {advice}"
            raise JournalMemoryError(f"{failed}: out of memory", path=folder, hint=hint, model_path=self.path) from None
        except ThresherError as error:
            hint = "; ".join(filter(None, (error.hint, advice)))
            problem, values = error.template()
            values |= {"model_path": self.path}
            raise JournalError(f"{failed}: {problem}", path=folder, hint=hint, **values) from None


def _check_repeats(known: Record, kind: str, body: dict[str, Any], same_text: bool = True) -> None:
    """Raise a RepeatedIdError unless the record with a repeated id says the same."""
    if known.kind != kind or known.body != body or not same_text:
        raise RepeatedIdError(f"the id {{id}} is that of record {known.seq}, which has other contents", id=known.id)


def _has_text_of(record: Record, correction: PreparedCorrection) -> bool:
    """Return whether a record has the same text; if its own is forgotten, compare features or trust its document."""
    if record.text is not None or "document" in record.body:
        return record.text in (None, correction.text)
    return record.digest == correction.digest


def skip(folder: str | os.PathLike[str], seq: int, user: str = "", *, anyway: bool = False) -> Record:
    """Mark a record that cannot be applied as skipped, and return the record of the skip.

    Only the snapshots that contain the record are deleted. `folder` is the folder of the journal, `seq` the number of
    the record, and `user` the user who skips it. `anyway` is that of `Journal`.
    """
    with Journal(folder, anyway=anyway) as journal:
        if journal.log.kind_of(seq) not in ("correction", "categories"):
            raise JournalError(f"record {seq} is not a correction, so it cannot be left out", path=folder)
        entry = Entry(f"skip {secrets.token_hex(8)}", "skip", user, {"seqs": [seq]})
        record = journal.append(entry, undoes=[seq])
        for path in find_snapshots(folder):
            if position_of(path) >= seq:
                path.unlink()
        return record


def journal_folder(model: str | os.PathLike[str]) -> Path:
    """Return the default folder of the journal of a `model` file.

    >>> journal_folder("desk.thresher").name
    'desk.thresher.journal'
    """
    path = Path(model)
    if path.is_symlink():  # all names of a model lead to the same journal
        path = Path(os.path.realpath(path))
    if not path.name:  # the current folder or the root
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return path.with_name(f"{path.name}.journal")
