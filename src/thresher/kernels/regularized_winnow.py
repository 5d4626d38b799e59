"""Steps of Regularized Winnow, in which each document has a bounded effect on the weights.

Zhang, Regularized Winnow Methods (2000). A document's dual weight for a category moves with its distance from the
threshold range, and stays between 0 and a cap. The change of the dual weight, times a feature's strength, is the
exponent of the feature's step.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.dense_weights import DISCARDED, PRESENT, Rule, Weights, clamp_weight
from thresher.kernels.exponentials import write_exponentials

_MAX_EXPONENT = 40.0  # keeps products with a weight within float32


@kernel
def move_dual_weight(dual: np.float32, score: np.float32, is_positive: bool, rule: Rule, cap: np.float32) -> np.float32:
    """Return a document's dual weight for a category after it was seen with a score."""
    gap = rule.high - score if is_positive else score - rule.low
    moved = min(max(dual + rule.rate * gap, np.float32(0)), cap)
    return moved if abs(moved - dual) >= rule.tolerance else dual


@kernel
def write_factors(
    strengths: NDArray[np.float32], step: np.float32, rounded: NDArray[np.float64], factors: NDArray[np.float64]
) -> None:
    """Write e to the power of step x strength into `factors`; `rounded` is scratch space."""
    for j in range(len(strengths)):
        factors[j] = min(max(np.float64(step) * np.float64(strengths[j]), -_MAX_EXPONENT), _MAX_EXPONENT)
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
