"""The paper's update rules, worked by hand: theta = 1 and d = 2, so that a document of two features starts at theta.

Powers of two throughout, so that every figure is exact.
"""

import math
from typing import Any

import numpy as np
import pytest

from support.problems import as_rows
from thresher import BalancedWinnow, Perceptron, PositiveWinnow, RegularizedWinnow
from thresher.rows.labels import label_one_row

BASIC: dict[str, Any] = {
    "average_active": 2.0,
    "threshold_range": None,
    "strength": "linear",
    "normalize": False,
    "discard": False,
    "max_passes": 1,
}
WINNOW = BASIC | {"alpha": 2.0, "beta": 0.5}
PERCEPTRON = BASIC | {"alpha": 0.25}
SHORT, LONG = {0: 1.0, 1: 1.0}, {0: 1.0, 1: 1.0, 2: 1.0}  # score 1 and 1.5 at the start


def weights(learner: Any, documents: list[dict[int, float]], labels: list[list[int]]) -> list[float]:
    """Return the weights of category 0 after one pass over documents with four features."""
    return list(learner.fit(as_rows(documents, 4), labels, n_categories=1).weights_[0].tolist())


def test_weights_start_as_the_paper_says() -> None:
    nothing_learned: Any = [{}], [[]]
    assert weights(PositiveWinnow(**WINNOW), *nothing_learned) == [0.5] * 4  # theta / d
    assert weights(Perceptron(**PERCEPTRON), *nothing_learned) == [0.5] * 4
    assert weights(BalancedWinnow(**WINNOW), *nothing_learned) == [0.5] * 4  # 2 theta / d - theta / d
    assert weights(PositiveWinnow(**WINNOW | {"normalize": True}), *nothing_learned) == [1.0] * 4  # theta


def test_promotion_touches_only_active_features() -> None:
    mistake = [SHORT], [[0]]  # 1 <= theta on a positive document
    assert weights(PositiveWinnow(**WINNOW), *mistake) == [1.0, 1.0, 0.5, 0.5]
    assert weights(Perceptron(**PERCEPTRON), *mistake) == [0.75, 0.75, 0.5, 0.5]
    assert weights(BalancedWinnow(**WINNOW), *mistake) == [2 - 0.25, 2 - 0.25, 0.5, 0.5]


def test_demotion_touches_only_active_features() -> None:
    mistake: Any = [LONG], [[]]  # 1.5 > theta on a negative document
    assert weights(PositiveWinnow(**WINNOW), *mistake) == [0.25, 0.25, 0.25, 0.5]
    assert weights(Perceptron(**PERCEPTRON), *mistake) == [0.25, 0.25, 0.25, 0.5]
    assert weights(BalancedWinnow(**WINNOW), *mistake) == [0.5 - 1, 0.5 - 1, 0.5 - 1, 0.5]


@pytest.mark.parametrize(("document", "labels"), [(LONG, [0]), (SHORT, []), ({0: 1.0}, [])])
def test_a_correct_prediction_changes_nothing(document: dict[int, float], labels: list[int]) -> None:
    for learner in (PositiveWinnow(**WINNOW), BalancedWinnow(**WINNOW), Perceptron(**PERCEPTRON)):
        assert weights(learner, [document], [labels]) == [0.5] * 4
        assert learner.mistakes_.tolist() == [[0]]


def test_scores_within_the_threshold_range_are_mistakes_its_ends_included() -> None:
    def errs(limits: tuple[float, float] | None, document: dict[int, float], labels: list[int]) -> bool:
        learner = BalancedWinnow(**WINNOW | {"threshold_range": limits})
        weights(learner, [document], [labels])
        return bool(learner.mistakes_.sum())

    assert errs((0.5, 1.5), LONG, [0])  # a positive at theta+
    assert errs((0.5, 1.5), {0: 1.0}, [])  # a negative at theta-
    assert errs((0.75, 1.25), SHORT, [0])
    assert errs((0.75, 1.25), SHORT, [])
    assert not errs((0.75, 1.25), LONG, [0])
    assert not errs((0.75, 1.25), {0: 1.0}, [])
    assert errs((1.0, 1.0), SHORT, [])  # a range of no width still has both its ends
    assert not errs(None, SHORT, [])


def test_strength_enters_the_score_and_not_the_update() -> None:
    for strength, score in (("binary", 0.5), ("linear", 2.0), ("sqrt", 1.0)):
        learner = PositiveWinnow(**WINNOW | {"strength": strength, "threshold_range": (0.0, 4.0)})
        rows = as_rows([{0: 4.0}], 4)
        untouched = PositiveWinnow(**WINNOW | {"strength": strength}).fit(as_rows([{}], 4), [[0]])
        assert untouched.score(rows).item() == score
        assert weights(learner, [{0: 4.0}], [[0]]) == [1.0, 0.5, 0.5, 0.5]
        assert weights(learner, [{0: 4.0}], [[]]) == [0.25, 0.5, 0.5, 0.5]


def test_normalised_strengths_sum_to_one() -> None:
    learner = PositiveWinnow(**WINNOW | {"normalize": True})
    rows = as_rows([{0: 3.0, 1: 1.0}], 4)  # strengths 3/4 and 1/4, weights theta
    learner.fit(rows, [[0]])  # 1 <= theta: a mistake
    assert learner.weights_[0].tolist() == [2.0, 2.0, 1.0, 1.0]
    assert learner.score(rows).item() == 2.0
    assert learner.score(as_rows([{0: 2.0, 2: 6.0}], 4)).item() == 0.25 * 2 + 0.75


def test_normalised_strengths_follow_the_square_root() -> None:
    learner = PositiveWinnow(**WINNOW | {"normalize": True, "strength": "sqrt"}).fit(as_rows([{0: 1.0}], 2), [[0]])
    assert learner.weights_[0].tolist() == [2.0, 1.0]
    assert learner.score(as_rows([{0: 9.0, 1: 1.0}], 2)).item() == 0.75 * 2 + 0.25


def test_features_within_one_step_of_the_start_are_discarded() -> None:
    documents, labels = [{0: 1.0}, {0: 1.0}, {1: 1.0}], [[0], [0], []]
    settings = {"discard": True, "discard_by_pass": 1, "discard_below": 0.0, "max_passes": 2}
    learner = PositiveWinnow(**WINNOW | settings)
    # Feature 0: 0.5 -> 1 -> 2, beyond one promotion; the others lie in 0.25 .. 1 and go.
    assert weights(learner, documents, labels) == [2.0, 0.0, 0.0, 0.0]
    assert learner.discarded_.tolist() == [3]
    assert learner.mistakes_.tolist() == [[2], [0]]


@pytest.mark.parametrize(
    ("learner", "initial", "zero"),
    [
        (PositiveWinnow(**WINNOW), (0.25, 1.0), (-0.375, 0.375)),
        (Perceptron(**PERCEPTRON), (0.25, 0.75), (-0.25, 0.25)),
        (BalancedWinnow(**WINNOW), (0.5 - 1, 2 - 0.25), (-1.125, 1.125)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_filtering_range_reaches_from_one_demotion_to_one_promotion(learner: Any, initial: Any, zero: Any) -> None:
    assert learner.filtering_range(average_active=2.0) == initial
    learner.discard_range = "zero"
    assert learner.filtering_range(average_active=2.0) == zero
    learner.discard_range = (-0.5, 7.0)
    assert learner.filtering_range(average_active=2.0) == (-0.5, 7.0)


def test_ends_of_the_filtering_range_are_discarded_too() -> None:
    once = [{0: 1.0}, {1: 1.0, 2: 1.0, 3: 1.0}], [[0], []]  # one promotion of 0, one demotion of the others
    settings = {"discard": True, "discard_by_pass": 1, "discard_below": 0.0, "max_passes": 2}
    learner = PositiveWinnow(**WINNOW | settings)
    assert weights(learner, *once) == [0.0] * 4
    learner.discard_range = (0.25, 0.75)
    assert weights(learner, *once)[0] > 0.75


def test_discarding_waits_until_mistakes_are_few_or_the_pass_is_reached() -> None:
    documents, labels = [{0: 1.0}, {1: 1.0}], [[0], []]

    def dropped_with(**settings: Any) -> int:
        learner = Perceptron(**PERCEPTRON | {"discard": True, "discard_range": (-9.0, 9.0), "max_passes": 2} | settings)
        weights(learner, documents, labels)
        return int(learner.discarded_.sum())

    assert dropped_with(discard_below=0.5, discard_by_pass=2) == 0  # 1 of 2 is not fewer than half
    assert dropped_with(discard_below=0.51, discard_by_pass=2) == 4
    assert dropped_with(discard_below=0.0, discard_by_pass=1) == 4
    assert dropped_with(discard_below=1.0, discard_by_pass=1, max_passes=1) == 0  # nothing would be learned after it


def test_a_discarded_feature_comes_back_only_if_discarding_is_not_final() -> None:
    for final, expected in ((True, [0.0, 0.0]), (False, [1.0, 0.0])):
        settings = {"discard": True, "discard_range": (-9.0, 9.0), "discard_by_pass": 1, "max_passes": 2}
        learner = PositiveWinnow(**WINNOW | settings | {"discard_final": final})
        learner.fit(as_rows([{0: 1.0}, {1: 1.0}], 2), [[0], []])
        assert learner.weights_[0].tolist() == [0.0, 0.0]
        learner.partial_fit(as_rows([{0: 1.0}], 2), [[0]])
        assert learner.weights_[0].tolist() == expected  # back at 0.5, then promoted


def test_average_is_the_mean_of_the_weights_after_each_example() -> None:
    documents, labels = [{0: 1.0}, {0: 1.0}, {1: 1.0}], [[0], [0], []]
    learner = Perceptron(**PERCEPTRON | {"average": True})
    # Feature 0 weighs 0.75, 1 and 1 after the three examples, feature 1 stays at 0.5.
    assert weights(learner, documents, labels) == [np.float32(2.75 / 3), 0.5, 0.5, 0.5]


def test_average_ends_with_the_category_s_own_last_pass() -> None:
    documents = [{0: 1.0, 1: 1.0, 2: 1.0}, {3: 1.0}]
    settings = PERCEPTRON | {"average": True, "max_passes": 4}
    alone = Perceptron(**settings).fit(as_rows(documents, 4), [[0], []], n_categories=1)
    beside = Perceptron(**settings).fit(as_rows(documents, 4), [[0], [1]], n_categories=2)
    assert alone.n_passes_.tolist() == [1]
    assert beside.n_passes_.tolist() == [1, 4]
    assert beside.weights_[0].tolist() == alone.weights_[0].tolist()


def test_a_correction_leaves_other_categories_alone() -> None:
    learner = BalancedWinnow(**WINNOW).fit(as_rows([{}], 4), [[]], n_categories=3)
    learner.partial_fit(as_rows([SHORT | {2: 1.0}], 4), label_one_row({0: 1, 2: -1}))
    assert learner.weights_[0].tolist() == [0.5] * 4  # accepted already: 1.5 > theta
    assert learner.weights_[1].tolist() == [0.5] * 4  # in neither list
    assert learner.weights_[2].tolist() == [-0.5, -0.5, -0.5, 0.5]


# Regularized Winnow (Zhang, 2000), worked out by hand: one feature of strength 1, size 1/2, rate 1/4, range 0 to 2.


def regularized(**settings: Any) -> RegularizedWinnow:
    return RegularizedWinnow(size=0.5, rate=0.25, shuffle=False, **settings)


def test_a_push_is_the_rate_times_the_distance_from_the_range() -> None:
    learner = regularized(max_passes=1).fit(as_rows([{0: 1.0}], 1), [[0]])
    # Score 0, so the dual weight becomes 1/4 x 2 = 1/2 and w = (e^0.5 - e^-0.5) / 2.
    assert learner.weights_[0, 0] == pytest.approx(math.sinh(0.5), rel=1e-6)


def test_a_document_pushes_no_further_than_its_cap() -> None:
    learner = regularized(max_passes=20, positive_cap=0.25).fit(as_rows([{0: 1.0}], 1), [[0]])
    assert learner.weights_[0, 0] == pytest.approx(math.sinh(0.25), rel=1e-6)
    assert learner.mistakes_[:, 0].tolist() == [1, 0]


def test_a_negative_within_the_range_pushes_down_and_one_below_it_not_at_all() -> None:
    rows = as_rows([{0: 1.0}, {0: 1.0}, {1: 1.0}], 2)
    learner = regularized(max_passes=1).fit(rows, [[0], [], []])
    # After the first push the second document scores sinh(0.5) above 0; the third scores 0, at the end of the range.
    exponent = 0.5 - 0.25 * math.sinh(0.5)
    assert learner.weights_[0, 0] == pytest.approx(math.sinh(exponent), rel=1e-6)
    assert learner.weights_[0, 1] == 0.0


def test_a_push_is_proportional_to_the_strength() -> None:
    learner = regularized(max_passes=1, strength="linear").fit(as_rows([{0: 1.0, 1: 3.0}], 2), [[0]])
    assert learner.weights_[0].tolist() == pytest.approx([math.sinh(0.5), math.sinh(1.5)], rel=1e-6)


def test_a_document_reduces_its_dual_weight_when_it_is_no_longer_needed() -> None:
    rows = as_rows([{0: 1.0}, {0: 2.0}], 1)
    learner = regularized(max_passes=30, strength="linear", positive_cap=10.0).fit(rows, [[0], [0]])
    # The stronger document reaches the range's end first; in the end the weaker one alone stands at it.
    assert learner.score(rows)[0, 0] == pytest.approx(2.0, rel=1e-3)
    assert learner.score(rows)[1, 0] == pytest.approx(4.0, rel=1e-3)


def test_in_partial_fit_a_document_takes_one_step_each_time() -> None:
    learner = regularized().partial_fit(as_rows([{0: 1.0}], 1), [[0]])
    learner.partial_fit(as_rows([{0: 1.0}], 1), [[0]])
    exponent = 0.5 + 0.25 * (2 - math.sinh(0.5))
    assert learner.weights_[0, 0] == pytest.approx(math.sinh(exponent), rel=1e-6)
