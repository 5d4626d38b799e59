"""Each part of an analyser equals a few lines of plain Python, and features are counted as a Counter counts them."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.errors import ParameterError, TextError
from thresher.kernels.compiler import COMPILED
from thresher.kernels.csr import Rows
from thresher.text import batches as batches_module
from thresher.text.analysers import Analyser, Part, Text
from thresher.text.tokens import decode_words, locate_bytes
from thresher.text.vectorizer import FeatureCounts, TextFeatures

FEW = settings(max_examples=60 if COMPILED else 10, deadline=None)
TEXTS = ["Crude oil rose. Öl und Gas fell; oil, oil!", "", "one", "the cat sat on the mat? The cat sat.", "漢字 öl"]

corpora = st.lists(st.lists(st.sampled_from(["a", "b", "öl", "cat", "漢", "."]), max_size=12).map(" ".join), max_size=5)


def found(analyser: Part | list[Part], texts: Sequence[Text]) -> list[list[str]]:
    """Return the features of each text, part after part."""
    parts = [decode_words(tokens) for tokens in Analyser(analyser)(texts)]
    return [[name for part in parts for name in part[i]] for i in range(len(texts))]


def plain(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def sentences(text: str) -> list[list[str]]:
    return [plain(sentence) for sentence in re.split(r"[.!?\n]", text)]


def pairs(tokens: list[str], farthest: int) -> list[str]:
    near = [(a, b) for (i, a), (j, b) in combinations(enumerate(tokens), 2) if j - i <= farthest]
    return ["&".join(sorted(pair, key=str.encode)) for pair in near if pair[0] != pair[1]]


def pieces(word: str, low: int, high: int) -> list[str]:
    padded = f"_{word}_"
    return ["#" + padded[i : i + n] for n in range(low, high + 1) for i in range(len(padded) - n + 1)]


@FEW
@given(corpora | st.just(TEXTS))
def test_the_analyser_words_gives_the_words(texts: list[Text]) -> None:
    assert found("words", texts) == [plain(str(text)) for text in texts]


@FEW
@given(corpora | st.just(TEXTS), st.integers(2, 5))
def test_ngrams_are_runs_of_two_to_n_words(texts: list[Text], most: int) -> None:
    for text, names in zip(texts, found(f"ngrams:{most}", texts), strict=True):
        tokens = plain(str(text))
        runs = [tokens[i : i + n] for n in range(2, most + 1) for i in range(len(tokens) - n + 1)]
        assert names == [" ".join(run) for run in runs]


@FEW
@given(corpora | st.just(TEXTS), st.sampled_from([(2, 2), (2, 5), (2, 9), (3, 3), (3, 6)]))
def test_sparse_ngrams_are_ordered_choices_within_a_window(texts: list[Text], shape: tuple[int, int]) -> None:
    n, window = shape
    for text, names in zip(texts, found(f"sparse:{n}:{window}", texts), strict=True):
        choices = [c for c in combinations(enumerate(plain(str(text))), n) if c[-1][0] - c[0][0] < window]
        assert Counter(names) == Counter("~".join(word for _, word in choice) for choice in choices)


@FEW
@given(corpora | st.just(TEXTS))
def test_sets_are_unordered_pairs_of_different_words(texts: list[Text]) -> None:
    for text, names in zip(texts, found("sets:document", texts), strict=True):
        assert Counter(names) == Counter(pairs(plain(str(text)), 100))
    for text, names in zip(texts, found("sets:sentence", texts), strict=True):
        assert Counter(names) == Counter(pair for part in sentences(str(text)) for pair in pairs(part, 40))


def test_sets_pair_words_only_within_a_distance() -> None:
    numbered = [f"w{i}" for i in range(150)]
    assert Counter(found("sets:document", [" ".join(numbered)])[0]) == Counter(pairs(numbered, 100))
    assert Counter(found("sets:sentence", [" ".join(numbered)])[0]) == Counter(pairs(numbered, 40))


@FEW
@given(corpora | st.just(TEXTS), st.sampled_from([(1, 1), (2, 3), (3, 5), (4, 9)]))
def test_characters_are_cut_within_each_word(texts: list[Text], sizes: tuple[int, int]) -> None:
    for text, names in zip(texts, found("chars:{}-{}".format(*sizes), texts), strict=True):
        assert names == [piece for word in plain(str(text)) for piece in pieces(word, *sizes)]


def test_pieces_of_short_words_and_of_many_bytes() -> None:
    assert found("chars:3-4", ["a öl"]) == [["#_a_", "#_öl", "#öl_", "#_öl_"]]
    assert found("chars:2-2", ["é 𐐨x"]) == [["#_é", "#é_", "#_𐐨", "#𐐨x", "#x_"]]
    assert found("chars:4-5", ["a"]) == [[]]


def test_the_title_of_plain_text_is_its_first_line() -> None:
    assert found("title", ["Oil up\nGas down", "one line", "\nnone", ""]) == [
        ["title:oil", "title:up"],
        ["title:one", "title:line"],
        [],
        [],
    ]
    assert found("words+title", ["Oil\nGas"]) == [["oil", "gas", "title:oil"]]


def test_the_title_is_the_field_of_that_name() -> None:
    assert found("words+title", [{"title": "Öl", "body": "Gas\nup"}, {"body": "x"}]) == [
        ["öl", "gas", "up", "title:öl"],
        ["x"],
    ]
    assert found("words", [{"title": "Oil", "body": "gas", "text": "up"}]) == [["oil", "gas", "up"]]


def test_other_fields_are_marked_with_their_names() -> None:
    texts: list[Text] = [{"body": "Gas", "author": "A. Smith", "日付": "2025"}, "plain", {"author": "B"}]
    assert found("words", texts) == [
        ["gas", "a", "smith", "2025", "author:a", "author:smith", "日付:2025"],
        ["plain"],
        ["b", "author:b"],
    ]


def test_lemmas_are_english_unless_a_language_is_named() -> None:
    assert found("lemmas", ["Prices rose sharply"]) == [["price", "rise", "sharply"]]
    assert found("lemmas:de", ["Häuser standen"]) == [["haus", "stehen"]]


def test_nouns_and_verbs_leave_other_words_out() -> None:
    assert found("nouns-and-verbs", ["Prices rose sharply", "the", "", "Oil"]) == [["price", "rise"], [], [], ["oil"]]


def test_ngrams_are_made_of_lemmas_where_the_words_are_lemmas() -> None:
    assert found("nouns-and-verbs+ngrams:2", ["prices sharply rose"]) == [["price", "rise", "price rise"]]
    assert found("title+lemmas:de", ["Häuser"]) == [["haus", "title:haus"]]


def test_asking_again_gives_the_same_lemmas() -> None:
    analyser = Analyser("lemmas")
    first, second = (decode_words(analyser(["prices rose", "rose"])[0]) for _ in range(2))
    assert first == second == [["price", "rise"], ["rise"]]


def initials(text: str) -> Iterator[str]:
    return (f"^{word[0]}" for word in text.split())


def test_functions_of_the_user_give_features_as_they_are() -> None:
    assert found(initials, ["Oil up", "", "Öl"]) == [["^O", "^u"], [], ["^Ö"]]
    assert found(initials, [{"title": "Oil", "body": "up"}]) == [["^O", "^u"]]
    assert found(["words", initials], ["Oil up"]) == [["oil", "up", "^O", "^u"]]
    assert found(lambda text: ["a b", text], ["x"]) == [["a b", "x"]]


@pytest.mark.parametrize("answer", [[b"oil"], [1], [None], [""], "oil", 5, None])
def test_functions_that_do_not_give_strings_are_refused(answer: Any) -> None:
    with pytest.raises(TextError, match="must return strings"):
        found(lambda text: answer, ["oil"])


def test_parts_combine_in_their_order() -> None:
    names = found("ngrams:2+words+chars:3-3", ["oil up"])[0]
    assert Counter(names) == Counter(["oil", "up", "oil up", "#_oi", "#oil", "#il_", "#_up", "#up_"])
    assert found(["words", "ngrams:2"], TEXTS) == found("words+ngrams:2", TEXTS)


def test_analysers_record_their_parts() -> None:
    assert Analyser().name == "words"
    assert Analyser(["words+ngrams:3", "title"]).name == "words+ngrams:3+title"
    assert Analyser(["words", initials]).name == f"words+({__name__}.initials)"
    assert Analyser(Analyser("lemmas:de+sparse:2:4").name).name == "lemmas:de+sparse:2:4"


@pytest.mark.parametrize("function", [partial(initials), str.split], ids=["partial", "method"])
def test_every_kind_of_function_has_a_name(function: Any) -> None:
    assert Analyser(function).name.startswith("(")


@pytest.mark.parametrize(
    "parts",
    ["", "word", "words+", "Words", "ngrams", "ngrams:1", "ngrams:6", "sparse:4:5", "sets", "lemmas:german", "words ",
     "sparse:2:0", "sparse:2:1", "sparse:3:2", "chars:0-2", "chars:5-2", "chars:٣-٤", "lemmas:xx", [], None, 5, [5]],
    ids=repr,
)  # fmt: skip
def test_unknown_parts_are_refused_with_the_list(parts: Any) -> None:
    with pytest.raises(ParameterError, match="allowed: "):
        Analyser(parts)


@pytest.mark.parametrize("parts", ["words+lemmas", "lemmas+ngrams:2+lemmas:de", ["words", "words"]])
def test_two_kinds_of_words_are_refused(parts: Any) -> None:
    with pytest.raises(ParameterError, match="allowed: one kind of words"):
        Analyser(parts)


@pytest.mark.parametrize("text", [None, 3, b"oil", ["oil"], {"title": None}, {1: "oil"}], ids=repr)
def test_texts_that_are_neither_str_nor_fields_are_refused(text: Any) -> None:
    with pytest.raises(TextError, match="must be str or fields of str"):
        Analyser()(["fine", text])


@pytest.mark.parametrize("text", ["\ud800", {"body": "\udfff"}, {"\ud800": "oil"}], ids=ascii)
def test_lone_surrogates_are_refused(text: Any) -> None:
    with pytest.raises(TextError, match="lone surrogate"):
        found("words+title", [text])


@pytest.mark.parametrize(
    "parts", ["words", "lemmas", "ngrams:3", "sparse:3:4", "sets:sentence", "sets:document", "chars:2-3", "title"]
)
def test_empty_documents_have_no_features(parts: str) -> None:
    assert found(parts, ["", " ", "…", {}, {"body": ""}]) == [[]] * 5
    assert found(parts, []) == []
    assert found(parts, ["", "oil gas up x", ""])[::2] == [[], []]


def as_counters(rows: Rows, names: list[str]) -> list[dict[str, float]]:
    """Return the rows as dicts, having seen that each is sorted."""
    documents = []
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        indices = np.asarray(rows.indices[start:stop])
        assert (np.diff(indices) > 0).all()
        counts = np.asarray(rows.data[start:stop]).tolist()
        documents.append({names[i]: count for i, count in zip(indices.tolist(), counts, strict=True)})
    assert rows.n_features == len(names)
    return documents


def counts_of(analyser: Part, texts: Iterable[str], known: Iterable[str]) -> list[dict[str, float]]:
    kept = set(known)
    return [{k: float(n) for k, n in Counter(names).items() if k in kept} for names in found(analyser, list(texts))]


def by_frequency(texts: Iterable[str], least: int = 1) -> list[str]:
    """Return the words, the most frequent first and then in the order of first sight."""
    counts = Counter(word for text in texts for word in plain(text))
    return [word for word, n in sorted(counts.items(), key=lambda item: -item[1]) if n >= least]


MIXED = ["a b b c", "", "d c b. a", "öl 漢字 a", "a öl\nb", "e", "b title e"]


@pytest.mark.parametrize("analyser", ["words", "words+ngrams:2", "words+title+chars:2-3"])
def test_rows_equal_a_counter(analyser: str) -> None:
    features = TextFeatures(analyser, min_count=2)
    rows = features.fit(MIXED)
    totals = Counter(name for names in found(analyser, list(MIXED)) for name in names)
    assert set(features.names) == {name for name, n in totals.items() if n >= 2}
    assert [totals[name] for name in features.names] == sorted((n for n in totals.values() if n >= 2), reverse=True)
    assert as_counters(rows, features.names) == counts_of(analyser, MIXED, features.names)


@FEW
@given(corpora, st.integers(1, 3), st.integers(1, 5))
def test_features_are_numbered_by_frequency_then_first_sight(texts: list[str], least: int, most: int) -> None:
    expected = by_frequency(texts, least)[:most]
    features = TextFeatures(min_count=least, max_features=most)
    if expected:
        assert as_counters(features.fit(texts), expected) == counts_of("words", texts, expected)
        assert features.names == expected
    else:
        with pytest.raises(TextError):
            features.fit(texts)


def test_fitted_texts_give_the_same_rows_again() -> None:
    features = TextFeatures("words+ngrams:2", min_count=2)
    fitted, again = features.fit(MIXED), features.rows(MIXED)
    for one, other in zip(fitted, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_leave_unknown_words_out_unless_they_may_grow() -> None:
    features = TextFeatures(min_count=1)
    features.fit(["a a b"])
    assert as_counters(features.rows(["c a", "d"]), ["a", "b"]) == [{"a": 1}, {}]
    assert features.names == ["a", "b"]
    assert as_counters(features.rows(["c a", "d c"], grow=True), ["a", "b", "c", "d"]) == [
        {"a": 1, "c": 1},
        {"c": 1, "d": 1},
    ]
    assert features.names == ["a", "b", "c", "d"]
    assert features.document_counts.tolist() == [1, 1, 0, 0]


def test_the_vocabulary_grows_up_to_the_cap() -> None:
    features = TextFeatures(min_count=1, max_features=3)
    features.fit(["a a b"])
    assert as_counters(features.rows(["c d a"], grow=True), ["a", "b", "c"]) == [{"a": 1, "c": 1}]
    assert as_counters(features.rows(["d e c"], grow=True), ["a", "b", "c"]) == [{"c": 1}]


def test_a_document_counts_once_for_each_of_its_features() -> None:
    features = TextFeatures(min_count=1)
    features.fit(["a a b", "a", ""])
    assert features.n_documents == 3
    assert features.document_counts.tolist() == [2, 1]


def test_generators_are_accepted() -> None:
    features = TextFeatures(min_count=1)
    assert as_counters(features.fit(text for text in MIXED), by_frequency(MIXED)) == as_counters(
        features.rows(iter(MIXED)), by_frequency(MIXED)
    )


@pytest.mark.parametrize("texts", ["one string", b"bytes"])
def test_a_single_string_is_refused(texts: Any) -> None:
    features = TextFeatures()
    with pytest.raises(TextError, match="put it into a list"):
        features.fit(texts)
    with pytest.raises(TextError, match="put it into a list"):
        features.rows(texts)


def test_a_single_text_of_fields_is_refused() -> None:
    fields: Any = {"title": "Oil", "body": "oil oil"}
    with pytest.raises(TextError, match="put it into a list"):
        TextFeatures(min_count=1).fit(fields)


def test_an_empty_corpus_is_refused() -> None:
    with pytest.raises(TextError, match="no texts"):
        TextFeatures().fit([])
    assert TextFeatures().rows([]).indptr.tolist() == [0]


def test_a_corpus_without_frequent_features_is_refused_with_their_number() -> None:
    with pytest.raises(TextError, match=r"no features are left: 4 different .* 3 times .*lower min_count"):
        TextFeatures().fit(["oil gas", "oil up x"])
    with pytest.raises(TextError, match="no features are left: 0 different"):
        TextFeatures(min_count=1).fit(["", "…"])


@pytest.mark.parametrize("name", ["min_count", "max_features"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, None, "3", 2**31, float("nan")])
def test_limits_other_than_whole_numbers_from_1_are_refused(name: str, value: Any) -> None:
    limits: dict[str, Any] = {name: value}
    with pytest.raises(ParameterError, match=rf"invalid {name}: .*allowed: a whole number from 1"):
        TextFeatures(**limits)


def test_a_failed_fit_changes_nothing() -> None:
    features = TextFeatures(min_count=1)
    features.fit(["a b"])
    for bad in (["c", None], ["c", "\ud800"], [""], []):
        with pytest.raises(TextError):
            features.fit(bad)  # type: ignore[arg-type]
    assert features.names == ["a", "b"]


def test_a_failed_batch_takes_no_new_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches_module, "MAX_TEXTS", 1)
    features = TextFeatures(min_count=1)
    features.fit(["a b"])
    with pytest.raises(TextError):
        features.rows(["new words", "\ud800"], grow=True)
    assert features.names == ["a", "b"]


@pytest.mark.parametrize("analyser", ["words", "words+ngrams:2", "words+title"])
def test_the_boundaries_of_batches_do_not_matter(analyser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[Text] = [*MIXED, *TEXTS, {"title": "a", "note": "öl"}, {"body": "b"}]

    def learned() -> tuple[list[str], list[Any]]:
        features = TextFeatures(analyser, min_count=1)
        fitted = features.fit(texts)
        grown = features.rows(["new oil new\nb", "c", "other oil", "d", "e new"], grow=True)
        return features.names, [array.tolist() for array in (*fitted[:3], *grown[:3])]

    whole = learned()
    for size in (1, 3, 4):
        monkeypatch.setattr(batches_module, "MAX_TEXTS", size)
        assert learned() == whole


def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches_module, "MAX_TEXTS", 1)
    texts = [f"w{i * 7 % 50} w{i * 11 % 60} w{i}" for i in range(100)]
    alone = TextFeatures(min_count=1, n_threads=1)
    rows = alone.fit(texts)
    for _ in range(10):
        features = TextFeatures(min_count=1, n_threads=4)
        for one, other in zip(features.fit(texts), rows, strict=True):
            np.testing.assert_array_equal(one, other)
        assert features.names == alone.names


def test_features_are_at_the_positions_of_their_words() -> None:
    where = TextFeatures("words+ngrams:2+title+chars:3-3").occurrences("Öl up,\nöl")
    assert where["öl"] == [(0, 2), (7, 9)]
    assert where["öl up"] == [(0, 5)]
    assert where["up öl"] == [(3, 9)]
    assert where["title:öl"] == [(0, 2)]
    assert where["#öl_"] == [(0, 2), (7, 9)]
    assert TextFeatures(["words", initials]).occurrences("up")["^u"] == []


def test_features_of_fields_are_at_the_positions_of_the_field_s_words() -> None:
    where = TextFeatures("words+title").occurrences({"body": "Gas up", "author": "Smith", "title": "gas"})
    assert where["gas"] == [(0, 3), (13, 16)]
    assert where["title:gas"] == [(13, 16)]
    assert where["author:smith"] == [(7, 12)]


def naive_occurrences(features: TextFeatures, text: Text) -> dict[str, list[tuple[int, int]]]:
    """Return where the features of a text are, token after token and part after part."""
    plain = text if isinstance(text, str) else "\n".join(text.values())
    begins, ends = locate_bytes(plain)
    found: dict[str, list[tuple[int, int]]] = {}
    for tokens in features.analyser([text], positions=True):
        for i, name in enumerate(decode_words(tokens)[0]):
            where = found.setdefault(name, [])
            if len(tokens.starts):
                where.append((int(begins[tokens.starts[i]]), int(ends[tokens.ends[i] - 1])))
    return found


PARTS: list[Part | list[Part]] = [
    "words", "words+ngrams:3+chars:2-3+title", "sparse:2:4", "words+sets:sentence", "title", "lemmas:de+title",
    ["words", initials],
]  # fmt: skip
in_fields = st.dictionaries(st.sampled_from(["title", "body", "é", "e\u0301", "a", "b:c", ""]), st.text(max_size=12))


@FEW
@given(st.text("ab öe\u0301.\n漢", max_size=30) | in_fields, st.sampled_from(PARTS))
def test_features_and_their_places_are_those_of_the_naive_twin(text: Text, parts: Part | list[Part]) -> None:
    features = TextFeatures(parts)
    naive = naive_occurrences(features, text)
    assert list(features.occurrences(text).items()) == list(naive.items())
    counted = Counter(name for tokens in features.analyser([text]) for name in decode_words(tokens)[0])
    assert features.count_features(text) == FeatureCounts(list(counted), list(counted.values()))


@FEW
@given(st.dictionaries(st.text("abé:\u0301", max_size=3), st.text("ab e\u0301\n漢", max_size=12), max_size=6))
def test_words_of_a_field_are_where_the_field_is(text: dict[str, str]) -> None:
    where = TextFeatures("words").occurrences(text)
    offset = 0
    for name, part in text.items():
        if name not in ("title", "body", "text"):
            for word, places in TextFeatures("words").occurrences(part).items():
                marked = f"{unicodedata.normalize('NFC', name)}:{word}"
                assert {(start + offset, end + offset) for start, end in places} <= set(where[marked])
        offset += len(part) + 1


@FEW
@given(st.lists(in_fields | st.text("ab .", max_size=8), min_size=1, max_size=4), st.sampled_from(PARTS))
def test_fields_of_several_texts_are_those_of_each_text(texts: list[Text], parts: Part | list[Part]) -> None:
    assert found(parts, texts) == [found(parts, [text])[0] for text in texts]
    together, alone = TextFeatures(parts, min_count=1), TextFeatures(parts, min_count=1)
    rows = together.rows(texts, grow=True)
    single = [alone.rows([text], grow=True) for text in texts]
    assert together.names == alone.names
    np.testing.assert_array_equal(rows.indices, np.concatenate([row.indices for row in single]))
    np.testing.assert_array_equal(rows.data, np.concatenate([row.data for row in single]))
