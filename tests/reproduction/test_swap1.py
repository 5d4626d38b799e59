"""SWAP-1: covering, pruning at the weakest link, and what it learns from a few documents."""

import itertools

import numpy as np
import pytest

from support.rule_problems import DOCUMENTS, LABELS, assert_learns_what_is_separable, rows_of
from thresher.errors import ParameterError
from thresher_reproduction.kernels.rule_search import Tests, count_members, find_covered
from thresher_reproduction.rivals.rules import Collection, Condition, Problem, unpack
from thresher_reproduction.rivals.swap1 import Swap1, Weakening, choose_pruning, compute_loss, deal_out, list_prunings


def problem(seed: int = 0, noise: float = 0.1) -> Problem:
    """Return 80 random documents with eight words; either of two pairs makes the category, but for some noise."""
    draw = np.random.default_rng(seed)
    held = draw.random((80, 8)) < 0.4
    positive = ((held[:, 0] & held[:, 1]) | (held[:, 2] & held[:, 3])) ^ (draw.random(80) < noise)
    documents = [{int(f): 1 for f in np.flatnonzero(row)} for row in held]
    return Collection(rows_of(documents, 8), [[0] if p else [] for p in positive], 1).make_problem(0, 8)


def naive_losses(found: Problem, rules: list[Tests], ratio: float) -> dict[tuple[tuple[int, ...], ...], float]:
    """Return by how much the loss rises, per test dropped, for each rule set with one rule or one test less."""

    def cost(rules: list[Tests]) -> float:
        truth = unpack(found.positives, found.n_documents)
        accepted = np.zeros(found.n_documents, dtype=np.bool_)
        for tests in rules:
            accepted |= unpack(find_covered(found.bits, tests, found.everything), found.n_documents)
        return ratio * float((truth & ~accepted).sum()) + float((accepted & ~truth).sum())

    now, prices = cost(rules), {}
    for i, tests in enumerate(rules):
        dropped = [(rules[:i] + rules[i + 1 :], len(tests))]
        if len(tests) > 1:
            dropped += [([*rules[:i], np.delete(tests, k), *rules[i + 1 :]], 1) for k in range(len(tests))]
        for fewer, size in dropped:
            prices[tuple(tuple(t.tolist()) for t in fewer)] = (cost(fewer) - now) / size
    return prices


@pytest.mark.parametrize("ratio", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_each_step_of_pruning_drops_the_weakest_link(seed: int, ratio: float) -> None:
    found = problem(seed)
    state = Weakening(found, Swap1().find_covering(found, found.everything), found.everything, ratio)
    while state.rules:
        expected = naive_losses(found, state.rules, ratio)
        price = state.drop_weakest()
        assert price == pytest.approx(min(expected.values()))
        assert expected[tuple(tuple(t.tolist()) for t in state.rules)] == pytest.approx(price)


def test_covering_rules_are_pure_and_leave_no_positive_where_words_tell() -> None:
    found = problem(noise=0.0)
    rules = Swap1(least=1).find_covering(found, found.everything)
    covered = [find_covered(found.bits, tests, found.everything) for tests in rules]
    union = np.bitwise_or.reduce(covered)
    assert np.array_equal(union & found.positives, found.positives)
    assert not np.any(union & found.negatives)


def test_prices_never_fall_and_the_last_step_has_no_rules() -> None:
    found = problem()
    steps = list_prunings(found, Swap1().find_covering(found, found.everything), found.everything, 1.0)
    assert all(step.price <= after.price for step, after in itertools.pairwise(steps))
    assert steps[-1].rules == []
    assert len(steps) > 3


def test_the_loss_weighs_what_is_missed() -> None:
    found = problem()
    nothing = np.zeros_like(found.positives)
    assert compute_loss(found, nothing, found.everything, 3.0) == 3 * count_members(found.positives)
    assert compute_loss(found, found.everything, found.everything, 3.0) == count_members(found.negatives)


def test_documents_are_dealt_out_evenly() -> None:
    parts = deal_out(7, 70, 3, np.random.default_rng(0))
    assert sorted(count_members(part) for part in parts) == [23, 23, 24]
    assert count_members(np.bitwise_or.reduce(parts)) == 70
    assert sorted(unpack(part, 70)[:7].sum() for part in parts) == [2, 2, 3]


def test_a_greater_cost_of_misses_prunes_to_rules_that_accept_more() -> None:
    found, swap = problem(noise=0.2), Swap1()
    judges = deal_out(count_members(found.positives), 80, 3, np.random.default_rng(0))
    covers = [swap.find_covering(found, found.everything & ~judge) for judge in judges]
    whole = swap.find_covering(found, found.everything)
    sizes = []
    for ratio in (0.1, 10.0):
        rules = choose_pruning(found, whole, covers, judges, ratio)
        accepted = [find_covered(found.bits, tests, found.everything) for tests in rules]
        sizes.append(count_members(np.bitwise_or.reduce([np.zeros_like(found.positives), *accepted])))
    assert sizes[0] < sizes[1]


def test_a_word_held_often_can_make_a_rule() -> None:
    documents = [{0: 3}] * 20 + [{0: 1}] * 20 + [{1: 1}] * 20
    swap = Swap1(loss_ratios=[1.0]).fit(rows_of(documents), [[0]] * 20 + [[]] * 40, n_categories=1)
    assert swap.sweeps_ is not None
    assert swap.sweeps_[0][0][0].tests == (Condition(0, 2, True),)


def test_a_separable_problem_is_learned() -> None:
    assert_learns_what_is_separable(lambda: Swap1(loss_ratios=(0.5, 1.0, 2.0)))


def test_categories_without_documents_and_with_all_of_them_are_foregone() -> None:
    rows = rows_of(DOCUMENTS)
    scores = Swap1().fit(rows, [[1]] * 5, n_categories=2).score(rows)
    assert not scores[:, 0].any()
    assert scores[:, 1] == pytest.approx(np.ones(5))


def test_empty_rows_are_learned_and_scored() -> None:
    rows = rows_of([{}, {0: 1}, {0: 1}, {}])
    scores = Swap1(folds=2).fit(rows, [[], [0], [0], []], n_categories=1).score(rows_of([{}, {0: 3}]))
    assert scores[0, 0] < scores[1, 0]


def test_progress_hears_of_every_category() -> None:
    heard: list[tuple[int, int]] = []
    Swap1(loss_ratios=[1.0]).fit(
        rows_of(DOCUMENTS), LABELS, n_categories=2, progress=lambda done, total: heard.append((done, total))
    )
    assert heard == [(1, 2), (2, 2)]


@pytest.mark.parametrize("wrong", [{"loss_ratios": []}, {"levels": 0}, {"folds": 0}, {"least": True}])
def test_settings_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="allowed"):
        Swap1(**wrong)  # type: ignore[arg-type]
