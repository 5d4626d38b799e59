"""Compare the training time of three learners with scikit-learn's SGD, one vs rest, in turns.

    make bench        or        .venv/bin/python benchmarks/training.py [rounds]

Both get the same square-root counts. Ratios come first: machines differ, and this one may be busy.
"""

import sys
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.multiclass import OneVsRestClassifier

from interleaving import time_interleaved
from planted_problem import SIZES, draw_problem
from thresher import BalancedWinnow, Perceptron, PositiveWinnow
from thresher.learners.base import MistakeDrivenLearner

PEER = "scikit-learn OneVsRest(SGD), n_jobs=2"


def main(rounds: int = 5) -> None:
    """Print each system's median time, its spread and its ratio to the peer's."""
    rows, labels = draw_problem()
    X = sparse.csr_matrix((np.sqrt(rows.data), rows.indices, rows.indptr), shape=(len(labels), rows.n_features))
    Y = np.array([[c in row for c in range(len(SIZES))] for row in labels], dtype=int)
    learners: dict[str, MistakeDrivenLearner] = {
        "BalancedWinnow+ (the defaults)": BalancedWinnow(),
        "BalancedWinnow, basic": BalancedWinnow(threshold_range=None, strength="binary", discard=False),
        "BalancedWinnow+, averaged": BalancedWinnow(average=True),
        "BalancedWinnow+, shuffled": BalancedWinnow(shuffle=True),
        "BalancedWinnow+, one thread": BalancedWinnow(n_threads=1),
        "PositiveWinnow": PositiveWinnow(),
        "Perceptron": Perceptron(),
    }
    systems: dict[str, Callable[[], object]] = {PEER: lambda: OneVsRestClassifier(SGDClassifier(), n_jobs=2).fit(X, Y)}
    systems |= {name: partial(learner.fit, rows, labels) for name, learner in learners.items()}
    seconds = time_interleaved(systems, rounds)
    active = len(rows.indices) / len(labels)
    print(f"{len(labels)} rows, {rows.n_features} features, {active:.1f} active, {len(SIZES)} categories")
    print(f"{'':40} {'x peer':>7} {'median':>8} {'least':>8} {'most':>8}   passes  mistakes")
    for name, times in seconds.items():
        ratio = (
            f"{median(seconds[PEER]) / median(times):7.1f} {median(times):7.3f}s {min(times):7.3f}s {max(times):7.3f}s"
        )
        print(f"{name:40} {ratio}   {_work(learners.get(name))}")


def _work(learner: MistakeDrivenLearner | None) -> str:
    if learner is None:
        return ""
    mistakes, n_passes = learner.mistakes_, learner.n_passes_
    ends = f"(first pass {mistakes[0].sum()}, last {mistakes[-1].sum()})"
    return f"{n_passes.min():2} to {n_passes.max():2} {mistakes.sum():9}  {ends}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
