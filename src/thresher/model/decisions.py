"""Turn raw scores into accepted categories and calibrated probabilities, and tune both.

All arrays have the shape (documents, categories). Tuned values are part of a model's digest. Sums of floats are
therefore added one by one, and the exponential is the project's own: the same bits on every processor.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.errors import ParameterError
from thresher.kernels.calibration import fit_sigmoid, measure_spread
from thresher.kernels.reproducible_math import sigmoid
from thresher.model.policies import check_policy, max_categories
from thresher.model.thresholds import Floats, Scores, Truth, tune_thresholds

Ints = NDArray[np.int64]

SLOPES, TAILS = (1e-3, 1e3), (1.0, 64.0)
RIVALRIES = (0.1, 0.2, 0.3)
RIVALRY_GAIN = 0.0005  # in F1 on held-out documents
MAX_THRESHOLD = 1e40  # larger than any sum of strengths and weights

_ABOVE_ONE = np.nextafter(1.0, 2.0)
# The probability of a category is fitted on its highest scores, so many for each positive, and a few more. The others
# are so far below that they would decide the fit. These numbers and the weights of the prior were chosen on training
# documents (docs/decisions/24-probabilities.md).
_FOR_EACH_POSITIVE, _AND_MORE = 6, 20
_PRIOR_WEIGHTS = (30.0, 3.0)  # in units of documents, of the slope and the offset that all categories share
_LEAST_SHARE = 0.1  # of the common slope that a category has at least
_KNEE = -2.9444389791664403  # the logit of 0.05, below which the tail begins
_BIN, _BINS, _HALVINGS = 0.01, 10_000, 40
_LITTLE = (1e-3, 1e-3)  # the weights of the prior of that slope and offset: only against equal scores
_DECIDED_AT_ONCE = 2**12


@dataclass(frozen=True, eq=False)
class Decisions:
    """The threshold and the probability of each category, and the policy that picks a document's categories.

    Parameters
    ----------
    thresholds : array (categories,)
        A category is accepted if its raw score is strictly above its threshold.
    slopes : array (categories,)
        How fast the probability rises where it is 1/2; within SLOPES.
    rivalry : array (categories,)
        The share of a document's best score that is added to a category's threshold for that document. The best score
        is taken over the categories with a share. Default: 0 for all categories.
    midpoints : array (categories,)
        The raw score at which the probability is 1/2. If empty, it is the threshold, wherever that moves, as in models
        of version 0.1 and where thresholds are fixed.
    tail : float
        How many times faster probabilities below 0.05 fall than the slopes say; within TAILS.
    policy : str
        "above": the categories whose scores are above their thresholds. "at-least-one": the same, or the best category
        if none is above. "exactly-one": the best category. "at-most-K", as in "at-most-3": the K best of those above.
        Categories are ranked by reported score; ties go to the first.

    Examples
    --------
    >>> decisions = Decisions(np.array([1.0, 0.5]), np.array([2.0, 2.0]), policy="at-least-one")
    >>> scores = np.array([[1.5, 0.0], [0.25, 0.25]], dtype=np.float32)
    >>> decisions.reported_scores(scores)
    array([[1.5 , 0.5 ],
           [0.25, 0.75]])
    >>> decisions.accept(scores)
    array([[ True, False],
           [False,  True]])
    """

    thresholds: Floats
    slopes: Floats
    rivalry: Floats = field(default_factory=lambda: np.zeros(0))
    policy: str = "above"
    midpoints: Floats = field(default_factory=lambda: np.zeros(0))
    tail: float = 1.0

    def __post_init__(self) -> None:
        if len(self.rivalry) == 0:
            object.__setattr__(self, "rivalry", np.zeros(len(self.thresholds)))
        check_policy(self.policy)
        names = ("thresholds", "slopes", "rivalry", *(["midpoints"] if len(self.midpoints) else []))
        shapes = {name: getattr(self, name).shape for name in names}
        if self.thresholds.ndim != 1 or len(set(shapes.values())) > 1:
            raise ParameterError(f"shapes differ: {', '.join(f'{name} {shape}' for name, shape in shapes.items())}")
        if not (np.abs(self.thresholds) <= MAX_THRESHOLD).all():
            raise ParameterError(f"thresholds must be finite, within +-{MAX_THRESHOLD:g}")
        if not (np.abs(self.midpoints) <= MAX_THRESHOLD).all():
            raise ParameterError(f"midpoints must be finite, within +-{MAX_THRESHOLD:g}")
        if not ((self.slopes >= SLOPES[0]) & (self.slopes <= SLOPES[1])).all():
            raise ParameterError(f"slopes must lie from {SLOPES[0]:g} to {SLOPES[1]:g}")
        if not ((self.rivalry >= 0) & (self.rivalry <= 1)).all():
            raise ParameterError("rivalry must lie from 0 to 1")
        if not TAILS[0] <= self.tail <= TAILS[1]:
            raise ParameterError(f"tail must lie from {TAILS[0]:g} to {TAILS[1]:g}")

    def cuts(self, scores: Scores) -> Floats:
        """Return the raw score above which each category is accepted.

        The shape is (categories,), or (documents, categories) if any category has a rivalry.
        """
        rivals = self.rivalry > 0
        if not rivals.any():
            return self.thresholds
        best = (scores if rivals.all() else scores[:, rivals]).max(axis=1).astype(np.float64)
        return np.asarray(self.thresholds + self.rivalry * best[:, np.newaxis])

    def accept(self, scores: Scores, cuts: Floats | None = None) -> Truth:
        """Return which categories the policy accepts for each document; pass `cuts` if they are already computed.

        Only under "above" and "at-most-K" are all accepted categories above their thresholds.
        """
        above = scores > (self.cuts(scores) if cuts is None else cuts)
        if self.policy == "above" or above.size == 0:
            return above
        most = max_categories(self.policy)
        if most is not None:
            return _only_best(above, self.reported_scores(scores), most)
        if self.policy == "exactly-one":
            above[:] = False
        without = np.flatnonzero(~above.any(axis=1))
        if len(without):
            above[without, self.reported_scores(scores[without]).argmax(axis=1)] = True
        return above

    def reported_scores(self, scores: Scores) -> Floats:
        """Return 1 + raw score - threshold. It is above 1 exactly if the raw score is above the threshold."""
        return _reported_scores(scores, self.cuts(scores))

    def probabilities(self, scores: Scores) -> Floats:
        """Return the calibrated probabilities, which do not depend on the goal of the thresholds."""
        return self._to_probabilities(self.slopes * (scores - (self.cuts(scores) + self._measure_shift())))

    def scores_of_pairs(self, scores: Scores, documents: Ints, numbers: Ints, cuts: Floats) -> tuple[Floats, Floats]:
        """Return `reported_scores` and `probabilities` for only these pairs of `documents` and category `numbers`."""
        pair_cuts = cuts[numbers] if cuts.ndim == 1 else cuts[documents, numbers]
        pair_scores = scores[documents, numbers]
        middles = pair_cuts + self._measure_shift()[numbers]
        logits = self.slopes[numbers] * (pair_scores - middles)
        return _reported_scores(pair_scores, pair_cuts), self._to_probabilities(logits)

    def _to_probabilities(self, logits: Floats) -> Floats:
        if self.tail != 1:
            logits = np.where(logits < _KNEE, _KNEE + self.tail * (logits - _KNEE), logits)
        return sigmoid(logits)

    def _measure_shift(self) -> Floats:
        """Return how far above its threshold each category has the probability 1/2."""
        return self.midpoints - self.thresholds if len(self.midpoints) else np.zeros(len(self.thresholds))

    def add_categories(self, count: int, threshold: float, slope: float) -> Self:
        """Return a copy with `count` new categories at the end."""
        new = {"thresholds": threshold, "slopes": slope, "rivalry": 0.0}
        if len(self.midpoints):
            new["midpoints"] = threshold
        longer: dict[str, Any] = {n: np.append(getattr(self, n), np.full(count, value)) for n, value in new.items()}
        return replace(self, **longer)

    def select_categories(self, categories: ArrayLike) -> Self:
        """Return a copy with only these categories, in this order."""
        kept = np.asarray(categories, dtype=np.intp)
        midpoints = self.midpoints[kept] if len(self.midpoints) else self.midpoints
        thresholds, slopes, rivalry = self.thresholds[kept], self.slopes[kept], self.rivalry[kept]
        return replace(self, thresholds=thresholds, slopes=slopes, rivalry=rivalry, midpoints=midpoints)


def _reported_scores(scores: Scores, cuts: Floats) -> Floats:
    return _split_at(1.0, _ABOVE_ONE, 1 + (scores - cuts), scores > cuts)


def _split_at(middle: float, next_above: float, values: Floats, above: Truth) -> Floats:
    """Keep each value on its side of the middle, even if rounding moved it onto the middle."""
    return np.where(above, np.maximum(values, next_above), np.minimum(values, middle))


def _only_best(above: Truth, reported: Floats, most: int) -> Truth:
    """Keep only the `most` best accepted categories of each document; modifies `above`."""
    crowded = np.flatnonzero(np.count_nonzero(above, axis=1) > most)
    surplus = np.argsort(-reported[crowded], axis=1, kind="stable")[:, most:]
    above[crowded[:, np.newaxis], surplus] = False
    return above


# -- tuning ------------------------------------------------------------------------------------------------------------


def tune_decisions(
    scores: Scores,
    truth: Truth,
    goal: str = "f1",
    fallback: float = 1.0,
    policy: str = "above",
    taught: NDArray[np.bool_] | None = None,
) -> Decisions:
    """Return the decisions that serve the goal best on held-out documents; see `tune_thresholds`.

    For F1, a document's best score may raise the thresholds of its other categories (`rivalry`): the same score means
    less if another category scores higher. The share from RIVALRIES with the best F1 on these documents is used, if it
    gains at least RIVALRY_GAIN.
    """

    def tune(share: float) -> Decisions:
        thresholds = tune_thresholds(_relative(scores, share), truth, goal, fallback, policy=policy, taught=taught)
        return Decisions(thresholds, np.ones(len(thresholds)), np.full(len(thresholds), share), policy)

    chosen = tune(0.0)
    if goal == "f1" and policy != "exactly-one":
        reached = _f1(chosen, scores, truth) + RIVALRY_GAIN
        for share in RIVALRIES:
            other = tune(share)
            f1 = _f1(other, scores, truth)
            chosen, reached = (other, f1) if f1 > reached else (chosen, reached)
    relative = _relative(scores, float(chosen.rivalry.max(initial=0.0)))
    slopes, midpoints = calibrate(relative, truth, chosen.thresholds)
    return replace(chosen, slopes=slopes, midpoints=midpoints, tail=fit_tail(slopes * (relative - midpoints), truth))


def _relative(scores: Scores, share: float) -> Scores:
    """Return the scores minus a share of the best score of their document."""
    return scores - np.float32(share) * scores.max(axis=1, keepdims=True) if share else scores


def _f1(decisions: Decisions, scores: Scores, truth: Truth) -> float:
    """Return the F1 of all decisions, computed in batches of documents."""
    right = accepted = 0
    for first in range(0, len(scores), _DECIDED_AT_ONCE):
        some = slice(first, first + _DECIDED_AT_ONCE)
        decided = decisions.accept(scores[some])
        right += int(np.count_nonzero(decided & truth[some]))
        accepted += int(np.count_nonzero(decided))
    return 2 * right / max(accepted + int(np.count_nonzero(truth)), 1)


# -- calibrating the probabilities -------------------------------------------------------------------------------------


def calibrate(scores: Scores, truth: Truth, thresholds: Floats) -> tuple[Floats, Floats]:
    """Return for each category the slope and the midpoint of its probability, sigmoid(slope x (score - midpoint)).

    This is Platt scaling with smoothed targets, first of all categories together and then of each, which stays near the
    common curve unless its documents say otherwise. So it has the rate of the others where it has few positives. A
    category without positives has the common curve. Without any positives, probabilities are 1/2 at the thresholds.
    """
    columns, true_columns = np.ascontiguousarray(scores.T), np.ascontiguousarray(truth.T)
    known: list[int] = np.flatnonzero(truth.any(axis=0)).tolist()
    if not known:
        return np.ones(len(thresholds)), thresholds
    highest = {category: _take_highest(columns[category], true_columns[category]) for category in known}
    values, true = (np.concatenate([pair[i] for pair in highest.values()]) for i in range(2))
    mean, spread = measure_spread(values)
    spread = max(spread, 1 / SLOPES[1])
    slope, offset = fit_sigmoid((values - mean) / spread, _smooth(true), (0.0, 0.0), _LITTLE)
    common: tuple[float, float] = (max(slope, SLOPES[0] * spread), offset)
    slopes, midpoints = np.full(len(thresholds), common[0]), np.full(len(thresholds), -offset / common[0])
    for category, (own, own_true) in highest.items():
        logits = common[0] * ((own - mean) / spread) + common[1]
        share, shift = fit_sigmoid(logits, _smooth(own_true), (1.0, 0.0), _PRIOR_WEIGHTS)
        share = max(share, _LEAST_SHARE)
        slopes[category] = share * common[0]
        midpoints[category] = -(share * common[1] + shift) / slopes[category]
    midpoints = np.clip(midpoints * spread + mean, -MAX_THRESHOLD, MAX_THRESHOLD)
    return np.clip(slopes / spread, *SLOPES), midpoints


def fit_tail(logits: Floats, truth: Truth) -> float:
    """Return the tail with which the probabilities below 0.05 add up to the number of positives among them.

    The slopes are fitted on the highest scores of each category. Most of the others are further below than they say.
    """
    low = logits < _KNEE
    places = np.minimum((_KNEE - logits[low]) / _BIN, _BINS - 1).astype(np.int64)
    counts, below = np.bincount(places, minlength=_BINS), (np.arange(_BINS) + 0.5) * _BIN
    wanted, (least, most) = int(np.count_nonzero(truth & low)) + 1, TAILS
    for _ in range(_HALVINGS):
        tail = (least + most) / 2
        expected = math.fsum(counts * sigmoid(_KNEE - tail * below))  # exact, so the same on every processor
        least, most = (tail, most) if expected > wanted else (least, tail)
    return least


def _take_highest(scores: Scores, truth: Truth) -> tuple[Floats, Truth]:
    """Return a category's highest scores, and which of them are right; equal scores are taken or left together."""
    most = min(len(scores), _FOR_EACH_POSITIVE * int(np.count_nonzero(truth)) + _AND_MORE)
    is_high = scores >= np.partition(scores, len(scores) - most)[len(scores) - most]
    return scores[is_high].astype(np.float64), truth[is_high]


def _smooth(truth: Truth) -> Floats:
    """Return the targets of Platt scaling: a little below 1 and above 0, the more so the fewer there are."""
    positives = np.count_nonzero(truth)
    return np.where(truth, (positives + 1) / (positives + 2), 1 / (len(truth) - positives + 2))
