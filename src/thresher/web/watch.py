"""How the model does on documents held out, or on those it keeps: measured from time to time, and watched."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.renames import Renames
from thresher.web import quality

WATCHED = 200  # corrections over which what is measured on documents held out may fall only so far:
LARGEST_FALL = 0.02
MEASURED_EVERY = 25  # corrections


class Watch:
    """What was measured of a model, position by position.

    Parameters
    ----------
    holdout : sequence of Document
        Labelled documents, never learned; without any the model is measured, when asked, on what it keeps.
    """

    def __init__(self, holdout: Sequence[Document]) -> None:
        self.holdout = holdout
        self._measuring = ThreadPoolExecutor(1, thread_name_prefix="measuring")
        if holdout:
            self._measuring.submit(int)  # starts it now, when there is memory for it
        self.forget()

    def forget(self) -> None:
        """Begin anew, for another model."""
        self._quality: quality.Quality | None = None
        self._macro: list[tuple[int, float]] = []
        self._measured_at = -MEASURED_EVERY

    def published(self, model: Categorizer, position: int, renames: Renames) -> None:
        """Measure a model that has learned, from time to time and on a thread of its own."""
        if self.holdout and position - self._measured_at >= MEASURED_EVERY:
            self._measured_at = position
            self._measuring.submit(self.measured, model, position, renames)

    def measured(self, model: Categorizer, position: int, renames: Renames) -> quality.Quality | None:
        """Return how well the categories do now; None before anything was learned."""
        found = self._quality
        if found is None or found.position != position:
            if not model.categories or not model.learner.is_fitted:
                return None
            found = self._quality = quality.measured(model, position, self._held_out_now(model, renames))
            if self.holdout:
                self._macro = [*self._macro, (position, found.macro_f1)][-10 * WATCHED :]
        return found

    def _held_out_now(self, model: Categorizer, renames: Renames) -> list[Document]:
        """Return the documents held out with the names that their categories have now."""
        known = set(model.categories)
        found = []
        for document in self.holdout:
            names = (name if name in known else renames.now(name) for name in document.categories)
            found.append(document._replace(categories=tuple(name for name in names if name is not None)))
        return found

    def summary(self, found: quality.Quality) -> dict[str, Any]:
        """Return what was measured last on documents held out, and whether it has fallen."""
        first = found.position - WATCHED
        before = [macro for position, macro in self._macro if position < first][-1:]  # what it was when they began
        best = max([*before, *(macro for position, macro in self._macro if position >= first)])
        return {
            "documents": len(found.evaluation.ids),
            "macro_f1": found.macro_f1,
            "micro_f1": found.evaluation.counts().micro().f1,
            "best_macro_f1": best,
            "alarm": best - found.macro_f1 > LARGEST_FALL,
        }
