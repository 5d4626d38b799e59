"""What the service tells of its model and journal, and what it does when something is in the way."""

import errno
import json
import socket
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from support.served import (
    SHARED,
    Served,
    check_problem,
    from_lines,
    holdout,
    known,
    names,
    new_model,
    request,
    served,
)
from thresher import Categorizer, __version__
from thresher.errors import JournalBrokenError, JournalError, JournalMemoryError
from thresher.journal.journaled_model import JournaledModel, journal_folder

# -- the model and its journal -----------------------------------------------------------------------------------------


def test_the_model_shows_its_settings_and_the_user(service: Served) -> None:
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


def test_reload_loads_another_model(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("dies_at", ["mkdtemp", "rename", "open"])
def test_documents_to_review_outlive_a_reload_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: str
) -> None:
    def die(*given: object, **_: object) -> None:
        if dies_at != "open" or given == (journal_folder(model), model):
            raise JournalBrokenError("killed")

    model = new_model(tmp_path)
    with served(model, fails=JournalBrokenError) as running:
        running.post("/v1/documents", {"documents": [{"id": "d", "text": "a plank"}, {"id": "e", "text": "a nail"}]})
        running.correct(document="e", accept=["metals"])
        Categorizer(min_count=1).fit(["a plank", "a hive"] * 3, ["wood", "bees"] * 3).save(model)
        with monkeypatch.context() as patch:
            renamed, opened = "pathlib.Path.rename", "thresher.journal.journaled_model.take_prepared"
            names = {"mkdtemp": "tempfile.mkdtemp", "rename": renamed, "open": opened}
            patch.setattr(names[dies_at], die)
            running.client().post("/v1/model/reload", json={"new_journal": True})
    if dies_at != "open":  # the old journal is still there, and no journal of this model
        with pytest.raises(JournalError, match="this is not the model of"):
            JournaledModel(model)
        journal_folder(model).rename(tmp_path / "aside")
    with served(model) as running:
        assert running.get("/v1/queue")["total"] == 1
        assert running.get("/v1/documents/d")["text"] == "a plank"
        assert known(running) == ["bees", "wood"]


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
    with JournaledModel(fresh.model, tmp_path / "copy") as desk:
        assert (desk.model.digest(), desk.position) == (digest, 1)


def test_a_full_disk_refuses_a_backup_too(fresh: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    fresh.correct(text="plank", accept=["metals"])
    with monkeypatch.context() as patch:
        patch.setattr("thresher.journal.snapshots.shutil.copyfileobj", full)
        check_problem(fresh.client().post("/v1/backup", json={}), 507)
    assert not list(journal_folder(fresh.model).glob("*backup-*"))
    fresh.post("/v1/backup", {})


def test_a_missing_model_file_is_not_loaded(fresh: Served) -> None:
    fresh.model.rename(fresh.model.with_name("elsewhere"))
    told = check_problem(fresh.client().post("/v1/model/reload", json={}), 409)
    assert told["detail"] == "the model's file cannot be read: no such file or directory"
    fresh.correct(text="plank", accept=["metals"])


def test_metrics_count_answers_by_route_and_status(fresh: Served) -> None:
    fresh.correct(text="plank", accept=["metals"])
    fresh.client().get("/v1/categories/one"), fresh.client().get("/v1/categories/two"), fresh.client().get("/nothing")
    found = fresh.client().get("/metrics")
    assert found.headers["content-type"].startswith("text/plain")
    lines = found.text.splitlines()
    assert 'thresher_requests_total{route="/v1/corrections",status="201"} 1.0' in lines
    assert 'thresher_requests_total{route="/v1/categories/{name:path}",status="404"} 2.0' in lines
    assert 'thresher_requests_total{route="other",status="404"} 1.0' in lines
    assert {"thresher_position 1.0", "thresher_corrections 1.0", "thresher_ready 1.0"} <= set(lines)
    assert 'thresher_request_seconds_bucket{le="+Inf",route="/v1/corrections"} 1.0' in lines


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


def test_the_service_is_alive_but_not_ready_during_replay(tmp_path: Path) -> None:
    model, may_go_on = new_model(tmp_path), threading.Event()

    def opened() -> JournaledModel:
        assert may_go_on.wait(30)
        return JournaledModel(model)

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
        assert "thresher_ready 0.0" in client.get("/metrics").text
        may_go_on.set()
        running.service.opening.result(30)
        assert client.get("/readyz").json() == {"status": "ready"}
        running.correct(text="oil", accept=["energy"])


def test_requests_during_shutdown_are_refused_for_now(fresh: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(fresh.service, "state", "ending")
        found = fresh.client().post("/v1/corrections", json={"id": "a", "text": "oil", "accept": ["energy"]})
        for one in (found, fresh.client().get("/readyz")):
            check_problem(one, 503)
            assert one.headers["Retry-After"] == "1"
    assert fresh.last == 0


def test_a_deleted_model_file_changes_nothing_and_is_written_again(tmp_path: Path) -> None:
    model = new_model(tmp_path)
    with served(model) as running:
        before = running.categorize(text="crude oil")
        model.unlink()
        assert running.categorize(text="crude oil") == before
        running.correct(text="plank", accept=["metals"])
        digest = running.digest
    assert Categorizer.load(model).digest() == digest


def test_a_full_disk_refuses_a_correction_and_nothing_is_learned(fresh: Served) -> None:
    def limit_pages(pages: int) -> None:
        database = fresh.service.served.journaled_model.journal.database
        fresh.service.write(lambda: database.query(f"PRAGMA max_page_count={pages}")).result(10)

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

        monkeypatch.setattr(running.service.served.journaled_model.journal, "append", broken)
        found = running.client().post("/v1/corrections", json={"id": "a", "text": "oil", "accept": ["energy"]})
        assert "secret" not in check_problem(found, 503)["detail"]
        assert running.service.state == "broken"


def without_memory(*_: object, **__: object) -> None:
    raise MemoryError


def test_requests_that_do_not_fit_into_memory_are_refused_for_now(
    fresh: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fresh.digest, fresh.last
    with monkeypatch.context() as patch:
        patch.setattr("thresher.web.serializers.predict_texts", without_memory)
        long = fresh.client().post("/v1/categorize", json={"text": "oil " * 2000})
        assert "not enough memory" in check_problem(long, 503)["detail"]
        assert long.headers["Retry-After"] == "1"
        lines = fresh.client().post(
            "/v1/categorize", content=b'{"text": "oil"}\n', headers={"Content-Type": "application/x-ndjson"}
        )
        check_problem(lines, 503)
    with monkeypatch.context() as patch:
        patch.setattr("thresher.web.routes.shared.request_models.parse", without_memory)
        found = fresh.client().post("/v1/categorize", json={"text": "oil"})
    check_problem(found, 503)
    with monkeypatch.context() as patch:
        patch.setattr("thresher.web.guards._limit_body", without_memory)
        found = fresh.client().post("/v1/categorize", json={"text": "oil"})
    check_problem(found, 503)
    with monkeypatch.context() as patch:
        patch.setattr("thresher.journal.prepared_correction.digest_features", without_memory)
        problem = fresh.correct(text="oil", accept=["energy"], status=503)
        assert "not enough memory" in problem["detail"]
    assert (fresh.digest, fresh.last) == before
    fresh.correct(text="oil", accept=["energy"])


def test_a_recorded_correction_without_memory_to_learn_it_ends_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = new_model(tmp_path)
    with served(path, fails=JournalMemoryError) as running:
        with monkeypatch.context() as patch:
            patch.setattr("thresher.journal.replay.apply", without_memory)
            running.correct(text="oil", accept=["energy"], status=503)
        running.correct(text="oil", accept=["energy"], status=503)
    with JournaledModel(path) as again:
        assert (again.position, again.remarks) == (1, [])


def test_a_waiting_client_is_answered_even_without_memory_to_inspect_the_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(new_model(tmp_path), fails=MemoryError) as running:
        monkeypatch.setattr("thresher.journal.replay.apply", without_memory)
        monkeypatch.setattr(JournaledModel, "is_stuck", without_memory)
        running.correct(text="oil", accept=["energy"], status=503)
        monkeypatch.undo()
        with suppress(httpx.TransportError):  # the service may have ended by now
            running.correct(text="oil", accept=["energy"], status=503)


def test_a_snapshot_that_does_not_fit_on_the_disk_is_logged(
    fresh: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("thresher.journal.journaled_model.SNAPSHOT_EVERY", 1)
    with monkeypatch.context() as patch:
        patch.setattr(Categorizer, "save", full)
        fresh.correct(text="oil", accept=["energy"])
    fresh.correct(text="gas", accept=["energy"])
    told = [record.message for record in caplog.records if "snapshot" in record.message]
    assert told == ["[Errno 28] No space left on device (a snapshot could not be written; nothing is lost)"]


def test_short_and_long_lists_are_encoded_as_the_same_json(fresh: Served) -> None:
    texts = [f"crude oil {number} wheat" for number in range(120)]
    many = fresh.categorize(documents=texts)["documents"]
    assert many == [fresh.categorize(text=text, id=str(i)) for i, text in enumerate(texts, 1)]
    explained = fresh.categorize(documents=texts[:60], explain=True)["documents"]
    assert [one["categories"] for one in explained] == [one["categories"] for one in many[:60]]


def test_a_full_queue_of_writes_refuses_for_now(fresh: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh.service._writer, "max_waiting", 3)
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


def test_without_configured_tokens_every_request_is_allowed(tmp_path: Path) -> None:
    with served(new_model(tmp_path), holders=None) as running:
        running.correct(text="plank", accept=["metals"], user="ada")
        assert running.get("/v1/model")["role"] == "admin"
        assert SHARED not in running.client().headers.get("Authorization", "")
