"""Put small faults (`mutants`) into the modules that durability depends on, and report those that no test notices.

Each fault is tried in its own process, forked from one that has collected the tests. There it is put into the function,
and the tests that run its lines are run, those of the module first, until one fails: the mutant is killed. A fault
outside of all functions is present before anything is imported, and only the tests of that module are run. (The usual
tool, mutmut, changes neither constants nor functions with a decorator, such as the transactions of the journal and the
writer of files.)

The outcome of each mutant is saved in a file. It is not tried again as long as its module is unchanged, unless it
survived and the tests have changed, or with `--again`.
"""

import argparse
import ast
import hashlib
import importlib
import inspect
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from importlib.machinery import SourceFileLoader
from itertools import accumulate
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from mutants import Mutant, mutants

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "THRESHER_MUTANTS": "300"}  # no threads before a fork; fewer damaged files

import coverage
import numba  # noqa: F401
import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).parents[1]
MODULES = (
    "support/atomic_file", "model_file/io", "model_file/header", "journal/lock", "journal/record", "journal/schema",
    "journal/database", "journal/event_log", "journal/record_queries", "journal/active_corrections", "journal/effects",
    "journal/review_queue", "journal/facts", "journal/journal", "journal/prepared_correction", "journal/replay",
    "journal/snapshots", "journal/recovery", "journal/journaled_model",
)  # fmt: skip
OTHER_TESTS = (
    "unit/journal/test_journaled_model_refusals.py", "unit/model_file/test_packing.py",
    "unit/support/test_filesystem.py", "cli/test_journal.py", "service/test_lost_files.py", "golden/test_golden.py",
)  # fmt: skip
ENOUGH = 0.9
IDLE, BUSY, MEMORY = 30, 300, 8 * 2**30  # seconds without and with computing, and bytes of addresses, for a child
TESTED = 5  # seconds; of the tests that run a line, as many are tried as need so long without a fault
QUICK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where syncing takes no time


class Run(NamedTuple):
    """Which tests, by their numbers, run which line of a module, and how long each test takes."""

    lines: dict[str, dict[int, list[int]]]
    seconds: list[float]


class Outcomes:
    """What became of the mutants that were tried, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tests = hashlib.sha256(b"".join(file.read_bytes() for file in test_files())).hexdigest()[:20]
        saved = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        self.known: dict[str, dict[str, Any]] = {one["key"]: one for one in saved}
        self.asked: list[str] = []

    def is_done(self, module: str, number: int) -> bool:
        """Return whether a mutant need not be tried: it was killed, or it survived the same tests."""
        key = hashlib.sha256(f"{module} {number} ".encode() + source_of(module).read_bytes()).hexdigest()[:20]
        self.asked.append(key)
        known = self.known.get(key)
        return known is not None and (known["outcome"] != "survived" or known["tests"] == self.tests)

    def keep(self, module: str, mutant: Mutant, outcome: str) -> None:
        """Note what became of the mutant that was asked for last."""
        key, line = self.asked[-1], mutant.lines.start
        about = {"key": key, "tests": self.tests, "module": module, "line": line, "what": mutant.what}
        self.known[key] = about | {"outcome": outcome}
        with self.path.open("a") as file:
            file.write(json.dumps(self.known[key]) + "\n")
        if outcome == "survived":
            print(f"{module}.py:{line}: {mutant.what}", flush=True)


def tests_of(module: str) -> Path:
    """Return the file of a module's own tests."""
    folder, _, name = module.rpartition("/")
    return ROOT / "tests" / "unit" / folder / f"test_{name}.py"


def test_files() -> list[Path]:
    """Return the files of all tests that mutants meet."""
    mirrored = [path for module in MODULES if (path := tests_of(module)).exists()]
    return mirrored + [ROOT / "tests" / name for name in OTHER_TESTS]


def name_of(module: str) -> str:
    """Return the name that a module is imported by."""
    return f"thresher.{module.replace('/', '.')}"


def source_of(module: str) -> Path:
    """Return the file of a module."""
    return ROOT / "src" / "thresher" / f"{module}.py"


def run_in_child(act: Callable[[], bool], busy: int = BUSY) -> str:
    """Let a child try a mutant; returns "killed" if its tests fail, "late" if they do not end, or "survived"."""
    sys.stdout.flush()
    temporary = tempfile.mkdtemp(prefix="mutant-", dir=QUICK)
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            quiet = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(quiet, number)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (busy, busy))
            tempfile.tempdir = os.environ["TMPDIR"] = temporary
            failed = act()
        except BaseException:
            failed = True
        os._exit(failed)
    busy_at, seen = time.monotonic(), 0
    while not (ended := os.waitpid(pid, os.WNOHANG))[0] and time.monotonic() < busy_at + IDLE:
        time.sleep(0.005)
        if (now := cpu_ticks(pid)) != seen:
            busy_at, seen = time.monotonic(), now
    if not ended[0]:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    shutil.rmtree(temporary, ignore_errors=True)
    if not ended[0] or os.waitstatus_to_exitcode(ended[1]) in (-signal.SIGXCPU, -signal.SIGKILL):
        return "late"
    return "survived" if ended[1] == 0 else "killed"


def cpu_ticks(pid: int) -> int:
    """Return for how long a process of ours has computed, in ticks of the system's."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))


# -- outside of functions --------------------------------------------------------------------------------------------


def own_tests_fail_with(module: str, code: CodeType) -> bool:
    """Return whether one of a module's own tests fails when the module has this code from the start."""
    real = SourceFileLoader.get_code

    def get_code(loader: Any, name: str) -> CodeType | None:
        return code if name == name_of(module) else real(loader, name)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]
    return pytest.main(["-x", "-p", "no:xdist", str(tests_of(module))]) != 0


def try_modules(outcomes: Outcomes, modules: Sequence[str]) -> None:
    """Try the mutants outside of all functions; nothing of the library may have been imported."""
    assert not any(name.startswith("thresher") for name in sys.modules)
    for module in modules:
        plain = compile(source_of(module).read_text(), "plain", "exec")
        assert run_in_child(partial(own_tests_fail_with, module, plain)) == "survived", (
            f"{tests_of(module)} fails by itself"
        )
        for number, mutant in enumerate(mutants(source_of(module).read_text())):
            if not mutant.function and not outcomes.is_done(module, number):
                outcomes.keep(
                    module, mutant, run_in_child(partial(own_tests_fail_with, module, compile_mutant(mutant)))
                )


# -- in functions ----------------------------------------------------------------------------------------------------


class Functions:
    """A plugin of pytest's that does not run the tests once, but again and again, for every mutant in a function."""

    def __init__(self, outcomes: Outcomes, modules: Sequence[str]) -> None:
        self.outcomes, self.modules = outcomes, modules

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try the mutants."""
        usual = run_without_mutants(session.items)
        for module in self.modules:
            for number, mutant in enumerate(mutants(source_of(module).read_text())):
                if mutant.function and not self.outcomes.is_done(module, number):
                    covering = {test for line in mutant.lines for test in usual.lines[module].get(line, [])}
                    mirrored = tests_of(module)
                    tests = sorted(
                        covering, key=lambda test: (session.items[test].path != mirrored, usual.seconds[test])
                    )
                    ends = accumulate(usual.seconds[test] for test in tests)
                    tried = [session.items[test] for test, end in zip(tests, ends, strict=True) if end < TESTED]
                    self.outcomes.keep(module, mutant, try_mutant(module, mutant, tried))
        return True


def try_mutant(module: str, mutant: Mutant, tests: list[pytest.Item]) -> str:
    """Try a mutant on the tests that run its lines."""

    def act() -> bool:
        put_in_place(importlib.import_module(name_of(module)), mutant)
        return any(fails(test, follower) for test, follower in zip(tests, [*tests[1:], None], strict=False))

    return run_in_child(act, 10 * TESTED) if tests else "survived"


def run_without_mutants(tests: list[pytest.Item]) -> Run:
    """Run all tests as they are, in a child: they pass, and which lines they run is noted."""
    path = Path(tempfile.mkdtemp(prefix="mutant-")) / "run.json"

    def act() -> bool:
        files = [str(source_of(module)) for module in MODULES]
        measured = coverage.Coverage(data_file=None, config_file=False, include=files)
        measured.start()
        seconds = []
        for number, test in enumerate(tests):
            measured.switch_context(str(number))
            begun = sum(os.times()[:4])
            if fails(test, tests[number + 1] if number + 1 < len(tests) else None):
                path.write_text(test.nodeid)
                return True
            seconds.append(sum(os.times()[:4]) - begun)
        measured.stop()
        lines = {
            module: measured.get_data().contexts_by_lineno(file) for module, file in zip(MODULES, files, strict=True)
        }
        path.write_text(json.dumps([lines, seconds]))
        return False

    assert run_in_child(act) == "survived", f"without any fault, this fails: {path.read_text()}"
    lines, seconds = json.loads(path.read_text())
    shutil.rmtree(path.parent)
    numbered = {
        module: {int(line): [int(test) for test in tests_of_line if test] for line, tests_of_line in by_line.items()}
        for module, by_line in lines.items()
    }
    return Run(numbered, seconds)


def fails(test: pytest.Item, follower: pytest.Item | None) -> bool:
    """Run one test, and return whether it fails."""
    return any(report.failed for report in runtestprotocol(test, log=False, nextitem=follower))


def put_in_place(module: ModuleType, mutant: Mutant) -> None:
    """Let a function of a module be what it is in a mutant, for everyone who has it."""
    other = ModuleType(module.__name__)
    exec(compile_mutant(mutant), other.__dict__)
    old, new = find_function(module, mutant.function), find_function(other, mutant.function)
    old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__


def find_function(module: ModuleType, name: str) -> Any:
    """Return a function by its name, without what decorators put around it."""
    target: Any = module
    for part in name.split("."):
        target = getattr(target, part)
    return inspect.unwrap(target)


def compile_mutant(mutant: Mutant) -> CodeType:
    """Return the code of a mutant."""
    code: CodeType = compile(ast.unparse(mutant.tree), "mutant", "exec")
    return code


def main() -> int:
    """Try all mutants, print those that survive, and a table."""
    parser = argparse.ArgumentParser(description="Try small faults on the tests.")
    parser.add_argument("modules", nargs="*", default=MODULES, help=f"of {', '.join(MODULES)} (default: all)")
    parser.add_argument("--outcomes", type=Path, default=ROOT / "soak" / "mutants.jsonl", help="file of the outcomes")
    parser.add_argument("--again", action="store_true", help="also try mutants that were tried before")
    options = parser.parse_args()
    options.outcomes.parent.mkdir(exist_ok=True)
    if options.again:
        options.outcomes.unlink(missing_ok=True)
    started, outcomes = time.monotonic(), Outcomes(options.outcomes)
    os.chdir(ROOT)
    try_modules(outcomes, options.modules)
    code = pytest.main(["-p", "no:xdist", *map(str, test_files())], plugins=[Functions(outcomes, options.modules)])
    if code not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
        return 1
    records = [outcomes.known[key] for key in outcomes.asked]
    print(f"{'module':<26}{'mutants':>9}{'killed':>9}{'late':>9}{'survived':>9}")
    shares: dict[str, float] = {}
    for module in (*options.modules, "all"):
        counts = Counter(one["outcome"] for one in records if module in ("all", one["module"]))
        shares[module] = 1 - counts["survived"] / counts.total()
        print(f"{module:<26}{counts.total():>9}{counts['killed']:>9}{counts['late']:>9}{counts['survived']:>9}")
    print(f"figure: {counts.total()} mutants, {shares.pop('all'):.1%} killed, in {time.monotonic() - started:.0f} s")
    print(f"figure: {', '.join(f'{module} {share:.1%}' for module, share in shares.items())}")
    return int(min(shares.values()) < ENOUGH)


if __name__ == "__main__":
    sys.exit(main())
