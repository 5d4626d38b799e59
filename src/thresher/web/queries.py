"""What a service answers without changing anything: categories, documents to review, corrections and statistics."""

from collections.abc import Callable, Iterator
from typing import Any

from thresher import __version__
from thresher.categorizer import Categorizer
from thresher.journal.record import Record
from thresher.text.analysers import Text
from thresher.web import quality, serializers
from thresher.web.review_order import describe_document, find_disagreements, limit_letters
from thresher.web.served_model import ServedModel

LATEST_MISTAKES = 10
MAX_CORRECTIONS = 20  # per document, that the queue shows
_LISTS = ("accept", "reject", "categories")  # of a correction


class Queries:
    """The read-only answers of a service. Any thread may call them, except those that read the journal.

    Parameters
    ----------
    get_served : callable
        Returns the model that is served now, or raises a Problem.
    """

    def __init__(self, get_served: Callable[[], ServedModel]) -> None:
        self._get_served = get_served

    # -- on any thread -----------------------------------------------------------------------------------------------

    def categorize(
        self, texts: list[Text], ids: list[str], *, top: int | None, details: bool, explain: bool | str
    ) -> Iterator[dict[str, Any]]:
        """Return the categories of texts one by one, with explanations if requested."""
        served = self._get_served()
        model = served.view
        if isinstance(explain, str):
            served.names_of(model).check_known(explain)
        return serializers.answer_texts(model, texts, ids, top=top, details=details, explain=explain)

    def list_documents(
        self, order: str, category: str | None, words: str, state: str, limit: int, offset: int
    ) -> tuple[list[dict[str, Any]], int]:
        """Return a page of documents to review with their predictions, in review order, and the number of matches."""
        served = self._get_served()
        model, position = served.view, served.position
        if category is not None:
            served.names_of(model).check_known(category)
        wanted = words.casefold()
        matches = [
            document
            for document in served.order.sort(model, position, served.documents, order, category)
            if document.state == state and (not wanted or wanted in document.display_text.casefold())
        ]
        page = limit_letters(matches[offset : offset + limit])
        return [describe_document(model, document, category) for document in page], len(matches)

    def list_categories(self) -> dict[str, Any]:
        """Return all categories with their quality."""
        served = self._get_served()
        published = served.published
        measured = served.monitor.measure(published)
        rows = [_category(served, published.model, measured, name) for name in published.model.categories]
        return {"categories": rows, "measured_on": served.monitor.describe_sample(published, measured)}

    def describe_category(self, name: str) -> dict[str, Any]:
        """Return the details of one category, except its latest mistakes."""
        served = self._get_served()
        published = served.published
        served.names_of(published.model).check_known(name)
        measured = served.monitor.measure(published)
        about = _category(served, published.model, measured, name)
        about |= serializers.list_strongest_words(published.model, name)
        about["curve"] = quality.curve(measured, name, about["threshold"]) if measured else []
        about["measured_on"] = served.monitor.describe_sample(published, measured)
        return about

    def summarize(self) -> dict[str, Any]:
        """Return the statistics since the journal began."""
        served = self._get_served()
        holdout = served.monitor.summary(served.published)
        return served.stats.summary() | {"holdout": holdout, "documents": served.documents.count_states()}

    # -- on the writing thread, as they read the journal -------------------------------------------------------------

    def describe_model(self) -> dict[str, Any]:
        """Return a description of the model."""
        served = self._get_served()
        journaled_model = served.journaled_model
        which = {"model": journaled_model.path.name, "version": __version__, "digest": served.digest()}
        return which | {"position": journaled_model.position} | serializers.describe_model(journaled_model.model)

    def list_mistakes(self, name: str) -> list[dict[str, Any]]:
        """Return the last corrections for which a category was wrong."""
        served = self._get_served()
        served.journaled_model.write_effects()
        names = served.history.all_names(name)
        records = served.journaled_model.journal.corrections.read_mistakes(names, LATEST_MISTAKES)
        return list(map(serializers.describe_record, records))

    def add_corrections(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a document of a review page with its last corrections, and the categories where teachers disagree."""
        served = self._get_served()
        records = served.journaled_model.journal.corrections.read_digest(document.pop("digest"), MAX_CORRECTIONS)
        corrections = [
            {"seq": record.seq, "user": record.user, "accept": [], "reject": [], "categories": None}
            | {name: names for name, names in served.history.translate_body(record).items() if name in _LISTS}
            for record in records
        ]
        return document | {"corrections": corrections, "disagreement": find_disagreements(corrections)}

    def list_corrections(self, limit: int, after: int | None, before: int | None, newest: bool) -> dict[str, Any]:
        """Return a page of the journal."""
        journaled_model = self._get_served().journaled_model
        log, backwards = journaled_model.journal.log, newest or before is not None
        records = log.read_newest(before, limit + 1) if backwards else log.read_oldest(after or 0, limit + 1)
        page = [serializers.describe_record(journaled_model.attach_effect(record)) for record in records]
        return {"corrections": page[:limit], "next": page[limit - 1]["seq"] if len(page) > limit else None}

    def read_records(self, after: int, limit: int) -> list[Record]:
        """Return the first `limit` records `after` a number."""
        return list(self._get_served().journaled_model.journal.log.read_oldest(after, limit))


def _category(served: ServedModel, model: Categorizer, measured: quality.Quality | None, name: str) -> dict[str, Any]:
    rates = measured.rows.get(name, {}) if measured else {}
    return serializers.describe_category(model, name, rates) | {"corrections": served.stats.by_category[name]}
