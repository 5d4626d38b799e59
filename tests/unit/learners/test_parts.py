"""A part of a learner, of some categories and features, learns as the whole does; other categories take no time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.problems import LEARNERS, assert_same_bits, random_problem
from thresher import Categorizer
from thresher.errors import TextError
from thresher.kernels.csr import Labels, Rows
from thresher.learners.base import MistakeDrivenLearner
from thresher.learners.dense_weights import DenseWeights
from thresher.model.online_learning import check_size
from thresher.text.vectorizer import FeatureCounts

OTHERS = [f"c{number}" for number in range(40)]
CASES = [
    (name, {"sparse": sparse, "average": average, "discard": discard and not sparse})
    for name in LEARNERS
    for sparse in (False, True)
    for average in (False, True)
    for discard in (False, True)
    if not (sparse and discard)
]


def fitted(name: str, settings: dict[str, Any]) -> tuple[MistakeDrivenLearner, Rows]:
    problem = random_problem(3, n_rows=60, n_features=200, n_categories=40)
    return LEARNERS[name](max_passes=3, **settings).fit(problem.rows, problem.labels), problem.rows


def partial_labels(n_rows: int, categories: list[int], seed: int) -> Labels:
    """Return labels that judge only some categories, some rows by none of them."""
    draw = np.random.default_rng(seed)
    judged = draw.random((n_rows, len(categories))) < 0.7
    ends = np.concatenate(([0], np.cumsum(np.count_nonzero(judged, axis=1))))
    numbers = np.broadcast_to(np.array(categories, dtype=np.int32), judged.shape)[judged]
    signs = np.where(draw.random(judged.shape) < 0.3, 1, -1).astype(np.int8)[judged]
    return Labels(ends, numbers, signs, others=0)


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_a_part_learns_the_same_as_the_whole(name: str, settings: dict[str, Any]) -> None:
    (whole, rows), (other, _) = fitted(name, settings), fitted(name, settings)
    chosen = [3, 17, 38]
    few = Rows(rows.indptr[:6], rows.indices[: rows.indptr[5]], rows.data[: rows.indptr[5]], rows.n_features)
    features, numbers = np.unique(few.indices.astype(np.int64), return_inverse=True)
    assert len(features) < rows.n_features
    renumbered = few._replace(indices=numbers.astype(np.int32), n_features=len(features))
    part = other.copy_part(chosen, features)
    for turn in range(4):
        whole.learn_rows(few, partial_labels(5, chosen, turn), 40)
        part.learn_rows(renumbered, partial_labels(5, [0, 1, 2], turn), 3)
        assert_same_bits(whole.score_rows(few)[:, chosen], part.score_rows(renumbered))
    assert (whole.online_mistakes_ != other.online_mistakes_).any()
    other.put_back_part(part, chosen, features)
    assert_same_bits(whole.weights_, other.weights_)
    assert_same_bits(whole.score_rows(rows), other.score_rows(rows))
    assert whole.online_mistakes_.tolist() == other.online_mistakes_.tolist()
    for learner in (whole, other):  # and all that is kept besides, which later steps depend on
        learner.learn_rows(rows, partial_labels(60, [3, 4, 38], 9), 40)
    assert_same_bits(whole.weights_, other.weights_)


def test_teaching_a_new_category_does_not_touch_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"word{number} word{number + 1} common" for number in range(80)]
    model = Categorizer(preset="fast", min_count=1).fit(texts, [[OTHERS[number % 40]] for number in range(80)])
    copied, scored = list[int](), list[int]()
    copy, score = DenseWeights.copy, DenseWeights.score

    def counting_copy(self: DenseWeights) -> DenseWeights:
        copied.append(self.n_categories)
        return copy(self)

    def counting_score(self: DenseWeights, rows: Rows, n_threads: int) -> Any:
        scored.append(self.n_categories)
        return score(self, rows, n_threads)

    monkeypatch.setattr(DenseWeights, "copy", counting_copy)
    monkeypatch.setattr(DenseWeights, "score", counting_score)
    monkeypatch.setattr("thresher.learners.base.CHUNK_WORK", 8000)  # the documents kept, for all categories
    model.learn("a common text of something new", ["new"])
    assert copied == []
    assert set(scored) == {1}


@pytest.mark.parametrize("sparse", [False, True])
def test_reserving_memory_changes_nothing(sparse: bool, tmp_path: Path) -> None:
    texts = ["crude oil barrel", "wheat corn grain"] * 3
    models = [
        Categorizer(preset="fast", min_count=1, sparse=sparse).fit(texts, ["energy", "grain"] * 3) for _ in range(2)
    ]
    for count in (1, 3, 40, 90):
        before = models[0].digest()
        models[0].state.learner.reserve(count * 500, count)
        assert models[0].digest() == before
        assert models[0].state.learner.has_room(count * 500, count)
        for model in models:
            model.learn(f"oil of kind {count} and more", ["energy", f"new{count}"])
        assert models[0].digest() == models[1].digest()


def test_new_features_of_a_text_are_counted() -> None:
    model = Categorizer(preset="fast", min_count=1, max_features=8).fit(["crude oil", "wheat corn"], ["a", "b"])
    found = FeatureCounts(["oil", "tin", "zinc"], [1, 2, 1])
    assert model.state.features.count_new(found) == 2
    assert model.state.features.count_new(FeatureCounts([f"w{number}" for number in range(20)], [1] * 20)) == 4


def test_very_many_new_words_for_many_categories_are_refused() -> None:
    texts = [f"word{number} common" for number in range(80)]
    model = Categorizer(preset="fast", min_count=1).fit(texts, [[OTHERS[number % 40]] for number in range(80)])
    names = [f"w{number}" for number in range(600_000)]
    check_size(model.state, FeatureCounts(names[:400_000], [1] * 400_000), ["c1"], [])
    with pytest.raises(TextError, match=r"600,000 new features x 40 categories \(teach a part of the text\)"):
        check_size(model.state, FeatureCounts(names, [1] * 600_000), ["c1"], [])
