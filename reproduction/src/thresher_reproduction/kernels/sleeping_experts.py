"""One pass of sleeping experts over the documents, for one category.

`rivals.sleeping_experts` calls this module. The two experts of a feature have the weights weights[feature, 0], against
the category, and weights[feature, 1], for it.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel

LEAST, MOST = 2.0**-100, 2.0**100


@kernel
def run_experts_pass(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    positive: NDArray[np.bool_],
    beta: np.float64,
    enough: np.float64,
    weights: NDArray[np.float64],
) -> int:
    """Learn the rows in order and return the number of rows that changed the weights; writes `weights`.

    A row changes nothing if the correct side has more than the share `enough` of the awake weight.
    """
    changes = 0
    for i in range(len(indptr) - 1):
        right, wrong = (1, 0) if positive[i] else (0, 1)
        correct, mistaken = np.float64(0), np.float64(0)
        for j in range(indptr[i], indptr[i + 1]):
            correct += weights[indices[j], right]
            mistaken += weights[indices[j], wrong]
        total = correct + mistaken
        if indptr[i] == indptr[i + 1] or correct > enough * total:
            continue
        changes += 1
        keep = total / (correct + beta * mistaken)
        lose = beta * keep
        for j in range(indptr[i], indptr[i + 1]):
            weights[indices[j], right] = min(weights[indices[j], right] * keep, MOST)
            weights[indices[j], wrong] = max(weights[indices[j], wrong] * lose, LEAST)
    return changes


@kernel
def sum_expert_votes(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the awake weight against and for the category in each row, summed in feature order."""
    votes = np.zeros((len(indptr) - 1, 2))
    for i in range(len(indptr) - 1):
        against, favourable = np.float64(0), np.float64(0)
        for j in range(indptr[i], indptr[i + 1]):
            against += weights[indices[j], 0]
            favourable += weights[indices[j], 1]
        votes[i, 0], votes[i, 1] = against, favourable
    return votes
