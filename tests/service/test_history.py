"""What the service makes of its past: corrections undone, categories renamed, documents corrected more than once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.corpora import made_up
from support.served import Served, check_problem, new_model, served
from thresher.datasets.document import Document
from thresher.journal.category_history import CategoryHistory
from thresher.journal.export import export_correction
from thresher.journal.journal import Journal
from thresher.journal.journaled_model import JournaledModel

TEXT = "a hive of bees in the silver mine"
TEXTS = made_up(60, seed=1).texts


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Served]:
    held_out = [Document(text, tuple(names)) for text, names in zip(*made_up(80, seed=2), strict=True)]
    with served(new_model(tmp_path), holdout=held_out) as running:
        yield running


def change(desk: Served, **body: Any) -> Any:
    return desk.post("/v1/categories", {"id": desk.new_id()} | body)


def test_no_id_of_a_client_prevents_undoing_a_correction(desk: Served) -> None:
    before = desk.digest
    seq = desk.correct(id="evil", text=TEXT, accept=["grain"])["seq"]
    desk.correct(id=f"undo {seq}", text=TEXT, accept=["metals"])
    for id in ("evil", f"undo {seq}"):
        assert desk.client().delete(f"/v1/corrections/{id}").status_code == 200
    assert all(one["undone_by"] for one in desk.get("/v1/corrections")["corrections"] if one["kind"] == "correction")
    assert desk.digest == before


def test_only_an_admin_undoes_changes_of_categories(desk: Served) -> None:
    change(desk, id="gone", change="retire", name="trade")
    check_problem(desk.client("ada").delete("/v1/corrections/gone"), 403)
    assert desk.client("zoe").delete("/v1/corrections/gone").status_code == 200
    assert "trade" in [one["name"] for one in desk.get("/v1/categories")["categories"]]


def test_a_renamed_category_keeps_its_history(desk: Served) -> None:
    desk.correct(text=TEXT, accept=["grain"], by="ada")
    before = {one["name"]: one for one in desk.get("/v1/categories")["categories"]}["grain"]
    macro = desk.get("/v1/stats")["holdout"]["macro_f1"]
    change(desk, change="rename", name="grain", into="cereals")
    after = desk.get("/v1/categories/cereals")
    assert {key: after[key] for key in ("f1", "corrections", "documents")} == {
        key: before[key] for key in ("f1", "corrections", "documents")
    }
    assert [one["text"] for one in after["mistakes"]] == [TEXT]
    held_out = desk.get("/v1/stats")["holdout"]
    assert (held_out["macro_f1"], held_out["alarm"]) == (pytest.approx(macro), False)
    desk.post("/v1/documents", {"documents": [{"id": "7", "text": TEXT}]})
    desk.correct(document="7", accept=["cereals"], by="bob")
    (found,) = desk.get("/v1/queue", state="done")["documents"]
    assert found["disagreement"] == []
    assert [one["accept"] for one in found["corrections"]] == [["cereals"], ["cereals"]]
    lines = desk.client().get("/v1/export").text.splitlines()
    assert all('"accept":["cereals"]' in line for line in lines)


def test_merged_and_retired_categories_are_followed(tmp_path: Path) -> None:
    with JournaledModel(new_model(tmp_path), new=True) as desk:
        for i, name in enumerate(("grain", "metals", "trade")):
            desk.correct(f"{i}", TEXT, accept=[name])
        desk.change_categories("a", "merge", ["grain", "metals"], into="goods")
        desk.change_categories("b", "retire", ["trade"], into="nowhere")  # which is not what retiring means
        renames = CategoryHistory.read(desk.journal)
        found = [
            export_correction(record, renames.translate_body(record))["accept"]
            for record in desk.journal.log.read(0, 3)
        ]
        assert found == [["goods"], ["goods"], []]
        assert renames.current_name("grain", seq=4) == "grain"


def test_the_holdout_is_measured_without_requests(desk: Served) -> None:
    for i in range(60):
        desk.correct(text=f"{TEXTS[i]} {i}", categories=[["grain", "ships", "money"][i % 3]])
    told = desk.get("/v1/stats")["holdout"]
    assert told["best_macro_f1"] > told["macro_f1"] + 0.02
    assert told["alarm"]


def test_the_seed_words_of_an_undone_category_are_undone(desk: Served) -> None:
    before = desk.digest
    change(desk, id="bees", change="new", name="bees", words=["hive", "swarm"])
    assert desk.client().delete("/v1/corrections/bees").status_code == 200
    check_problem(desk.client().get("/v1/categories/bees"), 404)
    assert desk.digest == before
    desk.correct(id="wasps words", text=TEXT, accept=["grain"])
    found = desk.client().post(
        "/v1/categories", json={"id": "wasps", "change": "new", "name": "wasps", "words": ["nest"]}
    )
    check_problem(found, 409)
    check_problem(desk.client().get("/v1/categories/wasps"), 404)


def test_a_document_is_open_again_when_its_corrections_are_undone(desk: Served) -> None:
    desk.post("/v1/documents", {"documents": [{"id": "7", "text": TEXT}]})
    for id in ("one", "two"):
        desk.correct(id=id, document="7", accept=["grain"])
    for id, state in (("two", "done"), ("one", "open")):
        desk.client().delete(f"/v1/corrections/{id}")
        assert desk.get("/v1/documents/7")["state"] == state
    told = desk.correct(id="one", document="7", accept=["grain"], status=200)
    assert told["undone_by"] is not None


def test_the_queue_is_ordered_by_the_certainty_of_the_given_category(desk: Served) -> None:
    desk.post("/v1/documents", {"documents": [{"id": f"{i}", "text": text} for i, text in enumerate(TEXTS)]})
    for one in desk.get("/v1/queue", category="ships", limit=60)["documents"]:
        found = desk.categorize(text=one["text"], all=True)["categories"]
        score = next(entry["score"] for entry in found if entry["category"] == "ships")
        assert one["uncertainty"] == pytest.approx(abs(score - 1), abs=1e-6)


def test_a_forgotten_text_is_removed_from_the_documents(tmp_path: Path) -> None:
    model = new_model(tmp_path)
    with served(model) as running:
        for id in ("7", "8"):
            running.post("/v1/documents", {"documents": [{"id": id, "text": "ein geheimer Übertext"}]})
        seq = running.correct(id="one", document="7", accept=["grain"])["seq"]
    with Journal(f"{model}.journal") as journal:
        journal.forget_text(seq)
        assert journal.database.query("SELECT id FROM documents") == []
    with served(model) as running:
        assert running.get("/v1/queue", state="open")["total"] == 0


def test_a_correction_of_a_document_that_was_forgotten_may_be_sent_again(tmp_path: Path) -> None:
    model = new_model(tmp_path)
    with served(model) as running:
        running.post("/v1/documents", {"documents": [{"id": "7", "text": TEXT}]})
        seq = running.correct(id="one", document="7", accept=["grain"])["seq"]
    with Journal(f"{model}.journal") as journal:
        journal.forget_text(seq)
    with served(model) as running:
        assert running.correct(id="one", document="7", accept=["grain"], status=200)["seq"] == seq
        running.correct(id="one", document="7", accept=["metals"], status=409)
        running.correct(id="one", document="8", accept=["grain"], status=404)


def test_seed_words_are_not_given_to_a_name_that_a_category_had(desk: Served) -> None:
    new = {"id": "hornets", "change": "new", "name": "hornets"}
    desk.post("/v1/categories", new)
    desk.post("/v1/categories", {"change": "rename", "name": "hornets", "into": "Vespa"})
    check_problem(desk.client().post("/v1/categories", json=new | {"words": ["sting"]}), 409)
    assert "hornets" not in desk.post("/v1/categories", new)["categories"]


def test_many_documents_are_not_explained_at_once(desk: Served) -> None:
    found = desk.client().post("/v1/categorize", json={"documents": ["oil"] * 1001, "explain": True})
    check_problem(found, 422)


def test_undoing_a_change_of_categories_leaves_a_correction_whose_id_looks_like_its_words(desk: Served) -> None:
    desk.correct(by="ada", id="ren-1 words", text="a hammer on steel", accept=["metals"])
    desk.post("/v1/categories", {"id": "ren-1", "change": "rename", "name": "ships", "into": "vessels"})
    desk.client("zoe").delete("/v1/corrections/ren-1")
    records = {one["id"]: one for one in desk.get("/v1/corrections", limit=500)["corrections"]}
    assert records["ren-1"]["undone_by"] is not None
    assert records["ren-1 words"]["undone_by"] is None
    desk.post("/v1/categories", {"id": "new-1", "change": "new", "name": "termites"})
    desk.correct(by="ada", id="new-1 words", text="a mound of earth", accept=["termites"])
    desk.client("zoe").delete("/v1/corrections/new-1")
    records = {one["id"]: one for one in desk.get("/v1/corrections", limit=500)["corrections"]}
    assert records["new-1"]["undone_by"] is not None
    assert records["new-1 words"]["undone_by"] is None


def test_undoing_a_new_category_undoes_its_words_too(desk: Served) -> None:
    new = {"id": "ants", "change": "new", "name": "ants", "words": ["hill", "queen"]}
    desk.post("/v1/categories", new)
    assert desk.post("/v1/categories", new)["categories"].count("ants") == 1  # sent again
    before = [one for one in desk.get("/v1/corrections", limit=500)["corrections"] if one["id"].startswith("ants")]
    assert len(before) == 2
    desk.client("zoe").delete("/v1/corrections/ants")
    after = [one for one in desk.get("/v1/corrections", limit=500)["corrections"] if one["id"].startswith("ants")]
    assert all(one["undone_by"] is not None for one in after)
    assert "ants" not in [one["name"] for one in desk.get("/v1/categories")["categories"]]
