"""Lewis and Ringuette's probabilistic classifier, Bayes on a few words of each category: a row of Table 2."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.kernels.csr import Rows
from thresher.kernels.reproducible_math import logarithm
from thresher.metrics import break_even
from thresher_reproduction.kernels.vector_space import add_by_category
from thresher_reproduction.rivals.held_out import score_held_out
from thresher_reproduction.rivals.linear_rival import (
    Examples,
    Floats,
    LinearRival,
    compute_products,
    tune_break_even_thresholds,
)
from thresher_reproduction.rivals.tables import Progress

CHOICES = (3, 5, 10, 20, 50, 100, 200, 400)


class Bayes(LinearRival):
    """The probability of a category by Bayes' rule, given which of a few informative words occur in a document.

    Parameters
    ----------
    n_words : int or None
        Number of words for each category: those with the highest expected mutual information between word and category.
        None: the number in `CHOICES` that is best for the category on held-out training documents.

    Notes
    -----
    ln P(c|d) ≈ ln P(c) + Σ ln P(f|c) / P(f) over the chosen words that occur, + Σ ln (1 - P(f|c)) / (1 - P(f)) over
    those that do not. A probability is (count + 1/2) / (documents + 1). Each category's scores are centered at the
    threshold that accepts as many training documents as have the category. Each document is scored by a model trained
    without it (three folds). This takes the place of proportional assignment.

    Examples
    --------
    >>> rows = Rows([0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2], [1.0] * 6, 3)
    >>> bayes = Bayes(n_words=1).fit(rows, [[0], [0], [1], [1], [], []], n_categories=2)
    >>> bayes.score(rows).argmax(axis=1)[:4], bayes.features_kept
    (array([0, 0, 1, 1]), 2)
    """

    def __init__(self, *, n_words: int | None = None) -> None:
        if n_words is not None and n_words < 1:
            raise ParameterError.of("n_words", n_words, allowed="None or a whole number from 1")
        self.n_words = n_words

    def _represent(self, rows: Rows) -> Rows:
        return rows._replace(data=np.ones_like(rows.data))

    def _learn(self, examples: Examples, progress: Progress) -> None:
        binary = examples._replace(rows=self._represent(examples.rows))
        choices = CHOICES if self.n_words is None else (self.n_words,)

        def score(learned_from: Examples, held_out: Examples) -> Floats:
            evidence = compute_evidence(learned_from)
            return np.stack([_score(evidence, np.full(evidence.rank.shape[1], k), held_out.rows) for k in choices])

        scores = score_held_out(binary, score, shape=(len(choices),))
        best = _choose_best_tables(scores, examples.truth)
        self.words_ = np.array(choices)[best]
        chosen = np.take_along_axis(scores, best[np.newaxis, np.newaxis], axis=0)[0]
        evidence = compute_evidence(binary)
        self.weights_ = _compute_weights(evidence, self.words_)
        self.thresholds_ = tune_break_even_thresholds(chosen, examples.truth) - _score_empty_documents(
            evidence, self.words_
        )


class Evidence(NamedTuple):
    """The evidence of each word for each category, (features, categories), and the log prior of each category.

    `present` applies if the word occurs, `absent` if it does not. `rank` orders the words by mutual information.
    """

    present: Floats
    absent: Floats
    rank: NDArray[np.int64]
    prior: Floats


def compute_evidence(binary: Examples) -> Evidence:
    """Return the evidence in rows of ones; logarithms of counts are looked up in a table."""
    rows, labels, truth = binary
    n_documents = len(truth)
    both = np.zeros((rows.n_features, truth.shape[1]))
    add_by_category(rows, labels, both)
    together, category = both.astype(np.int64), np.count_nonzero(truth, axis=0)
    word = np.bincount(rows.indices, minlength=rows.n_features)[:, np.newaxis]
    half, whole = logarithm(np.arange(n_documents + 1) + 0.5), logarithm(np.arange(n_documents + 1) + 1.0)
    scale = whole[n_documents] - whole[category]
    present = half[together] - half[word] + scale
    absent = half[category - together] - half[n_documents - word] + scale
    order = np.argsort(-mutual_information(together, word, category, n_documents), axis=0, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(len(order))[:, np.newaxis], axis=0)
    return Evidence(present, absent, rank, half[category] - whole[n_documents])


def mutual_information(
    together: NDArray[np.int64], word: NDArray[np.int64], category: NDArray[np.int64], n_documents: int
) -> Floats:
    """Return the expected mutual information between word and category, from the numbers of documents.

    >>> one = np.array([[2]])
    >>> mutual_information(one, one, np.array([2]), 4).round(3)  # the word is in the category's documents and no others
    array([[0.693]])
    """
    counts = np.arange(n_documents + 1)
    terms = counts * logarithm(np.maximum(counts, 1))
    neither = n_documents - word - category + together
    cells = terms[together] + terms[word - together] + terms[category - together] + terms[neither]
    words = terms[word] + terms[n_documents - word]
    categories = terms[category] + terms[n_documents - category]
    return np.asarray((cells - words - categories + terms[n_documents]) / n_documents)


def _compute_weights(evidence: Evidence, n_words: NDArray[np.int64]) -> Floats:
    """Return what each chosen word adds to the score of an empty document; 0 for other words."""
    return np.where(evidence.rank < n_words, evidence.present - evidence.absent, 0.0)


def _score_empty_documents(evidence: Evidence, n_words: NDArray[np.int64]) -> Floats:
    """Return each category's score of a document without any of the chosen words."""
    absent = np.where(evidence.rank < n_words, evidence.absent, 0.0)
    return np.asarray(evidence.prior + np.cumsum(absent, axis=0)[-1])


def _score(evidence: Evidence, n_words: NDArray[np.int64], rows: Rows) -> Floats:
    return compute_products(rows, _compute_weights(evidence, n_words)) + _score_empty_documents(evidence, n_words)


def _choose_best_tables(scores: Floats, truth: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each category the number of the score table with the highest break-even, the first of equals."""
    best = np.zeros(truth.shape[1], dtype=np.int64)
    for category in np.flatnonzero(truth.any(axis=0)):
        best[category] = np.argmax([break_even(table[:, category], truth[:, category]) for table in scores])
    return best
