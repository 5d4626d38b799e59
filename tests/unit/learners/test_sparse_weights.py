"""Sparse weights: they score like dense ones, and their models learn, change and are saved."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.problems import LEARNERS, assert_same_bits, random_problem
from thresher import BalancedWinnow, Categorizer, RegularizedWinnow, Rows
from thresher.errors import ModelFileError, ParameterError, RowsError
from thresher.learners.sparse_weights import SparseWeights
from thresher.model.factories import MAX_DENSE, fit_to_size
from thresher.model.settings import ModelSettings
from thresher.model_file.io import read_model, write_model
from thresher.rows.labels import label_one_row

TEXTS = [
    "crude oil prices rose on the market",
    "oil and gas fields in the north sea",
    "the wheat harvest was good this year",
    "corn and wheat exports fell",
    "gold and silver mines",
    "the gold price rose with silver",
] * 6
CATEGORIES = [["energy"], ["energy"], ["grain"], ["grain", "trade"], ["metal"], ["metal", "trade"]] * 6
SMALL = {"discard": True, "discard_range": (-0.1, 0.1), "discard_below": 0.0, "discard_by_pass": 3}


def sparse_model(**settings: Any) -> Categorizer:
    return Categorizer(preset="fast", sparse=True, **settings).fit(TEXTS, CATEGORIES)


def listed(model: Categorizer) -> SparseWeights:
    found = model.state.learner.get_weights()
    assert isinstance(found, SparseWeights)
    return found


def test_sparse_regularized_winnow_scores_like_dense() -> None:
    problem = random_problem(5, n_rows=40, n_features=20, n_categories=40)
    dense, sparse = (RegularizedWinnow(sparse=sparse).fit(problem.rows, problem.labels) for sparse in (False, True))
    assert_same_bits(dense.score(problem.rows), sparse.score(problem.rows))
    assert_same_bits(dense.weights_, sparse.weights_)
    assert dense.mistakes_.tolist() == sparse.mistakes_.tolist()


def test_a_sparse_model_scores_like_a_dense_one() -> None:
    dense = Categorizer(preset="fast", **SMALL).fit(TEXTS, CATEGORIES)
    np.testing.assert_array_equal(sparse_model().decision_function(TEXTS), dense.decision_function(TEXTS))
    assert len(listed(sparse_model()).entries().weight) == np.count_nonzero(dense.state.learner.weights_)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads_change_nothing(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.learners.chunks.CHUNK_WORK", 64)
    monkeypatch.setattr("thresher.learners.training.GROUP_WEIGHTS", 1)
    assert sparse_model(n_threads=threads).digest() == sparse_model().digest()


def test_a_loaded_model_learns_like_the_original(tmp_path: Path) -> None:
    model = sparse_model()
    model.save(tmp_path / "model")
    loaded = Categorizer.load(tmp_path / "model")
    listed(loaded)
    for own in (model, loaded):
        own.learn("a new tin mine in the north", accept=["metal", "tin"], reject=["energy"])
        own.partial_fit(["soybean and corn prices", "tin exports"], [["grain"], ["tin", "trade"]])
    assert loaded.digest() == model.digest()
    assert model.predict(["tin exports"]) == [["tin", "trade"]]


def test_a_stream_equals_documents_one_by_one() -> None:
    documents = [("oil from the north", ["energy"]), ("wheat from the gold coast", ["grain"])] * 3
    one_by_one, streamed = sparse_model(), sparse_model()
    predicted = []
    for text, categories in documents:
        predicted += one_by_one.predict([text])
        one_by_one.partial_fit([text], [categories])
    assert [found.predicted for found in streamed.stream(documents)] == predicted
    assert streamed.digest() == one_by_one.digest()


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("average", [False, True])
def test_categories_are_selected_and_merged_as_with_dense_weights(name: str, average: bool) -> None:
    problem = random_problem(7, n_rows=30, n_features=12, n_categories=6)
    learner = LEARNERS[name](sparse=True, average=average, max_passes=5, discard=False).fit(
        problem.rows, problem.labels
    )
    weights = learner.weights_
    learner.select([4, 0, 2])
    assert_same_bits(learner.weights_, weights[[4, 0, 2]])
    last = [learner.category_weights(c, np.arange(12), last=True) for c in (0, 2)]
    learner.merge([0, 2])
    assert_same_bits(learner.category_weights(0, np.arange(12), last=True), np.maximum(*last))
    assert_same_bits(learner.weights_[1:], weights[[0, 2]])
    learner.partial_fit(problem.rows, [[0]] * 30)
    assert learner.score(problem.rows).shape == (30, 3)


def test_a_sparse_model_can_be_compressed_and_explained() -> None:
    model = sparse_model()
    before = len(listed(model).entries().weight)
    found = model.compress("5900B")
    assert found.size <= 5900
    assert found.weights_before == before
    assert 0 < len(listed(model).entries().weight) == found.weights < before
    assert model.predict(["oil", "wheat"]) == [["energy"], ["grain"]]
    assert {word.name for word in model.explain("crude oil prices").words if word.contribution > 0}
    assert model.strongest_words("energy", 1)[0][0][0] == "oil"


def test_models_with_very_many_weights_become_sparse_automatically() -> None:
    fast, paper = (ModelSettings.complete(preset, {}) for preset in ("fast", "paper"))
    assert fit_to_size(fast, MAX_DENSE // 100, 100).sparse is False
    assert fit_to_size(fast, MAX_DENSE // 100 + 1, 100).as_dict() == fast.as_dict() | SMALL | {"sparse": True}
    assert fit_to_size(paper, MAX_DENSE, 100).sparse is False  # there it would change what the learner means
    chosen = ModelSettings.complete("best", {"discard": True, "sparse": True})
    assert fit_to_size(chosen, 1, 1).as_dict() == chosen.as_dict()
    with pytest.raises(ParameterError, match=r"invalid sparse: 'yes' \(allowed: None, True or False\)"):
        Categorizer(sparse="yes")


def test_a_sparse_balanced_winnow_stores_only_features_that_it_met() -> None:
    model = Categorizer(preset="paper", sparse=True, discard=False, min_count=1).fit(TEXTS, CATEGORIES)
    entries = listed(model).entries()
    met = {
        model.state.features.names[f] for f in entries.features[entries.categories == model.state.number_of("grain")]
    }
    assert {"wheat", "corn"} <= met <= set(" ".join(TEXTS[2:4]).split())
    assert model.predict(TEXTS[:6]) == CATEGORIES[:6]


@given(st.lists(st.tuples(st.integers(0, 4), st.sets(st.integers(0, 6), min_size=1)), min_size=1, max_size=12))
def test_lists_make_room_for_late_entries_at_any_position(steps: list[tuple[int, set[int]]]) -> None:
    """One document after the other, each for one category alone."""
    learner, twin = (BalancedWinnow(sparse=sparse, late_start="zero", average_active=2.0) for sparse in (True, False))
    for category, features in steps:
        rows = rows_of(features)
        for own in (learner, twin):
            own.partial_fit(rows, [[category]], n_categories=5)
    assert_same_bits(learner.weights_, twin.weights_)


def rows_of(features: set[int]) -> Rows:
    return Rows(
        np.array([0, len(features)]),
        np.array(sorted(features), dtype=np.int32),
        np.ones(len(features), dtype=np.float32),
        7,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, a: p | {"sparse": 1}, "`sparse` is neither true nor false"),
        (lambda p, a: a["weights.features"].__setitem__(slice(0, 2), a["weights.features"][1::-1].copy()), "order"),
        (lambda p, a: a["weights.positive"].__setitem__(0, np.nan), "NaN"),
        (lambda p, a: a["weights.features"].__setitem__(0, 10**6), "weights.features holds a value out of range"),
    ],
)
def test_an_inconsistent_file_is_refused(change: Any, message: str, tmp_path: Path) -> None:
    sparse_model().save(tmp_path / "model")
    packed, versions, arrays = read_model(tmp_path / "model")
    arrays = {name: array.copy() for name, array in arrays.items()}
    packed = change(packed, arrays) or packed
    write_model(tmp_path / "model", packed, versions, arrays)
    with pytest.raises(ModelFileError, match=message):
        Categorizer.load(tmp_path / "model")


@pytest.mark.parametrize("settings", [{"sparse": True}, {}], ids=str)
def test_a_correction_that_fails_leaves_no_category_behind(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Categorizer(preset="fast", **settings).fit(TEXTS, CATEGORIES)
    digest, weights = model.digest(), type(model.state.learner.get_weights())
    with monkeypatch.context() as patch:
        patch.setattr(weights, "learn", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.learn("crude oil prices", accept=["tin"])
    assert model.digest() == digest
    assert len(model.predict(TEXTS)) == len(TEXTS)
    model.learn("crude oil prices", accept=["tin"])
    again = Categorizer(preset="fast", **settings).fit(TEXTS, CATEGORIES)
    again.learn("crude oil prices", accept=["tin"])
    assert model.digest() == again.digest()


def test_half_learned_categories_are_removed() -> None:
    learner = BalancedWinnow(sparse=True, average_active=2.0, average=True)
    learner.partial_fit(rows_of({0, 1, 2}), [[0, 1]], n_categories=2)
    weights, scores = learner.weights_, learner.score(rows_of({0, 2}))
    found = learner.get_weights()
    learner.partial_fit(rows_of({0, 1, 5}), label_one_row({3: 1}), n_categories=4)
    found.forget_categories(2)
    assert_same_bits(learner.weights_, weights)
    assert_same_bits(learner.score(rows_of({0, 2})), scores)


def test_compression_ranks_averaged_weights_by_their_effect_on_scores() -> None:
    problem = {"learner": "perceptron", "average": True, "discard": False, "sparse": True}
    model = Categorizer(preset="paper", min_count=1, **problem).fit(TEXTS, CATEGORIES)
    scoring = listed(model).entries(scoring=True)
    np.testing.assert_array_equal(model.state.learner.weights_[scoring.categories, scoring.features], scoring.weight)
    assert (scoring.weight != listed(model).entries().weight).any()
    assert model.compress("5900B").weights_before == np.count_nonzero(scoring.weight)


@pytest.mark.parametrize("sparse", [False, True])
def test_weights_of_unknown_features_and_categories_are_refused(sparse: bool) -> None:
    problem = random_problem(5, n_rows=20, n_features=30, n_categories=4)
    learner = BalancedWinnow(sparse=sparse, discard=False).fit(problem.rows, problem.labels)
    assert len(learner.category_weights(0, np.array([0, learner.n_features_ - 1]))) == 2
    assert len(learner.category_weights(0, np.array([], dtype=np.int64))) == 0
    for category, feature in ((0, learner.n_features_), (0, 10**12), (0, -1), (learner.n_categories_, 0), (-1, 0)):
        with pytest.raises(RowsError, match=r"reach from .* \(allowed: 0 to \d+\)"):
            learner.category_weights(category, np.array([feature]))


@pytest.mark.parametrize("sparse", [False, True])
def test_a_model_whose_categories_are_all_retired_decides_nothing(sparse: bool) -> None:
    model = Categorizer(preset="paper", sparse=sparse, discard=False, min_count=1).fit(TEXTS, CATEGORIES)
    for name in list(model.categories):
        model.retire_category(name)
    assert model.predict(TEXTS[:3]) == [[], [], []]
    model.learn("crude oil", accept=["new"])
    assert model.categories == ["new"]
