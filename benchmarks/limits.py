"""Compare training and scoring with the limit of the machine: bytes per second, next to those of a plain triad.

    THRESHER_DATA=FOLDER .venv/bin/python benchmarks/limits.py

FOLDER holds reuters21578.tar.xz. For each feature of a document the kernels read one row of sixteen weights, 64 bytes,
and 8 bytes of the document. The triad, a[i] = b[i] + s x c[i] over float32, runs on arrays as large as one block's
weights, which fit into the processor's second cache, and on arrays that fit into none; all on one thread.
"""

import time
from statistics import median

import numpy as np
from numpy.typing import NDArray

from reuters import documents
from thresher import BalancedWinnow
from thresher.kernels.compiler import kernel
from thresher.text.vectorizer import TextFeatures

ROUNDS, LANES, PER_FEATURE = 7, 16, 72


@kernel
def triad(a: NDArray[np.float32], b: NDArray[np.float32], c: NDArray[np.float32], s: np.float32, times: int) -> None:
    """Write b + s x c into a, `times` times."""
    for _ in range(times):
        for i in range(len(a)):
            a[i] = b[i] + s * c[i]


def measure_triad(n_floats: int) -> float:
    """Return the gigabytes a second of the triad."""
    a, b, c = (np.ones(n_floats, dtype=np.float32) for _ in range(3))
    times = max(1, 2**26 // n_floats)
    triad(a, b, c, np.float32(2), 1)
    speeds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        triad(a, b, c, np.float32(2), times)
        speeds.append(12 * n_floats * times / (time.perf_counter() - start) / 1e9)
    return median(speeds)


def main() -> None:
    """Print the table."""
    texts, topics = documents("train")
    names = sorted({name for row in topics for name in row})[:90]
    labels = [[names.index(name) for name in row if name in names] for row in topics]
    rows = TextFeatures(min_count=3).fit(texts)
    learner = BalancedWinnow(n_threads=1)
    learner.fit(rows, labels, n_categories=len(names))
    training, scoring = [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        learner.fit(rows, labels, n_categories=len(names))
        training.append(time.perf_counter() - start)
        start = time.perf_counter()
        learner.score(rows)
        scoring.append(time.perf_counter() - start)
    passes = [int(block.max()) for block in np.array_split(learner.n_passes_, range(LANES, len(names), LANES))]
    visited, once = sum(passes) * len(rows.indices), len(passes) * len(rows.indices)
    small, large = rows.n_features * LANES // 3, 2**25
    print(f"{len(texts)} documents, {rows.n_features} features, {len(passes)} blocks, passes {passes}")
    for name, count, seconds in (("training", visited, training), ("scoring", once, scoring)):
        speed = count * PER_FEATURE / median(seconds) / 1e9
        remark = f"{count / 1e6:.0f} million rows of weights in {median(seconds):.3f} s"
        print(f"{name:30} {speed:6.1f} GB/s  {remark}, {1e9 * median(seconds) / count:.2f} ns each")
    print(f"{'triad, in the second cache':30} {measure_triad(small):6.1f} GB/s  {12 * small / 1e6:.1f} MB")
    print(f"{'triad, from memory':30} {measure_triad(large):6.1f} GB/s  {12 * large / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
