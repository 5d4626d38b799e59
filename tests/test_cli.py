"""The verbs as users meet them: the documents' own commands, run in order, print what stands there."""

import re
from pathlib import Path

import pytest

from thresher.cli.app import VERBS
from walk import agrees, commands, run

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "command-line.md").read_text()


def test_the_walk_through_every_verb_prints_what_the_page_says(tmp_path: Path) -> None:
    for command in commands(PAGE):
        _, printed = run(command.line, tmp_path)
        shown = [line for line in printed if line]
        assert agrees(command.printed, shown), "\n".join([command.line, *shown])


def test_the_readme_s_commands_stand_in_the_walk() -> None:
    walk = commands(PAGE)
    for command in commands((ROOT / "README.md").read_text()):
        assert command in walk, command.line


@pytest.mark.parametrize("verb", [verb.__name__ for verb in VERBS])
def test_every_verb_stands_in_the_walk_and_has_help(verb: str, tmp_path: Path) -> None:
    assert re.search(rf"\bthresher {verb}\b", PAGE)
    code, printed = run(f"thresher {verb} --help", tmp_path)
    assert code == 0
    assert any("Usage" in line for line in printed)
