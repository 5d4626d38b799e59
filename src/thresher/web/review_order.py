"""Order the documents to review: the least certain come first."""

import hashlib
import time
from itertools import accumulate, chain, zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.categorizer import Categorizer
from thresher.journal.prepared_correction import digest_features
from thresher.web import serializers
from thresher.web.review_documents import ReviewDocument, ReviewDocuments

MAX_LETTERS = 2_000_000  # letters of documents on one page of the queue, and as many letters of names in corrections
ORDERS = ("uncertain", "random", "diverse")
_AT_ONCE = 1000
_MAX_ORDERS = 8  # cached orders: one of 200,000 documents takes 5 MB
_PATIENCE = 10  # an order is computed again when it is this many times as old as its computation took


class Certainty(NamedTuple):
    """The distance of each document's nearest score from its threshold, and the document's best category."""

    ids: list[str]
    distances: NDArray[np.float64]
    best: NDArray[np.int64]


class ReviewOrder:
    """The order of the documents to review, computed again when the model has learned and enough time has passed."""

    def __init__(self) -> None:
        self._cached: dict[str | None, tuple[tuple[int, int], float, float, Certainty]] = {}

    def sort(
        self,
        model: Categorizer,
        position: int,
        documents: ReviewDocuments,
        order: str = "uncertain",
        category: str | None = None,
    ) -> list[ReviewDocument]:
        """Return the documents in review order; with `category`, those that it is least certain of come first."""
        by_id = documents.by_id
        if order == "random":
            shuffled = sorted(by_id, key=lambda id: hashlib.sha256(id.encode()).digest())
            return [by_id[id] for id in shuffled]
        certainty = self._certainty(model, position, documents, category)
        ranked = np.argsort(certainty.distances, kind="stable").tolist()
        if order == "diverse":
            by_best: dict[int, list[int]] = {}
            for i in ranked:
                by_best.setdefault(int(certainty.best[i]), []).append(i)
            ranked = [i for i in chain.from_iterable(zip_longest(*by_best.values())) if i is not None]
        return [by_id[id] for i in ranked if (id := certainty.ids[i]) in by_id]

    def _certainty(
        self, model: Categorizer, position: int, documents: ReviewDocuments, category: str | None
    ) -> Certainty:
        now, state = time.monotonic(), (position, documents.version)
        cached = self._cached.get(category)
        if cached is not None:
            known_state, since, seconds, certainty = cached
            if known_state == state or (known_state[1] == state[1] and now - since < _PATIENCE * seconds):
                return certainty
        certainty = measure_certainty(model, list(documents.by_id.values()), category)
        others = [(name, order) for name, order in list(self._cached.items()) if name != category]
        self._cached = dict(others[1 - _MAX_ORDERS :]) | {
            category: (state, time.monotonic(), time.monotonic() - now, certainty)
        }
        return certainty


def measure_certainty(model: Categorizer, documents: list[ReviewDocument], category: str | None = None) -> Certainty:
    """Return how certain a model is of documents: of their nearest category, or of the given one."""
    ids = [document.id for document in documents]
    if not model.state.learner.is_fitted or not model.categories:
        return Certainty(ids, np.zeros(len(ids)), np.zeros(len(ids), dtype=np.int64))
    column = None if category is None else model.state.number_of(category)
    distances, best = [np.zeros(0)], [np.zeros(0, dtype=np.int64)]
    for first in range(0, len(documents), _AT_ONCE):
        scores = model.decision_function([document.text for document in documents[first : first + _AT_ONCE]])
        away = np.abs(scores - 1)
        distances.append(away.min(axis=1) if column is None else away[:, column])
        best.append(scores.argmax(axis=1))
    return Certainty(ids, np.concatenate(distances), np.concatenate(best))


def is_in_range(model: Categorizer, distance: float, probabilities: list[float]) -> bool:
    """Return whether a score is within the training threshold range.

    Without a range, return whether a probability is between 1/4 and 3/4.
    """
    limits = model.state.settings.parameters.threshold_range
    if limits is not None:
        low, high = limits
        return bool(distance <= (high - low) / 2)
    return any(0.25 < probability < 0.75 for probability in probabilities)


def describe_document(model: Categorizer, document: ReviewDocument, category: str | None) -> dict[str, Any]:
    """Return a document to review with its prediction and how certain the model is."""
    (answer,) = serializers.predict_texts(model, [document.text], [document.id], top=5, details=True)
    certainty = measure_certainty(model, [document], category)
    chances = [entry["probability"] for entry in answer["categories"]]
    if category is not None and model.state.learner.is_fitted:
        chances = [float(model.predict_proba([document.text])[0, model.state.number_of(category)])]
    distance = float(certainty.distances[0])
    return answer | {
        "text": document.text,
        "state": document.state,
        "uncertainty": distance,
        "in_range": is_in_range(model, distance, chances),
        "digest": digest_features(model.state.features.count_features(document.text)),
    }


def limit_letters(documents: list[ReviewDocument]) -> list[ReviewDocument]:
    """Return the first documents, at least one, with no more letters in total than a page may show."""
    ends = accumulate(len(document.display_text) for document in documents)
    return documents[: max(sum(end <= MAX_LETTERS for end in ends), 1)]


def find_disagreements(said: list[dict[str, Any]]) -> list[str]:
    """Return the categories that one teacher's last corrections accept and another teacher's reject.

    >>> both = [{"user": "ada", "accept": ["a"], "reject": []}, {"user": "bob", "accept": [], "reject": ["a"]}]
    >>> find_disagreements([one | {"categories": None} for one in both])
    ['a']
    """
    accepted: dict[str, dict[str, bool]] = {}
    complete: dict[str, set[str]] = {}
    for one in said:
        verdicts = accepted.setdefault(one["user"], {})
        if one["categories"] is not None:
            verdicts.clear()
            verdicts |= dict.fromkeys(one["categories"], True)
            complete[one["user"]] = set(one["categories"])
        verdicts |= dict.fromkeys(one["accept"], True) | dict.fromkeys(one["reject"], False)
    names = {name for verdicts in accepted.values() for name in verdicts}
    for user in complete:
        accepted[user] = dict.fromkeys(names, False) | accepted[user]
    return sorted(name for name in names if len({each[name] for each in accepted.values() if name in each}) > 1)
