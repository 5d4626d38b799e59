"""SWAP-1: rules found by swapping tests until they are pure, pruned by cross-validation; a row of the paper's Table 2.

Apté, Damerau and Weiss, "Automated learning of decision rules for text categorization" (ACM Transactions on Information
Systems, 1994); the induction is that of Weiss and Indurkhya (1993). docs/rivals/swap1.md lists the choices that are
ours.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher_reproduction.kernels.rule_search import (
    Bits,
    Tests,
    count_members,
    find_covered,
    find_covered_without,
    find_rule_by_swaps,
)
from thresher_reproduction.rivals.rule_learner import RuleLearner
from thresher_reproduction.rivals.rules import (
    Collection,
    Floats,
    Problem,
    Sweep,
    check_settings,
    pack,
)

LOSS_RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


class Swap1(RuleLearner):
    """SWAP-1 on word counts, with one pruned rule set for each loss ratio.

    Parameters
    ----------
    loss_ratios : sequence of float
        Cost of a missed document, relative to a wrongly accepted one. Each ratio gives a rule set.
    n_features : int
        Maximum number of words in a category's local dictionary, by information gain.
    levels : int
        Tests ask for at least one occurrence of a word, at least two, and so on up to this number. 1: presence only.
    negated : bool
        Whether rules may test for the absence of a word.
    least : int
        Minimum number of positive documents that a new rule covers, or all remaining ones if they are fewer.
    most_tests : int
        Maximum number of tests in a rule.
    folds : int
        Number of folds of the cross-validation that decides how far to prune.
    prior : float
        Number of pseudo-documents with the category's share that are added to estimate a rule's precision.
    seed : int
        Seed of the draw that assigns documents to folds.

    Examples
    --------
    >>> from thresher import Rows
    >>> rows = Rows([0, 1, 3, 4, 5], [0, 0, 1, 1, 2], [1, 1, 1, 1, 1], n_features=3)
    >>> swap = Swap1(loss_ratios=[1.0], folds=2).fit(rows, [[0], [0], [], []], n_categories=1)
    >>> swap.sweeps_[0][0][0].tests
    (Condition(feature=0, times=1, wanted=True),)
    """

    def __init__(
        self,
        *,
        loss_ratios: Sequence[float] = LOSS_RATIOS,
        n_features: int = 300,
        levels: int = 3,
        negated: bool = False,
        least: int = 2,
        most_tests: int = 8,
        folds: int = 3,
        prior: float = 2.0,
        seed: int = 0,
    ) -> None:
        numbers = {"n_features": n_features, "levels": levels, "least": least, "most_tests": most_tests, "folds": folds}
        check_settings(loss_ratios, **numbers)
        self.loss_ratios, self.n_features, self.levels = tuple(loss_ratios), n_features, levels
        self.negated, self.least, self.most_tests = negated, least, most_tests
        self.folds, self.prior, self.seed = folds, prior, seed

    def _find_sweep(self, collection: Collection, category: int) -> Sweep:
        trivial_rules = collection.find_trivial_rules(category)
        if trivial_rules is not None:
            return (trivial_rules,) * len(self.loss_ratios)
        problem = collection.make_problem(category, self.n_features, self.levels)
        draw = np.random.default_rng([self.seed, category])
        judges = deal_out(len(collection.members[category]), problem.n_documents, self.folds, draw)
        covers = [self.find_covering(problem, problem.everything & ~judge) for judge in judges]
        whole = self.find_covering(problem, problem.everything)
        chosen = (choose_pruning(problem, whole, covers, judges, ratio) for ratio in self.loss_ratios)
        return tuple(tuple(problem.make_rule(tests, self.prior) for tests in rules) for rules in chosen)

    def find_covering(self, problem: Problem, among: Bits) -> list[Tests]:
        """Return rules that cover the positives of `among`, each found on the documents that earlier rules leave."""
        rules: list[Tests] = []
        left = among.copy()
        while positives := count_members(left & problem.positives):
            p, n, least = left & problem.positives, left & problem.negatives, min(self.least, positives)
            tests = find_rule_by_swaps(problem.bits, p, n, self.negated, least, self.most_tests)
            covered = find_covered(problem.bits, tests, left)
            if len(tests) == 0 or not np.any(covered & p):
                break
            rules.append(tests)
            left &= ~covered
        return rules


class Pruning(NamedTuple):
    """A step of pruning from the covering rule set to none: its rules, and the price at which it is reached."""

    price: float
    rules: list[Tests]
    covered: Bits


def deal_out(positives: int, n_documents: int, folds: int, draw: np.random.Generator) -> list[Bits]:
    """Return the documents, positives first, split into `folds` sets, positives and negatives evenly."""
    parts = [draw.permutation(np.arange(size) % folds) for size in (positives, n_documents - positives)]
    fold = np.concatenate(parts)
    return [pack(fold == number) for number in range(folds)]


def compute_loss(problem: Problem, covered: Bits, among: Bits, ratio: float) -> float:
    """Return the cost of a rule set's errors on the documents of `among`."""
    missed, wrong = problem.positives & ~covered & among, problem.negatives & covered & among
    return ratio * count_members(missed) + count_members(wrong)


class Weakening:
    """A rule set that is pruned step by step at its weakest link: the rule, or the test, that is cheapest to drop."""

    def __init__(self, problem: Problem, rules: list[Tests], among: Bits, ratio: float) -> None:
        self.problem, self.ratio = problem, ratio
        self.p, self.n = problem.positives & among, problem.negatives & among
        self.rules = list(rules)
        self.covers = [find_covered(problem.bits, tests, problem.everything) for tests in rules]
        self.relaxed = [self._relax(tests) for tests in rules]

    def _relax(self, tests: Tests) -> list[Bits]:
        """Return what a rule covers without each of its tests; a rule of one test is only dropped as a whole."""
        if len(tests) == 1:
            return []
        return [find_covered_without(self.problem.bits, tests, i, self.problem.everything) for i in range(len(tests))]

    def drop_weakest(self) -> float:
        """Drop the rule or test that raises the loss least per dropped test, and return this increase."""
        once, twice = self.count_covered()
        by_rule = self._price_rules(once & ~twice)
        rule = int(np.argmin(by_rule))
        by_test = self._price_tests(once)
        if len(by_test) and by_test.min() < by_rule[rule]:
            self._drop_test(int(np.argmin(by_test)))
            return float(by_test.min())
        del self.rules[rule], self.covers[rule], self.relaxed[rule]
        return float(by_rule[rule])

    def count_covered(self) -> tuple[Bits, Bits]:
        """Return the documents covered by at least one rule, and those covered by at least two."""
        once, twice = np.zeros_like(self.p), np.zeros_like(self.p)
        for covered in self.covers:
            twice |= once & covered
            once |= covered
        return once, twice

    def _price_rules(self, only_once: Bits) -> Floats:
        lost = np.stack(self.covers) & only_once
        sizes = np.array([len(tests) for tests in self.rules])
        return np.asarray((self.ratio * _count_set_members(lost & self.p) - _count_set_members(lost & self.n)) / sizes)

    def _price_tests(self, covered: Bits) -> Floats:
        every = [cover for covers in self.relaxed for cover in covers]
        if not every:
            return np.zeros(0)
        gained = np.stack(every) & ~covered
        return np.asarray(_count_set_members(gained & self.n) - self.ratio * _count_set_members(gained & self.p))

    def _drop_test(self, number: int) -> None:
        """Drop a test, by its number among the tests of all rules that have at least two."""
        ends = np.cumsum([len(covers) for covers in self.relaxed])
        rule = int(np.searchsorted(ends, number, side="right"))
        place = number - (int(ends[rule - 1]) if rule else 0)
        self.covers[rule] = self.relaxed[rule][place]
        self.rules[rule] = np.delete(self.rules[rule], place)
        self.relaxed[rule] = self._relax(self.rules[rule])


def _count_set_members(sets: Bits) -> NDArray[np.int64]:
    """Return the number of documents in each set."""
    return np.asarray(np.bitwise_count(sets).sum(axis=1), dtype=np.int64)


def list_prunings(problem: Problem, rules: list[Tests], among: Bits, ratio: float) -> list[Pruning]:
    """Return the rule sets from the given one to none, with the price of each; prices never fall.

    A price is a loss per test and document, so that prices on all documents and on folds are comparable.
    """
    state, price = Weakening(problem, rules, among, ratio), 0.0
    n_documents = max(count_members(among), 1)
    steps = [Pruning(price, list(rules), state.count_covered()[0])]
    while state.rules:
        price = max(price, state.drop_weakest() / n_documents)
        steps.append(Pruning(price, list(state.rules), state.count_covered()[0]))
    return steps


def choose_pruning(
    problem: Problem, whole: list[Tests], covers: list[list[Tests]], judges: list[Bits], ratio: float
) -> list[Tests]:
    """Return the rules of `whole`, pruned at the price with the lowest loss on the documents of `judges`.

    `covers` has the rules found without each judge's documents. Ties go to the highest price.
    """
    steps = list_prunings(problem, whole, problem.everything, ratio)
    reached = [step for step, after in pairwise(steps) if after.price > step.price] + [steps[-1]]
    bounds = [step.price for step in reached]
    prices = np.array([(low + high) / 2 for low, high in pairwise([*bounds, bounds[-1] + 1])])
    total = np.zeros(len(prices))
    for rules, judge in zip(covers, judges, strict=True):
        total += measure_losses(problem, rules, judge, ratio, prices)
    return reached[len(total) - 1 - int(np.argmin(total[::-1]))].rules


def measure_losses(problem: Problem, rules: list[Tests], judge: Bits, ratio: float, prices: Floats) -> Floats:
    """Return the losses of the rules, pruned at each price, on the documents of `judge`, which they have not seen."""
    steps = list_prunings(problem, rules, problem.everything & ~judge, ratio)
    losses = np.array([compute_loss(problem, step.covered, judge, ratio) for step in steps])
    return losses[np.searchsorted([step.price for step in steps], prices, side="right") - 1]
