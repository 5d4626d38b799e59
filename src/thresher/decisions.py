"""From raw scores to accepted categories and probabilities, and the tuning of both; the Categorizer calls it.

Everything works on arrays, documents x categories. What is tuned enters the digest of a model, so that sums of floats
are made one by one and the exponential is the project's own: the same bits on every processor.
"""

import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.errors import ParameterError
from thresher.kernels.calibration import likeliest_slope, write_folds
from thresher.kernels.elementary import sigmoid

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = NDArray[np.float32]
Truth = NDArray[np.bool_]

POLICIES = ("above", "at-least-one", "exactly-one", "at-most-K")
GOALS = ("f1", "macro-f1", "break-even", "precision:P", "recall:R")
# Below about this many, a threshold of a category's own lost F1 on held-out documents (docs/categorizer.md).
FEW_POSITIVES = 50
SLOPES = (1e-3, 1e3)
RIVALRIES = (0.1, 0.2, 0.3)
RIVALRY_GAIN = 0.0005  # of F1 on held-out documents
LARGEST_THRESHOLD = 1e40  # beyond any sum of strengths and weights

_ABOVE_ONE, _ABOVE_HALF = np.nextafter(1.0, 2.0), np.nextafter(0.5, 1.0)
_END_MARGIN = 2.0**-10
_DECIDED_AT_ONCE = 2**12


@dataclass(frozen=True, eq=False)
class Decisions:
    """The threshold and the probabilities of each category, and the policy that picks a document's categories.

    Parameters
    ----------
    thresholds : array (categories,)
        A raw score above its category's threshold accepts, strictly.
    slopes : array (categories,)
        How fast the probability rises at the threshold; within SLOPES.
    rivalry : array (categories,)
        The share of a document's best score that is added to a category's threshold for that document; none by default.
        The best score is the best of the categories with a share.
    policy : str
        "above": the categories whose scores are above their thresholds. "at-least-one": the same, and the best one
        where there is none. "exactly-one": the best one. "at-most-K", as in "at-most-3": the K best of those above.
        Best is by reported score, and the first of equals.

    Examples
    --------
    >>> decisions = Decisions(np.array([1.0, 0.5]), np.array([2.0, 2.0]), policy="at-least-one")
    >>> scores = np.array([[1.5, 0.0], [0.25, 0.25]], dtype=np.float32)
    >>> decisions.reported(scores)
    array([[1.5 , 0.5 ],
           [0.25, 0.75]])
    >>> decisions.accepted(scores)
    array([[ True, False],
           [False,  True]])
    """

    thresholds: Floats
    slopes: Floats
    rivalry: Floats = field(default_factory=lambda: np.zeros(0))
    policy: str = "above"

    def __post_init__(self) -> None:
        if len(self.rivalry) == 0:
            object.__setattr__(self, "rivalry", np.zeros(len(self.thresholds)))
        check_policy(self.policy)
        shapes = {name: getattr(self, name).shape for name in ("thresholds", "slopes", "rivalry")}
        if self.thresholds.ndim != 1 or len(set(shapes.values())) > 1:
            raise ParameterError(f"shapes differ: {', '.join(f'{name} {shape}' for name, shape in shapes.items())}")
        if not (np.abs(self.thresholds) <= LARGEST_THRESHOLD).all():
            raise ParameterError(f"thresholds must be finite, within +-{LARGEST_THRESHOLD:g}")
        if not ((self.slopes >= SLOPES[0]) & (self.slopes <= SLOPES[1])).all():
            raise ParameterError(f"slopes must lie from {SLOPES[0]:g} to {SLOPES[1]:g}")
        if not ((self.rivalry >= 0) & (self.rivalry <= 1)).all():
            raise ParameterError("rivalry must lie from 0 to 1")

    def cuts(self, scores: Scores) -> Floats:
        """Return the raw score above which each category is accepted: (categories,), or for each document its own."""
        rivals = self.rivalry > 0
        if not rivals.any():
            return self.thresholds
        best = (scores if rivals.all() else scores[:, rivals]).max(axis=1).astype(np.float64)
        return np.asarray(self.thresholds + self.rivalry * best[:, np.newaxis])

    def accepted(self, scores: Scores, cuts: Floats | None = None) -> Truth:
        """Return which categories each document gets by the policy; `cuts` are those of the scores, if known.

        Only under "above" and "at-most-K" are all of them above their thresholds.
        """
        above = scores > (self.cuts(scores) if cuts is None else cuts)
        if self.policy == "above" or above.size == 0:
            return above
        most = _most(self.policy)
        if most is not None:
            return _only_best(above, self.reported(scores), most)
        if self.policy == "exactly-one":
            above[:] = False
        without = np.flatnonzero(~above.any(axis=1))
        if len(without):
            above[without, self.reported(scores[without]).argmax(axis=1)] = True
        return above

    def reported(self, scores: Scores) -> Floats:
        """Return 1 + raw score - threshold: above 1 exactly where the raw score is above the threshold."""
        return _reported(scores, self.cuts(scores))

    def probabilities(self, scores: Scores) -> Floats:
        """Return the calibrated probabilities: above 1/2 exactly where the raw score is above the threshold."""
        return _probabilities(scores, self.cuts(scores), self.slopes)

    def told(self, scores: Scores, documents: Ints, numbers: Ints, cuts: Floats) -> tuple[Floats, Floats]:
        """Return what `reported` and `probabilities` hold at these documents and categories, without the rest."""
        own, reached = scores[documents, numbers], cuts[numbers] if cuts.ndim == 1 else cuts[documents, numbers]
        return _reported(own, reached), _probabilities(own, reached, self.slopes[numbers])

    def extended(self, count: int, threshold: float, slope: float) -> Self:
        """Return the decisions with `count` new categories after the others."""
        new = {"thresholds": threshold, "slopes": slope, "rivalry": 0.0}
        longer = {name: np.append(getattr(self, name), np.full(count, value)) for name, value in new.items()}
        return type(self)(**longer, policy=self.policy)

    def selected(self, categories: ArrayLike) -> Self:
        """Return the decisions of these categories alone, in this order."""
        kept = np.asarray(categories, dtype=np.intp)
        return type(self)(self.thresholds[kept], self.slopes[kept], self.rivalry[kept], self.policy)


def _reported(scores: Scores, cuts: Floats) -> Floats:
    return _split_at(1.0, _ABOVE_ONE, 1 + (scores - cuts), scores > cuts)


def _probabilities(scores: Scores, cuts: Floats, slopes: Floats) -> Floats:
    return _split_at(0.5, _ABOVE_HALF, sigmoid(slopes * (scores - cuts)), scores > cuts)


def _split_at(middle: float, next_above: float, values: Floats, above: Truth) -> Floats:
    """Put values on the side of the middle where they belong, even where they were rounded to it."""
    return np.where(above, np.maximum(values, next_above), np.minimum(values, middle))


def _only_best(above: Truth, reported: Floats, most: int) -> Truth:
    """Keep only the best of a document's accepted categories; written to `above`."""
    crowded = np.flatnonzero(np.count_nonzero(above, axis=1) > most)
    surplus = np.argsort(-reported[crowded], axis=1, kind="stable")[:, most:]
    above[crowded[:, np.newaxis], surplus] = False
    return above


# -- policies and goals by name ----------------------------------------------------------------------------------------


def check_policy(policy: str) -> None:
    """Raise a ParameterError unless this is the name of a policy.

    >>> check_policy("at-most-0")
    Traceback (most recent call last):
        ...
    thresher.errors.ParameterError: policy='at-most-0' is unknown (allowed: above, at-least-one, exactly-one, at-most-K)
    """
    if not isinstance(policy, str) or (policy not in POLICIES[:3] and _most(policy) is None):
        raise ParameterError(f"policy={policy!r} is unknown (allowed: {', '.join(POLICIES)})")


def _most(policy: str) -> int | None:
    """Return the K of at-most-K."""
    match = re.fullmatch("at-most-([1-9][0-9]{0,8})", policy)
    return int(match[1]) if match else None


def choose_policy(labels_per_document: ArrayLike) -> str:
    """Return the policy that the training documents follow, from how many categories each has.

    >>> choose_policy([1, 1, 1]), choose_policy([1, 2, 1]), choose_policy([1, 0, 2])
    ('exactly-one', 'at-least-one', 'above')
    """
    counts = np.asarray(labels_per_document)
    if counts.size == 0 or counts.min() < 1:
        return "above"
    return "exactly-one" if counts.max() == 1 else "at-least-one"


class Goal(NamedTuple):
    """What a threshold is tuned for: the measure and, of a wished precision or recall, how much."""

    measure: str
    wish: float = 0.0


def parse_goal(goal: str) -> Goal:
    """Return the goal that a setting names, or raise a ParameterError.

    >>> parse_goal("f1"), parse_goal("precision:0.9")
    (Goal(measure='f1', wish=0.0), Goal(measure='precision', wish=0.9))
    """
    if goal in GOALS[:3]:
        return Goal(goal)
    match = re.fullmatch(r"(precision|recall):([0-9]*\.?[0-9]+)", goal) if isinstance(goal, str) else None
    if match is None or not 0 < float(match[2]) <= 1:
        raise ParameterError(f"goal={goal!r} is unknown (allowed: {', '.join(GOALS)}; P and R above 0, up to 1)")
    return Goal(match[1], float(match[2]))


# -- tuning ------------------------------------------------------------------------------------------------------------


def tune_decisions(
    scores: Scores, truth: Truth, goal: str = "f1", fallback: float = 1.0, policy: str = "above"
) -> Decisions:
    """Return the decisions that serve the goal best, from scores of documents not trained on; see `tune_thresholds`.

    For F1, a document's best category may make the others harder to accept: the same score says less where another
    category scores higher. How much is the share of RIVALRIES with the best F1 on these documents, if it gains.
    """
    found = _tuned(scores, truth, goal, fallback, policy, 0.0)
    if goal == "f1" and policy != "exactly-one":
        reached = _f1(found, scores, truth) + RIVALRY_GAIN
        for share in RIVALRIES:
            other = _tuned(scores, truth, goal, fallback, policy, share)
            f1 = _f1(other, scores, truth)
            found, reached = (other, f1) if f1 > reached else (found, reached)
    relative = _relative(scores, float(found.rivalry.max(initial=0.0)))
    return replace(found, slopes=calibrate(relative, truth, found.thresholds))


def _tuned(scores: Scores, truth: Truth, goal: str, fallback: float, policy: str, share: float) -> Decisions:
    thresholds = tune_thresholds(_relative(scores, share), truth, goal, fallback, policy=policy)
    return Decisions(thresholds, np.ones(len(thresholds)), np.full(len(thresholds), share), policy)


def _relative(scores: Scores, share: float) -> Scores:
    """Return the scores less a share of their document's best."""
    return scores - np.float32(share) * scores.max(axis=1, keepdims=True) if share else scores


def _f1(decisions: Decisions, scores: Scores, truth: Truth) -> float:
    """Return the F1 of all decisions, made on a few documents at a time."""
    right = accepted = 0
    for first in range(0, len(scores), _DECIDED_AT_ONCE):
        some = slice(first, first + _DECIDED_AT_ONCE)
        found = decisions.accepted(scores[some])
        right += int(np.count_nonzero(found & truth[some]))
        accepted += int(np.count_nonzero(found))
    return 2 * right / max(accepted + int(np.count_nonzero(truth)), 1)


# -- tuning the thresholds ---------------------------------------------------------------------------------------------


class Cuts(NamedTuple):
    """Where scores can be cut, the highest threshold first; how many each cut accepts, and how many of them rightly."""

    thresholds: Floats
    accepted: NDArray[np.int64]
    right: NDArray[np.int64]


def tune_thresholds(
    scores: Scores,
    truth: Truth,
    goal: str = "f1",
    fallback: float = 1.0,
    few: int = FEW_POSITIVES,
    policy: str = "above",
) -> Floats:
    """Return for each category the threshold that serves the goal best, from scores of documents not trained on.

    Parameters
    ----------
    scores, truth : arrays (documents, categories)
        Raw scores, and which categories each document truly has. The order of the documents does not matter.
    goal : str
        "f1": the best F1 over all decisions. "macro-f1": the best F1 of each category by itself, so that small
        categories count as much as large ones. "break-even": as many accepted as there are positives.
        "precision:0.9": the lowest threshold with that precision or, where there is none, with the highest that there
        is. "recall:0.8": the highest threshold with that recall. Of thresholds that serve F1 or break-even equally, the
        nearest to `fallback`.
    fallback : float
        The learner's own threshold.
    few : int
        Categories with fewer positives share a threshold; 1: none do.
    policy : str
        Under "exactly-one" all categories share a threshold, but for a wished precision or recall: the best score wins,
        and thresholds of their own, tuned as if each category stood alone, would only tilt the contest.

    Notes
    -----
    A threshold lies midway between two scores, or a little beyond the lowest or highest one, or at `fallback` where
    that lies further out.

    A category with few positives would fit its threshold to the accidents of their scores (Yang, SIGIR 2001). All such
    categories share the threshold that serves the goal for their documents pooled: they learn towards the same theta,
    so that their scores compare. Where even the pool has few positives, it is `fallback`.

    A category without positives gets a threshold above every score seen, and so high that none of the documents seen
    would prefer it to a category with positives, whatever the policy.
    """
    aim = parse_goal(goal)
    positives = np.count_nonzero(truth, axis=0)
    if policy == "exactly-one" and aim.wish == 0:
        few = max(positives.sum(), 1)
    rare = np.flatnonzero((positives > 0) & (positives < few))
    thresholds = np.full(len(positives), _unreachable(scores, fallback))
    thresholds[rare] = fallback
    groups = [rare, *np.flatnonzero(positives >= few)[:, np.newaxis]]
    groups = [group for group in groups if positives[group].sum() >= few]
    grouped = [(scores[:, group].ravel(), truth[:, group].ravel()) for group in groups]
    if aim.measure == "f1":
        reached = _f1_at(grouped, fallback)
        curves = [_cuts_worth_it(own, true, fallback, reached) for own, true in grouped]
        chosen = _best_together(curves, fallback, int(sum(positives[group].sum() for group in groups)))
    else:
        wanted = _cuts if aim.measure == "precision" else _cuts_with_positives
        curves = [wanted(own, true, fallback) for own, true in grouped]
        chosen = [_best(cuts, aim, fallback) for cuts in curves]
    for group, cuts, best in zip(groups, curves, chosen, strict=True):
        thresholds[group] = cuts.thresholds[best]
    return thresholds


def _cuts(scores: Scores, truth: Truth, fallback: float) -> Cuts:
    order = np.argsort(scores)[::-1]
    descending = scores[order].astype(np.float64)
    last_of_equals = np.flatnonzero(np.append(descending[1:] < descending[:-1], True))
    values, right = descending[last_of_equals], np.cumsum(truth[order])[last_of_equals]
    top, bottom = max(_beyond(values[0], 1), fallback), min(_beyond(values[-1], -1), fallback)
    return Cuts(
        np.concatenate(([top], (values[:-1] + values[1:]) / 2, [bottom])),
        np.append(0, last_of_equals + 1),
        np.append(0, right),
    )


def _cuts_with_positives(scores: Scores, truth: Truth, fallback: float) -> Cuts:
    """Return the cuts down to the one that accepts all positives: further down there is nothing to gain but errors."""
    return _cuts_down_to(scores[truth].min(), scores, truth, fallback)


def _cuts_worth_it(scores: Scores, truth: Truth, fallback: float, reached: float) -> Cuts:
    """Return the cuts that may be part of a better F1 over all than the one `reached`.

    One that accepts more than 2 / F1 for each positive loses more than accepting nothing does (see `_best_together`).
    """
    lowest, positives = scores[truth].min(), np.count_nonzero(truth)
    most = int(2 * positives / reached) + 1 if reached * len(scores) > 2 * positives else len(scores)
    if most < len(scores):
        lowest = max(lowest, np.partition(scores, len(scores) - most)[len(scores) - most])
    return _cuts_down_to(lowest, scores, truth, fallback)


def _f1_at(grouped: list[tuple[Scores, Truth]], threshold: float) -> float:
    """Return the F1 that one threshold for all reaches."""
    right = sum(np.count_nonzero(truth & (scores > threshold)) for scores, truth in grouped)
    accepted = sum(np.count_nonzero(scores > threshold) for scores, _ in grouped)
    return 2 * right / max(accepted + sum(np.count_nonzero(truth) for _, truth in grouped), 1)


def _cuts_down_to(lowest: np.float32, scores: Scores, truth: Truth, fallback: float) -> Cuts:
    above = scores >= lowest
    if above.all():
        return _cuts(scores, truth, fallback)
    next_below = np.array([scores[~above].max()])
    cuts = _cuts(np.concatenate((scores[above], next_below)), np.append(truth[above], False), fallback)
    return Cuts(cuts.thresholds[:-1], cuts.accepted[:-1], cuts.right[:-1])


def _beyond(score: float, direction: int) -> float:
    return float(score + direction * _END_MARGIN * max(1.0, abs(score)))


def _best_together(curves: list[Cuts], fallback: float, positives: int) -> list[int]:
    """Return the cuts with the best F1 over all curves, which have so many positives.

    At the best F1, f, no cut could be moved to gain in 2 x right - f x accepted. So f is raised until the cuts that are
    best by that measure reach it (Dinkelbach's method, which comes to an end).
    """
    f1 = 0.0
    while True:
        chosen = [_nearest(cuts, 2 * cuts.right - f1 * cuts.accepted, fallback) for cuts in curves]
        right = sum(int(cuts.right[best]) for cuts, best in zip(curves, chosen, strict=True))
        accepted = sum(int(cuts.accepted[best]) for cuts, best in zip(curves, chosen, strict=True))
        reached = 2 * right / max(accepted + positives, 1)
        if reached <= f1:
            return chosen
        f1 = reached


def _nearest(cuts: Cuts, merit: Floats, fallback: float) -> int:
    """Return the cut of the greatest merit that is the nearest to the fallback."""
    best = np.flatnonzero(merit == merit.max())
    return int(best[np.argmin(np.abs(cuts.thresholds[best] - fallback))])


def _best(cuts: Cuts, goal: Goal, fallback: float) -> int:
    positives = cuts.right[-1]
    if goal.measure == "recall":
        return int(np.argmax(cuts.right / positives >= goal.wish))
    if goal.measure == "precision":
        precision = cuts.right / np.maximum(cuts.accepted, 1)
        return int(np.flatnonzero(precision >= min(goal.wish, precision.max()))[-1])
    f1 = 2 * cuts.right / (cuts.accepted + positives)
    return _nearest(cuts, f1 if goal.measure == "macro-f1" else -np.abs(cuts.accepted - positives), fallback)


def _unreachable(scores: Scores, fallback: float) -> float:
    """Return a threshold that leaves the reported score of every document below all that tuned thresholds give it."""
    highest = float(scores.max(initial=fallback))
    lowest = float(scores.min(initial=fallback))
    return _beyond(_beyond(highest, 1) + (highest - lowest), 1)


# -- calibrating the probabilities -------------------------------------------------------------------------------------


def calibrate(scores: Scores, truth: Truth, thresholds: Floats) -> Floats:
    """Return for each category the slope of its probability, sigmoid(slope x (score - threshold)).

    It is Platt's scaling with his smoothed targets, and with the probability 1/2 held at the threshold: the most likely
    slope within SLOPES. A category without positives or without negatives gets the median slope of the others, or 1.
    """
    positives = np.count_nonzero(truth, axis=0)
    known = (positives > 0) & (positives < len(truth))
    slopes = np.ones(len(positives))
    for category in np.flatnonzero(known):
        slopes[category] = _slope(scores[:, category] - thresholds[category], truth[:, category])
    if known.any():
        slopes[~known] = np.sort(slopes[known])[np.count_nonzero(known) // 2]
    return slopes


def _slope(margins: Floats, truth: Truth) -> float:
    """Return the most likely slope of one category."""
    positives = np.count_nonzero(truth)
    targets = np.where(truth, (positives + 1) / (positives + 2), 1 / (len(truth) - positives + 2))
    return likeliest_slope(np.ascontiguousarray(margins), targets, *SLOPES)


# -- folds for cross-validation ----------------------------------------------------------------------------------------


def folds(truth: Truth, n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each document, from the labels and the order of the documents alone.

    Documents of the rarest categories are placed first, each in the fold with the fewest positives of its rarest
    category and of these in the smallest. The sizes of two folds differ by at most one. Where no document has two
    categories, so do the positives that two folds have of a category; where documents have several, that is the aim.

    >>> folds(np.array([[1], [1], [0], [0], [1], [0]], dtype=bool), 3)
    array([0, 1, 0, 1, 2, 2])
    """
    if n_folds < 2:
        raise ParameterError(f"n_folds={n_folds!r} is out of range (allowed: a whole number from 2)")
    n_documents = len(truth)
    by_rarity = np.argsort(np.count_nonzero(truth, axis=0), kind="stable")
    # A document without categories belongs to a further one, the most frequent of all.
    rarest_first = np.column_stack((truth[:, by_rarity], np.ones(n_documents, dtype=np.bool_)))
    rarest = rarest_first.argmax(axis=1)
    fold_of = np.zeros(n_documents, dtype=np.int64)
    write_folds(rarest, rarest_first, np.argsort(rarest, kind="stable"), n_folds, fold_of)
    return fold_of
