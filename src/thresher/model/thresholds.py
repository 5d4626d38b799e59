"""Find the threshold of each category that serves a goal best on held-out documents.

Tuned thresholds are part of a model's digest, so sums of floats are added one by one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.model.goals import Goal, parse_goal

Floats = NDArray[np.float64]
Scores = NDArray[np.float32]
Truth = NDArray[np.bool_]

# With fewer positives, a threshold of its own lowered a category's F1 on held-out documents (docs/categorizer.md).
FEW_POSITIVES = 50
_END_MARGIN = 2.0**-10


class Cuts(NamedTuple):
    """Candidate thresholds, highest first, with the number of documents each accepts, and how many are right."""

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
    taught: NDArray[np.bool_] | None = None,
) -> Floats:
    """Return for each category the threshold that serves the goal best on held-out documents.

    Parameters
    ----------
    scores, truth : arrays (documents, categories)
        Raw scores, and which categories each document has. The order of the documents does not matter.
    goal : str
        "f1": the best F1 over all decisions. "macro-f1": the best F1 of each category by itself, so that small
        categories count as much as large ones. "break-even": as many accepted as there are positives.
        "precision:0.9": the lowest threshold with that precision or, if no threshold reaches it, with the highest
        precision. "recall:0.8": the highest threshold with that recall. Ties in F1 or break-even go to the threshold
        nearest to `fallback`.
    fallback : float
        The learner's own threshold.
    few : int
        Categories with fewer positives share a threshold. With 1, no categories share.
    policy : str
        Under "exactly-one" all categories share a threshold, except for a precision or recall goal. The best score
        wins, and thresholds tuned for each category alone would only bias that competition.
    taught : array (categories,), optional
        Which categories have positives in training, if these documents are only some of it. Default: those with
        positives here.

    Notes
    -----
    A threshold is midway between two scores, or slightly beyond the lowest or highest one, or at `fallback` if that is
    further out.

    A category with few positives would overfit its threshold to their scores (Yang, SIGIR 2001). All such categories
    share the threshold that serves the goal best for their documents pooled. They learn towards the same theta, so
    their scores are comparable. If even the pool has few positives, the threshold is `fallback`.

    A category that was not taught gets a threshold above every score seen. It is so high that none of these documents
    would prefer the category to one with positives, whatever the policy.
    """
    aim = parse_goal(goal)
    positives = np.count_nonzero(truth, axis=0)
    if policy == "exactly-one" and aim.wish == 0:
        few = max(positives.sum(), 1)
    rare = np.flatnonzero(((positives > 0) if taught is None else taught) & (positives < few))
    thresholds = np.full(len(positives), _unreachable(scores, fallback))
    thresholds[rare] = fallback
    groups = [rare, *np.flatnonzero(positives >= few)[:, np.newaxis]]
    groups = [group for group in groups if positives[group].sum() >= few]
    columns, true_columns = np.ascontiguousarray(scores.T), np.ascontiguousarray(truth.T)
    grouped = [(columns[group].ravel(), true_columns[group].ravel()) for group in groups]
    if aim.measure == "f1":
        reached = _f1_at(grouped, fallback)
        curves = [_find_useful_cuts(own, true, fallback, reached) for own, true in grouped]
        chosen = _choose_together(curves, fallback, int(sum(positives[group].sum() for group in groups)))
    else:
        wanted = _find_cuts if aim.measure == "precision" else _find_cuts_with_positives
        curves = [wanted(own, true, fallback) for own, true in grouped]
        chosen = [_choose(cuts, aim, fallback) for cuts in curves]
    for group, cuts, best in zip(groups, curves, chosen, strict=True):
        thresholds[group] = cuts.thresholds[best]
    return thresholds


def _find_cuts(scores: Scores, truth: Truth, fallback: float) -> Cuts:
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


def _find_cuts_with_positives(scores: Scores, truth: Truth, fallback: float) -> Cuts:
    """Return the cuts down to the one that accepts all positives: lower cuts would only add errors."""
    return _find_cuts_down_to(scores[truth].min(), scores, truth, fallback)


def _find_useful_cuts(scores: Scores, truth: Truth, fallback: float, reached: float) -> Cuts:
    """Return the cuts that may be part of a better F1 over all categories than the one `reached`.

    A cut that accepts more than 2 / F1 per positive is worse than accepting nothing (see `_choose_together`).
    """
    lowest, positives = scores[truth].min(), np.count_nonzero(truth)
    most = int(2 * positives / reached) + 1 if reached * len(scores) > 2 * positives else len(scores)
    if most < len(scores):
        lowest = max(lowest, np.partition(scores, len(scores) - most)[len(scores) - most])
    return _find_cuts_down_to(lowest, scores, truth, fallback)


def _f1_at(grouped: list[tuple[Scores, Truth]], threshold: float) -> float:
    """Return the F1 of one threshold for all categories."""
    right = sum(np.count_nonzero(truth & (scores > threshold)) for scores, truth in grouped)
    accepted = sum(np.count_nonzero(scores > threshold) for scores, _ in grouped)
    return 2 * right / max(accepted + sum(np.count_nonzero(truth) for _, truth in grouped), 1)


def _find_cuts_down_to(lowest: np.float32, scores: Scores, truth: Truth, fallback: float) -> Cuts:
    above = scores >= lowest
    if above.all():
        return _find_cuts(scores, truth, fallback)
    next_below = np.array([scores[~above].max()])
    cuts = _find_cuts(np.concatenate((scores[above], next_below)), np.append(truth[above], False), fallback)
    return Cuts(cuts.thresholds[:-1], cuts.accepted[:-1], cuts.right[:-1])


def _beyond(score: float, direction: int) -> float:
    return float(score + direction * _END_MARGIN * max(1.0, abs(score)))


def _choose_together(curves: list[Cuts], fallback: float, positives: int) -> list[int]:
    """Return the cuts with the best F1 over all curves, which have this number of positives in total.

    At the best F1, f, moving a cut cannot increase 2 x right - f x accepted. So f is raised until the cuts that are
    best by that measure reach it (Dinkelbach's method, which terminates).
    """
    f1 = 0.0
    while True:
        chosen = [_choose_nearest(cuts, 2 * cuts.right - f1 * cuts.accepted, fallback) for cuts in curves]
        right = sum(int(cuts.right[best]) for cuts, best in zip(curves, chosen, strict=True))
        accepted = sum(int(cuts.accepted[best]) for cuts, best in zip(curves, chosen, strict=True))
        reached = 2 * right / max(accepted + positives, 1)
        if reached <= f1:
            return chosen
        f1 = reached


def _choose_nearest(cuts: Cuts, merit: Floats, fallback: float) -> int:
    """Return the cut with the highest merit; ties go to the one nearest to the fallback."""
    best = np.flatnonzero(merit == merit.max())
    return int(best[np.argmin(np.abs(cuts.thresholds[best] - fallback))])


def _choose(cuts: Cuts, goal: Goal, fallback: float) -> int:
    positives = cuts.right[-1]
    if goal.measure == "recall":
        return int(np.argmax(cuts.right / positives >= goal.wish))
    if goal.measure == "precision":
        precision = cuts.right / np.maximum(cuts.accepted, 1)
        return int(np.flatnonzero(precision >= min(goal.wish, precision.max()))[-1])
    f1 = 2 * cuts.right / (cuts.accepted + positives)
    return _choose_nearest(cuts, f1 if goal.measure == "macro-f1" else -np.abs(cuts.accepted - positives), fallback)


def _unreachable(scores: Scores, fallback: float) -> float:
    """Return a threshold that ranks a category below every category with a tuned threshold, in every document."""
    highest = float(scores.max(initial=fallback))
    lowest = float(scores.min(initial=fallback))
    return _beyond(_beyond(highest, 1) + (highest - lowest), 1)
