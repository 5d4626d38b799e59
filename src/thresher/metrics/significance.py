"""Bootstrap intervals, and significance tests between two systems on the same documents; `evaluation` uses them.

Documents are the random sample, so whole documents are resampled or swapped, with all their categories.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.errors import ParameterError
from thresher.metrics import (
    Floats,
    Ints,
    Truth,
    as_decisions,
    as_ranking,
    check_whole,
    f1_of,
    pooled_break_even,
)

_ROUNDING = 1e-12  # differences that are closer count as equal


class Interval(NamedTuple):
    """The interval in which a metric may lie on other documents of the same kind, from `low` to `high`."""

    low: float
    high: float


class PairedTest(NamedTuple):
    """Whether the first of two systems is better by more than chance; `difference` is the first minus the second.

    `p_value` is how often a difference at least this large results from swapping the two systems' outputs on random
    documents. `first_right` and `second_right` count the decisions that only one of them has right. `sign_p_value` is
    how often two equal systems would share these at least as unevenly (the micro sign test of Yang and Liu, SIGIR
    1999).
    """

    difference: float
    p_value: float
    first_right: int
    second_right: int
    sign_p_value: float


# -- intervals ---------------------------------------------------------------------------------------------------------


def bootstrap_interval(
    statistic: Callable[[Ints], float], n_documents: int, *, level: float = 0.95, n_samples: int = 1000, seed: int = 0
) -> Interval:
    """Return the percentile interval of a statistic over documents drawn with replacement.

    Parameters
    ----------
    statistic : callable
        Takes the numbers of the drawn documents, some of them more than once, and returns a float. Draws for which
        it returns NaN are left out.
    n_documents : int
        The number of documents.
    level : float
        The part of the draws that the interval holds.
    n_samples, seed : int
        The number of draws, and the seed of the random generator.

    Examples
    --------
    >>> heights = np.array([1.0, 2.0, 3.0, 4.0])
    >>> bootstrap_interval(lambda drawn: heights[drawn].mean(), 4)
    Interval(low=1.5, high=3.5)
    """
    if not 0 < level < 1:
        raise ParameterError.of("level", level, allowed="above 0, below 1")
    check_whole("n_documents", n_documents)
    check_whole("n_samples", n_samples)
    check_whole("seed", seed, 0)
    draw = np.random.default_rng(seed)
    values = np.array([statistic(draw.integers(0, n_documents, n_documents)) for _ in range(n_samples)])
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return Interval(math.nan, math.nan)
    return Interval(*(float(bound) for bound in np.quantile(values, ((1 - level) / 2, (1 + level) / 2))))


def intervals(truth: ArrayLike, scores: ArrayLike, accepted: ArrayLike, **how: Any) -> dict[str, Interval]:
    """Return the bootstrap intervals of pooled break-even, micro F1 and macro F1.

    `truth`, `scores` and `accepted` are those of an `Evaluation`. `how` is passed to `bootstrap_interval`.
    """
    return {
        "pooled_break_even": pooled_break_even_interval(scores, truth, **how),
        "micro_f1": micro_f1_interval(truth, accepted, **how),
        "macro_f1": macro_f1_interval(truth, accepted, **how),
    }


def micro_f1_interval(truth: ArrayLike, accepted: ArrayLike, **how: Any) -> Interval:
    """Return the bootstrap interval of micro F1."""
    counts = _document_counts(*as_decisions(truth, accepted))
    return bootstrap_interval(lambda drawn: float(_f1(counts[drawn].sum(axis=0))), len(counts), **how)


def macro_f1_interval(truth: ArrayLike, accepted: ArrayLike, **how: Any) -> Interval:
    """Return the bootstrap interval of macro F1, over the categories that have a positive in a draw."""
    true, chosen = as_decisions(truth, accepted)
    documents, categories = np.nonzero(true | chosen)
    kinds = np.where(true[documents, categories], np.where(chosen[documents, categories], 0, 2), 1)
    cells, n_categories = kinds * true.shape[1] + categories, true.shape[1]

    def macro_f1(drawn: Ints) -> float:
        weights = np.bincount(drawn, minlength=len(true))[documents]
        counts = np.bincount(cells, weights, minlength=3 * n_categories).reshape(3, n_categories).T
        real = counts[:, 0] + counts[:, 2] > 0
        return float(_f1(counts[real]).mean()) if real.any() else math.nan

    return bootstrap_interval(macro_f1, len(true), **how)


def pooled_break_even_interval(scores: ArrayLike, truth: ArrayLike, **how: Any) -> Interval:
    """Return the bootstrap interval of the pooled break-even."""
    pairs = _Ranking(*as_ranking(scores, truth))
    n = len(pairs.positives)
    return bootstrap_interval(lambda drawn: pairs.break_even(np.bincount(drawn, minlength=n)), n, **how)


class _Ranking:
    """All pairs of row and category by decreasing score, sorted once, for break-even points of weighted rows."""

    def __init__(self, scores: Floats, truth: Truth) -> None:
        order = np.argsort(-scores, axis=None, kind="stable")
        values = scores.ravel()[order]
        self.rows = order // max(scores.shape[1], 1)
        self.truth = truth.ravel()[order]
        self.ends = np.flatnonzero(np.append(values[1:] < values[:-1], True)) if len(values) else order
        self.positives = np.count_nonzero(truth, axis=1)

    def break_even(self, weights: NDArray[Any]) -> float:
        """Return the break-even with this weight of each row; NaN if no positive has a weight."""
        positives = float(weights @ self.positives)
        if positives == 0:
            return math.nan
        n_ties = 4 * int(self.positives.sum())  # nearly always enough to reach the cut
        while True:
            ends = self.ends[:n_ties]
            heavy = weights[self.rows[: ends[-1] + 1]]
            taken = np.cumsum(heavy)[ends]
            if taken[-1] >= positives or len(ends) == len(self.ends):
                break
            n_ties *= 4
        hits = np.cumsum(heavy * self.truth[: len(heavy)])[ends]
        cut = int(np.searchsorted(taken, positives))
        taken_above, hits_above = (float(taken[cut - 1]), float(hits[cut - 1])) if cut else (0.0, 0.0)
        part = (positives - taken_above) / (taken[cut] - taken_above)
        return float((hits_above + part * (hits[cut] - hits_above)) / positives)


# -- tests -------------------------------------------------------------------------------------------------------------


def paired_test(
    truth: ArrayLike, first: ArrayLike, second: ArrayLike, *, n_samples: int = 10_000, seed: int = 0
) -> PairedTest:
    """Test the difference in micro F1 between two systems, given the decisions of the `first` and the `second`.

    `truth`, `first` and `second` are arrays of shape (documents, categories). `n_samples` swaps are drawn, with the
    `seed`.

    >>> truth = np.eye(12, dtype=bool)
    >>> paired_test(truth, truth, ~truth).first_right
    144
    """
    true, one = as_decisions(truth, first)
    _, other = as_decisions(truth, second)
    counts, others = _document_counts(true, one), _document_counts(true, other)
    moves = (others - counts)[(others != counts).any(axis=1)]
    total, other_total = counts.sum(axis=0), others.sum(axis=0)

    def difference_after(swaps: Truth) -> float:
        moved = swaps @ moves
        return float(_f1(total + moved) - _f1(other_total - moved))

    difference = float(_f1(total) - _f1(other_total))
    return PairedTest(
        difference, _swap_test(difference_after, difference, len(moves), n_samples, seed), *_signs(true, one, other)
    )


def paired_break_even_test(
    truth: ArrayLike, first: ArrayLike, second: ArrayLike, *, n_samples: int = 1000, seed: int = 0
) -> PairedTest:
    """Test the difference in pooled break-even between two systems, given the scores of the `first` and the `second`.

    `truth`, `first` and `second` are arrays of shape (documents, categories). `n_samples` swaps are drawn, with the
    `seed`.

    Each system's scores are replaced by their ranks, so that scores of different scales can be swapped. The counted
    decisions are those at the break-even: as many pairs are accepted as there are positives, or fewer if a tie spans
    the cut. Without positives, the difference is NaN and the p-value is 1.
    """
    (one, true), (other, _) = as_ranking(first, truth), as_ranking(second, truth)
    pairs = _Ranking(np.concatenate((_ranks(one), _ranks(other))), np.concatenate((true, true)))

    def difference_after(swaps: Truth) -> float:
        weights = np.concatenate((~swaps, swaps)).astype(np.int64)
        return pairs.break_even(weights) - pairs.break_even(1 - weights)

    difference = pooled_break_even(one, true) - pooled_break_even(other, true)
    p_value = _swap_test(difference_after, difference, len(true), n_samples, seed)
    cuts = [scores > _next_score(scores, int(np.count_nonzero(true))) for scores in (one, other)]
    return PairedTest(difference, p_value, *_signs(true, *cuts))


def sign_test(first: int, second: int) -> float:
    """Return the p-value of the exact two-sided sign test.

    It is how often a fair coin falls at least as unevenly as `first` to `second`.

    >>> round(sign_test(9, 1), 9)
    0.021484375
    """
    n, few = first + second, min(first, second)
    logs = (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2) for k in range(few + 1))
    return min(1.0, 2 * math.fsum(map(math.exp, logs)))


def _swap_test(
    difference_after: Callable[[Truth], float], difference: float, n: int, n_samples: int, seed: int
) -> float:
    """Return how often the difference after random swaps of n documents is at least as large as the observed one."""
    check_whole("n_samples", n_samples)
    check_whole("seed", seed, 0)
    draw = np.random.default_rng(seed)
    differences = np.array([difference_after(draw.integers(0, 2, n, dtype=np.int8) > 0) for _ in range(n_samples)])
    at_least = np.count_nonzero(~(np.abs(differences) < abs(difference) - _ROUNDING))
    return float((1 + at_least) / (1 + n_samples))


def _signs(truth: Truth, first: Truth, second: Truth) -> tuple[int, int, float]:
    """Return how many decisions only the first has right, how many only the second, and the sign test's p-value."""
    first_right = int(np.count_nonzero((first == truth) & (second != truth)))
    second_right = int(np.count_nonzero((first != truth) & (second == truth)))
    return first_right, second_right, sign_test(first_right, second_right)


def _ranks(scores: Floats) -> Floats:
    """Return for each score how many are below it, with ties counted half."""
    ordered = np.sort(scores, axis=None)
    return (np.searchsorted(ordered, scores) + np.searchsorted(ordered, scores, side="right")) / 2.0


def _next_score(scores: Floats, count: int) -> float:
    """Return the highest score below the best `count`."""
    return float(np.sort(scores, axis=None)[-count - 1]) if count < scores.size else -math.inf


def _document_counts(truth: Truth, accepted: Truth) -> Ints:
    """Return the true positives, false positives and false negatives of each document."""
    kinds = (truth & accepted, accepted & ~truth, truth & ~accepted)
    return np.column_stack([np.count_nonzero(kind, axis=1) for kind in kinds])


def _f1(counts: NDArray[Any]) -> Floats:
    """Return F1 from true positives, false positives and false negatives in the last axis."""
    return f1_of(*np.moveaxis(counts, -1, 0))
