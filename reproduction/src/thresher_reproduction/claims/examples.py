"""Synthetic examples for the claims that need no collection: sparse Boolean instances of a known target function."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.learners import BalancedWinnow, Perceptron, PositiveWinnow
from thresher.learners.base import MistakeDrivenLearner

# The paper's basic versions (section 3): binary strengths, one threshold, no normalization, no discarding.
BASIC: dict[str, Any] = {
    "strength": "binary",
    "normalize": False,
    "threshold_range": None,
    "discard": False,
    "n_threads": 1,
}
LEARNERS: dict[str, type[MistakeDrivenLearner]] = {
    "Positive Winnow": PositiveWinnow,
    "Balanced Winnow": BalancedWinnow,
    "Perceptron": Perceptron,
}


class Target(NamedTuple):
    """At least `least` of `relevant` features: a disjunction if that is one, a conjunction if it is all of them."""

    name: str
    least: int
    relevant: int


class Examples(NamedTuple):
    """Instances and their labels."""

    rows: Rows
    labels: NDArray[np.bool_]


def new_generator(seed: int, *parts: int) -> np.random.Generator:
    """Return the random generator of one part of an experiment."""
    return np.random.Generator(np.random.PCG64([seed, *parts]))


def draw_examples(
    draw: np.random.Generator, target: Target, n_features: int, n_active: int, count: int, first: int = 0
) -> Examples:
    """Draw examples, about half of them positive, of a target whose relevant features start at `first`.

    A positive example has from `least` to all of the relevant features, a negative one fewer than `least`; each number
    is equally likely. Irrelevant features are drawn `n_active` times with replacement, so slightly fewer are active.
    """
    least, relevant = target.least, target.relevant
    labels = draw.random(count) < 0.5
    present = np.where(labels, draw.integers(least, relevant + 1, count), draw.integers(0, least, count))
    chosen = draw.random((count, relevant)).argsort(axis=1) < present[:, np.newaxis]
    irrelevant = draw.integers(0, n_features - relevant, (count, n_active), dtype=np.int32)
    irrelevant += (relevant * (irrelevant >= first)).astype(np.int32)
    wanted = np.where(chosen, np.arange(first, first + relevant, dtype=np.int32), np.int32(n_features))
    return Examples(_rows(np.concatenate((wanted, irrelevant), axis=1), n_features), labels)


def _rows(indices: NDArray[np.int32], n_features: int) -> Rows:
    """Return the rows of these indices, without repetitions and without indices beyond the last feature."""
    indices.sort(axis=1)
    active = indices < n_features
    active[:, 1:] &= indices[:, 1:] != indices[:, :-1]
    indptr = np.append(0, np.cumsum(np.count_nonzero(active, axis=1)))
    return Rows(indptr, indices[active], np.ones(indptr[-1], dtype=np.float32), n_features)


def as_sets(labels: NDArray[np.bool_]) -> list[list[int]]:
    """Return the labels of one category in the form that learners take."""
    return [[0] if label else [] for label in labels]


def new_basic_learner(name: str, step: float, **settings: Any) -> MistakeDrivenLearner:
    """Return a learner in the paper's basic version; a Winnow's demotion is the inverse of its promotion."""
    factors = {"alpha": step} if name == "Perceptron" else {"alpha": step, "beta": 1 / step}
    return LEARNERS[name](**BASIC | factors | settings)


def count_online_mistakes(learner: MistakeDrivenLearner, examples: Examples) -> int:
    """Return the number of mistakes that a learner makes on further examples, seen once."""
    before = int(learner.online_mistakes_[0]) if learner.is_fitted else 0
    learner.partial_fit(examples.rows, as_sets(examples.labels), n_categories=1)
    return int(learner.online_mistakes_[0]) - before
