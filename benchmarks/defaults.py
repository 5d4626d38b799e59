"""Show how the learners' default steps and moment of discarding were chosen, on Reuters' training documents only.

    THRESHER_DATA=FOLDER .venv/bin/python benchmarks/defaults.py

FOLDER holds reuters21578.tar.xz. Of the 9,603 training documents of ModApte, in time order, three stretches are scored
by learners trained on all that came before: the future from the past, as with the test set. Each is trained in time
order and in two shuffled orders, since one order alone moves the figure by half a point. Features are single words with
at least 3 occurrences, all categories with a training document are learned, and the break-even point is pooled over all
pairs of document and category.
"""

import itertools
from typing import Any

import numpy as np

from reuters import documents
from thresher import BalancedWinnow, Perceptron, PositiveWinnow
from thresher.learners.base import MistakeDrivenLearner
from thresher.text.vectorizer import TextFeatures

STRETCHES, MIN_COUNT = ((4800, 6400), (6400, 8000), (8000, 9603)), 3
ORDERS: tuple[dict[str, Any], ...] = ({}, {"shuffle": True, "seed": 1}, {"shuffle": True, "seed": 2})
USUAL: dict[str, Any] = {"discard_below": 0.001, "discard_by_pass": 10}
TRIALS: list[tuple[type[MistakeDrivenLearner], dict[str, Any]]] = [
    *((BalancedWinnow, USUAL | {"alpha": a, "beta": round(2 - a, 2)}) for a in (1.05, 1.1, 1.2)),
    *((BalancedWinnow, USUAL | {"alpha": 1.2, "beta": b}) for b in (0.7, 0.81, 0.82, 0.85)),
    *((BalancedWinnow, USUAL | {"alpha": 1.25, "beta": b}) for b in (0.7, 0.77, 0.78, 0.79, 0.8, 0.85)),
    *((BalancedWinnow, USUAL | {"alpha": 1.3, "beta": b}) for b in (0.7, 0.73, 0.74, 0.75, 0.76, 0.8)),
    *((BalancedWinnow, USUAL | {"alpha": 1.35, "beta": b}) for b in (0.65, 0.71, 0.72, 0.73)),
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
    """Print the break-even of each trial, in %."""
    texts, topics = documents("train")
    names = sorted({name for row in topics for name in row})
    labels = [[names.index(name) for name in row] for row in topics]
    parts = [stretch(texts, labels, *bounds) for bounds in STRETCHES]
    print(f"{len(texts)} documents, {len(names)} categories")
    for learner, settings in TRIALS:
        trials = (
            trial(learner(**settings | order), part, len(names)) for order, part in itertools.product(ORDERS, parts)
        )
        points, dropped = zip(*trials, strict=True)
        print(
            f"{100 * np.mean(points):6.2f}  dropped {np.mean(dropped):.2f}  {learner.__name__} {settings}", flush=True
        )


def stretch(texts: list[str], labels: list[list[int]], start: int, stop: int) -> tuple[Any, ...]:
    """Return the rows and labels of all documents before a stretch, then those of the stretch."""
    training, held_out = range(start), range(start, stop)
    features = TextFeatures(min_count=MIN_COUNT)
    rows = features.fit([texts[i] for i in training])
    later = features.rows([texts[i] for i in held_out])
    return rows, [labels[i] for i in training], later, [labels[i] for i in held_out]


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
