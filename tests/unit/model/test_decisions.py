"""Thresholds, policies and probabilities: worked by hand, and held to what they promise on adversarial scores."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from thresher import Categorizer, read_documents
from thresher.errors import ParameterError
from thresher.kernels.calibration import fit_sigmoid
from thresher.kernels.reproducible_math import sigmoid
from thresher.model.decisions import (
    SLOPES,
    Decisions,
    calibrate,
    fit_tail,
    tune_decisions,
)
from thresher.model.goals import parse_goal
from thresher.model.policies import check_policy, choose_policy
from thresher.model.thresholds import Floats, Scores, Truth, tune_thresholds

NO, YES = False, True
PAST = 2.0**-10  # how far beyond the lowest and the highest score a threshold lies
FINITE = st.floats(-(2.0**126), 2.0**126, width=32)
FEW_VALUES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 1.0 + 2.0**-23, 3.0])  # many equal scores, and near ones


def decisions(thresholds: list[float], policy: str = "above", slope: float = 2.0) -> Decisions:
    return Decisions(np.array(thresholds), np.full(len(thresholds), slope), policy=policy)


def scores_of(*rows: list[float]) -> Scores:
    return np.array(rows, dtype=np.float32)


def matrices(values: st.SearchStrategy[float] = FINITE | FEW_VALUES) -> st.SearchStrategy[tuple[Scores, Truth]]:
    """Draw the scores and the truth of up to 30 documents and 4 categories."""
    shapes = st.tuples(st.integers(1, 30), st.integers(1, 4))
    return shapes.flatmap(
        lambda shape: st.tuples(arrays.arrays(np.float32, shape, elements=values), arrays.arrays(np.bool_, shape))
    )


# -- policies ----------------------------------------------------------------------------------------------------------


def accepted(policy: str, *rows: list[float]) -> list[list[int]]:
    """Return the accepted categories of documents, with thresholds 1, 0 and -1."""
    found = decisions([1.0, 0.0, -1.0], policy).accept(scores_of(*rows))
    return [np.flatnonzero(row).tolist() for row in found]


def test_above_accepts_every_score_above_its_threshold_strictly() -> None:
    assert accepted("above", [2.0, 0.5, -2.0], [1.0, 0.0, -1.0], [0.0, 0.0, 0.0]) == [[0, 1], [], [2]]


def test_at_least_one_adds_the_best_only_where_there_is_none() -> None:
    assert accepted("at-least-one", [2.0, 0.5, -2.0], [0.5, -0.25, -3.0]) == [[0, 1], [1]]


def test_exactly_one_accepts_the_best_whether_many_or_none_are_above() -> None:
    assert accepted("exactly-one", [2.0, 1.5, -2.0], [0.5, -0.25, -3.0]) == [[1], [1]]


def test_at_most_k_keeps_the_best_of_those_above() -> None:
    rows = [2.0, 1.5, 3.0], [2.0, -5.0, -5.0], [0.0, -5.0, -5.0]
    assert accepted("at-most-1", *rows) == [[2], [0], []]
    assert accepted("at-most-2", *rows) == [[1, 2], [0], []]
    assert accepted("at-most-12", *rows) == [[0, 1, 2], [0], []]


def test_first_of_equally_good_categories_wins() -> None:
    above, below = [2.0, 1.0, 0.0], [0.5, -0.5, -1.5]
    assert accepted("exactly-one", above, below) == [[0], [0]]
    assert accepted("at-least-one", below) == [[0]]
    assert accepted("at-most-2", above) == [[0, 1]]


@pytest.mark.parametrize("policy", ["above", "at-least-one", "exactly-one", "at-most-2"])
def test_no_documents_or_no_categories_give_nothing(policy: str) -> None:
    assert decisions([1.0], policy).accept(np.zeros((0, 1), dtype=np.float32)).shape == (0, 1)
    assert decisions([], policy).accept(np.zeros((2, 0), dtype=np.float32)).shape == (2, 0)


@given(matrices(), st.integers(1, 4))
def test_policies_keep_their_bounds(problem: tuple[Scores, Truth], most: int) -> None:
    scores, _ = problem
    thresholds = [1.0, 0.0, -1.0, 1.0][: scores.shape[1]]
    above = decisions(thresholds).accept(scores)
    exactly_one = decisions(thresholds, "exactly-one").accept(scores)
    at_least_one = decisions(thresholds, "at-least-one").accept(scores)
    at_most = decisions(thresholds, f"at-most-{most}").accept(scores)
    assert (exactly_one.sum(axis=1) == 1).all()
    assert (at_least_one == np.where(above.any(axis=1, keepdims=True), above, exactly_one)).all()
    assert (at_most.sum(axis=1) == np.minimum(above.sum(axis=1), most)).all()
    assert (at_most <= above).all()


def test_policy_follows_the_training_documents() -> None:
    assert choose_policy(np.array([1, 1])) == "exactly-one"
    assert choose_policy(np.array([1, 3])) == "at-least-one"
    assert choose_policy(np.array([1, 0])) == "above"
    assert choose_policy([]) == "above"


@pytest.mark.parametrize("policy", ["at-most-K", "at-most-0", "at-most-1.5", "at-most-٣", "Above", "", None, 3])
def test_unknown_policy_is_refused_with_those_allowed(policy: Any) -> None:
    with pytest.raises(ParameterError, match="allowed: above, at-least-one, exactly-one, at-most-K"):
        check_policy(policy)
    with pytest.raises(ValueError, match="invalid policy: "):
        decisions([1.0], policy)


# -- reported scores and probabilities ---------------------------------------------------------------------------------


def test_reported_score_is_one_at_the_threshold() -> None:
    assert decisions([1.0, -0.5]).reported_scores(scores_of([1.0, -0.5], [1.5, 0.0])).tolist() == [
        [1.0, 1.0],
        [1.5, 1.5],
    ]


def test_probability_is_a_half_at_the_threshold_and_rises_by_the_slope() -> None:
    found = decisions([1.0], slope=2.0).probabilities(scores_of([1.0], [1.5], [0.5]))
    assert found.tolist() == [[0.5], [sigmoid(1.0)], [sigmoid(-1.0)]]


def test_the_probability_does_not_depend_on_the_threshold() -> None:
    thresholds = (np.array([1.0]), np.array([-3.0]))
    low, high = (Decisions(one, np.array([2.0]), midpoints=np.array([0.5])) for one in thresholds)
    scores = scores_of([0.5], [1.0])
    assert low.probabilities(scores).tolist() == high.probabilities(scores).tolist() == [[0.5], [sigmoid(1.0)]]


def near(threshold: float) -> list[float]:
    """Return the float32 numbers around a threshold."""
    middle = np.float32(threshold)
    infinity = np.float32(np.inf)
    return [float(value) for value in (np.nextafter(middle, -infinity), middle, np.nextafter(middle, infinity))]


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=5), st.floats(*SLOPES), st.data())
def test_accepted_scores_are_above_one(thresholds: list[float], slope: float, data: st.DataObject) -> None:
    scores = scores_of([data.draw(st.sampled_from(near(threshold)) | FINITE) for threshold in thresholds])
    rule = decisions(thresholds, slope=slope)
    above = scores.astype(np.float64) > np.array(thresholds)
    assert (rule.accept(scores) == above).all()
    assert ((rule.reported_scores(scores) > 1) == above).all()


def test_difference_lost_to_rounding_still_decides() -> None:
    tiny = 1e-30
    rule, scores = decisions([0.0, tiny, -tiny]), scores_of([tiny, 0.0, 0.0])
    assert (rule.reported_scores(scores) > 1).tolist() == [[True, False, True]]


@given(st.lists(FINITE | FEW_VALUES, min_size=2, max_size=20), st.floats(*SLOPES))
def test_higher_raw_scores_never_give_lower_reported_scores(values: list[float], slope: float) -> None:
    scores = np.sort(np.array(values, dtype=np.float32))[:, np.newaxis]
    rule = decisions([0.7], slope=slope)
    assert (np.diff(rule.reported_scores(scores), axis=0) >= 0).all()
    assert (np.diff(rule.probabilities(scores), axis=0) >= 0).all()


def test_new_categories_come_after_the_others() -> None:
    grown = decisions([1.0], "exactly-one").add_categories(2, threshold=0.5, slope=3.0)
    assert grown.thresholds.tolist() == [1.0, 0.5, 0.5]
    assert grown.slopes.tolist() == [2.0, 3.0, 3.0]
    own = replace(decisions([1.0]), midpoints=np.array([0.25])).add_categories(1, threshold=0.5, slope=3.0)
    assert (len(grown.midpoints), own.midpoints.tolist()) == (0, [0.25, 0.5])
    assert grown.policy == "exactly-one"


def test_categories_can_be_dropped_and_reordered() -> None:
    kept = decisions([1.0, 2.0, 3.0], "at-most-2").select_categories([2, 0])
    assert kept.thresholds.tolist() == [3.0, 1.0]
    assert kept.slopes.tolist() == [2.0, 2.0]
    assert kept.policy == "at-most-2"
    assert len(kept.select_categories([]).thresholds) == 0


@pytest.mark.parametrize(
    ("thresholds", "slopes", "message"),
    [
        ([1.0, np.nan], [1.0, 1.0], "thresholds must be finite"),
        ([1.0, np.inf], [1.0, 1.0], "thresholds must be finite"),
        ([1.0, 1.0], [1.0, 0.0], "slopes must lie"),
        ([1.0, 1.0], [1.0, np.nan], "slopes must lie"),
        ([1.0, 1.0], [1.0], "shapes differ"),
    ],
)
def test_values_that_tuning_cannot_give_are_refused(thresholds: list[float], slopes: list[float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Decisions(np.array(thresholds), np.array(slopes), policy="above")


# -- thresholds --------------------------------------------------------------------------------------------------------


def tuned(goal: str, pairs: list[tuple[float, bool]], fallback: float = 0.0) -> float:
    """Return the threshold of one category from its documents' scores and truth."""
    scores, truth = zip(*pairs, strict=True)
    return float(tune_thresholds(scores_of(list(scores)).T, np.array([truth]).T, goal, fallback, few=1)[0])


FIVE = [(5.0, YES), (4.0, NO), (3.0, YES), (2.0, YES), (1.0, NO)]


@pytest.mark.parametrize(
    ("goal", "threshold"),
    [
        ("f1", 1.5),  # 2/4, 2/5, 4/6, 6/7, 6/8 when 1, 2, 3, 4, 5 documents are accepted
        ("break-even", 2.5),  # three accepted, and three positives
        ("precision:0.7", 1.5),  # 1/1, 1/2, 2/3, 3/4, 3/5
        ("precision:0.75", 1.5),
        ("precision:0.76", 4.5),
        ("precision:1", 4.5),
        ("recall:0.3", 4.5),  # 1/3, 1/3, 2/3, 3/3, 3/3
        ("recall:0.6", 2.5),
        ("recall:1.0", 1.5),
    ],
)
def test_threshold_serves_its_goal(goal: str, threshold: float) -> None:
    assert tuned(goal, FIVE) == threshold


def test_an_unreachable_precision_gives_the_highest_precision() -> None:
    assert tuned("precision:0.9", [(5.0, NO), (4.0, YES), (3.0, NO)]) == 3.5
    assert tuned("precision:0.9", [(5.0, NO), (4.0, YES), (3.0, NO), (2.0, YES), (1.0, NO)]) == 1.5


def test_ties_go_to_the_threshold_nearest_to_the_learner_s_own() -> None:
    equal = [(4.0, YES), (3.0, NO), (2.0, NO), (1.0, YES)]  # F1 is 2/3 when 1 or 4 documents are accepted
    assert tuned("f1", equal, fallback=3.0) == 3.5
    assert tuned("f1", equal, fallback=1.0) == 1 - PAST
    assert tuned("break-even", [(4.0, YES), (3.0, YES), (3.0, NO), (2.0, NO)], fallback=4.0) == 3.5
    assert tuned("break-even", [(4.0, YES), (3.0, YES), (3.0, NO), (2.0, NO)], fallback=2.0) == 2.5


def test_a_threshold_below_all_scores_is_at_most_the_learner_s_own() -> None:
    everything = [(3.0, YES), (2.0, YES)]
    assert tuned("f1", everything, fallback=1.0) == 1.0
    assert tuned("f1", everything, fallback=5.0) == 2 - 2 * PAST


def test_equal_scores_stay_together() -> None:
    assert tuned("f1", [(2.0, YES), (2.0, NO), (1.0, NO)]) == 1.5
    assert tuned("precision:1", [(2.0, YES), (2.0, NO), (1.0, NO)]) == 1.5


def measures(threshold: float, scores: Scores, truth: Truth) -> tuple[int, int, int]:
    above = scores.astype(np.float64) > threshold
    return int((above & truth).sum()), int(above.sum()), int(truth.sum())


def f1(threshold: float, scores: Scores, truth: Truth) -> Fraction:
    right, accepted, positives = measures(threshold, scores, truth)
    return Fraction(2 * right, accepted + positives)


def all_thresholds(scores: Scores) -> list[float]:
    """Return a threshold for every way to cut scores in two."""
    values = sorted({float(score) for score in scores.ravel()})
    return [-np.inf, *values]


@given(matrices(), st.floats(-2, 2))
def test_no_other_threshold_has_a_better_f1_of_its_category(problem: tuple[Scores, Truth], fallback: float) -> None:
    scores, truth = problem
    found = tune_thresholds(scores, truth, "macro-f1", fallback, few=1)
    for threshold, column, true in zip(found, scores.T, truth.T, strict=True):
        if true.any():
            assert f1(threshold, column, true) == max(f1(other, column, true) for other in all_thresholds(column))


@given(matrices(), st.floats(-2, 2))
def test_no_other_thresholds_have_a_better_f1_over_all_decisions(
    problem: tuple[Scores, Truth], fallback: float
) -> None:
    scores, truth = problem[0][:, :2], problem[1][:, :2]

    def overall(thresholds: Iterable[float]) -> Fraction:
        cuts = [measures(*cut) for cut in zip(thresholds, scores.T, truth.T, strict=True)]
        right, accepted, positives = (sum(column) for column in zip(*cuts, strict=True))
        return Fraction(2 * right, max(accepted + positives, 1))

    found = tune_thresholds(scores, truth, "f1", fallback, few=1)
    others = product(*([*all_thresholds(column), np.inf] for column in scores.T))
    assert overall(found) == max(map(overall, others))


def test_f1_over_all_decisions_gives_up_a_hopeless_category() -> None:
    scores = np.array([[3.0, 1.0]] * 9 + [[0.0, 1.0]] * 91, dtype=np.float32)
    truth = np.zeros(scores.shape, dtype=np.bool_)
    truth[:9, 0] = truth[50, 1] = True
    together, alone = (tune_thresholds(scores, truth, goal, few=1) for goal in ("f1", "macro-f1"))
    assert together[1] > 1.0
    assert alone[1] < 1.0


def test_under_exactly_one_all_categories_share_a_threshold() -> None:
    rng = np.random.default_rng(0)
    truth = np.eye(4, dtype=np.bool_)[rng.integers(0, 4, 400)]
    scores = (truth + rng.normal(0, 0.5, truth.shape)).astype(np.float32)
    for goal in ("f1", "macro-f1", "break-even"):
        assert len(set(tune_thresholds(scores, truth, goal, policy="exactly-one").tolist())) == 1
    assert len(set(tune_thresholds(scores, truth, "precision:0.9", policy="exactly-one").tolist())) == 4


@given(matrices(), st.floats(0.01, 1).map(lambda wish: f"{wish:.3f}"))
def test_wished_precision_and_recall_are_met_where_they_can_be(problem: tuple[Scores, Truth], wish: str) -> None:
    scores, truth = problem
    precise, complete = (tune_thresholds(scores, truth, f"{name}:{wish}", few=1) for name in ("precision", "recall"))
    for category in np.flatnonzero(truth.any(axis=0)):
        column, true = scores[:, category], truth[:, category]
        cuts = [measures(other, column, true) for other in all_thresholds(column)]
        right, accepted, positives = measures(precise[category], column, true)
        reachable = [cut for cut in cuts if cut[1] and cut[0] / cut[1] >= float(wish)]
        if reachable:
            assert right / accepted >= float(wish)
            assert accepted == max(cut[1] for cut in reachable)
        else:
            assert right / accepted == max(cut[0] / cut[1] for cut in cuts if cut[1])
        right, accepted, positives = measures(complete[category], column, true)
        assert right / positives >= float(wish)
        assert accepted == min(cut[1] for cut in cuts if cut[0] / positives >= float(wish))


@given(matrices())
def test_break_even_accepts_as_many_as_there_are_positives(problem: tuple[Scores, Truth]) -> None:
    scores, truth = problem
    found = tune_thresholds(scores, truth, "break-even", few=1)
    for category in np.flatnonzero(truth.any(axis=0)):
        column, true = scores[:, category], truth[:, category]
        off = [abs(cut[1] - cut[2]) for cut in (measures(other, column, true) for other in all_thresholds(column))]
        _, accepted, positives = measures(found[category], column, true)
        assert abs(accepted - positives) == min(off)


@given(matrices(), st.sampled_from(["f1", "break-even", "precision:0.6", "recall:0.6"]), st.integers(1, 8), st.data())
def test_thresholds_are_finite_differ_from_all_scores_and_do_not_depend_on_the_order(
    problem: tuple[Scores, Truth], goal: str, few: int, data: st.DataObject
) -> None:
    scores, truth = problem
    order = data.draw(st.permutations(range(len(scores))))
    found = tune_thresholds(scores, truth, goal, fallback=np.pi, few=few)
    assert found.tolist() == tune_thresholds(scores[order], truth[order], goal, fallback=np.pi, few=few).tolist()
    assert np.isfinite(found).all()
    assert not (scores == found).any()
    Decisions(found, np.ones(len(found)), policy="above")


def test_categories_with_few_positives_share_the_threshold_of_their_pool() -> None:
    scores = np.column_stack([[5, 4, 3, 2, 1, 0], [3, 9, 1, 1, 1, 1], [6, 5, 4, 3, 2, 1]]).astype(np.float32)
    truth = np.column_stack([[1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0]]).astype(np.bool_)
    # Pooled: 9+ 5+ 4+ 3+ 3- 2- 1- ...: F1 is 6/7 with 3 accepted and 8/9 with 5. Alone they would have 3.5 and 2.
    assert tune_thresholds(scores, truth, "f1", few=3).tolist() == [2.5, 2.5, 3.5]
    assert tune_thresholds(scores, truth, "f1", few=1).tolist() == [3.5, 2.0, 3.5]


def test_pool_with_few_positives_keeps_the_learner_s_own_threshold() -> None:
    scores = scores_of([5.0, 0.5], [4.0, 0.25], [0.0, 0.0])
    truth = np.array([[YES, YES], [NO, NO], [NO, NO]])
    assert tune_thresholds(scores, truth, fallback=1.25, few=3).tolist() == [1.25, 1.25]
    assert tune_thresholds(scores, truth, fallback=1.25).tolist() == [1.25, 1.25]


def test_one_odd_positive_does_not_open_its_category() -> None:
    scores = np.tile(np.linspace(-1, 0.9, 100, dtype=np.float32)[:, np.newaxis], (1, 40))
    truth = np.zeros(scores.shape, dtype=np.bool_)
    truth[99] = True  # every category's one positive has its highest score,
    truth[:, 0] = np.arange(100) == 0  # save that of the first: the lowest
    assert tune_thresholds(scores, truth, "macro-f1", few=1)[0] < -1
    assert tune_thresholds(scores, truth, "macro-f1", few=30)[0] > 0.8


@given(matrices(), st.floats(-2, 2), st.integers(1, 8))
def test_category_without_positives_is_never_preferred(
    problem: tuple[Scores, Truth], fallback: float, few: int
) -> None:
    scores, truth = problem
    truth[:, 0] = False
    thresholds = tune_thresholds(scores, truth, "f1", fallback, few)
    assert thresholds[0] > max(fallback, scores.max())
    if truth.any():
        for policy in ("above", "at-least-one", "exactly-one"):
            assert not Decisions(thresholds, np.ones(len(thresholds)), policy=policy).accept(scores)[:, 0].any()


@pytest.mark.parametrize(
    "goal", ["f2", "F1", "precision", "precision:", "precision:0", "recall:1.1", "recall:-1", "recall:nan", "", None, 1]
)
def test_unknown_goal_is_refused_with_those_allowed(goal: Any) -> None:
    with pytest.raises(ParameterError, match="allowed: f1, macro-f1, break-even, precision:P, recall:R"):
        parse_goal(goal)


# -- calibration -------------------------------------------------------------------------------------------------------


def drawn_truth(scores: Scores, midpoints: Floats, slopes: Floats) -> Truth:
    """Draw labels with the probabilities that the slopes and midpoints say."""
    chances = np.random.default_rng(0).random(scores.shape)
    return np.asarray(chances < sigmoid(slopes * (scores - midpoints)))


def calibrated(scores: Scores, truth: Truth, threshold: float = 0.0) -> Decisions:
    thresholds = np.full(scores.shape[1], threshold)
    slopes, midpoints = calibrate(scores, truth, thresholds)
    return Decisions(thresholds, slopes, midpoints=midpoints)


def test_calibration_recovers_the_curves_that_made_the_labels() -> None:
    scores = np.random.default_rng(1).normal(size=(40_000, 3)).astype(np.float32)
    midpoints, slopes = np.array([0.0, 0.7, 1.5]), np.array([2.0, 3.0, 4.0])
    found = calibrated(scores, drawn_truth(scores, midpoints, slopes))
    assert np.allclose(found.slopes, slopes, rtol=0.06)
    assert np.allclose(found.midpoints, midpoints, atol=0.05)


def test_calibrated_probabilities_are_the_shares_of_positives() -> None:
    scores = np.random.default_rng(2).uniform(-2, 2, size=(40_000, 1)).astype(np.float32)
    truth = drawn_truth(scores, np.array([0.5]), np.array([2.0]))
    found = calibrated(scores, truth).probabilities(scores)
    for low in np.arange(0, 1, 0.1):
        within = (found >= low) & (found < low + 0.1)
        assert abs(found[within].mean() - truth[within].mean()) < 0.03


@pytest.mark.parametrize("goal", ["f1", "macro-f1", "break-even", "precision:0.95", "recall:0.95"])
def test_probabilities_on_real_text_are_right_as_often_as_they_say(goal: str) -> None:
    """The expected calibration error of five folds, of the pairs with a probability of at least 0.05."""
    documents = list(read_documents("sample:train"))
    chances, right = [], []
    for fold in range(5):
        taught = [one for i, one in enumerate(documents) if i % 5 != fold]
        asked = documents[fold::5]
        model = Categorizer(analyser="words", thresholds=goal)
        model.fit([one.text for one in taught], [one.categories for one in taught])
        chances.append(model.predict_proba([one.text for one in asked]).ravel())
        right += [name in one.categories for one in asked for name in model.categories]
    said, true = np.concatenate(chances), np.array(right)
    bins = np.minimum((said * 10).astype(int), 9)
    own = [(said >= 0.05) & (bins == number) for number in range(10)]
    error = sum(abs(said[some].sum() - true[some].sum()) for some in own) / np.count_nonzero(said >= 0.05)
    assert error <= 0.08


def loss(line: tuple[float, float], values: Floats, targets: Floats, prior: Any, weights: Any) -> float:
    """Return what `fit_sigmoid` minimizes."""
    logits = line[0] * values + line[1]
    penalty = sum(weight * (one - before) ** 2 for one, before, weight in zip(line, prior, weights, strict=True)) / 2
    return float(np.sum(np.logaddexp(0, logits) - targets * logits) + penalty)


@given(
    st.lists(st.tuples(st.floats(-8, 8), st.floats(0.01, 0.99)), min_size=2, max_size=30),
    st.sampled_from([((1.0, 0.0), (30.0, 3.0)), ((0.0, 0.0), (1e-3, 1e-3))]),
)
def test_no_curve_nearby_fits_better(pairs: list[tuple[float, float]], given_prior: Any) -> None:
    values, targets = (np.array(column) for column in zip(*pairs, strict=True))
    line = fit_sigmoid(values, targets, *given_prior)
    best = loss(line, values, targets, *given_prior)
    for slope, offset in ((0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.0, -0.01)):
        assert loss((line[0] + slope, line[1] + offset), values, targets, *given_prior) >= best - 1e-7


@pytest.mark.parametrize("factor", [1.0, 1e-6, 1e38, 0.0])
@pytest.mark.parametrize("upwards", [True, False])
def test_odd_scores_give_finite_curves(factor: float, upwards: bool) -> None:
    apart = np.linspace(-1, 1, 100, dtype=np.float32)[:, np.newaxis]
    scores = apart * np.float32(factor)
    found = calibrated(scores, (apart > 0) == upwards)
    assert SLOPES[0] <= found.slopes[0] <= SLOPES[1]
    assert np.isfinite(found.midpoints).all()
    assert np.isfinite(found.probabilities(scores)).all()


def test_few_positives_leave_a_category_near_the_curve_of_all() -> None:
    scores = np.random.default_rng(3).normal(size=(400, 6)).astype(np.float32)
    truth = drawn_truth(scores, np.full(6, 2.0), np.full(6, 4.0))
    truth[:, 0] = False
    assert 2 <= truth[:, 1:].sum(axis=0).min() <= truth[:, 1:].sum(axis=0).max() <= 20
    found = calibrated(scores, truth)
    common = found.slopes[0], found.midpoints[0]  # that of a category without positives
    assert np.allclose(found.slopes, common[0], rtol=0.3)
    assert np.allclose(found.midpoints, common[1], atol=0.3)


LOGIT_OF_5_PERCENT = float(np.log(0.05 / 0.95))


def test_low_probabilities_add_up_to_the_number_of_positives_among_them() -> None:
    """Most scores of real text lie far below those that the curves are fitted on."""
    rng = np.random.default_rng(3)
    logits = (LOGIT_OF_5_PERCENT - rng.exponential(1.0, size=(4000, 5))).astype(np.float32)
    truth = rng.random(logits.shape) < sigmoid(LOGIT_OF_5_PERCENT + 4 * (logits - LOGIT_OF_5_PERCENT))
    tail = fit_tail(logits.astype(np.float64), truth)
    found = Decisions(np.zeros(5), np.ones(5), midpoints=np.zeros(5), tail=tail).probabilities(logits)
    assert 3.5 < tail < 4.5
    assert abs(found.sum() - truth.sum()) < 3
    assert fit_tail(logits.astype(np.float64), rng.random(logits.shape) < sigmoid(logits)) < 1.1


def test_the_tail_leaves_the_order_and_the_probabilities_of_5_percent_and_more() -> None:
    scores = np.linspace(-9, 9, 400, dtype=np.float32)[:, np.newaxis]
    plain = Decisions(np.zeros(1), np.ones(1), midpoints=np.zeros(1))
    steep, flat = replace(plain, tail=5.0).probabilities(scores), plain.probabilities(scores)
    assert (np.diff(steep[:, 0]) > 0).all()
    assert (steep[flat >= 0.05] == flat[flat >= 0.05]).all()
    assert (steep[flat < 0.05] < flat[flat < 0.05]).all()
    pairs = replace(plain, tail=5.0).scores_of_pairs(
        scores, np.arange(400), np.zeros(400, dtype=np.int64), plain.thresholds
    )
    assert (pairs[1] == steep[:, 0]).all()


@pytest.mark.parametrize("tail", [0.5, 65.0, float("nan")])
def test_a_tail_outside_its_range_is_refused(tail: float) -> None:
    with pytest.raises(ParameterError, match="tail must lie from 1 to 64"):
        Decisions(np.zeros(1), np.ones(1), tail=tail)


def test_without_positives_the_probability_is_a_half_at_the_threshold() -> None:
    found = calibrated(np.zeros((9, 2), dtype=np.float32), np.zeros((9, 2), dtype=np.bool_), threshold=0.7)
    assert (found.slopes.tolist(), found.midpoints.tolist()) == ([1.0, 1.0], [0.7, 0.7])


def test_bits_are_fixed() -> None:
    scores = (np.arange(300, dtype=np.float32).reshape(100, 3) * np.float32(0.37)) % np.float32(2.9)
    truth = scores + np.arange(300).reshape(100, 3) % 7 / 8 > 2.5
    thresholds = tune_thresholds(scores, truth, few=10)
    assert [value.hex() for value in thresholds.tolist()] == [
        "0x1.f999800000000p+0",
        "0x1.0eb8380000000p+1",
        "0x1.e8f5b40000000p+0",
    ]
    curves = np.concatenate(calibrate(scores, truth, thresholds))
    assert [value.hex() for value in curves.tolist()] == [
        "0x1.58783162d0276p+2",
        "0x1.6155cac56f29bp+2",
        "0x1.2bf7a14519c0ep+2",
        "0x1.12fd86fee30dbp+1",
        "0x1.11e4525d3d3bdp+1",
        "0x1.1691f06b30579p+1",
    ]
    slopes, midpoints = np.split(curves, 2)
    assert fit_tail(slopes * (scores - midpoints), truth).hex() == "0x1.03d50db3ae000p+0"


# -- rivalry -----------------------------------------------------------------------------------------------------------


def rivals() -> Decisions:
    return Decisions(np.array([0.5, 0.5, 0.5]), np.ones(3), np.array([0.5, 0.5, 0.0]))


def test_a_share_of_the_best_score_is_added_to_a_threshold() -> None:
    scores = np.array([[2.0, 1.25, 1.25], [0.75, 1.25, 4.0]], dtype=np.float32)
    assert rivals().cuts(scores).tolist() == [[1.5, 1.5, 0.5], [1.125, 1.125, 0.5]]
    assert rivals().accept(scores).tolist() == [[True, False, True], [False, True, True]]


@given(
    arrays.arrays(np.float32, (5, 3), elements=st.floats(-8, 8, width=32)), st.sampled_from(["above", "at-least-one"])
)
def test_with_rivalry_reported_scores_and_probabilities_agree_with_the_thresholds(scores: Scores, policy: str) -> None:
    rule = replace(rivals(), policy=policy)
    above = scores > rule.cuts(scores)
    assert np.array_equal(rule.reported_scores(scores) > 1, above)
    assert np.array_equal(rule.probabilities(scores) > 0.5, above)
    assert (rule.accept(scores) >= above).all()


def test_a_late_category_has_no_rivalry() -> None:
    scores = np.array([[0.75, 0.25, 0.25]], dtype=np.float32)
    later = rivals().add_categories(1, 0.7, 1.0)
    wider = np.column_stack((scores, np.full((1, 1), 9, dtype=np.float32)))
    assert later.cuts(wider)[:, :3].tolist() == rivals().cuts(scores).tolist()
    assert later.cuts(wider)[0, 3] == 0.7


def test_rivalry_is_chosen_where_it_pays_and_only_there() -> None:
    """Half of the documents score high throughout: their second category is wrong, though as high as others' first."""
    generator = np.random.default_rng(1)
    truth = np.zeros((400, 4), dtype=np.bool_)
    truth[np.arange(400), generator.integers(0, 4, 400)] = True
    plain = (truth + generator.normal(0, 0.1, truth.shape)).astype(np.float32)
    assert tune_decisions(plain, truth).rivalry.tolist() == [0] * 4
    loud = np.arange(400) % 2 == 0
    scores = plain + np.where(loud, plain.max(axis=1) * 0.8, 0)[:, None].astype(np.float32)
    chosen = tune_decisions(scores, truth)
    assert chosen.rivalry.min() == chosen.rivalry.max() > 0
    without = replace(chosen, rivalry=np.zeros(4), thresholds=tune_thresholds(scores, truth))
    assert np.count_nonzero(chosen.accept(scores) != truth) < np.count_nonzero(without.accept(scores) != truth)


@pytest.mark.parametrize(("goal", "policy"), [("macro-f1", "above"), ("break-even", "above"), ("f1", "exactly-one")])
def test_rivalry_is_only_tuned_for_f1_over_all_decisions(goal: str, policy: str) -> None:
    truth = np.eye(4, dtype=np.bool_)[np.arange(80) % 4]
    scores = (truth * np.linspace(1, 3, 80)[:, None]).astype(np.float32)
    assert not tune_decisions(scores, truth, goal, policy=policy).rivalry.any()


@pytest.mark.parametrize("share", [-0.1, 1.5, np.nan])
def test_a_share_outside_0_to_1_is_refused(share: float) -> None:
    with pytest.raises(ParameterError, match="rivalry must lie from 0 to 1"):
        Decisions(np.zeros(1), np.ones(1), np.array([share]))
