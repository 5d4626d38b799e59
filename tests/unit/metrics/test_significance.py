"""Intervals that cover, tests that are fair: against resampling in plain steps, scipy, and simulation."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from thresher.errors import ParameterError, RowsError
from thresher.metrics import Counts, Floats, Ints, Truth, pooled_break_even
from thresher.metrics.significance import (
    Interval,
    PairedTest,
    bootstrap_interval,
    intervals,
    macro_f1_interval,
    micro_f1_interval,
    paired_break_even_test,
    paired_test,
    pooled_break_even_interval,
    sign_test,
)

LEVELS = st.sampled_from([-1.0, 0.0, 1.0, 2.0])  # many ties
FEW: dict[str, Any] = {"n_samples": 40}


def matrices() -> st.SearchStrategy[tuple[Floats, Truth]]:
    shapes = st.tuples(st.integers(1, 12), st.integers(1, 4))
    return shapes.flatmap(
        lambda shape: st.tuples(arrays.arrays(np.float64, shape, elements=LEVELS), arrays.arrays(np.bool_, shape))
    )


def corpus(seed: int, n: int = 120, categories: int = 4) -> tuple[Floats, Truth]:
    """Draw a truth, and scores that know something of it."""
    draw = np.random.default_rng(seed)
    truth = draw.random((n, categories)) < 0.2
    return draw.normal(size=truth.shape) + 2 * truth, truth


def same(first: Interval, second: Interval) -> bool:
    return tuple(first) == pytest.approx(tuple(second), nan_ok=True, abs=1e-12)


# -- intervals ---------------------------------------------------------------------------------------------------------


def test_an_interval_holds_as_much_of_the_draws_as_its_level_says() -> None:
    drawn: list[float] = []
    values = np.random.default_rng(1).normal(size=50)

    def mean(rows: Ints) -> float:
        drawn.append(float(values[rows].mean()))
        return drawn[-1]

    low, high = bootstrap_interval(mean, 50, level=0.8, n_samples=500)
    assert np.mean([low <= value <= high for value in drawn]) == pytest.approx(0.8, abs=0.01)


def test_intervals_of_a_mean_cover_it_about_as_often_as_they_say() -> None:
    draw, covered = np.random.default_rng(2), 0
    for _ in range(200):
        sample = draw.normal(size=60)

        def mean(rows: Ints, sample: Floats = sample) -> float:
            return float(sample[rows].mean())

        low, high = bootstrap_interval(mean, 60, n_samples=200)
        covered += low <= 0 <= high
    assert 0.88 <= covered / 200 <= 0.99


def test_the_seed_decides_the_interval() -> None:
    scores, truth = corpus(3)
    first = pooled_break_even_interval(scores, truth, seed=1, **FEW)
    assert pooled_break_even_interval(scores, truth, seed=1, **FEW) == first
    assert pooled_break_even_interval(scores, truth, seed=2, **FEW) != first


@given(matrices())
def test_weighted_documents_give_what_copied_documents_give(problem: tuple[Floats, Truth]) -> None:
    scores, truth = problem
    accepted, n = scores > 0, len(scores)

    def counts(rows: Ints) -> Counts:
        return Counts(truth.shape[1]).update(truth[rows], accepted[rows])

    break_even = bootstrap_interval(lambda rows: pooled_break_even(scores[rows], truth[rows]), n, **FEW)
    micro = bootstrap_interval(lambda rows: counts(rows).micro().f1, n, **FEW)
    macro = bootstrap_interval(lambda rows: counts(rows).macro().f1, n, **FEW)
    assert same(pooled_break_even_interval(scores, truth, **FEW), break_even)
    assert same(micro_f1_interval(truth, accepted, **FEW), micro)
    assert same(macro_f1_interval(truth, accepted, **FEW), macro)


def test_a_cut_deep_below_the_best_pairs_is_found() -> None:
    # One document holds all the positives and ranks last: drawn often, it pushes the cut far down.
    truth = np.zeros((40, 2), dtype=np.bool_)
    truth[0] = True
    scores = np.arange(80.0).reshape(40, 2)
    expected = bootstrap_interval(lambda rows: pooled_break_even(scores[rows], truth[rows]), 40, n_samples=200)
    assert same(pooled_break_even_interval(scores, truth, n_samples=200), expected)


def test_intervals_hold_the_measures_themselves() -> None:
    scores, truth = corpus(4)
    accepted = scores > 1.0
    counts, found = Counts(4).update(truth, accepted), intervals(truth, scores, accepted)
    assert found["pooled_break_even"].low < pooled_break_even(scores, truth) < found["pooled_break_even"].high
    assert found["micro_f1"].low < counts.micro().f1 < found["micro_f1"].high
    assert found["macro_f1"].low < counts.macro().f1 < found["macro_f1"].high


def test_a_measure_without_positives_has_no_interval() -> None:
    nothing = np.zeros((3, 2), dtype=np.bool_)
    assert all(map(math.isnan, pooled_break_even_interval(np.ones((3, 2)), nothing, **FEW)))
    assert all(map(math.isnan, macro_f1_interval(nothing, nothing, **FEW)))
    assert micro_f1_interval(nothing, nothing, **FEW) == (0.0, 0.0)


@pytest.mark.parametrize(
    "wrong", [{"level": 0.0}, {"level": 1.0}, {"level": math.nan}, {"n_samples": 0}, {"n_samples": 1.5}, {"seed": -1}]
)
def test_levels_and_samples_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"invalid .*allowed: "):
        micro_f1_interval([[True]], [[True]], **wrong)
    with pytest.raises(ParameterError, match="invalid n_documents: 0"):
        bootstrap_interval(lambda rows: 0.0, 0)


# -- tests between two systems -----------------------------------------------------------------------------------------


def both(truth: Truth, first: Floats, second: Floats, **how: Any) -> tuple[PairedTest, PairedTest]:
    """Return the test of decisions above 1, and that of the scores."""
    return paired_test(truth, first > 1, second > 1, **how), paired_break_even_test(truth, first, second, **how)


def test_a_system_does_not_differ_from_itself() -> None:
    scores, truth = corpus(5)
    for found in both(truth, scores, scores, n_samples=50):
        assert found == (0.0, 1.0, 0, 0, 1.0)


def test_a_clearly_better_system_differs_significantly() -> None:
    scores, truth = corpus(6, n=300)
    worse = scores + np.random.default_rng(7).normal(scale=3.0, size=scores.shape)
    for found in both(truth, scores, worse, n_samples=500):
        assert found.difference > 0.1
        assert found.p_value == 1 / 501
        assert found.first_right > found.second_right
        assert found.sign_p_value < 0.001


def test_the_order_of_the_systems_changes_only_the_signs() -> None:
    scores, truth = corpus(8)
    other = scores + np.random.default_rng(9).normal(scale=0.5, size=scores.shape)
    for one, back in zip(both(truth, scores, other, **FEW), both(truth, other, scores, **FEW), strict=True):
        assert back.difference == -one.difference
        assert (back.p_value, back.sign_p_value) == (one.p_value, one.sign_p_value)
        assert (back.first_right, back.second_right) == (one.second_right, one.first_right)


def test_differences_are_those_of_the_measures() -> None:
    scores, truth = corpus(10)
    other = scores[:, ::-1]
    decided, ranked = both(truth, scores, other, **FEW)
    f1 = [Counts(4).update(truth, system > 1).micro().f1 for system in (scores, other)]
    assert decided.difference == pytest.approx(f1[0] - f1[1])
    assert ranked.difference == pooled_break_even(scores, truth) - pooled_break_even(other, truth)


def test_swaps_give_what_copied_outputs_give() -> None:
    scores, truth = corpus(11, n=20)
    other = scores + np.random.default_rng(12).normal(scale=0.7, size=scores.shape)
    ranks = [scipy.stats.rankdata(system).reshape(truth.shape) for system in (scores, other)]
    found = paired_break_even_test(truth, scores, other, n_samples=100)
    draw, as_great = np.random.default_rng(0), 0
    for _ in range(100):
        swaps = draw.integers(0, 2, len(truth), dtype=np.int8)[:, np.newaxis] > 0
        first, second = np.where(swaps, ranks[1], ranks[0]), np.where(swaps, ranks[0], ranks[1])
        difference = pooled_break_even(first, truth) - pooled_break_even(second, truth)
        as_great += abs(difference) >= abs(found.difference) - 1e-9
    assert found.p_value == pytest.approx((1 + as_great) / 101)


def test_the_scale_of_a_systems_scores_does_not_matter() -> None:
    scores, truth = corpus(13)
    other = scores + np.random.default_rng(14).normal(scale=0.5, size=scores.shape)
    found = paired_break_even_test(truth, scores, other, **FEW)
    assert paired_break_even_test(truth, scores, 1000 * other + 7, **FEW) == found


def test_p_values_of_equal_systems_are_spread_evenly() -> None:
    decided, ranked, signs = [], [], []
    for seed in range(200):
        draw = np.random.default_rng(seed)
        truth = draw.random((60, 3)) < 0.3
        systems = [draw.normal(size=truth.shape) + 1.5 * truth for _ in range(2)]
        tests = both(truth, *systems, n_samples=99)
        decided.append(tests[0].p_value)
        ranked.append(tests[1].p_value)
        signs.append(tests[0].sign_p_value)
    for values in (decided, ranked, signs):
        assert 0.01 <= np.mean(np.array(values) <= 0.05) <= 0.1
        assert 0.1 <= np.mean(np.array(values) <= 0.25) <= 0.35
        assert 0.4 <= np.mean(values) <= 0.62


def test_decisions_at_the_break_even_leave_out_a_tie_that_spans_the_cut() -> None:
    truth = np.array([[True], [True], [False], [False]])
    clear, tied = np.array([[4.0], [3.0], [2.0], [1.0]]), np.array([[4.0], [2.0], [2.0], [1.0]])
    found = paired_break_even_test(truth, clear, tied, **FEW)
    assert (found.difference, found.first_right, found.second_right) == (0.25, 1, 0)


def test_where_all_is_positive_no_ranking_is_better() -> None:
    found = paired_break_even_test([[True], [True]], [[2.0], [1.0]], [[1.0], [2.0]], **FEW)
    assert found == (0.0, 1.0, 0, 0, 1.0)


def test_without_positives_the_rankings_do_not_differ() -> None:
    found = paired_break_even_test([[False], [False]], [[2.0], [1.0]], [[1.0], [2.0]], **FEW)
    assert math.isnan(found.difference)
    assert found[1:] == (1.0, 0, 0, 1.0)


@given(st.integers(0, 300), st.integers(0, 300))
def test_sign_test_is_the_exact_binomial_test(first: int, second: int) -> None:
    expected = scipy.stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert sign_test(first, second) == pytest.approx(expected)


def test_sign_test_of_many_decisions_is_finite() -> None:
    assert sign_test(50_000, 50_100) == pytest.approx(0.754, abs=0.001)
    assert 0 <= sign_test(100, 100_000) < 1e-300


def test_two_systems_must_have_judged_the_same_pairs() -> None:
    with pytest.raises(RowsError, match="shapes differ"):
        paired_test([[True]], [[True]], [[True], [False]])
    with pytest.raises(RowsError, match="shapes differ"):
        paired_break_even_test([[True]], [[1.0]], [[1.0], [0.0]])
    with pytest.raises(RowsError, match="wanted: documents, categories"):
        pooled_break_even_interval([1.0], [True])
    with pytest.raises(RowsError, match="wanted: documents, categories"):
        micro_f1_interval([True], [True])
    with pytest.raises(ParameterError, match="invalid n_samples: 0"):
        paired_test([[True]], [[True]], [[False]], n_samples=0)
