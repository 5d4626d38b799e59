"""Thousands of model files that were changed: each is refused in a line, or is a model that works; none crashes."""

import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from faults.harness import tell
from fuzz import mutants
from fuzz.models import contents_of
from support.paths import TESTS
from support.tiers import number_of

AT_ONCE = 25_000  # mutants that one process reads


def read_in_process(first: int, last: int, folder: Path, patch: str = "", **environment: str) -> mutants.Figures:
    """Read the mutants of seeds in a process of their own; a crash is reported with the seed."""
    environment = {"PYTHONPATH": str(TESTS), "THRESHER_MUTANT": str(folder / "mutant")} | environment
    code = f"{patch}\nfrom fuzz.mutants import main\nmain()"
    command = [sys.executable, "-W", "error", "-c", code, str(first), str(last)]
    ended = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    if ended.returncode < 0:
        seed = (folder / "mutant").read_text().strip()
        raise AssertionError(f"mutant {seed} killed the process: {signal.Signals(-ended.returncode).name}")
    assert ended.returncode == 0, ended.stderr.splitlines()[-1]
    return mutants.Figures(**json.loads(ended.stdout))


def test_a_mutant_is_refused_or_works(tmp_path: Path) -> None:
    first, count = number_of("THRESHER_SEED", 0), number_of("THRESHER_MUTANTS", 2000, quick=200)
    bounds = [*range(first, first + count, AT_ONCE), first + count]
    found = [read_in_process(a, b, tmp_path) for a, b in pairwise(bounds)]
    if count > AT_ONCE:  # compiling the kernels so that they look after their bounds takes a minute
        found.append(
            read_in_process(first, first + 5000, tmp_path, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))
        )
    taken, room, longest = sum(f.taken for f in found), max(f.room for f in found), max(f.seconds for f in found)
    total = sum(one.mutants for one in found)
    assert total >= count
    assert 0.02 * total < taken < 0.5 * total  # both kinds are met
    tell(f"{total:,} mutants, {taken:,} of them taken, {room / 2**20:.1f} MB beside the file, {longest:.2f} s at most")


def test_mutants_cover_every_kind_of_model_and_change() -> None:
    originals = mutants.originals()
    assert len(originals) == len(mutants.KINDS) == len(set(originals))
    found = [mutants.mutant(seed) for seed in range(400)]
    assert found[7] == mutants.mutant(7)
    assert 200 < sum(contents_of(one) is not None for one in found) < 350  # but for their digest
    assert len({len(one) for one in found}) > 100
    assert len(set(found)) > 350


@pytest.mark.parametrize(("name", "first"), [("learner_packing._check_weights", 750), ("packing.check_arrays", 0)])
def test_a_missing_check_is_detected(name: str, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"thresher.model_file.{name}", lambda *_, **__: None)
    with pytest.raises(AssertionError, match=r"mutant \d+: "):
        mutants.read(first, first + 1000, lambda seed: None)


def test_a_crash_is_reported_with_its_seed(tmp_path: Path) -> None:
    known = {len(original) for original in mutants.originals()}
    seed = next(seed for seed in range(3, 100) if len(mutants.mutant(seed)) not in known)
    size = len(mutants.mutant(seed))
    patch = f"import os; from fuzz import models; load = models.load_and_use; deadly = {size}"
    patch += "\nmodels.load_and_use = lambda data: os.abort() if len(data) == deadly else load(data)"
    with pytest.raises(AssertionError, match=f"mutant {seed} killed the process: SIGABRT"):
        read_in_process(seed, seed + 5, tmp_path, patch)


def test_too_much_memory_is_reported_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "ROOM", -(2**40))
    with pytest.raises(AssertionError, match=r"mutant 5 took -?\d+ MB more than its file has"):
        mutants.read(5, 6, lambda seed: None)
