import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.corpora import WORDS, made_up, reuters
from thresher.audit import Audit, audit
from thresher.audit.near_duplicates import MAX_NEIGHBORS, find_links, group_links
from thresher.datasets.document import Document
from thresher.datasets.reader import read_documents
from thresher.errors import DataError, ParameterError
from thresher.kernels.csr import Rows
from thresher.support.progress import Step
from thresher.text.vectorizer import TextFeatures

Planted = dict[tuple[int, str], str]


def collection(n_texts: int = 400, seed: int = 3, single: bool = True) -> list[Document]:
    texts, categories = made_up(n_texts, seed, single)
    return [
        Document(text, tuple(names), f"d{number}", place=f"made-up:{number + 1}")
        for number, (text, names) in enumerate(zip(texts, categories, strict=True))
    ]


def spoiled(documents: list[Document], share: float = 0.05, seed: int = 0) -> tuple[list[Document], Planted]:
    """Return the documents with one category of some replaced by another, and what the audit should say of them."""
    draw, changed, planted = random.Random(seed), list(documents), Planted()
    names = sorted({name for document in documents for name in document.categories})
    labelled = [number for number, document in enumerate(documents) if document.categories]
    for number in draw.sample(labelled, round(share * len(documents))):
        before = documents[number].categories
        gone, come = draw.choice(before), draw.choice([name for name in names if name not in before])
        planted |= {(number, gone): "missing", (number, come): "wrong"}
        changed[number] = documents[number]._replace(categories=(*(n for n in before if n != gone), come))
    return changed, planted


def precision(found: Audit, planted: Planted, count: int) -> float:
    return sum(planted.get((f.number, f.category)) == f.kind for f in found.findings[:count]) / count


# -- doubtful labels ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("single", [True, False])
def test_planted_errors_are_the_first_findings(single: bool) -> None:
    documents, planted = spoiled(collection(single=single))
    assert precision(audit(documents), planted, len(planted)) >= 0.9


def test_planted_errors_are_found_in_reuters() -> None:
    texts, categories = reuters(2000)
    documents = [Document(text, tuple(names)) for text, names in zip(texts, categories, strict=True)]
    changed, planted = spoiled(documents)
    assert precision(audit(changed), planted, 50) >= 0.8


def test_planted_errors_are_found_in_the_projects_own_corpus() -> None:
    changed, planted = spoiled(list(read_documents("sample:train")))
    assert precision(audit(changed, analyser="words+chars:4-5", min_count=2, folds=20), planted, 10) >= 0.5


def test_a_finding_names_its_document_and_the_decisive_words() -> None:
    documents, _ = spoiled(collection())
    missing = [finding for finding in audit(documents).findings if finding.kind == "missing"][:10]
    assert missing
    for finding in missing:
        assert (finding.id, finding.place) == (f"d{finding.number}", f"made-up:{finding.number + 1}")
        assert finding.words[0][0] in WORDS[finding.category].split()
        assert all(contribution > 0 for _, contribution in finding.words)
        assert 0.5 < finding.probability <= 1


def test_words_speak_against_a_wrong_category() -> None:
    documents, _ = spoiled(collection())
    wrong = [finding for finding in audit(documents).findings if finding.kind == "wrong"][:10]
    assert wrong
    assert all(contribution < 0 for finding in wrong for _, contribution in finding.words)
    assert all(finding.probability < 0.5 for finding in wrong)


def test_findings_contradict_the_labels_and_the_worst_come_first() -> None:
    documents, _ = spoiled(collection(single=False))
    findings = audit(documents).findings
    for finding in findings:
        given = finding.category in documents[finding.number].categories
        assert finding.kind == ("wrong" if given else "missing")
    suspicions = [finding.suspicion for finding in findings]
    assert suspicions == sorted(suspicions, reverse=True)


@pytest.mark.parametrize("settings", [{"preset": "paper"}, {"learner": "perceptron"}, {"strength": "tfidf"}])
def test_any_model_can_judge(settings: dict[str, Any]) -> None:
    documents, planted = spoiled(collection())
    assert precision(audit(documents, **settings), planted, 20) >= 0.8


def test_the_same_audit_twice_is_the_same() -> None:
    documents, _ = spoiled(collection(200))
    assert audit(documents).summary() == audit(documents, n_threads=1).summary()


def test_the_seed_changes_only_the_order_of_learning() -> None:
    documents, planted = spoiled(collection())
    other = audit(documents, seed=7)
    assert other.findings != audit(documents).findings
    assert precision(other, planted, 20) >= 0.9


def test_documents_without_words_are_listed_and_not_judged() -> None:
    documents = collection(100)
    documents[4] = documents[4]._replace(text=" ... ")
    found = audit(documents)
    assert found.without_text == [4]
    assert all(finding.number != 4 for finding in found.findings)


def test_fields_are_read_where_there_are_any() -> None:
    documents, planted = spoiled(collection())
    fielded = [d._replace(fields={"title": "", "body": d.text}, text="") for d in documents]
    assert precision(audit(fielded), planted, 20) >= 0.9


# -- near-duplicates ---------------------------------------------------------------------------------------------------


def test_planted_near_duplicates_are_found_and_no_others() -> None:
    documents = collection(100)
    first = documents[7]
    changed = first._replace(text=first.text + " indeed", categories=("other",), id="copy")
    shouted = documents[9]._replace(text=documents[9].text.upper() + "!", id="same")
    found = audit([*documents, changed, shouted]).duplicates
    assert [(group.numbers, group.categories_differ) for group in found] == [([7, 100], True), ([9, 101], False)]
    assert found[0].ids == ["d7", "copy"]
    assert found[1].alike == 1
    assert 0.8 <= found[0].alike < 1


def test_overlap_of_training_and_test_is_found() -> None:
    training, test = collection(100), collection(30, seed=8)
    near = training[3].text + " indeed"
    leaked = [training[5], training[3]._replace(text=near, id="near"), Document(near, id="again")]
    found = audit(training, [*test, *leaked]).overlaps
    assert [(o.test_number, o.training_number, o.training_id) for o in found] == [
        (30, 5, "d5"),
        (31, 3, "d3"),
        (32, 3, "d3"),
    ]
    assert found[0].alike == 1
    assert found[1].alike < 1


def test_test_documents_are_no_duplicates_of_the_training_documents() -> None:
    training = collection(60)
    assert audit(training, training).duplicates == []


@given(st.lists(st.frozensets(st.integers(0, 12), max_size=12), max_size=12), st.sampled_from([0.5, 0.6, 0.8, 1.0]))
def test_alike_rows_are_those_of_the_definition(sets: list[frozenset[int]], least: float) -> None:
    indices = np.array([feature for row in sets for feature in sorted(row)], dtype=np.int32)
    rows = Rows(np.cumsum([0] + [len(row) for row in sets]), indices, np.ones(len(indices), dtype=np.float32), 13)
    expected = [
        (i, j)
        for j in range(len(sets))
        for i in range(j)
        if sets[i] and len(sets[i] & sets[j]) / len(sets[i] | sets[j]) >= least
    ]
    found = find_links(rows, least)
    of_group = {document: number for number, group in enumerate(group_links(found)) for document in group.documents}
    assert set(zip(found.first.tolist(), found.second.tolist(), strict=True)) <= set(expected)
    assert all(of_group[i] == of_group[j] for i, j in expected)
    assert set(of_group) == {document for pair in expected for document in pair}


def test_many_documents_of_one_template_are_one_group() -> None:
    stem = " ".join(f"word{i}" for i in range(40))
    rows = TextFeatures("words", 1).fit([f"{stem} number{i}" for i in range(6 * MAX_NEIGHBORS)])
    links = find_links(rows)
    assert len(links.first) <= MAX_NEIGHBORS * 6 * MAX_NEIGHBORS
    assert [len(group.documents) for group in group_links(links)] == [6 * MAX_NEIGHBORS]


# -- categories --------------------------------------------------------------------------------------------------------


def test_odd_categories_are_remarked_on() -> None:
    documents = [
        d._replace(categories=(*d.categories, *(("twin",) if "grain" in d.categories else ()))) for d in collection(200)
    ]
    draw = random.Random(6)
    documents = [d._replace(categories=(*d.categories, *(["chance"] * (draw.random() < 0.1)))) for d in documents]
    documents[0] = documents[0]._replace(categories=(*documents[0].categories, "  Ener gy"))
    remarks = {(remark.kind, *remark.categories) for remark in audit(documents).remarks}
    assert remarks == {
        ("same name", "  Ener gy", "energy"),
        ("same documents", "grain", "twin"),
        ("few", "  Ener gy"),
        ("poor", "chance"),
    }


def test_documents_without_categories_are_counted() -> None:
    documents = collection(100, single=False)
    assert audit(documents).without_categories == sum(not document.categories for document in documents) > 0


# -- limits ------------------------------------------------------------------------------------------------------------


def test_a_collection_without_categories_is_refused() -> None:
    with pytest.raises(DataError, match="no document has a category"):
        audit([Document("oil rose")])
    with pytest.raises(DataError, match="no document has a category"):
        audit([])


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ParameterError, match="invalid folds: 1"):
        audit(collection(20), folds=1)


@pytest.mark.parametrize(
    ("documents", "note"),
    [
        (
            [Document("oil rose", ("a",)), Document("wheat fell", ("b",))],
            "2 documents with words are fewer than 5 folds",
        ),
        ([Document("oil, oil, oil", ("a",))] + [Document("...", ("a",))] * 6, "1 documents with words are fewer than"),
        ([Document(f"oil rose {i}", (f"c{i}",)) for i in range(8)], "no category has 5 documents"),
        ([Document(f"w{i} v{i}", ("a",)) for i in range(8)], "no features are left"),
    ],
)
def test_what_cannot_be_judged_is_noted(documents: list[Document], note: str) -> None:
    found = audit(documents)
    assert found.findings == []
    assert note in found.notes[0]


def test_only_the_largest_categories_are_judged_where_all_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = collection(100)
    monkeypatch.setattr("thresher.audit.label_errors.MAX_JUDGED", 200)
    found = audit(documents)
    assert "2 largest categories" in found.notes[0]
    assert len({finding.category for finding in found.findings}) <= 2


def test_the_summary_is_json_and_can_be_cut() -> None:
    documents, _ = spoiled(collection(100))
    found = audit(documents, documents[:3])
    whole, cut = json.loads(json.dumps(found.summary(), allow_nan=False)), found.summary(top=1)
    assert whole["counts"] == cut["counts"]
    assert len(whole["findings"]) == whole["counts"]["findings"] > len(cut["findings"]) == 1
    assert whole["counts"]["overlaps"] == 3
    assert whole["counts"]["missing"] + whole["counts"]["wrong"] == whole["counts"]["findings"]


def test_progress_is_reported() -> None:
    steps: list[Step] = []
    audit(collection(60), progress=steps.append)
    assert {"compare", "validate 1/5", "judge 5/5"} <= {step.stage for step in steps}


def test_a_collection_without_words_is_noted_as_not_judged() -> None:
    found = audit([Document("", ("x",))] * 6)
    assert found.without_text == list(range(6))
    assert not found.findings
    assert not found.duplicates
    assert "labels were not judged" in found.notes[0]
