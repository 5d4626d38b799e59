"""Evaluate a model on held-out documents."""

from collections import Counter
from collections.abc import Iterable

from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.errors import DataError
from thresher.evaluation.labelled import Labelled, make_truth
from thresher.evaluation.result import Evaluation, widen
from thresher.metrics import Floats, Truth
from thresher.support.progress import Report


def evaluate(model: Categorizer, documents: Iterable[Document], *, progress: Report | None = None) -> Evaluation:
    """Score labelled `documents` without learning them, and compare the `model`'s decisions with their categories.

    `progress` is called with a `Step` from time to time.

    >>> model = Categorizer().fit(["crude oil", "wheat harvest"] * 5, ["energy", "grain"] * 5)
    >>> found = evaluate(model, [Document("oil", ("energy",)), Document("wheat", ("grain", "food"))])
    >>> found.counts().micro().recall == 2 / 3, found.unknown_categories
    (True, {'food': 1})
    """
    labelled = Labelled()
    scores, accepted = model.decide(labelled.contents(documents, progress))
    return assemble(model.categories, labelled.ids, labelled.categories, scores, accepted)


def assemble(
    known: list[str], ids: list[str], categories: list[list[str]], scores: Floats, accepted: Truth
) -> Evaluation:
    """Return the evaluation of scores and decisions by a model that knows only the categories `known`."""
    if not ids:
        raise DataError("there are no documents to evaluate", hint="the source is empty")
    present = set(known)
    unknown = Counter(name for row in categories for name in row if name not in present)
    names = [*known, *sorted(unknown)]
    scores, accepted = widen(scores, accepted, len(unknown))
    return Evaluation(names, make_truth(categories, names), scores, accepted, ids, dict(sorted(unknown.items())))
