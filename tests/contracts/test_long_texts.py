"""Texts of the maximum length, made to be slow: each analyser needs time and memory in proportion to the length."""

import time
from collections.abc import Callable
from functools import cache

import pytest

from thresher import Categorizer
from thresher.text import token_features
from thresher.text.tokens import decode_words
from thresher.text.vectorizer import TextFeatures

LONGEST = 1_000_000  # bytes
PIECES = {
    "one word": "a",
    "spaces": " ",
    "combining marks": "\u0301",
    "marks of two classes": "\u0316\u0301",
    "families of emoji": "👩\u200d👩\u200d👧",
    "words of a letter": "a ",
    "Han characters": "漢字",
    "sentences of a word": "oil. ",
}
ANALYSERS = (
    "words", "words+ngrams:5", "sparse:2:9", "sparse:3:9", "sets:sentence", "sets:document", "chars:1-9", "words+title",
    "lemmas", "nouns-and-verbs",
)  # fmt: skip


def made_of(piece: str, size: int) -> str:
    """Return a text of so many bytes that is one piece again and again."""
    return piece * (size // len(piece.encode()))


def seconds(function: Callable[[str], object], text: str) -> float:
    """Return the CPU time of a call, which tells little of other processes."""
    start = time.process_time()
    function(text)
    return time.process_time() - start


def is_linear(function: Callable[[str], object], piece: str, size: int = LONGEST // 40) -> bool:
    """Tell whether four times the text takes at most eight times as long; in quadratic time it would be sixteen."""
    short, long = made_of(piece, size), made_of(piece, 4 * size)
    shortest = min(seconds(function, short) for _ in range(3))
    return any(seconds(function, long) <= 8 * shortest + 0.01 for _ in range(5))


@pytest.mark.parametrize("analyser", ANALYSERS)
def test_time_grows_with_the_text_and_no_faster(analyser: str) -> None:
    features = TextFeatures(analyser, min_count=1)
    for name, piece in PIECES.items():
        assert is_linear(lambda text: features.rows([text], grow=True), piece), name


def test_quadratic_time_would_be_detected() -> None:
    assert not is_linear(lambda text: [text.count("b") for _ in range(len(text) // 50)], "a")


@pytest.mark.parametrize("analyser", ["words", "words+ngrams:5", "sparse:3:9", "chars:1-9"])
def test_the_longest_text_is_analysed_soon(analyser: str) -> None:
    features = TextFeatures(analyser, min_count=1)
    for name, piece in PIECES.items():
        text = made_of(piece, LONGEST)
        assert seconds(lambda text: features.rows([text], grow=True), text) < 3, name
        assert len(features.names) < 200


def test_a_document_has_a_limited_number_of_word_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    features = TextFeatures("sparse:2:3", min_count=1)
    whole = features.count_features("a b c d e f")
    monkeypatch.setattr(token_features, "MAX_CHOICES", 8)  # two begin at each word
    assert features.count_features("a b c d e f") == features.count_features("a b c d") != whole
    several = [decode_words(tokens) for tokens in features.analyser(["a b c d e f", "g h i", "a b c d"])]
    assert several[0][0] == several[0][2] == ["a~b", "b~c", "c~d", "a~c", "b~d"]
    assert several[0][1] == ["g~h", "h~i", "g~i"]


# What `explain` does with a text, and what a correction keeps of it.


@cache
def explained() -> Categorizer:
    """Return a model that knows words, pairs and runs of letters, as the default preset chooses them."""
    texts = ["lamps and oil", "café oil", "wheat harvest", "corn lamps"] * 3
    model = Categorizer(preset="fast", analyser="words+ngrams:2+chars:4-4", min_count=1)
    return model.fit(texts, ["energy", "energy", "grain", "grain"] * 3)


def explain(text: str) -> None:
    explained().explain(text).whole_words(text)


EXPLAINED = {
    "one word again and again": "lamps ",
    "decomposed letters": "e\u0301",
    "decomposed words": "cafe\u0301 ",
    "Hangul in parts": "\u1112\u1161\u11ab",
    "unknown to Unicode 14": "\u0378",
    "lines": "\n\u0301",
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_time_to_explain_grows_with_the_text_and_no_faster(name: str) -> None:
    explain("lamps")
    assert is_linear(explain, EXPLAINED[name], LONGEST // 64)


@pytest.mark.parametrize("name", EXPLAINED)
def test_the_longest_text_is_explained_soon(name: str) -> None:
    explain("lamps")
    assert min(seconds(explain, made_of(EXPLAINED[name], LONGEST)) for _ in range(2)) < 5


def test_time_to_explain_grows_with_the_fields_and_no_faster() -> None:
    def explain_fields(text: str) -> None:
        explained().explain({f"field {i}": text[i : i + 400] for i in range(0, len(text), 400)})

    explain_fields("lamps")
    assert is_linear(explain_fields, "lamps ", LONGEST // 16)


def test_documents_with_fields_of_their_own_take_no_longer_than_with_shared_ones() -> None:
    shared = [{f"f{i}": "lamps" for i in range(5)} for _ in range(300)]
    own = [{f"f{number}-{i}": "lamps" for i in range(5)} for number in range(300)]
    explained().predict(own)
    took = [min(_cpu(documents) for _ in range(3)) for documents in (shared, own)]
    assert took[1] < 8 * took[0] + 0.05


def _cpu(documents: list[dict[str, str]]) -> float:
    start = time.process_time()
    explained().predict(documents)
    return time.process_time() - start


def test_the_features_of_the_longest_text_are_found_soon() -> None:
    features = explained().state.features
    features.count_features("lamps")
    assert min(seconds(features.count_features, made_of("lamps ", LONGEST)) for _ in range(2)) < 2
