"""How well each category does, on documents held out or on those that the model keeps; the page's tables and curves."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from thresher import metrics
from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.evaluation import Evaluation, evaluate
from thresher.metrics import Ints, Truth

_POINTS = 200


class Quality(NamedTuple):
    """What was measured of a model at a position of its journal.

    `whole` is the evaluation of all documents held out, `left` the numbers of those that were not taught,
    `evaluation` that of these, and `rows` holds its rates by category.
    """

    position: int
    whole: Evaluation
    left: Ints
    evaluation: Evaluation
    rows: dict[str, dict[str, Any]]

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the categories that have documents."""
        return macro_f1(self.evaluation.truth, self.evaluation.accepted)


def macro_f1(truth: Truth, accepted: Truth) -> float:
    """Return the mean F1 of the categories that have documents; 0 if none has."""
    counts = metrics.Counts(truth.shape[1]).update(truth, accepted)
    known = counts.f1()[counts.positives > 0]
    return float(np.mean(known)) if len(known) else 0.0


def measured(
    model: Categorizer, position: int, holdout: Sequence[Document], taught: Collection[int] = frozenset()
) -> Quality:
    """Measure a model on documents held out or, where there are none, on those it keeps and knows all categories of.

    `taught` holds the numbers of the documents held out that are left out, as the model has learned them.
    """
    whole = evaluate(model, list(holdout)) if holdout else evaluate_kept(model)
    whole = whole.of_categories(model.categories)
    left = np.array([number for number in range(len(whole.ids)) if number not in taught], dtype=np.int64)
    found = whole.of_documents(left) if taught else whole
    rows = {row["category"]: row for row in found.summary()["per_category"]} if len(left) else {}
    return Quality(position, whole, left, found, rows)


def evaluate_kept(model: Categorizer) -> Evaluation:
    """Return how a model does on the documents that it keeps; it has learned them, so that is flattering."""
    documents = [document for document in model.reservoir.documents if document.complete]
    truth = np.zeros((len(documents), len(model.categories)), dtype=np.bool_)
    for row, document in zip(truth, documents, strict=True):
        row[list(document.categories)] = True
    scores, accepted = model.decide_kept(documents)
    return Evaluation(model.categories, truth, scores, accepted, [str(i) for i in range(len(documents))])


def curve(quality: Quality, category: str, threshold: float) -> list[dict[str, float]]:
    """Return precision and recall of a category at the thresholds it might have, falling from the highest.

    Each stands for all thresholds that accept the same documents, the one in use for those like it.
    """
    number = quality.evaluation.categories.index(category)
    truth, scores = quality.evaluation.truth[:, number], quality.evaluation.scores[:, number]
    if not truth.any():
        return []
    found = metrics.precision_recall_curve(scores, truth)
    below = np.append(found.thresholds[1:], found.thresholds[-1] - 0.1)  # what is above is accepted
    between = np.where((below <= 1) & (found.thresholds > 1), 1.0, (found.thresholds + below) / 2)
    at = np.unique(np.linspace(0, len(found.thresholds) - 1, min(_POINTS, len(found.thresholds))).astype(np.int64))
    points = [
        {
            "threshold": float(between[i]) - 1 + threshold,
            "precision": float(found.precision[i]),
            "recall": float(found.recall[i]),
        }
        for i in at
    ]
    return sorted(points, key=lambda point: -point["threshold"])
