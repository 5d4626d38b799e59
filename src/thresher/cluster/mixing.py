"""Training with the documents shared out: each worker makes a pass over its own, then the weights are mixed.

This is iterative parameter mixing (McDonald, Hall and Mann, 2010), another algorithm than the exact one: its model
depends on how the documents are shared out. Weights that are multiplied are mixed in the exponent: geometric means.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.cluster import stored
from thresher.cluster.clients import Cluster
from thresher.errors import ParameterError
from thresher.kernels.elementary import exponential, logarithm
from thresher.kernels.passes import Examples
from thresher.kernels.rows import Labels, Rows
from thresher.kernels.weights import PERCEPTRON, REGULARIZED_WINNOW, Steps, Weights
from thresher.learners.blocks import Blocks, Matrices
from thresher.learners.listed_weights import ListedWeights
from thresher.learners.training import History, Plan, Schedule, Training

Ranges = list[tuple[int, int]]


def train_mixed(
    cluster: Cluster, folder: Path, ranges: Ranges, examples: Examples, plan: Plan
) -> tuple[Blocks | ListedWeights, History]:
    """Make passes over ranges of rows, each on a worker, and mix the weights after each pass.

    It ends with a pass in which no worker erred, or the last one allowed.
    """
    _check(plan)
    blocks = Blocks(plan.start, examples.rows.n_features, plan.n_categories)
    _write(folder, "mixed", blocks.matrices(list(range(plan.n_categories))))
    mistakes: list[NDArray[np.int64]] = []
    for number in range(1, plan.schedule.max_passes + 1):
        work = [
            (pass_over, folder, examples.rows.n_features, examples.steps, plan, span, i, number)
            for i, span in enumerate(ranges)
        ]
        mistakes.append(np.sum(cluster.gather("pass", work, None), axis=0))
        cluster.gather("mix", [(mix, folder, examples.rows.n_features, plan, len(ranges))], None)
        if not mistakes[-1].any():
            break
    made = np.stack(mistakes)
    n_examples = np.full(plan.n_categories, len(made) * (len(examples.rows.indptr) - 1), dtype=np.int64)
    matrices = Matrices(_read(folder, "mixed", examples.rows.n_features, plan), n_examples)
    return Blocks.from_matrices(plan.start, matrices), History(made, np.full(plan.n_categories, len(made)))


def _check(plan: Plan) -> None:
    if plan.rule.learner == REGULARIZED_WINNOW:
        raise ParameterError("mix=True is not for regularized-winnow, whose documents have weights too (preset paper)")
    if plan.sparse or plan.start.average or plan.start.discard:
        raise ParameterError("mix=True takes no sparse, averaged or discarded weights (sparse, average, discard=False)")


def pass_over(
    folder: Path, n_features: int, steps: Steps, plan: Plan, span: tuple[int, int], shard: int, number: int
) -> NDArray[np.int64]:
    """Make one pass over a range of rows from the mixed weights on; returns the mistakes by category."""
    weights = Weights._make(array.copy() for array in _read(folder, "mixed", n_features, plan))
    blocks = Blocks.from_matrices(plan.start, Matrices(weights, np.zeros(plan.n_categories, dtype=np.int64)))
    schedule = Schedule(1, plan.schedule.shuffle, plan.schedule.seed + number, None)
    rows, labels = _rows_in(stored.read_rows(folder, "strong", n_features), stored.read_labels(folder, "labels"), span)
    history = Training(Examples(rows, labels, steps), plan.rule, schedule, blocks).run(n_threads=1)
    _write(folder, f"shard-{shard}", blocks.matrices(list(range(plan.n_categories))))
    return np.asarray(history.mistakes[0])


def _rows_in(rows: Rows, labels: Labels, span: tuple[int, int]) -> tuple[Rows, Labels]:
    first, last = span
    own, judged = (slice(int(ends[first]), int(ends[last])) for ends in (rows.indptr, labels.indptr))
    some = Rows(rows.indptr[first : last + 1] - rows.indptr[first], rows.indices[own], rows.data[own], rows.n_features)
    ends = labels.indptr[first : last + 1] - labels.indptr[first]
    return some, Labels(ends, labels.categories[judged], labels.signs[judged], labels.others)


def mix(folder: Path, n_features: int, plan: Plan, n_shards: int) -> None:
    """Take the means of the shards' weights, in their order: geometric ones where weights are multiplied."""
    parts = [_read(folder, f"shard-{shard}", n_features, plan) for shard in range(n_shards)]
    if plan.start.balanced:
        positive, negative = (_geometric([getattr(part, name) for part in parts]) for name in ("positive", "negative"))
        mixed = parts[0]._replace(weight=positive - negative, positive=positive, negative=negative)
    else:
        mean = _arithmetic if plan.rule.learner == PERCEPTRON else _geometric
        mixed = parts[0]._replace(weight=mean([part.weight for part in parts]))
    _write(folder, "mixed", Matrices(mixed, np.zeros(0, dtype=np.int64)))


def _arithmetic(arrays: list[NDArray[Any]]) -> NDArray[np.float32]:
    return _mean(arrays).astype(np.float32)


def _geometric(arrays: list[NDArray[Any]]) -> NDArray[np.float32]:
    return exponential(_mean([logarithm(array) for array in arrays])).astype(np.float32)


def _mean(arrays: list[NDArray[Any]]) -> NDArray[np.float64]:
    total = np.zeros(arrays[0].shape)
    for array in arrays:
        total += array
    return total / len(arrays)


def _write(folder: Path, name: str, matrices: Matrices) -> None:
    for part in Weights._fields:
        stored.write(folder, f"{name}.{part}", getattr(matrices.weights, part))


def _read(folder: Path, name: str, n_features: int, plan: Plan) -> Weights:
    empty = Blocks(plan.start, 0, plan.n_categories).matrices(list(range(plan.n_categories)))
    kinds = {part: getattr(empty.weights, part).dtype for part in Weights._fields}
    found = (stored.read(folder, f"{name}.{part}", kind) for part, kind in kinds.items())
    return Weights._make(array.reshape(-1, plan.n_categories) for array in found)
