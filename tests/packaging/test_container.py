"""The Dockerfile: a linter finds nothing, and its pages are correct; `test_installed.py` runs its steps."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from support.command_line import Run, said
from support.installed import USER, instruction, stages
from support.paths import ROOT
from thresher.cli.app import app
from thresher.cli.exit_codes import BUSY, DATA, MEMORY, NO_INPUT, USAGE

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def test_a_linter_finds_nothing_in_the_dockerfile() -> None:
    linter = Path(sys.executable).parent / "hadolint"
    found = subprocess.run([linter, "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout) == (0, ""), found
    bad = subprocess.run(
        [linter, "-"], input="FROM python\nRUN sudo true\n", capture_output=True, text=True, timeout=60
    )
    assert bad.returncode == 1, bad


def test_the_build_context_holds_only_what_the_image_copies() -> None:
    copied = {source.removeprefix("./") for name, rest in stages()[0] if name == "COPY" for source in rest.split()[:-1]}
    assert copied == {"pyproject.toml", "requirements/serve.txt", "README.md", "LICENSE", "src"}
    assert all((ROOT / source).exists() for source in copied)
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied


def test_the_image_runs_as_any_user_and_both_stages_compile_alike() -> None:
    assert int(USER) > 0
    assert json.loads(instruction("VOLUME")) == ["/data"]
    assert [instruction("ARG", stage) for stage in (0, 1)] == [instruction("ARG")] * 2
    assert instruction("FROM", 0).split()[0] == instruction("FROM", 1)


def test_the_page_on_deployment_runs_the_image_correctly() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text()
    runs = re.findall(r"^docker run (.*) thresher\b(.*)$", page, re.MULTILINE)
    assert len(runs) == 2
    for options, _ in runs:
        assert "-v desk:/data" in options
        assert "--read-only --tmpfs /tmp" in options
    unit = dict(re.findall(r"^(\w+)=(.*)$", page, re.MULTILINE))
    words = [*shlex.split(unit["ExecStart"])[1:], *shlex.split(runs[0][1])]
    known = {name for verb in ("serve", "train") for one in COMMANDS[verb].params for name in one.opts}
    assert {word for word in words if word.startswith("-")} <= known
    assert "MemoryDenyWriteExecute" not in unit
    assert unit["RestartPreventExitStatus"].split() == [str(code) for code in (USAGE, DATA, NO_INPUT, MEMORY, BUSY)]


def test_the_doctor_says_that_every_start_compiles(called: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # otherwise root could write everywhere
    (check,) = (
        one for one in json.loads(called("doctor", "--json").out)["checks"] if one["name"] == "compiled kernels"
    )
    assert check["found"] == "/proc/nowhere cannot be written"
    assert check["advice"] == "every start compiles: set NUMBA_CACHE_DIR to a folder of yours"


def test_the_demo_without_a_home_requests_a_folder(called: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    said(called("serve", "--demo"), 2, "no home", "--journal", "XDG_DATA_HOME")
