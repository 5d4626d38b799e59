"""Ripper: rules grown for gain, pruned on other documents, then optimized; a row of the paper's Table 2.

Cohen, "Fast effective rule induction" (ICML 1995); Cohen and Singer, "Context-sensitive learning methods for text
categorization" (SIGIR 1996) use it on text. docs/rivals/ripper.md lists the choices that are ours.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher_reproduction.kernels.rule_search import (
    Bits,
    Tests,
    count_members,
    count_prefixes,
    find_covered,
    grow_rule,
)
from thresher_reproduction.rivals.rule_learner import RuleLearner
from thresher_reproduction.rivals.rules import (
    Collection,
    Floats,
    Problem,
    RuleSet,
    Sweep,
    check_settings,
    log2,
    pack,
    unpack,
)

LOSS_RATIOS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0)
SPARE_BITS = 64.0  # Cohen's d: how much longer than the shortest one a description may become while rules are added
NO_TESTS = np.zeros(0, dtype=np.int32)


class Ripper(RuleLearner):
    """Ripper with "word in document" and "word not in document" as tests, once for each loss ratio.

    Parameters
    ----------
    loss_ratios : sequence of float
        Cost of a missed document, relative to a wrongly accepted one. Each ratio gives a rule set.
    n_features : int
        Maximum number of words in a category's local dictionary, by information gain.
    negated : bool
        Whether rules may test for the absence of a word.
    rounds : int
        Rounds of optimization, Cohen's k.
    most_tests : int
        Maximum number of tests in a rule.
    prior : float
        Number of pseudo-documents with the category's share that are added to estimate a rule's precision.
    seed : int
        Seed of the draws that split the documents into those to grow on and those to prune on.

    Examples
    --------
    >>> from thresher import Rows
    >>> rows = Rows([0, 1, 3, 4, 5], [0, 0, 1, 1, 2], [1, 1, 1, 1, 1], n_features=3)
    >>> ripper = Ripper(loss_ratios=[1.0]).fit(rows, [[0], [0], [], []], n_categories=1)
    >>> ripper.sweeps_[0][0][0].tests
    (Condition(feature=0, times=1, wanted=True),)
    """

    def __init__(
        self,
        *,
        loss_ratios: Sequence[float] = LOSS_RATIOS,
        n_features: int = 3000,
        negated: bool = True,
        rounds: int = 2,
        most_tests: int = 20,
        prior: float = 2.0,
        seed: int = 0,
    ) -> None:
        check_settings(loss_ratios, n_features=n_features, most_tests=most_tests, rounds=rounds + 1)
        self.loss_ratios, self.n_features, self.negated = tuple(loss_ratios), n_features, negated
        self.rounds, self.most_tests, self.prior, self.seed = rounds, most_tests, prior, seed

    def _find_sweep(self, collection: Collection, category: int) -> Sweep:
        trivial_rules = collection.find_trivial_rules(category)
        if trivial_rules is not None:
            return (trivial_rules,) * len(self.loss_ratios)
        problem = collection.make_problem(category, self.n_features)
        draws = [np.random.default_rng([self.seed, category, number]) for number in range(len(self.loss_ratios))]
        ways = zip(self.loss_ratios, draws, strict=True)
        return tuple(self._find_rules(problem, Search(problem, self, ratio, draw)) for ratio, draw in ways)

    def _find_rules(self, problem: Problem, search: "Search") -> RuleSet:
        return tuple(problem.make_rule(candidate.tests, self.prior) for candidate in search.optimize(self.rounds))


class Candidate(NamedTuple):
    """A rule during the search: its tests and the training documents that pass them."""

    tests: Tests
    covered: Bits


class Split(NamedTuple):
    """Documents to grow a rule on and documents to prune it on, positives and negatives of each."""

    grow_p: Bits
    prune_p: Bits
    grow_n: Bits
    prune_n: Bits


class Search:
    """The search for one category's rules at one loss ratio."""

    def __init__(self, problem: Problem, settings: Ripper, ratio: float, draw: np.random.Generator) -> None:
        self.problem, self.ratio, self.draw = problem, ratio, draw
        self.negated, self.most_tests = settings.negated, settings.most_tests
        self.n_tests = len(problem.bits) * (2 if settings.negated else 1)

    def optimize(self, rounds: int) -> list[Candidate]:
        """Return the optimized rules.

        Rules are added one by one. Then, in each round, every rule may be replaced or revised, and more rules are
        added.
        """
        rules = self.add_rules([])
        for _ in range(rounds):
            for place in range(len(rules)):
                rules[place] = self.choose_variant(rules, place)
            rules = self.add_rules(rules)
        return rules

    def add_rules(self, rules: list[Candidate]) -> list[Candidate]:
        """Return the rules and new ones for the remaining positives, without needless ones.

        Rules are added until the description grows too long (IREP*).
        """
        rules, shortest = list(rules), self.measure_length(rules)
        left = self.problem.everything & ~self.find_covered(rules)
        while np.any(left & self.problem.positives):
            rule = self.find_rule(left)
            length = self.measure_length([*rules, rule])
            if length > shortest + SPARE_BITS or not np.any(rule.covered & left & self.problem.positives):
                break
            rules.append(rule)
            left &= ~rule.covered
            shortest = min(shortest, length)
        return self.drop_needless(rules)

    def find_rule(self, left: Bits) -> Candidate:
        """Return a rule grown on two thirds of the remaining documents and pruned on the others."""
        split = self.split(left)
        tests = self.grow(NO_TESTS, split)
        p, n = (count_prefixes(self.problem.bits, tests, part) for part in (split.prune_p, split.prune_n))
        return self.make_candidate(prune(tests, rule_values(p, n)))

    def choose_variant(self, rules: list[Candidate], place: int) -> Candidate:
        """Return the rule, its replacement or its revision, whichever makes the description shortest."""
        before, behind = rules[:place], rules[place + 1 :]
        split = self.split(self.problem.everything & ~self.find_covered(before))
        others = self.find_covered(before + behind)
        variants = [rules[place]]
        for start in (NO_TESTS, rules[place].tests):
            tests = self.grow(start, split)
            p, n = (count_prefixes(self.problem.bits, tests, s & ~others) for s in (split.prune_p, split.prune_n))
            variants.append(self.make_candidate(prune(tests, self.ratio * p - n)))
        return min(variants, key=lambda rule: self.measure_length([*before, rule, *behind]))

    def drop_needless(self, rules: list[Candidate]) -> list[Candidate]:
        """Return the rules without those that make the description longer, checked from the last to the first."""
        length = self.measure_length(rules)
        for place in reversed(range(len(rules))):
            fewer = rules[:place] + rules[place + 1 :]
            if self.measure_length(fewer) < length:
                rules, length = fewer, self.measure_length(fewer)
        return rules

    def split(self, left: Bits) -> Split:
        """Draw two thirds of the positives, and of the negatives, to grow on; the rest is to prune on."""
        parts = []
        for group in (left & self.problem.positives, left & self.problem.negatives):
            members = self.draw.permutation(np.flatnonzero(unpack(group, self.problem.n_documents)))
            grow = np.zeros(self.problem.n_documents, dtype=np.bool_)
            grow[members[: -(-2 * len(members) // 3)]] = True
            parts += [pack(grow), group & ~pack(grow)]
        return Split(*parts)

    def grow(self, start: Tests, split: Split) -> Tests:
        """Return `start` with tests added by FOIL's gain, until no negative of the growing set passes."""
        bits, logs = self.problem.bits, self.problem.logs
        return grow_rule(bits, start, split.grow_p, split.grow_n, self.negated, self.most_tests, logs)

    def make_candidate(self, tests: Tests) -> Candidate:
        """Return the rule of these tests, with the documents that pass them."""
        return Candidate(tests, find_covered(self.problem.bits, tests, self.problem.everything))

    def find_covered(self, rules: list[Candidate]) -> Bits:
        """Return the documents that any rule accepts."""
        union = np.zeros_like(self.problem.positives)
        for rule in rules:
            union |= rule.covered
        return union

    def measure_length(self, rules: list[Candidate]) -> float:
        """Return the description length of the rules and their exceptions, in bits."""
        covered = self.find_covered(rules)
        size, fp = count_members(covered), count_members(covered & self.problem.negatives)
        fn = count_members(self.problem.positives & ~covered)
        exceptions = exception_bits(size, self.problem.n_documents - size, fp, fn, self.ratio)
        return sum(rule_bits(len(rule.tests), self.n_tests) for rule in rules) + exceptions


def rule_values(p: NDArray[np.int64], n: NDArray[np.int64]) -> Floats:
    """Return IREP*'s value of accepting p positives and n negatives of the pruning set, (p - n) / (p + n).

    The value is 0 if p and n are 0. The loss ratio has no place here: weighting p or n does not change the order of the
    values.

    >>> rule_values(np.array([3, 0]), np.array([1, 0])).tolist()
    [0.5, 0.0]
    """
    return np.asarray((p - n) / np.maximum(p + n, 1))


def prune(tests: Tests, values: NDArray[np.floating[Any]]) -> Tests:
    """Return the first tests, up to the highest value; ties go to the longest rule.

    values[0] is the value of no tests. It is ignored, so at least one test stays.

    >>> prune(np.array([7, 8, 9]), np.array([1.0, 0.5, 0.9, 0.2])).tolist()
    [7, 8]
    """
    if len(tests) == 0:
        return tests
    return tests[: len(tests) - int(np.argmax(values[:0:-1]))]


def subset_bits(n: int, k: int, part: int, whole: int) -> float:
    """Return the number of bits that identify k of n elements, each chosen with probability part / whole.

    >>> subset_bits(4, 1, 1, 2)
    4.0
    """
    bits = k * (log2(whole) - log2(part)) if k > 0 else 0.0
    return bits + ((n - k) * (log2(whole) - log2(whole - part)) if n > k and part > 0 else 0.0)


def rule_bits(k: int, n: int) -> float:
    """Return the number of bits of a rule of k tests out of n, halved as Cohen does: tests are not independent."""
    return 0.5 * (log2(k + 1) + subset_bits(n, k, k, n))


def exception_bits(covered: int, uncovered: int, fp: int, fn: int, ratio: float = 1.0) -> float:
    """Return the number of bits that identify the errors of the rules; those for misses are weighted by `ratio`.

    As in Quinlan (1995), half of the errors are expected among the covered documents, or among the others if there are
    more of them. The number of errors in the smaller part is then known.
    """
    wrong = fp + fn
    if covered > uncovered:
        accepted, missed = (covered, fp, wrong, 2 * covered), (uncovered, fn, fn, max(uncovered, 1))
    else:
        accepted, missed = (covered, fp, fp, max(covered, 1)), (uncovered, fn, wrong, 2 * uncovered)
    return log2(covered + uncovered + 1) + subset_bits(*accepted) + ratio * subset_bits(*missed)
