"""What a service changes on request: corrections, changes of categories, and undoing both.

Each command checks everything first. Then the journal has it, then the model, and only then is it answered. All of them
run on the writing thread.
"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from thresher.errors import RepeatedIdError
from thresher.journal.event_log import MAX_ID_LENGTH
from thresher.journal.prepared_correction import prepare_correction
from thresher.journal.record import Record
from thresher.model.online_learning import check_words
from thresher.text.analysers import Text
from thresher.web import serializers
from thresher.web.access_tokens import Holder
from thresher.web.category_input import check_distinct, clean
from thresher.web.correction_stats import list_categories_in
from thresher.web.errors import Problem
from thresher.web.request_models import CategoryChange, CorrectionIn, Merge, NewCategory, NewThreshold, Rename
from thresher.web.served_model import ServedModel


class Commands:
    """The commands of a service. Only the writing thread may call them.

    Parameters
    ----------
    get_served : callable
        Returns the model that is served now, or raises a Problem.
    """

    def __init__(self, get_served: Callable[[], ServedModel]) -> None:
        self._get_served = get_served

    def correct(self, given: CorrectionIn, user: str) -> tuple[dict[str, Any], bool]:
        """Save and learn a correction; return its effect, and whether it was known already."""
        served = self._get_served()
        journaled_model = served.journaled_model
        known = journaled_model.journal.log.find(given.id)
        text = _text_of(served, given, known)
        names = _find_stored_names(served, given, known)
        correction = prepare_correction(
            journaled_model.model.state,
            given.id,
            text,
            accept=[names[name] for name in given.accept],
            reject=[names[name] for name in given.reject],
            categories=None if given.categories is None else [names[name] for name in given.categories],
            user=user,
            document=given.document,
        )
        result = journaled_model.correct_prepared(correction, known)
        if not result.is_repeated:
            served.count_correction(result.record)
            if given.document is not None:
                served.documents.mark_done(given.document)
            served.publish()
        changes = result.changes
        return {
            "seq": result.record.seq,
            "id": given.id,
            "repeated": result.is_repeated,
            "undone_by": result.record.undone_by,
            "position": journaled_model.position,
            "new_categories": changes.new_categories if changes else [],
            "effect": result.record.effect or {"predicted": [], "mistakes": [], "promoted": {}, "demoted": {}},
            "words": serializers.list_changed_words(changes) if changes else {},
        }, result.is_repeated

    def change_categories(self, id: str, given: CategoryChange, user: str) -> dict[str, Any]:
        """Save and apply a change of the categories; seed words of a new category become its first document."""
        served = self._get_served()
        journaled_model = served.journaled_model
        names = given.names if isinstance(given, Merge) else [given.name]
        into = clean(given.into) if isinstance(given, Rename | Merge) else ""
        words = given.words if isinstance(given, NewCategory) else []
        threshold = given.threshold if isinstance(given, NewThreshold) else 0.0
        if given.change == "new":
            names = [clean(name) for name in names]
        log = journaled_model.journal.log
        if log.find(id) is None:
            for name in names if given.change == "new" else [into] if into else []:
                served.names_of(journaled_model.model).check_new(name, but=names)
            _check_seed_words(served, f"{id} words", words, names)
        elif words and names[0] not in journaled_model.model.categories and log.find(f"{id} words") is None:
            raise RepeatedIdError("the words of a category that has another name now are something else")
        position = journaled_model.position
        record = journaled_model.change_categories(id, given.change, names, into=into, threshold=threshold, user=user)
        if record.seq > position:  # otherwise it is a repeated one
            served.history = served.history.with_change(record.seq, record.body)
            if given.change in ("rename", "merge", "retire"):
                served.stats.rename(names, into or None)
        try:
            if words:
                _learn_seed_words(served, record, words, user)
        finally:
            served.publish()
        categories = journaled_model.model.categories
        return {"seq": record.seq, "id": id, "position": journaled_model.position, "categories": categories}

    def undo(self, id: str, holder: Holder, user: str) -> dict[str, Any]:
        """Undo a correction; undoing a new category also undoes its seed words."""
        served = self._get_served()
        record = served.journaled_model.journal.log.find(id)
        if record is None or record.kind not in ("correction", "categories"):
            raise Problem(404, "there is no correction of this id")
        if record.kind == "categories" and not holder.may("admin"):
            raise Problem(403, "this takes the role admin")
        undone_by = record.undone_by
        if undone_by is None:
            undone_by = _undo(served, record, user)
        return {"seq": undone_by, "id": id, "undone": record.seq, "position": served.journaled_model.position}


def _text_of(served: ServedModel, given: CorrectionIn, known: Record | None) -> Text:
    """Return the text of a correction; that of a repeated one even if its document is deleted by now."""
    if known is not None and given.document is not None and known.body.get("document") == given.document:
        text: Text = known.text or ""  # empty if it was forgotten
        return text
    return given.text if given.text is not None else served.documents.get(str(given.document)).text


def _find_stored_names(served: ServedModel, given: CorrectionIn, known: Record | None) -> dict[str, str]:
    """Return the names of a correction in their known form; for a repeated correction, as they were sent before."""
    accepted = {*given.accept, *(given.categories or ())}
    rejected = {*given.reject} - accepted
    if known is not None:
        sent = list_categories_in(known.body)
        return {name: name if name in sent else clean(name) for name in accepted | rejected}
    names = served.names_of(served.journaled_model.model)
    stored = {name: names.resolve(name, create=given.create_category) for name in accepted}
    check_distinct([name for name in stored.values() if name not in names])
    return stored | {name: names.resolve(name, create=False) for name in rejected}


def _check_seed_words(served: ServedModel, id: str, words: Sequence[str], names: list[str]) -> None:
    """Refuse seed words that could not be learned, before their category is created."""
    if not words:
        return
    if len(id) > MAX_ID_LENGTH:
        raise Problem(422, "id: too long for a change that has words")
    if served.journaled_model.journal.log.find(id) is not None:
        raise Problem(409, "this id was used before, with other contents")
    state = served.journaled_model.model.state
    check_words(state, state.features.count_features(" ".join(words)), names)


def _learn_seed_words(served: ServedModel, change: Record, words: Sequence[str], user: str) -> None:
    """Teach a new category its seed words, and note the change they belong to in their record."""
    journaled_model, id = served.journaled_model, f"{change.id} words"
    known = journaled_model.journal.log.find(id)
    seeds_of = change.seq if known is None else known.body.get("seeds_of")  # version 0.1 did not store it
    correction = prepare_correction(
        journaled_model.model.state, id, " ".join(words), accept=change.body["names"], user=user, seeds_of=seeds_of
    )
    result = journaled_model.correct_prepared(correction, known)
    if not result.is_repeated:
        served.count_correction(result.record)


def _undo(served: ServedModel, record: Record, user: str) -> int:
    """Undo a correction or a change of categories, and return the number of the record that does so."""
    words = _find_seed_words(served, record) if record.kind == "categories" else None
    seqs = [record.seq, *([] if words is None else [words.seq])]
    undone_by = served.journaled_model.undo(uuid4().hex, seqs, user).seq
    if record.kind == "categories":
        served.read_records()
    else:
        served.stats.undo(served.journaled_model, [record], served.history)
        served.monitor.read_taught(served.journaled_model.journal)
    served.publish()
    served.documents.refresh_state(record.body.get("document"))
    return undone_by


def _find_seed_words(served: ServedModel, change: Record) -> Record | None:
    """Return the record of a new category's seed words, and no other correction that has their id."""
    words = served.journaled_model.journal.log.find(f"{change.id} words")
    if words is None or words.undone_by is not None or change.body.get("change") != "new":
        return None
    if "seeds_of" in words.body:
        return words if words.body["seeds_of"] == change.seq else None
    same = (change.seq + 1, change.user, change.body["names"])  # as version 0.1 wrote them
    return words if (words.seq, words.user, words.body.get("accept")) == same else None
