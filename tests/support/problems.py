"""Small learning problems of every kind, and the comparison of a learner with its naive twin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from support import naive
from thresher import BalancedWinnow, Perceptron, PositiveWinnow, RegularizedWinnow, Rows
from thresher.kernels.dense_weights import Weights
from thresher.learners.base import MistakeDrivenLearner
from thresher.learners.dense_weights import DenseWeights

LEARNERS: dict[str, type[MistakeDrivenLearner]] = {
    learner.__name__: learner for learner in (BalancedWinnow, PositiveWinnow, Perceptron, RegularizedWinnow)
}


@dataclass(frozen=True)
class Problem:
    """Documents as feature counts, with their label sets."""

    documents: Sequence[naive.Document]
    labels: Sequence[set[int]]
    n_features: int
    n_categories: int

    @property
    def rows(self) -> Rows:
        return as_rows(self.documents, self.n_features)

    def part(self, start: int, stop: int) -> "Problem":
        return Problem(self.documents[start:stop], self.labels[start:stop], self.n_features, self.n_categories)


def as_rows(documents: Sequence[naive.Document], n_features: int) -> Rows:
    """Write documents as sparse rows."""
    ordered = [sorted(document.items()) for document in documents]
    return Rows(
        np.cumsum([0] + [len(document) for document in ordered]),
        np.array([feature for document in ordered for feature, _ in document], dtype=np.int32),
        np.array([count for document in ordered for _, count in document], dtype=np.float32),
        n_features,
    )


def dense_rows(counts: Sequence[Sequence[int]]) -> Rows:
    """Return rows of counts that are given with their zeros."""
    dense = np.array(counts)
    documents, features = np.nonzero(dense)
    ends = np.concatenate(([0], np.cumsum((dense > 0).sum(axis=1))))
    data = dense[documents, features].astype(np.float32)
    return Rows(ends.astype(np.int64), features.astype(np.int32), data, dense.shape[1])


def weights_in_blocks(learner: MistakeDrivenLearner) -> Weights:
    """Return the arrays of a learner that keeps all weights."""
    blocks = learner.get_weights()
    assert isinstance(blocks, DenseWeights)
    return blocks.weights


def random_problem(seed: int, n_rows: int = 14, n_features: int = 7, n_categories: int = 5) -> Problem:
    """Draw documents whose categories depend on a feature each, with some noise."""
    rng = np.random.default_rng(seed)
    documents, labels = [], []
    for _ in range(n_rows):
        features = rng.choice(n_features, rng.integers(1, n_features), replace=False)
        documents.append({int(f): float(rng.integers(1, 5)) for f in features})
        labels.append({c for c in range(n_categories) if (c % n_features in features) != (rng.random() < 0.1)})
    return Problem(documents, labels, n_features, n_categories)


def degenerate_problems() -> dict[str, Problem]:
    """Return the problems that a careless loop trips over."""
    usual = random_problem(1)
    return {
        "random": usual,
        "empty rows": Problem([{}, {0: 1.0}, {}, {0: 2.0, 1: 1.0}], [{0}, {1}, set(), {0, 1}], 2, 2),
        "one feature": Problem([{0: 1.0}, {0: 3.0}, {0: 2.0}], [{0}, set(), {0}], 1, 1),
        "duplicate rows": Problem(
            [usual.documents[0]] * 3 + [usual.documents[1]] * 3, [{0}, {0}, {1}, {1}, {1}, set()], 7, 2
        ),
        "all negative": Problem(usual.documents, [set() for _ in usual.documents], 7, 3),
    }


SWITCHES: dict[str, tuple[Any, ...]] = {
    "threshold_range": (None, (0.9, 1.1), (-0.5, 2.0)),
    "strength": ("binary", "linear", "sqrt"),
    "normalize": (False, True),
    "shuffle": (False, True),
    "discard_range": (None, "initial", "zero", (-0.05, 0.3)),
    "average": (False, True),
    "sparse": (False, True),
}


def settings_of(choice: Mapping[str, Any]) -> dict[str, Any]:
    """Return learner settings for a choice of switches; a discard range of None switches discarding off."""
    settings = dict(choice)
    if settings.get("discard_range", "initial") is None:
        settings |= {"discard": False, "discard_range": "initial"}
    return settings


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw a problem of any shape within a few rows, features and categories."""
    n_features, n_categories = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    counts = st.one_of(st.integers(1, 6), st.floats(2**-10, 2**10, width=32)).map(float)
    document = st.dictionaries(st.integers(0, n_features - 1), counts)
    pairs = st.tuples(document, st.sets(st.integers(0, n_categories - 1)))
    chosen = draw(st.lists(pairs, min_size=1, max_size=7))
    return Problem([d for d, _ in chosen], [labels for _, labels in chosen], n_features, n_categories)


@st.composite
def choices(draw: st.DrawFn) -> dict[str, Any]:
    """Draw any combination of switches and parameters."""
    choice = {name: draw(st.sampled_from(values)) for name, values in SWITCHES.items()}
    return settings_of(choice) | {
        "theta": draw(st.sampled_from((1.0, 0.3, 4.0))),
        "alpha": draw(st.sampled_from((1.1, 1.5, 3.0))),
        "average_active": draw(st.sampled_from((None, 3.0))),
        "max_passes": draw(st.integers(1, 7)),
        "seed": draw(st.integers(0, 2**70)),
        "discard_below": draw(st.sampled_from((0.0, 0.2, 1.0))),
        "discard_by_pass": draw(st.integers(1, 4)),
        "discard_final": draw(st.booleans()),
        "late_start": draw(st.sampled_from(("initial", "zero"))),
        "tolerance": draw(st.sampled_from((0.0, 0.05, 0.5))),
    }


def assert_same_bits(left: Any, right: Any) -> None:
    """Assert that two float32 arrays hold the same bits."""
    left, right = np.ascontiguousarray(left, dtype=np.float32), np.ascontiguousarray(right, dtype=np.float32)
    np.testing.assert_array_equal(left, right)
    assert left.tobytes() == right.tobytes()


def assert_equals_twin(learner: MistakeDrivenLearner, problem: Problem, twin: naive.Learner) -> None:
    """Assert that a learner and its naive twin agree in weights, scores, mistakes and dropped features."""
    assert_same_bits(learner.weights_, twin.weights())
    assert_same_bits(learner.score(problem.rows), twin.scores(problem.documents))
    assert learner.discarded_.tolist() == [len(category.dropped) for category in twin.categories]
    if twin.mistakes:
        assert learner.n_passes_.tolist() == [len(mistakes) for mistakes in twin.mistakes]
        for c, mistakes in enumerate(twin.mistakes):
            assert learner.mistakes_[: len(mistakes), c].tolist() == mistakes


def fit_both(name: str, settings: Mapping[str, Any], problem: Problem) -> tuple[MistakeDrivenLearner, naive.Learner]:
    """Fit a learner and its naive twin."""
    own = {key: value for key, value in settings.items() if key in LEARNERS[name].__dataclass_fields__}
    learner = LEARNERS[name](**own).fit(problem.rows, problem.labels, n_categories=problem.n_categories)
    twin = naive.Learner(name, learner.get_params())
    return learner, twin.fit(problem.documents, problem.labels, problem.n_features, problem.n_categories)


def state(learner: Any) -> bytes:
    """Return everything that a learner knows, as bytes."""
    blocks = learner._weights
    parts = [*blocks.weights, blocks.examples, learner.positives_, learner.mistakes_, learner.online_mistakes_]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
