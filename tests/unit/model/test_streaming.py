"""A stream gives what predicting and learning one document at a time gives: predictions, weights and all."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.corpora import made_up
from thresher import Categorizer
from thresher.errors import TextError
from thresher.model import streaming
from thresher.model.streaming import Streamed

TEXTS, CATEGORIES = made_up(600, seed=5)
LATER = list(zip(TEXTS[120:], CATEGORIES[120:], strict=True))


def fitted(**settings: Any) -> Categorizer:
    return Categorizer(**settings).fit(TEXTS[:120], CATEGORIES[:120])


def one_by_one(model: Categorizer, documents: list[tuple[Any, Any]]) -> list[Streamed]:
    found = []
    for text, categories in documents:
        predicted = model.predict([text])[0] if model.categories else []
        try:
            model.partial_fit([text], [categories])
        except TextError:
            found.append(Streamed(predicted, False))
        else:
            found.append(Streamed(predicted, True))
    return found


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"preset": "paper"},
        {"preset": "fast", "analyser": "words+ngrams:2+title"},
        {"learner": "perceptron", "average": False},
        {"learner": "positive-winnow", "average": False},
        {"learner": "balanced-winnow"},  # averaged
        {"strength": "tfidf", "policy": "at-least-one"},
    ],
    ids=str,
)
def test_a_stream_equals_one_document_at_a_time(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BATCH", 200)
    streamed, single = fitted(**settings), fitted(**settings)
    odd: list[tuple[Any, list[str]]] = [
        ("", ["grain"]),
        ("!?", []),
        ("qqqq zzzz xxxx", ["grain"]),
        ("qqqq pppp", []),
        ("new words for a new thing", ["entirely new"]),
        ("more new words for it", ["entirely new", "grain"]),
        ({"title": "Wheat", "body": "harvest of wheat"}, ["grain"]),
    ]
    documents = LATER[:50] + odd + LATER[50:]
    assert list(streamed.stream(documents)) == one_by_one(single, documents)
    assert streamed.digest() == single.digest()
    assert streamed.predict(TEXTS) == single.predict(TEXTS)


def test_a_stream_may_start_from_nothing() -> None:
    streamed, single = Categorizer(), Categorizer()
    documents = [("nothing known", []), *LATER[:40]]
    assert list(streamed.stream(documents))[1:] == one_by_one(single, documents)[1:]
    assert streamed.digest() == single.digest()


def test_a_stream_learns_no_further_than_it_was_read() -> None:
    model = fitted()
    before = model.digest()
    stream = model.stream(LATER)
    assert model.digest() == before
    next(stream)
    assert model.digest() != before


def test_an_error_on_the_way_leaves_a_model_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted()
    before = model.digest()
    monkeypatch.setattr(type(model.state.learner), "stream_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(model.stream([("words unheard of before", ["grain"])]))
    assert model.digest() == before
    assert model.predict(["wheat"]) == fitted().predict(["wheat"])


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_stream_equals_one_by_one_if_new_words_have_an_initial_weight() -> None:
    streamed, single = (fitted(preset="paper", late_start="initial") for _ in range(2))
    documents = [("wheat qqqq zzzz unheardof words many more neverseen", []), *LATER[:100]]
    assert list(streamed.stream(documents)) == one_by_one(single, documents)
    assert streamed.digest() == single.digest()


def test_documents_before_an_error_are_learned() -> None:
    def failing() -> Iterator[tuple[Any, Any]]:
        yield from LATER[:30]
        raise OSError("the line is dead")

    for broken in (failing(), [*LATER[:30], (b"no text", ["grain"])], [*LATER[:30], "no pair"]):
        streamed, single, found = fitted(), fitted(), list[Streamed]()
        with pytest.raises((OSError, TextError)):
            found.extend(streamed.stream(broken))  # type: ignore[arg-type]
        assert found == one_by_one(single, LATER[:30])
        assert streamed.digest() == single.digest()


@pytest.mark.parametrize("document", ["ab", ("text",), 7, ("wheat", (["a"],)), ("wheat", 7)])
def test_items_that_are_not_pairs_of_text_and_categories_are_refused(document: Any) -> None:
    with pytest.raises(TextError):
        list(fitted().stream([document]))


def test_a_model_whose_categories_are_retired_learns_nothing_from_a_document_without_any() -> None:
    model = fitted()
    for name in list(model.categories):
        model.retire_category(name)
    before = model.digest()
    assert list(model.stream([("wheat brandnewword", ())])) == [Streamed([], False)]
    assert model.digest() == before


def test_many_texts_of_late_words_are_learned_a_few_at_a_time() -> None:
    streamed, single = fitted(), fitted()
    documents = [(f"late{i} later{i}", ["grain"]) if i % 3 else LATER[i] for i in range(60)]
    assert list(streamed.stream(documents)) == one_by_one(single, documents)
    assert streamed.digest() == single.digest()
