"""Sparse weights: for each feature, a list of the categories that have met it.

A category without an entry has not met the feature, and has no weight there. Training copies a document's few weights
out of the lists, takes the same step as with dense weights, and writes them back.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.csr import Labels, Rows
from thresher.kernels.dense_weights import LATE, PRESENT, REGULARIZED_WINNOW, Rule, Weights, make_move, step_features
from thresher.kernels.mistake_driven import Examples
from thresher.kernels.regularized_winnow import move_dual_weight, push_features, write_factors


class Lists(NamedTuple):
    """Weights as one list of entries per feature.

    The entries of feature f begin at starts[f]. There are counts[f] of them, sorted by category, with room for
    rooms[f]. Arrays that the learner's rule does not need are empty.
    """

    starts: NDArray[np.int64]
    counts: NDArray[np.int64]
    rooms: NDArray[np.int64]
    categories: NDArray[np.int32]
    weight: NDArray[np.float32]
    positive: NDArray[np.float32]
    negative: NDArray[np.float32]
    moment: NDArray[np.float64]


@kernel
def score_sparse_rows(
    rows: Rows, start: int, stop: int, lists: Lists, weight: NDArray[np.float32], scores: NDArray[np.float32]
) -> None:
    """Write the scores of the rows from `start` to `stop` into `scores`, of shape (rows, categories).

    `weight` holds the weight of each entry. Products are summed in document order, so that each score has the same bits
    as a plain loop over its category.
    """
    indptr, indices, strengths, _ = rows
    for row in range(start, stop):
        row_scores = scores[row]
        row_scores[:] = np.float32(0)
        for j in range(indptr[row], indptr[row + 1]):
            first, count = lists.starts[indices[j]], lists.counts[indices[j]]
            while count > 0 and lists.categories[first + count - 1] >= len(
                row_scores
            ):  # another thread has just added it
                count -= 1
            add_entries(
                lists.categories[first : first + count], weight[first : first + count], strengths[j], row_scores
            )


@kernel
def add_entries(
    categories: NDArray[np.int32], weight: NDArray[np.float32], strength: np.float32, scores: NDArray[np.float32]
) -> None:
    """Add strength x weight to the score of each category.

    Four are added at a time, as no category is listed twice. Unsigned indices save the compiler the case of negative
    ones.
    """
    whole = len(categories) // 4 * 4
    for k in range(0, whole, 4):
        a, b = np.uint64(categories[k]), np.uint64(categories[k + 1])
        c, d = np.uint64(categories[k + 2]), np.uint64(categories[k + 3])
        score_a, score_b = scores[a] + strength * weight[k], scores[b] + strength * weight[k + 1]
        score_c, score_d = scores[c] + strength * weight[k + 2], scores[d] + strength * weight[k + 3]
        scores[a], scores[b], scores[c], scores[d] = score_a, score_b, score_c, score_d
    for k in range(whole, len(categories)):
        scores[np.uint64(categories[k])] += strength * weight[k]


@kernel
def find_place(lists: Lists, feature: int, category: int) -> np.int64:
    """Return the position of the category's entry in the feature's list, or where it would be inserted."""
    low: np.int64 = lists.starts[feature]
    high: np.int64 = low + lists.counts[feature]
    while low < high:
        middle = (low + high) // 2
        if lists.categories[middle] < category:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def has_entry(lists: Lists, feature: int, category: int, place: np.int64) -> bool:
    """Return whether the entry at a position found by `find_place` is the category's."""
    return place < lists.starts[feature] + lists.counts[feature] and bool(lists.categories[place] == category)


@kernel
def take_out(features: NDArray[np.int32], category: int, rule: Rule, lists: Lists, weights: Weights) -> None:
    """Copy the category's weights of some features into `weights`, of shape (features, 1)."""
    for j in range(len(features)):
        place = find_place(lists, features[j], category)
        known = has_entry(lists, features[j], category, place)
        weights.absent[j, 0] = PRESENT if known else LATE
        weights.weight[j, 0] = lists.weight[place] if known else np.float32(0)
        if len(weights.positive):
            weights.positive[j, 0] = lists.positive[place] if known else rule.initial_positive
            weights.negative[j, 0] = lists.negative[place] if known else rule.initial_negative
        if len(weights.moment):
            weights.moment[j, 0] = lists.moment[place] if known else np.float64(0)


@kernel
def put_back(features: NDArray[np.int32], category: int, weights: Weights, lists: Lists) -> None:
    """Copy weights back into the lists, which must have room for new entries."""
    for j in range(len(features)):
        if weights.absent[j, 0] != PRESENT:
            continue
        feature = features[j]
        place = find_place(lists, feature, category)
        if not has_entry(lists, feature, category, place):
            insert(lists, feature, place)
            lists.categories[place] = category
        lists.weight[place] = weights.weight[j, 0]
        if len(weights.positive):
            lists.positive[place] = weights.positive[j, 0]
            lists.negative[place] = weights.negative[j, 0]
        if len(weights.moment):
            lists.moment[place] = weights.moment[j, 0]


@kernel
def insert(lists: Lists, feature: int, place: np.int64) -> None:
    """Make room for one more entry at a position of the feature's list."""
    for k in range(lists.starts[feature] + lists.counts[feature], place, -1):
        lists.categories[k], lists.weight[k] = lists.categories[k - 1], lists.weight[k - 1]
        if len(lists.positive):
            lists.positive[k], lists.negative[k] = lists.positive[k - 1], lists.negative[k - 1]
        if len(lists.moment):
            lists.moment[k] = lists.moment[k - 1]
    lists.counts[feature] += 1


@kernel
def set_row_targets(labels: Labels, row: int, targets: NDArray[np.int8]) -> None:
    """Write the row's label for each category into `targets`, 0 if it has none."""
    targets[:] = labels.others
    for k in range(labels.indptr[row], labels.indptr[row + 1]):
        targets[labels.categories[k]] = labels.signs[k]


@kernel
def write_changes(
    examples: Examples,
    row: int,
    rule: Rule,
    targets: NDArray[np.int8],
    scores: NDArray[np.float32],
    changes: NDArray[np.float32],
) -> int:
    """Write into `changes` how far the row's mistakes move each category, or 0; return how many categories move.

    In Regularized Winnow, a document starts with a dual weight of 0. In other learners, a change is +1 or -1.
    """
    count = 0
    k = row if len(examples.steps.promotion) > 1 else 0
    caps_up, caps_down = examples.steps.promotion[k], examples.steps.demotion[k]
    for c in range(len(targets)):
        changes[c] = np.float32(0)
        if targets[c] == 0:
            continue
        up = targets[c] > 0
        if rule.learner == REGULARIZED_WINNOW:
            dual = move_dual_weight(np.float32(0), scores[c], up, rule, caps_up if up else caps_down)
            changes[c] = dual if up else -dual
        elif scores[c] <= rule.high if up else scores[c] >= rule.low:
            changes[c] = np.float32(targets[c])
        count += changes[c] != 0
    return count


@kernel
def learn_sparse_rows(
    examples: Examples,
    first: int,
    last: int,
    rule: Rule,
    seen: NDArray[np.int64],
    mistakes: NDArray[np.int64],
    lists: Lists,
) -> tuple[int, int]:
    """Train on the rows from `first` to `last`; writes `seen` and `mistakes` by category, and the lists.

    Return the row that training reached, and how many more entries each list of that row needs room for, or 0 at the
    end. A row that needs room has changed nothing, and is the next to start with.
    """
    indptr, indices, strengths, _ = examples.rows
    others = examples.labels.others
    longest = np.int64(0)
    for row in range(first, last):
        longest = max(longest, indptr[row + 1] - indptr[row])
    few = Weights(
        np.empty((longest, 1), dtype=np.float32),
        np.empty((longest if len(lists.positive) else 0, 1), dtype=np.float32),
        np.empty((longest if len(lists.positive) else 0, 1), dtype=np.float32),
        np.empty((longest, 1), dtype=np.uint8),
        np.empty((longest if len(lists.moment) else 0, 1), dtype=np.float64),
    )
    rounded, factors = np.empty(longest, dtype=np.float64), np.empty(longest, dtype=np.float64)
    numbers = np.arange(longest).astype(np.int32)
    scores = np.empty((1, len(seen)), dtype=np.float32)
    targets, changes = np.empty(len(seen), dtype=np.int8), np.empty(len(seen), dtype=np.float32)
    for row in range(first, last):
        start, stop = indptr[row], indptr[row + 1]
        size = stop - start
        if others == 0 and examples.labels.indptr[row] == examples.labels.indptr[row + 1]:
            continue
        one_row = Rows(indptr[row : row + 2], indices, strengths, examples.rows.n_features)
        score_sparse_rows(one_row, 0, 1, lists, lists.weight, scores)
        set_row_targets(examples.labels, row, targets)
        wanted = write_changes(examples, row, rule, targets, scores[0], changes)
        for j in range(start, stop):
            if wanted > lists.rooms[indices[j]] - lists.counts[indices[j]]:
                return row, wanted
        for c in range(len(targets)):
            seen[c] += targets[c] != 0
            if changes[c] == 0:
                continue
            mistakes[c] += 1
            take_out(indices[start:stop], c, rule, lists, few)
            if rule.learner == REGULARIZED_WINNOW:
                write_factors(strengths[start:stop], changes[c], rounded[:size], factors[:size])
                push_features(numbers[:size], factors[:size], 0, seen[c], rule, few)
            else:
                move = make_move(examples.steps, row, 0, changes[c] > 0, seen[c])
                step_features(numbers[:size], move, rule, few)
            put_back(indices[start:stop], c, few, lists)
    return last, 0


@kernel
def order_by_feature(features: NDArray[np.int32], starts: NDArray[np.int64], order: NDArray[np.int64]) -> None:
    """Write the position of each entry into `order`, so that the entries of a feature are contiguous from its start."""
    ends = starts.copy()
    for k in range(len(features)):
        order[k] = ends[features[k]]
        ends[features[k]] += 1


@kernel
def move_lists(source: Lists, target: Lists) -> None:
    """Copy all entries into lists with starts of their own and enough room."""
    for feature in range(len(source.starts)):
        count, old, new = source.counts[feature], source.starts[feature], target.starts[feature]
        target.counts[feature] = count
        for k in range(count):
            target.categories[new + k] = source.categories[old + k]
            target.weight[new + k] = source.weight[old + k]
            if len(target.positive):
                target.positive[new + k] = source.positive[old + k]
                target.negative[new + k] = source.negative[old + k]
            if len(target.moment):
                target.moment[new + k] = source.moment[old + k]


@kernel
def trim_lists(lists: Lists, n_categories: int) -> None:
    """Keep only the entries of the first `n_categories` categories; the others are last in each list."""
    for feature in range(len(lists.starts)):
        lists.counts[feature] = find_place(lists, feature, n_categories) - lists.starts[feature]


@kernel
def write_entry_means(lists: Lists, examples: NDArray[np.int64], mean: NDArray[np.float32]) -> None:
    """Write each entry's mean weight over its category's examples into `mean`, computed in float64 and rounded once."""
    for feature in range(len(lists.starts)):
        for place in range(lists.starts[feature], lists.starts[feature] + lists.counts[feature]):
            weight, category = np.float64(lists.weight[place]), lists.categories[place]
            count = examples[category] if category < len(examples) else 0  # another thread has just added it
            if count > 0:
                weight = weight - np.float64(lists.moment[place] / count)
            mean[place] = np.float32(weight)


@kernel
def write_weights_of(
    lists: Lists,
    category: int,
    features: NDArray[np.int64],
    weight: NDArray[np.float32],
    category_weights: NDArray[np.float32],
) -> None:
    """Write the category's weights of some features into `category_weights`, taken from the entries' `weight`."""
    for j in range(len(features)):
        place = find_place(lists, features[j], category)
        category_weights[j] = weight[place] if has_entry(lists, features[j], category, place) else np.float32(0)
