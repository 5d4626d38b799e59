"""Measure a model from time to time while it learns, on held-out documents or on those in the reservoir."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.errors import JournalFullError
from thresher.journal.category_history import Renames
from thresher.journal.database import Journal
from thresher.journal.replay import features_digest
from thresher.text.analysers import Text
from thresher.web import quality
from thresher.web.alarm import LARGEST_FALL, Past
from thresher.web.review_documents import plain

MEASURED_EVERY = 25  # corrections


class Measures:
    """The measurements of one model while it learns: the last one, and past decisions. Threads may share it."""

    def __init__(self, past: Past) -> None:
        self.last: quality.Quality | None = None
        self.past = past


class Shown(NamedTuple):
    """A published model and the data to measure it, all of the same moment.

    `taught` holds the numbers of the held-out documents that the model was taught.
    """

    model: Categorizer
    position: int
    renames: Renames
    taught: frozenset[int]
    measures: Measures


class Watch:
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
        self._measuring = ThreadPoolExecutor(1, thread_name_prefix="measuring")
        if holdout:
            self._measuring.submit(int)  # starts the thread now, while there is memory for it

    def stop(self) -> None:
        """Stop measuring."""
        self._measuring.shutdown(wait=False, cancel_futures=True)

    def begin(self, model: Categorizer, journal: Journal) -> None:
        """Start with a model, perhaps another one. A measurement in progress does not count for it."""
        self._measures = Measures(Past(self.holdout, journal))
        self._measured_at = -MEASURED_EVERY
        self._taught: frozenset[int] = frozenset()
        self._numbers: dict[str, list[int]] = {}  # numbers of held-out documents, by the digest of their features
        for number, document in enumerate(self.holdout):
            for digest in {features_digest(model.state.features.found_in(text)) for text in _texts_of(document)}:
                self._numbers.setdefault(digest, []).append(number)

    def read_taught(self, journal: Journal) -> None:
        """Read from the journal which held-out documents are taught."""
        found = journal.taught(self._numbers)
        self._taught = frozenset(number for digest in found for number in self._numbers[digest])

    def add_taught(self, digest: str) -> None:
        """Record that the text whose features have this digest is taught."""
        self._taught |= frozenset(self._numbers.get(digest, ()))

    def published(self, model: Categorizer, position: int, renames: Renames) -> Shown:
        """Return a model to publish, and measure it from time to time on another thread."""
        shown = Shown(model, position, renames, self._taught, self._measures)
        if self.holdout and position - self._measured_at >= MEASURED_EVERY:
            self._measured_at = position
            with suppress(RuntimeError):  # it was stopped, but the writing thread has not ended yet
                self._measuring.submit(self._measure, shown)
        return shown

    def _measure(self, shown: Shown) -> None:
        """Measure a model, and save its decisions every MEASURED_EVERY corrections, but not at each restart."""
        found, last = self.measured(shown), shown.measures.past.last()
        if found is not None and (last is None or found.position - last >= MEASURED_EVERY):
            shown.measures.past.add(found.position, found.whole)

    def keep(self, journal: Journal) -> None:
        """Write the data for a restart to the journal, if there is room; the next call tries again."""
        with suppress(JournalFullError):
            self._measures.past.keep(journal)

    def measured(self, shown: Shown) -> quality.Quality | None:
        """Return the quality of the categories, or None before anything was learned."""
        found = shown.measures.last
        if found is None or found.position != shown.position:
            if not shown.model.categories or not shown.model.state.learner.is_fitted:
                return None
            found = quality.measured(shown.model, shown.position, self._held_out_now(shown), shown.taught)
            shown.measures.last = found
        return found

    def _held_out_now(self, shown: Shown) -> list[Document]:
        """Return the held-out documents with the current names of their categories."""
        known = set(shown.model.categories)
        found = []
        for document in self.holdout:
            names = (name if name in known else shown.renames.now(name) for name in document.categories)
            found.append(document._replace(categories=tuple(name for name in names if name is not None)))
        return found

    def measured_on(self, shown: Shown, found: quality.Quality | None) -> dict[str, Any]:
        """Return the number and the kind of the documents of a measurement."""
        return {
            "documents": len(found.left) if found else 0,
            "held_out": bool(self.holdout),
            "taught": len(shown.taught),
        }

    def summary(self, shown: Shown) -> dict[str, Any] | None:
        """Return the measurement on held-out documents, and whether it has fallen; None without such documents."""
        found = self.measured(shown) if self.holdout else None
        if found is None:
            return None
        counts = {"documents": len(found.left), "taught": len(shown.taught)}
        if not len(found.left):
            return counts | {"macro_f1": None, "micro_f1": None, "best_macro_f1": None, "alarm": False}
        best = max(found.macro_f1, shown.measures.past.best(found.position, found.left))
        return counts | {
            "macro_f1": found.macro_f1,
            "micro_f1": found.evaluation.counts().micro().f1,
            "best_macro_f1": best,
            "alarm": best - found.macro_f1 > LARGEST_FALL,
        }


def _texts_of(document: Document) -> list[Text]:
    """Return the texts by which a document may be taught: as it is and, if it has fields, joined."""
    content = document.content
    return [content] if isinstance(content, str) else [content, document.text, plain(content)]
