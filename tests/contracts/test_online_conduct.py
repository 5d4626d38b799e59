"""What river's checks ask of an online learner, asked of every learner of ours, with all weights and with few.

Emerging features, disappearing ones, all exchanged at once, shuffled ones, many at a time, input that is neither
changed nor kept, bounded memory, predictions that leave no trace, and the same stream once more. Where river compares
predictions, digests are compared.
"""

import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.corpora import Corpus, made_up
from thresher import Categorizer
from thresher.model.factories import LEARNERS

every_learner = pytest.mark.parametrize("learner", sorted(LEARNERS))
every_storage = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
STREAM = made_up(60, seed=11)


def new(learner: str, sparse: bool = False, **more: Any) -> Categorizer:
    return Categorizer(learner=learner, sparse=sparse, choose="nothing", min_count=1, **more)


def taught(learner: str, sparse: bool = False, **more: Any) -> Categorizer:
    return new(learner, sparse, thresholds="fixed", **more).fit(*made_up(60, seed=10))


def follow(model: Categorizer, stream: Corpus) -> Categorizer:
    for text, names in zip(*stream, strict=True):
        model.partial_fit([text], [names])
    return model


def are_finite(model: Categorizer) -> bool:
    told = (model.decision_function(STREAM.texts), model.predict_proba(STREAM.texts), model.state.learner.weights_)
    return all(bool(np.isfinite(part).all()) for part in told)


@every_learner
@every_storage
def test_new_features_are_added_and_change_no_score_until_met(learner: str, sparse: bool) -> None:
    model = taught(learner, sparse)
    before = model.decision_function(STREAM.texts)
    known = model.state.features.vocabulary.count
    for number in range(30):
        text = f"unheard{number} of{number} words{number}"
        model.learn(text, accept=["quite new"])
        assert model.state.features.vocabulary.count == known + 3 * (number + 1)
    old = [c for c, name in enumerate(model.categories) if name != "quite new"]
    np.testing.assert_array_equal(model.decision_function(STREAM.texts)[:, old], before)
    assert model.rank(["unheard3 of3 words3"])[0][0][0] == "quite new"


@every_learner
@every_storage
def test_learning_continues_when_features_disappear(learner: str, sparse: bool) -> None:
    model, draw = taught(learner, sparse), random.Random(learner)
    for text, names in zip(*STREAM, strict=True):
        words = text.split()
        model.partial_fit([" ".join(draw.sample(words, draw.randint(1, len(words))))], [names])
    assert are_finite(model)


@every_learner
@every_storage
def test_a_stream_whose_features_are_all_exchanged_is_learned(learner: str, sparse: bool) -> None:
    model = taught(learner, sparse)
    other = Corpus([" ".join(f"x{word}" for word in text.split()) for text in STREAM.texts], STREAM.categories)
    for _ in range(10):
        follow(model, other)
    truth = np.array([[name in names for name in model.categories] for names in other.categories])
    scores = model.decision_function(other.texts)
    assert scores[truth].mean() > scores[~truth].mean() + 0.05
    assert are_finite(model)


@every_learner
@every_storage
def test_the_order_of_the_features_has_no_impact(learner: str, sparse: bool) -> None:
    draw = random.Random(learner)
    known = Corpus([" ".join(sorted(set(text.split()))) for text in made_up(60, seed=10).texts], STREAM.categories)
    other_order = [" ".join(draw.sample(text.split(), len(text.split()))) for text in known.texts]
    one, other = taught(learner, sparse), taught(learner, sparse)
    assert follow(one, known).digest() == follow(other, Corpus(other_order, known.categories)).digest()


@every_learner
@every_storage
@pytest.mark.parametrize("size", [1, 7, 60])
def test_a_batch_equals_documents_one_after_the_other(learner: str, sparse: bool, size: int) -> None:
    known = Corpus(made_up(60, seed=10).texts, STREAM.categories)  # words of `fit`, whose average is measured there
    batched = taught(learner, sparse)
    for first in range(0, 60, size):
        batched.partial_fit(*known.part(first, first + size))
    assert batched.digest() == follow(taught(learner, sparse), known).digest()


@every_learner
def test_input_is_neither_changed_nor_referenced(learner: str) -> None:
    model = taught(learner)
    texts: list[Any] = [{"title": text[:20], "body": text} for text in STREAM.texts]
    names = [list(row) for row in STREAM.categories]
    model.partial_fit(texts, names)
    assert texts == [{"title": text[:20], "body": text} for text in STREAM.texts]
    assert names == STREAM.categories
    digest = model.digest()
    for text, row in zip(texts, names, strict=True):
        text.clear()
        row.append("nonsense")
    texts.clear()
    accept = ["energy"]
    correction = model.learn("crude oil", accept=accept)
    accept.append("nonsense")
    assert "nonsense" not in correction.new_categories
    assert "nonsense" not in model.categories
    scores = model.decision_function(STREAM.texts)
    expected = scores.copy()
    scores.fill(0)
    np.testing.assert_array_equal(model.decision_function(STREAM.texts), expected)
    assert model.digest() != digest


@every_learner
@every_storage
def test_memory_is_bounded_for_a_stream_of_any_length(learner: str, sparse: bool, tmp_path: Path) -> None:
    model = taught(learner, sparse, max_features=400)
    sizes = []
    for length in (300, 3000):
        draw = random.Random(length)
        texts = [f"{draw.choice(STREAM.texts)} fresh{draw.random()}" for _ in range(length)]
        model.partial_fit(texts, [draw.choice(STREAM.categories) for _ in range(length)])
        model.save(tmp_path / "model")
        sizes.append((tmp_path / "model").stat().st_size)
        assert model.state.features.vocabulary.count <= 401  # the constant is not counted among them
    assert sizes[1] < 1.1 * sizes[0] + 10_000, sizes


@every_learner
@every_storage
def test_predictions_change_nothing(learner: str, sparse: bool) -> None:
    model = taught(learner, sparse)
    before, texts = model.digest(), [{"title": text} for text in STREAM.texts]
    kept = deepcopy(texts)
    first = model.predict(texts)
    for _ in range(3):
        model.predict_proba(["unheard of"])
        model.explain(texts[0])
        assert model.predict(texts) == first
    assert texts == kept
    assert model.digest() == before


@every_learner
@every_storage
def test_the_same_stream_gives_the_same_model(learner: str, sparse: bool, tmp_path: Path) -> None:
    one, other = (follow(new(learner, sparse), STREAM) for _ in range(2))
    assert one.digest() == other.digest()
    one.save(tmp_path / "model")
    assert follow(Categorizer.load(tmp_path / "model"), STREAM).digest() == follow(other, STREAM).digest()
