"""Run the tests and see which lines and branches of the library they do not run.

Kernels are compiled, and then nobody sees what runs: their tests run once more uncompiled, here or in
`test_kernel_modes`. The tests of `tests/faults` are left out, as processes that are killed tell nothing, and telling is
writing, which strace would count; and one that allows no time for being watched.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "soak" / "coverage"
WHOLE = (
    "journal/active_corrections",
    "journal/database",
    "journal/effects",
    "journal/event_log",
    "journal/facts",
    "journal/journal",
    "journal/journaled_model",
    "journal/lock",
    "journal/prepared_correction",
    "journal/record",
    "journal/record_queries",
    "journal/recovery",
    "journal/replay",
    "journal/review_queue",
    "journal/schema",
    "journal/snapshots",
    "model_file/header",
    "model_file/io",
    "support/atomic_file",
)  # all of it is run
USUAL = [
    "-n",
    "2",
    "--ignore",
    "tests/faults",
    "--deselect",
    "tests/unit/datasets/corpora/test_reuters_sgml.py::test_a_million_nested_tags_are_refused_quickly",
]
ENOUGH, LITTLE = 90.0, 85.0  # % of the library, and of a module below which it is listed
UNCOMPILED = [
    f"tests/unit/{name}.py"
    for name in ("text/test_analysers", "model/test_decisions", "rows/test_folds", "rows/test_validation")
]  # others: test_kernel_modes


def run(*arguments: str, **environment: str) -> int:
    """Run coverage, with its data in the folder."""
    settings = os.environ | {"COVERAGE_FILE": str(FOLDER / "data")} | environment
    return subprocess.run([sys.executable, "-m", "coverage", *arguments], cwd=ROOT, env=settings).returncode


def format_line(name: str, summary: dict[str, Any]) -> str:
    """Return a line of the table, and what is missing where that should be nothing."""
    branches = f"{summary['covered_branches']}/{summary['num_branches']}"
    lines = f"{summary['covered_lines']}/{summary['num_statements']}"
    return f"{name:<44}{lines:>14}{branches:>14}{summary['percent_covered']:>8.1f} %"


def main() -> int:
    """Run the tests and print the table."""
    parser = argparse.ArgumentParser(description="See which lines and branches the tests do not run.")
    parser.add_argument("--report", action="store_true", help="print the table of the last run alone")
    parser.add_argument("tests", nargs="*", default=USUAL, help="arguments of pytest")
    asked = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed = 0
    if not asked.report:
        run("erase")
        failed = run("run", "-m", "pytest", *asked.tests)
        failed |= run("run", "-m", "pytest", *UNCOMPILED, NUMBA_DISABLE_JIT="1")
        run("combine", "--quiet")
    run("json", "--quiet", "-o", str(FOLDER / "report.json"))
    report = json.loads((FOLDER / "report.json").read_text())
    modules = {Path(path.removeprefix("src/thresher/")): coverage for path, coverage in report["files"].items()}
    wanting = []
    print(f"{'module':<44}{'lines':>14}{'branches':>14}")
    for name, coverage in sorted(modules.items()):
        whole, share = str(name.with_suffix("")) in WHOLE, coverage["summary"]["percent_covered"]
        if whole or share < LITTLE:
            print(format_line(str(name), coverage["summary"]))
        if whole and share < 100:
            wanting.append(
                f"{name}: lines {coverage['missing_lines']}, branches {coverage['missing_branches']} are not run"
            )
    print(format_line("all", report["totals"]))
    share = report["totals"]["percent_covered"]
    print("\n".join(wanting) or f"figure: every branch of {', '.join(WHOLE)}; {share:.1f} % of all lines and branches")
    return int(failed != 0 or bool(wanting) or share < ENOUGH)


if __name__ == "__main__":
    sys.exit(main())
