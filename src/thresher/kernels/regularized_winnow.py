"""A training pass of Regularized Winnow, in which each document has a bounded effect on the weights.

Zhang, Regularized Winnow Methods (2000). A document's dual weight for a category moves with its distance from the
threshold range, and stays between 0 and a cap. The change of the dual weight, times a feature's strength, is the
exponent of the feature's step.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.dense_weights import DISCARDED, PRESENT, Rule, Weights, clamp_weight, get_block
from thresher.kernels.exponentials import write_exponentials
from thresher.kernels.mistake_driven import (
    Examples,
    Lanes,
    has_listed_category,
    has_score_over,
    set_limits,
    set_targets,
    write_scores_before,
)
from thresher.kernels.simd_scoring import score_lanes

_LARGEST_EXPONENT = 40.0  # keeps products with a weight within float32


@kernel
def write_factors(
    strengths: NDArray[np.float32], step: np.float32, rounded: NDArray[np.float64], factors: NDArray[np.float64]
) -> None:
    """Write e to the power of step x strength into `factors`; `rounded` is scratch space."""
    for j in range(len(strengths)):
        factors[j] = min(max(np.float64(step) * np.float64(strengths[j]), -_LARGEST_EXPONENT), _LARGEST_EXPONENT)
    write_exponentials(factors, rounded)


@kernel
def push_features(
    features: NDArray[np.int32],
    factors: NDArray[np.float64],
    lane: int,
    time: int,
    rule: Rule,
    weights: Weights,
) -> None:
    """Multiply w+ of each feature by its factor and w- by the inverse, for one category; writes a block's weights.

    A late feature, and a discarded one that may come back, first gets its starting weights.
    """
    weight, positive, negative, absent, moment = weights
    for j in range(len(features)):
        feature = features[j]
        before = np.float64(weight[feature, lane])
        if len(absent) > 0 and absent[feature, lane] != PRESENT:
            if absent[feature, lane] == DISCARDED and not rule.revive:
                continue
            absent[feature, lane] = PRESENT
            positive[feature, lane] = rule.initial_positive
            negative[feature, lane] = rule.initial_negative
        positive[feature, lane] = clamp_weight(positive[feature, lane] * np.float32(factors[j]))
        negative[feature, lane] = clamp_weight(negative[feature, lane] * np.float32(1.0 / factors[j]))
        weight[feature, lane] = positive[feature, lane] - negative[feature, lane]
        if len(moment) > 0:
            moment[feature, lane] += np.float64(time - 1) * (np.float64(weight[feature, lane]) - before)


@kernel
def weight_after_one_push(size: np.float32, change: np.float32) -> np.float32:
    """Return a weight that starts at 0 after one change of a dual weight, for a feature of strength 1."""
    rounded, factors = np.empty(1, dtype=np.float64), np.empty(1, dtype=np.float64)
    write_factors(np.ones(1, dtype=np.float32), change, rounded, factors)
    return clamp_weight(size * np.float32(factors[0])) - clamp_weight(size * np.float32(1.0 / factors[0]))


@kernel
def has_dual_weight(duals: NDArray[np.float32], width_tag: tuple[int, ...]) -> bool:
    """Return whether a document has a dual weight above 0 for any lane."""
    count = 0
    for lane in range(len(width_tag)):
        count += duals[lane] > 0
    return count > 0


@kernel
def learn_regularized_rows(
    examples: Examples,
    order: NDArray[np.int64],
    rule: Rule,
    block: int,
    lanes: Lanes,
    weights: Weights,
    duals: NDArray[np.float32],
    scores_before: NDArray[np.float32],
) -> None:
    """Train one block on the rows in `order`; writes the block's lanes and weights, and the rows' dual weights.

    If `scores_before`, of shape (rows, categories), has rows, it receives the scores of each row before it was learned.
    A mistake is a score within the threshold range, or on its wrong side, that increases the dual weight.
    """
    indptr, indices, strengths, _ = examples.rows
    label_indptr, categories, _, others = examples.labels
    caps_up, caps_down = examples.steps
    learning, seen, mistakes = lanes.learning[block], lanes.examples[block], lanes.mistakes[block]
    block_weights, width_tag, width = get_block(weights, block), lanes.width_tag, len(lanes.width_tag)
    weight, first = block_weights.weight, block * width
    scores, limits = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
    targets = np.empty(width, dtype=np.int8)
    longest = np.int64(0)
    for row in order:
        longest = max(longest, indptr[row + 1] - indptr[row])
    rounded, factors = np.empty(longest, dtype=np.float64), np.empty(longest, dtype=np.float64)
    set_limits(rule, others, learning, limits)
    for row in order:
        start, stop = indptr[row], indptr[row + 1]
        listed = has_listed_category(label_indptr, categories, row, first, width)
        if others == 0 and not listed:
            continue
        score_lanes(indices, strengths, start, stop, weight, width_tag, scores)
        write_scores_before(scores, row, first, scores_before)
        if others < 0:
            for lane in range(width):
                seen[lane] += learning[lane]
        held = duals[row]
        if not listed and not has_score_over(scores, limits, width_tag) and not has_dual_weight(held, width_tag):
            continue
        set_targets(examples.labels, row, first, learning, targets)
        k = row if len(caps_up) > 1 else 0
        for lane in range(width):
            if targets[lane] == 0:
                continue
            if others == 0:
                seen[lane] += 1
            up = targets[lane] > 0
            gap = rule.high - scores[lane] if up else scores[lane] - rule.low
            wanted = held[lane] + rule.rate * gap
            wanted = min(max(wanted, np.float32(0)), caps_up[k] if up else caps_down[k])
            change = wanted - held[lane]
            if change == 0:
                continue
            mistakes[lane] += change > 0
            held[lane] = wanted
            size = stop - start
            write_factors(strengths[start:stop], change if up else -change, rounded[:size], factors[:size])
            push_features(indices[start:stop], factors[:size], lane, seen[lane], rule, block_weights)


@kernel
def learn_regularized_blocks(
    examples: Examples,
    order: NDArray[np.int64],
    rule: Rule,
    lanes: Lanes,
    weights: Weights,
    scores_before: NDArray[np.float32],
) -> None:
    """Train all blocks on the rows in `order`, from dual weights of 0; writes lanes, weights and `scores_before`."""
    for block in range(weights.weight.shape[0]):
        duals = np.zeros((len(examples.rows.indptr) - 1, len(lanes.width_tag)), dtype=np.float32)
        learn_regularized_rows(examples, order, rule, block, lanes, weights, duals, scores_before)
