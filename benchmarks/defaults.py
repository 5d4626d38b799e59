"""How the learners' default steps and moment of discarding were chosen: on Reuters' training documents alone.

    THRESHER_DATA=FOLDER .venv/bin/python benchmarks/defaults.py

FOLDER holds reuters21578.tar.xz. The 9,603 training documents of ModApte, in time order, are cut into three parts; each
is scored by a learner trained on the other two. Features are single words with at least 3 occurrences, all categories
with a training document are learned, and the break-even point is pooled over all pairs of document and category.
"""

import re
from collections import Counter
from typing import Any

import numpy as np

from reuters import documents
from thresher import BalancedWinnow, Perceptron, PositiveWinnow, Rows
from thresher.learners.learner import MistakeDrivenLearner

FOLDS, MIN_COUNT = 3, 3
USUAL: dict[str, Any] = {"discard_below": 0.001, "discard_by_pass": 10}
TRIALS: list[tuple[type[MistakeDrivenLearner], dict[str, Any]]] = [
    *((BalancedWinnow, USUAL | {"alpha": a, "beta": round(2 - a, 2)}) for a in (1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.5)),
    *((BalancedWinnow, USUAL | {"alpha": a, "beta": b}) for a, b in ((1.2, 1 / 1.2), (1.3, 0.8), (1.1, 0.8))),
    *(
        (BalancedWinnow, {"discard_below": f, "discard_by_pass": 10})
        for f in (0.0002, 0.0005, 0.002, 0.005, 0.01, 0.03)
    ),
    *((BalancedWinnow, {"discard_below": 0.001, "discard_by_pass": n}) for n in (1, 3, 5, 20)),
    (BalancedWinnow, {"discard": False}),
    *((PositiveWinnow, USUAL | {"alpha": a, "beta": round(2 - a, 2)}) for a in (1.01, 1.02, 1.05, 1.1, 1.2)),
    (PositiveWinnow, {"discard": False}),
    *((Perceptron, USUAL | {"alpha": a}) for a in (0.001, 0.003, 0.01, 0.02, 0.03, 0.1, None)),
    (Perceptron, {"discard": False}),
]


def main() -> None:
    """Print the break-even of every trial, per cent."""
    texts, topics = documents("train")
    counts = [Counter(re.findall(r"[a-z]+", text.lower())) for text in texts]
    names = sorted({name for row in topics for name in row})
    labels = [[names.index(name) for name in row] for row in topics]
    folds = [fold(counts, labels, number) for number in range(FOLDS)]
    print(f"{len(texts)} documents, {len(names)} categories")
    for learner, settings in TRIALS:
        points, dropped = zip(*(trial(learner(**settings), parts, len(names)) for parts in folds), strict=True)
        print(
            f"{100 * np.mean(points):6.2f}  dropped {np.mean(dropped):.2f}  {learner.__name__} {settings}", flush=True
        )


def fold(counts: list[Counter[str]], labels: list[list[int]], number: int) -> tuple[Any, ...]:
    """Return training rows and labels, then held-out rows and labels."""
    bounds = np.linspace(0, len(counts), FOLDS + 1).astype(int)
    held_out = range(bounds[number], bounds[number + 1])
    training = [i for i in range(len(counts)) if i not in held_out]
    totals: Counter[str] = Counter()
    for i in training:
        totals.update(counts[i])
    words = {word: k for k, word in enumerate(sorted(w for w, n in totals.items() if n >= MIN_COUNT))}

    def rows(chosen: Any) -> Rows:
        found = [sorted((words[w], n) for w, n in counts[i].items() if w in words) for i in chosen]
        flat = np.array([pair for row in found for pair in row], dtype=np.int32)
        return Rows(np.cumsum([0] + [len(row) for row in found]), flat[:, 0], flat[:, 1].astype(np.float32), len(words))

    return rows(training), [labels[i] for i in training], rows(held_out), [labels[i] for i in held_out]


def trial(learner: MistakeDrivenLearner, parts: tuple[Any, ...], n_categories: int) -> tuple[float, float]:
    """Return the pooled break-even on the held-out part, and the fraction of features dropped."""
    rows, labels, held_out, truth = parts
    scores = learner.fit(rows, labels, n_categories=n_categories).score(held_out)
    relevant = np.zeros(scores.shape, dtype=bool)
    for i, row in enumerate(truth):
        relevant[i, row] = True
    best = np.argsort(-scores, axis=None, kind="stable")[: relevant.sum()]
    return float(relevant.reshape(-1)[best].mean()), float(learner.discarded_.mean() / learner.n_features_)


if __name__ == "__main__":
    main()
