"""The stochastic gradient rival is scikit-learn's, on the rivals' tf-idf vectors."""

import numpy as np
from sklearn.linear_model import SGDClassifier

from support.problems import random_problem
from thresher_reproduction.rivals.sgd import SGD
from thresher_reproduction.rivals.tables import as_matrix
from thresher_reproduction.rivals.unit_vectors import compute_idf, make_unit_vectors

PROBLEM = random_problem(3, n_rows=60, n_features=20)
LABELS = [sorted(row) for row in PROBLEM.labels]


def test_scores_are_the_distances_of_scikit_learn() -> None:
    vectors = as_matrix(make_unit_vectors(PROBLEM.rows, compute_idf(PROBLEM.rows)))
    scores = SGD(alpha=1e-3, seed=7).fit(PROBLEM.rows, LABELS, n_categories=5).score(PROBLEM.rows)
    for category in range(5):
        truth = [category in row for row in LABELS]
        expected = SGDClassifier(alpha=1e-3, random_state=7).fit(vectors, truth).decision_function(vectors)
        np.testing.assert_allclose(scores[:, category], expected, rtol=1e-4, atol=1e-4)


def test_another_seed_gives_other_weights() -> None:
    first, second = (SGD(seed=seed).fit(PROBLEM.rows, LABELS, n_categories=5).weights_ for seed in (0, 1))
    assert not np.array_equal(first, second)
