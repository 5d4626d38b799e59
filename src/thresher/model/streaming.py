"""Predict and then learn each document of a stream, in batches with the same result as one by one."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from thresher.datasets.category_names import normalize_categories
from thresher.errors import TextError
from thresher.kernels.csr import Rows
from thresher.model.new_categories import is_young
from thresher.model.online_learning import all_or_nothing, extend_idf, learn_all, limit_features
from thresher.model.scoring import are_empty, name_accepted, predict, strengthen_rows
from thresher.model.state import ModelState
from thresher.model.thread_safety import lesson
from thresher.rows.labels import make_labels
from thresher.text.analysers import Text

BATCH = 1024


class Streamed(NamedTuple):
    """The categories `predicted` for a document, and whether it was `learned`; some have nothing to learn from."""

    predicted: list[str]
    learned: bool


class Pair(NamedTuple):
    """A text and all its categories, sorted."""

    text: Text
    categories: tuple[str, ...]


def stream(model: ModelState, documents: Iterable[tuple[Text, Any]]) -> Iterator[Streamed]:
    """Yield the prediction for each document, then learn the document. Reads and learns a batch ahead."""
    at_once = BATCH
    for batch, error in _batches(documents):
        while batch:
            can_batch = cache(partial(_can_be_batched, model))  # valid until something is learned
            run = list(takewhile(lambda pair: can_batch(pair.categories), batch[:at_once]))  # noqa: B023
            streamed = _stream_batch(model, run)
            at_once = min(2 * at_once, BATCH) if len(streamed) == len(run) else max(len(run) // 16, 1)
            streamed = streamed or [_stream_one(model, *batch[0])]
            yield from streamed
            batch = batch[len(streamed) :]
        if error is not None:
            raise error


def _batches(documents: Iterable[tuple[Text, Any]]) -> Iterator[tuple[list[Pair], BaseException | None]]:
    """Yield pairs in batches; the last batch carries the error that ended the documents, if any."""
    batch: list[Pair] = []
    try:
        for document in documents:
            batch.append(_make_pair(document))
            if len(batch) == BATCH:
                yield batch, None
                batch = []
    except GeneratorExit:
        raise
    except BaseException as error:
        yield batch, error
        return
    yield batch, None


def _make_pair(document: Any) -> Pair:
    is_pair = type(document) is tuple or (isinstance(document, Sequence) and not isinstance(document, str))
    if not is_pair or len(document) != 2:
        raise TextError("a stream is made of pairs, a text and its categories")
    text, categories = document
    return Pair(text, tuple(normalize_categories(categories)))


def _can_be_batched(model: ModelState, categories: tuple[str, ...]) -> bool:
    """Return whether a document with these categories can be learned in a batch: none is new, and none is young.

    Its new words must not change other scores either. They do with averaged weights, with strengths divided by their
    sum, with words whose weight is not 0 at the start, and before `fit` has measured word frequencies.
    """
    settings = model.settings.parameters
    if not model.learner.is_fitted or not model.categories or settings.average or settings.normalize:
        return False
    if settings.late_start != "zero" or (model.settings.strength == "cosine" and len(model.idf) == 0):
        return False
    numbers = model.numbers()
    return all(name in numbers and not is_young(model.learner, numbers[name]) for name in categories)


def _stream_one(model: ModelState, text: Text, categories: tuple[str, ...]) -> Streamed:
    predicted = predict(model, [text])[0] if model.categories else []
    if not categories and not model.categories:
        return Streamed(predicted, False)
    try:
        with lesson(model):
            learn_all(model, [text], [categories])
    except TextError:
        if not are_empty(model, [text])[0]:
            raise
        return Streamed(predicted, False)
    return Streamed(predicted, True)


def _stream_batch(model: ModelState, pairs: list[Pair]) -> list[Streamed]:
    """Predict and learn documents in one kernel call: as many as possible, from the first on."""
    if not pairs:
        return []
    before = model.features.vocabulary.count
    try:
        with lesson(model), all_or_nothing(model):
            limit_features(model, len(model.categories))
            rows = model.features.rows([pair.text for pair in pairs], grow=True)
            late = _find_late_row(model, rows)
            if late is None:
                return _stream_rows(model, rows, pairs, before)
            model.features.forget(before)
    except TextError:  # one of them is not a text: `_stream_one` reports which
        return []
    return _stream_batch(model, pairs[:late])


def _stream_rows(model: ModelState, rows: Rows, pairs: list[Pair], known: int) -> list[Streamed]:
    """Predict and learn rows of documents; only the first `known` features were known before them."""
    numbers, filled = model.numbers(), np.diff(rows.indptr) > 0
    labels = [[numbers[name] for name in pair.categories] for pair in pairs]
    learned = np.flatnonzero(filled)
    scores = np.zeros((len(pairs), len(numbers)), dtype=np.float32)
    judged = make_labels([sorted(labels[i]) for i in learned.tolist()])
    extend_idf(model, rows.n_features)
    taught = _drop_empty(rows)
    scores[learned] = model.learner.stream_rows(strengthen_rows(model, taught), judged)
    model.reservoir.add_rows(taught, [labels[i] for i in learned.tolist()])
    predicted = name_accepted(model, scores, ~_has_known_word(rows, known))
    return [Streamed(*pair) for pair in zip(predicted, filled.tolist(), strict=True)]


def _find_late_row(model: ModelState, rows: Rows) -> int | None:
    """Return the first row whose words were all added after `fit`, if strengths depend on which of them are known."""
    if model.settings.strength != "cosine":
        return None
    seen = np.append(0, np.cumsum(model.features.document_counts[rows.indices] > 0))
    late = np.flatnonzero((np.diff(rows.indptr) > 0) & (seen[rows.indptr[1:]] == seen[rows.indptr[:-1]]))
    return int(late[0]) if len(late) else None


def _drop_empty(rows: Rows) -> Rows:
    filled = np.append(True, np.diff(rows.indptr) > 0)
    return rows._replace(indptr=rows.indptr[filled])


def _has_known_word(rows: Rows, count: int) -> Any:
    """Return which rows have a feature among the first `count`, or one of an earlier row."""
    highest = np.full(len(rows.indptr) - 1, -1)
    lowest = np.full(len(rows.indptr) - 1, np.iinfo(np.int32).max)
    filled = np.diff(rows.indptr) > 0
    lowest[filled], highest[filled] = rows.indices[rows.indptr[:-1][filled]], rows.indices[rows.indptr[1:][filled] - 1]
    known = np.maximum.accumulate(np.append(count, highest + 1))[:-1]
    return lowest < known
