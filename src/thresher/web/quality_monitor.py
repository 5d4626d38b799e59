"""Measure a model from time to time while it learns, on held-out documents or on those in the reservoir."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.errors import JournalFullError
from thresher.journal.category_history import CategoryHistory
from thresher.journal.journal import Journal
from thresher.journal.prepared_correction import digest_features
from thresher.text.analysers import Text
from thresher.web import quality
from thresher.web.alarm import MAX_DROP, PastDecisions
from thresher.web.review_documents import display_text

MEASURE_EVERY = 25  # corrections


class Measures:
    """The measurements of one model while it learns: the last one, and past decisions. Threads may share it."""

    def __init__(self, past: PastDecisions) -> None:
        self.last: quality.Quality | None = None
        self.past = past


class PublishedModel(NamedTuple):
    """A published model and the data to measure it, all of the same moment.

    `taught` holds the numbers of the held-out documents that the model was taught.
    """

    model: Categorizer
    position: int
    history: CategoryHistory
    taught: frozenset[int]
    measures: Measures


class QualityMonitor:
    """Measures a model at its start, while it learns, and on request.

    The writing thread reports what is taught and published. Any thread may request measurements.

    Parameters
    ----------
    holdout : sequence of Document
        Labelled documents to measure on, except those that are taught. Without any, the model is measured on request,
        on the documents in its reservoir.
    """

    def __init__(self, holdout: Sequence[Document]) -> None:
        self.holdout = holdout
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="measuring")
        if holdout:
            self._executor.submit(int)  # starts the thread now, while there is memory for it

    def stop(self) -> None:
        """Stop measuring."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def start(self, model: Categorizer, journal: Journal) -> None:
        """Start with a model, perhaps another one. A measurement in progress does not count for it."""
        self._measures = Measures(PastDecisions(self.holdout, journal))
        self._measured_at = -MEASURE_EVERY
        self._taught: frozenset[int] = frozenset()
        self._numbers: dict[str, list[int]] = {}  # numbers of held-out documents, by the digest of their features
        for number, document in enumerate(self.holdout):
            for digest in {digest_features(model.state.features.count_features(text)) for text in _texts_of(document)}:
                self._numbers.setdefault(digest, []).append(number)

    def read_taught(self, journal: Journal) -> None:
        """Read from the journal which held-out documents are taught."""
        digests = journal.corrections.find_digests(self._numbers)
        self._taught = frozenset(number for digest in digests for number in self._numbers[digest])

    def add_taught(self, digest: str) -> None:
        """Record that the text whose features have this digest is taught."""
        self._taught |= frozenset(self._numbers.get(digest, ()))

    def publish(self, model: Categorizer, position: int, history: CategoryHistory) -> PublishedModel:
        """Return a model to publish, and measure it from time to time on another thread."""
        published = PublishedModel(model, position, history, self._taught, self._measures)
        if self.holdout and position - self._measured_at >= MEASURE_EVERY:
            self._measured_at = position
            with suppress(RuntimeError):  # it was stopped, but the writing thread has not ended yet
                self._executor.submit(self._measure, published)
        return published

    def _measure(self, published: PublishedModel) -> None:
        """Measure a model, and save its decisions every MEASURE_EVERY corrections, but not at each restart."""
        measured, last = self.measure(published), published.measures.past.last_position()
        if measured is not None and (last is None or measured.position - last >= MEASURE_EVERY):
            published.measures.past.add(measured.position, measured.whole)

    def save(self, journal: Journal) -> None:
        """Write the data for a restart to the journal, if there is room; the next call tries again."""
        with suppress(JournalFullError):
            self._measures.past.save(journal)

    def measure(self, published: PublishedModel) -> quality.Quality | None:
        """Return the quality of the categories, or None before anything was learned."""
        measured = published.measures.last
        if measured is None or measured.position != published.position:
            if not published.model.categories or not published.model.state.learner.is_fitted:
                return None
            measured = quality.measure(
                published.model, published.position, self._rename_categories(published), published.taught
            )
            published.measures.last = measured
        return measured

    def _rename_categories(self, published: PublishedModel) -> list[Document]:
        """Return the held-out documents with the current names of their categories."""
        known = set(published.model.categories)
        documents = []
        for document in self.holdout:
            names = (name if name in known else published.history.current_name(name) for name in document.categories)
            documents.append(document._replace(categories=tuple(name for name in names if name is not None)))
        return documents

    def describe_sample(self, published: PublishedModel, measured: quality.Quality | None) -> dict[str, Any]:
        """Return the number and the kind of the documents of a measurement."""
        return {
            "documents": len(measured.left) if measured else 0,
            "held_out": bool(self.holdout),
            "taught": len(published.taught),
        }

    def summary(self, published: PublishedModel) -> dict[str, Any] | None:
        """Return the measurement on held-out documents, and whether it has fallen; None without such documents."""
        measured = self.measure(published) if self.holdout else None
        if measured is None:
            return None
        counts = {"documents": len(measured.left), "taught": len(published.taught)}
        if not len(measured.left):
            return counts | {"macro_f1": None, "micro_f1": None, "best_macro_f1": None, "alarm": False}
        best = max(measured.macro_f1, published.measures.past.best_macro_f1(measured.position, measured.left))
        return counts | {
            "macro_f1": measured.macro_f1,
            "micro_f1": measured.evaluation.counts().micro().f1,
            "best_macro_f1": best,
            "alarm": best - measured.macro_f1 > MAX_DROP,
        }


def _texts_of(document: Document) -> list[Text]:
    """Return the texts by which a document may be taught: as it is and, if it has fields, joined."""
    content = document.content
    return [content] if isinstance(content, str) else [content, document.text, display_text(content)]
