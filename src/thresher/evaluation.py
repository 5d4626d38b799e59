"""How well a model does on labelled documents: held out, cross-validated, or learned one by one; shells call it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product, tee
from typing import Any

import numpy as np

from thresher import metrics, significance
from thresher.categorizer import Categorizer
from thresher.category_names import category_set
from thresher.datasets.document import Document
from thresher.errors import DataError
from thresher.folds import folds as fold_numbers
from thresher.labelled import Labelled, content_of, name_of, truth_of
from thresher.metrics import Counts, Floats, Ints, Rates, Truth, check_whole, f1_of
from thresher.significance import Interval, PairedTest
from thresher.tuning import Report, Step


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a model said about labelled documents, and the measures of it.

    Parameters
    ----------
    categories : list of str
        The model's categories in its order, then those that only the documents have.
    truth, scores, accepted : arrays (documents, categories)
        Which categories the documents have; the reported scores, above 1 where a threshold is passed; and what the
        model's policy accepts.
    ids : list of str
        The documents' names: `id` or, without one, `place` or the number of the document, from 1.
    unknown_categories : dict from str to int
        How many labels the model could not have given, by category. They count as missed, and their scores are lower
        than all others; `of_categories(model.categories)` leaves them out.
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
        """Return the four counts by category."""
        return Counts(len(self.categories)).update(self.truth, self.accepted)

    @property
    def pooled_break_even(self) -> float:
        """The break-even of all pairs of document and category, ranked together by reported score."""
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
        """Return the evaluation of the categories `names`, in this order; others than ours count as unknown to it."""
        wanted = list(names)
        others = sorted(set(wanted) - set(self.categories))
        numbers = {name: number for number, name in enumerate(self.categories + others)}
        columns = [numbers[name] for name in wanted]
        truth = np.pad(self.truth, ((0, 0), (0, len(others))))[:, columns]
        scores, accepted = _widened(self.scores, self.accepted, len(others))
        unknown = {name: n for name, n in self.unknown_categories.items() if name in set(wanted)}
        return Evaluation(wanted, truth, scores[:, columns], accepted[:, columns], self.ids, unknown, self.fold_of)

    def by_fold(self) -> "list[Evaluation]":
        """Return the evaluation of each fold; of all documents where there was no cross-validation."""
        if self.fold_of is None:
            return [self]
        return [self.of_documents(np.flatnonzero(self.fold_of == fold)) for fold in np.unique(self.fold_of)]

    def confusions(self, top: int = 10) -> list[tuple[str, str, int]]:
        """Return (missed, accepted instead, documents): the `top` pairs that most often stand in one, both wrong."""
        missed, wrong = self.truth & ~self.accepted, self.accepted & ~self.truth
        pairs: Counter[tuple[int, int]] = Counter()
        for row in np.flatnonzero(missed.any(axis=1) & wrong.any(axis=1)):
            pairs.update(product(np.flatnonzero(missed[row]).tolist(), np.flatnonzero(wrong[row]).tolist()))
        best = sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))[:top]
        return [(self.categories[a], self.categories[b], n) for (a, b), n in best]

    def intervals(self, *, level: float = 0.95, n_samples: int = 1000, seed: int = 0) -> dict[str, Interval]:
        """Return bootstrap intervals of pooled break-even, micro F1 and macro F1: of a `level`, from `n_samples` draws.

        `seed` is that of the draws.
        """
        arrays = (self.truth, self.scores, self.accepted)
        return significance.intervals(*arrays, level=level, n_samples=n_samples, seed=seed)

    def summary(self, *, intervals: bool = False) -> dict[str, Any]:
        """Return the measures as JSON takes them: fractions from 0 to 1, and None where one is not defined.

        With `intervals`, those that chance allows stand beside.
        """
        found = self._brief() | {
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
            found["folds"] = [part._brief() for part in self.by_fold()]
        if intervals:
            found["intervals"] = {name: _numbers(ends) for name, ends in self.intervals().items()}
        return found

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
    """Return a float for JSON, which knows no NaN."""
    return None if np.isnan(value) else float(value)


def _numbers(values: Rates | Interval) -> dict[str, float | None]:
    return {name: _number(value) for name, value in values._asdict().items()}


# -- held-out documents ------------------------------------------------------------------------------------------------


def evaluate(model: Categorizer, documents: Iterable[Document], *, progress: Report | None = None) -> Evaluation:
    """Score labelled `documents`, which the `model` does not learn, and set what it says beside their categories.

    `progress` is called with a `Step` now and then.

    >>> model = Categorizer().fit(["crude oil", "wheat harvest"] * 5, ["energy", "grain"] * 5)
    >>> found = evaluate(model, [Document("oil", ("energy",)), Document("wheat", ("grain", "food"))])
    >>> found.counts().micro().recall == 2 / 3, found.unknown_categories
    (True, {'food': 1})
    """
    labelled = Labelled()
    scores, accepted = model.decide(labelled.contents(documents, progress))
    return assembled(model.categories, labelled.ids, labelled.categories, scores, accepted)


def assembled(
    known: list[str], ids: list[str], categories: list[list[str]], scores: Floats, accepted: Truth
) -> Evaluation:
    """Set scores and decisions of a model that knows some categories beside those that the documents have."""
    if not ids:
        raise DataError("there are no documents to evaluate (the source is empty)")
    present = set(known)
    unknown = Counter(name for row in categories for name in row if name not in present)
    names = [*known, *sorted(unknown)]
    scores, accepted = _widened(scores, accepted, len(unknown))
    return Evaluation(names, truth_of(categories, names), scores, accepted, ids, dict(sorted(unknown.items())))


def _widened(scores: Floats, accepted: Truth, count: int) -> tuple[Floats, Truth]:
    """Add categories that a model does not know: it never accepts them, and they rank below all that it knows."""
    if count == 0:
        return scores, accepted
    wide = (0, 0), (0, count)
    return np.pad(scores, wide, constant_values=scores.min(initial=1.0) - 1), np.pad(accepted, wide)


# -- cross-validation --------------------------------------------------------------------------------------------------


def cross_validate(
    documents: Iterable[Document],
    *,
    folds: int = 5,
    preset: str = "default",
    progress: Report | None = None,
    **settings: Any,
) -> Evaluation:
    """Score each document by a model that learned the documents of the other folds, and evaluate all together.

    Parameters
    ----------
    documents : iterable of Document
    folds : int
        Into how many parts of equal size the documents are dealt, each category evenly (`thresher.folds.folds`).
    preset, **settings
        Of the models, as `Categorizer` takes them, but for its own `folds`.
    progress : callable, optional
        Called with a `Step` now and then.

    Notes
    -----
    Reported scores are centred at 1, so that those of different models compare. A category whose positives all lie in
    one fold is unknown to the model that scores them.
    """
    listed = list(documents)
    check_whole("folds", folds, 2)
    if len(listed) < folds:
        raise DataError(f"there are {len(listed)} documents, too few for {folds} folds")
    labels = [category_set(document.categories) for document in listed]
    names = sorted({name for row in labels for name in row})
    truth = truth_of(labels, names)
    fold_of, unknown = fold_numbers(truth, folds), Counter[str]()
    scores, accepted = np.zeros(truth.shape), np.zeros(truth.shape, dtype=np.bool_)
    for fold in range(folds):
        inside, outside = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        report = _in_fold(f"fold {fold + 1}/{folds}", progress)
        model = Categorizer(preset=preset, **settings)
        model.fit([content_of(listed[i]) for i in inside], [labels[i] for i in inside], progress=report)
        part = evaluate(model, [listed[i] for i in outside], progress=report).of_categories(names)
        unknown.update(part.unknown_categories)
        scores[outside], accepted[outside] = part.scores, part.accepted
    ids = [name_of(number, document) for number, document in enumerate(listed, 1)]
    return Evaluation(names, truth, scores, accepted, ids, dict(sorted(unknown.items())), fold_of)


def _in_fold(name: str, progress: Report | None) -> Report | None:
    return None if progress is None else lambda step: progress(step._replace(stage=f"{name}: {step.stage}"))


# -- learning one by one -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prequential:
    """What happened while a model predicted each document before it learned it.

    Parameters
    ----------
    counts : array (documents, 3)
        Of each document the true positives, false positives and false negatives.
    window : int
        Over how many documents the curve looks back.
    empty : int
        How many documents taught nothing: they had no feature, or no category while none was known.
    """

    counts: Ints
    window: int
    empty: int = 0

    @property
    def mistakes(self) -> Ints:
        """How many documents had been predicted wrong, after each document."""
        return np.cumsum(self.counts[:, 1:].any(axis=1))

    @property
    def documents_wrong(self) -> int:
        """How many documents were predicted wrong."""
        return int(self.counts[:, 1:].any(axis=1).sum())

    @property
    def decisions_wrong(self) -> int:
        """How many categories were accepted wrongly or missed, over all documents."""
        return int(self.counts[:, 1:].sum())

    def curve(self) -> Floats:
        """Return micro F1 over the last documents, as many as the window holds, after each document."""
        sums = np.cumsum(self.counts, axis=0)
        sums[self.window :] -= np.cumsum(self.counts, axis=0)[: -self.window]
        return f1_of(*sums.T)

    def summary(self) -> dict[str, Any]:
        """Return the figures as JSON takes them; the curve at up to a hundred points."""
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
    """Let a `model` predict each of the `documents`, then learn it, as it would at work.

    It may have learned nothing before. A category that the model does not know yet is a miss. The curve is made over a
    `window` of so many documents; `progress` is called with a `Step` now and then.

    >>> documents = [Document("crude oil", ("energy",)), Document("wheat", ("grain",))] * 5
    >>> prequential(Categorizer(), documents).documents_wrong
    2
    """
    check_whole("window", window)
    total = len(documents) if isinstance(documents, Sequence) else 0
    counts, empty, mistakes = [], 0, 0
    read, learned = tee(documents)
    for document, (predicted, taught) in zip(
        read, model.stream((content_of(document), document.categories) for document in learned), strict=True
    ):
        true, found = set(category_set(document.categories)), set(predicted)
        counts.append((len(true & found), len(found - true), len(true - found)))
        mistakes += true != found
        empty += not taught
        if progress is not None and (len(counts) % 100 == 0 or len(counts) == total):
            progress(Step("prequential", len(counts), total, mistakes))
    return Prequential(np.array(counts, dtype=np.int64).reshape(-1, 3), window, empty)


# -- two systems -------------------------------------------------------------------------------------------------------


def compare(first: Evaluation, second: Evaluation, *, n_samples: int = 1000, seed: int = 0) -> dict[str, PairedTest]:
    """Test whether two systems differ on the same documents: in pooled break-even, and in micro F1.

    `first` and `second` are their evaluations; `n_samples` swaps are drawn, by the `seed`.
    """
    if first.ids != second.ids:
        raise DataError("the two evaluations are not of the same documents (evaluate both on one corpus)")
    names = sorted({*first.categories, *second.categories})
    one, other = first.of_categories(names), second.of_categories(names)
    if (one.truth != other.truth).any():
        raise DataError("the two evaluations differ in the documents' categories (evaluate both on one corpus)")
    how: dict[str, Any] = {"n_samples": n_samples, "seed": seed}
    return {
        "pooled_break_even": significance.paired_break_even_test(one.truth, one.scores, other.scores, **how),
        "micro_f1": significance.paired_test(one.truth, one.accepted, other.accepted, **how),
    }
