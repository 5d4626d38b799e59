"""The counts of corrections: the same when they are kept up to date as when they are read from the journal."""

import random
import re
from functools import partial
from pathlib import Path

import pytest

from support.served import Served, new_model, served
from thresher.journal.category_history import CategoryHistory
from thresher.journal.journal import Journal
from thresher.web import correction_stats as tallies
from thresher.web.correction_stats import CorrectionStats

NAMES = ["grain", "metals", "energy", "ships", "bees", "wasps"]


def check_counts(running: Served) -> None:
    """Hold the counts against those of a service that has just started."""
    service = running.service

    def read() -> tuple[CorrectionStats, CategoryHistory]:
        service.served.journaled_model.write_effects()
        renames = CategoryHistory.read(service.served.journaled_model.journal)
        return CorrectionStats(service.served.journaled_model, renames), renames

    fresh, renames = service.write(read).result()
    assert service.served.stats.summary() == fresh.summary()
    assert +service.served.stats.by_category == +fresh.by_category
    assert service.served.history._changes == renames._changes


def random_step(running: Served, draw: random.Random, ids: list[str]) -> None:
    known = running.service.served.view.categories
    name = draw.choice(known)
    change = draw.choice(["correct", "correct", "correct", "undo", "rename", "merge", "retire", "threshold", "new"])
    id = running.new_id()
    bodies: dict[str, dict[str, object]] = {
        "rename": {"change": "rename", "name": name, "into": draw.choice([f"{name}x", name])},
        "merge": {"change": "merge", "names": draw.sample(known, 2), "into": draw.choice([name, "both"])},
        "retire": {"change": "retire", "name": name},
        "threshold": {"change": "threshold", "name": name, "threshold": 0.4},
        "new": {"change": "new", "name": f"n{len(ids)}", "words": draw.choice([[], ["hive", "swarm"]])},
    }
    if change == "undo" and ids:
        running.client().delete(f"/v1/corrections/{draw.choice(ids)}")
        return
    if change in bodies and len(known) > 3:
        running.client().post("/v1/categories", json={"id": id, **bodies[change]})
    else:
        other = draw.choice([one for one in NAMES if one.casefold() not in map(str.casefold, known)] or [name])
        body = {
            "text": f"oil wheat {draw.randrange(30)}",
            "accept": [draw.choice([name, other])],
            "user": draw.choice("ab"),
        }
        running.client().post("/v1/corrections", json={"id": id, "create_category": True, **body})
    ids.append(id)


@pytest.mark.parametrize("seed", range(3))
def test_updated_counts_equal_those_of_the_journal(tmp_path: Path, seed: int) -> None:
    draw, ids = random.Random(seed), list[str]()
    with served(new_model(tmp_path)) as running:
        for step in range(80):
            random_step(running, draw, ids)
            if step % 8 == 0:
                check_counts(running)
        check_counts(running)


def test_only_the_most_frequent_of_many_names_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "MAX_USERS", 20)
    monkeypatch.setattr(tallies, "MAX_SHOWN_USERS", 5)
    with served(new_model(tmp_path)) as running:
        for number in range(40):
            running.correct(text="oil", accept=["energy"], user=f"user {number}")
            running.correct(text="oil", accept=["energy"], user="user 3")
        stats = running.get("/v1/stats")
        assert len(running.service.served.stats._users) == 20
    assert (stats["corrections"], stats["users"]["user 3"], len(stats["users"])) == (80, 41, 5)
    assert stats["other_users"] == 80 - sum(stats["users"].values()) > 0


REQUESTS = {
    "mistakes of a category": ("GET", "/v1/categories/energy", None),
    "the queue": ("GET", "/v1/queue", None),
    "one correction": ("POST", "/v1/corrections", {"id": "b", "document": "d", "accept": ["energy"]}),
    "an undo": ("DELETE", "/v1/corrections/a", None),
    "the last corrections": ("GET", "/v1/corrections?limit=5", None),
    "stats": ("GET", "/v1/stats", None),
}


def plan_of(journal: Journal, statement: str) -> str:
    return "; ".join(row[-1] for row in journal.database.query(f"EXPLAIN QUERY PLAN {statement}"))


@pytest.mark.parametrize("name", REQUESTS)
def test_no_request_reads_the_whole_journal(tmp_path: Path, name: str) -> None:
    method, path, body = REQUESTS[name]
    statements: list[str] = []
    with served(new_model(tmp_path)) as running:
        running.post("/v1/documents", {"documents": [{"id": "d", "text": "a plank"}, {"id": "e", "text": "a plank!"}]})
        running.post("/v1/corrections", {"id": "a", "document": "d", "accept": ["metals"]}, status=201)
        journal = running.service.served.journaled_model.journal
        running.service.write(lambda: journal.database._connection.set_trace_callback(statements.append)).result()
        assert running.client().request(method, path, json=body).status_code in (200, 201)
        running.service.write(lambda: journal.database._connection.set_trace_callback(None)).result()
        looked = [one for one in statements if one.startswith(("SELECT", "UPDATE", "DELETE"))]
        plans = {one: running.service.write(partial(plan_of, journal, one)).result() for one in looked}
    assert looked or name == "stats"
    scanned = {
        one: plan for one, plan in plans.items() if re.search(r"SCAN (records|effects|mistakes|documents)", plan)
    }
    assert [one for one in scanned if "LIMIT" not in one] == []
