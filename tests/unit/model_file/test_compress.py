"""A compressed model fits its size, says what that cost, and goes on as any other."""

from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.corpora import made_up
from thresher import Categorizer
from thresher.errors import NotFittedError, ParameterError
from thresher.model.reservoir import Reservoir
from thresher.model.scoring import decide_sampled
from thresher.model_file.compress import estimate_file_size
from thresher.text.vectorizer import TextFeatures

SETTINGS: list[dict[str, Any]] = [
    {"preset": "paper", "discard": False},
    {"preset": "default", "thresholds": "fixed", "strength": "tfidf"},
    {"preset": "paper", "learner": "perceptron", "discard": False},
    {"preset": "paper", "learner": "positive-winnow", "discard": False},
]
every_model = pytest.mark.parametrize(
    "settings", SETTINGS, ids=lambda settings: settings.get("learner", settings["preset"])
)


def fitted(settings: dict[str, Any]) -> Categorizer:
    corpus = made_up()
    return Categorizer(min_count=1, **settings).fit(corpus.texts, corpus.categories)


@every_model
def test_the_compressed_file_fits_and_the_cost_is_reported(settings: dict[str, Any], tmp_path: Path) -> None:
    model = fitted(settings)
    model.save(tmp_path / "before")
    whole = (tmp_path / "before").stat().st_size
    for share in (2, 4):
        cost = model.compress(whole // share)
        model.save(tmp_path / "after")
        assert (tmp_path / "after").stat().st_size <= whole // share
        assert cost.size <= whole // share
        assert cost.weights <= cost.weights_before
        assert cost.features == model.state.features.vocabulary.count <= cost.features_before
        assert cost.documents == len(model.state.reservoir.documents) <= cost.documents_before
        assert cost.agreement is None or 0.5 < cost.agreement <= 1


def test_the_agreement_is_that_of_the_decisions_before_and_after() -> None:
    model = fitted({"preset": "paper"})
    documents, names = model.state.reservoir.documents, model.state.features.names
    _, before = decide_sampled(model.state, documents)
    cost = model.compress("8kB")
    left = np.array([names.index(name) for name in model.state.features.names], dtype=np.int64)
    _, after = decide_sampled(model.state, Reservoir(documents, len(documents)).select_features(left).documents)
    assert cost.agreement == np.count_nonzero(before & after) / np.count_nonzero(before | after) < 1


@every_model
def test_a_compressed_model_can_be_saved_and_taught(settings: dict[str, Any], tmp_path: Path) -> None:
    model = fitted(settings)
    model.compress("20kB")
    digest = model.save(tmp_path / "model")
    twin = Categorizer.load(tmp_path / "model")
    for one in (model, twin):
        one.learn("a quite new story about chess and rooks", accept=["chess"])
    assert model.digest() == twin.digest() != digest
    assert model.predict(["chess and rooks"]) == twin.predict(["chess and rooks"])


@every_model
def test_compressing_leaves_the_settings_alone(settings: dict[str, Any]) -> None:
    corpus, model = made_up(), fitted(settings)
    fresh = model.digest()
    model.compress("20kB")
    assert model.fit(corpus.texts, corpus.categories).digest() == fresh


def test_model_that_fits_already_is_not_changed() -> None:
    model = fitted(SETTINGS[0])
    before = model.digest()
    cost = model.compress("10 MB")
    assert model.digest() == before
    assert (cost.weights, cost.features, cost.documents) == (
        cost.weights_before,
        cost.features_before,
        cost.documents_before,
    )
    assert cost.agreement == 1


@pytest.mark.parametrize("size", ["2", "x", "0MB", "-1MB", True, 0, None, "1e3kB"])
def test_invalid_sizes_are_refused(size: Any) -> None:
    model = fitted(SETTINGS[0])
    before = model.digest()
    with pytest.raises(ValueError, match=r"invalid size: .*allowed"):
        model.compress(size)
    assert model.digest() == before


def test_a_size_that_is_too_small_is_refused_with_the_smallest_possible() -> None:
    model = fitted(SETTINGS[0])
    before = model.digest()
    with pytest.raises(ValueError, match=r"invalid size: .*allowed: from \d+ bytes"):
        model.compress("1kB")
    assert model.digest() == before


def test_a_size_that_leaves_no_weight_is_refused() -> None:
    model = Categorizer(preset="fast", min_count=1).fit(
        ["crude oil", "oil", "wheat", "corn"] * 3, ["a", "a", "b", "b"] * 3
    )
    sizes, refused = range(estimate_file_size(model.state), 0, -40), 0
    for size in sizes:
        try:
            deepcopy(model).compress(size)
        except ParameterError:
            refused += 1
    assert 0 < refused < len(sizes)


def test_features_that_differ_in_a_last_nul_are_not_mistaken() -> None:
    def analyser(text: str) -> list[str]:
        return [word.lower() + "\0" if word.isupper() else word for word in text.split()]

    texts = ["a b c A", "b c d", "x y z", "x z w"] * 6
    model = Categorizer(preset="fast", analyser=analyser, min_count=1).fit(texts, ["p", "p", "q", "q"] * 6)
    for size in range(estimate_file_size(model.state), estimate_file_size(model.state) - 1400, -50):
        smaller = deepcopy(model)
        with suppress(ParameterError):
            smaller.compress(size)
        assert len(smaller.state.features.names) == smaller.state.learner.n_features_
        assert all((one.indices < smaller.state.learner.n_features_).all() for one in smaller.state.reservoir.documents)


def test_model_that_has_learned_nothing_cannot_be_compressed() -> None:
    with pytest.raises(NotFittedError, match="Categorizer"):
        Categorizer().compress("1MB")


def test_most_important_weights_stay() -> None:
    model = fitted(SETTINGS[0])
    best = {name: model.strongest_words(name, 1)[0][0][0] for name in model.categories}
    model.compress("30kB")
    assert set(best.values()) <= set(model.state.features.names)
    assert isinstance(model.state.features, TextFeatures)


def test_a_model_that_keeps_every_weight_is_not_compressed() -> None:
    texts = [f"oil gas word{i}" for i in range(30)]
    model = Categorizer(preset="fast", min_count=1, late_start="initial").fit(texts, ["a", "b"] * 15)
    with pytest.raises(ParameterError, match=r"invalid late_start: 'initial' .it keeps every weight"):
        model.compress(2500)
