"""Categories that are made known, or given another threshold, without training; and corrections that are complete."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.corpora import made_up
from thresher import Categorizer
from thresher.errors import ParameterError, TextError
from thresher.model.scoring import decide_sampled

TRAIN, TEST = made_up(), made_up(60, seed=1)
LEARNERS = ("balanced-winnow", "regularized-winnow", "positive-winnow", "perceptron")


def fitted(**settings: Any) -> Categorizer:
    return Categorizer(**settings).fit(*TRAIN)


def reloaded(model: Categorizer, folder: Path) -> Categorizer:
    model.save(folder / "model.thresher")
    return Categorizer.load(folder / "model.thresher")


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_new_category_accepts_nothing_and_changes_nothing_for_others(learner: str, tmp_path: Path) -> None:
    model = fitted(learner=learner)
    before = model.decision_function(TEST.texts, raw=True)
    known = len(model.categories)
    assert model.add_category("bees") is model
    after = model.decision_function(TEST.texts, raw=True)
    assert np.array_equal(after[:, :known], before)
    assert all("bees" not in names for names in model.predict(TEST.texts))
    assert model.count_weights("bees") == 0
    again = reloaded(model, tmp_path)
    assert again.digest() == model.digest()
    model.learn("a swarm of bees left the hive", accept=["bees"])
    again.learn("a swarm of bees left the hive", accept=["bees"])
    assert again.digest() == model.digest()
    assert "bees" in model.predict(["a swarm of bees left the hive"])[0]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_model_with_only_category_names_learns_from_the_first_correction(learner: str, tmp_path: Path) -> None:
    model = reloaded(Categorizer(learner=learner).add_category("bees").add_category("wasps"), tmp_path)
    assert model.categories == ["bees", "wasps"]
    assert not model.state.learner.is_fitted
    model.learn("a swarm of bees", accept=["bees"])
    assert model.predict(["a swarm of bees"]) == [["bees"]]
    assert reloaded(model, tmp_path).digest() == model.digest()


def test_a_known_or_invalid_name_cannot_be_added() -> None:
    model = fitted()
    before = model.digest()
    for name in (model.categories[0], " ", "x" * 201):
        with pytest.raises(TextError):
            model.add_category(name)
    assert model.digest() == before


def test_a_threshold_moves_one_category_alone(tmp_path: Path) -> None:
    model = fitted(thresholds="fixed")
    name, scores = model.categories[0], model.decision_function(TEST.texts, raw=True)
    before = model.decide(TEST.texts)[1]
    assert model.set_threshold(name, 1e6) is model
    after = model.decide(TEST.texts)[1]
    assert not after[:, 0].any()
    assert np.array_equal(after[:, 1:], before[:, 1:])
    assert np.array_equal(model.decision_function(TEST.texts, raw=True), scores)
    assert reloaded(model, tmp_path).digest() == model.digest()
    with pytest.raises(ParameterError):
        model.set_threshold(name, float("nan"))
    with pytest.raises(TextError):
        model.set_threshold("unheard-of", 1.0)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("names", [["grain"], ["energy", "bees"], []])
def test_a_complete_correction_equals_partial_fit_and_reports_the_changes(learner: str, names: list[str]) -> None:
    model = fitted(learner=learner)
    twin = deepcopy(model)
    text = "the hive of wheat and crude was new"
    told = model.learn(text, accept=names, reject=["metals"], complete=True)
    twin.partial_fit([text], [names])
    assert model.digest() == twin.digest()
    assert set(told.promoted) <= set(names)
    assert set(told.demoted) <= {"metals"}
    assert told.new_categories == [name for name in names if name == "bees"]


def test_a_complete_correction_needs_a_category() -> None:
    with pytest.raises(TextError, match="no categories"):
        Categorizer().learn("a text", complete=True)


def test_sampled_documents_get_the_decisions_of_their_texts() -> None:
    model = Categorizer(min_count=1).fit(TRAIN.texts[:50], TRAIN.categories[:50])
    scores, accepted = model.decide(TRAIN.texts[:50])
    assert len(model.state.reservoir.documents) == 50
    own_scores, own_accepted = decide_sampled(model.state, model.state.reservoir.documents)
    assert np.array_equal(own_scores, scores)
    assert np.array_equal(own_accepted, accepted)


def test_categorize_gives_the_scores_and_probabilities_of_rank() -> None:
    model = fitted()
    every = model.rank(TEST.texts)
    for found, ranked in zip(model.categorize(TEST.texts), every, strict=True):
        told = {name: (score, chance) for name, score, chance in ranked}
        assert all(told[name] == (score, chance) for name, score, chance in found.categories)
        assert [score for _, score, _ in found.categories] == sorted((s for _, s, _ in found.categories), reverse=True)
