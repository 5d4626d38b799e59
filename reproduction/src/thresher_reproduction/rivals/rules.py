"""Rules and their scores, and a category's documents as bit rows of its local dictionary, for the rule learners."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.errors import NotFittedError, ParameterError, RowsError
from thresher.kernels.csr import Rows
from thresher.kernels.reproducible_math import logarithm
from thresher.rows.labels import as_labels
from thresher_reproduction.kernels.rule_search import Bits, Tests, count_members, find_covered, set_bits

Floats = NDArray[np.float64]
LOG2_OF_E = 1 / float(logarithm(2.0))
MIN_HOLDERS = 2  # a word in only one positive document is not a candidate, unless the category has only one


class Condition(NamedTuple):
    """A test that a document contains a feature at least `times` times, or if not `wanted`, that it does not."""

    feature: int
    times: int
    wanted: bool


class Rule(NamedTuple):
    """Tests that must all hold, and the estimated share of matching documents that are in the category."""

    tests: tuple[Condition, ...]
    precision: float


RuleSet = tuple[Rule, ...]
Sweep = tuple[RuleSet, ...]  # the rule sets of one category, one for each loss ratio


class Problem(NamedTuple):
    """One category's training documents as bit rows, positives first.

    Row r of `bits` has the documents that contain features[r] at least counts[r] times. logs[i] is the binary logarithm
    of i.
    """

    bits: Bits
    features: NDArray[np.int64]
    counts: NDArray[np.int64]
    positives: Bits
    negatives: Bits
    n_documents: int
    logs: Floats

    @property
    def everything(self) -> Bits:
        """The set of all documents."""
        return self.positives | self.negatives

    def make_rule(self, tests: Tests, prior: float) -> Rule:
        """Return the rule of a list of tests; `prior` pseudo-documents pull its precision to the category's share."""
        p = count_members(find_covered(self.bits, tests, self.positives))
        n = count_members(find_covered(self.bits, tests, self.negatives))
        share = count_members(self.positives) / self.n_documents
        rows = [(max(int(test), ~int(test)), bool(test >= 0)) for test in tests]
        named = tuple(Condition(int(self.features[row]), int(self.counts[row]), wanted) for row, wanted in rows)
        return Rule(named, (p + prior * share) / (p + n + prior))


def pack(members: NDArray[np.bool_]) -> Bits:
    """Return a set of documents as 64-bit words.

    >>> pack(np.array([True, False, True]))
    array([5], dtype=uint64)
    """
    padded = np.zeros(-(-len(members) // 64) * 64, dtype=np.bool_)
    padded[: len(members)] = members
    return np.packbits(padded, bitorder="little").view("<u8").astype(np.uint64)


def unpack(chosen: Bits, n_documents: int) -> NDArray[np.bool_]:
    """Return whether each document is in a set of bits.

    >>> unpack(np.array([5], dtype=np.uint64), 4).tolist()
    [True, False, True, False]
    """
    return np.unpackbits(chosen.astype("<u8").view(np.uint8), bitorder="little")[:n_documents].astype(np.bool_)


@cache
def log2(number: int) -> float:
    """Return the binary logarithm of an integer, with the same bits on every machine."""
    return float(logarithm(float(number))) * LOG2_OF_E


def information_gain(p: NDArray[np.int64], n: NDArray[np.int64], positives: int, negatives: int) -> Floats:
    """Return the information gain of each feature in bits; p positive and n negative documents contain it.

    >>> information_gain(np.array([2, 1]), np.array([0, 1]), 2, 2)
    array([1., 0.])
    """

    def bits(a: Any, b: Any) -> Any:
        """Return (a + b) times the entropy of a and b."""
        return sum(sign * x * logarithm(np.maximum(x, 1)) * LOG2_OF_E for sign, x in ((1, a + b), (-1, a), (-1, b)))

    after = bits(p, n) + bits(positives - p, negatives - n)
    return np.asarray((bits(positives, negatives) - after) / (positives + negatives))


class Collection:
    """The training documents of all categories, which make each category's `Problem`."""

    def __init__(self, rows: Rows, labels: Any, n_categories: int) -> None:
        self.rows, self.n_documents = rows, len(rows.indptr) - 1
        checked = as_labels(labels, self.n_documents)
        if checked.categories.size and int(checked.categories.max()) >= n_categories:
            raise RowsError(
                f"labels: category {checked.categories.max()}", hint=f"allowed: below n_categories={n_categories}"
            )
        owners = np.repeat(np.arange(self.n_documents), np.diff(checked.indptr))
        order = np.argsort(checked.categories, kind="stable")
        ends = np.searchsorted(checked.categories[order], np.arange(n_categories + 1))
        self.members = [owners[order[start:end]] for start, end in pairwise(ends)]
        self._holders = np.bincount(rows.indices, minlength=rows.n_features)
        self._logs = logarithm(np.maximum(np.arange(self.n_documents + 1), 1)) * LOG2_OF_E

    def select_features(self, category: int, most: int) -> NDArray[np.int64]:
        """Return at most `most` features of the category's documents, by highest information gain."""
        members = self.members[category]
        indptr, indices = self.rows.indptr, self.rows.indices
        held = np.concatenate([indices[indptr[i] : indptr[i + 1]] for i in members])
        p = np.bincount(held, minlength=self.rows.n_features)
        gains = information_gain(p, self._holders - p, len(members), self.n_documents - len(members))
        gains = np.where(p >= min(MIN_HOLDERS, len(members)), gains, 0.0)
        ranked = np.argsort(-gains, kind="stable")[:most]
        return ranked[gains[ranked] > 0]

    def make_problem(self, category: int, most_features: int, levels: int = 1) -> Problem:
        """Return a category's documents as bit rows, with `levels` rows for each word of its local dictionary."""
        features = self.select_features(category, most_features)
        positive = np.zeros(self.n_documents, dtype=np.bool_)
        positive[self.members[category]] = True
        places = np.empty(self.n_documents, dtype=np.int64)
        places[np.argsort(~positive, kind="stable")] = np.arange(self.n_documents)
        bits = make_bit_rows(self.rows, features, levels, places)[:-1]
        first = np.arange(self.n_documents) < len(self.members[category])
        counts = np.tile(np.arange(1, levels + 1), len(features))
        named = np.repeat(features, levels)
        return Problem(bits, named, counts, pack(first), pack(~first), self.n_documents, self._logs)

    def find_trivial_rules(self, category: int) -> RuleSet | None:
        """Return the rules of a category with no document or with all; None if there is something to learn."""
        if len(self.members[category]) == 0:
            return ()
        return (Rule((), 1.0),) if len(self.members[category]) == self.n_documents else None


def make_bit_rows(rows: Rows, features: NDArray[np.int64], levels: int, places: NDArray[np.int64]) -> Bits:
    """Return `levels` bit rows for each feature, and an empty row at the end."""
    first = np.full(rows.n_features, -1, dtype=np.int32)
    first[features] = np.arange(len(features)) * levels
    bits = np.zeros((len(features) * levels + 1, -(-len(places) // 64)), dtype=np.uint64)
    set_bits(rows.indptr, rows.indices, rows.data, first, levels, places, bits)
    return bits


def iterate_tests(sweeps: Sequence[Sweep] | None) -> Iterator[Condition]:
    """Yield the tests of all rules."""
    return (test for sweep in sweeps or () for rules in sweep for rule in rules for test in rule.tests)


def count_features(sweeps: Sequence[Sweep] | None) -> int:
    """Return the number of features that the rules test."""
    return len({test.feature for test in iterate_tests(sweeps)})


def score_sweeps(sweeps: Sequence[Sweep] | None, rows: Rows) -> NDArray[np.float32]:
    """Return the precision of the best matching rule, averaged over a category's rule sets; 0 if no rule matches."""
    if sweeps is None:
        raise NotFittedError("the rules have not been learned", hint="call fit first")
    n_documents = len(rows.indptr) - 1
    features = np.array(
        sorted({t.feature for t in iterate_tests(sweeps) if t.feature < rows.n_features}), dtype=np.int64
    )
    levels = max((test.times for test in iterate_tests(sweeps)), default=1)
    bits = make_bit_rows(rows, features, levels, np.arange(n_documents))
    first = {int(feature): place * levels for place, feature in enumerate(features)}
    scores = np.zeros((n_documents, len(sweeps)), dtype=np.float32)
    for category, sweep in enumerate(sweeps):
        for rules in sweep:
            scores[:, category] += _score_rules(rules, bits, first, n_documents) / len(sweep)
    return scores


def _score_rules(rules: RuleSet, bits: Bits, first: dict[int, int], n_documents: int) -> Floats:
    """Return each document's best precision of a matching rule; no document contains features not in `first`."""
    surest, everything = np.zeros(n_documents), pack(np.ones(n_documents, dtype=np.bool_))
    for rule in rules:
        rows = [first[t.feature] + t.times - 1 if t.feature in first else len(bits) - 1 for t in rule.tests]
        signed = [row if test.wanted else ~row for row, test in zip(rows, rule.tests, strict=True)]
        holds = unpack(find_covered(bits, np.array(signed, dtype=np.int32), everything), n_documents)
        np.maximum(surest, rule.precision, out=surest, where=holds)
    return surest


def check_settings(loss_ratios: Sequence[float], **numbers: int) -> None:
    """Raise a ParameterError unless there are loss ratios, all above 0, and the numbers are positive integers."""
    if not loss_ratios or not all(0 < ratio < float("inf") for ratio in loss_ratios):
        raise ParameterError.of("loss_ratios", loss_ratios, allowed="one or more finite numbers above 0")
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
            raise ParameterError.of(name, number, allowed="a whole number from 1")
