"""Measure the quality of each category, on held-out documents or on those in the reservoir, for tables and curves."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from thresher import metrics
from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.evaluation import Evaluation, evaluate
from thresher.metrics import Ints, Truth
from thresher.model.scoring import decide_sampled
from thresher.rows.labels import as_truth

_POINTS = 200


class Quality(NamedTuple):
    """A measurement of a model at a position of its journal.

    `whole` is the evaluation of all held-out documents, and `left` holds the numbers of those that were not taught.
    `evaluation` covers only these, and `rows` holds its rates by category.
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
    """Return the mean F1 of the categories that have documents; 0 if no category has any."""
    counts = metrics.Counts(truth.shape[1]).update(truth, accepted)
    known = counts.f1()[counts.positives > 0]
    return float(np.mean(known)) if len(known) else 0.0


def measure(
    model: Categorizer, position: int, holdout: Sequence[Document], taught: Collection[int] = frozenset()
) -> Quality:
    """Measure a model on held-out documents or, without any, on the completely labelled ones in its reservoir.

    `taught` holds the numbers of held-out documents to leave out because the model has learned them.
    """
    whole = evaluate(model, list(holdout)) if holdout else evaluate_kept(model)
    whole = whole.of_categories(model.categories)
    left = np.array([number for number in range(len(whole.ids)) if number not in taught], dtype=np.int64)
    untaught = whole.of_documents(left) if taught else whole
    rows = {row["category"]: row for row in untaught.summary()["per_category"]} if len(left) else {}
    return Quality(position, whole, left, untaught, rows)


def evaluate_kept(model: Categorizer) -> Evaluation:
    """Evaluate a model on the documents in its reservoir; the result is optimistic, as it has learned them."""
    documents = [document for document in model.state.reservoir.documents if document.complete]
    truth = as_truth([document.categories for document in documents], len(model.categories))
    scores, accepted = decide_sampled(model.state, documents)
    return Evaluation(model.categories, truth, scores, accepted, [str(i) for i in range(len(documents))])


def curve(quality: Quality, category: str, threshold: float) -> list[dict[str, float]]:
    """Return precision and recall of a category at its possible thresholds, the highest first.

    Each point represents all thresholds that accept the same documents; the current threshold represents its own range.
    """
    number = quality.evaluation.categories.index(category)
    truth, scores = quality.evaluation.truth[:, number], quality.evaluation.scores[:, number]
    if not truth.any():
        return []
    rates = metrics.precision_recall_curve(scores, truth)
    below = np.append(rates.thresholds[1:], rates.thresholds[-1] - 0.1)  # scores above it are accepted
    between = np.where((below <= 1) & (rates.thresholds > 1), 1.0, (rates.thresholds + below) / 2)
    at = np.unique(np.linspace(0, len(rates.thresholds) - 1, min(_POINTS, len(rates.thresholds))).astype(np.int64))
    points = [
        {
            "threshold": float(between[i]) - 1 + threshold,
            "precision": float(rates.precision[i]),
            "recall": float(rates.recall[i]),
        }
        for i in at
    ]
    return sorted(points, key=lambda point: -point["threshold"])
