"""The support vector machine rival is scikit-learn's, on the rivals' tf-idf vectors."""

import numpy as np
from sklearn.svm import LinearSVC

from support.problems import random_problem
from thresher_reproduction.rivals.linear_svm import LinearSVM
from thresher_reproduction.rivals.tables import as_matrix
from thresher_reproduction.rivals.unit_vectors import compute_idf, make_unit_vectors

PROBLEM = random_problem(3, n_rows=60, n_features=20)
LABELS = [sorted(row) for row in PROBLEM.labels]


def test_scores_are_the_distances_of_scikit_learn() -> None:
    vectors = as_matrix(make_unit_vectors(PROBLEM.rows, compute_idf(PROBLEM.rows)))
    scores = LinearSVM(C=0.5).fit(PROBLEM.rows, LABELS, n_categories=5).score(PROBLEM.rows)
    for category in range(5):
        truth = [category in row for row in LABELS]
        expected = LinearSVC(C=0.5, dual=True, random_state=0).fit(vectors, truth).decision_function(vectors)
        np.testing.assert_allclose(scores[:, category], expected, rtol=1e-5, atol=1e-6)


def test_categories_of_all_or_no_documents_have_a_fixed_score() -> None:
    scores = LinearSVM().fit(PROBLEM.rows, [[1]] * 60, n_categories=2).score(PROBLEM.rows)
    assert np.unique(scores[:, 0]).tolist() == [-1.0]
    assert np.unique(scores[:, 1]).tolist() == [1.0]


def test_progress_counts_categories() -> None:
    heard: list[tuple[int, int]] = []
    LinearSVM().fit(PROBLEM.rows, LABELS, n_categories=5, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(i, 5) for i in range(1, 6)]
