"""A model with its journal: corrections are kept, then applied; replaying them gives the same model, bit for bit.

The folder of the journal holds the model that it began with and the newest two snapshots of what became of it.
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
from thresher.category_names import category_set
from thresher.desk_openings import (
    begin,
    check_is_ours,
    check_is_written,
    check_missing,
    losses,
    private_mode,
    take_prepared,
)
from thresher.errors import (
    JournalBrokenError,
    JournalError,
    JournalFullError,
    JournalMemoryError,
    RepeatedIdError,
    TextError,
    ThresherError,
)
from thresher.explanation import Correction
from thresher.journal import Journal, Record
from thresher.replay import apply, apply_and_describe, change_categories, features_digest, needed_features, text_of
from thresher.snapshots import (
    SHARED,
    note,
    note_found,
    position_of,
    remove_left,
    remove_undone,
    restored,
    snapshot_path,
    snapshots_in,
)
from thresher.teaching import check_size, check_words, reserve
from thresher.text.analysers import Text
from thresher.text.features import FeatureCounts

SNAPSHOT_EVERY, SNAPSHOTS_KEPT = 1000, 2


class Taught(NamedTuple):
    """What became of a correction: its `record`, what the `correction` changed, and whether it is a `repeated` one."""

    record: Record
    correction: Correction | None
    repeated: bool


class Desk:
    """A model that is taught and never forgets: what it says it has learned is on the disk.

    Parameters
    ----------
    model : path
        The model file. It stays as it is until `write_model`.
    folder : path, optional
        Of the journal; beside the model unless told.
    new : bool or None
        Whether to begin a journal where there is none; None: only for a model that never had one. What is left of
        a journal that is gone is moved aside.
    anyway : bool
        Whether to keep the journal on a network file system, or where others may write, too.
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
        own = Path(folder or journal_folder(model))
        take_prepared(own, self.path)
        if not Journal.is_in(own):
            check_missing(self.path, own, new)
        self.journal = Journal(own, create=new is not False, anyway=anyway)
        self.remarks: list[str] = []
        self.failed_at = 0
        self.effects: dict[int, dict[str, Any]] = {}  # told, and not written yet
        try:
            self._open()
        except BaseException:
            self.journal.close()
            raise

    def _open(self) -> None:
        self.remarks += losses(self.journal)
        if self.journal.fact("base") is None:
            begin(self.journal, self.path)
        remove_undone(self.journal)
        remove_left(self.journal)
        note_found(self.journal)
        self.model, self.position = restored(self.journal, self.remarks)
        self._snapshot_at = self._tried_at = self.position
        self._replay(self.model, self.position, tell=True)
        self.position = self.journal.last()
        check_is_written(self.journal, self.path, self.model.digest())

    def close(self) -> None:
        """Keep a snapshot, if something was learned since the last, and give the journal up."""
        try:
            if self.position > self._snapshot_at and not self.is_stuck():
                self._try_to(self.snapshot)
            self._try_to(self.keep_effects)
        finally:
            self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- teaching ----------------------------------------------------------------------------------------------------

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
    ) -> Taught:
        """Keep a correction and learn it: some categories to accept and reject, or all that the text has.

        One whose `id` is known changes nothing, and is an error if it says something else. Whatever is wrong with a
        correction is said before it is kept.

        Parameters
        ----------
        id, user : str
            Made by whoever sends it, and who that is.
        text : str, or mapping from field names to str
            What it is about.
        accept, reject : iterable of str
            Categories that the text has, and has not; others are left alone.
        categories : iterable of str, optional
            Instead: all that it has.
        document : str, optional
            The document to review whose text it is.
        seeds_of : int, optional
            The record that made the category whose seed words these are.
        """
        accepted, rejected = category_set(accept), category_set(reject)
        body: dict[str, Any] = {"accept": accepted, "reject": rejected}
        if categories is not None:
            if accepted or rejected:
                raise TextError("a correction names all categories, or some to accept and reject: not both")
            body = {"categories": category_set(categories)}
        body |= {} if document is None else {"document": document}
        body |= {} if seeds_of is None else {"seeds_of": seeds_of}
        known = self._known(id)
        if known is not None:
            if known.kind != "correction" or known.body != body or not self._is_of(known, text):
                raise RepeatedIdError(f"the id {id!r} is that of record {known.seq}, which says something else")
            return Taught(self.with_effect(known), None, True)
        found = self.model.features.found_in(text)
        self._check(body, found)
        features = list(zip(*found, strict=True))
        record = self.journal.append(
            id, "correction", user, body, text=text, features=features, digest=features_digest(found),
            effects=self.effects,
        )  # fmt: skip
        self.effects = {}
        correction, effect = self._applied(record, text)
        return Taught(record._replace(effect=effect), correction, False)

    def _is_of(self, record: Record, text: Text) -> bool:
        """Tell whether a record is of a text; if its own is forgotten, by its document or by what stood in it."""
        if record.text is not None or "document" in record.body:
            return record.text in (None, text)
        return record.digest == features_digest(self.model.features.found_in(text))

    def with_effect(self, record: Record) -> Record:
        """Return a `record` with its effect, if that is known and not written yet."""
        return record._replace(effect=self.effects.get(record.seq, record.effect))

    def keep_effects(self) -> None:
        """Write down what corrections changed, as far as that is not written yet."""
        self.journal.keep_effects(self.effects)
        self.effects = {}

    def is_stuck(self) -> bool:
        """Tell whether a record is kept and was not applied, or not wholly: what comes after it must wait."""
        return self.failed_at > 0 or self.journal.last() != self.position

    def _known(self, id: str) -> Record | None:
        """Return the record of an id, if there is one; refuse whatever comes after one that could not be applied."""
        self._check_whole()
        return self.journal.by_id(id)

    def _check_whole(self) -> None:
        """Refuse to go on from a model that lacks a record, or has half of it."""
        if self.is_stuck():
            failed_at = self.failed_at or self.journal.last()
            raise JournalError(f"record {failed_at} is kept and was not applied (start again to replay it)")

    def _check(self, body: dict[str, Any], found: FeatureCounts) -> None:
        """Refuse what the model would refuse, before it is kept."""
        accepted = body.get("categories", body.get("accept", []))
        check_words(self.model, found, accepted)
        self.model.check_correction(accepted, body.get("reject", []), complete="categories" in body)
        check_size(self.model, found, accepted, body.get("reject", []))
        reserve(self.model, found, accepted)

    def change_categories(
        self, id: str, change: str, names: Sequence[str], *, into: str = "", threshold: float = 0.0, user: str = ""
    ) -> Record:
        """Keep and apply a change of the categories.

        Parameters
        ----------
        id, user : str
            Made by whoever sends it, and who that is.
        change, names : str, sequence of str
            "new", "rename", "merge", "retire" or "threshold", and of which categories.
        into, threshold : str, float
            The name that they get, and the threshold.
        """
        body: dict[str, Any] = {"change": change, "names": list(names)}
        body |= {"into": into} if into else {}
        body |= {"threshold": float(threshold)} if change == "threshold" else {}
        known = self._known(id)
        if known is not None:
            if known.kind != "categories" or known.body != body:
                raise RepeatedIdError(f"the id {id!r} is that of record {known.seq}, which says something else")
            return known
        change_categories(self.model.view(), body)  # a trial: whatever is wrong is said before it is kept
        record = self.journal.append(id, "categories", user, body)
        self._applied(record, None)
        return record

    def _applied(self, record: Record, text: Text | None) -> tuple[Correction | None, dict[str, Any] | None]:
        self.failed_at = record.seq  # whatever is raised from here on, and be it by a signal
        with self._naming(record):
            correction, effect = apply_and_describe(self.model, record, text)
        if effect is not None:
            self.effects[record.seq] = effect
        self.position, self.failed_at = record.seq, 0
        if self.position - self._tried_at >= SNAPSHOT_EVERY:
            self._try_to(self.snapshot)
        return correction, effect

    def undo(self, id: str, seqs: Iterable[int], user: str = "") -> Record:
        """Take the records `seqs` back: the model becomes what it would be without them, which is replayed.

        `id` and `user` are those of `correct`.
        """
        undone = sorted(set(seqs))
        if not undone:
            raise JournalError("there is nothing to undo")
        known = self._known(id)
        if known is not None:
            if known.kind != "undo" or known.body != {"seqs": undone}:
                raise RepeatedIdError(f"the id {id!r} is that of record {known.seq}, which says something else")
            return known
        for seq in undone:
            record = self.journal.by_seq(seq)
            if record is None or record.kind not in ("correction", "categories"):
                raise JournalError(f"record {seq} is no correction that could be undone")
            if record.undone_by is not None:
                raise JournalError(f"record {seq} was undone already, by record {record.undone_by}")
        model = self._without(undone)  # before it is kept: what stands after it may need what is taken back
        record = self.journal.append(id, "undo", user, {"seqs": undone}, undoes=undone)
        self.model, self.position = model, record.seq
        remove_undone(self.journal)
        self._try_to(self.snapshot)
        return record

    def forget_text(self, seq: int) -> None:
        """Forget the text of the correction `seq`; of its features those stay that a replay needs.

        What the model learned from it stays as well, and with it the words. `forget_correction` leaves nothing. Other
        corrections of the same text keep it; `Journal.same_text` finds them.
        """
        record = self._correction(seq)
        self._check_whole()
        first, _ = restored(self.journal, self.remarks, before=1)
        self.journal.forget_text(seq, needed_features(record, first))
        self._remark_on_copies()

    def forget_correction(self, seq: int, user: str = "") -> None:
        """Undo the correction `seq`, if that is not done yet, and delete all that its record holds of its text.

        Documents to review that have the text are deleted too. Other corrections of it keep it; `Journal.same_text`
        finds them. Write the model afterwards: the file may hold words that were learned from nothing else. `user` is
        who undoes.
        """
        if self._correction(seq).undone_by is None:
            self.undo(f"forget {secrets.token_hex(8)}", [seq], user)
        self.journal.forget_correction(seq)
        self._remark_on_copies()

    def copies(self) -> list[Path]:
        """Return copies and remains of journals, in the folder of this one and next to it, that may hold its texts."""
        folder = self.journal.folder.absolute()  # which has a name, also if it is given as .
        inside = [path for kind in ("lost-", "backup-", ".backup-") for path in folder.glob(f"{kind}*")]
        aside = (f"{glob.escape(folder.name)}.{kind}" for kind in ("before-*", "left-*", "next"))
        return sorted(inside + [path for name in aside for path in folder.parent.glob(name)])

    def _remark_on_copies(self) -> None:
        found = (f"{path}: may still hold words of the text (delete it if it is not needed)" for path in self.copies())
        self.remarks += [remark for remark in found if remark not in self.remarks]

    def _correction(self, seq: int) -> Record:
        record = self.journal.by_seq(seq)
        if record is None or record.kind != "correction":
            raise JournalError(f"{self.journal.path}: record {seq} is not a correction")
        return record

    def _without(self, undone: list[int]) -> Categorizer:
        model, position = restored(self.journal, self.remarks, before=undone[0])
        self._replay(model, position, frozenset(undone))
        return model

    def replayed_digest(self) -> str:
        """Return the digest of what all records make of the model that the journal began with."""
        model, _ = restored(self.journal, self.remarks, before=1)
        self._replay(model, 0)
        return model.digest()

    # -- keeping -----------------------------------------------------------------------------------------------------

    def snapshot(self) -> Path:
        """Write what the model is now, and drop all older snapshots but one and the first."""
        self._check_whole()
        self.keep_effects()
        path = snapshot_path(self.journal.folder, self.position)
        note(self.journal, self.position, self.model.save(path, mode=SHARED))
        self._snapshot_at = self._tried_at = self.position
        for old in snapshots_in(self.journal.folder)[:-SNAPSHOTS_KEPT]:
            if position_of(old) > 0:
                old.unlink()
        return path

    def _try_to(self, keep: Callable[[], object]) -> None:
        """Write a snapshot, or effects, if there is room: what is needed is kept already, and what was said is true."""
        self._tried_at = self.position
        try:
            keep()
        except (OSError, JournalFullError) as error:
            if isinstance(error, OSError) and error.errno == errno.EIO:
                raise JournalBrokenError(f"{error} (look after the disk, then start again)") from None
            self.remarks.append(f"{error} (a snapshot could not be written; nothing is lost)")

    def write_model(self) -> str:
        """Write the model where it came from, and return its digest; the file says that it has a journal.

        A file that someone else has written there meanwhile is an error, and stays.
        """
        self._check_whole()
        check_is_ours(self.journal, self.path, self.model)
        about, mode = {"journal": str(self.journal.fact("base"))}, private_mode(self.journal, self.path)
        digest = self.model.save(self.path, about=about, mode=mode)
        self.journal.set_fact("written", digest)
        if mode is not None:
            self.journal.set_fact("private", "yes")
        return digest

    def _replay(
        self, model: Categorizer, position: int, without: frozenset[int] = frozenset(), tell: bool = False
    ) -> None:
        """Apply the records after a position to a model; what was undone or skipped is left out.

        If it is to `tell`, the effect of a record is kept where that was lost.
        """
        undone = self.journal.undone(position)
        for record in self.journal.records(position):
            if record.undone_by != undone.get(record.seq):
                raise JournalError(f"{self.journal.path}: record {record.seq} is not marked as it was undone (damaged)")
            if record.undone_by is None and record.seq not in without:
                with self._naming(record, undoing=bool(without)):
                    text = text_of(model, record, self.remarks)
                    if tell and record.kind == "correction" and record.effect is None:
                        _, effect = apply_and_describe(model, record, text)
                        self.effects |= {} if effect is None else {record.seq: effect}
                    else:
                        apply(model, record, text)

    @contextmanager
    def _naming(self, record: Record, undoing: bool = False) -> Iterator[None]:
        """Say which record could not be applied, and the command that helps."""
        advice = "undo that one first" if undoing else f"thresher journal skip {self.path} {record.seq} leaves it out"
        failed = f"{self.journal.folder}: record {record.seq} cannot be applied"
        try:
            yield
        except MemoryError:
            more = f"start again with more memory; {advice}"
            raise JournalMemoryError(f"{failed}: out of memory ({more})") from None
        except ThresherError as error:
            raise JournalError(f"{failed}: {error} ({advice})") from None


def skip(folder: str | os.PathLike[str], seq: int, user: str = "", *, anyway: bool = False) -> Record:
    """Leave a record out that cannot be applied: it is marked, and nothing is deleted but snapshots that hold it.

    `folder` is that of the journal, `seq` the number of the record, and `user` who does so. `anyway` is that of
    `Journal`.
    """
    with Journal(folder, anyway=anyway) as journal:
        kinds = journal.query("SELECT kind FROM records WHERE seq = ?", seq)  # not all of it, which may be damaged
        if not {("correction",), ("categories",)} & set(kinds):
            raise JournalError(f"{folder}: record {seq} is no correction that could be left out")
        record = journal.append(f"skip {secrets.token_hex(8)}", "skip", user, {"seqs": [seq]}, undoes=[seq])
        for path in snapshots_in(folder):
            if position_of(path) >= seq:
                path.unlink()
        return record


def journal_folder(model: str | os.PathLike[str]) -> Path:
    """Return where the journal of a `model` file is unless told.

    >>> journal_folder("desk.thresher").name
    'desk.thresher.journal'
    """
    path = Path(model)
    if path.is_symlink():  # the same one, whichever name the model is called by
        path = Path(os.path.realpath(path))
    if not path.name:  # the folder that one is in, or the root
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return path.with_name(f"{path.name}.journal")
