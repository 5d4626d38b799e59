"""Explanations: the words add up to the score, and stand where they are said to stand."""

import re
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.corpora import WORDS, made_up
from support.problems import assert_same_bits
from thresher import Categorizer
from thresher.errors import TextError
from thresher.model.explanations import Explanation, Word, _by_size, is_piece
from thresher.text.analysers import Text
from thresher.text.feature_checks import CONSTANT
from thresher.text.tokens import decode_words, tokenize

TRAIN, TEST = made_up(), made_up(10, seed=1)
FOREIGN = "Größere ÖLPREISE, naïve café; нефть и ЗЕРНО: Ελλάδα — 石油価格の上昇 ราคาน้ำมัน कच्चा तेल 😀 oil-price 3.5%"


def words_of(text: str) -> list[str]:
    return decode_words(tokenize([text]))[0]


def taught(text: Text, **settings: Any) -> Categorizer:
    """Return a model that has learned a text among others, words and all."""
    model = Categorizer(**({"bias": 0.0} | settings)).fit(*TRAIN)
    model.learn(text, accept=["special"])
    return model


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("strength", ["binary", "linear", "sqrt", "tfidf"])
@pytest.mark.parametrize("learner", ["balanced-winnow", "positive-winnow", "perceptron"])
def test_contributions_sum_to_the_raw_score_to_the_last_bit(learner: str, strength: str, average: bool) -> None:
    model = taught(FOREIGN, learner=learner, strength=strength, average=average, preset="paper")
    for text in [*TEST.texts, FOREIGN, FOREIGN + " crude oil oil"]:
        scores = model.decision_function([text], raw=True)[0]
        for category, score in zip(model.categories, scores, strict=True):
            found = model.explain(text, category)
            assert found.total() == found.raw == score
            assert all(np.float32(word.strength) * np.float32(word.weight) == word.contribution for word in found.words)


def test_normalised_strengths_sum_to_the_raw_score_too() -> None:
    model = taught(FOREIGN, learner="positive-winnow", normalize=True)
    for text in [*TEST.texts, FOREIGN]:
        found = model.explain(text)
        scores = model.decision_function([text], raw=True)[0]
        assert found.total() == found.raw == scores[model.categories.index(found.category)]
        assert sum(word.strength for word in found.words) == pytest.approx(1)


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_an_explanation_agrees_with_the_other_methods(preset: str) -> None:
    model = Categorizer(preset=preset, policy="above").fit(*TRAIN)
    for text, predicted in zip(TEST.texts, model.predict(TEST.texts), strict=True):
        best, score, chance = model.rank([text])[0][0]
        found = model.explain(text)
        assert (found.category, found.score, found.probability) == (best, score, chance)
        assert found.margin == found.raw - found.threshold
        assert found.accepted == (found.margin > 0) == (best in predicted)
        for category in model.categories:
            named = model.explain(text, category)
            assert named.category == category
            assert named.accepted == (category in predicted)


def test_words_are_sorted_by_the_size_of_their_contributions() -> None:
    model = Categorizer(bias=0).fit(*TRAIN)
    for text in TEST.texts:
        sizes = [abs(word.contribution) for word in model.explain(text).words]
        assert sizes == sorted(sizes, reverse=True)


def test_weights_are_those_of_the_learner() -> None:
    model = taught(FOREIGN)
    found = model.explain(FOREIGN, "special")
    for word in found.words:
        assert model.state.features.names[word.number] == word.name
        assert word.weight == model.state.learner.weights_[-1, word.number]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKD"])
@pytest.mark.parametrize("text", [FOREIGN, TEST.texts[0], "Åland å å ạ̊ 각 가 é\u0301\u0301x q\u0307\u0323 wheat"])
def test_words_are_found_at_their_positions(text: str, form: Any) -> None:
    given = unicodedata.normalize(form, text)
    found = taught(given).explain(given, "special")
    assert {word.name for word in found.words} == {*words_of(given)}
    for word in found.words:
        assert len(word.positions) == words_of(given).count(word.name)
        for start, end in word.positions:
            assert words_of(given[start:end])[0] == word.name
            assert len(words_of(given[start:end])) <= (1 if word.name.isascii() else 2)  # marks may begin another pair


def test_every_occurrence_is_found_and_none_overlap() -> None:
    text = "Oil, crude oil: OIL\noil"
    found = taught(text).explain(text, "special")
    positions = {word.name: word.positions for word in found.words}
    assert positions == {"oil": [(0, 3), (11, 14), (16, 19), (20, 23)], "crude": [(5, 10)]}


@pytest.mark.parametrize("analyser", ["words+ngrams:2", "words+sparse:2:3", "words+sets:document", "words+chars:3-4"])
def test_features_of_several_words_are_found_at_their_words(analyser: str) -> None:
    text = "Crude oil rose; größere Öl-Preise"
    for word in taught(text, analyser=analyser).explain(text, "special").words:
        assert word.positions
        for start, end in word.positions:
            parts = words_of(text[start:end])
            if "chars" in analyser:
                assert len(parts) == 1
            else:
                assert {*re.split("[ ~&]", word.name)} <= {*parts}


@pytest.mark.parametrize("analyser", ["words", "words+title"])
def test_features_of_a_field_are_found_at_the_field_s_words(analyser: str) -> None:
    text = {"body": "oil rose", "title": "crude", "author": "Smith Oil"}
    joined = "\n".join(text.values())
    found = taught(text, analyser=analyser).explain(text, "special")
    positions = {word.name: [joined[start:end] for start, end in word.positions] for word in found.words}
    assert positions["author:oil"] == ["Oil"]
    assert positions["author:smith"] == ["Smith"]
    assert positions["oil"] == ["oil", "Oil"]
    assert positions.get("title:crude", ["crude"]) == ["crude"]
    assert found.unknown == 0


def test_unknown_words_are_counted() -> None:
    found = Categorizer(bias=0).fit(*TRAIN).explain("oil unheard unheard of-course")
    assert [word.name for word in found.words if word.name not in ("oil", "of")] == []
    assert found.unknown == 2  # "unheard" and "course"


def test_pairs_n_grams_and_title_features_do_not_count_as_unknown_words() -> None:
    model = Categorizer(analyser="words+ngrams:2+chars:4-4+title").fit(*TRAIN)
    assert model.explain("oil unheard unheard of-course\ncourse").unknown == 2


def test_the_strongest_words_are_those_that_weigh_most() -> None:
    model = Categorizer(bias=0).fit(*TRAIN)
    for_it, against_it = model.strongest_words("grain", top=8)
    weights = dict(
        zip(
            model.state.features.names,
            model.state.learner.weights_[model.categories.index("grain")].tolist(),
            strict=True,
        )
    )
    assert [weight for _, weight in for_it] == sorted(weights.values(), reverse=True)[:8]
    assert [weight for _, weight in against_it] == sorted(weights.values())[:8]
    assert all(weights[name] == weight for name, weight in for_it + against_it)
    assert {name for name, _ in for_it} <= {*WORDS["grain"].split()}
    assert model.strongest_words("grain", top=0) == ([], [])


def test_only_words_that_speak_for_a_category_are_for_it() -> None:
    for_it, against_it = Categorizer(bias=0).fit(*TRAIN).strongest_words("grain", top=10**6)
    assert all(weight > 0 for _, weight in for_it)
    assert all(weight < 0 for _, weight in against_it)


@pytest.mark.parametrize("text", ["", "...", "unheard"])
def test_a_text_without_known_words_has_an_explanation_without_words(text: str) -> None:
    found = Categorizer(policy="at-least-one", bias=0).fit(*TRAIN).explain(text)
    assert found.words == []
    assert found.raw == found.total() == 0
    assert not found.accepted


def test_an_unknown_category_is_refused() -> None:
    with pytest.raises(TextError, match=r"category 'unheard-of' is unknown \(known: energy, "):
        Categorizer().fit(*TRAIN).explain("oil", "unheard-of")


def test_explaining_leaves_the_weights_alone() -> None:
    model = taught(FOREIGN)
    before = model.state.learner.weights_.copy()
    for text in TEST.texts:
        model.explain(text)
    assert_same_bits(model.state.learner.weights_, before)


def test_the_constant_feature_is_explained_but_is_not_a_word() -> None:
    model = Categorizer().fit(*TRAIN)
    found = model.explain("oil unheard")
    assert {word.name: word.positions for word in found.words}[CONSTANT] == []
    assert found.raw == pytest.approx(sum(word.contribution for word in found.words), abs=1e-6)
    words = {name for side in model.strongest_words("grain", top=10**6) for name, _ in side}
    assert CONSTANT not in words
    assert model.empty(["unheard", "oil"]).tolist() == [True, False]


def test_whole_words_include_the_contributions_of_their_letter_n_grams() -> None:
    model = Categorizer(analyser="words+ngrams:2+chars:4-4").fit(*TRAIN)
    text = "Freight rates: harbour freights and wheats"
    found = model.explain(text)
    whole = found.whole_words(text)
    assert not any(is_piece(word.name) for word in whole)
    assert sum(word.contribution for word in whole) == pytest.approx(found.raw, abs=1e-5)
    named = {word.name: [text[start:end] for start, end in word.positions] for word in whole}
    assert named["freight"] == ["Freight"]
    assert named["freights"] == ["freights"]  # not known by itself, and yet it says something


def naive_whole_words(self: Explanation, text: str) -> list[Word]:
    """Do what `whole_words` does, place by place, in quadratic time."""
    names = {place: word.name for word in self.words if not is_piece(word.name) for place in word.positions}
    found = {word.name: word for word in self.words if not (is_piece(word.name) and word.positions)}
    for piece in (word for word in self.words if is_piece(word.name)):
        for place in piece.positions:
            name, share = names.get(place, text[slice(*place)].lower()), piece.contribution / len(piece.positions)
            before = found.get(name, Word(name, 0.0, 0.0, 0.0, [], piece.number))
            places = before.positions if place in before.positions else [*before.positions, place]
            found[name] = before._replace(contribution=before.contribution + share, positions=places)
    return sorted(found.values(), key=_by_size)


places = st.lists(st.tuples(st.integers(0, 3), st.integers(2, 5)), max_size=6)
words_of_any_kind = st.lists(
    st.builds(
        lambda name, contribution, where: Word(name, contribution, 0.5, 2.0, where, 0),
        st.sampled_from(["oil", "gas", "#oil", "#_oi", "#gas", "a", "ab"]),
        st.floats(-2, 2),
        places,
    ),
    max_size=8,
)


@settings(max_examples=300, deadline=None)
@given(words_of_any_kind)
def test_whole_words_are_those_of_the_naive_twin(found: list[Word]) -> None:
    numbered = [word._replace(number=number) for number, word in enumerate(found)]
    explanation = Explanation("a", True, 1.0, 1.0, 1.0, 0.5, numbered)
    before = [list(word.positions) for word in numbered]
    assert explanation.whole_words("Oil gas") == naive_whole_words(explanation, "Oil gas")
    assert [word.positions for word in numbered] == before


def test_whole_words_of_real_texts_are_those_of_the_naive_twin() -> None:
    model = Categorizer(analyser="words+ngrams:2+chars:3-4+title").fit(*TRAIN)
    for text in ["oil oil oiloil unheard unheard Unheard", *TEST.texts, FOREIGN]:
        found = model.explain(text)
        assert found.whole_words(text) == naive_whole_words(found, text)


def test_letter_n_grams_are_strongest_words_only_if_there_are_no_words() -> None:
    both, alone = (Categorizer(analyser=name).fit(*TRAIN) for name in ("words+chars:4-4", "chars:4-4"))
    assert not any(is_piece(name) for name, _ in both.strongest_words("grain")[0])
    assert all(is_piece(name) for name, _ in alone.strongest_words("grain")[0])


def test_feature_names_of_a_function_may_begin_like_letter_n_grams() -> None:
    model = Categorizer(analyser=lambda text: ["#" + word for word in text.split()], min_count=1).fit(*TRAIN)
    assert model.strongest_words("grain")[0]
    assert all(is_piece(name) for name, _ in model.strongest_words("grain")[0])
