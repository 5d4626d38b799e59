"""Models and journals of every older version are read as before; those of newer versions are refused in one line."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from support.command_line import Run, said
from thresher import Categorizer
from thresher.journal.journaled_model import JournaledModel
from thresher.journal.schema import VERSION

MODELS = sorted(Path(__file__).parent.glob("v*/*.thresher"))
JOURNALS = sorted(Path(__file__).parent.glob("v*/journal*"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_old_model_predicts_as_before(path: Path) -> None:
    texts = json.loads((path.parent / "texts.json").read_text())
    expected = json.loads(path.with_suffix(".json").read_text())
    model = Categorizer.load(path)
    assert model.digest() == expected["digest"]
    assert model.predict(texts) == expected["predictions"]
    np.testing.assert_array_equal(model.decision_function(texts, raw=True)[:10], np.array(expected["scores"]))


def test_there_are_models_of_this_version() -> None:
    assert len(MODELS) >= 4


@pytest.mark.parametrize("folder", JOURNALS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_an_old_journal_yields_the_same_model(folder: Path, tmp_path: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text())
    shutil.copytree(folder, tmp_path / "copy")
    for _ in range(2):  # as it was, and as it was left
        with JournaledModel(tmp_path / "copy" / "desk.thresher") as desk:
            assert (desk.model.digest(), desk.remarks) == (expected["digest"], [])
            assert desk.model.predict(["tin and wheat", "a swarm", "gas"]) == expected["predictions"]
            records = list(desk.journal.log.read())
            assert len(records) == expected["records"]
            assert {str(r.seq): r.undone_by for r in records if r.undone_by} == expected["undone"]
            assert desk.journal.find_damage() == []


def test_there_are_journals_of_this_version() -> None:
    with closing(sqlite3.connect(JOURNALS[-1] / "desk.thresher.journal" / "journal.sqlite3")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert len(JOURNALS) == VERSION


def test_a_model_of_a_newer_version_is_refused_and_not_changed(called: Run, tmp_path: Path) -> None:
    content = MODELS[0].read_bytes()
    newer = content.replace(b'\\"format\\":1', b'\\"format\\":7')
    assert newer != content
    (tmp_path / "new.thresher").write_bytes(newer)
    data = tmp_path / "a.jsonl"
    data.write_text('{"text": "wheat", "accept": ["grain"]}\n')
    for arguments in (["predict"], ["learn"], ["evaluate"], ["explain"]):
        said(
            called(*arguments, tmp_path / "new.thresher", data),
            65,
            "new.thresher: format 7 needs",
            "pip install --upgrade",
        )
    said(called("inspect", tmp_path / "new.thresher"), 65, "format 7 needs")
    assert (tmp_path / "new.thresher").read_bytes() == newer
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "new.thresher"]


@pytest.mark.parametrize("folder", JOURNALS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_journal_of_a_newer_version_is_refused_and_not_changed(called: Run, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    model, journal = tmp_path / "copy" / "desk.thresher", tmp_path / "copy" / "desk.thresher.journal"
    connection = sqlite3.connect(journal / "journal.sqlite3")
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    before = {path.name: path.read_bytes() for path in journal.iterdir()}
    data = tmp_path / "a.jsonl"
    data.write_text('{"text": "wheat", "accept": ["grain"]}\n')
    serve = ["serve", model, "--port", "0"]
    for arguments in (["learn", model, data], ["undo", model], ["journal", "check", model], serve):
        said(called(*arguments), 65, "journal.sqlite3: the journal is of a newer version (get a newer thresher)")
    after = {path.name: path.read_bytes() for path in journal.iterdir()}
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() <= {"lock"}
    assert called("predict", model, data).code == 0
