"""The Bayes rival's evidence, choice of words and scores, worked out by hand and by a plain loop."""

import math

import numpy as np
import pytest

from support.problems import Problem, degenerate_problems, random_problem
from thresher import Rows
from thresher_reproduction.rivals.bayes import CHOICES, Bayes, compute_evidence, mutual_information
from thresher_reproduction.rivals.linear_rival import as_examples


def naive_information(problem: Problem, feature: int, category: int) -> float:
    """Return the mutual information of a word and a category by its definition."""
    total = 0.0
    pairs = [(feature in d, category in labels) for d, labels in zip(problem.documents, problem.labels, strict=True)]
    for pair in set(pairs):
        p = pairs.count(pair) / len(pairs)
        word = sum(w == pair[0] for w, _ in pairs) / len(pairs)
        label = sum(c == pair[1] for _, c in pairs) / len(pairs)
        total += p * math.log(p / (word * label))
    return total


@pytest.mark.parametrize("name", sorted(degenerate_problems()))
def test_mutual_information_equals_its_definition(name: str) -> None:
    problem = degenerate_problems()[name]
    truth = np.array([[c in row for c in range(problem.n_categories)] for row in problem.labels])
    present = np.array([[f in d for f in range(problem.n_features)] for d in problem.documents])
    together = present.T.astype(np.int64) @ truth.astype(np.int64)
    found = mutual_information(together, present.sum(axis=0)[:, np.newaxis], truth.sum(axis=0), len(truth))
    for feature, category in np.ndindex(found.shape):
        assert math.isclose(found[feature, category], naive_information(problem, feature, category), abs_tol=1e-12)


def naive_score(problem: Problem, document: dict[int, float], category: int, n_words: int) -> float:
    """Return ln P(c) and the evidence of the best words, as Lewis's formula has it."""
    size, own = len(problem.documents), [category in row for row in problem.labels]
    informations = {f: naive_information(problem, f, category) for f in range(problem.n_features)}
    words = sorted(informations, key=lambda f: (-round(informations[f], 12), f))[:n_words]
    score = math.log((sum(own) + 0.5) / (size + 1))
    for word in words:
        having = [word in d for d in problem.documents]
        inside = (sum(h and o for h, o in zip(having, own, strict=True)) + 0.5) / (sum(own) + 1)
        everywhere = (sum(having) + 0.5) / (size + 1)
        score += math.log(inside / everywhere) if word in document else math.log((1 - inside) / (1 - everywhere))
    return score


@pytest.mark.parametrize("n_words", [1, 3, 7])
def test_scores_equal_the_formula(n_words: int) -> None:
    problem = random_problem(3, n_rows=30)
    fitted = Bayes(n_words=n_words).fit(problem.rows, [sorted(row) for row in problem.labels], n_categories=5)
    scores = fitted.score(problem.rows).astype(np.float64)
    for category in range(5):
        expected = np.array([naive_score(problem, dict(d), category, n_words) for d in problem.documents])
        shift = scores[:, category] - expected  # the same for all documents: the threshold
        np.testing.assert_allclose(shift, shift[0], atol=1e-5)


def test_evidence_of_a_tiny_collection_by_hand() -> None:
    rows = Rows(np.array([0, 1, 2, 3, 4]), np.array([0, 0, 1, 1]), np.ones(4, dtype=np.float32), 2)
    found = compute_evidence(as_examples(rows, [[0], [0], [0], []], n_categories=1))
    np.testing.assert_allclose(found.prior, np.log(3.5 / 5))
    np.testing.assert_allclose(found.present[:, 0], np.log([(2.5 / 4) / (2.5 / 5), (1.5 / 4) / (2.5 / 5)]))
    np.testing.assert_allclose(found.absent[:, 0], np.log([(1.5 / 4) / (2.5 / 5), (2.5 / 4) / (2.5 / 5)]))


def test_how_often_a_word_occurs_does_not_matter() -> None:
    problem = random_problem(5, n_rows=30)
    labels = [sorted(row) for row in problem.labels]
    once = problem.rows._replace(data=np.ones_like(problem.rows.data))
    first, second = (Bayes().fit(rows, labels, n_categories=5) for rows in (problem.rows, once))
    np.testing.assert_array_equal(first.score(problem.rows), second.score(once))


def test_each_category_looks_at_as_many_words_as_were_chosen() -> None:
    problem = random_problem(6, n_rows=60, n_features=30)
    fitted = Bayes().fit(problem.rows, [sorted(row) for row in problem.labels], n_categories=5)
    assert set(fitted.words_.tolist()) <= set(CHOICES)
    assert (np.count_nonzero(fitted.weights_, axis=0) <= fitted.words_).all()
