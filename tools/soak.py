"""Hold every promise for hours: the faults, fuzzers and attacks of the tests, each many times as often. `make soak`.

Each part is a command with its own seed, which is printed and repeats the part. The outcome of each part is a file in
the folder of the soak, so an interrupted soak continues where it stopped: a part that passed is run again only if the
program has changed, or with `--again`. `--markdown` writes the figures into a page, between its marks; the figures of
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
    """A command to run for a long time, and its environment variables."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def command_line(self) -> str:
        """Return the command as a person would type it."""
        return " ".join([*(f"{name}={value}" for name, value in self.environment.items()), *self.command])


@dataclass
class Outcome:
    """The outcome of a part."""

    name: str
    command: str
    seed: int
    commit: str
    seconds: float
    code: int
    figures: list[str]


def test_part(name: str, selected: str, **environment: int | str) -> Part:
    """Return a part that runs tests with larger numbers than usual."""
    command = ["python", "-m", "pytest", "-s", "-v", *selected.split()]
    return Part(name, command, {f"THRESHER_{key.upper()}": str(value) for key, value in environment.items()})


def fuzz_part(target: str, seconds: int = 600) -> Part:
    """Return a part that fuzzes a target."""
    return Part(f"fuzzing {target}", ["python", "tests/fuzz/run.py", target, "--seconds", str(seconds)])


FUZZ_TARGETS = (
    "csv", "tsv", "jsonl", "sgml", "lines", "packed", "parquet", "model", "journal", "records", "corrections", "body",
    "service", "words",
)  # fmt: skip
PARTS = [
    test_part("a million corrections", "tests/faults/test_bounded_growth.py", taught=1_000_000),
    test_part("kills", "tests/faults/test_kill9.py", kills=2000),
    test_part("deaths at every write", "tests/faults/test_kill_at_write.py", every_write=1),
    test_part("failpoints", "tests/faults/test_failpoints.py", failpoint_seeds=50),
    test_part("order of syncs", "tests/faults/test_fsync_order.py"),
    test_part("answers after commits", "tests/faults/test_answer_after_commit.py", pause=500),
    test_part(
        "full and failing disks", "tests/faults/test_full_disk.py tests/faults/test_failed_sync.py", every_sync=1
    ),
    test_part("shutdowns", "tests/faults/test_shutdown.py", shutdowns=50),
    test_part("starts at once", "tests/faults/test_two_processes.py", starts=200),
    test_part("backups under load", "tests/faults/test_backup_under_load.py", backups=100),
    test_part("damage", "tests/faults/test_damage.py", flips=1002, every_cut=1),
    test_part("too little memory", "tests/faults/test_out_of_memory.py", limits=90),
    test_part("machine of the desk", "tests/faults/test_desk_machine.py", machines=1000, steps=100),
    test_part("machine of the service", "tests/faults/test_service_machine.py", service_machines=200),
    test_part(
        "rough clients", "tests/faults/test_rough_clients.py tests/service/test_guards.py", deadline=15, repeats=20000
    ),
    test_part("mutants of model files", "tests/fuzz/test_mutants.py", mutants=100_000),
    test_part("schemathesis", "tests/service/test_api_schema.py", examples=2000),
    test_part("determinism", "tests/contracts/test_determinism.py", matrix="whole", matrix_records=1000),
    test_part("bounds of arrays", "tests/contracts/test_kernel_modes.py -k arrays", bounds="whole"),
    test_part("races of threads", "tests/contracts/test_races.py", race_seconds=1200),
    test_part("cold starts", "tests/unit/kernels/test_cache.py", cold_starts=20),
    Part("coverage", ["python", "tools/covered.py"]),
    Part("mutants of the code", ["python", "tools/mutation.py"]),
    *map(fuzz_part, FUZZ_TARGETS),
    Part("known vulnerabilities", ["python", "tools/vulnerabilities.py"]),
]


def run(part: Part, folder: Path) -> Outcome:
    """Run a part, and save its output and its outcome."""
    seed = int(os.environ.get("THRESHER_SEED", random.SystemRandom().randrange(2**32)))
    environment = os.environ | {"THRESHER_SEED": str(seed)} | part.environment
    command = [sys.executable if word == "python" else word for word in part.command]
    started, log, tested = time.monotonic(), folder / f"{file_name(part)}.txt", tested_commit()
    with log.open("w") as file:
        code = subprocess.run(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        ).returncode
    output = log.read_text(errors="replace")
    figures = FIGURE.findall(output) or [f"{count} tests" for count in PASSED.findall(output)]
    outcome = Outcome(part.name, part.command_line(), seed, tested, round(time.monotonic() - started, 1), code, figures)
    (folder / f"{file_name(part)}.json").write_text(json.dumps(asdict(outcome), indent=1) + "\n")
    return outcome


def find_passed(part: Part, folder: Path) -> Outcome | None:
    """Return the earlier outcome of a part, if it passed with the same command and the same program."""
    path = folder / f"{file_name(part)}.json"
    if not path.exists():
        return None
    outcome = Outcome(**json.loads(path.read_text()))
    return (
        outcome
        if outcome.code == 0 and outcome.command == part.command_line() and has_program(outcome.commit)
        else None
    )


def has_program(commit: str) -> bool:
    """Return whether the program is unchanged since a commit; tests and pages may differ."""
    if not commit or commit.endswith("+"):
        return False
    return (
        subprocess.run(["git", "diff", "--quiet", commit, "--", "src"], cwd=ROOT, capture_output=True).returncode == 0
    )


def file_name(part: Part) -> str:
    """Return a part's name as that of a file."""
    return re.sub(r"\W+", "-", part.name)


def tested_commit() -> str:
    """Return the commit that is tested, with a plus where files differ from it; nothing outside a repository."""
    try:
        said = subprocess.run(["git", "describe", "--always", "--dirty=+"], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return said.stdout.strip()


def format_line(outcome: Outcome) -> str:
    """Return an outcome as a line."""
    said = "; ".join(outcome.figures) or "passed"
    return f"{outcome.name}: {said if outcome.code == 0 else f'FAILED ({outcome.code})'} ({outcome.seconds:.0f} s)"


def format_row(outcome: Outcome) -> str:
    """Return an outcome as a row of the table."""
    figures = "; ".join(outcome.figures) or "passed"
    cells = [outcome.name, figures, f"{outcome.seconds:.0f}", str(outcome.seed), outcome.commit, f"`{outcome.command}`"]
    return f"| {' | '.join(cells)} |"


def write_table(page: Path, outcomes: Sequence[Outcome]) -> None:
    """Write the outcomes into the table between its marks on a page; a part that was not run keeps its row."""
    before, rest = page.read_text().split(BEGIN)
    written, after = rest.split(END)
    rows = {row.split(" | ")[0].removeprefix("| "): row for row in written.splitlines() if row.startswith("| ")}
    rows |= {outcome.name: format_row(outcome) for outcome in outcomes}
    current = [row for part in PARTS if f"`{part.command_line()}`" in (row := rows.get(part.name, ""))]
    page.write_text("\n".join([before + BEGIN, *HEAD, *current, END + after]))


def main() -> int:
    """Run the parts that are asked for, two at a time."""
    parser = argparse.ArgumentParser(description="Run faults, fuzzers and attacks for a long time.")
    parser.add_argument("parts", nargs="*", help="some of the parts, by the beginnings of their names (default: all)")
    parser.add_argument("--list", action="store_true", help="name the parts and their commands, and run nothing")
    parser.add_argument("--folder", type=Path, default=ROOT / "soak", help="where logs and outcomes are saved")
    parser.add_argument("--again", action="store_true", help="also run parts that passed before")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many parts to run at a time")
    parser.add_argument("--markdown", type=Path, help="a page that gets the table of figures")
    options = parser.parse_args()
    chosen = [part for part in PARTS if not options.parts or part.name.startswith(tuple(options.parts))]
    if options.list:
        print("\n".join(f"{part.name}: {part.command_line()}" for part in chosen))
        return 0
    options.folder.mkdir(exist_ok=True)
    before = (
        {} if options.again else {part.name: done for part in chosen if (done := find_passed(part, options.folder))}
    )
    for outcome in before.values():
        print(f"before: {format_line(outcome)}", flush=True)

    def run_and_report(part: Part) -> Outcome:
        outcome = run(part, options.folder)
        print(f"{format_line(outcome)}  THRESHER_SEED={outcome.seed}", flush=True)
        if outcome.code != 0:
            print(f"  see {options.folder / file_name(part)}.txt", flush=True)
        return outcome

    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda part: before.get(part.name) or run_and_report(part), chosen))
    if options.markdown is not None and all(outcome.code == 0 for outcome in outcomes):
        write_table(options.markdown, outcomes)
    return int(any(outcome.code != 0 for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
