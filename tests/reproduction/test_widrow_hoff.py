"""The Widrow-Hoff kernel equals the published rule, by hand and bit for bit by a plain loop."""

import numpy as np
import pytest

from support.problems import Problem, degenerate_problems, random_problem
from thresher import Rows
from thresher.rows.labels import as_labels
from thresher_reproduction.kernels.widrow_hoff import run_widrow_hoff_pass
from thresher_reproduction.rivals.widrow_hoff import WidrowHoff

Weights = list[dict[int, float]]


def naive_pass(problem: Problem, order: list[int], double_rate: float) -> tuple[Weights, Weights]:
    """Return the last weights and the moment of each category."""
    features = range(problem.n_features)
    weights: Weights = [dict.fromkeys(features, 0.0) for _ in range(problem.n_categories)]
    moment: Weights = [dict.fromkeys(features, 0.0) for _ in range(problem.n_categories)]
    for time, row in enumerate(order, start=1):
        document = sorted((f, float(np.float32(x))) for f, x in problem.documents[row].items())
        for c, w in enumerate(weights):
            prediction = 0.0
            for feature, x in document:
                prediction += x * w[feature]
            step = (prediction - (c in problem.labels[row])) * -double_rate
            for feature, x in document:
                change = step * x
                w[feature] += change
                moment[c][feature] += time * change
    return weights, moment


def kernel_pass(problem: Problem, order: list[int], double_rate: float, cut: int) -> tuple[np.ndarray, np.ndarray]:
    weights = np.zeros((problem.n_features, problem.n_categories))
    moment, labels = np.zeros_like(weights), as_labels(problem.labels, len(problem.labels))
    for start, part in ((0, order[:cut]), (cut, order[cut:])):
        chosen = np.array(part, dtype=np.int64)
        run_widrow_hoff_pass(problem.rows, labels, chosen, np.float64(double_rate), start + 1, weights, moment)
    return weights, moment


@pytest.mark.parametrize("name", [*sorted(degenerate_problems()), "larger"])
def test_the_kernel_equals_the_plain_loop_bit_for_bit(name: str) -> None:
    problem = degenerate_problems().get(name) or random_problem(7, n_rows=40, n_features=20, n_categories=19)
    order = np.random.default_rng(0).permutation(len(problem.documents)).tolist()
    found = kernel_pass(problem, order, 0.01, cut=2)
    for table, twin in zip(found, naive_pass(problem, order, 0.01), strict=True):
        expected = np.array([[twin[c][f] for c in range(problem.n_categories)] for f in range(problem.n_features)])
        assert table.tobytes() == expected.tobytes()


def test_the_moment_gives_the_mean_of_all_weight_vectors() -> None:
    problem = random_problem(2)
    order = list(range(len(problem.documents)))
    vectors = [kernel_pass(problem, order[:n], 0.01, cut=0)[0] for n in range(len(order) + 1)]
    last, moment = kernel_pass(problem, order, 0.01, cut=0)
    np.testing.assert_allclose(last - moment / len(vectors), np.mean(vectors, axis=0), atol=1e-12)


def test_two_documents_by_hand() -> None:
    # Both documents have one word, of strength 1, and the steps are half the error: w = 0, then 1/2, then 1/2 or 3/4.
    rows = Rows(np.array([0, 1, 2]), np.array([0, 0], dtype=np.int32), np.ones(2, dtype=np.float32), 1)
    weights, moment = np.zeros((1, 2)), np.zeros((1, 2))
    labels = as_labels([[0, 1], [1]], 2)
    run_widrow_hoff_pass(rows, labels, np.array([0, 1]), np.float64(0.5), 1, weights, moment)
    assert weights.tolist() == [[0.25, 0.75]]
    assert (weights - moment / 3).tolist() == [[0.25, pytest.approx((0 + 0.5 + 0.75) / 3)]]


def test_another_seed_is_another_order() -> None:
    problem = random_problem(3, n_rows=40)
    labels = [sorted(row) for row in problem.labels]
    first, second = (WidrowHoff(seed=seed).fit(problem.rows, labels, n_categories=5) for seed in (0, 1))
    assert not np.array_equal(first.weights_, second.weights_)


def test_progress_hears_of_every_slice() -> None:
    problem, heard = random_problem(3, n_rows=300), []
    labels = [sorted(row) for row in problem.labels]
    fitted = WidrowHoff(max_passes=2)
    fitted.fit(problem.rows, labels, n_categories=5, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(256, 600), (300, 600), (556, 600), (600, 600)]
