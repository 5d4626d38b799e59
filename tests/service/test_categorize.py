"""Texts are categorized as `predict` does it: one, many, or as a stream."""

import json
import socket
from pathlib import Path

import pytest

from support.command_line import Run
from support.corpora import made_up
from support.served import (
    LINES,
    Served,
    all_at_once,
    as_lines,
    check_problem,
    from_lines,
    known,
    names,
    request,
    served,
)
from thresher import Categorizer

TEXTS = made_up(60, seed=1).texts


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


def test_simultaneous_requests_get_their_own_answers(service: Served) -> None:
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


def test_top_limits_the_categories_and_all_returns_all(service: Served) -> None:
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


def test_options_may_be_in_the_query(service: Served) -> None:
    wanted = service.categorize(text="oil", top=2, details=True, explain="energy")
    assert service.post("/v1/categorize?top=2&details=true&explain=energy", {"text": "oil"}) == wanted
    found = service.client().post("/v1/categorize?top=2&details=true&explain=energy", content=b'"oil"', headers=LINES)
    assert from_lines(found) == [wanted]
    assert (
        len(names(service.post("/v1/categorize?top=3", {"text": "oil", "top": 1}))) == 1
    )  # the body has the last word


def test_a_stream_is_answered_to_its_last_line_however_it_is_split(service: Served) -> None:
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
        measured_on = {"documents": 0, "held_out": False, "taught": 0}
        assert running.get("/v1/categories") == {"categories": [], "measured_on": measured_on}
        assert running.get("/v1/stats")["error"] is None
        running.post("/v1/documents", {"documents": ["oil"]})
        assert len(running.get("/v1/queue")["documents"]) == 1
        running.correct(text="crude oil", accept=["energy"], create_category=True)
        assert names(running.categorize(text="crude oil")) == ["energy"]
