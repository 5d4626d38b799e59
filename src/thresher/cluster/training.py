"""`Categorizer.fit` on a cluster: the same steps next to the documents, and the same model, bit for bit."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from thresher.categorizer import Categorizer
from thresher.cluster import shared_arrays, tasks
from thresher.cluster.clients import Cluster, report_steps
from thresher.cluster.tasks import Ints, NamedCategories, Size
from thresher.errors import TextError
from thresher.kernels.csr import Rows
from thresher.kernels.mistake_driven import Examples
from thresher.learners.dense_weights import MAX_BLOCK_WIDTH
from thresher.learners.training import GROUP_WEIGHTS, Plan, TrainedAll, join_groups
from thresher.model.factories import fit_to_size, new_features, new_learner
from thresher.model.fitting import FittedParts, install
from thresher.model.reservoir import MAX_SAMPLED, Reservoir, copy_row
from thresher.model.selection import NO_CHOICE, choose_settings
from thresher.model.settings import WEIGHED, ModelSettings
from thresher.model.threshold_tuning import train_and_tune
from thresher.rows.labels import make_labels
from thresher.support.progress import Report
from thresher.text.analysers import Text
from thresher.text.tfidf import compute_idf_of_counts
from thresher.text.vocabulary import Vocabulary

GROUP = MAX_BLOCK_WIDTH  # minimum number of categories trained together
SHARES = 8  # groups per thread of the cluster: some categories take longer than others


def fit(
    model: Categorizer,
    parts: Sequence[Any],
    cluster: Cluster,
    shared: str | Path | None = None,
    *,
    progress: Report | None = None,
) -> Categorizer:
    """Fit a model to partitions of documents on a cluster, with the same result as `Categorizer.fit` on all of them.

    Parameters
    ----------
    model : Categorizer
        With its settings.
    parts : sequence
        `Partition`, or the delayed partitions of a Dask bag of pairs (text, categories), or of a dataframe with these
        columns.
    cluster : Cluster
    shared : path, optional
        A folder that the client and all workers see. Default: a temporary folder, for workers on this machine.
    progress : callable, optional
        Called with a `Step` from time to time.
    """
    with _open_folder(shared) as folder:
        cluster.check(folder)
        return _Fit(model, cluster.compute_parts(parts), cluster, folder, progress).run()


@contextmanager
def _open_folder(shared: str | Path | None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="thresher-", dir=shared)).absolute()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Fit:
    """One call of `fit`."""

    def __init__(
        self,
        model: Categorizer,
        parts: list[Any],
        cluster: Cluster,
        folder: Path,
        progress: Report | None,
    ) -> None:
        self.model, self.parts, self.cluster, self.folder = model, parts, cluster, folder
        self.progress = progress

    def run(self) -> Categorizer:
        """Run all steps."""
        choice, settings = NO_CHOICE, self.model.state.settings.replace({"n_threads": 1})  # a task has one thread
        if settings.choose != "nothing":
            named = self._run_on_each("name categories", tasks.name_categories)
            names, labels = merge_names(named)
            texts = PartTexts(self, [len(part.ends) - 1 for part in named])
            choice = choose_settings(settings, self.model.state.given, texts, labels, len(names), self.progress)
        settings = settings.replace(choice.settings)
        names, labels = merge_names(self._count_features(settings))
        features, sizes = self._make_features(settings)
        features.n_threads = self.model.state.features.n_threads
        n_features = features.vocabulary.count
        settings = fit_to_size(settings, n_features, len(names))
        reservoir = self._make_reservoir(n_features, sizes, labels)
        n_entries = sum(size.entries for size in sizes)
        idf = np.zeros(0, dtype=np.float32)
        if settings.strength in WEIGHED:
            counts = features.document_counts.copy()
            counts[: int(features.has_constant)] = 0  # it is not in the rows of counts
            idf = compute_idf_of_counts(counts, features.n_documents, n_entries, features.has_constant)
        strong = self._make_strengths(settings, n_features, sizes, idf)
        shared_arrays.write_labels(self.folder, "labels", make_labels(labels))
        score_fold = partial(self._score_fold, settings, n_features, len(names))
        learner = new_learner(settings.replace({"n_threads": self.model.state.settings.parameters.n_threads}))
        decisions = train_and_tune(
            settings, learner, strong, labels, len(names), self.progress, self._train, score_fold
        )
        install(self.model.state, FittedParts(features, learner, names, choice, decisions, idf, reservoir))
        return self.model

    def _run_on_each(self, name: str, task: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Run a task for each partition; return the results in order."""
        return self.cluster.gather(
            name, [(task, part, *arguments) for part in self.parts], report_steps(name, self.progress)
        )

    def _count_features(self, settings: ModelSettings) -> list[NamedCategories]:
        counting = [(tasks.count_features, part, settings, self.folder, i) for i, part in enumerate(self.parts)]
        return self.cluster.gather("count features", counting, report_steps("count features", self.progress))

    def _make_features(self, settings: ModelSettings) -> tuple[Any, list[Size]]:
        numbers = range(len(self.parts))
        folder = self.folder
        merging = (tasks.merge_vocabulary, settings, folder, len(numbers))
        (n_features,) = self.cluster.gather("merge vocabulary", [merging], None)
        making = [(tasks.make_rows, folder, i, n_features) for i in numbers]
        sizes: list[Size] = self.cluster.gather("make rows", making, report_steps("make rows", self.progress))
        shared_arrays.remove(folder, "counted-*")  # only now: if a worker dies, others run its tasks again
        features = new_features(settings)
        letters, stops = (
            shared_arrays.read(folder, "vocabulary.letters", np.uint8),
            shared_arrays.read(folder, "vocabulary.stops", np.int64),
        )
        features.vocabulary = Vocabulary.from_names(letters.copy(), stops.copy(), features.vocabulary.most)
        counts = sum(shared_arrays.read(folder, f"rows-{i}.documents", np.int64) for i in numbers)
        features.note_documents(sum(size.rows for size in sizes), np.array(counts))
        return features, sizes

    def _make_reservoir(self, n_features: int, sizes: list[Size], labels: list[list[int]]) -> Reservoir:
        """Return the documents that `Reservoir.of` would keep of all rows."""
        starts = np.cumsum([0] + [size.rows for size in sizes])
        chosen = np.unique(np.linspace(0, len(labels) - 1, min(MAX_SAMPLED, len(labels))).astype(np.int64))
        sampled = []
        for i in chosen.tolist():
            part = int(np.searchsorted(starts, i, side="right")) - 1
            rows = shared_arrays.read_rows(self.folder, f"rows-{part}", n_features)
            sampled.append(copy_row(rows, i - int(starts[part]), labels[i]))
        return Reservoir(sampled, len(labels))

    def _make_strengths(
        self, settings: ModelSettings, n_features: int, sizes: list[Size], idf: NDArray[np.float32]
    ) -> Rows:
        added = int(settings.constant > 0)
        entries = np.cumsum([0] + [size.entries + added * size.filled for size in sizes]).tolist()
        rows = np.cumsum([0] + [size.rows for size in sizes]).tolist()
        shared_arrays.make_room(self.folder, "strong", rows[-1], entries[-1])
        work = [
            (tasks.strengthen, settings, n_features, idf, self.folder, i, rows[i], entries[i])
            for i in range(len(sizes))
        ]
        n_written = self.cluster.gather("make strengths", work, report_steps("make strengths", self.progress))
        assert n_written == np.diff(entries).tolist()
        shared_arrays.remove(self.folder, "rows-*")
        return shared_arrays.read_rows(self.folder, "strong", n_features)

    def _split_categories(self, n_categories: int, n_features: int) -> list[tuple[int, int]]:
        """Return ranges of categories: several per thread of the cluster, none smaller than a block or too large."""
        wanted = min(-(-n_categories // (SHARES * self.cluster.n_threads)), GROUP_WEIGHTS // max(n_features, 1))
        size = max(-(-wanted // GROUP) * GROUP, GROUP)
        return [(first, min(first + size, n_categories)) for first in range(0, n_categories, size)]

    def _train(self, examples: Examples, plan: Plan, n_threads: int, report: Any) -> TrainedAll:
        n_features, memory = examples.rows.n_features, self.model.state.settings.memory
        work = [
            (tasks.train_categories, self.folder, n_features, memory, examples.steps, plan, first, last)
            for first, last in self._split_categories(plan.n_categories, n_features)
        ]
        trained = self.cluster.gather("train categories", work, report_steps("train categories", self.progress))
        return join_groups(trained, plan, n_features, self.model.state.settings.parameters.block_width)

    def _score_fold(
        self, settings: ModelSettings, n_features: int, n_categories: int, inside: Ints, outside: Ints, report: Any
    ) -> NDArray[np.float32]:
        both = self.cluster.scatter([inside, outside])
        work = [
            (tasks.score_held_out, self.folder, settings, n_features, *both, n_categories, first, last)
            for first, last in self._split_categories(n_categories, n_features)
        ]
        return np.concatenate(self.cluster.gather("validate", work, report_steps("validate", self.progress)), axis=1)


class PartTexts(Sequence[Text]):
    """The texts of partitions, fetched on demand; `choose_settings` samples some of them."""

    def __init__(self, fit: _Fit, counts: list[int]) -> None:
        self._fit, self._starts = fit, np.cumsum([0, *counts])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, index: int) -> Text: ...
    @overload
    def __getitem__(self, index: slice) -> list[Text]: ...
    def __getitem__(self, index: int | slice) -> Text | list[Text]:
        """Return one text or a list of texts."""
        numbers = list(range(len(self))[index]) if isinstance(index, slice) else [range(len(self))[index]]
        texts = self.at(numbers)
        return texts if isinstance(index, slice) else texts[0]

    def at(self, numbers: list[int]) -> list[Text]:
        """Return the texts with these numbers, which must be increasing."""
        owners = np.searchsorted(self._starts, numbers, side="right") - 1
        work = []
        for part in np.unique(owners).tolist():
            local = [
                int(number - self._starts[part]) for number, owner in zip(numbers, owners, strict=True) if owner == part
            ]
            work.append((tasks.read_texts, self._fit.parts[part], local))
        return [text for texts in self._fit.cluster.gather("draw texts", work, None) for text in texts]


def merge_names(named: list[NamedCategories]) -> tuple[list[str], list[list[int]]]:
    """Return all category names, sorted, and for each document the numbers of its categories."""
    names = sorted({name for part in named for name in part.names})
    if not names:
        raise TextError("there are no categories: no text has one")
    numbers = {name: number for number, name in enumerate(names)}
    labels: list[list[int]] = []
    for part in named:
        renumbered = (
            np.array([numbers[name] for name in part.names], dtype=np.int64)[part.numbers]
            if part.names
            else part.numbers
        )
        labels.extend(sorted(renumbered[first:last].tolist()) for first, last in pairwise(part.ends.tolist()))
    return names, labels
