"""Weights kept by feature, as lists of the categories that have met it: scored, searched and learned.

A category without an entry has not met the feature: it weighs nothing there. The step itself is that of the blocks,
made on a document's few weights, which are taken out of the lists and put back.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.passes import Examples
from thresher.kernels.regularized import push_features, write_factors
from thresher.kernels.rows import Labels, Rows
from thresher.kernels.weights import LATE, PRESENT, REGULARIZED_WINNOW, Rule, Weights, move_of, step_features


class Lists(NamedTuple):
    """The entries of feature f are those from starts[f] on, counts[f] of them by category, with room for rooms[f].

    Arrays that the learner's rule does not need are empty.
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
def score_listed(
    rows: Rows, start: int, stop: int, lists: Lists, weight: NDArray[np.float32], scores: NDArray[np.float32]
) -> None:
    """Write into `scores` (rows, categories) the scores of the rows from start to stop, made of the entries' `weight`.

    Products are summed in document order, so that each score has the bits of a plain loop over its category.
    """
    indptr, indices, strengths, _ = rows
    for row in range(start, stop):
        own = scores[row]
        own[:] = np.float32(0)
        for j in range(indptr[row], indptr[row + 1]):
            first, count = lists.starts[indices[j]], lists.counts[indices[j]]
            while count > 0 and lists.categories[first + count - 1] >= len(own):  # another thread has just added it
                count -= 1
            add_entries(lists.categories[first : first + count], weight[first : first + count], strengths[j], own)


@kernel
def add_entries(
    categories: NDArray[np.int32], weight: NDArray[np.float32], strength: np.float32, scores: NDArray[np.float32]
) -> None:
    """Add to the score of each category its product; four at a time, for no category is listed twice.

    Unsigned places spare the compiler the thought of negative ones.
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
def place_of(lists: Lists, feature: int, category: int) -> np.int64:
    """Return where the category's entry stands in the feature's list, or would have to."""
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
    """Tell whether the entry at a place, found by `place_of`, is the category's."""
    return place < lists.starts[feature] + lists.counts[feature] and bool(lists.categories[place] == category)


@kernel
def take_out(features: NDArray[np.int32], category: int, rule: Rule, lists: Lists, weights: Weights) -> None:
    """Write the category's weights of some features into `weights`, (features, 1)."""
    for j in range(len(features)):
        place = place_of(lists, features[j], category)
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
    """Write weights that were taken out into the lists; those that are new must find room there."""
    for j in range(len(features)):
        if weights.absent[j, 0] != PRESENT:
            continue
        feature = features[j]
        place = place_of(lists, feature, category)
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
    """Make room for one more entry at a place of the feature's list."""
    for k in range(lists.starts[feature] + lists.counts[feature], place, -1):
        lists.categories[k], lists.weight[k] = lists.categories[k - 1], lists.weight[k - 1]
        if len(lists.positive):
            lists.positive[k], lists.negative[k] = lists.positive[k - 1], lists.negative[k - 1]
        if len(lists.moment):
            lists.moment[k] = lists.moment[k - 1]
    lists.counts[feature] += 1


@kernel
def set_row_targets(labels: Labels, row: int, targets: NDArray[np.int8]) -> None:
    """Write into `targets` the row's label for each category: 0 where it is left alone."""
    targets[:] = labels.others
    for k in range(labels.indptr[row], labels.indptr[row + 1]):
        targets[labels.categories[k]] = labels.signs[k]


@kernel
def find_changes(
    examples: Examples,
    row: int,
    rule: Rule,
    targets: NDArray[np.int8],
    scores: NDArray[np.float32],
    changes: NDArray[np.float32],
) -> int:
    """Write into `changes` how far each category's mistake on the row moves it, or 0; returns how many do.

    Regularized Winnow's document starts with a dual weight of 0; any other step is a whole one, up or down.
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
            gap = rule.high - scores[c] if up else scores[c] - rule.low
            wanted = np.float32(0) + rule.rate * gap
            wanted = min(max(wanted, np.float32(0)), caps_up if up else caps_down)
            changes[c] = wanted if up else -wanted
        elif scores[c] <= rule.high if up else scores[c] >= rule.low:
            changes[c] = np.float32(targets[c])
        count += changes[c] != 0
    return count


@kernel
def learn_listed(
    examples: Examples,
    first: int,
    last: int,
    rule: Rule,
    seen: NDArray[np.int64],
    mistakes: NDArray[np.int64],
    lists: Lists,
) -> tuple[int, int]:
    """Learn the rows from first to last; writes `seen` and `mistakes` by category, and the lists.

    Returns the row that it has come to, and how many entries more it wants room for in each list of that row: 0 at the
    end. The row has changed nothing then, and is the next to begin with.
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
        own = Rows(indptr[row : row + 2], indices, strengths, examples.rows.n_features)
        score_listed(own, 0, 1, lists, lists.weight, scores)
        set_row_targets(examples.labels, row, targets)
        wanted = find_changes(examples, row, rule, targets, scores[0], changes)
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
                move = move_of(examples.steps, row, 0, changes[c] > 0, seen[c])
                step_features(numbers[:size], move, rule, few)
            put_back(indices[start:stop], c, few, lists)
    return last, 0


@kernel
def order_by_feature(features: NDArray[np.int32], starts: NDArray[np.int64], order: NDArray[np.int64]) -> None:
    """Write into `order` where each entry goes, if those of a feature stand together from its start on."""
    ends = starts.copy()
    for k in range(len(features)):
        order[k] = ends[features[k]]
        ends[features[k]] += 1


@kernel
def move_lists(source: Lists, target: Lists) -> None:
    """Copy all entries into lists that have their own starts, and rooms large enough."""
    for feature in range(len(source.starts)):
        count, old, new = source.counts[feature], source.starts[feature], target.starts[feature]
        target.counts[feature] = count
        target.categories[new : new + count] = source.categories[old : old + count]
        target.weight[new : new + count] = source.weight[old : old + count]
        if len(target.positive):
            target.positive[new : new + count] = source.positive[old : old + count]
            target.negative[new : new + count] = source.negative[old : old + count]
        if len(target.moment):
            target.moment[new : new + count] = source.moment[old : old + count]


@kernel
def trim_lists(lists: Lists, n_categories: int) -> None:
    """Drop the entries of all but the first categories, which stand last in each list."""
    for feature in range(len(lists.starts)):
        lists.counts[feature] = place_of(lists, feature, n_categories) - lists.starts[feature]


@kernel
def mean_of_entries(lists: Lists, examples: NDArray[np.int64], mean: NDArray[np.float32]) -> None:
    """Write into `mean` each entry's mean weight over its category's examples, made in float64 and rounded once."""
    for feature in range(len(lists.starts)):
        for place in range(lists.starts[feature], lists.starts[feature] + lists.counts[feature]):
            weight, category = np.float64(lists.weight[place]), lists.categories[place]
            count = examples[category] if category < len(examples) else 0  # another thread has just added it
            if count > 0:
                weight = weight - np.float64(lists.moment[place] / count)
            mean[place] = np.float32(weight)


@kernel
def weights_of(
    lists: Lists, category: int, features: NDArray[np.int64], weight: NDArray[np.float32], found: NDArray[np.float32]
) -> None:
    """Write into `found` the category's weights of some features, taken from the entries' `weight`."""
    for j in range(len(features)):
        place = place_of(lists, features[j], category)
        found[j] = weight[place] if has_entry(lists, features[j], category, place) else np.float32(0)
