"""The verbs as users see them: the commands of the documents, run in order, print what the pages show."""

import json
import re
import sys
from pathlib import Path

import pytest

from support.command_line import Run
from support.console_blocks import ROOT, WALKS, Walk, agrees, commands, run
from thresher.cli import app as application
from thresher.cli import run as call
from thresher.cli.app import VERBS
from thresher.datasets.reader import read_documents


@pytest.mark.slow
@pytest.mark.parametrize("pages", WALKS, ids=["how-to", "tutorial", "readme"])
def test_the_commands_of_the_documents_print_what_stands_there(pages: list[Path], tmp_path: Path) -> None:
    with Walk(tmp_path) as walk:
        for command in (command for page in pages for command in commands(page.read_text())):
            code, printed = walk.run(command.line)
            shown = [line for line in printed if line]
            assert code == 0, command.line
            assert agrees(command.printed, shown), "\n".join([command.line, *shown])


@pytest.mark.parametrize("verb", [*VERBS, "reproduce"])
def test_every_verb_has_a_page_and_help(verb: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / f"{verb}.md").read_text()
    assert re.search(rf"^(\$ .*)?thresher {verb}\b", page, re.MULTILINE)
    code, printed = run(f"thresher {verb} --help", tmp_path)
    assert code == 0
    assert any("Usage" in line for line in printed)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model, trained once."""
    path = tmp_path_factory.mktemp("model") / "desk.thresher"
    assert call(["train", "sample:train", "-o", str(path), "--quiet"]) == 0
    return path


def test_a_table_of_predictions_has_the_same_columns_for_late_documents(desk: Path, tmp_path: Path) -> None:
    lines = ["text", *["the lamp is dark"] * 1100, "zzzz"]
    (tmp_path / "new.csv").write_text("\n".join(lines))
    for suffix in ("csv", "parquet", "jsonl"):
        output = tmp_path / f"found.{suffix}"
        assert call(["predict", str(desk), str(tmp_path / "new.csv"), "-o", str(output), "--quiet"]) == 0
        assert len(list(read_documents(output))) == 1101


def test_predictions_keep_every_column_of_the_input(desk: Path, tmp_path: Path) -> None:
    header = "key,id,text,categories,given_categories,scores,empty"
    (tmp_path / "new.csv").write_text(f"{header}\n7,own id,the lamp is dark,a,b,c,d\n")
    output = tmp_path / "found.csv"
    assert call(["predict", str(desk), str(tmp_path / "new.csv"), "--id", "key", "-o", str(output), "--quiet"]) == 0
    (found,) = read_documents(output)
    own = {"key": "7", "given_id": "own id", "given_categories": "a", "given_given_categories": "b"}
    assert (found.columns or {}).items() >= (own | {"id": "7", "given_scores": "c", "given_empty": "d"}).items()
    assert found.categories == ("lighting",)


def test_predictions_can_be_predicted_again(desk: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    assert call(["predict", str(desk), "sample:test", "-o", str(first), "--quiet"]) == 0
    assert call(["predict", str(desk), str(first), "-o", str(second), "--quiet"]) == 0
    before, after = (list(read_documents(path)) for path in (first, second))
    assert [document.categories for document in before] == [document.categories for document in after]


def test_parquet_holds_scores_as_numbers(desk: Path, tmp_path: Path) -> None:
    output = tmp_path / "found.parquet"
    assert call(["predict", str(desk), "sample:test", "-o", str(output), "--quiet"]) == 0
    record = next(iter(read_documents(output))).columns or {}
    assert all(isinstance(score, float) for score in record["scores"] + record["probabilities"])


def test_a_model_is_replaced_only_at_the_end(desk: Path) -> None:
    before = desk.read_bytes()
    assert call(["train", "sample:train", "-o", str(desk), "--force", "--quiet", "--folds", "401"]) == 2
    assert desk.read_bytes() == before


def test_learning_reports_the_decisions_before_and_new_categories(
    desk: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    known, new = {"text": "the lamp is dark again", "accept": ["lighting"]}, {"text": "a lost kite", "accept": "kites"}
    (tmp_path / "corrections.jsonl").write_text(f"{json.dumps(known)}\n{json.dumps(new)}\n")
    output = str(tmp_path / "other.thresher")
    assert call(["learn", str(desk), str(tmp_path / "corrections.jsonl"), "-o", output, "--quiet", "--json"]) == 0
    found = json.loads(capfdbinary.readouterr().out)
    assert found["documents"] == 2
    assert found["right_before"] == 1
    assert found["new_categories"] == ["kites"]


def test_a_report_without_its_packages_says_what_to_install(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("markupsafe", "jinja2"):
        monkeypatch.setitem(sys.modules, name, None)
    page = str(tmp_path / "page.html")
    assert call(["evaluate", str(desk), "sample:test", "--report", page, "--quiet"]) == 2
    assert "pip install 'thresher-text[report]'" in capsys.readouterr().err


class _Broken:
    name, value = "reproduce", "gone:reproduce"

    def load(self) -> None:
        raise ImportError("no module named gone")


def test_a_broken_command_of_another_package_does_not_break_the_others(
    called: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "entry_points", lambda group: [_Broken()])
    monkeypatch.setattr(
        application.app,
        "registered_commands",
        [one for one in application.app.registered_commands if one.name != "reproduce"],
    )
    assert "reproduce" not in called("--help").out
    assert called("--version").code == 0
    ended = called("reproduce", "table1")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "reproduce cannot be imported: no module named gone (pip install --upgrade thresher-text" in ended.err
