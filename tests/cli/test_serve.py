"""The verb serve as a process: its arguments, its messages, and how it ends."""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.command_line import COMMAND, Run, said, thresher
from support.corpora import WORDS, Corpus, made_up
from support.served import Started, new_model, served, started
from thresher import Categorizer
from thresher.datasets.document import Document
from thresher.errors import JournalFullError, RepeatedIdError
from thresher.journal.database import ADDRESS
from thresher.journal.journal import Journal
from thresher.journal.journaled_model import JournaledModel, journal_folder
from thresher.web.server import announce

SEEDS = "energy=crude oil barrel,grain=wheat corn harvest,metals"


def as_csv(path: Path, corpus: Corpus, labelled: bool = True) -> Path:
    lines = ["id,text,categories" if labelled else "id,text"]
    for i, (text, names) in enumerate(zip(corpus.texts, corpus.categories, strict=True)):
        lines.append(f"d{i},{text},{'|'.join(names)}" if labelled else f"d{i},{text}")
    path.write_text("\n".join(lines) + "\n")
    return path


def found(started: Started, path: str, **query: Any) -> Any:
    answer = started.client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def taught(started: Started, **body: Any) -> Any:
    answer = started.client.post("/v1/corrections", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def names(started: Started, text: str) -> list[str]:
    answer = started.client.post("/v1/categorize", json={"text": text})
    assert answer.status_code == 200, answer.text
    return [entry["category"] for entry in answer.json()["categories"]]


# -- what it serves ----------------------------------------------------------------------------------------------------


def test_the_demo_needs_no_files_and_keeps_its_state(tmp_path: Path) -> None:
    with started("--demo", XDG_DATA_HOME=tmp_path) as first:
        assert first.said["position"] == 0
        assert first.client.get("/").text.startswith("<!doctype html>")
        assert found(first, "/v1/categories")["measured_on"]["held_out"] is True
        queue = found(first, "/v1/queue", limit=1)
        assert queue["open"] == queue["total"] > 50
        id = queue["documents"][0]["id"]
        category = found(first, "/v1/categories")["categories"][0]["name"]
        taught(first, id="a", document=id, accept=[category])
        digest = found(first, "/v1/model")["digest"]
    with started("--demo", XDG_DATA_HOME=tmp_path) as second:
        assert second.said["position"] == 1
        assert found(second, "/v1/model")["digest"] == digest
        assert (found(second, "/v1/documents/" + id)["state"], found(second, "/v1/queue")["done"]) == ("done", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["thresher"]


def test_labelled_documents_are_learned_at_the_first_start_only(tmp_path: Path) -> None:
    data = as_csv(tmp_path / "messages.csv", made_up(120))
    held_out = as_csv(tmp_path / "held_out.csv", made_up(40, seed=3))
    with started(data, "--holdout", held_out) as first:
        assert names(first, "crude oil barrel pipeline") == ["energy"]
        assert found(first, "/v1/stats")["holdout"]["documents"] == 40
        taught(first, id="a", text="plank timber", accept=["metals"])
        digest = found(first, "/v1/model")["digest"]
    written = (tmp_path / "messages.thresher").read_bytes()
    with started(data) as second:
        assert (second.said["position"], found(second, "/v1/model")["digest"]) == (1, digest)
        second.process.terminate()
        _, err = second.process.communicate(timeout=20)
    assert "messages.thresher is there already, and is used" in err
    assert (tmp_path / "messages.thresher").read_bytes() == written


def test_unlabelled_texts_are_learned_from_the_first_correction_on(tmp_path: Path) -> None:
    texts = as_csv(tmp_path / "texts.csv", made_up(30, seed=4), labelled=False)
    with started(texts, "--categories", SEEDS) as first:
        assert first.said["position"] == 2  # the two that have seed words
        assert [row["name"] for row in found(first, "/v1/categories")["categories"]] == ["energy", "grain", "metals"]
        assert found(first, "/v1/queue")["open"] == 30
        assert found(first, "/v1/documents/d3")["text"] == made_up(30, seed=4).texts[3]
        assert names(first, "a barrel of crude oil") == ["energy"]
        assert "metals" not in names(first, "gold and silver")
        for i in range(3):
            taught(first, id=f"c{i}", text="gold and silver", accept=["metals"], reject=["energy", "grain"])
        assert names(first, "gold and silver") == ["metals"]
        digest = found(first, "/v1/model")["digest"]
    with started(texts, "--categories", SEEDS) as second:
        assert (found(second, "/v1/model")["digest"], found(second, "/v1/queue")["open"]) == (digest, 30)


def test_categories_without_seed_words_start_untrained(tmp_path: Path) -> None:
    texts = as_csv(tmp_path / "texts.csv", made_up(5), labelled=False)
    with started(texts, "--categories", "bill, noise,road") as running:
        assert names(running, "anything at all") == []
        assert len(found(running, "/v1/queue")["documents"]) == 5
        taught(running, id="a", text="the neighbours are loud", categories=["noise"])
        assert names(running, "the neighbours are loud") == ["noise"]


# -- what it says and leaves behind ------------------------------------------------------------------------------------


def test_the_address_file_is_private_even_if_a_public_one_existed(tmp_path: Path) -> None:
    (tmp_path / ADDRESS).touch(mode=0o644)
    with (tmp_path / ADDRESS).open() as opened_before:
        told = announce(tmp_path, "http://127.0.0.1:1", "token")
        assert told.stat().st_mode & 0o777 == 0o600
        assert opened_before.read() == ""


def test_the_token_is_not_written_through_a_link(tmp_path: Path) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "journal"
    precious.write_text("kept")
    folder.mkdir()
    for target in (precious, tmp_path / "nowhere"):
        (folder / ADDRESS).unlink(missing_ok=True)
        (folder / ADDRESS).symlink_to(target)
        told = announce(folder, "http://127.0.0.1:1", "token")
        assert not told.is_symlink()
        assert json.loads(told.read_text())["token"] == "token"
    assert (precious.read_text(), (tmp_path / "nowhere").exists()) == ("kept", False)
    assert list(folder.iterdir()) == [folder / ADDRESS]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_the_token_is_private_even_if_another_user_made_the_file(tmp_path: Path) -> None:
    (tmp_path / ADDRESS).touch()
    os.chown(tmp_path / ADDRESS, 65534, 65534)
    told = announce(tmp_path, "http://127.0.0.1:1", "token")
    assert (told.stat().st_uid, told.stat().st_mode & 0o777) == (os.geteuid(), 0o600)


def test_the_address_is_printed_with_its_token(tmp_path: Path) -> None:
    model = new_model(tmp_path)
    command = [*COMMAND, "serve", str(model), "--port", "0", "--no-json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            url, token = re.search(r"(http://127\.0\.0\.1:\d+)/#token=(\S{32,})", line).groups()  # type: ignore[union-attr]
            told = journal_folder(model) / "service.json"
            assert json.loads(told.read_text()) == {"url": url, "token": token, "pid": process.pid}
            assert told.stat().st_mode & 0o077 == 0
            headers = {"Authorization": f"Bearer {token}"}
            assert httpx.get(f"{url}/v1/model", headers=headers, trust_env=False).json()["role"] == "admin"
            assert httpx.get(f"{url}/v1/model", trust_env=False).status_code == 401
            process.send_signal(signal.SIGINT)
            assert process.wait(20) in (0, 130)
        finally:
            process.kill()
    assert not told.exists()


def test_a_service_that_cannot_print_its_address_ends(tmp_path: Path) -> None:
    model = new_model(tmp_path)
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*COMMAND, "serve", str(model), "--port", "0"], stdout=full, stderr=subprocess.PIPE, timeout=300
        )
    assert (ended.returncode, ended.stderr) == (74, b"thresher: standard output: No space left on device\n")
    assert not (journal_folder(model) / ADDRESS).exists()


def test_too_many_documents_are_reported(called: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.web.review_documents.MAX_DOCUMENTS", 2)
    (tmp_path / "texts.csv").write_text("text\none\ntwo\nthree\n")
    ended = called("serve", tmp_path / "texts.csv", "--categories", "a=one,b=two", "--port", "0")
    said(ended, 65, "there is room for 2 documents to review, and 500 MB of them (review or delete some first)")


def test_the_token_may_come_from_the_environment_or_a_file(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text('[ada]\nrole = "teacher"\ntoken = "token-of-ada"\n')
    tokens.chmod(0o600)
    with started(new_model(tmp_path), "--tokens", tokens, THRESHER_TOKEN="from-the-environment") as running:
        assert running.said["token"] == "from-the-environment"
        assert found(running, "/v1/model")["role"] == "admin"
        ada = {"Authorization": "Bearer token-of-ada"}
        assert running.client.get("/v1/model", headers=ada).json()["user"] == "ada"
        assert running.client.get("/v1/export", headers=ada).status_code == 403


def test_no_shared_token_is_printed_with_a_file_of_tokens(called: Run, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text('[ada]\nrole = "teacher"\ntoken = "token-of-ada"\n')
    tokens.chmod(0o600)
    model = new_model(tmp_path)
    with started(model, "--tokens", tokens) as running:
        assert running.said["token"] is None
        assert running.client.get("/v1/model").status_code == 401
        ended = called("journal", "backup", model, tmp_path / "copy")  # which finds the one in the journal's folder
        assert (ended.code, (tmp_path / "copy" / "journal.sqlite3").exists()) == (0, True)


def test_without_tokens_only_this_machine_is_answered(tmp_path: Path) -> None:
    with started(new_model(tmp_path), "--no-auth") as running:
        assert running.said["token"] is None
        assert found(running, "/v1/model")["role"] == "admin"
        assert running.client.get("/v1/model", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.slow
def test_a_second_service_is_refused_and_predict_still_works(tmp_path: Path) -> None:
    model = new_model(tmp_path)
    data = as_csv(tmp_path / "more.csv", made_up(3))
    with started(model) as running:
        taught(running, id="a", text="plank", accept=["metals"])
        number = f"process {running.process.pid} has the journal"
        for verb in (
            ("serve", model, "--port", "0"),
            ("learn", model, data),
            ("undo", model),
            ("journal", "export", model),
        ):
            said(thresher(*verb), 75, number)
        assert thresher("predict", model, data).code == 0
        ended = thresher("journal", "backup", model, tmp_path / "copy", "--json")
        assert json.loads(ended.out) == {"records": 1, "folder": str(tmp_path / "copy")}
        digest = found(running, "/v1/model")["digest"]
    with JournaledModel(model, tmp_path / "copy") as desk:
        assert desk.model.digest() == digest


# -- what it refuses ---------------------------------------------------------------------------------------------------


def test_contradictory_options_are_reported_in_one_line(called: Run, tmp_path: Path) -> None:
    model = new_model(tmp_path)
    texts = as_csv(tmp_path / "texts.csv", made_up(5), labelled=False)
    for arguments, code, *parts in (
        ((), 2, "serve takes a model, documents or --demo: one of these"),
        ((model, "--demo"), 2, "one of these"),
        ((model, "--host", "0.0.0.0", "--no-auth"), 2, "would let everyone in"),
        ((model, "--host", "::", "--no-auth"), 2, "would let everyone in"),
        ((model, "--host", "192.168.0.1", "--no-auth"), 2, "would let everyone in"),
        ((model, "--no-auth", "--token", "a-long-token"), 2, "--no-auth needs no token"),
        ((model, "--port", "65536"), 2, "allowed: 0 to 65535"),
        ((model, "--port", "-1"), 2, "--port"),
        ((model, "--port", "http"), 2, "--port"),
        ((model, "--rate-limit", "fast"), 2, "--rate-limit"),
        ((model, "--token", "short"), 2, "8 or more"),
        ((model, "--token", "with a blank"), 2, "without spaces"),
        ((model, "--port", "0", "--categories", "a,b"), 2, "--categories is for texts without a model"),
        ((model, "--workers", "2"), 2, "--workers"),
        ((model, "more"), 2, "more"),
        ((model, "--host", "unheardof.invalid", "--port", "0"), 74, "unheardof.invalid"),
        ((model, "--host", "\udcff", "--port", "0"), 74, "\\udcff:0", "choose another"),
        ((model, "--host", "192.0.2.1", "--port", "0"), 74, "192.0.2.1:0", "choose another"),
        ((tmp_path / "none.thresher", "--port", "0"), 66, "none.thresher"),
        ((tmp_path / "none.csv", "--port", "0"), 66, "none.csv"),
        ((texts, "--port", "0"), 65, "categories"),
        ((texts, "--port", "0", "--categories", "a=...,b"), 2, "seed words of a"),
        ((texts, "--port", "0", "--categories", ","), 65, "is not a valid name"),
        ((model, "--port", "0", "--holdout", texts), 65, "categories"),
        ((model, "--port", "0", "--holdout", tmp_path / "none.csv"), 66, "none.csv"),
    ):
        said(called("serve", *arguments), code, *parts)
    assert {path.name for path in tmp_path.iterdir()} <= {"desk.thresher", "desk.thresher.journal", "texts.csv"}
    assert not journal_folder(model).exists() or not list(journal_folder(model).glob("service.json"))


def test_a_file_that_is_not_a_model_is_reported(called: Run, tmp_path: Path) -> None:
    path = tmp_path / "desk.thresher"
    path.write_bytes(b"\x80\x04cposix\nsystem\n")
    said(called("serve", path, "--port", "0"), 65, "desk.thresher")


def test_a_port_in_use_is_reported_before_anything_is_learned(called: Run, tmp_path: Path) -> None:
    data = as_csv(tmp_path / "messages.csv", made_up(20))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said(called("serve", data, "--port", port), 74, f"127.0.0.1:{port}", "in use", "choose another with")
    assert not (tmp_path / "messages.thresher").exists()


def test_a_missing_journal_is_not_replaced_silently(called: Run, tmp_path: Path) -> None:
    model = new_model(tmp_path)
    data = tmp_path / "corrections.jsonl"
    data.write_text(json.dumps({"text": "plank", "accept": ["metals"]}))
    assert called("learn", model, data).code == 0
    shutil.rmtree(journal_folder(model))
    said(called("serve", model, "--port", "0"), 65, "its journal is missing", "--new-journal begins a new one")
    assert not journal_folder(model).exists()
    with started(model, "--new-journal") as running:
        assert running.said["position"] == 0


def test_the_journal_of_another_model_is_refused(called: Run, tmp_path: Path) -> None:
    model = new_model(tmp_path)
    with JournaledModel(model, new=True) as desk:
        desk.correct("a", "plank", accept=["metals"])
    Categorizer(min_count=1).fit(["a plank", "a hive"] * 3, ["wood", "bees"] * 3).save(model)
    said(called("serve", model, "--port", "0"), 65, "this is not the model of")


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
def test_a_missing_package_is_named_with_its_extra(tmp_path: Path, package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from thresher.cli import main; main()"
    ended = thresher("serve", new_model(tmp_path), command=[sys.executable, "-c", code])
    said(ended, 2, f"{package} is missing", "pip install 'thresher-text[serve]'")


# -- what is undone and forgotten --------------------------------------------------------------------------------------


def test_the_corrections_of_a_hostile_user_raise_an_alarm_and_can_be_undone(called: Run, tmp_path: Path) -> None:
    """A twentieth of the corrections are hostile and of one user; without them all is as if they had never been."""
    (tmp_path / "other").mkdir()
    model, other = new_model(tmp_path), new_model(tmp_path / "other")
    corpus, held_out = made_up(200, seed=9), as_documents(made_up(80, seed=5))
    with served(model, holdout=held_out) as running, JournaledModel(other, new=True) as without:
        assert running.get("/v1/stats")["holdout"]["alarm"] is False
        running.post("/v1/corrections", {"id": "early", "text": "plank", "accept": ["metals"]}, "bob", 201)
        without.correct("early", "plank", accept=["metals"])
        since = datetime.now(UTC).isoformat(timespec="milliseconds")
        for i, (text, right) in enumerate(zip(corpus.texts, corpus.categories, strict=True)):
            if i % 20 == 19:
                hostile = {"id": str(i), "text": WORDS["energy"], "categories": ["grain"]}
                running.post("/v1/corrections", hostile, "bob", 201)
            else:
                running.post("/v1/corrections", {"id": str(i), "text": text, "categories": right}, "ada", 201)
                without.correct(str(i), text, categories=right)
        assert running.get("/v1/stats")["holdout"]["alarm"] is True
        assert running.digest != (never := without.model.digest())
    ended = called("undo", model, "--user", "bob", "--since", since, "--json")
    undone = json.loads(ended.out)
    assert undone["undone"] == [str(i) for i in range(200) if i % 20 == 19]
    assert undone["digest"] == never == Categorizer.load(model).digest()
    with served(model, holdout=held_out) as again:
        assert again.digest == never
        assert again.get("/v1/stats")["users"] == {"ada": 190, "bob": 1}
        assert again.get("/v1/stats")["holdout"]["alarm"] is False


def as_documents(corpus: Corpus) -> list[Document]:
    return [
        Document(id=str(i), text=text, categories=tuple(names))
        for i, (text, names) in enumerate(zip(corpus.texts, corpus.categories, strict=True))
    ]


def test_a_forgotten_text_is_in_no_file_of_the_folder(called: Run, tmp_path: Path) -> None:
    marker = "Zebra7 Quagga9"
    model = new_model(tmp_path)
    with served(model) as running:
        for i in range(20):
            running.correct(text=f"plank {i}", accept=["metals"])
        running.post("/v1/documents", {"documents": [{"id": "d", "text": f"{marker} plank"}]})
        id = running.correct(document="d", accept=["metals"])["id"]
        running.correct(text="nail", accept=["metals"])
        digest = running.digest
    assert in_files(tmp_path, marker)
    assert json.loads(called("journal", "forget", model, id, "--json").out) == {"forgotten": id}
    assert in_files(tmp_path, marker) == []
    assert json.loads(called("journal", "check", model, "--json").out)["digest"] == digest
    for file in journal_folder(model).glob("snapshot-*[1-9]*.thresher"):
        file.unlink()
    with served(model) as again:
        assert again.digest == digest
        assert again.client().get("/v1/documents/d").status_code == 404
        assert marker not in again.client().get("/v1/export").text
        texts = {one["id"]: one["text"] for one in again.get("/v1/corrections", limit=100)["corrections"]}
        assert texts[id] is None
    assert in_files(tmp_path, marker) == []


def test_a_model_trained_into_the_served_file_survives_the_end_of_the_service(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = new_model(tmp_path)
    with served(model) as running:
        running.correct(text="plank", accept=["metals"])
        trained = Categorizer(preset="fast", min_count=1).fit(["one text", "another"], ["a", "b"]).save(model)
    assert Categorizer.load(model).digest() == trained
    assert f"another process wrote model {trained[:12]} here" in caplog.text
    model.unlink()
    with JournaledModel(model) as desk:
        assert desk.position == 1


@pytest.mark.parametrize("error", [JournalFullError("no room"), MemoryError(), OSError(28, "No space left")])
def test_a_service_ends_normally_if_its_model_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> str:
        raise error

    model = new_model(tmp_path)
    with served(model) as running:
        running.correct(text="plank", accept=["metals"])
        monkeypatch.setattr(JournaledModel, "write_model", fail)
    with Journal(journal_folder(model)) as journal:  # which was given up
        assert journal.log.last_seq() == 1
        assert len(list(journal_folder(model).glob("snapshot-*1.thresher"))) == 1


SECRET = "zelda quagmire of lindenweg zwölf told us that jakobine was bitten by the caretakers ocelot"
SECRET_WORDS = ["zelda", "quagmire", "lindenweg", "zwölf", "jakobine", "bitten", "caretakers", "ocelot"]


@pytest.fixture
def desk_with_secret(tmp_path: Path) -> tuple[Path, str]:
    """A desk that knows pairs of words and runs of letters, and was taught a private text among others."""
    texts, names = made_up(120)
    model = tmp_path / "desk.thresher"
    Categorizer(min_count=1, analyser="words+ngrams:2+chars:4-4").fit(texts, names).save(model)
    with served(model) as running:
        running.correct(text="the harbour was closed", accept=["ships"])
        running.post("/v1/documents", {"documents": [{"id": "d", "text": SECRET}, {"id": "e", "text": SECRET}]})
        id = running.correct(document="d", accept=["grain"])["id"]
        running.correct(text="told us that the ships of the harbour came by", accept=["ships"])
    return model, id


def test_the_order_of_features_reveals_nothing_of_a_forgotten_text(
    called: Run, desk_with_secret: tuple[Path, str]
) -> None:
    model, id = desk_with_secret
    ended = called("journal", "forget", model, id, "--no-json")
    assert ended.out == f"Forgot the text of {id}\n"
    assert ended.err.endswith(
        "what was learned from it stays, and most of the text may be read from it (--hard removes it)\n"
    )
    with JournaledModel(model) as desk:
        record = desk.journal.log.find(id)
        assert record is not None
        names = [name for name, _ in record.features or []]
        first = Categorizer.load(journal_folder(model) / "snapshot-0000000000.thresher")
        known = [name for name in names if name in first.state.features.names]
        assert len(known) > 5
        assert known == sorted(known) == names[: len(known)]
        assert desk.compute_replayed_digest() == desk.model.digest()


def test_a_text_that_is_forgotten_hard_leaves_no_word_in_any_file(
    called: Run, desk_with_secret: tuple[Path, str]
) -> None:
    model, id = desk_with_secret
    assert all(in_files(model.parent, word) for word in SECRET_WORDS)
    with JournaledModel(model) as desk:
        without = desk._replay_without([2])
    ended = called("journal", "forget", model, id, "--hard", "--no-json")
    assert ended.out == (
        f"Forgot {id}: the correction is undone, and {model} and its journal hold nothing of its text\n"
    )
    assert ended.err == ""
    assert [word for word in SECRET_WORDS if in_files(model.parent, word)] == []
    with JournaledModel(model) as desk:
        assert desk.model.digest() == without.digest() == desk.compute_replayed_digest()
        assert desk.journal.find_damage() == []
        with pytest.raises(RepeatedIdError):  # it is not learned again by one who sends it twice
            desk.correct(id, SECRET, accept=["grain"])
    with served(model) as again:
        assert again.digest == without.digest()
        assert again.get("/v1/queue", state="open")["total"] == 0
    assert [word for word in SECRET_WORDS if in_files(model.parent, word)] == []
    said(called("journal", "check", model, "--hard"), 2, "--hard goes with forget")


def test_a_text_that_was_corrected_twice_is_named_when_it_is_forgotten(called: Run, tmp_path: Path) -> None:
    model = new_model(tmp_path)
    with served(model) as running:
        first, second = (running.correct(text="zelda told us", accept=[name])["id"] for name in ("grain", "metals"))
    ended = called("journal", "forget", model, first, "--hard")
    assert f"the same text was corrected as {second} too (forget it there as well)" in ended.err
    assert in_files(tmp_path, "zelda")
    assert "too (forget it" not in called("journal", "forget", model, second, "--hard").err
    assert in_files(tmp_path, "zelda") == []


def test_a_journal_that_was_moved_aside_is_named_when_a_text_of_it_is_forgotten(called: Run, tmp_path: Path) -> None:
    model = new_model(tmp_path)
    with served(model) as running:
        running.post("/v1/documents", {"documents": [{"id": "d", "text": "zelda told us"}]})
        Categorizer(preset="fast", min_count=1).fit(["one text", "another"], ["a", "b"]).save(model)
        assert running.post("/v1/model/reload", {"new_journal": True})["changed"]
        id = running.correct(document="d", accept=["a"])["id"]
    (aside,) = tmp_path.glob("*.journal.before-*")
    ended = called("journal", "forget", model, id, "--hard", "--no-json")
    assert f"{aside}: may still hold words of the text (delete it if it is not needed)" in ended.err
    assert "hold nothing" not in ended.out
    assert {aside in file.parents for file in in_files(tmp_path, "zelda")} == {True}


def in_files(folder: Path, marker: str) -> list[Path]:
    """Return the files under a folder that hold a text, in any of the ways in which it might be written."""
    written = {
        way
        for text in (marker, marker.lower(), json.dumps(marker)[1:-1], json.dumps(marker.lower())[1:-1])
        for way in (text.encode(), text.encode("utf-16-le"))
    }
    files = [Path(root, name) for root, _, names in os.walk(folder) for name in names]
    return [file for file in files if any(way in held for held in contents_of(file) for way in written)]


def contents_of(file: Path) -> Iterator[bytes]:
    """Yield what a file holds, and what it holds compressed, wherever that begins."""
    held = file.read_bytes()
    yield held
    if file.name == "journal.sqlite3":
        connection = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)
        for (packed,) in connection.execute("SELECT features FROM records WHERE features IS NOT NULL"):
            yield zlib.decompress(packed)
        connection.close()
    for found in re.finditer(b"\x78[\x01\x5e\x9c\xda]", held):  # how zlib begins
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(held[found.start() :])
