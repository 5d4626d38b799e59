"""Sets of documents as bit rows: the kernels count and search like plain Python with sets does."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher_reproduction.kernels.rule_search import (
    Bits,
    count_common,
    count_members,
    count_prefixes,
    find_best_swap,
    find_covered,
    find_covered_without,
    find_filled_words,
    find_most_gainful_test,
    find_most_predictive_test,
    find_rule_by_swaps,
    foil_gain,
    grow_rule,
    is_more_predictive,
    popcount,
    set_bits,
)
from thresher_reproduction.rivals.rules import log2, pack, unpack

Sets = list[set[int]]
SEEDS = range(12)


def logs_up_to(most: int) -> NDArray[np.float64]:
    return np.array([log2(max(i, 1)) for i in range(most + 1)])


def bits_of(members: set[int], n_documents: int) -> Bits:
    return pack(np.isin(np.arange(n_documents), sorted(members)))


def members_of(chosen: Bits) -> set[int]:
    return set(np.flatnonzero(unpack(chosen, 64 * len(chosen))).tolist())


class Drawn:
    """A random problem twice over: as plain sets and as bit rows."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        self.n = int(draw.integers(3, 200))
        n_rows, density = int(draw.integers(1, 15)), draw.uniform(0.05, 0.7)
        self.rows: Sets = [set(np.flatnonzero(draw.random(self.n) < density).tolist()) for _ in range(n_rows)]
        self.p = set(np.flatnonzero(draw.random(self.n) < 0.3).tolist())
        self.q = set(range(self.n)) - self.p
        self.tests = [int(t) for t in draw.integers(-n_rows, n_rows, size=int(draw.integers(0, 4)))]
        self.bits = np.array([bits_of(row, self.n) for row in self.rows])
        self.positives, self.negatives = bits_of(self.p, self.n), bits_of(self.q, self.n)
        self.test_array = np.array(self.tests, dtype=np.int32)
        self.logs = logs_up_to(self.n)


# -- the naive twin ----------------------------------------------------------------------------------------------------


def passing(rows: Sets, tests: list[int], among: set[int]) -> set[int]:
    return {d for d in among if all(d in rows[t] if t >= 0 else d not in rows[~t] for t in tests)}


def candidates(rows: Sets, negated: bool) -> list[int]:
    return [test for row in range(len(rows)) for test in ((row, ~row) if negated else (row,))]


def naive_gain(rows: Sets, tests: list[int], test: int, p: set[int], n: set[int]) -> float:
    p0, n0 = len(passing(rows, tests, p)), len(passing(rows, tests, n))
    p1, n1 = len(passing(rows, [*tests, test], p)), len(passing(rows, [*tests, test], n))
    return p1 * ((log2(p1) - log2(p1 + n1)) - (log2(p0) - log2(p0 + n0))) if p1 else 0.0


def naive_grown(rows: Sets, start: list[int], p: set[int], n: set[int], negated: bool, most: int) -> list[int]:
    tests = list(start)
    while len(tests) < most and passing(rows, tests, n):
        gains = {test: naive_gain(rows, tests, test, p, n) for test in candidates(rows, negated)}
        best = max(gains, key=lambda test: gains[test])
        if gains[best] <= 0:
            break
        tests.append(best)
    return tests


Worth = tuple[Fraction, int]
NOTHING: Worth = (Fraction(0), 0)


def worth(rows: Sets, tests: list[int], p: set[int], n: set[int], least: int) -> Worth:
    """Return how predictive a rule is, with its positives to decide between equals."""
    right, wrong = len(passing(rows, tests, p)), len(passing(rows, tests, n))
    return (Fraction(right, right + wrong), right) if right >= max(least, 1) else NOTHING


def naive_swapped(rows: Sets, p: set[int], n: set[int], negated: bool, least: int, most: int) -> list[int]:
    tests: list[int] = []
    now = worth(rows, tests, p, n, 1)
    while passing(rows, tests, n):
        swaps = []
        for i in range(len(tests)):
            swaps += [tests[:i] + tests[i + 1 :]] if len(tests) > 1 else []
            swaps += [[*tests[:i], test, *tests[i + 1 :]] for test in candidates(rows, negated)]
        longer = [[*tests, test] for test in candidates(rows, negated)] if len(tests) < most else []
        for changes in (swaps, longer):
            best = max(changes, key=lambda c: worth(rows, c, p, n, least), default=tests)
            if worth(rows, best, p, n, least) > now:
                break
        else:
            return tests
        tests, now = best, worth(rows, best, p, n, least)
    return tests


# -- sets --------------------------------------------------------------------------------------------------------------


@kernel
def popcounts(words: Bits) -> NDArray[np.int64]:
    counts = np.zeros(len(words), dtype=np.int64)
    for i in range(len(words)):
        counts[i] = popcount(words[i])
    return counts


def test_the_bits_of_a_word_are_counted() -> None:
    words = np.array([0, 1, 2**63, 2**64 - 1, 0x0F0F], dtype=np.uint64)
    assert popcounts(words).tolist() == [0, 1, 1, 64, 8]


@pytest.mark.parametrize("n_documents", [0, 1, 63, 64, 65, 130])
def test_packing_and_unpacking_gives_the_set_back(n_documents: int) -> None:
    members = np.random.default_rng(n_documents).random(n_documents) < 0.5
    assert np.array_equal(unpack(pack(members), n_documents), members)
    assert count_members(pack(members)) == members.sum()


def test_bit_rows_say_how_often_a_document_holds_a_feature() -> None:
    indptr, indices = np.array([0, 2, 2, 3]), np.array([0, 2, 2], dtype=np.int32)
    data = np.array([1, 5, 2], dtype=np.float32)
    first, bits = np.array([0, -1, 2], dtype=np.int32), np.zeros((4, 2), dtype=np.uint64)
    set_bits(indptr, indices, data, first, 2, np.array([70, 0, 3]), bits)
    assert [members_of(row) for row in bits] == [{70}, set(), {3, 70}, {3, 70}]
    bits = np.zeros((6, 2), dtype=np.uint64)
    set_bits(indptr, indices, data, np.array([0, -1, 3], dtype=np.int32), 3, np.array([70, 0, 3]), bits)
    assert [members_of(row) for row in bits] == [{70}, set(), set(), {3, 70}, {3, 70}, {70}]


@pytest.mark.parametrize("seed", SEEDS)
def test_tests_choose_the_documents_that_sets_choose(seed: int) -> None:
    drawn = Drawn(seed)
    among = drawn.positives
    assert members_of(find_covered(drawn.bits, drawn.test_array, among)) == passing(drawn.rows, drawn.tests, drawn.p)
    prefixes = [len(passing(drawn.rows, drawn.tests[:k], drawn.p)) for k in range(len(drawn.tests) + 1)]
    assert count_prefixes(drawn.bits, drawn.test_array, among).tolist() == prefixes
    for i in range(len(drawn.tests)):
        without = passing(drawn.rows, drawn.tests[:i] + drawn.tests[i + 1 :], drawn.p)
        assert members_of(find_covered_without(drawn.bits, drawn.test_array, i, among)) == without
    assert count_common(drawn.bits[0], among, find_filled_words(among)) == len(drawn.rows[0] & drawn.p)


# -- growing for gain --------------------------------------------------------------------------------------------------


def test_gain_of_a_test_worked_out_by_hand() -> None:
    # 4 positives of 8 documents, of which the test leaves 3 positives and 1 negative: 3 (log2 3/4 - log2 4/8)
    logs = logs_up_to(8)
    assert foil_gain(3, 1, logs[4] - logs[8], logs) == pytest.approx(3 * (math.log2(0.75) + 1))
    assert foil_gain(0, 2, logs[4] - logs[8], logs) == 0.0


def test_the_test_of_most_gain_is_found_by_hand_too() -> None:
    # documents 0 to 3 are positive, 4 to 7 negative; gains 4 (log2 4/5 + 1) = 2.71, 3 (log2 3/3 + 1) = 3, 0
    bits = np.array([bits_of(s, 8) for s in ({0, 1, 2, 3, 4}, {0, 1, 2}, {0, 4})])
    test, gain = find_most_gainful_test(bits, bits_of({0, 1, 2, 3}, 8), bits_of({4, 5, 6, 7}, 8), True, logs_up_to(8))
    assert test == 1
    assert gain == pytest.approx(3.0)
    bits = np.array([bits_of({4, 5, 6, 7}, 8)])  # its absence is worth 4 (0 + 1)
    test, gain = find_most_gainful_test(bits, bits_of({0, 1, 2, 3}, 8), bits_of({4, 5, 6, 7}, 8), True, logs_up_to(8))
    assert test == ~0
    assert gain == pytest.approx(4.0)


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_grown_rule_is_that_of_the_naive_twin(seed: int, negated: bool) -> None:
    drawn = Drawn(seed)
    for start in ([], drawn.tests):
        tests = np.array(start, dtype=np.int32)
        grown = grow_rule(drawn.bits, tests, drawn.positives, drawn.negatives, negated, 6, drawn.logs)
        assert grown.tolist() == naive_grown(drawn.rows, start, drawn.p, drawn.q, negated, 6)


def test_nothing_grows_without_rows_or_positives() -> None:
    start, logs = np.zeros(0, dtype=np.int32), logs_up_to(3)
    no_rows = np.zeros((0, 1), dtype=np.uint64)
    assert len(grow_rule(no_rows, start, bits_of({0}, 3), bits_of({1, 2}, 3), True, 5, logs)) == 0
    row = np.array([bits_of({0}, 3)])
    assert len(grow_rule(row, start, bits_of(set(), 3), bits_of({1, 2}, 3), True, 5, logs)) == 0


# -- swapping ----------------------------------------------------------------------------------------------------------


def test_a_greater_part_is_more_predictive_and_among_equals_more_positives() -> None:
    assert is_more_predictive(3, 1, 2, 1)
    assert not is_more_predictive(2, 1, 3, 1)
    assert is_more_predictive(4, 2, 2, 1)
    assert not is_more_predictive(2, 1, 2, 1)
    assert is_more_predictive(1, 9, 0, 0)


def test_a_swap_worked_out_by_hand() -> None:
    # positives 0 to 3, negatives 4 to 7. The rule {row 0} has 3 of 4 right; row 1 has 2 of 2, and is swapped in.
    bits = np.array([bits_of(s, 8) for s in ({0, 1, 2, 4}, {0, 1}, {3, 5, 6})])
    p, n = bits_of({0, 1, 2, 3}, 8), bits_of({4, 5, 6, 7}, 8)
    assert find_best_swap(bits, np.array([0], dtype=np.int32), p, n, False, 1) == (0, 1, 0, 2, 0)
    assert find_rule_by_swaps(bits, p, n, False, 1, 5).tolist() == [1]
    # Where a rule needs 3 positives, row 0 is the best that there is, and nothing can be added.
    assert find_rule_by_swaps(bits, p, n, False, 3, 5).tolist() == [0]


def test_a_test_that_hides_positives_is_deleted() -> None:
    bits = np.array([bits_of(s, 8) for s in ({0, 1, 2, 3, 4}, {0, 1, 4})])
    p, n = bits_of({0, 1, 2, 3}, 8), bits_of({4, 5, 6, 7}, 8)
    assert find_best_swap(bits, np.array([0, 1], dtype=np.int32), p, n, False, 1) == (1, 0, 1, 4, 1)
    assert find_most_predictive_test(bits, p, n, False, 1) == (0, 4, 1)


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_swapped_rule_is_that_of_the_naive_twin(seed: int, negated: bool) -> None:
    drawn = Drawn(seed)
    for least in (1, 3):
        found = find_rule_by_swaps(drawn.bits, drawn.positives, drawn.negatives, negated, least, 4).tolist()
        expected = naive_swapped(drawn.rows, drawn.p, drawn.q, negated, least, 4)
        assert found == expected
