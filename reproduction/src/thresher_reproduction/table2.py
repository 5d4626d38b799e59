"""Table 2 of the paper: BalancedWinnow+ and other systems of its time, on both splits of all of Reuters.

The paper ran on Reuters-22173, of which no copy is left. We run on Reuters-21578, which lacks 595 duplicates and has
other corrections. Our figures appear next to the published ones, but are not comparable with them to the decimal. All
categories with a training document are learned. "modapte, labelled" leaves out the documents without a category, as the
paper's Apte split does; ModApte keeps 1,828 of them for training and 280 for testing.
"""

import time
from typing import Any

import numpy as np

from thresher.datasets.corpora.reuters21578 import select
from thresher.datasets.document import Document
from thresher_reproduction.problem import Problem, Remark, break_even_of, problem_of
from thresher_reproduction.systems import PHRASES, SYSTEMS, System

SPLITS = ("modapte", "modapte, labelled", "modlewis")
FEWEST = 3  # the paper's minimum number of occurrences of a feature
PHRASES_FEWEST, MOST_FEATURES = 2, 2**24


def run(documents: list[Document], *, quick: bool = False, progress: Remark | None = None) -> dict[str, Any]:
    """Return the rows of the table, by split and by system."""
    rows = []
    for split in SPLITS:
        train, test = parts(documents, split)
        for analyser in dict.fromkeys(system.analyser for system in SYSTEMS):
            chosen = [system for system in SYSTEMS if system.analyser == analyser and (system.fast or not quick)]
            if not chosen:
                continue
            _tell(progress, f"table 2, {split}: counting {analyser}")
            problem = problem_of(
                train, test, analyser, PHRASES_FEWEST if analyser == PHRASES else FEWEST, MOST_FEATURES
            )
            for system in chosen:
                _tell(progress, f"table 2, {split}: {system.name}")
                rows.append(_row(system, split, problem))
    order = {system.name: number for number, system in enumerate(SYSTEMS)}
    splits = list(dict.fromkeys((row["split"], row["documents"]) for row in rows))
    rows.sort(key=lambda row: (splits.index((row["split"], row["documents"])), order[row["system"]]))
    return {"table": "table2", "rows": rows}


def parts(documents: list[Document], split: str) -> tuple[list[Document], list[Document]]:
    """Return the training and the test documents of a split."""
    base, _, only = split.partition(", ")
    train, test = select(documents, f"{base}:train"), select(documents, f"{base}:test")
    if only == "labelled":
        train, test = ([document for document in part if document.categories] for part in (train, test))
    return train, test


def _tell(progress: Remark | None, what: str) -> None:
    if progress:
        progress(what)


def _row(system: System, split: str, problem: Problem) -> dict[str, Any]:
    learner = system.make()
    start = time.perf_counter()
    learner.fit(problem.rows, problem.labels, n_categories=len(problem.categories))
    seconds = time.perf_counter() - start
    found = break_even_of(learner.score(problem.test_rows), problem.truth)
    published = system.published.get(split.partition(",")[0])
    return {
        "system": system.name,
        "split": split.partition(",")[0],
        "documents": "labelled" if "labelled" in split else "all",
        "version": system.analyser,
        "pooled_break_even": found.pooled,
        "micro_break_even": found.micro,
        "macro_break_even": found.macro,
        "published": None if published is None else published / 100,
        "published_later": system.later if split.startswith("modapte") else "",
        "seconds": seconds,
        "size": _size(learner),
        "features_kept": _features_kept(learner, problem),
    }


def _size(learner: Any) -> int:
    if hasattr(learner, "size"):
        return int(learner.size)
    return sum(int(np.count_nonzero(_weights(learner, c))) for c in range(learner.n_categories_))


def _features_kept(learner: Any, problem: Problem) -> int:
    """Return the number of features that the model of any category uses."""
    if hasattr(learner, "features_kept"):
        return int(learner.features_kept)
    used = np.zeros(problem.rows.n_features, dtype=np.bool_)
    for category in range(learner.n_categories_):
        used |= _weights(learner, category) != 0
    return int(np.count_nonzero(used))


def _weights(learner: Any, category: int) -> Any:
    return learner.category_weights(category, np.arange(learner.n_features_))
