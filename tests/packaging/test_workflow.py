"""The workflow for a public forge: its form, the findings of auditors, and that its commands exist."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from support.paths import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
BIN = Path(sys.executable).parent


def read() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text())
    return found


def steps() -> list[dict[str, Any]]:
    return [step for job in read()["jobs"].values() for step in job["steps"]]


def test_the_workflow_follows_the_schema_of_the_forge() -> None:
    command: list[str | Path] = [BIN / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", WORKFLOW]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stdout + found.stderr


def test_an_auditor_of_workflows_finds_nothing() -> None:
    command: list[str | Path] = [BIN / "zizmor", "--offline", "--no-progress", "--quiet", WORKFLOW]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_workflow_may_only_read_and_pins_every_action() -> None:
    assert read()["permissions"] == {"contents": "read"}
    assert not [name for name, job in read()["jobs"].items() if "permissions" in job]
    used = [step["uses"] for step in steps() if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", action) for action in used)
    assert all("timeout-minutes" in job for job in read()["jobs"].values())


def test_the_workflow_runs_existing_make_targets() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    asked = {name for step in steps() for name in re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))}
    assert {"lint", "docs", "test-all", "release-check", "soak", "digests", "lowest"} == asked
    assert asked <= targets


def test_the_workflow_tests_every_allowed_python() -> None:
    jobs = read()["jobs"]
    versions = jobs["test"]["strategy"]["matrix"]["python"]
    assert versions == jobs["digests"]["strategy"]["matrix"]["python"]
    assert f'requires-python = ">={versions[0]}"' in (ROOT / "pyproject.toml").read_text()
    assert versions == [f"3.{minor}" for minor in range(11, 11 + len(versions))]
