"""Compare reading of JSON lines with polars on one core: megabytes per second, memory, and time per step.

python benchmarks/reading.py [--megabytes 1000]

Each reader runs in a process of its own, in turns. Memory is the highest resident size above that after the imports.
Polars holds the whole table at the end; ours has passed each document on.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from statistics import median

import orjson

from thresher.datasets.lines import Lines
from thresher.datasets.options import ReadOptions
from thresher.datasets.reader import read_documents

TURNS = 3


def main() -> None:
    """Write the file, run each reader in turns, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--run", choices=RUNS)
    parser.add_argument("--path", type=Path)
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(measure(arguments.run, arguments.path)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.jsonl"
        write(path, arguments.megabytes * 10**6)
        size = path.stat().st_size / 1e6
        print(f"{size:,.0f} MB of JSONL, one core, medians of {TURNS} turns")
        results: dict[str, list[dict[str, float]]] = {name: [] for name in RUNS}
        for _ in range(TURNS):
            for name in RUNS:
                results[name].append(in_process(name, path))
        for name, runs in results.items():
            seconds, memory = (median(run[key] for run in runs) for key in ("seconds", "megabytes"))
            print(f"{name:28} {size / seconds:7.0f} MB/s  {seconds:6.2f} s  {memory:8.0f} MB of memory")


def write(path: Path, size: int) -> None:
    """Fill a file with documents, each with a text of its own."""
    source = "reuters21578:all" if os.environ.get("THRESHER_DATA") else "sample:train"
    documents = [(d.id, d.text, d.categories) for d in read_documents(source)]
    with path.open("wb") as file:
        for number, (name, text, categories) in enumerate(cycle(documents)):
            record = {"id": f"{name}-{number}", "text": f"{number} {text}", "categories": categories}
            file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            if number % 1000 == 0 and file.tell() >= size:
                return


def in_process(name: str, path: Path) -> dict[str, float]:
    """Run one reader in a process of its own."""
    command = [sys.executable, __file__, "--run", name, "--path", str(path)]
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def measure(name: str, path: Path) -> dict[str, float]:
    """Time one reader in this process."""
    if name == "polars.read_ndjson":
        import polars  # noqa: F401
    before = peak_megabytes()
    start = time.perf_counter()
    RUNS[name](path)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "megabytes": peak_megabytes() - before}


def peak_megabytes() -> float:
    """Return the highest resident size of this process; getrusage would count that of the process which started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _documents(path: Path) -> None:
    exhaust(iter(read_documents(path)))


def _lines(path: Path) -> None:
    exhaust(iter(Lines(path, ReadOptions())))


def _lines_and_json(path: Path) -> None:
    for _, line in Lines(path, ReadOptions()):
        if isinstance(line, bytes):
            orjson.loads(line)


def _standard_json(path: Path) -> None:
    for _, line in Lines(path, ReadOptions()):
        if isinstance(line, bytes):
            json.loads(line)


def _polars(path: Path) -> None:
    import polars

    polars.read_ndjson(path)


def exhaust(items: Iterator[object]) -> None:
    """Take every item, and keep none."""
    for _ in items:
        pass


RUNS = {
    "read_documents": _documents,
    "polars.read_ndjson": _polars,
    "of ours: lines": _lines,
    "of ours: lines and orjson": _lines_and_json,
    "lines and the standard json": _standard_json,
}

if __name__ == "__main__":
    main()
