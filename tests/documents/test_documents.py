"""The documents are correct: every block is of a kind that is tested, and generated parts are current."""

import json
import re
import shlex
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

import layout_parts
from make_pages import make_parts, replace_parts
from support.paths import ROOT
from thresher.cli.app import add_installed_commands, app

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TRIED = {"python", "console", "sh", "json", "toml"}  # "text" is what a program printed
add_installed_commands()
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
MAKEFILE = (ROOT / "Makefile").read_text()


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the kinds and contents of a page's blocks."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def of_kind(kind: str) -> list[Any]:
    """Return the contents of all blocks of a kind, each with its page's name."""
    found = [(page, content) for page in PAGES for name, content in blocks(page) if name == kind]
    return [pytest.param(content, id=f"{page.stem}-{i}") for i, (page, content) in enumerate(found)]


def test_every_block_is_of_a_known_kind() -> None:
    unknown = {page.name: {kind for kind, _ in blocks(page)} - TRIED - {"text"} for page in PAGES}
    assert {page: kinds for page, kinds in unknown.items() if kinds} == {}


@pytest.mark.parametrize("content", of_kind("json"))
def test_json_in_the_documents_is_json(content: str) -> None:
    json.loads(content)


@pytest.mark.parametrize("content", of_kind("toml"))
def test_toml_in_the_documents_is_toml(content: str) -> None:
    tomllib.loads(content)


@pytest.mark.parametrize("content", of_kind("sh"))
def test_commands_that_are_not_run_name_verbs_options_and_targets_that_exist(content: str) -> None:
    for line in content.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["make"]:
            assert re.search(rf"^{words[1]}:", MAKEFILE, re.MULTILINE), line
        if words[:1] == ["thresher"]:
            command = COMMANDS[words[1]]
            known = {name for option in command.params for name in [*option.opts, *option.secondary_opts]}
            assert {word for word in words[2:] if word.startswith("-") and word != "-"} <= known, line


def test_what_the_code_knows_stands_in_the_pages() -> None:
    for path, parts in make_parts().items():
        page = path.read_text()
        assert replace_parts(page, parts) == page, f"{path.name} is stale: .venv/bin/python tools/make_pages.py"
    assert layout_parts.DRAWING.read_text() == layout_parts.drawing(), "run .venv/bin/python tools/make_pages.py"


def test_the_paths_through_the_code_name_existing_functions() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    steps = page[page.index("## The five paths") : page.index("## The layout")]
    names = re.findall(r"`([a-z_]+(?:\.\w+)+)`", steps)
    assert len(names) > 30
    for name in names:
        assert found(f"thresher.{name}") is not None, name


def found(path: str) -> Any:
    """Return the object with a dotted name: a module, or an object in one."""
    try:
        return import_module(path)
    except ModuleNotFoundError:
        above, _, name = path.rpartition(".")
        return getattr(found(above), name)
