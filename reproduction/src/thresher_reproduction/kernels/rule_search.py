"""Sets of documents as rows of bits, 64 to a word, and the rule learners' searches over them.

`rivals.ripper`, `rivals.swap1` and `rivals.rules` call this module. A *test* is an integer: `row` asks whether the
document is in that row of bits, `~row` whether it is not. A rule is a list of tests that must all hold. Counts are
integers, so the order of counting does not affect the result.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from thresher.kernels.compiler import COMPILED, kernel

Bits = NDArray[np.uint64]
Tests = NDArray[np.int32]


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _popcount_compiled(_typing: Any, word: Any) -> Any:
    """Return the number of set bits in a word, by the processor's own instruction."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def _popcount_interpreted(word: np.uint64) -> int:
    """Return the number of set bits in a word."""
    return int(word).bit_count()


popcount: Callable[..., Any] = _popcount_compiled if COMPILED else _popcount_interpreted


@kernel
def set_bits(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float32],
    first: NDArray[np.int32],
    levels: int,
    places: NDArray[np.int64],
    bits: Bits,
) -> None:
    """Write into `bits` which documents contain which features; document i is at bit places[i].

    Feature f has the rows first[f] to first[f] + levels - 1, or no rows if first[f] is negative. The first row has the
    documents with at least one occurrence, the second those with at least two, and so on.
    """
    for i in range(len(indptr) - 1):
        word, bit = places[i] >> 6, np.uint64(1) << np.uint64(places[i] & 63)
        for j in range(indptr[i], indptr[i + 1]):
            row = first[indices[j]]
            if row >= 0:
                for level in range(min(levels, int(data[j]))):
                    bits[row + level, word] |= bit


@kernel
def find_filled_words(chosen: Bits) -> NDArray[np.uint64]:
    """Return the indices of the words in which a set has documents.

    The indices are unsigned. A signed index could count from the end, which makes the compiled code slower.
    """
    return np.flatnonzero(chosen).astype(np.uint64)


@kernel
def count_common(row: Bits, chosen: Bits, words: NDArray[np.uint64]) -> int:
    """Return the number of documents that two sets share, among the listed words."""
    total = 0
    for word in words:
        total += popcount(row[word] & chosen[word])
    return total


@kernel
def narrow(bits: Bits, test: int, chosen: Bits) -> None:
    """Remove the documents that fail the test from `chosen`."""
    if test >= 0:
        for word in range(len(chosen)):
            chosen[word] &= bits[test, word]
    else:
        for word in range(len(chosen)):
            chosen[word] &= ~bits[~test, word]


@kernel
def find_covered(bits: Bits, tests: Tests, among: Bits) -> Bits:
    """Return the documents of `among` that pass all tests."""
    chosen = among.copy()
    for test in tests:
        narrow(bits, test, chosen)
    return chosen


@kernel
def count_prefixes(bits: Bits, tests: Tests, among: Bits) -> NDArray[np.int64]:
    """Return the number of documents of `among` that pass the first 0, 1, 2 ... tests."""
    chosen, counts = among.copy(), np.zeros(len(tests) + 1, dtype=np.int64)
    for length in range(len(tests) + 1):
        if length > 0:
            narrow(bits, tests[length - 1], chosen)
        for word in chosen:
            counts[length] += popcount(word)
    return counts


@kernel
def foil_gain(p: int, n: int, before: float, logs: NDArray[np.float64]) -> float:
    """Return FOIL's gain of covering p positives and n negatives, where log2 of the precision was `before`."""
    if p == 0:
        return 0.0
    return float(p * ((logs[p] - logs[p + n]) - before))


@kernel
def find_most_gainful_test(
    bits: Bits, positives: Bits, negatives: Bits, negated: bool, logs: NDArray[np.float64]
) -> tuple[int, float]:
    """Return the test with the highest gain, and its gain, which is 0 if no test has any.

    Ties go to the first row, and to the plain test before the negated one. logs[i] is the binary logarithm of i.
    """
    words_p, words_n = find_filled_words(positives), find_filled_words(negatives)
    p, n = count_common(positives, positives, words_p), count_common(negatives, negatives, words_n)
    best, gain = 0, 0.0
    if p == 0:
        return best, gain
    before = logs[p] - logs[p + n]
    for row in range(len(bits)):
        p_in = count_common(bits[row], positives, words_p)
        p_most = max(p_in, p - p_in) if negated else p_in
        if -before * p_most <= gain:  # no higher gain even without negatives
            continue
        n_in = count_common(bits[row], negatives, words_n)
        found = foil_gain(p_in, n_in, before, logs)
        if found > gain:
            best, gain = row, found
        if negated:
            found = foil_gain(p - p_in, n - n_in, before, logs)
            if found > gain:
                best, gain = ~row, found
    return best, gain


@kernel
def grow_rule(
    bits: Bits, start: Tests, positives: Bits, negatives: Bits, negated: bool, most: int, logs: NDArray[np.float64]
) -> Tests:
    """Return `start` extended by the tests with the highest gain, to at most `most` tests in all.

    The rule grows until it covers no negative or no test has a gain.
    """
    tests = np.zeros(max(most, len(start)), dtype=np.int32)
    tests[: len(start)] = start
    length = len(start)
    p, n = find_covered(bits, start, positives), find_covered(bits, start, negatives)
    while length < most and np.any(n):
        test, gain = find_most_gainful_test(bits, p, n, negated, logs)
        if gain <= 0.0:
            break
        narrow(bits, test, p)
        narrow(bits, test, n)
        tests[length] = test
        length += 1
    return tests[:length]


@kernel
def find_most_predictive_test(
    bits: Bits, positives: Bits, negatives: Bits, negated: bool, least: int
) -> tuple[int, int, int]:
    """Return the test with the highest precision, and the numbers of positives and negatives that pass it.

    Ties go to the test with more positives, then to the first row, and to the plain test before the negated one. Tests
    that fewer than `least` positives pass are skipped. The result is (0, 0, 0) if there are no other tests.
    """
    words_p, words_n = find_filled_words(positives), find_filled_words(negatives)
    p, n = count_common(positives, positives, words_p), count_common(negatives, negatives, words_n)
    best, best_p, best_n = 0, 0, 0
    for row in range(len(bits)):
        p_in = count_common(bits[row], positives, words_p)
        if p_in < least and not (negated and p - p_in >= least):
            continue
        n_in = count_common(bits[row], negatives, words_n)
        if p_in >= least and is_more_predictive(p_in, n_in, best_p, best_n):
            best, best_p, best_n = row, p_in, n_in
        if negated and p - p_in >= least and is_more_predictive(p - p_in, n - n_in, best_p, best_n):
            best, best_p, best_n = ~row, p - p_in, n - n_in
    return best, best_p, best_n


@kernel
def is_more_predictive(p: int, n: int, other_p: int, other_n: int) -> bool:
    """Return whether p of p + n is a higher precision than the other's, or the same one with more positives."""
    left, right = p * (other_p + other_n), other_p * (p + n)
    return bool(left > right or (left == right and p > other_p))


@kernel
def find_covered_without(bits: Bits, tests: Tests, left_out: int, among: Bits) -> Bits:
    """Return the documents of `among` that pass all tests except one."""
    chosen = among.copy()
    for i in range(len(tests)):
        if i != left_out:
            narrow(bits, tests[i], chosen)
    return chosen


@kernel
def find_best_swap(
    bits: Bits, tests: Tests, positives: Bits, negatives: Bits, negated: bool, least: int
) -> tuple[int, int, int, int, int]:
    """Return the best change of one test: its place, its successor, 1 if it is deleted instead, and the new p and n.

    Ties go to the deletion: swapping in a test that the rule already has is equivalent to it.
    """
    place, successor, deleted, best_p, best_n = 0, 0, 0, 0, 0
    for i in range(len(tests)):
        p, n = find_covered_without(bits, tests, i, positives), find_covered_without(bits, tests, i, negatives)
        p_in, n_in = count_members(p), count_members(n)
        if len(tests) > 1 and is_more_predictive(p_in, n_in, best_p, best_n):
            place, successor, deleted, best_p, best_n = i, 0, 1, p_in, n_in
        found, p_in, n_in = find_most_predictive_test(bits, p, n, negated, least)
        if is_more_predictive(p_in, n_in, best_p, best_n):
            place, successor, deleted, best_p, best_n = i, found, 0, p_in, n_in
    return place, successor, deleted, best_p, best_n


@kernel
def count_members(chosen: Bits) -> int:
    """Return the number of documents in a set."""
    total = 0
    for word in chosen:
        total += popcount(word)
    return total


@kernel
def find_rule_by_swaps(bits: Bits, positives: Bits, negatives: Bits, negated: bool, least: int, most: int) -> Tests:
    """Return a rule found by swapping: repeat the best swap of a test, and add a test where no swap helps.

    The search ends when the rule covers no negative, or when neither a swap nor another test makes it more predictive.
    A rule has at most `most` tests.
    """
    tests = np.zeros(most, dtype=np.int32)
    length, p, n = 0, count_members(positives), count_members(negatives)
    while n > 0:
        place, test, deleted, new_p, new_n = find_best_swap(bits, tests[:length], positives, negatives, negated, least)
        if not is_more_predictive(new_p, new_n, p, n):
            if length == most:
                break
            left_p = find_covered(bits, tests[:length], positives)
            left_n = find_covered(bits, tests[:length], negatives)
            test, new_p, new_n = find_most_predictive_test(bits, left_p, left_n, negated, least)
            if not is_more_predictive(new_p, new_n, p, n):
                break
            place, deleted = length, 0
            length += 1
        if deleted:
            tests[place : length - 1] = tests[place + 1 : length].copy()
            length -= 1
        else:
            tests[place] = test
        p, n = new_p, new_n
    return tests[:length]
