"""The tasks that workers run. Arguments and results are small; large arrays are files in the shared folder."""

import os
import resource
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.cluster import shared_arrays
from thresher.cluster.partitions import as_documents
from thresher.datasets.category_names import normalize_categories
from thresher.datasets.document import Document
from thresher.kernels.csr import Labels, Rows
from thresher.kernels.dense_weights import Steps
from thresher.kernels.mistake_driven import Examples
from thresher.kernels.tokenizer import NONE, Tokens
from thresher.learners.training import Plan, Trained, train_group
from thresher.model.factories import new_features, new_learner
from thresher.model.settings import WEIGHED, ModelSettings
from thresher.rows.labels import select_labels
from thresher.rows.spilled import SpillingArray, count_documents_by_feature
from thresher.rows.validation import select_rows, to_strengths
from thresher.text.analysers import Text
from thresher.text.tfidf import weigh_rows
from thresher.text.tokens import gather_names
from thresher.text.vectorizer import convert_entries
from thresher.text.vocabulary import Vocabulary

Ints = NDArray[np.int64]


class NamedCategories(NamedTuple):
    """The categories of a partition's documents: names in order of first occurrence, and their numbers per row."""

    names: list[str]
    ends: Ints
    numbers: NDArray[np.int32]


class Size(NamedTuple):
    """The numbers of rows and entries of a partition, and of its rows that are not empty."""

    rows: int
    entries: int
    filled: int


class _CategoryCollector:
    """Passes documents on, and records their categories."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._found: list[int] = []
        self._ends = [0]

    def collect(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents."""
        for document in documents:
            for name in normalize_categories(document.categories):
                self._found.append(self._numbers.setdefault(name, len(self._numbers)))
            self._ends.append(len(self._found))
            yield document

    def finish(self) -> NamedCategories:
        """Return the categories of the documents that have passed."""
        numbers = np.array(self._found, dtype=np.int32)
        return NamedCategories(list(self._numbers), np.array(self._ends, dtype=np.int64), numbers)


def name_categories(part: Any) -> NamedCategories:
    """Return the categories of a partition's documents."""
    names = _CategoryCollector()
    for _ in names.collect(as_documents(part)):
        pass
    return names.finish()


def read_texts(part: Any, rows: list[int]) -> list[Text]:
    """Return some texts of a partition, in their order."""
    wanted = set(rows)
    return [document.content for i, document in enumerate(as_documents(part)) if i in wanted]


def count_features(part: Any, settings: ModelSettings, folder: Path, number: int) -> NamedCategories:
    """Count the features of a partition, numbered by first occurrence within it; return its categories."""
    names, entries = _CategoryCollector(), SpillingArray(np.int64, settings.memory)
    documents = names.collect(as_documents(part))
    counted = new_features(settings).count((document.content for document in documents), entries)
    starts = np.cumsum([0] + [int(stops[-1]) if len(stops) else 0 for stops in counted.ends])
    every_end = np.concatenate([NONE, *(stops + start for stops, start in zip(counted.ends, starts, strict=False))])
    letters, stops = counted.gather_names(np.arange(len(counted.totals)))
    for name, array in (
        ("found", entries.array()), ("ends", every_end), ("letters", letters), ("stops", stops),
        ("totals", counted.totals),
    ):  # fmt: skip
        shared_arrays.write(folder, f"counted-{number}.{name}", array)
    return names.finish()


def merge_vocabulary(settings: ModelSettings, folder: Path, count: int, *_: Any) -> int:
    """Number the features of all partitions as a single pass would; return the number of features kept."""
    features, seen, totals, numbers_by_part = new_features(settings), Vocabulary(), np.zeros(0, dtype=np.int64), []
    for number in range(count):
        letters = shared_arrays.read(folder, f"counted-{number}.letters", np.uint8)
        stops = shared_arrays.read(folder, f"counted-{number}.stops", np.int64)
        numbers = seen.look_up(Tokens(letters, stops))
        totals = np.concatenate((totals, np.zeros(seen.count - len(totals), dtype=np.int64)))
        totals[numbers] += shared_arrays.read(folder, f"counted-{number}.totals", np.int64)
        numbers_by_part.append(numbers)
    renumbered = features.keep(totals, partial(gather_names, seen.letters, seen.stops))
    for number, numbers in enumerate(numbers_by_part):
        shared_arrays.write(folder, f"counted-{number}.renumbered", renumbered[numbers])
    shared_arrays.write(folder, "vocabulary.letters", features.vocabulary.letters)
    shared_arrays.write(folder, "vocabulary.stops", features.vocabulary.stops)
    return features.vocabulary.count


def make_rows(folder: Path, number: int, n_features: int) -> Size:
    """Create the rows of counts of a partition, with the features that were kept."""
    entries = shared_arrays.read(folder, f"counted-{number}.found", np.int64).copy()
    ends = shared_arrays.read(folder, f"counted-{number}.ends", np.int64)
    renumbered = shared_arrays.read(folder, f"counted-{number}.renumbered", np.int64)
    rows = convert_entries(entries, ends, renumbered, n_features)
    shared_arrays.write_part(folder, f"rows-{number}", rows)
    shared_arrays.write(folder, f"rows-{number}.documents", count_documents_by_feature(rows))
    return Size(len(rows.indptr) - 1, len(rows.indices), int(np.count_nonzero(np.diff(rows.indptr))))


def strengthen(
    settings: ModelSettings, n_features: int, idf: NDArray[np.float32], folder: Path, number: int, row: int, entry: int
) -> int:
    """Write the strengths of a partition at their position among all rows; return the number of entries."""
    rows = copy_to_memory(shared_arrays.read_rows(folder, f"rows-{number}", n_features))
    if settings.strength in WEIGHED:
        rows = weigh_rows(rows, idf, settings.strength, constant=settings.constant)
    learner = new_learner(settings)
    strong = to_strengths(rows, learner.strength, learner.normalize, checked=True)
    shared_arrays.write_rows(folder, "strong", strong, row, entry)
    return len(strong.indices)


def copy_to_memory(rows: Rows) -> Rows:
    """Return a copy of memory-mapped rows in memory."""
    return Rows(rows.indptr.copy(), rows.indices.copy(), rows.data.copy(), rows.n_features)


def train_categories(
    folder: Path, n_features: int, memory: int, steps: Steps, plan: Plan, first: int, last: int
) -> Trained:
    """Train the categories from `first` up to, not including, `last`, over all rows."""
    rows, labels = shared_arrays.read_rows(folder, "strong", n_features), shared_arrays.read_labels(folder, "labels")
    if rows.indices.nbytes + rows.data.nbytes <= memory:  # otherwise mapped pages are evicted and read again
        rows = copy_to_memory(rows)
    return train_group(Examples(rows, labels, steps), plan, np.arange(first, last), n_threads=1)


def score_held_out(
    folder: Path,
    settings: ModelSettings,
    n_features: int,
    inside: Ints,
    outside: Ints,
    n_categories: int,
    first: int,
    last: int,
) -> NDArray[np.float32]:
    """Train some categories on some rows, and return their scores for other rows."""
    rows = shared_arrays.read_rows(folder, "strong", n_features)
    labels = select_label_rows(shared_arrays.read_labels(folder, "labels"), inside)
    some_labels = select_labels(labels, np.arange(first, last), n_categories)
    learner = new_learner(settings)
    learner.fit_rows(select_rows(rows, inside), some_labels, last - first)
    return learner.score_rows(select_rows(rows, outside))


def select_label_rows(labels: Labels, rows: Ints) -> Labels:
    """Return the labels of some rows.

    >>> labels = Labels(np.array([0, 1, 3]), np.array([5, 6, 7]), np.ones(3, np.int8), -1)
    >>> select_label_rows(labels, np.array([1])).categories
    array([6, 7])
    """
    lengths = np.diff(labels.indptr)[rows]
    ends = np.concatenate(([0], np.cumsum(lengths)))
    places = np.repeat(labels.indptr[:-1][rows] - ends[:-1], lengths) + np.arange(ends[-1])
    return Labels(ends, labels.categories[places], labels.signs[places], labels.others)


def measure_peak_memory() -> int:
    """Return the peak memory of this process, in bytes.

    The status file is preferred because `getrusage` starts with the memory of the parent process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def can_see(path: str) -> bool:
    """Return whether this process sees a file."""
    return os.path.exists(path)  # noqa: PTH110
