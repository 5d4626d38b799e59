"""A stream of documents, each predicted and then learned, in batches that give what one by one gives."""

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache, partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thresher.category_names import category_set
from thresher.errors import TextError
from thresher.kernels.rows import Rows
from thresher.learners.labels import listed_labels
from thresher.newcomers import is_young
from thresher.text.analysers import Text

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer

BATCH = 1024


class Streamed(NamedTuple):
    """What was predicted of a document before it was learned, and whether there was anything to learn from it."""

    predicted: list[str]
    learned: bool


class Pair(NamedTuple):
    """A text and all its categories, sorted."""

    text: Text
    categories: tuple[str, ...]


def stream(model: "Categorizer", documents: Iterable[tuple[Text, Any]]) -> Iterator[Streamed]:
    """Yield for each document what the model predicts; it then learns the document. Reads a batch ahead."""
    remaining = iter(documents)
    while batch := [Pair(text, _sorted(categories)) for text, categories in islice(remaining, BATCH)]:
        while batch:
            usual = cache(partial(_are_usual, model))  # until something is learned
            found = _together(model, list(takewhile(lambda pair: usual(pair.categories), batch)))  # noqa: B023
            found = found or [_alone(model, *batch[0])]
            yield from found
            batch = batch[len(found) :]


def _sorted(categories: Any) -> tuple[str, ...]:
    return _sorted_names(categories) if type(categories) is tuple else tuple(category_set(categories))


@lru_cache(maxsize=2**12)
def _sorted_names(categories: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(category_set(categories))


def _are_usual(model: "Categorizer", categories: tuple[str, ...]) -> bool:
    """Tell whether a document of these categories brings nothing but words: none is new, and none still young.

    Nor may those words change what the others score, as with averages, or strengths divided by their sum.
    """
    if not model.learner.is_fitted or model.settings["average"] or model.settings["normalize"]:
        return False
    numbers = model._numbers()
    return all(name in numbers and not is_young(model.learner, numbers[name]) for name in categories)


def _alone(model: "Categorizer", text: Text, categories: tuple[str, ...]) -> Streamed:
    predicted = model.predict([text])[0] if model.categories else []
    if not categories and not model.categories:
        return Streamed(predicted, False)
    try:
        model.partial_fit([text], [categories])
    except TextError:
        if not model.empty([text])[0]:
            raise
        return Streamed(predicted, False)
    return Streamed(predicted, True)


def _together(model: "Categorizer", pairs: list[Pair]) -> list[Streamed]:
    """Predict and learn usual documents in one call of a kernel, as many from the first on as can be."""
    if not pairs:
        return []
    numbers, before = model._numbers(), model.features.vocabulary.count
    rows = model.features.rows([text for text, _ in pairs], grow=True)
    late = _first_of_late_words(model, rows)
    if late is not None:
        model.features.forget(before)
        return _together(model, pairs[:late])
    labels = [[numbers[name] for name in pair.categories] for pair in pairs]
    filled = np.diff(rows.indptr) > 0
    learned = np.flatnonzero(filled)
    scores = np.zeros((len(pairs), len(numbers)), dtype=np.float32)
    judged = listed_labels([sorted(labels[i]) for i in learned.tolist()])
    try:
        strong = model._strong(_without_empty(model._with_late_idf(rows)))
        scores[learned] = model.learner.stream_checked(strong, judged)
    except BaseException:
        model.forget_unlearned()
        raise
    for i in learned.tolist():
        model.reservoir.add_row(rows, i, labels[i])
    predicted = model._names(scores, ~_has_known_word(rows, before))
    return [Streamed(*found) for found in zip(predicted, filled.tolist(), strict=True)]


def _first_of_late_words(model: "Categorizer", rows: Rows) -> int | None:
    """Return the first row whose words all came after `fit`, if strengths then depend on which of them are known."""
    if model.settings["strength"] != "cosine":
        return None
    seen = np.append(0, np.cumsum(model.features.document_counts[rows.indices] > 0))
    late = np.flatnonzero((np.diff(rows.indptr) > 0) & (seen[rows.indptr[1:]] == seen[rows.indptr[:-1]]))
    return int(late[0]) if len(late) else None


def _without_empty(rows: Rows) -> Rows:
    filled = np.append(True, np.diff(rows.indptr) > 0)
    return rows._replace(indptr=rows.indptr[filled])


def _has_known_word(rows: Rows, count: int) -> Any:
    """Tell which rows have a feature among the first `count`, or one that a row before has."""
    highest = np.full(len(rows.indptr) - 1, -1)
    lowest = np.full(len(rows.indptr) - 1, np.iinfo(np.int32).max)
    filled = np.diff(rows.indptr) > 0
    lowest[filled], highest[filled] = rows.indices[rows.indptr[:-1][filled]], rows.indices[rows.indptr[1:][filled] - 1]
    known = np.maximum.accumulate(np.append(count, highest + 1))[:-1]
    return lowest < known
