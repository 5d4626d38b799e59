"""Builds the wheel and the sdist, and installs the wheel into environments of its own, as the Dockerfile does.

An environment is a folder with the image's layout: what the Dockerfile calls /opt/thresher, /data and /tmp lies in it.
"""

import json
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from support.command_line import Ended
from support.paths import ROOT
from support.pinned import constraints

_UNREACHABLE = re.compile(r"NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|name resolution")
_keep: list["TemporaryDirectory[str]"] = []


class Instruction(NamedTuple):
    """One instruction of a Dockerfile, its lines joined."""

    name: str
    rest: str


class Distributions(NamedTuple):
    """What `python -m build` makes."""

    wheel: Path
    sdist: Path


class Environment(NamedTuple):
    """A virtual environment in a folder that is laid out as the image is."""

    root: Path

    @property
    def bin(self) -> Path:
        """Where its commands are."""
        return self.root / "opt" / "thresher" / "bin"

    def place(self, text: str) -> str:
        """Return a line of the Dockerfile with its paths in this folder."""
        return re.sub(r"(?<![\w/.])/(?:opt/thresher|data|tmp)\b", lambda found: f"{self.root}{found[0]}", text)

    def variables(self, stage: int) -> dict[str, str]:
        """Return what a stage of the Dockerfile sets, and nothing of this process: not even a home."""
        found = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
        for name, rest in stages()[stage]:
            if name in ("ARG", "ENV"):
                for pair in shlex.split(rest):
                    key, _, value = pair.partition("=")
                    found[key] = re.sub(r"\$(\w+)", lambda m: found.get(m[1], ""), self.place(value))
        return found

    def run(self, script: str, stage: int = 0, given: str = "") -> Ended:
        """Run lines of a shell in the folder /warm, with its commands on the path."""
        variables = self.variables(stage)
        variables["PATH"] = f"{self.bin}:{variables['PATH']}"
        ended = subprocess.run(
            ["bash", "-c", f"set -eo pipefail; {script}"], cwd=self.root / "warm", env=variables, input=given.encode(),
            capture_output=True, timeout=300,
        )  # fmt: skip
        return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def stages() -> list[list[Instruction]]:
    """Return the instructions of each stage of the Dockerfile."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    found: list[list[Instruction]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        found += [[]] if name == "FROM" else []
        found[-1].append(Instruction(name, rest.strip()))
    return found


def instruction(name: str, stage: int = -1) -> str:
    """Return the last instruction of a name in a stage."""
    return [rest for found, rest in stages()[stage] if found == name][-1]


def listed(name: str) -> list[str]:
    """Return the words of an instruction in its exec form."""
    words: list[str] = json.loads(instruction(name))
    return words


def new_folder() -> Path:
    """Return a folder that anyone may look into, and that goes when this process ends."""
    _keep.append(TemporaryDirectory(prefix="thresher-"))
    folder = Path(_keep[-1].name)
    folder.chmod(0o755)
    return folder


@cache
def distributions() -> Distributions:
    """Build the wheel and the sdist, the wheel from the sdist."""
    folder = new_folder()
    command: list[str | Path] = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return Distributions(*folder.glob("*.whl"), *folder.glob("*.tar.gz"))


def new_environment(extra: str = "") -> Environment:
    """Return an environment with the wheel, what it depends on, and an extra."""
    made = Environment(new_folder())
    for name in ("opt", "data", "tmp", "warm", "python"):
        (made.root / name).mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made.bin.parent], check=True)
    install(made, extra)
    return made


def install(environment: Environment, extra: str = "") -> None:
    """Install the wheel from the package index, with an extra; skip the test where no index can be reached."""
    wheel = f"{distributions().wheel}[{extra}]" if extra else str(distributions().wheel)
    pins = environment.root / "constraints.txt"
    pins.write_text(constraints())
    ended = subprocess.run(
        [sys.executable, "-m", "pip", "--python", environment.bin / "python", "install", "--quiet", "--no-compile",
         "--disable-pip-version-check", "--constraint", pins, wheel],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    if ended.returncode and _UNREACHABLE.search(ended.stderr):
        pytest.skip("the package index cannot be reached")
    assert ended.returncode == 0, ended.stderr


USER = instruction("USER")
