"""Table 1 of the paper: break-even points of the three algorithms in their versions, on two small pairs of sets.

The paper averages over two disjoint pairs of 2,000 training and 1,000 test documents with ten categories, and does not
say which. We draw such pairs many times, once with the ten largest categories and once with ten at random
(`paper_pairs.draw_pairs`). We report the mean over the draws and an interval; each draw is the mean of its two pairs.
"""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.datasets.corpora.reuters21578 import select
from thresher.datasets.document import Document
from thresher.kernels.csr import Rows
from thresher.learners import BalancedWinnow, Perceptron, PositiveWinnow
from thresher.metrics.significance import sign_test
from thresher.text.vectorizer import TextFeatures
from thresher_reproduction.paper_pairs import CHOICES, Pair, draw_pairs
from thresher_reproduction.problem import (
    Remark,
    compute_break_even,
    drop_rare_features,
    make_truth,
    number_labels,
    take_rows,
)

DRAWS, QUICK_DRAWS = 20, 3
ANALYSER, MIN_COUNT, MAX_PASSES = "nouns-and-verbs", 3, 50
RANGE = (0.9, 1.1)
LEARNERS = {"BalancedWinnow": BalancedWinnow, "PositiveWinnow": PositiveWinnow, "Perceptron": Perceptron}
BASIC: dict[str, Any] = {"threshold_range": None, "strength": "binary", "discard": False, "max_passes": MAX_PASSES}
VERSIONS: dict[str, dict[str, Any]] = {
    "basic": {},
    "norm": {},
    "range": {"threshold_range": RANGE},
    "linear": {"threshold_range": RANGE, "strength": "linear"},
    "sqrt": {"threshold_range": RANGE, "strength": "sqrt"},
    "discard": {"threshold_range": RANGE, "strength": "sqrt", "discard": True},
}
PUBLISHED = {
    "BalancedWinnow": {"basic": 64.87, "range": 69.66, "linear": 72.11, "sqrt": 71.56, "discard": 73.2},
    "PositiveWinnow": {
        "basic": 55.56, "norm": 63.56, "range": 65.80, "linear": 67.20, "sqrt": 69.67, "discard": 70.0,
    },
    "Perceptron": {"basic": 65.91, "range": 63.05, "linear": 66.72, "sqrt": 68.29, "discard": 70.8},
}  # fmt: skip
# The effects that the paper reports: (effect, better version, other version).
EFFECTS = (
    ("negative weights bear varying length", ("BalancedWinnow", "basic"), ("PositiveWinnow", "basic")),
    ("normalising mends Positive Winnow", ("PositiveWinnow", "norm"), ("PositiveWinnow", "basic")),
    ("a threshold range helps Balanced Winnow", ("BalancedWinnow", "range"), ("BalancedWinnow", "basic")),
    ("a threshold range helps Positive Winnow", ("PositiveWinnow", "range"), ("PositiveWinnow", "norm")),
    (
        "a threshold range does not help the Perceptron (by the figures; the text says it helps)",
        ("Perceptron", "basic"),
        ("Perceptron", "range"),
    ),
    ("square roots beat presence, Balanced Winnow", ("BalancedWinnow", "sqrt"), ("BalancedWinnow", "range")),
    ("square roots beat presence, Positive Winnow", ("PositiveWinnow", "sqrt"), ("PositiveWinnow", "range")),
    ("square roots beat presence, Perceptron", ("Perceptron", "sqrt"), ("Perceptron", "range")),
    ("square roots beat counts, Positive Winnow", ("PositiveWinnow", "sqrt"), ("PositiveWinnow", "linear")),
    ("square roots beat counts, Perceptron", ("Perceptron", "sqrt"), ("Perceptron", "linear")),
    ("discarding helps Balanced Winnow", ("BalancedWinnow", "discard"), ("BalancedWinnow", "sqrt")),
    ("discarding helps Positive Winnow", ("PositiveWinnow", "discard"), ("PositiveWinnow", "sqrt")),
    ("discarding helps the Perceptron", ("Perceptron", "discard"), ("Perceptron", "sqrt")),
    ("in the end Balanced Winnow beats the Perceptron", ("BalancedWinnow", "discard"), ("Perceptron", "discard")),
    ("in the end it beats Positive Winnow", ("BalancedWinnow", "discard"), ("PositiveWinnow", "discard")),
)
LEVEL = 0.05
MEASURES = {"pooled": 0, "macro": 2}  # effects are tested on both, because the paper does not say how it averaged


class DocumentFeatures(NamedTuple):
    """The features of all documents, counted once for all draws."""

    rows: Rows
    places: dict[str, int]


def run(
    documents: list[Document], *, quick: bool = False, seed: int = 0, progress: Remark | None = None
) -> dict[str, Any]:
    """Return the rows of the table and the verdicts on the paper's effects, for both choices of categories."""
    pool = select(documents, "modapte:train") + select(documents, "modapte:test")
    features = DocumentFeatures(
        TextFeatures(ANALYSER, min_count=1).fit([document.text for document in pool]),
        {document.id: place for place, document in enumerate(pool)},
    )
    n_draws = QUICK_DRAWS if quick else DRAWS
    results: dict[str, Any] = {"table": "table1", "draws": n_draws, "rows": [], "effects": []}
    for choice in CHOICES:
        draws = []
        for draw in range(n_draws):
            if progress:
                progress(f"table 1, {choice} categories, draw {draw + 1} of {n_draws}")
            draws.append(_measure_draw(draw_pairs(pool, seed + draw, choice), features))
        figures = {key: np.array([draw[key] for draw in draws]) for key in draws[0]}
        results["rows"] += [_make_row(choice, key, values) for key, values in figures.items()]
        results["effects"] += [
            _judge_effect(choice, *effect, figures, measure) for measure in MEASURES for effect in EFFECTS
        ]
    return results


def _measure_draw(pairs: list[Pair], features: DocumentFeatures) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return the figures of one draw for every learner and version, averaged over its pairs."""
    by_pair = [_measure_pair(pair, features) for pair in pairs]
    return {key: np.mean([figures[key] for figures in by_pair], axis=0) for key in by_pair[0]}


def _measure_pair(pair: Pair, features: DocumentFeatures) -> dict[tuple[str, str], tuple[float, ...]]:
    train, test = (take_rows(features.rows, [features.places[d.id] for d in part]) for part in (pair.train, pair.test))
    rows, test_rows = drop_rare_features(train, test, MIN_COUNT)
    labels, truth = number_labels(pair.train, pair.categories), make_truth(pair.test, pair.categories)
    figures: dict[tuple[str, str], tuple[float, ...]] = {}
    for name, kind in LEARNERS.items():
        for version, switches in VERSIONS.items():
            if version not in PUBLISHED[name]:
                continue
            normalize = name == "PositiveWinnow" and version != "basic"
            learner = kind(**BASIC | switches | {"normalize": normalize})
            start = time.perf_counter()
            learner.fit(rows, labels, n_categories=len(pair.categories))
            seconds = time.perf_counter() - start
            n_kept = len(pair.categories) * rows.n_features - int(learner.discarded_.sum())
            n_kept_each = n_kept / len(pair.categories)
            figures[name, version] = (*compute_break_even(learner.score(test_rows), truth), seconds, n_kept_each)
    return figures


def _make_row(choice: str, key: tuple[str, str], values: NDArray[np.float64]) -> dict[str, Any]:
    """Return a row: the means over the draws, and half the width of their intervals, 1.96 standard errors."""
    learner, version = key
    pooled, micro, macro, seconds, kept = values.mean(axis=0).tolist()
    errors = 1.96 * values.std(axis=0, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.zeros(5)
    return {
        "system": learner,
        "split": "modapte",
        "categories": choice,
        "version": version,
        "pooled_break_even": pooled,
        "micro_break_even": micro,
        "macro_break_even": macro,
        "pooled_error": float(errors[0]),
        "macro_error": float(errors[2]),
        "published": PUBLISHED[learner][version] / 100,
        "seconds": seconds,
        "features_kept": round(kept),
    }


def _judge_effect(
    choice: str,
    what: str,
    better: tuple[str, str],
    other: tuple[str, str],
    figures: Mapping[Any, NDArray[np.float64]],
    measure: str,
) -> dict[str, Any]:
    """Return the verdict on an effect that the paper claims, by a sign test over our draws."""
    differences = (figures[better] - figures[other])[:, MEASURES[measure]]
    up, down = int((differences > 0).sum()), int((differences < 0).sum())
    p_value = sign_test(up, down)
    published = PUBLISHED[better[0]][better[1]] - PUBLISHED[other[0]][other[1]]
    verdict = "no difference" if p_value >= LEVEL else "reproduced" if up > down else "the other way round"
    return {
        "effect": what,
        "categories": choice,
        "measure": measure,
        "published": published / 100,
        "difference": float(differences.mean()),
        "draws_for": up,
        "draws_against": down,
        "p_value": p_value,
        "verdict": verdict,
    }
