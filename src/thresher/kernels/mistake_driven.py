"""One pass of mistake-driven training: score each document, find mistakes among the lanes and correct them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.csr import Labels, Rows
from thresher.kernels.dense_weights import REGULARIZED_WINNOW, Rule, Steps, Weights, get_block, make_move, step_features
from thresher.kernels.regularized_winnow import move_dual_weight, push_features, write_factors
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
def has_dual_weight(duals: NDArray[np.float32], width_tag: tuple[int, ...]) -> bool:
    """Return whether a document has a dual weight above 0 for any lane."""
    count = 0
    for lane in range(len(width_tag)):
        count += duals[lane] > 0
    return count > 0


@kernel
def find_longest_row(indptr: NDArray[np.int64], order: NDArray[np.int64]) -> np.int64:
    """Return the number of entries of the longest row in `order`."""
    longest = np.int64(0)
    for row in order:
        longest = max(longest, indptr[row + 1] - indptr[row])
    return longest


@kernel
def learn_rows(
    examples: Examples,
    order: NDArray[np.int64],
    rule: Rule,
    block: int,
    lanes: Lanes,
    weights: Weights,
    duals: NDArray[np.float32],
    scores_before: NDArray[np.float32],
) -> None:
    """Train one block of categories on the rows in `order`; writes the block's lanes and weights.

    `duals`, of shape (rows, lanes), are the rows' dual weights in Regularized Winnow, which are written too. There, a
    mistake is a score that increases a dual weight. If `scores_before`, of shape (rows, categories), has rows, it
    receives the scores of each row before it was learned.
    """
    # Unpack tuples once: every access to a member counts references.
    indptr, indices, strengths, _ = examples.rows
    label_indptr, categories, _, others = examples.labels
    promotions, demotions = examples.steps
    learning, seen, mistakes = lanes.learning[block], lanes.examples[block], lanes.mistakes[block]
    block_weights, width_tag, width = get_block(weights, block), lanes.width_tag, len(lanes.width_tag)
    weight, first = block_weights.weight, block * width
    scores, limits = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
    targets = np.empty(width, dtype=np.int8)
    regularized = rule.learner == REGULARIZED_WINNOW
    longest = find_longest_row(indptr, order) if regularized else 0
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
        is_candidate = listed or has_score_over(scores, limits, width_tag)
        if not is_candidate and not (regularized and has_dual_weight(duals[row], width_tag)):
            continue
        set_targets(examples.labels, row, first, learning, targets)
        k = row if len(promotions) > 1 else 0
        for lane in range(width):
            if targets[lane] == 0:
                continue
            if others == 0:
                seen[lane] += 1
            up = targets[lane] > 0
            if regularized:
                dual = move_dual_weight(duals[row, lane], scores[lane], up, rule, promotions[k] if up else demotions[k])
                change = dual - duals[row, lane]
                if change == 0:
                    continue
                mistakes[lane] += change > 0
                duals[row, lane] = dual
                size = stop - start
                write_factors(strengths[start:stop], change if up else -change, rounded[:size], factors[:size])
                push_features(indices[start:stop], factors[:size], lane, seen[lane], rule, block_weights)
            elif scores[lane] <= rule.high if up else scores[lane] >= rule.low:
                mistakes[lane] += 1
                move = make_move(examples.steps, row, lane, up, seen[lane])
                step_features(indices[start:stop], move, rule, block_weights)


@kernel
def write_scores_before(scores: NDArray[np.float32], row: int, first: int, scores_before: NDArray[np.float32]) -> None:
    """Write the scores of a block that starts at category `first` into the row of `scores_before`, if it has rows."""
    if len(scores_before) > 0:
        for category in range(first, min(first + len(scores), scores_before.shape[1])):
            scores_before[row, category] = scores[category - first]


@kernel
def take_back(
    examples: Examples,
    chosen: NDArray[np.int64],
    rule: Rule,
    block: int,
    width_tag: tuple[int, ...],
    weights: Weights,
    duals: NDArray[np.float32],
) -> None:
    """Take the pushes of the chosen rows back, as if their dual weights had stayed 0; writes weights and `duals`."""
    indptr, indices, strengths, _ = examples.rows
    block_weights, first = get_block(weights, block), block * len(width_tag)
    targets = np.empty(len(width_tag), dtype=np.int8)
    every = np.ones(len(width_tag), dtype=np.bool_)
    longest = find_longest_row(indptr, chosen)
    rounded, factors = np.empty(longest, dtype=np.float64), np.empty(longest, dtype=np.float64)
    for row in chosen:
        if not has_dual_weight(duals[row], width_tag):
            continue
        start, stop = indptr[row], indptr[row + 1]
        set_targets(examples.labels, row, first, every, targets)
        for lane in range(len(width_tag)):
            if duals[row, lane] > 0:
                change, size = -duals[row, lane], stop - start
                duals[row, lane] = 0
                write_factors(
                    strengths[start:stop], change if targets[lane] > 0 else -change, rounded[:size], factors[:size]
                )
                push_features(indices[start:stop], factors[:size], lane, 0, rule, block_weights)


@kernel
def learn_blocks(
    examples: Examples,
    order: NDArray[np.int64],
    rule: Rule,
    lanes: Lanes,
    weights: Weights,
    scores_before: NDArray[np.float32],
) -> None:
    """Train all blocks on the rows in `order`, from dual weights of 0; writes lanes, weights and `scores_before`."""
    n_duals = len(examples.rows.indptr) - 1 if rule.learner == REGULARIZED_WINNOW else 0
    for block in range(weights.weight.shape[0]):
        duals = np.zeros((n_duals, len(lanes.width_tag)), dtype=np.float32)
        learn_rows(examples, order, rule, block, lanes, weights, duals, scores_before)


@kernel
def score_block(
    rows: Rows,
    chosen: NDArray[np.int64],
    places: NDArray[np.int64],
    block: int,
    width_tag: tuple[int, ...],
    weight: NDArray[np.float32],
    scores: NDArray[np.float32],
) -> None:
    """Write the scores of the chosen rows for one block of categories into `scores`, each at its place."""
    indptr, indices, strengths, _ = rows
    width, first = len(width_tag), block * len(width_tag)
    last = min(first + width, scores.shape[1])
    total = np.empty(width, dtype=np.float32)
    block_weight = weight[block]
    for i in range(len(chosen)):
        row = chosen[i]
        score_lanes(indices, strengths, indptr[row], indptr[row + 1], block_weight, width_tag, total)
        for category in range(first, last):
            scores[places[i], category] = total[category - first]


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
