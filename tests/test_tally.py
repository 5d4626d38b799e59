"""The counts of corrections: the same when they are kept up to date as when they are read from the journal."""

import random
from pathlib import Path

import pytest

from served import Served, new_model, served
from thresher.journal_schema import DOCUMENT
from thresher.renames import Renames
from thresher.web import tally as tallies
from thresher.web.tally import Tally

NAMES = ["grain", "metals", "energy", "ships", "bees", "wasps"]


def check_counts(running: Served) -> None:
    """Hold the counts against those of a service that has just started."""
    service = running.service

    def read() -> tuple[Tally, Renames]:
        service.desk.keep_effects()
        renames = Renames.of(service.desk.journal)
        return Tally(service.desk, renames), renames

    fresh, renames = service.write(read).result()
    assert service.tally.summary() == fresh.summary()
    assert +service.tally.named == +fresh.named
    assert service.renames._changes == renames._changes


def random_step(running: Served, draw: random.Random, ids: list[str]) -> None:
    known = running.service.view.categories
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
def test_counts_that_are_kept_up_to_date_are_those_of_the_journal(tmp_path: Path, seed: int) -> None:
    draw, ids = random.Random(seed), list[str]()
    with served(new_model(tmp_path)) as running:
        for step in range(80):
            random_step(running, draw, ids)
            if step % 8 == 0:
                check_counts(running)
        check_counts(running)


def test_of_very_many_names_only_the_most_frequent_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "MAX_USERS", 20)
    monkeypatch.setattr(tallies, "SHOWN_USERS", 5)
    with served(new_model(tmp_path)) as running:
        for number in range(40):
            running.correct(text="oil", accept=["energy"], user=f"user {number}")
            running.correct(text="oil", accept=["energy"], user="user 3")
        stats = running.get("/v1/stats")
        assert len(running.service.tally._users) == 20
    assert (stats["corrections"], stats["users"]["user 3"], len(stats["users"])) == (80, 41, 5)
    assert stats["other_users"] == 80 - sum(stats["users"].values()) > 0


def test_looking_up_mistakes_searches_no_record(tmp_path: Path) -> None:
    with served(new_model(tmp_path)) as running:
        running.correct(text="oil", accept=["energy"])
        journal = running.service.desk.journal
        queries = {
            "SELECT seq FROM mistakes WHERE category IN ('a', 'b')": "mistakes USING PRIMARY KEY",
            "SELECT 1 FROM records WHERE kind IN ('undo', 'skip') AND seq > 5": "by_kind",
            f"SELECT 1 FROM records WHERE {DOCUMENT} = 'd'": "by_document",
        }
        for query, index in queries.items():
            plan = running.service.write(lambda query=query: journal.query(f"EXPLAIN QUERY PLAN {query}")).result()  # type: ignore[misc]
            assert any(index in str(row[-1]) for row in plan), plan
            assert not any("SCAN" in str(row[-1]) for row in plan), plan
