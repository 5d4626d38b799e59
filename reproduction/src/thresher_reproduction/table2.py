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
from thresher_reproduction.problem import Problem, Remark, compute_break_even, make_problem
from thresher_reproduction.systems import PHRASES, SYSTEMS, System

SPLITS = ("modapte", "modapte, labelled", "modlewis")
MIN_COUNT = 3  # the paper's minimum number of occurrences of a feature
MIN_PHRASE_COUNT, MAX_FEATURES = 2, 2**24


def run(documents: list[Document], *, quick: bool = False, progress: Remark | None = None) -> dict[str, Any]:
    """Return the rows of the table, by split and by system."""
    rows = []
    for split in SPLITS:
        train, test = select_split(documents, split)
        for analyser in dict.fromkeys(system.analyser for system in SYSTEMS):
            chosen = [system for system in SYSTEMS if system.analyser == analyser and (system.fast or not quick)]
            if not chosen:
                continue
            _report(progress, f"table 2, {split}: counting {analyser}")
            problem = make_problem(
                train, test, analyser, MIN_PHRASE_COUNT if analyser == PHRASES else MIN_COUNT, MAX_FEATURES
            )
            for system in chosen:
                _report(progress, f"table 2, {split}: {system.name}")
                rows.append(_measure_system(system, split, problem))
    order = {system.name: number for number, system in enumerate(SYSTEMS)}
    splits = list(dict.fromkeys((row["split"], row["documents"]) for row in rows))
    rows.sort(key=lambda row: (splits.index((row["split"], row["documents"])), order[row["system"]]))
    return {"table": "table2", "rows": rows}


def select_split(documents: list[Document], split: str) -> tuple[list[Document], list[Document]]:
    """Return the training and the test documents of a split."""
    base, _, only = split.partition(", ")
    train, test = select(documents, f"{base}:train"), select(documents, f"{base}:test")
    if only == "labelled":
        train, test = ([document for document in part if document.categories] for part in (train, test))
    return train, test


def _report(progress: Remark | None, line: str) -> None:
    if progress:
        progress(line)


def _measure_system(system: System, split: str, problem: Problem) -> dict[str, Any]:
    learner = system.make()
    start = time.perf_counter()
    learner.fit(problem.rows, problem.labels, n_categories=len(problem.categories))
    seconds = time.perf_counter() - start
    break_even = compute_break_even(learner.score(problem.test_rows), problem.truth)
    published = system.published.get(split.partition(",")[0])
    return {
        "system": system.name,
        "split": split.partition(",")[0],
        "documents": "labelled" if "labelled" in split else "all",
        "version": system.analyser,
        "pooled_break_even": break_even.pooled,
        "micro_break_even": break_even.micro,
        "macro_break_even": break_even.macro,
        "published": None if published is None else published / 100,
        "published_later": system.later if split.startswith("modapte") else "",
        "seconds": seconds,
        "size": _count_weights(learner),
        "features_kept": _count_features(learner, problem),
    }


def _count_weights(learner: Any) -> int:
    if hasattr(learner, "size"):
        return int(learner.size)
    return sum(int(np.count_nonzero(_get_weights(learner, c))) for c in range(learner.n_categories_))


def _count_features(learner: Any, problem: Problem) -> int:
    """Return the number of features that the model of any category uses."""
    if hasattr(learner, "features_kept"):
        return int(learner.features_kept)
    used = np.zeros(problem.rows.n_features, dtype=np.bool_)
    for category in range(learner.n_categories_):
        used |= _get_weights(learner, category) != 0
    return int(np.count_nonzero(used))


def _get_weights(learner: Any, category: int) -> Any:
    return learner.category_weights(category, np.arange(learner.n_features_))
