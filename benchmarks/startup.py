"""Measure how long the command takes to start: `--help`, and the prediction of one document, next to their aims.

python benchmarks/startup.py [--runs 9]

Times are of the CPU, of the user and of the system, the median of several runs with kernels compiled before. Below each
are the slowest imports, by `python -X importtime`: seconds of a package with all that it imports.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

AIMS = {"help": 0.4, "predict": 1.2}
COMMAND = [sys.executable, "-m", "thresher"]
SHOWN = 8


def main() -> None:
    """Train a small model, and measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        model, data = Path(folder, "desk.thresher"), Path(folder, "one.jsonl")
        data.write_text(json.dumps({"text": "The lamp outside my house is dark again"}))
        cpu_seconds(["train", "sample:train", "-o", str(model)])
        for name, arguments in (("help", ["--help"]), ("predict", ["predict", str(model), str(data)])):
            cpu_seconds(arguments)
            times = [cpu_seconds(arguments) for _ in range(runs)]
            print(f"{name:8} {median(times):.2f} s (aim {AIMS[name]} s; {min(times):.2f} to {max(times):.2f})")
            for package, seconds in slowest_imports(arguments):
                print(f"         {seconds:.2f} s  {package}")


def cpu_seconds(arguments: list[str]) -> float:
    """Return the CPU time that the command takes."""
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def slowest_imports(arguments: list[str]) -> list[tuple[str, float]]:
    """Return the packages whose imports take longest, with their seconds."""
    line = [sys.executable, "-X", "importtime", *COMMAND[1:], *arguments]
    printed = subprocess.run(line, capture_output=True, text=True, check=True).stderr
    seconds: dict[str, float] = {}
    for row in printed.splitlines()[1:]:
        _, cumulative, name = row.removeprefix("import time:").split("|")
        package = name.strip()
        if "." not in package:
            seconds[package] = int(cumulative) / 1e6
    return sorted(seconds.items(), key=lambda item: -item[1])[:SHOWN]


if __name__ == "__main__":
    main()
