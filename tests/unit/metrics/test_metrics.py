"""Counts, break-even, curves and rankings: worked by hand, and held to scikit-learn's on scores with many ties."""

import math
import time
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from thresher import metrics
from thresher.errors import ParameterError, RowsError
from thresher.metrics import (
    Counts,
    Floats,
    Truth,
    average_precision,
    break_even,
    break_evens,
    macro_break_even,
    micro_break_even,
    ndcg,
    pooled_break_even,
    precision_at,
    precision_recall_curve,
    r_precision,
)

FEW_VALUES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0])  # many ties
FINITE = st.floats(-1e30, 1e30)
Ranking = tuple[Floats, Truth]


def columns(values: st.SearchStrategy[float] = FEW_VALUES | FINITE) -> st.SearchStrategy[Ranking]:
    """Draw scores and truth of up to 40 documents."""
    return st.integers(1, 40).flatmap(
        lambda n: st.tuples(arrays.arrays(np.float64, n, elements=values), arrays.arrays(np.bool_, n))
    )


def matrices(values: st.SearchStrategy[float] = FEW_VALUES | FINITE) -> st.SearchStrategy[Ranking]:
    shapes = st.tuples(st.integers(1, 12), st.integers(2, 6))
    return shapes.flatmap(
        lambda shape: st.tuples(arrays.arrays(np.float64, shape, elements=values), arrays.arrays(np.bool_, shape))
    )


def truth_of(*rows: str) -> Truth:
    return np.array([[letter == "x" for letter in row] for row in rows], dtype=np.bool_)


# -- counts ------------------------------------------------------------------------------------------------------------

TRUTH = truth_of("x..", "xx.", ".x.", "...")
ACCEPTED = truth_of("x..", "..x", "xx.", "...")


def test_the_papers_four_counts_by_category() -> None:
    counts = Counts(3).update(TRUTH, ACCEPTED)
    assert counts.true_positives.tolist() == [1, 1, 0]
    assert counts.false_positives.tolist() == [1, 0, 1]
    assert counts.false_negatives.tolist() == [1, 1, 0]
    assert counts.true_negatives.tolist() == [1, 2, 3]
    assert counts.positives.tolist() == [2, 2, 0]
    assert counts.accepted.tolist() == [2, 1, 1]


def test_rates_by_category_are_zero_where_nothing_is_accepted_or_true() -> None:
    counts = Counts(3).update(TRUTH, ACCEPTED)
    assert counts.precision().tolist() == [0.5, 1.0, 0.0]
    assert counts.recall().tolist() == [0.5, 0.5, 0.0]
    assert counts.f1().tolist() == [0.5, 2 / 3, 0.0]
    silent = Counts(1).update([[True]], [[False]])
    assert (silent.precision()[0], silent.recall()[0], silent.f1()[0]) == (0.0, 0.0, 0.0)


def test_micro_rates_are_of_all_decisions_together() -> None:
    assert Counts(3).update(TRUTH, ACCEPTED).micro() == (0.5, 0.5, 0.5)


def test_macro_rates_leave_out_categories_without_a_positive() -> None:
    assert Counts(3).update(TRUTH, ACCEPTED).macro() == (0.75, 0.5, (0.5 + 2 / 3) / 2)


def test_nothing_counted_has_micro_rates_of_zero_and_no_macro_rates() -> None:
    assert Counts(2).micro() == (0.0, 0.0, 0.0)
    assert all(math.isnan(rate) for rate in Counts(2).macro())
    assert all(math.isnan(rate) for rate in Counts(0).macro())


@given(matrices(), st.data())
def test_counts_in_any_batches_equal_one_update(problem: Ranking, data: st.DataObject) -> None:
    scores, truth = problem
    stops = sorted(data.draw(st.lists(st.integers(0, len(truth)), max_size=5)))
    once, piecemeal = Counts(truth.shape[1]).update(truth, scores > 0), Counts(truth.shape[1])
    for start, stop in zip([0, *stops], [*stops, len(truth)], strict=True):
        piecemeal.update(truth[start:stop], scores[start:stop] > 0)
    for name in ("true_positives", "false_positives", "false_negatives", "true_negatives"):
        assert (getattr(once, name) == getattr(piecemeal, name)).all()


@given(matrices())
def test_rates_equal_those_of_scikit_learn(problem: Ranking) -> None:
    scores, truth = problem
    accepted = scores > 0
    counts = Counts(truth.shape[1]).update(truth, accepted)
    for average, rates in (("micro", counts.micro()), ("macro", counts.macro())):
        real = truth.any(axis=0) if average == "macro" else np.ones(truth.shape[1], dtype=np.bool_)
        assume(real.sum() > 1)
        expected = sklearn.metrics.precision_recall_fscore_support(
            truth[:, real], accepted[:, real], average=average, zero_division=0
        )
        assert rates == pytest.approx(expected[:3])


# -- break-even by hand ------------------------------------------------------------------------------------------------


def test_break_even_is_the_precision_at_as_many_as_there_are_positives() -> None:
    assert break_even([5.0, 4.0, 3.0, 2.0, 1.0], [1, 0, 1, 1, 0]) == 2 / 3


def test_a_tie_at_the_cut_is_shared_out() -> None:
    # Two positives: one above the tie, and of the three tied one is right and one fits.
    assert break_even([9.0, 1.0, 1.0, 1.0, 0.0], [1, 1, 0, 0, 0]) == (1 + 1 / 3) / 2


def test_a_tie_that_ends_at_the_cut_counts_whole() -> None:
    assert break_even([2.0, 2.0, 2.0, 1.0, 1.0], [1, 0, 1, 1, 0]) == 2 / 3


def test_a_tie_above_or_below_the_cut_changes_nothing() -> None:
    assert break_even([3.0, 3.0, 2.0, 1.0], [1, 0, 1, 1]) == 2 / 3
    assert break_even([4.0, 3.0, 1.0, 1.0], [0, 1, 1, 0]) == 0.5


def test_where_all_scores_are_equal_the_break_even_is_the_share_of_positives() -> None:
    assert break_even([1.0] * 8, [1, 0, 0, 1, 0, 0, 0, 0]) == 0.25


def test_without_positives_there_is_no_break_even() -> None:
    assert math.isnan(break_even([2.0, 1.0], [0, 0]))
    assert math.isnan(break_even([], []))


def test_where_all_are_positive_the_break_even_is_one() -> None:
    assert break_even([3.0, 1.0, 1.0, -2.0], [1, 1, 1, 1]) == 1.0


def test_a_single_document_is_right_or_has_no_break_even() -> None:
    assert break_even([-7.0], [1]) == 1.0
    assert math.isnan(break_even([-7.0], [0]))


def test_infinite_scores_rank_first_and_last() -> None:
    assert break_even([math.inf, 0.0, -math.inf, -math.inf], [1, 0, 1, 0]) == 0.5


def test_pooled_micro_and_macro_by_hand() -> None:
    scores = np.array([[3.0, 0.5], [2.0, 0.4], [1.0, 0.3], [0.0, 0.2]])
    truth = truth_of("xx", ".x", "xx", "..")
    # First column: 1 of the best 2; second: all of the best 3. Pooled, the best 5 are the first column's best 3 and
    # the second's best 2, and hold 4 of the 5 positives.
    assert break_evens(scores, truth).tolist() == [0.5, 1.0]
    assert micro_break_even(scores, truth) == (2 * 0.5 + 3 * 1.0) / 5
    assert macro_break_even(scores, truth) == 0.75
    assert pooled_break_even(scores, truth) == 0.8


def test_a_category_without_positives_has_no_break_even_and_no_weight() -> None:
    scores, truth = np.array([[2.0, 9.0], [1.0, 8.0]]), truth_of("x.", "..")
    assert break_evens(scores, truth)[0] == 1.0
    assert np.isnan(break_evens(scores, truth)[1])
    assert micro_break_even(scores, truth) == macro_break_even(scores, truth) == 1.0
    assert pooled_break_even(scores, truth) == 0.0  # but its scores stand in the pool


def test_no_positives_at_all_give_nan() -> None:
    scores, truth = np.ones((3, 2)), np.zeros((3, 2), dtype=np.bool_)
    for measure in (pooled_break_even, micro_break_even, macro_break_even, r_precision, ndcg):
        assert math.isnan(measure(scores, truth))
        assert math.isnan(measure(np.zeros((0, 2)), np.zeros((0, 2))))


# -- break-even by other ways ------------------------------------------------------------------------------------------


def break_even_by_scikit_learn(scores: Floats, truth: Truth) -> float:
    """Return the interface's formula over the points of scikit-learn's curve."""
    positives = int(truth.sum())
    _, recall, thresholds = sklearn.metrics.precision_recall_curve(truth, scores)
    hits = np.append(0, (recall[:-1] * positives)[::-1])
    taken = np.append(0, [(scores >= threshold).sum() for threshold in thresholds[::-1]])
    upper = int(np.argmax(taken >= positives))
    part = (positives - taken[upper - 1]) / (taken[upper] - taken[upper - 1])
    return float((hits[upper - 1] + part * (hits[upper] - hits[upper - 1])) / positives)


@given(columns())
def test_break_even_is_the_formula_on_scikit_learns_curve(problem: Ranking) -> None:
    scores, truth = problem
    assume(truth.any())
    assert break_even(scores, truth) == pytest.approx(break_even_by_scikit_learn(scores, truth), abs=1e-12)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.0]), st.booleans()), min_size=1, max_size=6))
def test_break_even_is_the_mean_over_all_orders_of_the_ties(pairs: list[tuple[float, bool]]) -> None:
    positives = sum(true for _, true in pairs)
    assume(positives)
    orders = [order for order in permutations(pairs) if all(a[0] >= b[0] for a, b in pairwise(order))]
    expected = np.mean([sum(true for _, true in order[:positives]) / positives for order in orders])
    assert break_even(*zip(*pairs, strict=True)) == pytest.approx(expected)


@given(matrices(), st.randoms(use_true_random=False))
def test_the_order_of_the_documents_does_not_matter(problem: Ranking, draw: Any) -> None:
    scores, truth = problem
    order = list(range(len(scores)))
    draw.shuffle(order)
    for measure in (pooled_break_even, micro_break_even, macro_break_even, r_precision, ndcg):
        expected = measure(scores, truth)
        assert measure(scores[order], truth[order]) == pytest.approx(expected, nan_ok=True)


@given(matrices(FEW_VALUES))
def test_only_the_order_of_the_scores_counts(problem: Ranking) -> None:
    scores, truth = problem
    for measure in (pooled_break_even, micro_break_even, macro_break_even, r_precision, ndcg):
        assert measure(np.exp(scores), truth) == pytest.approx(measure(scores, truth), nan_ok=True)


def test_perfect_inverted_and_constant_scores_by_hand() -> None:
    truth = truth_of("x..", "xx.", ".x.", "...")
    for measure in (pooled_break_even, micro_break_even, macro_break_even):
        assert measure(truth.astype(float), truth) == 1.0
    assert pooled_break_even(-truth.astype(float), truth) == 0.0
    assert pooled_break_even(np.zeros(truth.shape), truth) == truth.mean()


def test_pooled_break_even_of_reuters_size_is_quick() -> None:
    draw = np.random.default_rng(0)
    truth = draw.random((3299, 90)) < 0.013
    scores = draw.normal(size=truth.shape) + 3 * truth
    pooled_break_even(scores, truth)
    started = time.process_time()
    for _ in range(3):
        pooled_break_even(scores, truth)
    # Four times the 50 ms that it is meant to take at most: the machine may be busy.
    assert time.process_time() - started < 3 * 0.2


# -- curves ------------------------------------------------------------------------------------------------------------


def test_the_curve_has_a_point_for_each_score_the_highest_first() -> None:
    curve = precision_recall_curve([1.0, 3.0, 1.0, 0.0], [1, 0, 1, 1])
    assert curve.thresholds.tolist() == [3.0, 1.0, 0.0]
    assert curve.precision.tolist() == [0.0, 2 / 3, 0.75]
    assert curve.recall.tolist() == [0.0, 2 / 3, 1.0]


def test_a_curve_of_nothing_is_empty_and_one_without_positives_is_flat() -> None:
    assert [len(part) for part in precision_recall_curve([], [])] == [0, 0, 0]
    assert precision_recall_curve([2.0, 1.0], [0, 0]).recall.tolist() == [0.0, 0.0]
    assert math.isnan(average_precision([2.0, 1.0], [0, 0]))


@given(columns())
def test_curve_and_average_precision_equal_those_of_scikit_learn(problem: Ranking) -> None:
    scores, truth = problem
    assume(truth.any())
    precision, recall, thresholds = sklearn.metrics.precision_recall_curve(truth, scores)
    curve = precision_recall_curve(scores, truth)
    assert curve.thresholds == pytest.approx(thresholds[::-1])
    assert curve.precision == pytest.approx(precision[:-1][::-1])
    assert curve.recall == pytest.approx(recall[:-1][::-1])
    expected = sklearn.metrics.average_precision_score(truth, scores)
    assert average_precision(scores, truth) == pytest.approx(expected)


# -- ranked categories -------------------------------------------------------------------------------------------------


def test_precision_at_k_and_r_precision_by_hand() -> None:
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    truth = truth_of("x.x", ".x.", "...")  # the last document has no category and is left out
    assert precision_at(scores, truth, 1) == 0.5
    assert precision_at(scores, truth, 2) == 0.5
    assert precision_at(scores, truth, 3) == 0.5
    assert precision_at(scores, truth, 6) == 0.25
    assert r_precision(scores, truth) == 0.25


def test_equally_ranked_categories_share_the_places() -> None:
    scores, truth = np.ones((1, 4)), truth_of("x...")
    assert precision_at(scores, truth, 1) == r_precision(scores, truth) == 0.25
    assert ndcg(scores, truth) == pytest.approx(np.mean(1 / np.log2([2, 3, 4, 5])))


@given(matrices(), st.integers(1, 8) | st.none())
def test_ndcg_equals_that_of_scikit_learn(problem: Ranking, k: int | None) -> None:
    scores, truth = problem
    some = truth.any(axis=1)
    assume(some.any())
    expected = sklearn.metrics.ndcg_score(truth[some], scores[some], k=k)
    assert ndcg(scores, truth, k) == pytest.approx(expected)


@given(matrices(), st.integers(1, 6))
def test_precision_at_k_lies_between_its_bounds(problem: Ranking, k: int) -> None:
    scores, truth = problem
    assume(truth.any())
    at_most = np.minimum(truth.sum(axis=1), k)[truth.any(axis=1)].mean() / k
    assert 0 <= precision_at(scores, truth, k) <= at_most + 1e-12


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, -1, 1.0, True, None, "1"])
def test_ranks_are_whole_numbers_from_one(k: Any) -> None:
    with pytest.raises(ParameterError, match=r"invalid k: .*"):
        precision_at(np.ones((1, 2)), truth_of("x."), k)


@pytest.mark.parametrize(
    ("scores", "truth", "message"),
    [
        ([1.0, math.nan], [True, False], "scores hold NaN"),
        ([1.0, 2.0], [True], r"shapes differ: scores \(2,\), truth \(1,\)"),
        ([[1.0]], [[True]], r"shape \(1, 1\) \(wanted: documents\)"),
        ([1.0], [2], "truth must hold only True and False"),
        ([1.0], [0.5], "truth must hold only True and False"),
        (["high"], [True], "scores must be numbers"),
        ([[1.0], [1.0, 2.0]], [True], "scores must be numbers"),
    ],
)
def test_invalid_arrays_are_refused(scores: Any, truth: Any, message: str) -> None:
    for measure in (break_even, precision_recall_curve, average_precision):
        with pytest.raises(RowsError, match=message) as caught:
            measure(scores, truth)
        assert "\n" not in str(caught.value)


def test_measures_of_matrices_refuse_other_shapes() -> None:
    for measure in (break_evens, pooled_break_even, micro_break_even, macro_break_even, r_precision, ndcg):
        with pytest.raises(RowsError, match="wanted: documents, categories"):
            measure([1.0], [True])


def test_counts_refuse_another_number_of_categories() -> None:
    with pytest.raises(RowsError, match="3 categories are counted"):
        Counts(3).update([[True]], [[True]])
    with pytest.raises(RowsError, match="shapes differ"):
        Counts(1).update([[True]], [[True], [False]])
    with pytest.raises(RowsError, match="True and False"):
        Counts(1).update([[True]], [[0.7]])


def test_zeros_and_ones_are_accepted_as_truth() -> None:
    assert break_even([2, 1], np.array([1, 0], dtype=np.uint8)) == 1.0
    assert metrics.as_truth([[0, 1]], "truth").dtype == np.bool_
