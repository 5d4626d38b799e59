"""Measure whether probabilities mean what they say: the expected calibration error for each goal of the thresholds.

    THRESHER_DATA=FOLDER .venv/bin/python benchmarks/calibration.py [--collections NAME,...] [--test]

FOLDER holds reuters21578.tar.xz, debtags.tar.xz and intents.tar.xz. Each collection is trained on four fifths of its
training documents and asked about the last fifth, five times in turn; debtags once. With `--test` it is trained on all
of them and asked about the test documents. The error is that of the pairs of a document and a
category with a probability of at least 0.05, in ten bins.
"""

import argparse
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thresher import Categorizer, Document, read_documents

GOALS = ("f1", "macro-f1", "break-even", "precision:0.95", "recall:0.95")
COLLECTIONS = ("aptemod", "modapte90", "debtags", "banking77", "sample", "sample:200", "sample:100")
LEAST, BINS, FOLDS = 0.05, 10, 5


def read(collection: str, part: str) -> list[Document]:
    """Return the documents of a part, "train" or "test"; a number after the name keeps as many."""
    name, _, most = collection.partition(":")
    if name in ("aptemod", "modapte90"):
        return list(read_documents(f"reuters21578:{name}:{part}"))
    if name == "sample":
        documents = list(read_documents(f"sample:{part}"))
        return documents[: int(most)] if most and part == "train" else documents
    archive, member = ("intents", f"{name}/{part}.jsonl") if name == "banking77" else (name, f"{part}.jsonl")
    with tarfile.open(Path(os.environ["THRESHER_DATA"], f"{archive}.tar.xz")) as file:
        packed = file.extractfile(member)
        assert packed is not None
        return list(read_documents(io.BytesIO(packed.read()), format="jsonl"))


def split(collection: str, is_test: bool) -> Iterator[tuple[list[Document], list[Document]]]:
    """Yield the documents to train with and those to ask about."""
    documents = read(collection, "train")
    if is_test:
        yield documents, read(collection, "test")
        return
    for fold in range(1 if collection == "debtags" else FOLDS):
        yield [one for i, one in enumerate(documents) if i % FOLDS != fold], documents[fold::FOLDS]


def measure_error(said: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[float, int]:
    """Return the expected calibration error of the pairs with a probability of at least LEAST, and their number."""
    said, right = said[said >= LEAST], right[said >= LEAST]
    bins = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    gaps = [abs(said[bins == number].sum() - np.count_nonzero(right[bins == number])) for number in range(BINS)]
    return sum(gaps) / max(len(said), 1), len(said)


def measure(collection: str, goal: str, is_test: bool) -> tuple[float, int, float]:
    """Return the calibration error of a collection and a goal, the number of pairs, and the Brier score of all."""
    said, right = list[NDArray[np.float64]](), list[NDArray[np.bool_]]()
    for taught, asked in split(collection, is_test):
        model = Categorizer(thresholds=goal)
        model.fit([one.content for one in taught], [one.categories for one in taught])
        said.append(model.predict_proba([one.content for one in asked]).ravel())
        known = [[name in one.categories for name in model.categories] for one in asked]
        right.append(np.array(known, dtype=np.bool_).ravel())
    chances, truth = np.concatenate(said), np.concatenate(right)
    return *measure_error(chances, truth), float(((chances - truth) ** 2).mean())


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    parser.add_argument("--test", action="store_true")
    given = parser.parse_args()
    print(f"| collection | {' | '.join(GOALS)} | pairs | Brier |")
    print(f"|---|{'--:|' * (len(GOALS) + 2)}")
    for collection in given.collections.split(","):
        found = [measure(collection, goal, given.test) for goal in GOALS]
        errors = " | ".join(f"{error:.3f}" for error, _, _ in found)
        print(f"| {collection} | {errors} | {found[0][1]:,} | {found[0][2]:.5f} |", flush=True)


if __name__ == "__main__":
    main()
