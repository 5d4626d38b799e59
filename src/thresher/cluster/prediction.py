"""Predict and evaluate partitions on a cluster, with a model file."""

import json
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from thresher.categorizer import Categorizer
from thresher.cluster.clients import Cluster, ClusterError, report_steps
from thresher.cluster.partitions import Partition, as_documents
from thresher.datasets.writer import write_to
from thresher.evaluation import Evaluation, assemble
from thresher.evaluation.labelled import Labelled
from thresher.metrics import Floats, Truth
from thresher.model import predictions
from thresher.model.scoring import categorize_documents
from thresher.support.atomic_file import whole_file
from thresher.support.progress import Report


def predict(
    model: str | Path,
    parts: Sequence[Any],
    cluster: Cluster,
    output: str | Path,
    *,
    format: str = "jsonl",
    top: int | None = None,
    progress: Report | None = None,
) -> list[int]:
    """Write the predictions for partitions to files part-00000, part-00001, ... in a folder; return their lengths.

    Files that an earlier run has written are kept. Their length is returned as -1.

    Parameters
    ----------
    model : path
        A model file that all workers see.
    parts, cluster : sequence, Cluster
        As `fit` takes them.
    output, format : path, str
        The folder, and "jsonl" or "parquet".
    top : int or None
        The number of best categories to return. None: those that the policy accepts.
    progress : callable, optional
        Called with a `Step` from time to time.
    """
    folder = Path(output).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    cluster.check(folder)
    path = str(Path(model).absolute())
    cluster.check_sees(Path(path))
    known = [[str(part.source), part.first, part.last] for part in parts if isinstance(part, Partition)]
    _check_same(folder, {"model": Categorizer.load(path).digest(), "top": top, "format": format, "parts": known})
    work = [
        (_predict_part, path, part, folder / f"part-{i:05}.{format}", format, top)
        for i, part in enumerate(cluster.compute_parts(parts))
    ]
    return list(cluster.gather("predict", work, report_steps("predict", progress)))


def evaluate(
    model: str | Path, parts: Sequence[Any], cluster: Cluster, *, progress: Report | None = None
) -> Evaluation:
    """Evaluate a model on partitions of labelled documents, with the same result as `thresher.evaluation.evaluate`.

    `model` is a file that all workers see. `parts`, `cluster` and `progress` are as in `fit`.
    """
    path = Path(model).absolute()
    cluster.check(path)
    work = [(_judge_part, str(path), part) for part in cluster.compute_parts(parts)]
    parts_judged = cluster.gather("evaluate", work, report_steps("evaluate", progress))
    ids = _renumber([part[0] for part in parts_judged])
    categories = [names for part in parts_judged for names in part[1]]
    scores, accepted = (np.concatenate([part[i] for part in parts_judged]) for i in (2, 3))
    return assemble(Categorizer.load(path).categories, ids, categories, scores, accepted)


def _renumber(ids: list[list[str]]) -> list[str]:
    """Return the names of documents; names that are numbers within a partition continue from part to part."""
    every: list[str] = []
    for part in ids:
        numbered = part == [str(i) for i in range(1, len(part) + 1)]
        every += [str(len(every) + i) for i in range(1, len(part) + 1)] if numbered else part
    return every


def _check_same(folder: Path, about: dict[str, Any]) -> None:
    """Refuse to continue predictions that another model, other documents or other options began."""
    mark, content = folder / "predicted.json", json.dumps(about, sort_keys=True)
    if mark.exists() and mark.read_text("utf-8") != content:
        raise ClusterError("another model or other documents were written here", path=folder, hint="name a new folder")
    with whole_file(mark) as file:
        file.write(content.encode())


def _predict_part(model: str, part: Any, path: Path, format: str, top: int | None) -> int:
    if path.exists():
        return -1
    categorizer = _load(model, os.stat(model).st_mtime_ns)  # noqa: PTH116
    predicted = categorize_documents(categorizer.state, as_documents(part), top)
    with whole_file(path) as file:
        return write_to(
            file, (predictions.format_prediction(document, one, format) for document, one in predicted), format
        )


def _judge_part(model: str, part: Any) -> tuple[list[str], list[list[str]], Floats, Truth]:
    categorizer, labelled = _load(model, os.stat(model).st_mtime_ns), Labelled()  # noqa: PTH116
    scores, accepted = categorizer.decide(labelled.contents(as_documents(part), None))
    return labelled.ids, labelled.categories, scores, accepted


@lru_cache(maxsize=1)
def _load(path: str, _: int) -> Categorizer:
    """Return the model of a file; each worker loads it once, as long as the file does not change."""
    return Categorizer.load(path, n_threads=1)
