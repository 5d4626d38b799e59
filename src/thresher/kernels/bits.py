"""Sets of documents as rows of bits, 64 to a word, and the searches of the rule learners over them; `rivals` call it.

A *test* is a whole number: `row` asks whether the document is in that row of bits, `~row` whether it is not. A rule is
a list of tests that must all hold. Counts are whole numbers, so the order of counting never shows.
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
    """Return how many bits of a word are set, by the processor's own instruction."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def _popcount_interpreted(word: np.uint64) -> int:
    """Return how many bits of a word are set."""
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
    """Write into `bits` which documents hold which features: document i at bit places[i].

    Feature f has the rows first[f] to first[f] + levels - 1, none if that is negative: held once or more often, twice
    or more often, and so on.
    """
    for i in range(len(indptr) - 1):
        word, bit = places[i] >> 6, np.uint64(1) << np.uint64(places[i] & 63)
        for j in range(indptr[i], indptr[i + 1]):
            row = first[indices[j]]
            if row >= 0:
                for level in range(min(levels, int(data[j]))):
                    bits[row + level, word] |= bit


@kernel
def filled_words(chosen: Bits) -> NDArray[np.uint64]:
    """Return the words in which a set has documents; unsigned, for a signed index might count from behind: slower."""
    return np.flatnonzero(chosen).astype(np.uint64)


@kernel
def count_common(row: Bits, chosen: Bits, words: NDArray[np.uint64]) -> int:
    """Return how many documents the two sets share among the listed words."""
    total = 0
    for word in words:
        total += popcount(row[word] & chosen[word])
    return total


@kernel
def narrow(bits: Bits, test: int, chosen: Bits) -> None:
    """Leave in `chosen` the documents that pass the test."""
    if test >= 0:
        for word in range(len(chosen)):
            chosen[word] &= bits[test, word]
    else:
        for word in range(len(chosen)):
            chosen[word] &= ~bits[~test, word]


@kernel
def covered_by(bits: Bits, tests: Tests, among: Bits) -> Bits:
    """Return which documents of `among` pass all the tests."""
    chosen = among.copy()
    for test in tests:
        narrow(bits, test, chosen)
    return chosen


@kernel
def prefix_counts(bits: Bits, tests: Tests, among: Bits) -> NDArray[np.int64]:
    """Return how many documents of `among` pass the first 0, 1, 2 ... tests."""
    chosen, counts = among.copy(), np.zeros(len(tests) + 1, dtype=np.int64)
    for length in range(len(tests) + 1):
        if length > 0:
            narrow(bits, tests[length - 1], chosen)
        for word in chosen:
            counts[length] += popcount(word)
    return counts


@kernel
def foil_gain(p: int, n: int, before: float, logs: NDArray[np.float64]) -> float:
    """Return FOIL's gain of covering p positives and n negatives where log2 of the precision was `before`."""
    if p == 0:
        return 0.0
    return float(p * ((logs[p] - logs[p + n]) - before))


@kernel
def most_gainful_test(
    bits: Bits, positives: Bits, negatives: Bits, negated: bool, logs: NDArray[np.float64]
) -> tuple[int, float]:
    """Return the test of most gain and its gain, which is 0 if none has any; among equals the first row, plain first.

    logs[i] is the binary logarithm of i.
    """
    words_p, words_n = filled_words(positives), filled_words(negatives)
    p, n = count_common(positives, positives, words_p), count_common(negatives, negatives, words_n)
    best, gain = 0, 0.0
    if p == 0:
        return best, gain
    before = logs[p] - logs[p + n]
    for row in range(len(bits)):
        p_in = count_common(bits[row], positives, words_p)
        p_most = max(p_in, p - p_in) if negated else p_in
        if -before * p_most <= gain:  # not even without a negative
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
def grown_rule(
    bits: Bits, start: Tests, positives: Bits, negatives: Bits, negated: bool, most: int, logs: NDArray[np.float64]
) -> Tests:
    """Return the tests of `start` and behind them those of most gain, until no negative is left or nothing is gained.

    At most `most` tests in all.
    """
    tests = np.zeros(max(most, len(start)), dtype=np.int32)
    tests[: len(start)] = start
    length = len(start)
    p, n = covered_by(bits, start, positives), covered_by(bits, start, negatives)
    while length < most and np.any(n):
        test, gain = most_gainful_test(bits, p, n, negated, logs)
        if gain <= 0.0:
            break
        narrow(bits, test, p)
        narrow(bits, test, n)
        tests[length] = test
        length += 1
    return tests[:length]


@kernel
def most_predictive_test(
    bits: Bits, positives: Bits, negatives: Bits, negated: bool, least: int
) -> tuple[int, int, int]:
    """Return the test whose documents are positive in the greatest part, and how many positives and negatives pass it.

    Among equals that of most positives, then the first row, plain first. Tests of fewer than `least` positives do not
    count; (0, 0, 0) if there are no others.
    """
    words_p, words_n = filled_words(positives), filled_words(negatives)
    p, n = count_common(positives, positives, words_p), count_common(negatives, negatives, words_n)
    best, best_p, best_n = 0, 0, 0
    for row in range(len(bits)):
        p_in = count_common(bits[row], positives, words_p)
        if p_in < least and not (negated and p - p_in >= least):
            continue
        n_in = count_common(bits[row], negatives, words_n)
        if p_in >= least and more_predictive(p_in, n_in, best_p, best_n):
            best, best_p, best_n = row, p_in, n_in
        if negated and p - p_in >= least and more_predictive(p - p_in, n - n_in, best_p, best_n):
            best, best_p, best_n = ~row, p - p_in, n - n_in
    return best, best_p, best_n


@kernel
def more_predictive(p: int, n: int, other_p: int, other_n: int) -> bool:
    """Tell whether p positives of p + n are a greater part than the other's, or the same part and more of them."""
    left, right = p * (other_p + other_n), other_p * (p + n)
    return bool(left > right or (left == right and p > other_p))


@kernel
def covered_without(bits: Bits, tests: Tests, left_out: int, among: Bits) -> Bits:
    """Return which documents of `among` pass all the tests but one."""
    chosen = among.copy()
    for i in range(len(tests)):
        if i != left_out:
            narrow(bits, tests[i], chosen)
    return chosen


@kernel
def best_swap(
    bits: Bits, tests: Tests, positives: Bits, negatives: Bits, negated: bool, least: int
) -> tuple[int, int, int, int, int]:
    """Return the best change of one test: its place, its successor, 1 if it is deleted instead, and p and n then.

    Among equals a deletion counts: swapping in a test that the rule already has comes to the same.
    """
    place, successor, deleted, best_p, best_n = 0, 0, 0, 0, 0
    for i in range(len(tests)):
        p, n = covered_without(bits, tests, i, positives), covered_without(bits, tests, i, negatives)
        p_in, n_in = set_size(p), set_size(n)
        if len(tests) > 1 and more_predictive(p_in, n_in, best_p, best_n):
            place, successor, deleted, best_p, best_n = i, 0, 1, p_in, n_in
        found, p_in, n_in = most_predictive_test(bits, p, n, negated, least)
        if more_predictive(p_in, n_in, best_p, best_n):
            place, successor, deleted, best_p, best_n = i, found, 0, p_in, n_in
    return place, successor, deleted, best_p, best_n


@kernel
def set_size(chosen: Bits) -> int:
    """Return how many documents are in a set."""
    total = 0
    for word in chosen:
        total += popcount(word)
    return total


@kernel
def swapped_rule(bits: Bits, positives: Bits, negatives: Bits, negated: bool, least: int, most: int) -> Tests:
    """Return a rule found by swapping: time and again the best swap of a test, and a further test where none helps.

    It ends when no negative is covered, or when neither a swap nor one more test makes the rule more predictive.
    """
    tests = np.zeros(most, dtype=np.int32)
    length, p, n = 0, set_size(positives), set_size(negatives)
    while n > 0:
        place, test, deleted, new_p, new_n = best_swap(bits, tests[:length], positives, negatives, negated, least)
        if not more_predictive(new_p, new_n, p, n):
            if length == most:
                break
            left_p = covered_by(bits, tests[:length], positives)
            left_n = covered_by(bits, tests[:length], negatives)
            test, new_p, new_n = most_predictive_test(bits, left_p, left_n, negated, least)
            if not more_predictive(new_p, new_n, p, n):
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
