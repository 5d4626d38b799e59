"""Hold every promise for hours: the faults, fuzzers and attacks of the tests, each many times as often. `make soak`.

Every part is a command with a seed of its own, which is printed and repeats it. What a part came to stands in the
folder of the soak, and a soak that was broken off goes on where it was: a part that passed is not run again, unless the
program has changed, or `--anew` says so. `--markdown` writes the figures into a page, between its marks, where those of
other parts stay.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- soak -->", "<!-- end of soak -->"
HEAD = "| part | figures | seconds | seed | commit | command |", "|---|---|--:|--:|---|---|"
FIGURE = re.compile(r"^figure: (.*)$", re.MULTILINE)
PASSED = re.compile(r"^=.* (\d+) passed", re.MULTILINE)


@dataclass
class Part:
    """One thing to do for long: a command, and what the environment tells it."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def shown(self) -> str:
        """Return the command as a person would type it."""
        return " ".join([*(f"{name}={value}" for name, value in self.environment.items()), *self.command])


@dataclass
class Outcome:
    """What a part came to."""

    name: str
    command: str
    seed: int
    commit: str
    seconds: float
    code: int
    figures: list[str]


def tests(name: str, selected: str, **environment: int | str) -> Part:
    """Return a part that runs tests with other numbers than every test run has."""
    command = ["python", "-m", "pytest", "-s", "-v", *selected.split()]
    return Part(name, command, {f"THRESHER_{key.upper()}": str(value) for key, value in environment.items()})


def fuzzed(target: str, seconds: int = 600) -> Part:
    """Return a part that fuzzes a target."""
    return Part(f"fuzzing {target}", ["python", "tests/fuzz/run.py", target, "--seconds", str(seconds)])


FUZZED = (
    "csv", "tsv", "jsonl", "sgml", "lines", "packed", "parquet", "model", "journal", "records", "corrections", "body",
    "service", "words",
)  # fmt: skip
PARTS = [
    tests("a million corrections", "tests/faults/test_bounded_growth.py", taught=1_000_000),
    tests("kills", "tests/faults/test_kill9.py", kills=2000),
    tests("deaths at every write", "tests/faults/test_kill_at_write.py", every_write=1),
    tests("failpoints", "tests/faults/test_failpoints.py", failpoint_seeds=50),
    tests("order of syncs", "tests/faults/test_fsync_order.py"),
    tests("answers after commits", "tests/faults/test_answer_after_commit.py", pause=500),
    tests("full and failing disks", "tests/faults/test_full_disk.py tests/faults/test_failed_sync.py", every_sync=1),
    tests("shutdowns", "tests/faults/test_shutdown.py", shutdowns=50),
    tests("starts at once", "tests/faults/test_two_processes.py", starts=200),
    tests("backups under load", "tests/faults/test_backup_under_load.py", backups=100),
    tests("damage", "tests/faults/test_damage.py", flips=1002, every_cut=1),
    tests("too little memory", "tests/faults/test_out_of_memory.py", limits=90),
    tests("machine of the desk", "tests/faults/test_desk_machine.py", machines=1000, steps=100),
    tests("machine of the service", "tests/faults/test_service_machine.py", service_machines=200),
    tests(
        "rough clients", "tests/faults/test_rough_clients.py tests/service/test_guards.py", deadline=15, repeats=20000
    ),
    tests("mutants of model files", "tests/fuzz/test_mutants.py", mutants=100_000),
    tests("schemathesis", "tests/service/test_api_schema.py", examples=2000),
    tests("determinism", "tests/contracts/test_determinism.py", matrix="whole", matrix_records=1000),
    tests("bounds of arrays", "tests/contracts/test_kernel_modes.py -k arrays", bounds="whole"),
    tests("races of threads", "tests/contracts/test_races.py", race_seconds=1200),
    tests("cold starts", "tests/unit/kernels/test_cache.py", cold_starts=20),
    Part("coverage", ["python", "tools/covered.py"]),
    Part("mutants of the code", ["python", "tools/mutation.py"]),
    *map(fuzzed, FUZZED),
    Part("known vulnerabilities", ["python", "tools/vulnerabilities.py"]),
]


def run(part: Part, folder: Path) -> Outcome:
    """Run a part, and keep what it printed and what it came to."""
    seed = int(os.environ.get("THRESHER_SEED", random.SystemRandom().randrange(2**32)))
    environment = os.environ | {"THRESHER_SEED": str(seed)} | part.environment
    command = [sys.executable if word == "python" else word for word in part.command]
    begun, log, tested = time.monotonic(), folder / f"{file_name(part)}.txt", commit()
    with log.open("w") as file:
        code = subprocess.run(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        ).returncode
    said = log.read_text(errors="replace")
    figures = FIGURE.findall(said) or [f"{count} tests" for count in PASSED.findall(said)]
    outcome = Outcome(part.name, part.shown(), seed, tested, round(time.monotonic() - begun, 1), code, figures)
    (folder / f"{file_name(part)}.json").write_text(json.dumps(asdict(outcome), indent=1) + "\n")
    return outcome


def known(part: Part, folder: Path) -> Outcome | None:
    """Return what a part came to before, if it passed, was asked the same, and the program is the same."""
    path = folder / f"{file_name(part)}.json"
    if not path.exists():
        return None
    outcome = Outcome(**json.loads(path.read_text()))
    return outcome if outcome.code == 0 and outcome.command == part.shown() and has_program(outcome.commit) else None


def has_program(commit: str) -> bool:
    """Tell whether the program is now what it was at a commit, whatever became of tests and pages."""
    if not commit or commit.endswith("+"):
        return False
    return (
        subprocess.run(["git", "diff", "--quiet", commit, "--", "src"], cwd=ROOT, capture_output=True).returncode == 0
    )


def file_name(part: Part) -> str:
    """Return a part's name as that of a file."""
    return re.sub(r"\W+", "-", part.name)


def commit() -> str:
    """Return the commit that is tested, with a plus where files differ from it; nothing outside a repository."""
    try:
        said = subprocess.run(["git", "describe", "--always", "--dirty=+"], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return said.stdout.strip()


def line_of(outcome: Outcome) -> str:
    """Return a part and what it came to, in a line."""
    said = "; ".join(outcome.figures) or "passed"
    return f"{outcome.name}: {said if outcome.code == 0 else f'FAILED ({outcome.code})'} ({outcome.seconds:.0f} s)"


def row_of(outcome: Outcome) -> str:
    """Return a part and what it came to, as a row of the table."""
    figures = "; ".join(outcome.figures) or "passed"
    told = [outcome.name, figures, f"{outcome.seconds:.0f}", str(outcome.seed), outcome.commit, f"`{outcome.command}`"]
    return f"| {' | '.join(told)} |"


def write_table(page: Path, outcomes: Sequence[Outcome]) -> None:
    """Put the outcomes into the table between its marks on a page; a part not run keeps its row."""
    before, rest = page.read_text().split(BEGIN)
    written, after = rest.split(END)
    rows = {row.split(" | ")[0].removeprefix("| "): row for row in written.splitlines() if row.startswith("| ")}
    rows |= {outcome.name: row_of(outcome) for outcome in outcomes}
    kept = [row for part in PARTS if f"`{part.shown()}`" in (row := rows.get(part.name, ""))]
    page.write_text("\n".join([before + BEGIN, *HEAD, *kept, END + after]))


def main() -> int:
    """Run the parts that are asked for, two at a time."""
    parser = argparse.ArgumentParser(description="Run faults, fuzzers and attacks for long.")
    parser.add_argument("parts", nargs="*", help="some of the parts, by the beginnings of their names (default: all)")
    parser.add_argument("--list", action="store_true", help="name the parts and their commands, and run nothing")
    parser.add_argument("--folder", type=Path, default=ROOT / "soak", help="where logs and outcomes are kept")
    parser.add_argument("--anew", action="store_true", help="run again what has passed before")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many parts to run at a time")
    parser.add_argument("--markdown", type=Path, help="a page that gets the table of figures")
    asked = parser.parse_args()
    chosen = [part for part in PARTS if not asked.parts or part.name.startswith(tuple(asked.parts))]
    if asked.list:
        print("\n".join(f"{part.name}: {part.shown()}" for part in chosen))
        return 0
    asked.folder.mkdir(exist_ok=True)
    before = {} if asked.anew else {part.name: done for part in chosen if (done := known(part, asked.folder))}
    for outcome in before.values():
        print(f"before: {line_of(outcome)}", flush=True)

    def told(part: Part) -> Outcome:
        outcome = run(part, asked.folder)
        print(f"{line_of(outcome)}  THRESHER_SEED={outcome.seed}", flush=True)
        if outcome.code != 0:
            print(f"  see {asked.folder / file_name(part)}.txt", flush=True)
        return outcome

    with ThreadPoolExecutor(asked.jobs) as pool:
        found = list(pool.map(lambda part: before.get(part.name) or told(part), chosen))
    if asked.markdown is not None and all(outcome.code == 0 for outcome in found):
        write_table(asked.markdown, found)
    return int(any(outcome.code != 0 for outcome in found))


if __name__ == "__main__":
    sys.exit(main())
