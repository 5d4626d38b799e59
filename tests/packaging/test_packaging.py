"""The contents and metadata of the wheel and the sdist; `test_installed.py` uses the wheel."""

import email
import math
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from importlib.metadata import distributions as installed_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import thresher
import thresher_reproduction
from support.installed import distributions
from support.paths import ROOT
from support.pinned import LOCKS, pinned_versions

PACKAGE = ROOT / "src" / "thresher"
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, GROUPS = CONFIGURATION["project"], CONFIGURATION["dependency-groups"]


def files_in(folder: Path, before: float = math.inf) -> set[str]:
    """Return the files of a folder that are ours, by their paths in it; only those that were there before a time."""
    made = ("__pycache__", ".ipynb_checkpoints")
    found = (path for path in folder.rglob("*") if path.is_file() and not any(part in made for part in path.parts))
    return {path.relative_to(folder).as_posix() for path in found if path.stat().st_mtime < before}


def metadata() -> Message:
    """Return the metadata of the wheel."""
    with zipfile.ZipFile(distributions().wheel) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_string(wheel.read(name).decode())


def test_the_wheel_holds_only_the_package_and_its_licence() -> None:
    with zipfile.ZipFile(distributions().wheel) as wheel:
        names = set(wheel.namelist())
    about = f"thresher_text-{thresher.__version__}.dist-info/"
    built = distributions().sdist.stat().st_mtime
    packed = {name.removeprefix("thresher/") for name in names if name.startswith("thresher/")}
    assert files_in(PACKAGE, built) <= packed <= files_in(PACKAGE)
    assert {name for name in names if not name.startswith("thresher/")} == {
        about + name for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }
    for needed in ("py.typed", "web/page/index.html", "datasets/corpora/sample/train.jsonl", "text/unicode.json"):
        assert f"thresher/{needed}" in names


def test_the_sdist_holds_all_that_its_tests_need() -> None:
    with tarfile.open(distributions().sdist) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    built = distributions().sdist.stat().st_mtime
    for folder in ("src", "reproduction", "tests", "docs", "examples", "tools", "benchmarks", ".ci", ".github"):
        assert {f"{folder}/{name}" for name in files_in(ROOT / folder, built)} <= names
    for name in ("pyproject.toml", "requirements/dev.txt", "Makefile", "README.md", "CHANGELOG.md", "Dockerfile"):
        assert name in names
    kept = (".gitignore", "PKG-INFO", ".dockerignore", "CONTRIBUTING.md", "LICENSE", "mkdocs.yml")
    assert {name for name in names if "/" not in name} <= {path.name for path in ROOT.iterdir()} | set(kept)
    assert not [name for name in names if name.startswith((".venv", ".hypothesis", "dist")) or "__pycache__" in name]


def test_the_metadata_describe_the_package() -> None:
    found = metadata()
    assert found["Description-Content-Type"] == "text/markdown"
    assert found.get_payload() == (ROOT / "README.md").read_text()
    assert (found["License-Expression"], found["License-File"]) == ("MIT", "LICENSE")
    assert found["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in found.get_all("Classifier", [])
    assert set(found.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    base_needs = [need for need in found.get_all("Requires-Dist", []) if "extra ==" not in need]
    assert {re.split(r"\W", need)[0] for need in base_needs} == {"numpy", "numba", "orjson", "typer", "rich"}


def test_the_version_is_in_one_place() -> None:
    assert PROJECT["dynamic"] == ["version"]
    assert metadata()["Version"] == thresher.__version__
    assert distributions().sdist.name == f"thresher_text-{thresher.__version__}.tar.gz"


def test_the_reproduction_is_a_distribution_with_the_same_version(tmp_path: Path) -> None:
    assert thresher_reproduction.__version__ == thresher.__version__
    options: list[str | Path] = ["--no-isolation", "--wheel", "--outdir", tmp_path, ROOT / "reproduction"]
    command: list[str | Path] = [sys.executable, "-m", "build", *options]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"thresher_reproduction-{thresher.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as files:
        entry_points = files.read(f"thresher_reproduction-{thresher.__version__}.dist-info/entry_points.txt").decode()
        assert "thresher_reproduction/rivals/ripper.py" in files.namelist()
    assert entry_points == "[thresher.commands]\nreproduce = thresher_reproduction.command:reproduce\n"


def test_every_pinned_package_takes_the_oldest_python() -> None:
    """Debian 12 has Python 3.11.2: a package that needs 3.11.5 would end the set-up there."""
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    pinned = pinned_versions()
    installed = [one for one in installed_distributions() if canonicalize_name(one.metadata["Name"]) in pinned]
    assert len(installed) > 50
    described = [one.metadata for one in installed if "Requires-Python" in one.metadata]
    wanted = {metadata["Name"]: metadata["Requires-Python"] for metadata in described}
    assert {name: needs for name, needs in wanted.items() if not SpecifierSet(needs).contains(oldest)} == {}


def needs_of(extras: list[str], *groups: str) -> list[str]:
    """Return what the package needs with these extras, and what these dependency groups need."""
    needs = [*PROJECT["dependencies"], *(need for extra in extras for need in PROJECT["optional-dependencies"][extra])]
    return [*needs, *(need for group in groups for need in needs_of_group(group))]


def needs_of_group(name: str) -> list[str]:
    """Return what a dependency group and those that it includes need."""
    found: list[str] = []
    for need in GROUPS[name]:
        found += [need] if isinstance(need, str) else needs_of_group(need["include-group"])
    return found


def test_every_requirement_is_pinned_with_hashes() -> None:
    assert [path.stem for path in LOCKS] == ["bench", "dev", "release", "run", "serve", "soak", "test"]
    for path in LOCKS:
        entries = re.split(r"\n(?=\S)", path.read_text().strip())
        assert not [entry for entry in entries if not re.match(r"\S+==\S+.*\\\n +--hash=sha256:", entry)], path.name
    every = [extra for extra in PROJECT["optional-dependencies"] if extra != "all"]
    wanted = {
        "serve": needs_of(["serve"]),
        "run": needs_of(["serve", "report"], "build"),
        "test": needs_of(every, "build", "test"),
        "dev": needs_of(every, "dev"),
        **{group: needs_of_group(group) for group in ("bench", "soak", "release")},
    }
    for lock, needs in wanted.items():
        pinned = pinned_versions(lock)
        for need in map(Requirement, needs):
            assert need.specifier.contains(pinned[canonicalize_name(need.name)]), (lock, need)


def test_the_locks_agree_with_each_other() -> None:
    pinned = pinned_versions()
    for path in LOCKS:
        versions = pinned_versions(path.stem)
        assert {name: version for name, version in versions.items() if pinned.get(name, version) != version} == {}


def test_a_user_is_offered_no_extra_for_developers() -> None:
    assert set(PROJECT["optional-dependencies"]) == {
        "serve", "report", "sklearn", "parquet", "zstd", "lemmas", "cluster", "all",
    }  # fmt: skip
