import json
import sys
from typing import Any, cast

import numpy as np
import pytest

from support.corpora import made_up
from support.paths import ROOT
from thresher.datasets.document import Document

sys.path.append(str(ROOT / "benchmarks"))
import online


def toy(n_documents: int = 60) -> list[Document]:
    corpus = made_up(n_documents)
    return [Document(text, tuple(row)) for text, row in zip(corpus.texts, corpus.categories, strict=True)]


def chosen(*wanted: str) -> dict[str, Any]:
    return {name: make for name, make in online.systems().items() if name in wanted}


def test_a_document_is_predicted_before_it_is_learned() -> None:
    calls: list[str] = []

    class Spy:  # what a system does, and nothing else
        def fit(self, documents: Any) -> None:
            calls.append(f"fit {len(documents)}")

        def predict(self, document: Document) -> set[str]:
            calls.append(f"predict {document.text}")
            return {"a"}

        def learn(self, document: Document, found: set[str]) -> None:
            calls.append(f"learn {document.text} {sorted(found)}")

    stretch = [Document("x", ("a",)), Document("y", ("b",))]
    found = online.run("spy", cast(Any, Spy()), [Document("w")] * 3, stretch)
    assert calls == ["fit 3", "predict x", "learn x ['a']", "predict y", "learn y ['a']"]
    assert (found.error, found.documents_wrong, found.missed, found.wrongly_accepted) == (0.5, 0.5, 1, 1)
    assert found.late_error == 1


def test_nothing_is_learned_beforehand_when_cold() -> None:
    documents = toy(30)
    parts = online.parts(documents, 10, 15)
    assert parts["cold"] == ([], documents[:15])
    assert parts["warm"] == (documents[:10], documents[10:25])


def test_half_of_a_short_stream_is_learned_beforehand() -> None:
    documents = toy(30)
    assert [len(part) for part in online.parts(documents, 2000, 1000)["warm"]] == [15, 15]


def test_measures_follow_from_the_counts() -> None:
    found = online.outcome("x", np.array([[1, 0, 0], [1, 1, 0], [0, 0, 2], [2, 0, 0]]), 0.5)
    assert found.error == pytest.approx(1 - 8 / 11)
    assert (found.documents_wrong, found.pairs_wrong) == (0.5, 3)
    assert found.late_error == pytest.approx(1 - 4 / 6)


def test_our_model_learns_from_corrections_alone() -> None:
    system = online.Thresher(only_corrections=True)
    for document in toy():
        system.learn(document, set(document.categories))
    assert system.model.categories == []
    system.learn(Document("crude oil", ("energy",)), set())
    assert system.model.categories == ["energy"]


def test_a_late_category_starts_like_a_known_category_without_documents() -> None:
    late, known = (online.Peer(online.HashedTfidf, online.SCIKIT_LEARN["Perceptron"]) for _ in range(2))
    known.models["energy"] = known.binary.make()
    for document in [
        Document("wheat corn", ("grain",)),
        Document("gold ore", ("metals",)),
        Document("oil", ("energy",)),
    ]:
        for peer in (late, known):
            peer.learn(document, set())
    assert np.array_equal(late.models["energy"].coef_, known.models["energy"].coef_)


@pytest.mark.parametrize("name", ["Perceptron", "passive-aggressive"])
def test_steps_that_are_left_out_would_change_nothing(name: str) -> None:
    sparing = online.SCIKIT_LEARN[name]
    binaries = (sparing, online.ScikitLearn(sparing.make))
    peers = [online.Peer(online.HashedTfidf, binary) for binary in binaries]
    for document in toy(40):
        for peer in peers:
            peer.learn(document, set())
    for category, model in peers[0].models.items():
        assert np.array_equal(model.coef_, peers[1].models[category].coef_)
        assert model.intercept_ == peers[1].models[category].intercept_


def test_vectors_have_unit_length_and_make_rare_words_weigh_more() -> None:
    vectors = online.HashedTfidf()
    vectors.notice(["oil wheat", "oil gold", "oil"])
    row = vectors.of(["oil gold"])
    assert np.sqrt(row.multiply(row).sum()) == pytest.approx(1)
    weights = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
    oil, gold = (int(vectors.vectorizer.transform([word]).indices[0]) for word in ("oil", "gold"))
    assert weights[gold] > weights[oil]


def test_all_systems_learn_a_toy_stream_and_the_least_error_comes_first() -> None:
    # river is a peer in benchmarks alone, and may not be installed.
    wanted = ("thresher, default", "scikit-learn Perceptron, tf-idf", "river Perceptron, tf-idf")
    names = [name for name in wanted if name in online.systems()]
    found = online.compare(toy(120), chosen(*names), 80, 40)
    for outcomes in found.values():
        assert {one.system for one in outcomes} == set(names)
        assert [one.error for one in outcomes] == sorted(one.error for one in outcomes)
        assert outcomes[0].error < 0.5


def test_the_command_prints_tables_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--streams", "sample", "--warm", "60", "--documents", "10", "--systems", "thresher, default"]
    online.main([*few, "--markdown"])
    printed = capsys.readouterr().out
    assert "sample, warm: 60 documents before, 10 one by one" in printed
    assert "| thresher, default |" in printed
    online.main([*few, "--json"])
    rows = json.loads(capsys.readouterr().out)["sample"]["cold"]
    assert {"error", "pairs_wrong", "late_error"} <= rows[0].keys()
