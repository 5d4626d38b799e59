"""What the rule learners share: local dictionaries, problems as bit rows, and the scores of rule sets."""

import numpy as np
import pytest

from support.rule_problems import DOCUMENTS, LABELS, rows_of
from thresher.errors import NotFittedError, RowsError
from thresher_reproduction.kernels.rule_search import count_members
from thresher_reproduction.rivals.rules import Collection, Condition, Rule, information_gain, log2, score_sweeps, unpack


def collection() -> Collection:
    return Collection(rows_of(DOCUMENTS), LABELS, n_categories=3)


def test_information_gain_is_the_loss_of_entropy() -> None:
    def entropy(p: int, n: int) -> float:
        parts = [x / (p + n) for x in (p, n) if x]
        return -sum(part * float(np.log2(part)) for part in parts)

    # 3 positives and 5 negatives; the feature is in 2 and 1 of them
    expected = entropy(3, 5) - 3 / 8 * entropy(2, 1) - 5 / 8 * entropy(1, 4)
    assert information_gain(np.array([2]), np.array([1]), 3, 5)[0] == pytest.approx(expected)


def test_logarithms_are_binary() -> None:
    assert [log2(n) for n in (1, 2, 8, 10)] == pytest.approx([0, 1, 3, np.log2(10)])


def test_the_local_dictionary_has_words_of_two_positives_or_of_the_only_one() -> None:
    assert collection().select_features(0, 10).tolist() == [0]
    assert collection().select_features(1, 10).tolist() == [3]


def test_the_local_dictionary_keeps_what_tells_most() -> None:
    documents = [{0: 1, 1: 1}, {0: 1, 1: 1}, {1: 1}, {2: 1}]
    found = Collection(rows_of(documents), [[0], [0], [], []], n_categories=1)
    assert found.select_features(0, 10).tolist() == [0, 1]
    assert found.select_features(0, 1).tolist() == [0]


def test_a_problem_has_its_positives_first_and_a_row_for_each_level() -> None:
    problem = collection().make_problem(0, 10, levels=2)
    assert (problem.features.tolist(), problem.counts.tolist()) == ([0, 0], [1, 2])
    assert [unpack(row, 5).tolist() for row in problem.bits] == [
        [True, True, False, False, False],
        [True] + [False] * 4,
    ]
    assert (count_members(problem.positives), count_members(problem.negatives)) == (2, 3)
    last = collection().make_problem(1, 10)
    assert unpack(last.bits[0], 5).tolist() == [True, False, False, False, False]


def test_a_rules_precision_is_drawn_to_the_share_of_the_category() -> None:
    rule = collection().make_problem(0, 10).make_rule(np.array([0], dtype=np.int32), prior=2.0)
    assert rule.tests == (Condition(0, 1, True),)
    assert rule.precision == pytest.approx((2 + 2 * 0.4) / (2 + 2))
    absent = collection().make_problem(0, 10).make_rule(np.array([~0], dtype=np.int32), prior=2.0)
    assert absent.tests == (Condition(0, 1, False),)
    assert absent.precision == pytest.approx((0 + 2 * 0.4) / (3 + 2))


def test_a_document_scores_the_mean_of_the_surest_rules_that_hold() -> None:
    often, absent = Rule((Condition(2, 2, True),), 0.5), Rule((Condition(0, 1, False), Condition(3, 1, False)), 0.25)
    scores = score_sweeps([((often, absent), (absent,)), ((), ())], rows_of(DOCUMENTS))
    assert scores[:, 0].tolist() == [0, 0, 0.375, 0.25, 0]
    assert not scores[:, 1].any()


def test_features_that_the_rows_do_not_know_are_in_no_document() -> None:
    wanted, unwanted = Rule((Condition(9, 1, True),), 0.5), Rule((Condition(9, 1, False),), 0.25)
    assert score_sweeps([((wanted, unwanted),)], rows_of(DOCUMENTS)).ravel().tolist() == [0.25] * 5


def test_labels_beyond_the_categories_are_refused() -> None:
    with pytest.raises(RowsError, match="allowed: below n_categories=1"):
        Collection(rows_of(DOCUMENTS), LABELS, n_categories=1)


def test_scores_before_learning_are_refused() -> None:
    with pytest.raises(NotFittedError, match="call fit first"):
        score_sweeps(None, rows_of(DOCUMENTS))
