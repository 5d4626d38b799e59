"""The exponentiated gradient's kernel equals the published rule, and its exponential is the project's own."""

import math

import numpy as np
import pytest

from support.problems import Problem, degenerate_problems, random_problem
from thresher import Rows
from thresher.errors import ParameterError
from thresher.kernels.reproducible_math import exponential
from thresher.rows.labels import as_labels
from thresher_reproduction.kernels.exponentiated_gradient import (
    SERIES,
    Bounds,
    run_exponentiated_gradient_pass,
    settle,
    write_exponentials,
)
from thresher_reproduction.rivals.exponentiated_gradient import BOUNDS, ExponentiatedGradient, make_equal_parts

Table = list[list[float]]
WIDE = BOUNDS._replace(low=np.float64(2.0**-300), high=np.float64(2.0**300))
NARROW = BOUNDS._replace(low=np.float64(1), high=np.float64(1))


def naive_means(problem: Problem, order: list[int], rate: float) -> np.ndarray:
    """Return the mean weights, (features, categories), with all weights divided by their sum after every document."""
    n = problem.n_features
    means = np.zeros((n, problem.n_categories))
    for c in range(problem.n_categories):
        w = [1 / n] * n
        history = [w]
        for row in order:
            x = problem.documents[row]
            error = sum(x[f] * w[f] for f in sorted(x)) - (c in problem.labels[row])
            w = [w[f] * math.exp(-2 * rate * error * x.get(f, 0.0)) for f in range(n)]
            w = [value / math.fsum(w) for value in w]
            history.append(w)
        means[:, c] = np.mean(history, axis=0)
    return means


def kernel_means(problem: Problem, order: list[int], rate: float, bounds: Bounds = BOUNDS) -> np.ndarray:
    parts = make_equal_parts(problem.n_features, problem.n_categories)
    labels = as_labels(problem.labels, len(problem.labels))
    chosen = np.array(order, dtype=np.int64)
    run_exponentiated_gradient_pass(problem.rows, labels, chosen, np.float64(2 * rate), bounds, SERIES, parts)
    for category in range(problem.n_categories):
        settle(category, parts)
    return parts.sums / (len(order) + 1)


@pytest.mark.parametrize("rate", [0.01, 0.3])
@pytest.mark.parametrize("name", sorted(degenerate_problems()))
def test_the_kernel_equals_the_plain_rule(name: str, rate: float) -> None:
    problem = degenerate_problems()[name]
    order = np.random.default_rng(0).permutation(len(problem.documents)).tolist() * 3
    found = kernel_means(problem, order, rate)
    np.testing.assert_allclose(found, naive_means(problem, order, rate), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-12)


def test_it_does_not_matter_when_weights_are_divided_by_their_sum() -> None:
    problem = random_problem(3, n_rows=60)
    order = list(range(60))
    always = kernel_means(problem, order, 0.05, bounds=NARROW)
    for bounds in (BOUNDS, WIDE):
        np.testing.assert_allclose(kernel_means(problem, order, 0.05, bounds), always, rtol=1e-9)


def test_the_kernel_has_the_bits_of_a_plain_loop_over_features_and_categories() -> None:
    problem = random_problem(4, n_rows=30, n_features=9, n_categories=6)
    order = list(range(30)) * 2
    found = kernel_means(problem, order, 0.4)
    assert found.tobytes() == twin_means(problem, order, 0.4).tobytes()


def summed(values: list[float]) -> float:
    """Add up in order (Python's own sum corrects its rounding)."""
    total = 0.0
    for value in values:
        total += value
    return total


def twin_means(problem: Problem, order: list[int], rate: float) -> np.ndarray:
    """Return the kernel's result by the kernel's bookkeeping, one category after the other and with lists."""
    n, means = problem.n_features, np.zeros((problem.n_features, problem.n_categories))
    low, high, _ = map(float, BOUNDS)
    for c in range(problem.n_categories):
        part, sums, since, total, clock = [1 / n] * n, [0.0] * n, [0.0] * n, 1.0, 1.0
        for row in [*order, None]:
            if row is not None:
                document = sorted(problem.documents[row].items())
                prediction = 0.0
                for f, x in document:
                    prediction += x * part[f]
                step = (prediction / total - (c in problem.labels[row])) * -(2 * rate)
                for f, x in document:
                    before = part[f]
                    sums[f] += before * (clock - since[f])
                    since[f] = clock
                    part[f] = before * float(exponential(step * x))
                    total += part[f] - before
                within = low <= total <= high
                total = total if within else summed(part)
                clock += 1 / total
            if row is None or not within:
                sums = [s + p * (clock - t) for s, p, t in zip(sums, part, since, strict=True)]
                part = [p / total for p in part]
                since, clock, total = [0.0] * n, 0.0, summed(part)
        means[:, c] = np.array(sums) / (len(order) + 1)
    return means


def test_exponentials_have_the_bits_of_the_projects_own() -> None:
    values = np.concatenate((np.linspace(-750, 750, 3001), np.linspace(-1, 1, 999), [0.0, -0.0]))
    spoiled, found = values.copy(), np.empty_like(values)
    write_exponentials(spoiled, SERIES, np.empty_like(values), found)
    assert found.tobytes() == exponential(values).tobytes()


def test_two_words_by_hand() -> None:
    # One positive document with the first of two words: w = (1/2, 1/2) predicts 1/2, so the first grows by e^(η).
    rows = Rows(np.array([0, 1]), np.array([0], dtype=np.int32), np.ones(1, dtype=np.float32), 2)
    parts = make_equal_parts(2, 1)
    order, double_rate = np.zeros(1, dtype=np.int64), np.float64(2 * 0.7)
    run_exponentiated_gradient_pass(rows, as_labels([[0]], 1), order, double_rate, BOUNDS, SERIES, parts)
    settle(0, parts)
    grown = math.exp(0.7) / (math.exp(0.7) + 1)
    np.testing.assert_allclose(parts.part[:, 0], [grown, 1 - grown])
    np.testing.assert_allclose(parts.sums[:, 0], [0.5 + grown, 0.5 + 1 - grown])


def test_a_long_training_neither_overflows_nor_loses_the_sum() -> None:
    problem = random_problem(8, n_rows=50)
    labels = [sorted(row) for row in problem.labels]
    fitted = ExponentiatedGradient(total=50.0, rate=300.0, max_passes=20)
    fitted.fit(problem.rows, labels, n_categories=5)
    assert np.isfinite(fitted.weights_).all()
    np.testing.assert_allclose(fitted.weights_.sum(axis=0), 1, rtol=1e-6)


def test_what_would_overflow_is_refused() -> None:
    for wrong in (0.0, 1e39, math.inf, math.nan):
        with pytest.raises(ParameterError, match=r"invalid .*allowed: "):
            ExponentiatedGradient(total=wrong)
        with pytest.raises(ParameterError, match=r"invalid .*allowed: "):
            ExponentiatedGradient(rate=wrong)
