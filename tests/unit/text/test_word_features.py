"""Features counted by the numbers of their words are the same, bit for bit, as those that are looked up by name."""

import pickle
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.kernels.compiler import COMPILED
from thresher.kernels.csr import Rows
from thresher.text import word_features
from thresher.text.analysers import Text
from thresher.text.tokens import make_tokens
from thresher.text.vectorizer import FeatureCounts, TextFeatures
from thresher.text.word_features import WordFeatureIndex, classify_names

FEW = settings(max_examples=80 if COMPILED else 8, deadline=None)
ANALYSERS = [
    "words",
    "words+title",
    "words+ngrams:2+chars:4-4",
    "words+chars:2-5+ngrams:3+title",
    "words+ngrams:5",
    "chars:1-2+words",
]

plain = st.lists(
    st.sampled_from(["a", "oil", "crude oil", "öl", "漢字漢", "#_oil", "title:oil", ".", "\n"]), max_size=14
)
texts = plain.map(" ".join)
fields = st.dictionaries(st.sampled_from(["title", "body", "from", "sub ject", "#x", "a:b"]), texts, max_size=3)
corpora = st.lists(texts | fields, min_size=1, max_size=12)


def features(analyser: str, by_name: bool = False, **settings: int) -> TextFeatures:
    made = TextFeatures(analyser, settings.pop("min_count", 1), constant=True, **settings)
    if by_name:
        made.analyser.recipe = None
    return made


def same(left: Rows, right: Rows) -> bool:
    arrays = ((left.indptr, right.indptr), (left.indices, right.indices), (left.data, right.data))
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in arrays)


@FEW
@given(corpora, corpora, st.sampled_from(ANALYSERS), st.integers(1, 3), st.integers(1, 40))
def test_features_and_rows_are_those_found_by_name(
    known: list[Text], others: list[Text], analyser: str, min_count: int, most: int
) -> None:
    fast, slow = (
        features(analyser, by_name, min_count=min_count, max_features=most, n_threads=2) for by_name in (False, True)
    )
    words = " oil" * min_count
    known = [*known, "crude" + words]
    assert same(fast.fit(known), slow.fit(known))
    assert fast.names == slow.names
    assert (fast.document_counts == slow.document_counts).all()
    assert same(fast.rows(others), slow.rows(others))
    for text in others:
        assert same(fast.rows([text]), slow.rows([text]))


@FEW
@given(st.lists(corpora, min_size=2, max_size=5), st.sampled_from(ANALYSERS))
def test_rows_are_right_while_the_vocabulary_grows_and_shrinks(batches: list[list[Text]], analyser: str) -> None:
    fast, slow = features(analyser), features(analyser, by_name=True)
    for made in (fast, slow):
        made.fit(["oil and gas"])
    for batch in batches:
        before, view = fast.vocabulary.count, fast.view()
        assert same(fast.rows(batch), slow.rows(batch))
        assert same(fast.rows(batch, grow=True), slow.rows(batch, grow=True))
        assert same(fast.rows(batch), slow.rows(batch))
        assert view.rows(batch).n_features == before
        for made in (fast, slow):
            made.forget(before + 1)
        assert same(fast.rows(batch), slow.rows(batch))


@pytest.mark.parametrize("n_texts", [1, 300, 2000])
def test_batches_and_threads_give_the_same_rows(n_texts: int) -> None:
    words = [f"w{i * i % 97}" for i in range(40)]
    many: list[Text] = [" ".join(words[i % 30 : i % 30 + i % 11]) for i in range(n_texts)]
    slow = features("words+ngrams:2+chars:3-4+title", by_name=True)
    expected, looked_up = slow.fit([*many, "w1"]), slow.rows(many)
    for n_threads in (1, 2, 4):
        fast = features("words+ngrams:2+chars:3-4+title", n_threads=n_threads)
        assert same(fast.fit([*many, "w1"]), expected)
        assert fast.names == slow.names
        assert same(fast.rows(many), looked_up)


def test_a_vocabulary_with_a_run_of_unknown_words_is_looked_up_by_name() -> None:
    """Such a run may be in a text, and no number of a word leads to it."""
    fast = features("words+ngrams:2")
    fast.fit(["oil"])
    learned: Any = FeatureCounts(["crude oil"], [1])
    fast.rows([learned], grow=True)
    assert WordFeatureIndex.of(fast.vocabulary, fast.analyser) is None
    assert fast.rows(["crude oil", "oil"]).indptr.tolist() == [0, 2, 3]


def test_an_index_is_made_when_it_saves_time_and_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def of(*given: object) -> None:
        made.append(given)

    monkeypatch.setattr(word_features.WordFeatureIndex, "of", of)
    fast = features("words")
    fast.fit([" ".join(f"w{i}" for i in range(1000))])
    for _ in range(9):
        fast.rows(["w1"])
    assert not made
    fast.rows(["w1", "w2"])
    fast.rows(["w1"])
    assert len(made) == 1
    for twin in (deepcopy(fast), pickle.loads(pickle.dumps(fast))):
        twin.rows(["w1"] * 12)
    assert len(made) == 3


def test_names_are_told_apart_by_their_marks() -> None:
    names = ["oil", "title:oil", "titles:oil", "a b:oil", "#x:oil", "crude oil", "#_oil", "oil~gas", "title"]
    kinds = classify_names(*make_tokens(names)[:2])
    assert np.flatnonzero(kinds.is_field).tolist() == [1, 2, 3, 4]
    assert np.flatnonzero(kinds.is_title).tolist() == [1]
    assert np.flatnonzero(kinds.is_run).tolist() == [5]
    assert np.flatnonzero(kinds.is_piece).tolist() == [6]
