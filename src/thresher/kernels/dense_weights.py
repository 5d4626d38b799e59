"""Dense weights of all categories in blocks, and a single promotion or demotion of them.

A block holds one category per lane and is feature-major: weight[block, feature, lane].
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel

POSITIVE_WINNOW, PERCEPTRON, BALANCED_WINNOW, REGULARIZED_WINNOW = 0, 1, 2, 3
PRESENT, DISCARDED, LATE = 0, 1, 2

# Weights stay within 2**-60 .. 2**60 in magnitude, and strengths within 2**40. So no sum of fewer than 2**27 products
# overflows float32, and repeated promotion or demotion reaches neither infinity nor the slow denormal numbers.
MAX_WEIGHT = np.float32(2.0**60)
MIN_WEIGHT = np.float32(2.0**-60)
MAX_STRENGTH = np.float32(2.0**40)


class Weights(NamedTuple):
    """A learner's state, in arrays of shape (blocks, features, lanes); arrays that its rule does not need are empty.

    `weight` is the weight used in scores: the weight itself or, for Balanced Winnow, `positive` - `negative`. `absent`
    says why a feature has no weight: it was discarded, or it came late and has not been met since. `moment` is the sum
    of (step - 1) x (change of weight) over the category's steps, from which the mean weight follows.
    """

    weight: NDArray[np.float32]
    positive: NDArray[np.float32]
    negative: NDArray[np.float32]
    absent: NDArray[np.uint8]
    moment: NDArray[np.float64]


class Rule(NamedTuple):
    """The update rule of a learner: which scores are mistakes, and the starting weights.

    A positive is a mistake at a score <= `high`, a negative at a score >= `low`. `revive` lets discarded features come
    back. Only Regularized Winnow uses `rate`, and `tolerance`: a dual weight that would move by less stays as it is.
    """

    learner: int
    low: np.float32
    high: np.float32
    initial_positive: np.float32
    initial_negative: np.float32
    revive: bool
    rate: np.float32
    tolerance: np.float32


class Steps(NamedTuple):
    """The promotion and the demotion of each row, or a single pair for all rows.

    For the Winnows, these are the factors alpha and beta. For the Perceptron, they are the summands +alpha and -alpha.
    For Regularized Winnow, they are the caps of the row's dual weight, as a positive and as a negative example.
    """

    promotion: NDArray[np.float32]
    demotion: NDArray[np.float32]


@kernel
def get_block(weights: Weights, block: int) -> Weights:
    """Return views of the arrays of one block."""
    return Weights(
        weights.weight[block],
        weights.positive[block],
        weights.negative[block],
        weights.absent[block],
        weights.moment[block],
    )


@kernel
def clamp_weight(weight: np.float32) -> np.float32:
    """Return a Winnow weight, limited to its range."""
    return min(max(weight, MIN_WEIGHT), MAX_WEIGHT)


@kernel
def clamp_signed_weight(weight: np.float32) -> np.float32:
    """Return a Perceptron weight, which may have either sign, limited to its range."""
    return min(max(weight, -MAX_WEIGHT), MAX_WEIGHT)


class Move(NamedTuple):
    """One step of one lane.

    `step` and `counterstep` are the row's promotion and demotion, swapped if the lane is to be demoted. `time` is the
    number of the category's example.
    """

    lane: int
    promote: bool
    step: np.float32
    counterstep: np.float32
    time: int


@kernel
def make_move(steps: Steps, row: int, lane: int, promote: bool, time: int) -> Move:
    """Return the step for a mistake on the row, up or down."""
    k = row if len(steps.promotion) > 1 else 0
    if promote:
        return Move(lane, promote, steps.promotion[k], steps.demotion[k], time)
    return Move(lane, promote, steps.demotion[k], steps.promotion[k], time)


@kernel
def step_features(features: NDArray[np.int32], move: Move, rule: Rule, weights: Weights) -> None:
    """Promote or demote the active features for one category of a block; writes the block's weights.

    Strengths do not affect the step, only the score. A discarded feature that may come back, and a late feature that is
    promoted, first gets its starting weight and then takes the step. A demotion leaves late features alone.
    """
    weight, positive, negative, absent, moment = weights
    lane, step, counterstep = move.lane, move.step, move.counterstep
    balanced, additive = rule.learner == BALANCED_WINNOW, rule.learner == PERCEPTRON
    for feature in features:
        before = np.float64(weight[feature, lane])
        if len(absent) > 0 and absent[feature, lane] != PRESENT:
            if not (rule.revive if absent[feature, lane] == DISCARDED else move.promote):
                continue
            absent[feature, lane] = PRESENT
            weight[feature, lane] = rule.initial_positive
            if balanced:
                positive[feature, lane] = rule.initial_positive
                negative[feature, lane] = rule.initial_negative
        if balanced:
            positive[feature, lane] = clamp_weight(positive[feature, lane] * step)
            negative[feature, lane] = clamp_weight(negative[feature, lane] * counterstep)
            weight[feature, lane] = positive[feature, lane] - negative[feature, lane]
        elif additive:
            weight[feature, lane] = clamp_signed_weight(weight[feature, lane] + step)
        else:
            weight[feature, lane] = clamp_weight(weight[feature, lane] * step)
        if len(moment) > 0:
            moment[feature, lane] += np.float64(move.time - 1) * (np.float64(weight[feature, lane]) - before)


@kernel
def weight_after_one_step(rule: Rule, steps: Steps, promote: bool) -> np.float32:
    """Return a starting weight after one promotion or demotion, as training computes it."""
    start = np.full((1, 1), rule.initial_positive - rule.initial_negative)
    none = np.zeros((0, 1))
    weights = Weights(
        start,
        np.full((1, 1), rule.initial_positive),
        np.full((1, 1), rule.initial_negative),
        none.astype(np.uint8),
        none,
    )
    step_features(np.zeros(1, dtype=np.int32), make_move(steps, 0, 0, promote, 1), rule, weights)
    return np.float32(start[0, 0])


@kernel
def drop_features(low: np.float32, high: np.float32, chosen: NDArray[np.bool_], weights: Weights) -> None:
    """Discard the features of the chosen lanes whose weight lies in low .. high, inclusive; writes a block's weights.

    A discarded feature has weight 0 and mean weight 0.
    """
    for feature in range(weights.weight.shape[0]):
        for lane in range(len(chosen)):
            if chosen[lane] and low <= weights.weight[feature, lane] <= high:
                weights.absent[feature, lane] = DISCARDED
                weights.weight[feature, lane] = np.float32(0)
                if weights.moment.shape[0] > 0:
                    weights.moment[feature, lane] = np.float64(0)


@kernel
def write_mean_weights(weights: Weights, examples: NDArray[np.int64], mean: NDArray[np.float32]) -> None:
    """Write each weight's mean over its category's examples into `mean`, computed in float64 and rounded once."""
    for block, feature, lane in np.ndindex(mean.shape):
        weight = np.float64(weights.weight[block, feature, lane])
        if examples[block, lane] > 0:
            weight = weight - np.float64(weights.moment[block, feature, lane] / examples[block, lane])
        mean[block, feature, lane] = np.float32(weight)
