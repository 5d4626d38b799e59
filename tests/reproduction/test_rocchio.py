"""Rocchio's weights are those of the formula, worked out by hand and by a plain loop."""

import math

import numpy as np
import pytest

from support.problems import Problem, degenerate_problems
from thresher import Rows
from thresher_reproduction.rivals.linear_rival import as_examples
from thresher_reproduction.rivals.rocchio import Rocchio, compute_profiles
from thresher_reproduction.rivals.unit_vectors import compute_idf, make_unit_vectors


def test_weights_of_a_tiny_collection_by_hand() -> None:
    # Of unit length: two documents of the category, (1, 0, 0) and (0.6, 0.8, 0), and two outside, (0, 1, 0), (0, 0, 1).
    rows = Rows(np.array([0, 1, 3, 4, 5]), np.array([0, 0, 1, 1, 2]), np.array([1, 0.6, 0.8, 1, 1]), 3)
    found = compute_profiles(as_examples(rows, [[0], [0], [], []], n_categories=1), beta=16.0, gamma=4.0)[:, 0]
    weights = [16 * 0.8, 16 * 0.4 - 4 * 0.5, 0.0]  # the third would be -2
    np.testing.assert_allclose(found, np.array(weights) / math.hypot(*weights), rtol=1e-6)


def test_more_gamma_keeps_fewer_features() -> None:
    problem = degenerate_problems()["random"]
    labels = [sorted(row) for row in problem.labels]
    sizes = [Rocchio(gamma=g).fit(problem.rows, labels, n_categories=5).size for g in (0, 4, 16, 64)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


def test_no_weight_is_negative() -> None:
    problem = degenerate_problems()["random"]
    fitted = Rocchio().fit(problem.rows, [sorted(row) for row in problem.labels], n_categories=5)
    assert (fitted.weights_ >= 0).all()


def naive_vectors(problem: Problem) -> list[dict[int, float]]:
    """Return documents as tf-idf vectors of unit length, as the textbook says it."""
    having = [sum(f in document for document in problem.documents) for f in range(problem.n_features)]
    vectors = []
    for document in problem.documents:
        raw = {f: (1 + math.log(n)) * math.log(len(problem.documents) / having[f]) for f, n in document.items()}
        length = math.sqrt(sum(value * value for value in raw.values())) or 1.0
        vectors.append({f: value / length for f, value in raw.items()})
    return vectors


@pytest.mark.parametrize("name", ["random", "empty rows", "one feature", "duplicate rows"])
def test_unit_vectors_equal_the_textbook(name: str) -> None:
    problem = degenerate_problems()[name]
    rows = make_unit_vectors(problem.rows, compute_idf(problem.rows))
    expected = [vector[f] for vector in naive_vectors(problem) for f in sorted(vector)]
    np.testing.assert_allclose(rows.data, expected, rtol=1e-6)


def test_thresholds_accept_as_many_documents_as_have_the_category() -> None:
    # Forty documents that a word tells apart: held out or not, the model is the same.
    rows = Rows(np.arange(41), np.tile([0, 1], 20), np.ones(40, dtype=np.float32), 2)
    scores = Rocchio().fit(rows, [[0] if i % 2 == 0 else [] for i in range(40)], n_categories=1).score(rows)
    assert (scores[:, 0] > 0).tolist() == [i % 2 == 0 for i in range(40)]
