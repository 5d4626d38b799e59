"""One pass of mistake-driven training: score each document, find mistakes among the lanes and correct them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.csr import Labels, Rows
from thresher.kernels.dense_weights import Rule, Steps, Weights, get_block, make_move, step_features
from thresher.kernels.simd_scoring import score_lanes


class Examples(NamedTuple):
    """Rows with their labels, and the steps that mistakes on them take."""

    rows: Rows
    labels: Labels
    steps: Steps


class Lanes(NamedTuple):
    """The state of each lane in a pass, in arrays of shape (blocks, lanes).

    `learning` says whether the lane's category is still learning; `examples` and `mistakes` are its counts. `width_tag`
    is a tuple with one item per lane of a block. Its length is part of its type, so the compiler knows the number of
    lanes.
    """

    width_tag: tuple[int, ...]
    learning: NDArray[np.bool_]
    examples: NDArray[np.int64]
    mistakes: NDArray[np.int64]


@kernel
def set_limits(rule: Rule, others: int, learning: NDArray[np.bool_], limits: NDArray[np.float32]) -> None:
    """Write the score at which an unlisted category makes a mistake into `limits`, for each lane."""
    for lane in range(len(limits)):
        limits[lane] = rule.low if learning[lane] and others < 0 else np.float32(np.inf)


@kernel
def has_score_over(scores: NDArray[np.float32], limits: NDArray[np.float32], width_tag: tuple[int, ...]) -> bool:
    """Return whether any lane's score reaches its limit."""
    count = 0
    for lane in range(len(width_tag)):
        count += scores[lane] >= limits[lane]
    return count > 0


@kernel
def set_targets(labels: Labels, row: int, first: int, learning: NDArray[np.bool_], targets: NDArray[np.int8]) -> None:
    """Write the row's label for each lane into `targets`, for the block that starts at category `first`."""
    for lane in range(len(targets)):
        targets[lane] = labels.others
    for k in range(labels.indptr[row], labels.indptr[row + 1]):
        lane = labels.categories[k] - first
        if 0 <= lane < len(targets):
            targets[lane] = labels.signs[k]
    for lane in range(len(targets)):
        if not learning[lane]:
            targets[lane] = 0


@kernel
def has_listed_category(
    indptr: NDArray[np.int64], categories: NDArray[np.int32], row: int, first: int, width: int
) -> bool:
    """Return whether the row lists a category of the block."""
    count = 0
    for k in range(indptr[row], indptr[row + 1]):
        count += 0 <= categories[k] - first < width
    return count > 0


@kernel
def learn_rows(
    examples: Examples,
    order: NDArray[np.int64],
    rule: Rule,
    block: int,
    lanes: Lanes,
    weights: Weights,
    scores_before: NDArray[np.float32],
) -> None:
    """Train one block of categories on the rows in `order`; writes the block's lanes and weights.

    If `scores_before`, of shape (rows, categories), has rows, it receives the scores of each row before it was learned.
    """
    # Unpack tuples once: every access to a member counts references.
    indptr, indices, strengths, _ = examples.rows
    label_indptr, categories, _, others = examples.labels
    learning, seen, mistakes = lanes.learning[block], lanes.examples[block], lanes.mistakes[block]
    block_weights, width_tag, width = get_block(weights, block), lanes.width_tag, len(lanes.width_tag)
    weight, first = block_weights.weight, block * width
    scores, limits = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
    targets = np.empty(width, dtype=np.int8)
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
        if not listed and not has_score_over(scores, limits, width_tag):
            continue
        set_targets(examples.labels, row, first, learning, targets)
        for lane in range(width):
            if others == 0 and targets[lane] != 0:
                seen[lane] += 1
            promote = targets[lane] > 0 and scores[lane] <= rule.high
            if promote or (targets[lane] < 0 and scores[lane] >= rule.low):
                mistakes[lane] += 1
                move = make_move(examples.steps, row, lane, promote, seen[lane])
                step_features(indices[start:stop], move, rule, block_weights)


@kernel
def write_scores_before(scores: NDArray[np.float32], row: int, first: int, scores_before: NDArray[np.float32]) -> None:
    """Write the scores of a block that starts at category `first` into the row of `scores_before`, if it has rows."""
    if len(scores_before) > 0:
        for category in range(first, min(first + len(scores), scores_before.shape[1])):
            scores_before[row, category] = scores[category - first]


@kernel
def learn_blocks(
    examples: Examples,
    order: NDArray[np.int64],
    rule: Rule,
    lanes: Lanes,
    weights: Weights,
    scores_before: NDArray[np.float32],
) -> None:
    """Train all blocks on the rows in `order`, one after another; writes lanes, weights and `scores_before`."""
    for block in range(weights.weight.shape[0]):
        learn_rows(examples, order, rule, block, lanes, weights, scores_before)


@kernel
def score_rows(
    rows: Rows,
    start: int,
    stop: int,
    width_tag: tuple[int, ...],
    weight: NDArray[np.float32],
    scores: NDArray[np.float32],
) -> None:
    """Write the scores of the rows from `start` to `stop` into `scores`, of shape (rows, categories)."""
    indptr, indices, strengths, _ = rows
    width = len(width_tag)
    total = np.empty(width, dtype=np.float32)
    for block in range(weight.shape[0]):
        block_weight, first = weight[block], block * width
        last = min(first + width, scores.shape[1])
        for row in range(start, stop):
            score_lanes(indices, strengths, indptr[row], indptr[row + 1], block_weight, width_tag, total)
            for category in range(first, last):
                scores[row, category] = total[category - first]
