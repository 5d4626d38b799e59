"""The project keeps its own rules: names, versions, documentation that runs."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import thresher
from faults.harness import new_draw
from support.paths import ROOT
from support.pinned import pinned_versions

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_version_is_the_newest_in_the_changelog() -> None:
    newest = re.search(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest is not None
    assert newest[1] == thresher.__version__


def test_exported_names_are_those_listed() -> None:
    assert sorted(thresher.__all__, key=str.lower) == sorted(thresher._HOMES.keys() | {"__version__"}, key=str.lower)
    for name in thresher.__all__:
        assert getattr(thresher, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        thresher.Nothing  # noqa: B018


def modules_after(statement: str) -> set[str]:
    """Return the names of the modules that a fresh interpreter holds after a statement."""
    code = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_the_table_of_contents_imports_nothing_heavy() -> None:
    assert not {"numpy", "numba", "scipy", "sklearn"} & modules_after("import thresher")


def test_learning_needs_neither_scipy_nor_scikit_learn() -> None:
    assert not {"scipy.sparse", "scipy.linalg", "sklearn"} & modules_after("import thresher.learners")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda page: page.name
)
def test_python_in_the_documentation_runs(
    page: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
        exec(compile(block, str(page), "exec"), {})
    assert "Traceback" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_outside_the_site_hold(name: str) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", (ROOT / name).read_text()):
        assert (ROOT / target).exists(), target


def test_demo_ends_with_the_correction_learned() -> None:
    script = ROOT / "examples" / "first_steps.py"
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    before, after = run.stdout.split("After that one correction")
    assert re.search(r"a hole damaged my bicycle\n.*\n +no +roads", before)
    assert re.search(r"yes roads", after)


def test_tests_that_the_documentation_names_exist() -> None:
    named = [found for page in PAGES for found in re.findall(r"`(?:tests/)?([\w/]+\.py)::(\w+)", page.read_text())]
    assert len(named) > 30
    tests = [(f"/{path}", path.read_text()) for path in (ROOT / "tests").rglob("test_*.py")]
    for file, name in named:
        assert any(path.endswith(f"/{file}") and f"\ndef {name}(" in text for path, text in tests), (file, name)


# Older ones have faults that an attacker may use; docs/threats.md says which.
FLOORS = {"fastapi": "0.132", "starlette": "1.3.1", "h11": "0.16", "pyarrow": "14.0.1"}


def test_packages_with_known_faults_are_excluded() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = {part.split(">=")[0]: part.split(">=")[1] for part in [*extras["serve"], *extras["parquet"]]}
    pinned = pinned_versions()
    for name, floor in FLOORS.items():
        assert as_numbers(wanted[name]) >= as_numbers(floor), name
        assert as_numbers(pinned[name]) >= as_numbers(floor), name
    assert not [name for name in (*wanted, *pinned) if "multipart" in name]  # forms are never read


def as_numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_random_tests_can_be_repeated(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("THRESHER_SEED", raising=False)
    drawn = new_draw().random()
    printed = re.fullmatch(r"THRESHER_SEED=(\d+)\n", capsys.readouterr().out)
    assert printed is not None
    assert new_draw().random() != drawn
    monkeypatch.setenv("THRESHER_SEED", printed[1])
    assert new_draw().random() == drawn


def test_tests_draw_no_random_numbers_without_a_seed() -> None:
    unseeded = re.compile(r"SystemRandom|urandom|uuid4|Random\(\)|default_rng\(\)|\brandom\.(?!default_rng)[a-z]\w*\(")
    assert all(map(unseeded.search, ["random.Random()", "random.shuffle(a)", "default_rng()", "os.urandom(9)"]))
    assert not any(map(unseeded.search, ["random.Random(1)", "draw.shuffle(a)", "np.random.default_rng(0)"]))
    files = {path for path in (ROOT / "tests").rglob("*.py") if unseeded.search(path.read_text())}
    assert files - {Path(__file__)} == {ROOT / "tests/faults/harness.py"}, "take the numbers from new_draw()"
