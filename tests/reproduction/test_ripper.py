"""Ripper: its values and description lengths as published, and what it learns from a few documents."""

import math

import numpy as np
import pytest

from support.rule_problems import DOCUMENTS, LABELS, assert_learns_what_is_separable, rows_of
from thresher.errors import NotFittedError, ParameterError
from thresher_reproduction.kernels.rule_search import Tests, count_members, count_prefixes
from thresher_reproduction.rivals.ripper import (
    Candidate,
    Ripper,
    Search,
    exception_bits,
    prune,
    rule_bits,
    rule_values,
    subset_bits,
)
from thresher_reproduction.rivals.rules import Collection, Condition, unpack


def rule_of(*tests: int) -> Tests:
    return np.array(tests, dtype=np.int32)


def search(ratio: float = 1.0, seed: int = 0) -> Search:
    """Return a search on 40 random documents with ten words, of which the first two make the category."""
    draw = np.random.default_rng(seed)
    held = draw.random((40, 10)) < 0.4
    labels = [[0] if row[0] and row[1] else [] for row in held]
    documents = [{int(f): 1 for f in np.flatnonzero(row)} for row in held]
    problem = Collection(rows_of(documents, 10), labels, 1).make_problem(0, 10)
    return Search(problem, Ripper(), ratio, np.random.default_rng(seed))


# -- published formulas by hand ----------------------------------------------------------------------------------------


def test_a_rules_value_is_right_minus_wrong_over_covered() -> None:
    assert rule_values(np.array([6, 3, 0, 0]), np.array([2, 0, 4, 0])).tolist() == [0.5, 1.0, -1.0, 0.0]


def test_the_last_tests_go_up_to_the_best_value() -> None:
    # values of 0, 1, 2 and 3 tests; a rule without tests is never made
    assert prune(rule_of(5, 6, 7), np.array([0.9, 0.2, 0.8, 0.1])).tolist() == [5, 6]
    assert prune(rule_of(5, 6, 7), np.array([0.0, 0.5, 0.5, 0.4])).tolist() == [5, 6]
    assert prune(rule_of(5, 6, 7), np.array([0.0, 0.1, 0.2, 0.3])).tolist() == [5, 6, 7]
    assert prune(rule_of(), np.array([0.3])).tolist() == []


def test_bits_of_a_subset_worked_out_by_hand() -> None:
    assert subset_bits(8, 2, 1, 4) == pytest.approx(2 * 2 + 6 * -math.log2(0.75))
    assert subset_bits(8, 0, 0, 4) == 0
    assert subset_bits(8, 8, 4, 4) == 0


def test_bits_of_a_rule_worked_out_by_hand() -> None:
    # half of: one test of 16 is 1 bit for the number, and 4 + 15 log2(16/15) for which
    assert rule_bits(1, 16) == pytest.approx(0.5 * (1 + 4 + 15 * math.log2(16 / 15)))
    assert rule_bits(0, 16) == 0


def test_bits_of_exceptions_worked_out_by_hand() -> None:
    # 4 covered with 1 wrong, 12 left with 1 missed: of 2 errors, 1 is expected among the 12
    left = -math.log2(1 / 12) - 11 * math.log2(11 / 12)
    covered = -math.log2(1 / 4) - 3 * math.log2(3 / 4)
    assert exception_bits(4, 12, 1, 1) == pytest.approx(math.log2(17) + covered + left)
    assert exception_bits(4, 12, 1, 1, ratio=3.0) == pytest.approx(math.log2(17) + covered + 3 * left)
    # 12 covered with 2 wrong, 4 left with none missed: 1 error is expected among the 12, which has 2
    assert exception_bits(12, 4, 2, 0) == pytest.approx(math.log2(17) + 2 * math.log2(12) - 10 * math.log2(11 / 12))
    assert exception_bits(4, 12, 0, 0) == pytest.approx(math.log2(17))
    assert exception_bits(0, 16, 0, 16) == pytest.approx(math.log2(17) + 16)


# -- the search, against plain sets ------------------------------------------------------------------------------------


def test_two_thirds_of_each_kind_are_to_grow_on() -> None:
    found = search()
    split = found.split(found.problem.everything)
    p, n = count_members(found.problem.positives), count_members(found.problem.negatives)
    assert count_members(split.grow_p) == -(-2 * p // 3)
    assert count_members(split.grow_n) == -(-2 * n // 3)
    assert np.array_equal(split.grow_p | split.prune_p, found.problem.positives)
    assert np.array_equal(split.grow_n | split.prune_n, found.problem.negatives)
    assert not np.any(split.grow_p & split.prune_p)


@pytest.mark.parametrize("seed", range(5))
def test_a_pruned_rule_is_the_best_prefix_of_the_grown_one(seed: int) -> None:
    found, twin = search(seed=seed), search(seed=seed)
    rule = found.find_rule(found.problem.everything)
    split = twin.split(twin.problem.everything)
    grown = twin.grow(rule_of(), split)
    values = {}
    for length in range(1, len(grown) + 1):
        p, n = (count_prefixes(twin.problem.bits, grown, s)[length] for s in (split.prune_p, split.prune_n))
        values[length] = ((p - n) / max(p + n, 1), length)
    best = max(values, key=lambda length: values[length])
    assert rule.tests.tolist() == grown[:best].tolist()


@pytest.mark.parametrize("ratio", [0.25, 1.0, 4.0])
def test_a_description_is_its_rules_and_their_exceptions(ratio: float) -> None:
    found = search(ratio)
    rules = [found.make_candidate(rule_of(0)), found.make_candidate(rule_of(1, ~2))]
    truth, covers = unpack(found.problem.positives, 40), [unpack(rule.covered, 40) for rule in rules]
    accepted = covers[0] | covers[1]
    fp, fn, size = (accepted & ~truth).sum(), (truth & ~accepted).sum(), accepted.sum()
    parts = rule_bits(1, found.n_tests) + rule_bits(2, found.n_tests)
    expected = parts + exception_bits(int(size), int(40 - size), int(fp), int(fn), ratio)
    assert found.measure_length(rules) == pytest.approx(expected)


def test_needless_rules_are_dropped() -> None:
    found = search()
    good = found.add_rules([])
    twice = [*good, good[0]]
    assert found.measure_length(found.drop_needless(twice)) < found.measure_length(twice)
    assert len(found.drop_needless(twice)) == len(good)


def test_a_bad_rule_is_replaced_by_one_that_makes_the_description_shorter() -> None:
    found = search()
    bad: list[Candidate] = [found.make_candidate(rule_of(len(found.problem.bits) - 1))]
    assert found.measure_length([found.choose_variant(bad, 0)]) < found.measure_length(bad)


# -- the learner -------------------------------------------------------------------------------------------------------


def test_a_separable_problem_is_learned() -> None:
    assert_learns_what_is_separable(lambda: Ripper(loss_ratios=(0.5, 1.0, 2.0)))


def test_an_absent_word_can_make_a_rule() -> None:
    documents = [{0: 1}] * 20 + [{0: 1, 1: 1}] * 20
    labels = [[0]] * 20 + [[]] * 18 + [[0]] * 2  # two exceptions, for a candidate must be in positives
    ripper = Ripper(loss_ratios=[1.0]).fit(rows_of(documents), labels, n_categories=1)
    assert ripper.sweeps_ is not None
    assert ripper.sweeps_[0][0][0].tests == (Condition(1, 1, False),)
    plain = Ripper(loss_ratios=[1.0], negated=False).fit(rows_of(documents), labels, n_categories=1)
    assert plain.size == 0


def test_categories_without_documents_and_with_all_of_them_are_foregone() -> None:
    rows = rows_of(DOCUMENTS)
    scores = Ripper().fit(rows, [[1]] * 5, n_categories=2).score(rows)
    assert not scores[:, 0].any()
    assert scores[:, 1] == pytest.approx(np.ones(5))


def test_empty_rows_are_learned_and_scored() -> None:
    rows = rows_of([{}, {0: 1}, {0: 1}, {}])
    scores = Ripper().fit(rows, [[], [0], [0], []], n_categories=1).score(rows_of([{}, {0: 3}]))
    assert scores[0, 0] < scores[1, 0]


def test_progress_hears_of_every_category() -> None:
    heard: list[tuple[int, int]] = []
    Ripper(loss_ratios=[1.0]).fit(
        rows_of(DOCUMENTS), LABELS, n_categories=2, progress=lambda done, total: heard.append((done, total))
    )
    assert heard == [(1, 2), (2, 2)]


@pytest.mark.parametrize("wrong", [{"loss_ratios": []}, {"loss_ratios": [0.0]}, {"n_features": 0}, {"rounds": -1}])
def test_settings_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="allowed"):
        Ripper(**wrong)  # type: ignore[arg-type]


def test_scores_before_learning_are_refused() -> None:
    with pytest.raises(NotFittedError, match="call fit first"):
        Ripper().score(rows_of(DOCUMENTS))
