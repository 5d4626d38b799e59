"""Every example runs without changes and without other data, and prints what its page shows."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT
from thresher.datasets.corpora.reuters21578 import find_collection

EXAMPLES = ROOT / "examples"
_RUN_NOTEBOOK = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": sys.argv[2]}}).execute()
print(nbformat.writes(notebook))
"""


def run(script: str, folder: Path, data: str | None = None) -> str:
    """Run an example in a folder of its own, with Reuters or without; returns what it prints."""
    environment = {name: value for name, value in os.environ.items() if name != "THRESHER_DATA"}
    environment |= {"XDG_CACHE_HOME": str(folder / "cache")} if data is None else {"THRESHER_DATA": data}
    ended = subprocess.run(
        [sys.executable, EXAMPLES / script], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
    return ended.stdout


def shown(heading: str) -> list[str]:
    """Return what the page on the examples shows under a heading, line by line."""
    page = (ROOT / "docs" / "examples.md").read_text()
    block = re.search(rf"^## {heading}\n.*?^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert block is not None
    return [line.rstrip() for line in block[1].splitlines()]


def lines_of(printed: str) -> list[str]:
    return [line.rstrip() for line in printed.splitlines()]


def test_the_page_names_every_example() -> None:
    page = (EXAMPLES / "README.md").read_text()
    names = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")}
    assert set(re.findall(r"^\| \[(.*?)\]\(\1\)", page, re.MULTILINE)) == names


def test_news_are_measured_and_explained_without_reuters(tmp_path: Path) -> None:
    printed = run("news.py", tmp_path)
    assert "400 to learn, 186 later ones" in printed
    assert re.search(r"F1 [67]\d\.\d, break-even [67]\d\.\d", printed)
    assert re.search(r"\*lamps?\*|\*bins?\*", printed)
    assert re.search(r"\w+ for \w+, \d+ times, as in m\d+", printed)


def test_news_are_measured_on_reuters_if_it_is_available(tmp_path: Path) -> None:
    place = find_collection()
    if place is None:
        pytest.skip("needs Reuters-21578: set THRESHER_DATA to the folder of reuters21578.tar.xz")
    printed = run("news.py", tmp_path, str(place))
    assert "9,603 to learn, 3,299 later ones" in printed
    assert re.search(r"earn +1087 stories +F1 +98", printed)
    assert "interest for money-fx" in printed
    assert set(shown("News by topic")) <= set(lines_of(printed))


def test_a_corrected_model_follows_the_stream_and_forgets_what_is_undone(tmp_path: Path) -> None:
    printed = run("routing.py", tmp_path)
    calm, turned = printed.split("-- the city lends scooters")
    before = [tuple(map(int, pair)) for pair in re.findall(r"- *\d+ +(\d+) #+ +(\d+) #", calm)]
    after = [tuple(map(int, pair)) for pair in re.findall(r"- *\d+ +(\d+) #+ +(\d+) #", turned)]
    assert (len(before), len(after)) == (3, 4)
    assert all(abs(frozen - corrected) < 8 for frozen, corrected in before)
    assert all(corrected > frozen + 5 for frozen, corrected in after)
    assert all(corrected > frozen + 15 for frozen, corrected in after[1:])
    followed = re.search(r"Of the (\d+) that followed, (\d+) came", printed)
    assert followed is not None
    assert int(followed[2]) > 0.8 * int(followed[1])
    assert "the same model as before, bit for bit" in printed
    assert set(shown("A stream that changes")) <= set(lines_of(printed))


def test_distilling_gains_from_better_labels_and_says_where_chance_lies(tmp_path: Path) -> None:
    printed = run("distilling.py", tmp_path)
    rows = re.findall(r"(\d+) %  (\d\d\.\d)  \((\d+) to (\d+)\)", printed)
    right, f1 = [int(row[0]) for row in rows], [float(row[1]) for row in rows]
    assert len(rows) == 5
    assert right == sorted(right)
    assert f1[0] < min(f1[1:-1])
    assert max(f1[1:-1]) < f1[-1]
    assert int(rows[0][3]) < int(rows[4][2])  # the first and the last differ by more than chance
    assert "(an assumption: put in your own)" in printed
    assert set(shown("A large model's labels")) <= set(lines_of(printed))


def test_the_labels_to_distil_are_those_that_the_script_makes() -> None:
    command = [sys.executable, "-c", "from make_distilling_labels import make_lines; print(make_lines(), end='')"]
    ended = subprocess.run(command, cwd=ROOT / "tools", capture_output=True, check=True, timeout=60)
    assert ended.stdout == (EXAMPLES / "data" / "answers.jsonl").read_bytes()


def test_the_notebook_runs_from_top_to_bottom_and_is_kept_without_outputs(tmp_path: Path) -> None:
    path = EXAMPLES / "tour.ipynb"
    assert not any(cell.get("outputs") for cell in json.loads(path.read_text())["cells"])
    environment = os.environ | {"IPYTHONDIR": str(tmp_path), "JUPYTER_RUNTIME_DIR": str(tmp_path)}
    command: list[str | Path] = [sys.executable, "-c", _RUN_NOTEBOOK, path, EXAMPLES]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    outputs = [output for cell in json.loads(ended.stdout)["cells"] for output in cell.get("outputs", [])]
    printed = "".join("".join(output.get("text", "")) for output in outputs)
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert re.search(r"^\[\[('roads', )?'lighting'(, 'roads')?\]\]$", printed, re.MULTILINE)
    assert "now: [['bees', 'animals'], ['parks']]" in printed
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= kinds
