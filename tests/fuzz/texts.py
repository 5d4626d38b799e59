"""Analysers give the tokens of the naive twin for any text, within bounds and at the right positions."""

from functools import cache

from fuzz.readers import one_line
from support import naive_tokens
from thresher.errors import TextError
from thresher.text.analysers import Analyser
from thresher.text.tokens import decode_words, locate_bytes, tokenize
from thresher.text.vectorizer import TextFeatures

PARTS = (
    "words", "words+ngrams:3", "words+sparse:2:5", "sparse:3:9", "words+sets:sentence", "sets:document",
    "words+chars:3-5+title", "chars:1-9",
)  # fmt: skip
LONGEST = 64  # characters of a word; other names are made of a few


@cache
def features(parts: str) -> TextFeatures:
    return TextFeatures(parts, min_count=1)


def words_of(data: bytes) -> None:
    """Analyse a text, which may hold lone surrogates, alone and together with others."""
    try:
        given = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        given = data.decode("utf-8", "ignore")
    try:
        (found,) = decode_words(tokenize([given]))
    except TextError as error:
        one_line(error)
        assert any("\ud800" <= letter <= "\udfff" for letter in given), given
        return
    assert found == naive_tokens.tokens(given)
    assert decode_words(tokenize(["a b", given, "", given])) == [["a", "b"], found, [], found]
    begins, ends = locate_bytes(given)
    assert all(0 <= begin < end <= len(given) for begin, end in zip(begins, ends, strict=True))
    check_analyser(PARTS[len(data) % len(PARTS)], given)


def check_analyser(parts: str, given: str) -> None:
    """Features are bounded in number and length, with positions within the text; a title is a field like any other."""
    analyser = Analyser(parts)
    for tokens in analyser([given, {"title": given, "body": given, "other": given}], positions=True):
        assert len(tokens.documents) == 2
        assert len(tokens.stops) == (tokens.documents[-1] if len(tokens.documents) else 0)
        for name in [name for row in decode_words(tokens) for name in row]:
            assert 0 < len(name) <= 3 * LONGEST + 10, name
    places = features(parts).occurrences(given)
    for name, where in places.items():
        assert name
        assert all(0 <= start <= end <= len(given) for start, end in where)
    counts = features(parts).count_features(given)
    assert sorted(places) == sorted(counts.names)
    assert all(count == len(places[name]) for name, count in zip(counts.names, counts.counts, strict=True))
