"""Compare training on a Dask cluster with training in one process: speed, time per stage, and memory.

THRESHER_DATA=FOLDER .venv/bin/python benchmarks/cluster.py [--parts speed,memory] [--markdown docs/cluster.md]

FOLDER holds reuters21578.tar.xz. The documents come from `synthetic_documents.py`, as files of JSON lines.
`speed` trains 200 categories here with one thread, and on clusters of one and two processes of one thread each.
`memory` trains a corpus four times as large as what a worker may take.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from pages import write_between
from synthetic_documents import draw, reuters
from thresher import Categorizer
from thresher.cluster.clients import Cluster
from thresher.cluster.partitions import partitions_of
from thresher.cluster.training import fit
from thresher.datasets.reader import read_documents
from thresher.support.progress import Step

PARTS = ("speed", "memory")
CATEGORIES, DOCUMENTS, FILES = 200, 40_000, 8
LIMIT = 600  # MB that a worker may take
ROUNDS = 3


def write_corpus(folder: Path, n_documents: int, n_categories: int, n_files: int) -> int:
    """Write drawn documents into files, and return their size in bytes."""
    drawn = draw(reuters(), n_documents, n_categories)
    for i in range(n_files):
        with (folder / f"part-{i:03}.jsonl").open("w", encoding="utf-8") as file:
            for _ in range(n_documents // n_files):
                text, labels = next(drawn)
                file.write(json.dumps({"text": text, "categories": labels}) + "\n")
    return sum(file.stat().st_size for file in folder.iterdir())


class Stages:
    """The seconds of each stage, measured by progress reports."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def __call__(self, step: Step) -> None:
        """Record a report."""
        now = time.perf_counter()
        self.seconds[step.stage] = self.seconds.get(step.stage, 0.0) + now - self._last
        self._last = now


def speed(folder: Path) -> str:
    """Train here and there in turns, on one cluster after the other."""
    size = write_corpus(folder, DOCUMENTS, CATEGORIES, FILES)
    parts, stages, digests = partitions_of(str(folder)), Stages(), set[str]()
    settings: dict[str, Any] = {"preset": "fast", "n_threads": 1}
    lines = ["| | seconds there | seconds here, one thread | times here |", "|---|---:|---:|---:|"]
    for name, n_workers in (("one process", 1), ("two processes", 2)):
        here, there = list[float](), list[float]()
        with Cluster("local", n_workers=n_workers) as cluster:
            for _ in range(ROUNDS + 1):
                start = time.perf_counter()
                digests.add(train_here(folder, settings))
                here.append(time.perf_counter() - start)
                start, stages = time.perf_counter(), Stages()
                digests.add(fit(Categorizer(**settings), parts, cluster, progress=stages).digest())
                there.append(time.perf_counter() - start)
        ratio = median(a / b for a, b in zip(here[1:], there[1:], strict=True))
        lines.append(f"| a cluster of {name} | {median(there[1:]):.1f} | {median(here[1:]):.1f} | {ratio:.2f} |")
    assert len(digests) == 1
    what = f"{DOCUMENTS:,} documents ({size / 1e6:.0f} MB), {CATEGORIES} categories, preset `fast`, the same digest:\n"
    stage_times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in stages.seconds.items())
    return "\n".join([what, *lines, f"\nThe stages with two processes, the last time: {stage_times}."])


def train_here(folder: Path, settings: dict[str, Any]) -> str:
    """Read the files and train in this process; returns the digest."""
    documents = [document for file in sorted(folder.iterdir()) for document in read_documents(str(file))]
    return Categorizer(**settings).fit([d.text for d in documents], [d.categories for d in documents]).digest()


def memory(folder: Path) -> str:
    """Train a corpus that is far larger than what a worker may take."""
    n_files = 64
    n_documents = 40_000
    size = write_corpus(folder, n_documents, 20, n_files)
    copies = -(-4 * LIMIT * 10**6 // size)
    for copy in range(1, copies):
        for i in range(n_files):
            (folder / f"part-{i:03}-{copy}.jsonl").hardlink_to(folder / f"part-{i:03}.jsonl")
    total = copies * size
    settings: dict[str, Any] = {"preset": "paper", "max_passes": 3, "memory": "50MB"}
    with Cluster("local", n_workers=2, memory_limit=f"{LIMIT}MB") as cluster:
        before = max(cluster.peaks().values())
        start = time.perf_counter()
        model = fit(Categorizer(**settings), partitions_of(str(folder)), cluster)
        seconds, peaks = time.perf_counter() - start, sorted(cluster.peaks().values())
    megabytes = ", ".join(f"{peak / 1e6:.0f}" for peak in peaks)
    documents = model.state.features.n_documents
    return (
        f"{total / 1e9:.1f} GB of documents ({documents:,}, in {copies * n_files} files), two workers "
        f"that may take {LIMIT} MB each, preset `paper`, 3 passes: {seconds:.0f} s; "
        f"the largest memory that each took was {megabytes} MB, of which {before / 1e6:.0f} MB before it began."
    )


def main() -> None:
    """Run the parts asked for, and show them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    for part in given.parts.split(","):
        with tempfile.TemporaryDirectory() as folder:
            text = globals()[part](Path(folder))
        print(f"{part}\n{text}\n", flush=True)
        if given.markdown:
            write_between(given.markdown, part, f"{text}\n")


if __name__ == "__main__":
    main()
