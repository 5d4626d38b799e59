"""Texts as long as they may be, made to be slow: every analyser takes time and room in proportion to their length."""

import time
from collections.abc import Callable

import pytest

from thresher.text import derived
from thresher.text.features import TextFeatures
from thresher.text.tokens import words

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


def is_linear(function: Callable[[str], object], piece: str) -> bool:
    """Tell whether four times the text takes at most eight times as long; in quadratic time it would be sixteen."""
    short, long = made_of(piece, LONGEST // 40), made_of(piece, LONGEST // 10)
    return any(seconds(function, long) <= 8 * seconds(function, short) + 0.01 for _ in range(5))


@pytest.mark.parametrize("analyser", ANALYSERS)
def test_time_grows_with_the_text_and_no_faster(analyser: str) -> None:
    features = TextFeatures(analyser, min_count=1)
    for name, piece in PIECES.items():
        assert is_linear(lambda text: features.rows([text], grow=True), piece), name


def test_what_takes_quadratic_time_is_found_out() -> None:
    assert not is_linear(lambda text: [text.count("b") for _ in range(len(text) // 50)], "a")


@pytest.mark.parametrize("analyser", ["words", "words+ngrams:5", "sparse:3:9", "chars:1-9"])
def test_the_longest_text_is_analysed_soon(analyser: str) -> None:
    features = TextFeatures(analyser, min_count=1)
    for name, piece in PIECES.items():
        text = made_of(piece, LONGEST)
        assert seconds(lambda text: features.rows([text], grow=True), text) < 3, name
        assert len(features.names) < 200


def test_a_document_has_only_so_many_choices_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    features = TextFeatures("sparse:2:3", min_count=1)
    whole = features.found_in("a b c d e f")
    monkeypatch.setattr(derived, "MOST_CHOICES", 8)  # two begin at each word
    assert features.found_in("a b c d e f") == features.found_in("a b c d") != whole
    several = [words(tokens) for tokens in features.analyser(["a b c d e f", "g h i", "a b c d"])]
    assert several[0][0] == several[0][2] == ["a~b", "b~c", "c~d", "a~c", "b~d"]
    assert several[0][1] == ["g~h", "h~i", "g~i"]
