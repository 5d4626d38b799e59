"""The model that a service serves: with its journal, its documents to review, its statistics and its published view.

Only the writing thread may change it or read the journal. Readers use the published view, which is replaced after each
correction and never blocks.
"""

import logging

from thresher.categorizer import Categorizer
from thresher.journal.category_history import CategoryHistory
from thresher.journal.journaled_model import JournaledModel
from thresher.journal.record import Record
from thresher.web.category_input import CategoryNames
from thresher.web.correction_stats import CorrectionStats
from thresher.web.quality_monitor import QualityMonitor
from thresher.web.review_documents import ReviewDocuments
from thresher.web.review_order import ReviewOrder

_log = logging.getLogger("thresher.web")


class ServedModel:
    """A journaled model, and what the service derives from it. Reading all records takes a second for 100,000 of them.

    Parameters
    ----------
    journaled_model : JournaledModel
        The model and its open journal. Its remarks so far are known to the caller; later ones are logged.
    monitor : QualityMonitor
        Measures the quality of the model while it learns.

    Attributes
    ----------
    documents : ReviewDocuments
        The documents to review.
    order : ReviewOrder
        The order of these documents.
    stats : CorrectionStats
        The statistics of the corrections.
    history : CategoryHistory
        The changes of the categories. It is replaced, never changed.
    published : PublishedModel
        The published model with the data to measure it. It is replaced, never changed.
    """

    def __init__(self, journaled_model: JournaledModel, monitor: QualityMonitor) -> None:
        self.journaled_model, self.monitor = journaled_model, monitor
        self._logged = len(journaled_model.remarks)
        self._digest: tuple[int, str] | None = None
        self._names = CategoryNames([])
        self.order = ReviewOrder()
        self.documents = ReviewDocuments(journaled_model.journal.queue)
        monitor.start(journaled_model.model, journaled_model.journal)
        self.read_records()
        self.publish()

    def read_records(self) -> None:
        """Read the active corrections and the changes of the categories from the journal."""
        self.history = CategoryHistory.read(self.journaled_model.journal)
        self.stats = CorrectionStats(self.journaled_model, self.history)
        self.monitor.read_taught(self.journaled_model.journal)

    def publish(self) -> None:
        """Publish the current model for readers, and measure it from time to time."""
        remarks = self.journaled_model.remarks
        for remark in remarks[self._logged :]:
            _log.warning("%s", remark)
        self._logged = len(remarks)
        view, position = self.journaled_model.model.view(), self.journaled_model.position
        self.published = self.monitor.publish(view, position, self.history)
        self.monitor.save(self.journaled_model.journal)

    @property
    def view(self) -> Categorizer:
        """The last published model."""
        return self.published.model

    @property
    def position(self) -> int:
        """The last record that the published model has learned."""
        return self.published.position

    def names_of(self, model: Categorizer) -> CategoryNames:
        """Return the category names of a model, for lookups."""
        names = self._names
        if names.names is not model.categories:
            names = self._names = CategoryNames(model.categories)
        return names

    def digest(self) -> str:
        """Return the digest of the current model."""
        position = self.journaled_model.position
        if self._digest is None or self._digest[0] != position:
            self._digest = position, self.journaled_model.model.digest()
        return self._digest[1]

    def count_correction(self, record: Record) -> None:
        """Take a new correction into the statistics."""
        self.stats.add(record, wrong=bool(record.effect and record.effect["mistakes"]))
        self.monitor.add_taught(record.digest)
