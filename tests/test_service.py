"""What each route of the service does when it is asked as it should be."""

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from cli import Run
from corpora import WORDS, made_up
from served import LEARNED, SHARED, Served, all_at_once, check_problem, new_model, request, served
from thresher import Categorizer, __version__
from thresher.datasets.document import Document
from thresher.desk import Desk, journal_folder
from thresher.errors import JournalBrokenError
from thresher.web.naming import nearest

LINES = {"Content-Type": "application/x-ndjson"}
TEXTS = made_up(60, seed=1).texts


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(new_model(tmp_path_factory.mktemp("service"))) as running:
        yield running


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Served]:
    """A service that nobody has asked yet."""
    with served(new_model(tmp_path)) as running:
        yield running


def as_lines(*documents: Any) -> bytes:
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def from_lines(found: httpx.Response) -> list[Any]:
    assert found.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in found.text.splitlines()]


def names(answer: dict[str, Any]) -> list[str]:
    return [entry["category"] for entry in answer["categories"]]


def known(service: Served) -> list[str]:
    return [row["name"] for row in service.get("/v1/categories")["categories"]]


# -- categorize --------------------------------------------------------------------------------------------------------


def test_the_service_answers_what_predict_prints(fresh: Served, called: Run, tmp_path: Path) -> None:
    texts = [*TEXTS[:20], "", "nothing-known", "Ölpreis … \U0001f6e2 crude oil", "oil\n\noil"]
    data = tmp_path / "texts.jsonl"
    data.write_text("".join(json.dumps({"id": f"d{i}", "text": text}) + "\n" for i, text in enumerate(texts)))
    for options, query in (((), {}), (("--top", "3"), {"top": 3})):
        ended = called("predict", fresh.model, data, "--json", *options)
        printed = [json.loads(line) for line in ended.out.splitlines()]
        documents = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts)]
        assert fresh.categorize(documents=documents, **query) == {"documents": printed}
        assert [fresh.categorize(**document, **query) for document in documents] == printed
        found = fresh.client().post("/v1/categorize", params=query, content=as_lines(*documents), headers=LINES)
        assert from_lines(found) == printed


def test_fields_are_categorized_as_predict_does(fresh: Served, called: Run, tmp_path: Path) -> None:
    fields = {"title": "crude oil", "body": "a barrel of wheat"}
    data = tmp_path / "fields.jsonl"
    data.write_text(json.dumps({"id": "7", **fields}))
    ended = called("predict", fresh.model, data, "--json", "--text", "title", "--text", "body")
    assert fresh.categorize(id="7", text=fields) == json.loads(ended.out)


def test_texts_asked_for_at_the_same_time_get_their_own_answers(service: Served) -> None:
    alone = [service.categorize(text=text) for text in TEXTS]
    assert [
        found.json() for found in all_at_once(service, [("POST", "/v1/categorize", {"text": t}) for t in TEXTS])
    ] == alone


def test_bare_texts_are_numbered(service: Served) -> None:
    found = service.categorize(documents=["oil", {"text": "wheat"}, {"id": "x", "text": "gold"}])["documents"]
    assert [one["id"] for one in found] == ["1", "2", "x"]
    found = from_lines(service.client().post("/v1/categorize", content=b'"oil"\n\n{"text": "wheat"}', headers=LINES))
    assert [one["id"] for one in found] == ["1", "2"]
    assert service.categorize(text="oil")["id"] == "1"
    assert service.categorize(documents=[]) == {"documents": []}


def test_top_gives_so_many_and_all_gives_all(service: Served) -> None:
    text = "crude oil barrel"
    assert names(service.categorize(text=text)) == ["energy"]
    assert len(names(service.categorize(text=text, top=3))) == 3
    everything = names(service.categorize(text=text, all=True))
    assert sorted(everything) == sorted(known(service))
    assert names(service.categorize(text=text, top=1000)) == everything
    assert names(service.post("/v1/categorize?all=true", {"text": text})) == everything


def test_details_say_what_was_accepted_and_why(service: Served) -> None:
    for text in TEXTS[:10]:
        accepted = names(service.categorize(text=text))
        for entry in service.categorize(text=text, all=True, details=True)["categories"]:
            assert entry["accepted"] == (entry["category"] in accepted) == (entry["raw"] > entry["threshold"])
            assert entry["score"] - 1 == pytest.approx(entry["raw"] - entry["threshold"], abs=1e-6)


def test_explanations_name_the_words_that_decided(service: Served) -> None:
    text = "Crude \U0001f6e2 oil, and unheardof words"
    found = service.categorize(text=text, explain=True)
    (explained,) = found["explanations"]
    assert {"category", "accepted", "score", "raw", "threshold", "probability"} <= explained.keys()
    assert (explained["category"], explained["accepted"], explained["score"]) == (
        "energy",
        True,
        found["categories"][0]["score"],
    )
    words = {word["word"]: word["positions"] for word in explained["words"]}
    assert {text[start:end] for start, end in words["oil"]} == {"oil"}
    assert {text[start:end] for start, end in words["crude"]} == {"Crude"}
    contributions = [word["contribution"] for word in explained["words"]]
    assert sum(contributions) == pytest.approx(explained["raw"], abs=1e-4)
    (best,) = service.categorize(text="unheardof", explain=True)["explanations"]
    assert best["accepted"] is False
    (named,) = service.categorize(text=text, explain="grain")["explanations"]
    assert (named["category"], named["accepted"]) == ("grain", False)
    problem = check_problem(service.client().post("/v1/categorize", json={"text": text, "explain": "grian"}), 404)
    assert problem["nearest"] == ["grain"]


def test_positions_in_fields_count_in_their_lines_together(service: Served) -> None:
    fields = {"title": "wheat", "body": "and oil"}
    (explained,) = service.categorize(text=fields, explain="energy")["explanations"]
    places = {word["word"]: word["positions"] for word in explained["words"]}
    joined = "wheat\nand oil"
    assert places["oil"] == [[joined.index("oil"), len(joined)]]


def test_options_may_stand_in_the_query(service: Served) -> None:
    wanted = service.categorize(text="oil", top=2, details=True, explain="energy")
    assert service.post("/v1/categorize?top=2&details=true&explain=energy", {"text": "oil"}) == wanted
    found = service.client().post("/v1/categorize?top=2&details=true&explain=energy", content=b'"oil"', headers=LINES)
    assert from_lines(found) == [wanted]
    assert (
        len(names(service.post("/v1/categorize?top=3", {"text": "oil", "top": 1}))) == 1
    )  # the body has the last word


def test_a_stream_is_answered_to_its_last_line_however_it_comes(service: Served) -> None:
    documents = [{"id": f"d{i}", "text": TEXTS[i % 60]} for i in range(600)]
    whole = as_lines(*documents)
    for size in (17_000, 1_000_000):
        parts = (whole[i : i + size] for i in range(0, len(whole), size))
        found = from_lines(service.client().post("/v1/categorize", content=parts, headers=LINES))
        assert [one["id"] for one in found] == [document["id"] for document in documents]
    assert found == service.categorize(documents=documents)["documents"]


def test_a_stream_is_answered_while_it_comes(service: Served) -> None:
    answered = _exchange_in_two(service, b'"oil"\n"gold"\n"whe', b'at"\n')
    assert [json.loads(line)["id"] for line in answered] == ["1", "2", "3"]


def _exchange_in_two(service: Served, first: bytes, second: bytes) -> list[str]:
    """Send a part, wait for its answers, send the rest; returns all lines that were answered."""
    length = str(len(first) + len(second))
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as connection:
        connection.sendall(
            request(
                service, "POST", "/v1/categorize", first, Content_Type="application/x-ndjson", Content_Length=length
            )
        )
        got = b""
        while got.count(b'{"id"') < 2:
            got += connection.recv(2**16)
        connection.sendall(second)
        while not got.endswith(b"0\r\n\r\n"):
            got += connection.recv(2**16)
    return [line for line in got.decode().splitlines() if line.startswith("{")]


def test_an_untaught_model_has_no_categories_for_anything(tmp_path: Path) -> None:
    Categorizer().save(tmp_path / "desk.thresher")
    with served(tmp_path / "desk.thresher") as running:
        assert running.categorize(text="oil", top=3, details=True, explain=True) == {
            "id": "1", "categories": [], "explanations": [],
        }  # fmt: skip
        assert running.get("/v1/categories") == {"categories": [], "measured_on": {"documents": 0, "held_out": False}}
        assert running.get("/v1/stats")["error"] is None
        running.post("/v1/documents", {"documents": ["oil"]})
        assert len(running.get("/v1/queue")["documents"]) == 1
        running.correct(text="crude oil", accept=["energy"], create_category=True)
        assert names(running.categorize(text="crude oil")) == ["energy"]


# -- corrections -------------------------------------------------------------------------------------------------------


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


def test_a_correction_of_all_categories_takes_the_others_away(fresh: Served) -> None:
    text = "crude oil barrel"
    answer = fresh.correct(text=text, categories=["grain"])
    assert answer["effect"]["predicted"] == ["energy"]
    assert answer["effect"]["mistakes"] == ["energy", "grain"]
    assert answer["effect"]["demoted"]["energy"] > 0
    assert answer["effect"]["promoted"]["grain"] > 0
    for _ in range(5):
        fresh.correct(text=text, categories=[])
    assert names(fresh.categorize(text=text)) == []


def test_what_was_learned_is_what_a_desk_learns(fresh: Served, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with Desk(new_model(tmp_path / "other"), new=True) as desk:
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


def test_of_very_many_categories_some_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def counted(name: str, known: Sequence[str], **options: Any) -> list[str]:
        compared.append(len(known))
        return get_close_matches(name, known, **options)

    monkeypatch.setattr("difflib.get_close_matches", counted)
    many = [f"category number {i}" for i in range(20_000)]
    assert nearest("grian", ["energy", "grain"]) == nearest("grian", [*many, "grain"]) == ["grain"]
    assert compared == [2, 500]


def test_create_category_makes_a_category(fresh: Served) -> None:
    answer = fresh.correct(text="bee hive swarm", accept=["bees"], create_category=True)
    assert answer["new_categories"] == ["bees"]
    assert names(fresh.categorize(text="bee hive swarm")) == ["bees"]
    assert fresh.correct(text="honey", accept=["bees"])["new_categories"] == []


def test_whoever_corrects_is_named_by_the_token_and_else_by_a_claim(fresh: Served) -> None:
    fresh.correct(text="oil", accept=["energy"], by="ada", user="bob")
    fresh.correct(text="oil", accept=["energy"], user="carl")
    fresh.correct(text="oil", accept=["energy"])
    assert [one["user"] for one in fresh.get("/v1/corrections")["corrections"]] == ["ada", "carl", ""]
    assert fresh.get("/v1/stats")["users"] == {"ada": 1, "carl": 1, "": 1}


def test_an_undone_correction_was_never_made(fresh: Served) -> None:
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


def test_whoever_has_taught_reads_what_was_taught(service: Served) -> None:
    for i in range(5):
        position = service.correct(text=f"plank{i}", accept=["metals"])["position"]
        found = service.client().post("/v1/categorize", json={"text": "oil"})
        assert int(found.headers["Thresher-Position"]) >= position


# -- categories --------------------------------------------------------------------------------------------------------


def test_categories_are_listed_with_how_well_they_do(fresh: Served) -> None:
    fresh.correct(text="oil", accept=["energy"], reject=["grain"])
    found = fresh.get("/v1/categories")
    assert found["measured_on"] == {"documents": LEARNED, "held_out": False}
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


def test_the_queue_of_a_category_begins_where_it_is_least_certain(pool: Served) -> None:
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


def holdout(count: int = 80) -> list[Document]:
    corpus = made_up(count, seed=5)
    return [
        Document(id=str(i), text=text, categories=tuple(names))
        for i, (text, names) in enumerate(zip(corpus.texts, corpus.categories, strict=True))
    ]


def test_documents_held_out_are_measured_on_and_raise_an_alarm(tmp_path: Path) -> None:
    """A twentieth of the labels are hostile and of one user: the alarm fires, and undoing them ends it."""
    with served(new_model(tmp_path), holdout=holdout()) as running:
        before = running.get("/v1/stats")["holdout"]
        assert (before["documents"], before["alarm"]) == (80, False)
        assert 0.5 < before["macro_f1"] == before["best_macro_f1"] <= 1
        assert running.get("/v1/categories")["measured_on"] == {"documents": 80, "held_out": True}
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


# -- the model and its journal -----------------------------------------------------------------------------------------


def test_the_model_tells_its_settings_and_who_asks(service: Served) -> None:
    found = service.client("ada").get("/v1/model").json()
    assert (found["model"], found["version"], found["categories"]) == (
        "desk.thresher",
        __version__,
        len(known(service)),
    )
    assert (found["role"], found["user"]) == ("teacher", "ada")
    assert (found["digest"], found["position"]) == (service.digest, service.last)
    assert found["settings"]["min_count"] == 1
    assert {"preset", "learner", "policy", "features"} <= found.keys()
    assert (service.get("/v1/model")["role"], service.get("/v1/model")["user"]) == ("admin", "")


def test_looking_changes_nothing(service: Served) -> None:
    before = service.digest, service.last
    for _ in range(20):
        service.categorize(text="oil", all=True, details=True, explain=True)
        for path in (
            "/v1/categories",
            "/v1/categories/energy",
            "/v1/queue",
            "/v1/stats",
            "/v1/model",
            "/v1/corrections",
        ):
            service.get(path)
        service.client().get("/v1/export")
    assert (service.digest, service.last) == before


def test_reload_takes_up_another_model(tmp_path: Path) -> None:
    model = new_model(tmp_path)
    with served(model) as running:
        running.correct(text="plank", accept=["metals"])
        digest = running.digest
        assert running.post("/v1/model/reload", {}) == {"changed": False, "digest": digest}
        Categorizer(min_count=1).fit(["a plank", "a hive"] * 3, ["wood", "bees"] * 3).save(model)
        check_problem(running.client().post("/v1/model/reload", json={}), 409)
        assert (running.digest, running.last) == (digest, 1)
        found = running.post("/v1/model/reload", {"new_journal": True})
        assert found == {"changed": True, "digest": Categorizer.load(model).digest()}
        assert known(running) == ["bees", "wood"]
        assert running.get("/v1/corrections")["corrections"] == []
        running.correct(text="a nail", accept=["wood"])
    aside = list(tmp_path.glob("*.before-*/*/journal.sqlite3"))
    assert len(aside) == 1


def test_nothing_is_left_of_the_model_before_a_reload(tmp_path: Path) -> None:
    model = new_model(tmp_path)
    with served(model, holdout=holdout()) as running:
        running.post("/v1/documents", {"documents": ["a plank"]})
        for path in ("/v1/categories", "/v1/stats", "/v1/model", "/v1/queue"):  # each remembers what it found
            running.get(path)
        Categorizer(min_count=1).fit(["a plank", "a hive"] * 3, ["wood", "bees"] * 3).save(model)
        running.post("/v1/model/reload", {"new_journal": True})
        assert running.get("/v1/model")["digest"] == Categorizer.load(model).digest()
        assert known(running) == ["bees", "wood"]
        assert running.get("/v1/stats")["holdout"]["alarm"] is False
        running.get("/v1/queue")


def test_the_export_can_be_learned_again(fresh: Served) -> None:
    fresh.correct(text="plank", accept=["metals"], reject=["grain"], by="ada")
    fresh.correct(text={"title": "a", "body": "hive"}, categories=["grain"])
    fresh.client().delete(f"/v1/corrections/{fresh.correct(text='gone', accept=['grain'])['id']}")
    for i in range(250):
        fresh.post("/v1/corrections", {"id": f"e{i}", "text": "oil", "accept": ["energy"]}, status=201)
    first, second, *others = from_lines(fresh.client().get("/v1/export"))
    assert (first["text"], first["accept"], first["reject"], first["user"]) == ("plank", ["metals"], ["grain"], "ada")
    assert (second["title"], second["body"], second["categories"]) == ("a", "hive", ["grain"])
    assert [one["id"] for one in others] == [f"e{i}" for i in range(250)]


def test_a_backup_is_a_journal_of_its_own(fresh: Served, tmp_path: Path) -> None:
    fresh.correct(text="plank", accept=["metals"])
    digest = fresh.digest
    found = fresh.post("/v1/backup", {})
    assert found["records"] == 1
    fresh.correct(text="later", accept=["metals"])
    copy = journal_folder(fresh.model) / found["folder"]
    assert copy.is_dir()
    assert copy.stat().st_mode & 0o077 == 0
    copy.rename(tmp_path / "copy")
    with Desk(fresh.model, tmp_path / "copy") as desk:
        assert (desk.model.digest(), desk.position) == (digest, 1)


def test_metrics_count_answers_by_route_and_status(fresh: Served) -> None:
    fresh.correct(text="plank", accept=["metals"])
    fresh.client().get("/v1/categories/one"), fresh.client().get("/v1/categories/two"), fresh.client().get("/nothing")
    found = fresh.client().get("/metrics")
    assert found.headers["content-type"].startswith("text/plain")
    lines = found.text.splitlines()
    assert 'thresher_requests_total{route="/v1/corrections",status="201"} 1' in lines
    assert 'thresher_requests_total{route="/v1/categories/{name:path}",status="404"} 2' in lines
    assert 'thresher_requests_total{route="other",status="404"} 1' in lines
    assert {"thresher_position 1", "thresher_corrections 1", "thresher_ready 1"} <= set(lines)
    assert any(
        line.startswith('thresher_request_seconds_bucket{route="/v1/corrections",le="+Inf"} 1') for line in lines
    )


def test_the_page_and_its_files_are_served(service: Served) -> None:
    anyone = service.client(None)
    page = anyone.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    style = anyone.get("/assets/style.css")
    assert (style.status_code, style.headers["content-type"]) == (200, "text/css; charset=utf-8")
    check_problem(anyone.get("/assets/index.html"), 404)


def test_the_description_has_every_route_with_an_example(service: Served) -> None:
    found = service.get("/openapi.json")
    assert found["openapi"] == "3.1.0"
    assert len(found["paths"]) == 16
    for path, methods in found["paths"].items():
        for method, about in methods.items():
            assert about["description"], (method, path)
            assert "200" in about["responses"], (method, path)
            assert (method in ("post", "patch")) == ("requestBody" in about) or path == "/v1/backup"
    schemas = found["components"]["schemas"]
    assert schemas["CorrectionIn"]["properties"]["text"]["examples"]


# -- when something is in the way --------------------------------------------------------------------------------------


def test_it_lives_and_says_wait_while_the_journal_is_replayed(tmp_path: Path) -> None:
    model, may_go_on = new_model(tmp_path), threading.Event()

    def opened() -> Desk:
        assert may_go_on.wait(30)
        return Desk(model)

    with served(model, opened=opened, wait=False) as running:
        client = running.client()
        assert client.get("/healthz").json() == {"status": "ok"}
        for found in (
            running.client(None).get("/readyz"),
            client.post("/v1/categorize", json={"text": "oil"}),
            client.post("/v1/corrections", json={"id": "a", "text": "oil", "accept": ["energy"]}),
            client.get("/v1/model"),
            client.get("/v1/stats"),
            client.get("/v1/queue"),
            client.get("/v1/export"),
        ):
            check_problem(found, 503)
            assert found.headers["Retry-After"] == "1"
        assert "thresher_ready 0" in client.get("/metrics").text
        may_go_on.set()
        running.service.opening.result(30)
        assert client.get("/readyz").json() == {"status": "ready"}
        running.correct(text="oil", accept=["energy"])


def test_whoever_comes_when_it_ends_is_told_to_come_again(fresh: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(fresh.service, "state", "ending")
        found = fresh.client().post("/v1/corrections", json={"id": "a", "text": "oil", "accept": ["energy"]})
        for one in (found, fresh.client().get("/readyz")):
            check_problem(one, 503)
            assert one.headers["Retry-After"] == "1"
    assert fresh.last == 0


def test_a_model_file_that_is_deleted_changes_nothing_and_is_written_anew(tmp_path: Path) -> None:
    model = new_model(tmp_path)
    with served(model) as running:
        before = running.categorize(text="crude oil")
        model.unlink()
        assert running.categorize(text="crude oil") == before
        running.correct(text="plank", accept=["metals"])
        digest = running.digest
    assert Categorizer.load(model).digest() == digest


def test_a_full_disk_is_told_and_nothing_is_learned(fresh: Served) -> None:
    def limit_pages(pages: int) -> None:
        fresh.service.write(lambda: fresh.service.desk.journal.query(f"PRAGMA max_page_count={pages}")).result(10)

    fresh.correct(text="oil", accept=["energy"])
    digest = fresh.digest
    body = {"id": "big", "text": "word " * 50_000, "accept": ["energy"]}
    limit_pages(1)
    check_problem(fresh.client().post("/v1/corrections", json=body), 507)
    assert (fresh.digest, fresh.last) == (digest, 1)
    assert names(fresh.categorize(text="crude oil")) == ["energy"]
    assert fresh.client().get("/readyz").status_code == 200
    limit_pages(1_000_000)
    assert fresh.post("/v1/corrections", body, status=201)["seq"] == 2


def test_a_broken_disk_ends_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(new_model(tmp_path), fails=JournalBrokenError) as running:

        def broken(*_: object, **__: object) -> None:
            raise JournalBrokenError("/secret/path: disk I/O error (look after the disk, then start again)")

        monkeypatch.setattr(running.service.desk.journal, "append", broken)
        found = running.client().post("/v1/corrections", json={"id": "a", "text": "oil", "accept": ["energy"]})
        assert "secret" not in check_problem(found, 503)["detail"]
        assert running.service.state == "broken"


def without_memory(*_: object, **__: object) -> None:
    raise MemoryError


def test_what_does_not_fit_into_memory_is_refused_for_now(fresh: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fresh.digest, fresh.last
    with monkeypatch.context() as patch:
        patch.setattr("thresher.web.answers.categorized", without_memory)
        long = fresh.client().post("/v1/categorize", json={"text": "oil " * 2000})
        assert "not enough memory" in check_problem(long, 503)["detail"]
        assert long.headers["Retry-After"] == "1"
        lines = fresh.client().post(
            "/v1/categorize", content=b'{"text": "oil"}\n', headers={"Content-Type": "application/x-ndjson"}
        )
        check_problem(lines, 503)
    with monkeypatch.context() as patch:
        patch.setattr("thresher.web.routes.shared.bodies.parsed", without_memory)
        found = fresh.client().post("/v1/categorize", json={"text": "oil"})
    check_problem(found, 503)
    with monkeypatch.context() as patch:
        patch.setattr("thresher.web.guards._bounded", without_memory)
        found = fresh.client().post("/v1/categorize", json={"text": "oil"})
    check_problem(found, 503)
    with monkeypatch.context() as patch:
        patch.setattr("thresher.desk.features_digest", without_memory)
        problem = fresh.correct(text="oil", accept=["energy"], status=503)
        assert "not enough memory" in problem["detail"]
    assert (fresh.digest, fresh.last) == before
    fresh.correct(text="oil", accept=["energy"])


def test_a_correction_that_is_kept_without_memory_to_learn_it_ends_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = new_model(tmp_path)
    with served(path, fails=MemoryError) as running:
        with monkeypatch.context() as patch:
            patch.setattr("thresher.replay.apply", without_memory)
            running.correct(text="oil", accept=["energy"], status=503)
        running.correct(text="oil", accept=["energy"], status=503)
    with Desk(path) as again:
        assert (again.position, again.remarks) == (1, [])


def test_many_answers_and_few_are_the_same_json(fresh: Served) -> None:
    texts = [f"crude oil {number} wheat" for number in range(120)]
    many = fresh.categorize(documents=texts)["documents"]
    assert many == [fresh.categorize(text=text, id=str(i)) for i, text in enumerate(texts, 1)]
    explained = fresh.categorize(documents=texts[:60], explain=True)["documents"]
    assert [one["categories"] for one in explained] == [one["categories"] for one in many[:60]]


def test_a_line_that_is_too_long_says_come_again(fresh: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.web.writer.LONGEST_LINE", 3)
    going_on, started = threading.Event(), threading.Event()

    def block() -> None:
        started.set()
        going_on.wait(30)

    blocked = fresh.service.write(block)
    started.wait(10)
    waiting = [fresh.service.write(lambda: None) for _ in range(3)]
    found = fresh.client().post("/v1/corrections", json={"id": "a", "text": "oil", "accept": ["energy"]})
    check_problem(found, 503)
    assert found.headers["Retry-After"] == "1"
    assert fresh.client().get("/healthz").status_code == 200
    assert names(fresh.categorize(text="crude oil")) == ["energy"]
    going_on.set()
    for future in (blocked, *waiting):
        future.result(10)
    assert fresh.correct(text="oil", accept=["energy"])["seq"] == 1


def test_a_client_that_leaves_before_the_answer_can_ask_again(fresh: Served) -> None:
    body = {"id": "left", "text": "plank", "accept": ["metals"]}
    with socket.create_connection(("127.0.0.1", fresh.port), timeout=10) as connection:
        connection.sendall(request(fresh, "POST", "/v1/corrections", json.dumps(body).encode()))
    found = fresh.client().post("/v1/corrections", json=body)
    assert found.status_code in (200, 201)
    assert (found.json()["seq"], fresh.last) == (1, 1)


def test_a_request_without_a_token_where_none_is_asked_for_may_do_all(tmp_path: Path) -> None:
    with served(new_model(tmp_path), holders=None) as running:
        running.correct(text="plank", accept=["metals"], user="ada")
        assert running.get("/v1/model")["role"] == "admin"
        assert SHARED not in running.client().headers.get("Authorization", "")
