"""Prequential evaluation: predict each document, then learn it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import tee
from typing import Any

import numpy as np

from thresher.categorizer import Categorizer
from thresher.datasets.category_names import normalize_categories
from thresher.datasets.document import Document
from thresher.metrics import Floats, Ints, check_whole, f1_of
from thresher.support.progress import Report, Step


@dataclass(frozen=True, eq=False)
class Prequential:
    """The results of a model that predicted each document before learning it.

    Parameters
    ----------
    counts : array (documents, 3)
        The true positives, false positives and false negatives of each document.
    window : int
        The number of documents over which the curve looks back.
    empty : int
        The number of documents that taught nothing: without a feature, or without a category while none was known.
    """

    counts: Ints
    window: int
    empty: int = 0

    @property
    def mistakes(self) -> Ints:
        """The number of documents predicted wrong so far, after each document."""
        return np.cumsum(self.counts[:, 1:].any(axis=1))

    @property
    def documents_wrong(self) -> int:
        """The number of documents predicted wrong."""
        return int(self.counts[:, 1:].any(axis=1).sum())

    @property
    def decisions_wrong(self) -> int:
        """The number of categories wrongly accepted or missed, over all documents."""
        return int(self.counts[:, 1:].sum())

    def curve(self) -> Floats:
        """Return the micro F1 over the last `window` documents, after each document."""
        sums = np.cumsum(self.counts, axis=0)
        sums[self.window :] -= np.cumsum(self.counts, axis=0)[: -self.window]
        return f1_of(*sums.T)

    def summary(self) -> dict[str, Any]:
        """Return the results as JSON values, with the curve at up to 100 points."""
        curve, mistakes, n = self.curve().tolist(), self.mistakes.tolist(), len(self.counts)
        points = np.unique(np.linspace(0, n - 1, min(n, 100)).astype(np.int64)).tolist()
        return {
            "documents": n,
            "documents_wrong": self.documents_wrong,
            "decisions_wrong": self.decisions_wrong,
            "empty": self.empty,
            "micro_f1": float(f1_of(*self.counts.sum(axis=0))),
            "window": self.window,
            "curve": [{"documents": i + 1, "documents_wrong": mistakes[i], "window_f1": curve[i]} for i in points],
        }


def prequential(
    model: Categorizer, documents: Iterable[Document], *, window: int = 500, progress: Report | None = None
) -> Prequential:
    """Let a `model` predict each of the `documents` and then learn it, as in production.

    The model may be new. A category that it does not know yet counts as missed. The curve looks back over `window`
    documents. `progress` is called with a `Step` from time to time.

    >>> documents = [Document("crude oil", ("energy",)), Document("wheat", ("grain",))] * 5
    >>> prequential(Categorizer(), documents).documents_wrong
    2
    """
    check_whole("window", window)
    total = len(documents) if isinstance(documents, Sequence) else 0
    counts, empty, mistakes = [], 0, 0
    read, learned = tee(documents)
    for document, (predicted, taught) in zip(
        read, model.stream((document.content, document.categories) for document in learned), strict=True
    ):
        true, accepted = set(normalize_categories(document.categories)), set(predicted)
        counts.append((len(true & accepted), len(accepted - true), len(true - accepted)))
        mistakes += true != accepted
        empty += not taught
        if progress is not None and (len(counts) % 100 == 0 or len(counts) == total):
            progress(Step("prequential", len(counts), total, mistakes))
    return Prequential(np.array(counts, dtype=np.int64).reshape(-1, 3), window, empty)
