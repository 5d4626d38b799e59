"""Corrections are learned before they are answered, once each, and can be taken back."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from support.corpora import made_up
from support.served import Served, check_problem, names, new_model
from thresher.journal.journaled_model import JournaledModel
from thresher.web.category_input import MAX_COMPARED, CategoryNames

TEXTS = made_up(60, seed=1).texts


def test_a_correction_is_learned_before_it_is_answered(fresh: Served) -> None:
    text = "plank timber sawmill"
    (before,) = fresh.categorize(text=text, explain="metals")["explanations"]
    answer = fresh.correct(text=text, accept=["metals"], reject=["energy"])
    assert {key: answer[key] for key in ("seq", "repeated", "position", "new_categories")} == {
        "seq": 1, "repeated": False, "position": 1, "new_categories": [],
    }  # fmt: skip
    effect = answer["effect"]
    assert (effect["predicted"], effect["mistakes"]) == ([], ["metals"])
    assert effect["promoted"]["metals"] == 3
    assert {word["word"] for word in answer["words"]["metals"]} == set(text.split())
    assert all(word["after"] > word["before"] for word in answer["words"]["metals"])
    (after,) = fresh.categorize(text=text, explain="metals")["explanations"]
    assert after["score"] > before["score"] + 0.1


def test_a_correction_of_all_categories_removes_the_others(fresh: Served) -> None:
    text = "crude oil barrel"
    answer = fresh.correct(text=text, categories=["grain"])
    assert answer["effect"]["predicted"] == ["energy"]
    assert answer["effect"]["mistakes"] == ["energy", "grain"]
    assert answer["effect"]["demoted"]["energy"] > 0
    assert answer["effect"]["promoted"]["grain"] > 0
    for _ in range(5):
        fresh.correct(text=text, categories=[])
    assert names(fresh.categorize(text=text)) == []


def test_the_service_learns_the_same_as_a_journaled_model(fresh: Served, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with JournaledModel(new_model(tmp_path / "other"), new=True) as desk:
        for i, text in enumerate(TEXTS[:20]):
            fresh.post("/v1/corrections", {"id": str(i), "text": text, "categories": ["grain"]}, status=201)
            desk.correct(str(i), text, categories=["grain"])
        assert fresh.digest == desk.model.digest() == fresh.get("/v1/model")["digest"]


def test_the_same_correction_again_is_learned_once(fresh: Served) -> None:
    body = {"id": "once", "text": "plank", "accept": ["metals"]}
    first, digest = fresh.post("/v1/corrections", body, status=201), fresh.digest
    again = fresh.post("/v1/corrections", body)
    assert (again["seq"], again["repeated"], again["effect"]) == (first["seq"], True, first["effect"])
    for other in ({"text": "planks"}, {"accept": ["grain"]}, {"reject": ["grain"]}, {"accept": ["unheardof"]}):
        check_problem(fresh.client().post("/v1/corrections", json=body | other), 409)
    assert (fresh.digest, fresh.last) == (digest, 1)


def test_a_repeat_is_known_after_its_category_was_renamed_or_retired(fresh: Served) -> None:
    bodies = [
        {"id": "a", "text": "plank", "accept": [" wood "], "reject": ["grain"], "create_category": True},
        {"id": "b", "text": "plank", "categories": ["wood"]},
    ]
    for body in bodies:
        fresh.post("/v1/corrections", body, status=201)
    for change in ({"change": "rename", "name": "wood", "into": "Wood"}, {"change": "retire", "name": "grain"}):
        fresh.post("/v1/categories", change)
    assert [fresh.post("/v1/corrections", body)["repeated"] for body in bodies] == [True, True]


def test_an_unknown_category_is_refused_with_the_nearest(service: Served) -> None:
    digest = service.digest
    for said in ({"accept": ["grian"]}, {"categories": ["grian"]}, {"reject": ["grian"], "create_category": True}):
        found = service.client().post("/v1/corrections", json={"id": "near", "text": "wheat", **said})
        assert check_problem(found, 422)["nearest"] == ["grain"]
    assert service.digest == digest


def test_only_some_of_many_categories_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def counted(name: str, known: Sequence[str], **options: Any) -> list[str]:
        compared.append(len(known))
        return get_close_matches(name, known, **options)

    monkeypatch.setattr("difflib.get_close_matches", counted)
    many = [f"category number {i}" for i in range(20_000)]
    few, all = CategoryNames(["energy", "grain"]), CategoryNames([*many, "grain"])
    assert few.nearest("grian") == all.nearest("grian") == ["grain"]
    assert compared == [2, MAX_COMPARED]


def test_create_category_makes_a_category(fresh: Served) -> None:
    answer = fresh.correct(text="bee hive swarm", accept=["bees"], create_category=True)
    assert answer["new_categories"] == ["bees"]
    assert names(fresh.categorize(text="bee hive swarm")) == ["bees"]
    assert fresh.correct(text="honey", accept=["bees"])["new_categories"] == []


def test_the_user_is_named_by_the_token_or_else_by_the_request(fresh: Served) -> None:
    fresh.correct(text="oil", accept=["energy"], by="ada", user="bob")
    fresh.correct(text="oil", accept=["energy"], user="carl")
    fresh.correct(text="oil", accept=["energy"])
    assert [one["user"] for one in fresh.get("/v1/corrections")["corrections"]] == ["ada", "carl", ""]
    assert fresh.get("/v1/stats")["users"] == {"ada": 1, "carl": 1, "": 1}


def test_an_undone_correction_leaves_the_model_as_before(fresh: Served) -> None:
    before = fresh.digest
    id = fresh.correct(text="plank", accept=["metals"])["id"]
    fresh.correct(text="sawmill", accept=["grain"])
    first = fresh.client("ada").delete(f"/v1/corrections/{id}").json()
    digest = fresh.digest
    assert (first["id"], first["undone"], first["position"]) == (id, 1, 3)
    again = fresh.client().delete(f"/v1/corrections/{id}")
    assert (again.status_code, again.json()) == (200, first)
    assert (fresh.digest, fresh.last) == (digest, 3)
    listed = fresh.get("/v1/corrections")["corrections"]
    assert [(one["kind"], one["undone_by"], one["user"]) for one in listed] == [
        ("correction", 3, ""), ("correction", None, ""), ("undo", None, "ada"),
    ]  # fmt: skip
    fresh.client().delete("/v1/corrections/test-2")
    assert fresh.digest == before
    check_problem(fresh.client().delete("/v1/corrections/unheardof"), 404)
    check_problem(fresh.client().delete("/v1/corrections/undo%201"), 404)


def test_ids_may_hold_what_paths_do(service: Served) -> None:
    for id in ("a/b", "a?b#c", "ö %41", "2026-01-31T12:00+01:00", "x" * 200, "9007199254740993", "9007199254740992"):
        assert service.post("/v1/corrections", {"id": id, "text": "oil", "accept": ["energy"]}, status=201)["id"] == id
        assert service.client().delete(f"/v1/corrections/{quote(id, safe='')}").json()["id"] == id


def test_corrections_are_paged_from_both_ends(fresh: Served) -> None:
    for i in range(7):
        fresh.correct(text=f"oil {'word ' * 200}{i}", accept=["energy"])
    assert pages(fresh, "after") == [[1, 2, 3], [4, 5, 6], [7]]
    assert pages(fresh, "before", newest=True) == [[7, 6, 5], [4, 3, 2], [1]]
    assert fresh.get("/v1/corrections", limit=7)["next"] is None
    assert [one["seq"] for one in fresh.get("/v1/corrections", before=3)["corrections"]] == [2, 1]
    one = fresh.get("/v1/corrections", limit=1)["corrections"][0]
    assert {
        "seq",
        "id",
        "kind",
        "time",
        "user",
        "accept",
        "reject",
        "categories",
        "document",
        "text",
        "effect",
    } < one.keys()
    assert len(one["text"]) == 400
    assert one["effect"]["predicted"] == ["energy"]
    assert fresh.get("/v1/corrections", after=7) == {"corrections": [], "next": None}


def pages(service: Served, key: str, **query: Any) -> list[list[int]]:
    found = []
    while True:
        page = service.get("/v1/corrections", limit=3, **query)
        found.append([one["seq"] for one in page["corrections"]])
        if page["next"] is None:
            return found
        query = {key: page["next"]}


def test_a_client_that_has_taught_reads_the_new_state(service: Served) -> None:
    for i in range(5):
        position = service.correct(text=f"plank{i}", accept=["metals"])["position"]
        found = service.client().post("/v1/categorize", json={"text": "oil"})
        assert int(found.headers["Thresher-Position"]) >= position
