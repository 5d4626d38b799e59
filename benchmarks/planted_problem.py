"""Draw a synthetic problem of the size of Reuters ModApte, for timing without the collection.

Words are distributed by Zipf's law. Each category has Reuters' size and a planted sparse concept: twelve words,
five of which occur in each of its documents. 2 % of the labels are moved to another document.
"""

import numpy as np

from thresher import Rows

# The training documents of the 90 categories of Reuters-21578, ModApte.
# fmt: off
SIZES = [
    2877, 1650, 538, 433, 389, 369, 347, 212, 197, 182, 140, 131, 126, 124, 111, 101, 94, 87, 78, 75, 75, 75, 69, 55,
    55, 50, 47, 46, 45, 41, 40, 39, 37, 37, 37, 35, 35, 30, 30, 24, 23, 21, 21, 20, 19, 18, 18, 16, 16, 16, 16, 15, 14,
    14, 13, 13, 12, 11, 10, 10, 9, 9, 8, 8, 6, 5, 5, 5, 5, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1,
    1,
]
# fmt: on
N_ROWS, N_FEATURES, ACTIVE = 9_600, 14_000, 68
CONCEPT, SHOWN, COMMON, NOISE = 12, 5, 100, 0.02


def draw_problem(seed: int = 0) -> tuple[Rows, list[list[int]]]:
    """Return rows of word counts and their label sets."""
    rng = np.random.default_rng(seed)
    truth, labels = _draw_labels(rng)
    concepts = [rng.choice(np.arange(COMMON, N_FEATURES), CONCEPT, replace=False) for _ in SIZES]
    frequency = 1 / (np.arange(N_FEATURES) + 2.7)
    frequency /= frequency.sum()
    rows = []
    for categories in truth:
        features = {int(f) for c in categories for f in rng.choice(concepts[c], SHOWN, replace=False)}
        length = max(int(rng.lognormal(np.log(ACTIVE) - 0.18, 0.6)), SHOWN)
        while len(features) < length:
            features.update(rng.choice(N_FEATURES, length - len(features), p=frequency).tolist())
        rows.append(sorted(features))
    indices = np.array([feature for row in rows for feature in row], dtype=np.int32)
    counts = rng.geometric(0.7, len(indices)).astype(np.float32)
    return Rows(np.cumsum([0] + [len(row) for row in rows]), indices, counts, N_FEATURES), labels


def _draw_labels(rng: np.random.Generator) -> tuple[list[list[int]], list[list[int]]]:
    """Return each document's true categories, which determine its words, and the noisy ones that the learner gets."""
    truth: list[list[int]] = [[] for _ in range(N_ROWS)]
    noisy: list[list[int]] = [[] for _ in range(N_ROWS)]
    for category, size in enumerate(SIZES):
        for row in rng.choice(N_ROWS, size, replace=False):
            truth[row].append(category)
            moved = int(rng.integers(N_ROWS)) if rng.random() < NOISE else row
            if category not in noisy[moved]:
                noisy[moved].append(category)
    return truth, noisy
