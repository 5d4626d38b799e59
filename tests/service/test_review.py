"""Documents wait in a queue to be reviewed, and what becomes of it is counted."""

from pathlib import Path
from typing import Any

import pytest

from support.corpora import WORDS, made_up
from support.served import LINES, Served, as_lines, check_problem, holdout, new_model, served
from thresher.web.queries import MAX_CORRECTIONS
from thresher.web.review_order import _MAX_ORDERS

TEXTS = made_up(60, seed=1).texts


# -- review ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def pool(fresh: Served) -> Served:
    documents = [{"id": f"d{i}", "text": text} for i, text in enumerate(TEXTS[:40])]
    assert fresh.post("/v1/documents", {"documents": documents}) == {"added": 40, "known": 0}
    return fresh


def ids(service: Served, **query: Any) -> list[str]:
    return [one["id"] for one in service.get("/v1/queue", **query)["documents"]]


def test_documents_are_added_once(pool: Served) -> None:
    added = [{"id": "d1", "text": "other"}, "a bare text", {"text": {"title": "a", "body": "b"}}, "a bare text"]
    assert pool.post("/v1/documents", {"documents": added}) == {"added": 3, "known": 1}
    found = pool.client().post("/v1/documents", content=as_lines(*added, {"id": "new/1", "text": "oil"}), headers=LINES)
    assert found.json() == {"added": 1, "known": 4}
    assert pool.get("/v1/documents/new%2F1") == {"id": "new/1", "text": "oil", "state": "open"}
    assert pool.get("/v1/documents/d1")["text"] == TEXTS[1]
    assert [
        one["id"][:3] for one in pool.get("/v1/queue", q="other", limit=100)["documents"] if one["text"] == "other"
    ] == ["d1-"]
    check_problem(pool.client().get("/v1/documents/d99"), 404)


def test_the_least_certain_document_comes_first(pool: Served) -> None:
    found = pool.get("/v1/queue", limit=200)
    assert [found[key] for key in ("matching", "open", "unsure", "done", "total")] == [40, 40, 0, 0, 40]
    distances = [one["uncertainty"] for one in found["documents"]]
    assert distances == pytest.approx(sorted(distances), abs=1e-6)
    for one in found["documents"]:
        assert len(one["categories"]) == 5
        assert one["uncertainty"] == pytest.approx(
            min(abs(c["raw"] - c["threshold"]) for c in one["categories"]), abs=1e-5
        )
        assert (one["corrections"], one["disagreement"], one["state"]) == ([], [], "open")


def test_the_queue_has_pages_and_orders(pool: Served) -> None:
    everything = ids(pool, limit=40)
    assert ids(pool, limit=15) + ids(pool, limit=15, offset=15) + ids(pool, limit=15, offset=30) == everything
    assert ids(pool, offset=40) == []
    orders = {order: ids(pool, order=order, limit=40) for order in ("uncertain", "random", "diverse")}
    assert all(sorted(order) == sorted(everything) for order in orders.values())
    assert len({tuple(order) for order in orders.values()}) == 3
    assert ids(pool, order="random", limit=40) == orders["random"]
    first = pool.get("/v1/queue", order="diverse", limit=6)["documents"]
    assert len({one["categories"][0]["category"] for one in first}) == 6


def test_the_queue_of_a_category_begins_with_its_least_certain_document(pool: Served) -> None:
    found = pool.get("/v1/queue", category="grain", limit=40)["documents"]
    scores = [pool.categorize(document=one["id"], all=True)["categories"] for one in found]
    distances = [abs(next(c["score"] for c in row if c["category"] == "grain") - 1) for row in scores]
    assert distances == pytest.approx(sorted(distances), abs=1e-6)
    assert check_problem(pool.client().get("/v1/queue?category=grian"), 404)["nearest"] == ["grain"]


def test_the_queue_is_searched(pool: Served) -> None:
    found = pool.get("/v1/queue", q="WHEAT", limit=40)
    assert found["matching"] == sum("wheat" in text for text in TEXTS[:40]) == len(found["documents"])
    assert all("wheat" in one["text"] for one in found["documents"])
    assert pool.get("/v1/queue", q="unheardof")["documents"] == []


def test_a_document_has_a_state(pool: Served) -> None:
    found = pool.client("ada").patch("/v1/documents/d3", json={"state": "unsure"})
    assert (found.status_code, found.json()["state"]) == (200, "unsure")
    assert ids(pool, state="unsure") == ["d3"]
    assert "d3" not in ids(pool, limit=40)
    assert pool.get("/v1/documents/d3")["text"] == TEXTS[3]
    pool.correct(document="d4", categories=["energy"])
    assert ids(pool, state="done") == ["d4"]
    counts = {"open": 38, "unsure": 1, "done": 1, "total": 40}
    assert pool.get("/v1/stats")["documents"] == counts
    assert {key: pool.get("/v1/queue", limit=1)[key] for key in counts} == counts
    check_problem(pool.client().patch("/v1/documents/d99", json={"state": "open"}), 404)
    check_problem(pool.client().patch("/v1/documents/d3", json={"state": "lost"}), 422)


def test_a_state_is_set_and_nothing_else_is_touched(pool: Served) -> None:
    pool.correct(document="d3", accept=["grain"], reject=["energy"], by="ada")
    shown, digest = pool.get("/v1/queue", state="done")["documents"][0], pool.digest
    for state in ("open", "unsure", "unsure", "done"):
        assert pool.client("bob").patch("/v1/documents/d3", json={"state": state}).status_code == 200
        (found,) = (one for one in pool.get("/v1/queue", state=state, limit=40)["documents"] if one["id"] == "d3")
        assert found == shown | {"state": state}
    assert (pool.digest, pool.last) == (digest, 1)
    for body in ({}, {"state": None}, {"state": "open", "text": "other"}, {"text": "other"}):
        check_problem(pool.client().patch("/v1/documents/d3", json=body), 422)
    assert pool.get("/v1/documents/d3") == {"id": "d3", "text": TEXTS[3], "state": "done"}


def test_a_document_to_review_is_corrected_and_categorized_by_its_id(pool: Served) -> None:
    assert pool.categorize(document="d5") == pool.categorize(id="d5", text=TEXTS[5])
    answer = pool.correct(document="d5", categories=["energy"])
    (one,) = pool.get("/v1/corrections")["corrections"]
    assert (one["document"], one["text"], one["seq"]) == ("d5", TEXTS[5][:400], answer["seq"])
    for route in ("/v1/categorize", "/v1/corrections"):
        body: dict[str, Any] = {"document": "unheardof"}
        body |= {"id": "e", "accept": ["energy"]} if route == "/v1/corrections" else {}
        check_problem(pool.client().post(route, json=body), 404)
        check_problem(pool.client().post(route, json=body | {"document": "d1", "text": "both"}), 422)


def test_documents_and_their_states_outlive_the_service(tmp_path: Path) -> None:
    model = new_model(tmp_path)
    with served(model) as first:
        first.post("/v1/documents", {"documents": [{"id": "a", "text": "oil"}, {"id": "b", "text": {"t": "gold"}}]})
        first.client().patch("/v1/documents/a", json={"state": "unsure"})
        first.correct(document="b", accept=["metals"])
        stats, digest = first.get("/v1/stats"), first.digest
    with served(model) as second:
        assert second.get("/v1/documents/a")["state"] == "unsure"
        assert second.get("/v1/documents/b") == {"id": "b", "text": {"t": "gold"}, "state": "done"}
        assert (second.get("/v1/stats"), second.digest) == (stats, digest)


def test_teachers_who_disagree_are_shown(pool: Served) -> None:
    pool.correct(document="d0", accept=["grain"], by="ada")
    pool.correct(document="d0", reject=["grain"], accept=["energy"], by="bob")
    pool.correct(text=TEXTS[1], categories=["metals"], by="ada")
    pool.correct(text=TEXTS[1], accept=["trade"], by="bob")
    found = {
        one["id"]: one
        for state in ("open", "done")
        for one in pool.get("/v1/queue", state=state, limit=40)["documents"]
    }
    assert found["d0"]["disagreement"] == ["grain"]
    assert found["d1"]["disagreement"] == ["trade"]  # for ada said that metals is all
    assert [(one["user"], one["accept"], one["reject"], one["categories"]) for one in found["d0"]["corrections"]] == [
        ("ada", ["grain"], [], None), ("bob", ["energy"], ["grain"], None),
    ]  # fmt: skip
    pool.correct(document="d0", accept=["grain"], by="bob")
    assert pool.get("/v1/queue", state="done")["documents"][0]["disagreement"] == []


def test_the_queue_shows_the_last_corrections_of_a_document(pool: Served) -> None:
    taught = [pool.correct(text=TEXTS[0], accept=["grain"])["seq"] for _ in range(MAX_CORRECTIONS + 2)]
    (found,) = (one for one in pool.get("/v1/queue", limit=40)["documents"] if one["id"] == "d0")
    assert [one["seq"] for one in found["corrections"]] == taught[2:]


def test_a_page_of_the_queue_ends_early_if_its_corrections_are_long(
    pool: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in TEXTS[:6]:
        pool.correct(text=text, accept=["grain", "energy"])
    everything = ids(pool, limit=40)
    monkeypatch.setattr("thresher.web.routes.documents.MAX_LETTERS", 30)  # letters: those of two corrections
    pages, offset = list[list[str]](), 0
    while offset < 40:
        pages.append(ids(pool, limit=40, offset=offset))
        offset += len(pages[-1])
    assert [id for page in pages for id in page] == everything
    assert 1 < len(pages) <= 4


def test_the_number_of_cached_queue_orders_is_limited(pool: Served) -> None:
    queue, names = pool.service.served.order, [f"c{i}" for i in range(_MAX_ORDERS + 3)]
    for name in names:
        pool.correct(text="a hive", accept=[name], create_category=True)
    for name in names:
        ids(pool, category=name)
    assert list(queue._cached) == names[3:]
    ids(pool, category=names[0])
    assert list(queue._cached) == [*names[4:], names[0]]
    assert sorted(ids(pool, category=names[3], limit=40)) == sorted(ids(pool, limit=40))


# -- stats -------------------------------------------------------------------------------------------------------------


def test_stats_count_the_mistakes(fresh: Served) -> None:
    fresh.correct(text="crude oil", accept=["energy"], by="ada")  # right before
    id = fresh.correct(text="crude oil", reject=["energy"], by="bob")["id"]
    fresh.correct(text="gold silver", categories=["metals"], by="ada")
    found = fresh.get("/v1/stats")
    assert [found[key] for key in ("corrections", "undone", "mistakes", "window")] == [3, 0, 1, 100]
    assert found["error"] == found["sliding_error"] == pytest.approx(1 / 3)
    assert [point["error"] for point in found["curve"]] == pytest.approx([0, 1 / 2, 1 / 3])
    assert found["users"] == {"ada": 2, "bob": 1}
    assert found["drift"]["alarm"] is False
    assert found["holdout"] is None
    fresh.client().delete(f"/v1/corrections/{id}")
    found = fresh.get("/v1/stats")
    assert [found[key] for key in ("corrections", "undone", "mistakes")] == [2, 1, 0]


def test_an_alarm_is_raised_when_mistakes_become_more(fresh: Served) -> None:
    """Most corrections confirm; then come a hundred of which two thirds find the model wrong."""
    confirmed = [{"id": f"a{i}", "text": "crude oil", "accept": ["energy"]} for i in range(120)]
    for body in confirmed:
        fresh.post("/v1/corrections", body, status=201)
    assert fresh.get("/v1/stats")["drift"]["message"] == "not enough corrections yet (it takes 200)"
    for i in range(100):
        fresh.correct(text=f"unheardof{i} other{i}", accept=["grain"]) if i % 3 else fresh.correct(
            text="oil", accept=["energy"]
        )
    drift = fresh.get("/v1/stats")["drift"]
    assert drift["alarm"] is True
    assert "of the last 100 corrections" in drift["message"]


def test_held_out_documents_are_measured_and_raise_an_alarm(tmp_path: Path) -> None:
    """A twentieth of the labels are hostile and of one user: the alarm fires, and undoing them ends it."""
    with served(new_model(tmp_path), holdout=holdout()) as running:
        before = running.get("/v1/stats")["holdout"]
        assert (before["documents"], before["alarm"]) == (80, False)
        assert 0.5 < before["macro_f1"] == before["best_macro_f1"] <= 1
        assert running.get("/v1/categories")["measured_on"] == {"documents": 80, "held_out": True, "taught": 0}
        taught = made_up(200, seed=9)
        for i, (text, right) in enumerate(zip(taught.texts, taught.categories, strict=True)):
            if i % 20 == 19:
                running.correct(text=WORDS["energy"], categories=["grain"], by="bob")
            else:
                running.correct(text=text, categories=right, by="ada")
        after = running.get("/v1/stats")["holdout"]
        assert after["alarm"] is True
        assert after["macro_f1"] < after["best_macro_f1"] - 0.02
        for one in running.get("/v1/corrections", limit=500)["corrections"]:
            if one["user"] == "bob":
                assert running.client().delete(f"/v1/corrections/{one['id']}").status_code == 200
        assert running.get("/v1/stats")["holdout"]["alarm"] is False


def test_an_admin_deletes_a_document_and_its_corrections_stay(fresh: Served) -> None:
    fresh.post("/v1/documents", {"documents": [{"id": "a/b", "text": "a plank"}, {"id": "c", "text": "a nail"}]})
    fresh.correct(document="a/b", accept=["metals"])
    assert fresh.client("ada").delete("/v1/documents/a/b").status_code == 403
    gone = fresh.client("zoe").delete("/v1/documents/a/b")
    assert (gone.status_code, gone.json()["text"]) == (200, "a plank")
    assert fresh.client("zoe").delete("/v1/documents/a/b").status_code == 404
    assert fresh.get("/v1/queue")["total"] == 1
    assert fresh.get("/v1/stats")["corrections"] == 1
