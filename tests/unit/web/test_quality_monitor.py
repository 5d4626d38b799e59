"""The measurements of a served model: on held-out documents that nobody taught, and never another model's."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.corpora import made_up
from support.served import Served, holdout, new_model, served
from thresher import Categorizer
from thresher.datasets.document import Document
from thresher.errors import JournalFullError
from thresher.evaluation import evaluate
from thresher.journal.category_history import CategoryHistory
from thresher.journal.facts import Facts
from thresher.journal.journal import Journal
from thresher.journal.journaled_model import JournaledModel
from thresher.web import alarm, quality
from thresher.web.quality_monitor import QualityMonitor


class Held:
    """A function whose first call waits until it is released; later calls go through at once."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.begun, self.released = threading.Event(), threading.Event()

    def __call__(self, *given: Any, **options: Any) -> Any:
        if not self.begun.is_set():
            self.begun.set()
            assert self.released.wait(30)
        return self.function(*given, **options)


def test_stats_are_answered_while_the_first_measurement_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean F1 is what a measurement computes last, so the rest of it is known by then."""
    held = Held(quality.Quality.macro_f1.fget)  # type: ignore[attr-defined]
    monkeypatch.setattr(quality.Quality, "macro_f1", property(lambda self: held(self)))
    with served(new_model(tmp_path), holdout=holdout()) as running:
        running.service.served.monitor._executor.submit(held.begun.set)  # the measurement is over, or held
        assert held.begun.wait(30)
        try:
            found = running.get("/v1/stats")["holdout"]
        finally:
            held.released.set()
    assert found["best_macro_f1"] == found["macro_f1"] > 0.5


def test_a_measurement_under_way_during_a_reload_is_not_taken_for_the_new_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both models are at position 0 of their journals."""
    held = Held(evaluate)
    monkeypatch.setattr("thresher.web.quality.evaluate", held)
    model = new_model(tmp_path)
    with served(model, holdout=holdout()) as running:
        assert held.begun.wait(30)
        Categorizer(min_count=1).fit(["a plank", "a hive"] * 3, ["wood", "bees"] * 3).save(model)
        running.post("/v1/model/reload", {"new_journal": True})
        held.released.set()
        running.service.served.monitor._executor.submit(int).result(30)  # both measurements are done
        found = running.get("/v1/categories/wood")
        assert found["measured_on"]["held_out"] is True
        assert running.get("/v1/stats")["holdout"]["alarm"] is False


# -- held-out documents that are taught --------------------------------------------------------------------------------


def measured(running: Served) -> tuple[int, int]:
    """Return how many held-out documents are measured on, and how many were taught; both routes must agree."""
    on, found = running.get("/v1/categories")["measured_on"], running.get("/v1/stats")["holdout"]
    assert on["held_out"] is True
    assert (on["documents"], on["taught"]) == (found["documents"], found["taught"])
    return on["documents"], on["taught"]


def teach(running: Served, documents: list[Document]) -> list[str]:
    """Teach documents with their own categories; returns the ids of the corrections."""
    return [running.correct(text=one.content, categories=list(one.categories))["id"] for one in documents]


def test_a_taught_held_out_document_is_not_measured(tmp_path: Path) -> None:
    documents = holdout()
    with served(new_model(tmp_path), holdout=documents) as running:
        assert measured(running) == (80, 0)
        teach(running, documents[:30])
        assert measured(running) == (50, 30)
        expected = quality.measure(running.service.served.view, 0, documents[30:])
        found = running.get("/v1/stats")["holdout"]
        assert found["macro_f1"] == expected.macro_f1
        assert found["micro_f1"] == expected.evaluation.counts().micro().f1
        rows = {row["name"]: row["f1"] for row in running.get("/v1/categories")["categories"]}
        assert rows == {name: row["f1"] if row["positives"] else None for name, row in expected.rows.items()}


def test_taught_documents_stay_excluded_after_a_restart_and_when_forgotten(tmp_path: Path) -> None:
    documents, model = holdout(), new_model(tmp_path)
    with served(model, holdout=documents) as running:
        teach(running, documents[:30])
        before = running.get("/v1/stats")["holdout"]["macro_f1"]
    with Journal(f"{model}.journal") as journal:
        journal.forget_text(1)
    with served(model, holdout=documents) as running:
        assert measured(running) == (50, 30)
        assert running.get("/v1/stats")["holdout"]["macro_f1"] == before


def test_undo_includes_a_document_in_the_measurement_again(tmp_path: Path) -> None:
    documents = holdout()
    with served(new_model(tmp_path), holdout=documents) as running:
        before = running.get("/v1/stats")["holdout"]
        first, second, third = teach(running, [documents[0], documents[1], documents[0]])
        assert measured(running) == (78, 2)
        for id, left in ((first, 78), (second, 79), (third, 80)):
            assert running.client().delete(f"/v1/corrections/{id}").status_code == 200
            assert measured(running) == (left, 80 - left)
        assert running.get("/v1/stats")["holdout"] == before


def test_a_held_out_document_with_fields_is_recognized_as_fields_and_as_one_text(tmp_path: Path) -> None:
    """The words of a subject are marked, so the two have different features."""
    fields = {"subject": "crude oil", "body": "barrels of gold"}
    model, text = new_model(tmp_path), "crude oil\nbarrels of gold"
    documents = [Document(text, ("energy",), fields=fields), *holdout(20)]
    with served(model, holdout=documents) as running:
        for taught in (fields, text):
            id = running.correct(text=taught, accept=["energy"])["id"]
            assert measured(running) == (20, 1)
            assert running.client().delete(f"/v1/corrections/{id}").status_code == 200
            assert measured(running) == (21, 0)


def test_nothing_is_measured_when_every_held_out_document_is_taught(tmp_path: Path) -> None:
    documents = holdout(6)
    with served(new_model(tmp_path), holdout=documents) as running:
        teach(running, documents)
        assert running.get("/v1/stats")["holdout"] == {
            "documents": 0, "taught": 6, "macro_f1": None, "micro_f1": None, "best_macro_f1": None, "alarm": False
        }  # fmt: skip
        assert measured(running) == (0, 6)
        assert {row["f1"] for row in running.get("/v1/categories")["categories"]} == {None}
        assert running.get("/v1/categories/energy")["curve"] == []


def test_no_alarm_is_raised_when_difficult_documents_are_measured_again(tmp_path: Path) -> None:
    """What is compared is of the same documents, though F1 on those that were left in between was higher."""
    wrong = {"energy": "grain", "grain": "metals", "metals": "ships", "ships": "energy"}
    easy = [one for one in holdout(80) if one.categories and one.categories[0] in wrong]
    difficult = [one._replace(categories=(wrong[one.categories[0]],)) for one in easy[:30]]
    with served(new_model(tmp_path), holdout=difficult + easy[30:]) as running:
        before = running.get("/v1/stats")["holdout"]
        told = [running.categorize(text=one.text)["categories"] for one in difficult]
        ids = [
            running.correct(text=one.text, categories=[entry["category"] for entry in said])["id"]
            for one, said in zip(difficult, told, strict=True)
        ]
        running.service.served.monitor._executor.submit(int).result(30)
        between = running.get("/v1/stats")["holdout"]
        assert between["macro_f1"] > before["macro_f1"] + 0.1
        for id in ids:
            assert running.client().delete(f"/v1/corrections/{id}").status_code == 200
        after = running.get("/v1/stats")["holdout"]
    assert after["macro_f1"] == before["macro_f1"]
    assert (after["best_macro_f1"], after["alarm"]) == (before["macro_f1"], False)


# -- the alarm ---------------------------------------------------------------------------------------------------------


def raise_alarm(running: Served) -> dict[str, Any]:
    """Teach what is wrong until the alarm is raised; returns what the measures are then."""
    for i, text in enumerate(made_up(60, seed=1).texts):
        running.correct(text=f"{text} {i}", categories=[["grain", "ships", "money"][i % 3]])
        if i == 0:
            running.service.served.monitor._executor.submit(int).result(30)
    found: dict[str, Any] = running.get("/v1/stats")["holdout"]
    assert found["alarm"] is True
    return found


def test_a_restart_does_not_clear_the_alarm(tmp_path: Path) -> None:
    documents, model = holdout(), new_model(tmp_path)
    with served(model, holdout=documents) as running:
        before = raise_alarm(running)
    for _ in range(2):
        with served(model, holdout=documents) as running:
            assert running.get("/v1/stats")["holdout"] == before
            running.service.served.monitor._executor.submit(int).result(30)


def test_a_restart_after_a_kill_does_not_clear_the_alarm(tmp_path: Path) -> None:
    documents, model = holdout(), new_model(tmp_path)
    with served(model, holdout=documents) as running:
        before = raise_alarm(running)
        copy = Path(f"{model}.journal", running.post("/v1/backup", {})["folder"])  # as the journal is now, not closed
        with served(model, holdout=documents, opened=lambda: JournaledModel(model, copy)) as again:
            assert again.get("/v1/stats")["holdout"] == before


def test_the_alarm_begins_again_with_other_held_out_documents(tmp_path: Path) -> None:
    documents, model = holdout(), new_model(tmp_path)
    with served(model, holdout=documents) as running:
        before = raise_alarm(running)
    for others in (documents[:70], [one._replace(categories=("grain",)) for one in documents]):
        with served(model, holdout=others) as running:
            found = running.get("/v1/stats")["holdout"]
            assert (found["alarm"], found["best_macro_f1"]) == (False, found["macro_f1"])
            assert found["macro_f1"] != before["macro_f1"]


def test_unreadable_past_decisions_are_ignored(tmp_path: Path) -> None:
    documents, model = holdout(), new_model(tmp_path)
    with served(model, holdout=documents) as running:
        raise_alarm(running)
    with Journal(f"{model}.journal") as journal:
        kept = json.loads(journal.facts.get("watched") or "")
    first = kept["decisions"][0]
    damaged = ["", "[]", "nonsense", json.dumps(kept | {"decisions": [[0, 6, "not packed"]]})]
    damaged += [json.dumps(kept | {"decisions": [[first[0], size, first[2]]]}) for size in (-6, 10**9, 10**30)]
    for value in damaged:
        with Journal(f"{model}.journal") as journal:
            journal.facts.set("watched", value)
        with served(model, holdout=documents) as running:
            found = running.get("/v1/stats")["holdout"]
            assert (found["alarm"], found["best_macro_f1"]) == (False, found["macro_f1"])


def test_a_full_disk_does_not_fail_a_correction_that_was_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Journal, name: str, value: str) -> None:
        raise JournalFullError("no space left")

    with served(new_model(tmp_path), holdout=holdout()) as running:
        running.service.served.monitor._executor.submit(int).result(30)
        with monkeypatch.context() as patched:
            patched.setattr(Facts, "set", full)
            running.correct(text="crude oil", accept=["energy"])
        running.correct(text="crude oil", accept=["energy"])
        assert (
            running.service.write(lambda: running.service.served.journaled_model.journal.facts.get("watched")).result(
                30
            )
            is not None
        )


def test_past_decisions_are_unpacked_once_for_the_same_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[int] = []
    macro_f1 = alarm.Decisions.macro_f1

    def counted(self: alarm.Decisions, documents: int, left: Any) -> float:
        unpacked.append(self.position)
        return macro_f1(self, documents, left)

    monkeypatch.setattr(alarm.Decisions, "macro_f1", counted)
    with served(new_model(tmp_path), holdout=holdout()) as running:
        running.service.served.monitor._executor.submit(int).result(30)
        found = [running.get("/v1/stats")["holdout"] for _ in range(3)]
        assert (unpacked, found[1:]) == ([0], found[:1] * 2)
        teach(running, holdout()[:2])  # other documents are left
        found = [running.get("/v1/stats")["holdout"] for _ in range(3)]
        assert (unpacked, found[1:]) == ([0, 0], found[:1] * 2)


def test_a_model_that_is_published_after_the_end_is_not_measured(tmp_path: Path) -> None:
    monitor = QualityMonitor(holdout())
    with JournaledModel(new_model(tmp_path)) as desk:
        monitor.start(desk.model, desk.journal)
        monitor.stop()
        shown = monitor.publish(desk.model.view(), 0, CategoryHistory.read(desk.journal))
    assert shown.measures.last is None
