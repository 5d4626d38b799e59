"""Reuters-21578 for the claims on text: settings are chosen on training documents, figures reported on others.

"choose" learns from the first two thirds of ModApte's 9,603 training documents, in time order, and scores the last
third. "report" learns from all of them and scores the 3,299 test documents. Both use all categories with a training
document. The quick form of both has fewer documents, evenly spread, and the ten largest categories.
"""

from collections import Counter
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.datasets.corpora.reuters21578 import load, select
from thresher.datasets.document import Document
from thresher.kernels.csr import Rows
from thresher.learners.base import MistakeDrivenLearner
from thresher.metrics import Counts
from thresher.rows.labels import as_truth, number_categories
from thresher.text.limits import MAX_FEATURES
from thresher.text.vectorizer import TextFeatures

MIN_COUNT = 3
QUICK_DOCUMENTS, QUICK_CATEGORIES = 3000, 10


class Part(NamedTuple):
    """Documents as rows of counts, their labels, and the truth table, documents x categories."""

    rows: Rows
    labels: list[list[int]]
    truth: NDArray[np.bool_]


class Split(NamedTuple):
    """The documents to learn from, the documents to score, and the names of features and categories."""

    train: Part
    held_out: Part
    features: list[str]
    categories: list[str]


@cache
def _load_collection() -> tuple[list[Document], list[Document]]:
    """Return the training and the test documents of ModApte; the collection is read once."""
    everything = load()
    return select(everything, "modapte:train"), select(everything, "modapte:test")


def load_documents(purpose: str, quick: bool = False) -> tuple[list[Document], list[Document]]:
    """Return the documents to learn from and the documents to score, for the purpose "choose" or "report"."""
    train, test = _load_collection()
    if purpose == "choose":
        train, test = train[: 2 * len(train) // 3], train[2 * len(train) // 3 :]
    if not quick:
        return train, test
    step = -(-len(train) // (2 * QUICK_DOCUMENTS // 3))
    return train[::step], test[:: -(-len(test) // (QUICK_DOCUMENTS // 3))]


def list_categories(train: list[Document], max_number: int | None = None) -> list[str]:
    """Return the categories of the training documents, largest first, at most `max_number`."""
    counts = Counter(category for document in train for category in document.categories)
    return sorted(counts, key=lambda name: (-counts[name], name))[:max_number]


@cache
def load_split(purpose: str, quick: bool = False) -> Split:
    """Return a split with single words as features; it is cached."""
    return make_split(purpose, quick, "words")


def make_split(purpose: str, quick: bool, analyser: str, max_features: int = MAX_FEATURES) -> Split:
    """Return a split with the analyser's features, at most `max_features`."""
    train, held_out = load_documents(purpose, quick)
    names = list_categories(train, QUICK_CATEGORIES if quick else None)
    features = TextFeatures(analyser, MIN_COUNT, max_features)
    rows = features.fit([document.content for document in train])
    held_out_rows = features.rows([document.content for document in held_out])
    return Split(make_part(rows, train, names), make_part(held_out_rows, held_out, names), features.names, names)


def make_part(rows: Rows, chosen: list[Document], names: list[str]) -> Part:
    """Return the rows of the chosen documents with their labels among the named categories."""
    labels = number_categories((document.categories for document in chosen), names)
    return Part(rows, labels, as_truth(labels, len(names)))


def fit_and_score(learner: MistakeDrivenLearner, data: Split) -> NDArray[np.float32]:
    """Train a learner on a split and return the raw scores of the held-out documents."""
    learner.fit(data.train.rows, data.train.labels, n_categories=len(data.categories))
    return learner.score(data.held_out.rows)


def micro_f1(scores: NDArray[np.float32], truth: NDArray[np.bool_], theta: float = 1.0) -> float:
    """Return the micro F1 of accepting scores above `theta`."""
    return Counts(truth.shape[1]).update(truth, scores > theta).micro().f1


def to_percent(value: float) -> float:
    """Return a fraction as a percentage with two decimals, for a table.

    >>> to_percent(0.123456)
    12.35
    """
    return round(100 * float(value), 2)
