"""Bad input to a categorizer: a clear line, and the model as it was."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.corpora import made_up
from thresher import Categorizer
from thresher.errors import NotFittedError, ParameterError, TextError, ThresherError
from thresher.text.vectorizer import FeatureCounts

TRAIN = made_up()
SINGLE = made_up(single=True)


def fitted(**settings: Any) -> Categorizer:
    return Categorizer(**settings).fit(*TRAIN)


def assert_refused(model: Categorizer, call: Callable[[Categorizer], object], message: str | None = None) -> None:
    before, categories = model.digest(), list(model.categories)
    with pytest.raises(ThresherError, match=message) as refusal:
        call(model)
    assert "\n" not in str(refusal.value)
    assert model.digest() == before
    assert model.categories == categories


BAD_CORPORA: dict[str, tuple[Any, Any, str]] = {
    "one string": ("one string", ["grain"], "a single one"),
    "one string, as many letters as labels": ("ab", ["grain", "energy"], "a single one"),
    "one string of categories": (["wheat", "oil"], "ab", "a single"),
    "fewer texts": (["wheat"], ["grain", "grain"], "1 texts and 2"),
    "more texts": (["wheat", "oil"], ["grain"], "2 texts and 1"),
    "text None": ([None, "wheat"], ["grain", "grain"], "not NoneType"),
    "text of bytes": ([b"wheat", "wheat"], ["grain", "grain"], "not bytes"),
    "text a number": ([3.5, "wheat"], ["grain", "grain"], "not float"),
    "field a number": ([{"title": 3}], ["grain"], "fields of str"),
    "field name None": ([{None: "wheat"}], ["grain"], "fields of str"),
    "lone surrogate": (["wheat \ud800"], ["grain"], "lone surrogate"),
    "lone surrogate in a field": ([{"body": "wheat \udfff"}], ["grain"], "lone surrogate"),
    "lone surrogate in a field's name": ([{"\ud800": "wheat"}], ["grain"], "lone surrogate"),
    "category None": (["wheat"], [None], "not NoneType"),
    "category in a list None": (["wheat"], [[None]], "not NoneType"),
    "category a number": (["wheat"], [3], "not int"),
    "categories of bytes": (["wheat"], [b"grain"], "not (int|bytes)"),
    "category empty": (["wheat"], [""], "category ''"),
    "category empty in a list": (["wheat"], [["grain", ""]], "category ''"),
    "category of spaces": (["wheat"], [["  "]], "spaces"),
    "category with a control character": (["wheat"], ["gra\nin"], "control"),
    "category too long": (["wheat"], ["g" * 201], "200"),
    "category with a lone surrogate": (["wheat"], ["\ud800"], "surrogate"),
}


@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
@pytest.mark.parametrize(("texts", "categories", "message"), BAD_CORPORA.values(), ids=BAD_CORPORA)
def test_bad_corpora_are_refused(texts: Any, categories: Any, message: str, verb: str) -> None:
    model = Categorizer(min_count=1).fit(*made_up(20))
    assert_refused(model, lambda model: getattr(model, verb)(texts, categories), message)


def test_an_empty_corpus_is_refused() -> None:
    for model in (fitted(), Categorizer()):
        assert_refused(model, lambda model: model.fit([], []), "no texts")
        assert_refused(model, lambda model: model.fit(["wheat wheat wheat"], [[]]), "no categories")


def test_an_empty_vocabulary_says_how_many_words_were_seen_and_what_to_change() -> None:
    message = "4 different features were seen, none of them 2 times or more .*min_count"
    assert_refused(fitted(), lambda model: model.fit(["crude oil", "wheat corn"], ["a", "b"]), message)
    assert_refused(Categorizer(), lambda model: model.fit(["", "..."], ["a", "b"]), "0 different features")


EMPTY = ["", "  \n", "?! ...", "\0\0", {"title": "", "body": "-"}, {}]


@pytest.mark.parametrize("text", EMPTY, ids=repr)
def test_a_text_without_features_has_no_categories_and_teaches_nothing(text: Any) -> None:
    for model in (fitted(), Categorizer(policy="exactly-one").fit(*SINGLE)):
        assert model.predict([text, "wheat corn", text])[::2] == [[], []]
        assert not model.explain(text).accepted
    assert_refused(model, lambda model: model.learn(text, accept=["grain"]), "no features")
    assert_refused(model, lambda model: model.partial_fit([text], ["grain"]), "no features")
    assert_refused(
        model, lambda model: model.partial_fit(["wheat", text, "corn"], ["grain"] * 3), "text 1: no features"
    )


def test_a_text_of_unknown_words_has_no_categories() -> None:
    assert fitted(policy="at-least-one").predict(["entirely unheard"]) == [[]]


def test_a_text_of_words_beyond_the_cap_teaches_nothing() -> None:
    model = Categorizer(max_features=20).fit(*TRAIN)
    assert_refused(model, lambda model: model.learn("entirely unheard", accept=["grain"]), "no features")


BAD_CORRECTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "neither": ({}, "at least one category"),
    "unknown reject": ({"reject": ["unheard-of"]}, "'unheard-of' is unknown"),
    "unknown reject beside a new category": ({"accept": ["new"], "reject": ["unheard-of"]}, "'unheard-of' is unknown"),
    "both": ({"accept": ["grain", "money"], "reject": ["money"]}, "'money' is both"),
    "new one in both": ({"accept": ["new"], "reject": ["new"]}, "'new' is both"),
    "empty name": ({"accept": [""]}, "category ''"),
    "None": ({"accept": None}, "not NoneType"),
    "name None": ({"accept": [None]}, "not NoneType"),
    "surrogate": ({"accept": ["\ud800"]}, "surrogate"),
}


@pytest.mark.parametrize(("lists", "message"), BAD_CORRECTIONS.values(), ids=BAD_CORRECTIONS)
def test_bad_corrections_are_refused(lists: dict[str, Any], message: str) -> None:
    assert_refused(fitted(), lambda model: model.learn("quite new words", **lists), message)


@pytest.mark.parametrize("text", [None, 3, b"wheat", ["wheat"], "wheat \ud800", {"body": None}], ids=repr)
def test_values_that_are_not_texts_are_refused_everywhere(text: Any) -> None:
    model = fitted()
    assert_refused(model, lambda model: model.learn(text, accept=["grain"]), "str|surrogate")
    assert_refused(model, lambda model: model.explain(text), "str|surrogate")
    assert_refused(model, lambda model: model.predict([text]), "str|surrogate")


def test_a_single_text_is_refused_as_a_collection() -> None:
    model = fitted()
    for look in (model.predict, model.rank, model.decision_function, model.predict_proba):
        with pytest.raises(TextError, match="put it into a list"):
            look("wheat and corn")


def test_unknown_categories_are_named_with_some_that_exist() -> None:
    model = fitted()
    for call in (lambda: model.rank_documents("unheard-of", ["wheat"]), lambda: model.strongest_words("unheard-of")):
        with pytest.raises(TextError, match=r"'unheard-of' is unknown \(known: energy, grain, metals, money, ships"):
            call()


def test_a_null_byte_separates_words() -> None:
    model = Categorizer(min_count=1, bias=0).fit(["crude\0oil", "wheat"], ["energy", "grain"])
    assert model.state.features.names == ["crude", "oil", "wheat"]
    assert model.predict(["\0oil\0crude"]) == model.predict(["oil crude"]) == [["energy"]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"preset": "unheard-of"}, "invalid preset: 'unheard-of' .*paper"),
        ({"learner": "unheard-of"}, "invalid learner: 'unheard-of' .*balanced-winnow"),
        ({"unheard_of": 3}, "invalid unheard_of: 3 .not a setting"),
        ({"learner": "perceptron", "beta": 0.5}, "invalid beta: 0.5 .not a setting of perceptron"),
        ({"analyser": "unheard-of"}, "invalid analyser: 'unheard-of' .*words"),
        ({"strength": "unheard-of"}, "invalid strength: 'unheard-of' .*tfidf"),
        ({"policy": "at-most-0"}, "invalid policy: 'at-most-0'"),
        ({"thresholds": "f2"}, "'f2' .*f1"),
        ({"folds": 1}, "invalid folds: 1"),
        ({"min_count": 0}, "invalid min_count: 0"),
        ({"max_features": 2.5}, "invalid max_features: 2.5"),
        ({"alpha": 0.5}, "invalid alpha: 0.5"),
        ({"threshold_range": (2.0, 1.0)}, "threshold_range"),
        ({"n_threads": 0}, "invalid n_threads: 0"),
        ({"learner": ["perceptron"]}, "invalid learner: "),
        ({"preset": None}, "invalid preset: None"),
    ],
    ids=str,
)
def test_unknown_settings_are_refused_with_what_is_allowed(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as refusal:
        Categorizer(**settings)
    assert "\n" not in str(refusal.value)


def test_predicting_before_learning_is_refused() -> None:
    model = Categorizer()
    for look in (model.predict, model.rank, model.decision_function, model.predict_proba):
        with pytest.raises(NotFittedError, match="learned nothing yet"):
            look(["wheat"])
    with pytest.raises(NotFittedError, match="learned nothing yet"):
        model.explain("wheat")


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.rename_category("unheard-of", "new"),
        lambda model: model.rename_category("grain", "energy"),
        lambda model: model.rename_category("grain", ""),
        lambda model: model.retire_category("unheard-of"),
        lambda model: model.merge_categories(["grain"], "new"),
        lambda model: model.merge_categories(["grain", "unheard-of"], "new"),
        lambda model: model.merge_categories(["grain", "energy"], "money"),
        lambda model: model.merge_categories(["grain", "energy"], ""),
    ],
)
def test_impossible_changes_of_categories_are_refused(change: Callable[[Categorizer], object]) -> None:
    assert_refused(fitted(), change)


# -- features in place of a text ---------------------------------------------------------------------------------------


BAD_FEATURES: dict[str, tuple[Any, Any]] = {
    "a negative count": (["oil"], [-(10**9)]),
    "a count of zero": (["oil"], [0]),
    "a count beyond 32 bits": (["oil"], [2**31]),
    "a fraction": (["oil"], [1.5]),
    "a whole number as a float": (["oil"], [2.0]),
    "not a number": (["oil"], [float("nan")]),
    "infinity": (["oil"], [float("inf")]),
    "a truth value": (["oil"], [True]),
    "a count that is text": (["oil"], ["1"]),
    "no count": (["oil"], [None]),
    "an empty name": ([""], [1]),
    "a name that is none": ([None], [1]),
    "a name of bytes": ([b"oil"], [1]),
    "half a letter": (["\ud800"], [1]),
    "a name twice": (["oil", "wheat", "oil"], [1, 2, 3]),
    "the constant feature": (["oil", "(always)"], [1, 1]),
    "fewer counts": (["oil", "wheat"], [1]),
    "more counts": (["oil"], [1, 2]),
    "one text for all names": ("oil", [1, 1, 1]),
    "counts that are one": (["oil"], 1),
    "nothing": (None, None),
}
GIVEN_TO: dict[str, Callable[[Categorizer, Any], object]] = {
    "predict": lambda model, found: model.predict([found]),
    "decision_function": lambda model, found: model.decision_function([found]),
    "rank": lambda model, found: model.rank([found]),
    "explain": lambda model, found: model.explain(found),
    "empty": lambda model, found: model.empty([found]),
    "learn": lambda model, found: model.learn(found, accept=["grain"]),
    "partial_fit": lambda model, found: model.partial_fit([found], [["grain"]]),
    "stream": lambda model, found: list(model.stream([(found, ["grain"])])),
    "a view": lambda model, found: model.view().predict([found]),
}


@pytest.mark.parametrize("verb", GIVEN_TO)
@pytest.mark.parametrize("found", BAD_FEATURES.values(), ids=BAD_FEATURES)
def test_features_that_no_text_has_are_refused(found: tuple[Any, Any], verb: str) -> None:
    model = taken()
    before = model.digest()
    with pytest.raises(TextError) as refusal:
        GIVEN_TO[verb](model, FeatureCounts(*found))
    assert str(refusal.value).isprintable()
    assert model.digest() == before


@cache
def taken() -> Categorizer:
    return Categorizer(preset="fast", min_count=1).fit(*made_up(20))


def test_features_may_be_given_instead_of_their_text() -> None:
    model = taken()
    found = model.state.features.count_features("oil oil wheat")
    assert found == FeatureCounts(["oil", "wheat"], [2, 1])
    given: Any = FeatureCounts(("oil", "wheat"), (np.int32(2), 1))  # type: ignore[arg-type]
    assert model.predict([given]) == model.predict(["oil oil wheat"])
    assert model.decision_function([given]).tobytes() == model.decision_function(["oil oil wheat"]).tobytes()
    explained, whole = model.explain(given), model.explain("oil oil wheat")
    assert [word.contribution for word in explained.words] == [word.contribution for word in whole.words]
    assert all(not word.positions for word in explained.words)


odd_names = st.text(max_size=4) | st.sampled_from(["oil", "wheat", "(always)", "", "\ud800", "#oil"]) | st.none()
odd_counts = st.integers() | st.integers(1, 2**31) | st.floats() | st.booleans() | st.just(1)


@settings(max_examples=60, deadline=None)
@given(st.lists(odd_names, max_size=4), st.lists(odd_counts, max_size=4))
@example(["oil", "new"], [2**31 - 1, 1])
def test_any_features_are_refused_or_give_a_model_that_loads(names: list[Any], counts: list[Any]) -> None:
    model = Categorizer(preset="fast", min_count=1, choose="nothing").fit(["crude oil", "wheat corn"], ["a", "b"])
    found: Any = FeatureCounts(names, counts)
    before = model.digest()
    try:
        model.learn(found, accept=["c"])
        model.predict([found])
    except TextError:
        assert model.digest() == before
    with TemporaryDirectory() as folder:
        digest = model.save(Path(folder) / "model")
        assert Categorizer.load(Path(folder) / "model").digest() == digest
