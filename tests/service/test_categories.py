"""Categories are shown with how well they do, and changed."""

from typing import Any

import pytest

from support.corpora import WORDS
from support.served import LEARNED, Served, check_problem, known, names


def test_categories_are_listed_with_their_quality(fresh: Served) -> None:
    fresh.correct(text="oil", accept=["energy"], reject=["grain"])
    found = fresh.get("/v1/categories")
    assert found["measured_on"] == {"documents": LEARNED, "held_out": False, "taught": 0}
    rows = {row["name"]: row for row in found["categories"]}
    assert list(rows) == sorted(WORDS)
    assert {name: row["corrections"] for name, row in rows.items() if row["corrections"]} == {"energy": 1, "grain": 1}
    for row in rows.values():
        assert row["documents"] > 0
        assert row["features"] > 0
        assert all(0 < row[rate] <= 1 for rate in ("precision", "recall", "f1", "break_even"))


def test_a_category_shows_its_words_its_curve_and_its_mistakes(fresh: Served) -> None:
    fresh.correct(text="crude oil", reject=["energy"], by="ada")
    fresh.correct(text="gold", accept=["metals"])
    found = fresh.get("/v1/categories/energy")
    assert {word["word"] for word in found["for"]} & set(WORDS["energy"].split())
    assert all(word["weight"] > 0 for word in found["for"])
    assert all(word["weight"] < 0 for word in found["against"])
    thresholds = [point["threshold"] for point in found["curve"]]
    assert thresholds == sorted(thresholds, reverse=True)
    assert [point["recall"] for point in found["curve"]] == sorted(point["recall"] for point in found["curve"])
    assert [(one["user"], one["text"]) for one in found["mistakes"]] == [("ada", "crude oil")]
    assert fresh.get("/v1/categories/metals")["mistakes"] == []
    assert check_problem(fresh.client().get("/v1/categories/metal"), 404)["nearest"] == ["metals"]


def test_a_category_is_shown_even_if_it_is_renamed_meanwhile(fresh: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(*_: object) -> None:
        monkeypatch.undo()
        fresh.post("/v1/categories", {"change": "rename", "name": "energy", "into": "power"})

    monkeypatch.setattr("thresher.web.category_input.CategoryNames.check_known", rename)
    found = fresh.service.queries.describe_category("energy")
    assert found["name"] == "energy"
    assert found["curve"]
    check_problem(fresh.client().get("/v1/categories/energy"), 404)


def test_measures_are_null_where_there_is_nothing_to_measure(fresh: Served) -> None:
    fresh.post("/v1/categories", {"change": "new", "name": "bees"})
    row = fresh.get("/v1/categories/bees")
    assert [row[rate] for rate in ("precision", "recall", "f1", "break_even")] == [None] * 4
    assert (row["curve"], row["documents"], row["mistakes"]) == ([], 0, [])


def test_categories_can_be_made_renamed_merged_and_retired(fresh: Served) -> None:
    def change(**body: Any) -> list[str]:
        answer = fresh.post("/v1/categories", body)
        assert answer["position"] == fresh.last
        return list(answer["categories"])

    assert change(change="new", name=" bees ")[-1] == "bees"
    assert change(change="rename", name="bees", into="Bees")[-1] == "Bees"
    assert "both" in change(change="merge", names=["grain", "metals"], into="both")
    assert names(fresh.categorize(text="wheat harvest bushel")) == ["both"]
    assert names(fresh.categorize(text="gold silver copper")) == ["both"]
    assert "energy" not in change(change="retire", name="energy")
    assert known(fresh) == ["both", "money", "ships", "trade", "Bees"]
    kinds = [(one["kind"], one["change"]["change"]) for one in fresh.get("/v1/corrections")["corrections"]]
    assert kinds == [("categories", kind) for kind in ("new", "rename", "merge", "retire")]


def test_a_change_of_categories_can_be_sent_twice_and_undone(fresh: Served) -> None:
    digest = fresh.digest
    body = {"id": "c", "change": "new", "name": " bees ", "words": ["bee", "hive"]}
    first = fresh.post("/v1/categories", body)
    assert fresh.post("/v1/categories", body)["seq"] == first["seq"]
    check_problem(fresh.client().post("/v1/categories", json=body | {"name": "wasps"}), 409)
    assert fresh.last == 2
    for id in ("c%20words", "c"):
        assert fresh.client().delete(f"/v1/corrections/{id}").status_code == 200
    assert fresh.digest == digest


def test_a_threshold_decides_what_is_accepted(fresh: Served) -> None:
    entry = fresh.categorize(text="crude oil", details=True)["categories"][0]
    fresh.post("/v1/categories", {"change": "threshold", "name": "energy", "threshold": entry["raw"] + 0.1})
    assert names(fresh.categorize(text="crude oil")) == []
    assert fresh.get("/v1/categories/energy")["threshold"] == pytest.approx(entry["raw"] + 0.1)
    fresh.post("/v1/categories", {"change": "threshold", "name": "energy", "threshold": 0})
    assert names(fresh.categorize(text="crude oil")) == ["energy"]


def test_a_category_is_known_by_its_seed_words_at_once(fresh: Served) -> None:
    answer = fresh.post("/v1/categories", {"change": "new", "name": "bees", "words": ["bee", "hive", "swarm"]})
    assert answer["position"] == 2
    assert names(fresh.categorize(text="the bee has a hive")) == ["bees"]
    assert fresh.get("/v1/categories/bees")["documents"] == 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"change": "new", "name": "grain"}, 422),
        ({"change": "new", "name": "GRAIN"}, 409),
        ({"change": "new", "name": "a\u200bb"}, 422),
        ({"change": "new", "name": " "}, 422),
        ({"change": "new", "names": ["a", "b"]}, 422),
        ({"change": "new"}, 422),
        ({"change": "new", "name": "wax", "words": ["..."]}, 422),
        ({"change": "new", "name": "wax", "words": ["wax"], "id": "y" * 200}, 422),
        ({"change": "rename", "name": "grain", "into": "energy"}, 422),
        ({"change": "rename", "name": "grain", "into": "ENERGY"}, 409),
        ({"change": "rename", "name": "grain"}, 422),
        ({"change": "rename", "name": "unheardof", "into": "x"}, 422),
        ({"change": "rename", "name": "grain", "into": "x", "words": ["x"]}, 422),
        ({"change": "merge", "names": ["grain"], "into": "x"}, 422),
        ({"change": "merge", "names": ["grain", "energy"]}, 422),
        ({"change": "retire", "name": "unheardof"}, 422),
        ({"change": "threshold", "name": "grain"}, 422),
        ({"change": "threshold", "name": "grain", "threshold": 1e300}, 422),
        ({"change": "threshold", "name": "grain", "threshold": 10**17}, 422),
        ({"change": "retire", "name": "grain", "threshold": 1.0}, 422),
        ({"change": "retire", "name": "grain", "into": "other"}, 422),
        ({"change": "new", "name": "wax", "names": ["wood"]}, 422),
        ({"change": "new", "name": "wax", "into": "wood"}, 422),
        ({"change": "burn", "name": "grain"}, 422),
    ],
    ids=str,
)
def test_a_change_that_cannot_be_made_changes_nothing(service: Served, change: dict[str, Any], status: int) -> None:
    before = service.digest, service.last
    check_problem(service.client().post("/v1/categories", json=change), status)
    assert (service.digest, service.last) == before
