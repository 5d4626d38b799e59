"""Corrections on the command line are saved, undone, checked, exported, backed up and forgotten."""

import errno
import json
import os
import shutil
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Run, said
from thresher import Categorizer
from thresher.cli.journal import _move, _service_of
from thresher.journal.journaled_model import JournaledModel, journal_folder
from thresher.journal.record import Entry


@pytest.fixture
def model(tmp_path: Path) -> Path:
    texts = ["crude oil rose", "oil and gas", "wheat harvest", "corn and wheat", "gold mine", "silver and gold"] * 5
    Categorizer(min_count=1).fit(texts, ["energy", "energy", "grain", "grain", "metal", "metal"] * 5).save(
        tmp_path / "desk.thresher"
    )
    return tmp_path / "desk.thresher"


def learned(called: Run, model: Path, *corrections: dict[str, Any], user: str = "ada") -> Any:
    data = model.with_name("corrections.jsonl")
    data.write_text("".join(json.dumps(correction) + "\n" for correction in corrections))
    ended = called("learn", model, data, "--user", user)
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def digest_of(model: Path) -> str:
    return Categorizer.load(model).digest()


def test_corrections_are_undone_one_by_one(called: Run, model: Path) -> None:
    first = digest_of(model)
    second = learned(called, model, {"text": "tin mine", "accept": ["tin"]})["digest"]
    learned(called, model, {"text": "zinc mine", "accept": ["metal"], "reject": ["energy"]}, user="bob")
    ended = called("undo", model)
    assert json.loads(ended.out)["digest"] == digest_of(model) == second
    assert called("undo", model, "--no-json").out.startswith("Undid 1 correction\nWrote ")
    assert digest_of(model) == first
    said(called("undo", model), 65, "nothing to undo")


def test_saved_corrections_are_reported_if_the_model_cannot_be_written(
    called: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device", str(model))

    data = model.with_name("corrections.jsonl")
    data.write_text('{"text": "tin mine", "accept": ["tin"]}\n{"text": "zinc", "accept": ["zinc"]}\n')
    for arguments, kept in ((("learn", model, data), "2 of 2 corrections"), (("undo", model), "1 of 1 undo")):
        with monkeypatch.context() as patch:
            patch.setattr(JournaledModel, "write_model", full)
            ended = called(*arguments)
        advice = f"do not give that again; thresher journal write {model} writes the model"
        told, failed = ended.err.splitlines()
        assert told.endswith(f"{journal_folder(model)}: saved {kept} ({advice})")
        assert failed == f"thresher: {model}: No space left on device"
        assert ended.code == 74
        before = digest_of(model)
        written = json.loads(called("journal", "write", model).out)
        assert written == {"model": str(model), "digest": digest_of(model)}
        assert before != digest_of(model)
    assert called("journal", "write", model, "--no-json").out == f"Wrote {model} (digest {digest_of(model)[:12]})\n"
    said(called("journal", "write", model, "x"), 2, "write takes nothing after MODEL")
    with JournaledModel(model) as desk:
        assert [record.undone_by for record in desk.journal.log.read()] == [None, 3, None]


def test_the_corrections_of_one_person_are_undone(called: Run, model: Path) -> None:
    learned(called, model, {"text": "tin mine", "categories": ["metal"]})
    alone = digest_of(model)
    learned(called, model, {"text": "wrong", "accept": ["grain"]}, {"text": "more", "accept": ["grain"]}, user="bob")
    said(called("undo", model, "--user", "bob", "--since", "2999-01-01T00:00"), 65, "nothing to undo")
    said(called("undo", model, "--since", "yesterday"), 2, "--since 'yesterday' is not a time")
    said(called("undo", model, "--id", "x", "--user", "bob"), 2, "--id names one correction")
    assert len(json.loads(called("undo", model, "--user", "bob", "--since", "2020-01-01T00:00").out)["undone"]) == 2
    assert digest_of(model) == alone


def test_the_journal_is_checked_exported_and_backed_up(called: Run, model: Path, tmp_path: Path) -> None:
    digest = learned(
        called,
        model,
        {"text": "tin mine", "accept": ["metal"], "reject": ["energy"]},
        {"title": "corn", "text": "more corn", "categories": ["grain"]},
        {"text": "to be undone", "accept": ["grain"]},
    )["digest"]
    called("undo", model)
    found = json.loads(called("journal", "check", model).out)
    assert (found["records"], found["undone"], found["remarks"]) == (4, 1, [])
    assert found["digest"] == digest_of(model) != digest
    exported = [json.loads(line) for line in called("journal", "export", model).out.splitlines()]
    partial, whole = exported
    assert (partial["text"], partial["accept"], partial["reject"]) == ("tin mine", ["metal"], ["energy"])
    assert (whole["title"], whole["categories"], "more corn" in whole.values()) == ("corn", ["grain"], True)
    assert {record["user"] for record in exported} == {"ada"}
    copy = tmp_path / "copy"
    assert json.loads(called("journal", "backup", model, copy).out)["records"] == 4
    said(called("journal", "backup", model, copy), 73, "name a new folder")
    nowhere = tmp_path / "nowhere" / "copy"
    said(called("journal", "backup", model, nowhere), 66, f"{nowhere}: No such file or directory")
    shutil.rmtree(journal_folder(model))
    copy.rename(journal_folder(model))
    assert json.loads(called("journal", "check", model).out)["digest"] == digest_of(model)


def test_exported_corrections_can_be_trained_on_and_learned(called: Run, model: Path, tmp_path: Path) -> None:
    learned(called, model, {"text": "tin mine", "categories": ["metal"]}, {"text": "oats", "categories": ["grain"]})
    data = tmp_path / "exported.jsonl"
    data.write_text(called("journal", "export", model).out)
    ended = called("train", data, "-o", tmp_path / "new.thresher", "--preset", "paper", "--min-count", "1", "--quiet")
    assert ended.code == 0
    assert called("learn", tmp_path / "new.thresher", data).code == 0


def test_a_text_is_forgotten_and_the_model_stays(called: Run, model: Path) -> None:
    learned(called, model, {"text": "secret words", "accept": ["metal"]})
    digest = digest_of(model)
    id = json.loads(called("journal", "export", model).out)["id"]
    said(called("journal", "forget", model, "x"), 65, "there is no correction 'x'")
    assert json.loads(called("journal", "forget", model, id).out) == {"forgotten": id}
    ended = called("journal", "export", model)
    assert (ended.out, "1 corrections have no text any more" in ended.err) == ("", True)
    for file in journal_folder(model).glob("snapshot-*1.thresher"):
        file.unlink()
    assert json.loads(called("journal", "check", model).out)["digest"] == digest


@pytest.mark.parametrize("options", [[], ["--hard"]], ids=["soft", "hard"])
@pytest.mark.parametrize("is_first_forgotten", [False, True], ids=["with text", "without text"])
def test_a_forgotten_text_is_removed_from_undone_corrections(
    called: Run, model: Path, options: list[str], is_first_forgotten: bool
) -> None:
    with JournaledModel(model) as desk:
        desk.correct("a", "zelda was bitten", accept=["metal"])
        desk.undo("undo", [1])
        desk.correct("b", "zelda was bitten", accept=["metal"])
        desk.correct("c", "another text", accept=["metal"])
        if is_first_forgotten:
            desk.forget_text(3)
        desk.write_model()
    ended = called("journal", "forget", model, "b", *options, "--no-json")
    assert ended.code == 0
    assert "too (forget it" not in ended.err
    with JournaledModel(model) as desk:
        undone = desk.journal.log.find("a")
        assert undone is not None
        assert (undone.text, undone.features or []) == (None, [])
        assert desk.journal.find_damage() == []
        assert desk.journal.log.find("c").text == "another text"  # type: ignore[union-attr]
        assert desk.compute_replayed_digest() == desk.model.digest()
    assert b"zelda was bitten" not in (journal_folder(model) / "journal.sqlite3").read_bytes()
    assert ("hold nothing of its text" in ended.out) == bool(options)


def test_undone_corrections_are_found_by_their_text_if_their_features_differ(called: Run, model: Path) -> None:
    with JournaledModel(model) as desk:
        desk.correct("a", "zelda was bitten", accept=["metal"])
        desk.undo("undo", [1])
        desk.correct("b", "zelda was bitten", accept=["metal"])
        with desk.journal.database.transaction():  # as a version with another analyser would have written it
            desk.journal.log._change(1, "digest", "of other features")
        desk.write_model()
    assert called("journal", "forget", model, "b", "--hard").code == 0
    with JournaledModel(model) as desk:
        assert [record.text for record in desk.journal.log.read()] == [None] * 4


@pytest.mark.parametrize("options", [[], ["--hard"]], ids=["soft", "hard"])
def test_other_corrections_of_a_forgotten_text_are_named(called: Run, model: Path, options: list[str]) -> None:
    with JournaledModel(model) as desk:
        for id in ("a", "b"):
            desk.correct(id, "zelda was bitten", accept=["metal"])
        desk.write_model()
    ended = called("journal", "forget", model, "a", *options, "--no-json")
    assert "the same text was corrected as b too (forget it there as well)" in ended.err
    assert "hold nothing" not in ended.out
    ended = called("journal", "forget", model, "b", *options, "--no-json")
    assert "too (forget it" not in ended.err
    assert ("hold nothing of its text" in ended.out) == bool(options)


@pytest.mark.parametrize("options", [[], ["--hard"]], ids=["soft", "hard"])
@pytest.mark.parametrize(
    "name",
    [
        "desk.thresher.journal.before-x1", "desk.thresher.journal.left-x1", "desk.thresher.journal.next",
        "desk.thresher.journal/backup-x1", "desk.thresher.journal/lost-snapshot-0000000009.thresher",
    ],
)  # fmt: skip
def test_copies_that_may_hold_a_forgotten_text_are_named(
    called: Run, model: Path, options: list[str], name: str
) -> None:
    with JournaledModel(model) as desk:
        desk.correct("a", "zelda was bitten", accept=["metal"])
        desk.write_model()
    (model.parent / name).mkdir()
    ended = called("journal", "forget", model, "a", *options, "--no-json")
    assert ended.code == 0
    assert f"{model.parent / name}: may still hold words of the text (delete it if it is not needed)" in ended.err
    assert "hold nothing" not in ended.out


def test_a_missing_correction_may_be_in_a_journal_that_was_moved_aside(called: Run, model: Path) -> None:
    JournaledModel(model).close()
    aside = model.parent / "desk.thresher.journal.before-x1"
    aside.mkdir()
    said(called("journal", "forget", model, "a"), 65, f"there is no correction 'a' (these may hold it: {aside})")


def test_a_correction_is_forgotten_hard_only_after_dependent_records_are_undone(called: Run, model: Path) -> None:
    with JournaledModel(model) as desk:
        desk.correct("a", "zelda was bitten", accept=["bees"])
        desk.change_categories("b", "rename", ["bees"], into="wasps")
        before = desk.write_model()
    ended = called("journal", "forget", model, "a", "--hard")
    said(ended, 65, "nothing was forgotten", "record 2 cannot be applied: category 'bees' is unknown")
    assert f"thresher undo {model} --record NUMBER" in ended.err
    assert "forget without --hard" in ended.err
    assert digest_of(model) == before
    with JournaledModel(model) as desk:
        assert [record.text for record in desk.journal.log.read()] == ["zelda was bitten", None]
    said(called("undo", model, "--record", "two"), 2, "invalid --record: 'two' (not a whole number)")
    said(called("undo", model, "--record", "9"), 65, "nothing to undo")
    said(called("undo", model, "--record", "2", "--id", "a"), 2, "--record names one record")
    assert called("undo", model, "--record", "2", "--no-json").out.startswith("Undid record 2\n")
    assert "hold nothing of its text" in called("journal", "forget", model, "a", "--hard", "--no-json").out


def test_a_record_that_cannot_be_applied_is_skipped(called: Run, model: Path) -> None:
    learned(called, model, {"text": "tin mine", "accept": ["metal"]})
    with JournaledModel(model) as desk:
        desk.journal.append(Entry("b", "categories", "", {"change": "retire", "names": ["wood"], "into": ""}))
    said(called("journal", "check", model), 65, "record 2 cannot be applied")
    said(called("journal", "skip", model, "two"), 2, "'two' is not the number of a record")
    assert json.loads(called("journal", "skip", model, "2").out) == {"skipped": 2}
    assert called("journal", "check", model).code == 0


def test_names_and_numbers_that_no_journal_holds_are_refused(called: Run, model: Path) -> None:
    learned(called, model, {"text": "tin mine", "accept": ["metal"]})
    before = digest_of(model)
    data = model.with_name("corrections.jsonl")
    for arguments in (
        ["journal", "skip", model, str(10**20)],
        ["journal", "forget", model, "\udcff"],
        ["learn", model, data, "--user", "\udcff"],
    ):
        said(called(*arguments), 65, "it holds UTF-8, and numbers of 64 bits")
    assert digest_of(model) == before
    assert json.loads(called("journal", "check", model).out)["records"] == 1


def test_a_wrong_action_is_reported(called: Run, model: Path) -> None:
    said(called("journal", "burn", model), 2, "invalid ACTION: 'burn' (allowed: check, export")
    said(called("journal", "check", model, "x"), 2, "check takes nothing after MODEL")
    said(called("journal", "backup", model), 2, "backup takes a new folder after MODEL")
    said(called("journal", "export", model), 65, "there is no journal here")
    said(called("undo", model), 65, "it has no journal yet")


def test_a_missing_journal_is_not_replaced_silently(called: Run, model: Path, tmp_path: Path) -> None:
    learned(called, model, {"text": "tin mine", "accept": ["metal"]})
    shutil.rmtree(journal_folder(model))
    data = tmp_path / "corrections.jsonl"
    said(called("learn", model, data), 65, "its journal is missing", "--new-journal")
    assert called("learn", model, data, "--new-journal").code == 0


def test_reading_verbs_need_only_the_model_file(called: Run, model: Path, tmp_path: Path) -> None:
    digest = learned(called, model, {"text": "tin mine", "categories": ["metal"]})["digest"]
    shutil.rmtree(journal_folder(model))
    data = tmp_path / "corrections.jsonl"
    for rest in (["predict", data], ["evaluate", data], ["explain", "tin mine"], ["inspect"]):
        assert called(rest[0], model, *rest[1:]).code == 0
    assert called("rank", model, "metal", data).code == 0
    assert digest_of(model) == digest
    assert not journal_folder(model).exists()


def test_a_second_process_is_refused(called: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "corrections.jsonl"
    data.write_text(json.dumps({"text": "tin mine", "accept": ["metal"]}))
    with JournaledModel(model):
        before = model.read_bytes()
        said(called("learn", model, data), 75, f"process {os.getpid()} has the journal (stop it first)")
        assert model.read_bytes() == before
    assert called("learn", model, data).code == 0


def test_learning_continues_from_the_journal_if_the_model_file_is_older(called: Run, model: Path) -> None:
    with JournaledModel(model) as desk:  # as a service would: the model file stays as it is
        desk.correct("a", "tin mine", accept=["tin"])
    learned(called, model, {"text": "gold mine", "reject": ["tin"], "accept": ["metal"]})
    with JournaledModel(model) as desk:
        assert desk.position == 2
        assert desk.model.digest() == digest_of(model)


def test_a_deleted_model_file_is_written_again_by_the_next_learning(called: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "more.jsonl"
    data.write_text(json.dumps({"text": "a plank of oak", "accept": ["metals"]}) + "\n")
    assert called("learn", model, data).code == 0
    before = Categorizer.load(model).digest()
    model.unlink()
    assert json.loads(called("learn", model, data, "--json").out)["digest_before"] == before
    assert Categorizer.load(model).digest() != before
    model.unlink()
    said(called("learn", model, data, "-o", tmp_path / "other.thresher"), 66, "desk.thresher", "No such file")


def test_advice_on_a_journal_can_be_followed(called: Run, model: Path, tmp_path: Path) -> None:
    said(called("undo", model), 65, "it has no journal yet", "learn or serve begins one")
    for action in ("check", "export"):
        assert called("journal", action, tmp_path / "none.thresher").code in (65, 66)
    said(called("journal", "check", tmp_path / "none.thresher"), 66, "none.thresher: No such file or directory")


@pytest.mark.parametrize(
    "content",
    [b"", b'{"url": "http://12', b"[]", b"\xff", b'{"pid": %d}', b'{"pid": %d, "url": 1}', b'{"pid": 1, "url": ""}'],
    ids=["empty", "half", "list", "not text", "no address", "odd address", "another process"],
)
def test_a_damaged_address_of_the_service_is_ignored(called: Run, model: Path, tmp_path: Path, content: bytes) -> None:
    with JournaledModel(model) as desk:
        (desk.journal.folder / "service.json").write_bytes(content.replace(b"%d", b"%d" % os.getpid()))
        ended = called("journal", "backup", model, tmp_path / "copy")
        said(ended, 75, f"process {os.getpid()} has the journal (stop it first)")


def test_an_address_that_others_could_have_written_is_ignored(called: Run, model: Path, tmp_path: Path) -> None:
    with JournaledModel(model) as desk, socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        address = desk.journal.folder / "service.json"
        address.write_text(json.dumps({"pid": os.getpid(), "url": url, "token": "t"}))
        desk.journal.folder.chmod(0o777)
        said(called("journal", "backup", model, tmp_path / "copy"), 65, "anyone may write to it")
        address.rename(address.with_name("elsewhere"))
        address.symlink_to("elsewhere")
        said(called("journal", "backup", model, tmp_path / "copy", "--journal-anyway"), 75, "has the journal")
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_root_can_request_a_backup_from_the_service_of_another_user(model: Path) -> None:
    with JournaledModel(model) as desk:
        folder = desk.journal.folder
        address = {"pid": os.getpid(), "url": "http://127.0.0.1:1", "token": "t"}
        (folder / "service.json").write_text(json.dumps(address))
        os.chown(folder, 65534, 65534)
        os.chown(folder / "service.json", 65534, 65534)
        assert _service_of(folder) == address
        folder.chmod(0o777)
        assert _service_of(folder) is None
        assert _service_of(folder, anyway=True) == address
        os.chown(folder / "service.json", 4711, 4711)
        assert _service_of(folder, anyway=True) is None
        folder.chmod(0o700)
        assert _service_of(folder) is None


class _Liar(BaseHTTPRequestHandler):
    """A service that names a folder which is not a backup."""

    folder = ""

    def do_POST(self) -> None:
        content = json.dumps({"folder": self.folder, "records": 1}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("folder", ["../precious", "..", "/", ".backup-1/../../precious", "snapshot"])
def test_no_folder_other_than_a_backup_is_moved(
    called: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (tmp_path / "precious").mkdir()
    monkeypatch.setattr(_Liar, "folder", folder)
    with JournaledModel(model) as desk, HTTPServer(("127.0.0.1", 0), _Liar) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        (desk.journal.folder / "service.json").write_text(json.dumps({"pid": os.getpid(), "url": url, "token": "t"}))
        answering = threading.Thread(target=server.handle_request)
        answering.start()
        ended = called("journal", "backup", model, tmp_path / "copy")
        answering.join()
        said(ended, 65, "its service answered with something other than a backup")
    assert (tmp_path / "precious").exists()
    assert not (tmp_path / "copy").exists()


def test_a_backup_is_moved_to_another_disk_completely_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def to_another_disk(path: Path, target: Path) -> Path:
        if path.name == "backup-1":
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(path, target)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "rename", to_another_disk)
    for copy in (full, shutil.copyfileobj):
        backup, whole = tmp_path / "backup-1", tmp_path / "copy"
        backup.mkdir()
        (backup / "journal.sqlite3").write_bytes(b"records")
        monkeypatch.setattr("thresher.cli.journal.shutil.copyfileobj", copy)
        with suppress(OSError):
            _move(backup, whole)
        assert [found.name for found in tmp_path.iterdir()] == ([] if copy is full else ["copy"])
    assert (whole / "journal.sqlite3").read_bytes() == b"records"
    assert whole.stat().st_mode & 0o777 == 0o700
    (tmp_path / "backup-2").mkdir()
    with pytest.raises(FileNotFoundError):
        _move(tmp_path / "backup-2", tmp_path / "nowhere" / "copy")
    assert [found.name for found in tmp_path.iterdir()] == ["copy"]
