"""The result of an evaluation, with all its measures."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from thresher import metrics
from thresher.errors import DataError
from thresher.metrics import Counts, Floats, Ints, Rates, Truth, significance
from thresher.metrics.significance import Interval


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The decisions of a model on labelled documents, and their measures.

    Parameters
    ----------
    categories : list of str
        The model's categories in its order, then those that only the documents have.
    truth, scores, accepted : arrays (documents, categories)
        Which categories the documents have; the reported scores, above 1 if a threshold is passed; and the categories
        that the model's policy accepts.
    ids : list of str
        The documents' names: `id` or, without one, `place` or the number of the document, from 1.
    unknown_categories : dict from str to int
        The number of labels that the model could not have given, by category. They count as missed, and their scores
        are lower than all others. `of_categories(model.categories)` leaves them out.
    fold_of : array (documents,), optional
        After cross-validation, the fold of each document.

    Examples
    --------
    >>> truth = np.array([[True, False], [False, True], [False, True]])
    >>> scores = np.array([[1.5, 0.5], [0.5, 0.75], [0.25, 2.0]])
    >>> found = Evaluation(["energy", "grain"], truth, scores, scores > 1, ["1", "2", "3"])
    >>> found.pooled_break_even, found.counts().micro().precision, found.summary()["per_category"][1]["recall"]
    (1.0, 1.0, 0.5)
    """

    categories: list[str]
    truth: Truth
    scores: Floats
    accepted: Truth
    ids: list[str]
    unknown_categories: dict[str, int] = field(default_factory=dict)
    fold_of: Ints | None = None

    def __post_init__(self) -> None:
        metrics.check_shapes(truth=self.truth, scores=self.scores, accepted=self.accepted)
        if self.truth.shape != (len(self.ids), len(self.categories)):
            sizes = f"{len(self.ids)} documents and {len(self.categories)} categories"
            raise DataError(f"arrays of the shape {self.truth.shape} do not fit {sizes}")

    def counts(self) -> Counts:
        """Return the four counts per category."""
        return Counts(len(self.categories)).update(self.truth, self.accepted)

    @property
    def pooled_break_even(self) -> float:
        """The break-even point of all pairs of document and category, ranked together by reported score."""
        return metrics.pooled_break_even(self.scores, self.truth)

    def of_documents(self, numbers: Sequence[int] | Ints) -> "Evaluation":
        """Return the evaluation of some of the documents, by their `numbers` from 0."""
        rows = np.asarray(numbers, dtype=np.int64)
        truth, ids = self.truth[rows], [self.ids[row] for row in rows]
        labels = zip(self.categories, np.count_nonzero(truth, axis=0).tolist(), strict=True)
        unknown = {name: n for name, n in labels if n and name in self.unknown_categories}
        fold_of = None if self.fold_of is None else self.fold_of[rows]
        return Evaluation(self.categories, truth, self.scores[rows], self.accepted[rows], ids, unknown, fold_of)

    def of_categories(self, names: Iterable[str]) -> "Evaluation":
        """Return the evaluation of the categories `names`, in this order; new names become unknown categories."""
        wanted = list(names)
        others = sorted(set(wanted) - set(self.categories))
        numbers = {name: number for number, name in enumerate(self.categories + others)}
        columns = [numbers[name] for name in wanted]
        truth = np.pad(self.truth, ((0, 0), (0, len(others))))[:, columns]
        scores, accepted = widen(self.scores, self.accepted, len(others))
        unknown = {name: n for name, n in self.unknown_categories.items() if name in set(wanted)}
        return Evaluation(wanted, truth, scores[:, columns], accepted[:, columns], self.ids, unknown, self.fold_of)

    def by_fold(self) -> "list[Evaluation]":
        """Return the evaluation of each fold, or of all documents if there was no cross-validation."""
        if self.fold_of is None:
            return [self]
        return [self.of_documents(np.flatnonzero(self.fold_of == fold)) for fold in np.unique(self.fold_of)]

    def confusions(self, top: int = 10) -> list[tuple[str, str, int]]:
        """Return the `top` most frequent confusions as (missed, accepted instead, documents)."""
        missed, wrong = self.truth & ~self.accepted, self.accepted & ~self.truth
        pairs: Counter[tuple[int, int]] = Counter()
        for row in np.flatnonzero(missed.any(axis=1) & wrong.any(axis=1)):
            pairs.update(product(np.flatnonzero(missed[row]).tolist(), np.flatnonzero(wrong[row]).tolist()))
        best = sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))[:top]
        return [(self.categories[a], self.categories[b], n) for (a, b), n in best]

    def intervals(self, *, level: float = 0.95, n_samples: int = 1000, seed: int = 0) -> dict[str, Interval]:
        """Return bootstrap intervals of pooled break-even, micro F1 and macro F1.

        `level` is their confidence level, `n_samples` the number of draws, and `seed` that of the draws.
        """
        arrays = (self.truth, self.scores, self.accepted)
        return significance.intervals(*arrays, level=level, n_samples=n_samples, seed=seed)

    def summary(self, *, intervals: bool = False) -> dict[str, Any]:
        """Return the measures as JSON values: fractions from 0 to 1, and None if a measure is undefined.

        With `intervals`, add their confidence intervals.
        """
        measures = self._brief() | {
            "micro_break_even": _number(metrics.micro_break_even(self.scores, self.truth)),
            "macro_break_even": _number(metrics.macro_break_even(self.scores, self.truth)),
            "exactly_right": float(metrics.share((self.truth == self.accepted).all(axis=1).sum(), len(self.ids))),
            "ranking": {
                "precision_at_1": _number(metrics.precision_at(self.scores, self.truth, 1)),
                "r_precision": _number(metrics.r_precision(self.scores, self.truth)),
                "ndcg": _number(metrics.ndcg(self.scores, self.truth)),
            },
            "per_category": self._per_category(),
            "unknown_categories": dict(self.unknown_categories),
        }
        if self.fold_of is not None:
            measures["folds"] = [part._brief() for part in self.by_fold()]
        if intervals:
            measures["intervals"] = {name: _numbers(ends) for name, ends in self.intervals().items()}
        return measures

    def _brief(self) -> dict[str, Any]:
        counts = self.counts()
        return {
            "documents": len(self.ids),
            "categories": len(self.categories),
            "pooled_break_even": _number(self.pooled_break_even),
            "micro": _numbers(counts.micro()),
            "macro": _numbers(counts.macro()),
        }

    def _per_category(self) -> list[dict[str, Any]]:
        counts = self.counts()
        numbers = ("positives", "accepted", "true_positives", "false_positives", "false_negatives", "true_negatives")
        columns: dict[str, list[Any]] = {"category": self.categories}
        columns |= {name: getattr(counts, name).tolist() for name in numbers}
        columns |= {name: getattr(counts, name)().tolist() for name in Rates._fields}
        columns["break_even"] = [_number(point) for point in metrics.break_evens(self.scores, self.truth)]
        columns["average_precision"] = [
            _number(metrics.average_precision(*column)) for column in zip(self.scores.T, self.truth.T, strict=True)
        ]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _number(value: float) -> float | None:
    """Return a float for JSON, with None for NaN, which JSON lacks."""
    return None if np.isnan(value) else float(value)


def _numbers(values: Rates | Interval) -> dict[str, float | None]:
    return {name: _number(value) for name, value in values._asdict().items()}


def widen(scores: Floats, accepted: Truth, count: int) -> tuple[Floats, Truth]:
    """Add categories that a model does not know: it never accepts them, and they rank below all that it knows."""
    if count == 0:
        return scores, accepted
    wide = (0, 0), (0, count)
    return np.pad(scores, wide, constant_values=scores.min(initial=1.0) - 1), np.pad(accepted, wide)
