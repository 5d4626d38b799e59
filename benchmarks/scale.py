"""Measure how time and memory grow with documents, categories and features.

    THRESHER_DATA=FOLDER .venv/bin/python benchmarks/scale.py [--curves documents,categories,features]
        [--largest N] [--markdown FILE]

FOLDER holds reuters21578.tar.xz. The documents come from `synthetic_documents.py`. Each point trains in its own
process, from a file of JSON lines as `thresher train` reads it, and reports seconds and peak memory; the
exponent is that of the straight line through the points on logarithmic axes, from the third on.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pages import write_between
from synthetic_documents import draw, reuters

PREDICTED = 2000  # documents to predict at each point


class Point(NamedTuple):
    """The size, seconds and memory of one training."""

    size: int
    documents: int
    categories: int
    features: int
    read: float
    fit: float
    peak: float  # megabytes
    predict: float  # microseconds a document


class Curve(NamedTuple):
    """A quantity that grows: its sizes, and the documents, categories and settings of each size."""

    name: str
    sizes: tuple[int, ...]
    preset: str

    def documents(self, size: int) -> int:
        """Return how many documents a point has."""
        return size if self.name == "documents" else 100_000 if self.name == "categories" else 50_000

    def categories(self, size: int) -> int:
        """Return how many categories."""
        return size if self.name == "categories" else 100

    def settings(self, size: int) -> dict[str, Any]:
        """Return the model's settings."""
        if self.name == "features":
            return {"preset": self.preset, "analyser": "words+ngrams:3", "min_count": 1, "max_features": size}
        return {"preset": self.preset}


CURVES = {
    "documents": Curve("documents", (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000), "default"),
    "categories": Curve("categories", (10, 100, 1_000, 10_000, 100_000), "fast"),
    "features": Curve("features", (10_000, 100_000, 1_000_000, 10_000_000), "fast"),
}


def points(curve: Curve, largest: int, folder: Path) -> Iterator[Point]:
    """Yield the points of a curve, each from a process of its own."""
    drawing = reuters()
    for size in curve.sizes:
        if size > largest:
            continue
        path = folder / f"{curve.name}-{size}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for text, labels in draw(drawing, curve.documents(size), curve.categories(size)):
                file.write(json.dumps({"text": text, "labels": labels}) + "\n")
        given = json.dumps(curve.settings(size))
        command = [sys.executable, __file__, "--point", str(path), "--settings", given]
        yield Point(size, *json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        path.unlink()


def measure(path: Path, settings: dict[str, Any]) -> list[float]:
    """Train on a file, and return the point without its size."""
    from thresher import Categorizer
    from thresher.datasets.reader import read_documents
    from thresher.rows.spilled import SpillingTexts

    warm = [document for document, _ in zip(read_documents(str(path)), range(300), strict=False)]
    few = Categorizer(**settings).fit([document.text for document in warm], [document.categories for document in warm])
    few.predict([document.text for document in warm])
    start = time.perf_counter()
    texts, categories = SpillingTexts(limit=32_000_000), []
    for document in read_documents(str(path)):
        texts.append(document.text)
        categories.append(document.categories)
    read = time.perf_counter() - start
    start = time.perf_counter()
    model = Categorizer(**settings).fit(texts, categories)
    fit = time.perf_counter() - start
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1000
    some = list(islice(texts, PREDICTED))
    model.predict(some)
    start = time.perf_counter()
    model.predict(some)
    predict = (time.perf_counter() - start) / len(some) * 1e6
    return [len(texts), len(model.categories), model.state.features.vocabulary.count, read, fit, peak, predict]


def exponent(sizes: list[float], values: list[float]) -> float:
    """Return the slope of the line through the points on logarithmic axes.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 3)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def format_lines(curve: Curve, points_so_far: list[Point]) -> list[str]:
    """Return a curve as a table in Markdown, with the exponents below."""
    lines = [
        f"**{curve.name}**, preset `{curve.preset}`\n",
        "| documents | categories | features | read, s | fit, s | peak, MB | predict, µs a document |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for point in points_so_far:
        counts = f"{point.documents:,} | {point.categories:,} | {point.features:,}"
        lines.append(f"| {counts} | {point.read:.1f} | {point.fit:.1f} | {point.peak:,.0f} | {point.predict:.1f} |")
    late = points_so_far[2:] if len(points_so_far) > 4 else points_so_far
    if len(late) > 1:
        sizes = [float(point.categories if curve.name == "categories" else point.size) for point in late]
        measures = {
            "read and fit": [point.read + point.fit for point in late],
            "peak memory": [point.peak for point in late],
            "prediction": [point.predict for point in late],
        }
        slopes = ", ".join(f"{name} {exponent(sizes, values):.2f}" for name, values in measures.items())
        lines.append(f"\nExponents from {int(sizes[0]):,} {curve.name} on: {slopes}.")
    return [*lines, ""]


def main() -> None:
    """Run the curves, print them, and write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--curves", default=",".join(CURVES))
    parser.add_argument("--largest", type=int, default=10**7)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--point", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--settings", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        print(json.dumps(measure(options.point, options.settings)))
        return
    lines: list[str] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for name in options.curves.split(","):
            points_so_far = []
            for point in points(CURVES[name], options.largest, Path(folder)):
                points_so_far.append(point)
                print(point, flush=True)
            print("\n".join(format_lines(CURVES[name], points_so_far)), flush=True)
            lines += format_lines(CURVES[name], points_so_far)
    if options.markdown:
        write_between(options.markdown, "scale", "\n".join(lines))


if __name__ == "__main__":
    main()
