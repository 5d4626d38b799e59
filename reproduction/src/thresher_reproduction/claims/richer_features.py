"""Claim (h), sections 2.2, 5 and 6: features richer than single words improve the results.

The paper expects this in its conclusion, because irrelevant features cost Winnow little. It reports that Cohen and
Singer's sparse n-grams did better than single words.

Here BalancedWinnow+ as published learns from ModApte's training documents, first with single words. Further versions
add word bigrams, ordered choices of words within a window, or pairs of words of a sentence. Each scores the test
documents once. A gain counts if a paired permutation test of the break-even gives p below LEVEL.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.learners import BalancedWinnow
from thresher.metrics import pooled_break_even
from thresher.metrics.significance import paired_break_even_test
from thresher.support.progress import Report
from thresher_reproduction.claims.claim import Claim, Plot, Series, track_stages
from thresher_reproduction.claims.collection import fit_and_score, load_split, make_split, micro_f1, to_percent

WORDS = "words"
RICHER = ("words+ngrams:2", "words+sparse:2:4", "words+sparse:3:4", "words+sets:sentence")
QUICK_RICHER = ("words+ngrams:2",)  # on all documents, because a sample says nothing about rich features
MAX_FEATURES = 2**18
N_SAMPLES, QUICK_SAMPLES, LEVEL = 500, 100, 0.05

Row = dict[str, Any]


def run(quick: bool = False, seed: int = 0, progress: Report | None = None) -> Claim:
    """Score the test documents with each set of features; the seed draws the permutations."""
    analysers = (WORDS, *(QUICK_RICHER if quick else RICHER))
    advance = track_stages("richer_features", len(analysers), progress)
    truth = load_split("report").held_out.truth
    rows: list[Row] = []
    plain: NDArray[np.float32] | None = None
    for analyser in analysers:
        data = make_split("report", False, analyser, MAX_FEATURES)
        learner = BalancedWinnow()
        scores = fit_and_score(learner, data)
        plain = scores if plain is None else plain
        test = paired_break_even_test(truth, scores, plain, n_samples=QUICK_SAMPLES if quick else N_SAMPLES, seed=seed)
        row = {"features": analyser, "number": learner.n_features_, "p": round(test.p_value, 4)}
        kept = learner.n_features_ - float(learner.discarded_.mean())
        measured = {
            "break-even": to_percent(pooled_break_even(scores, truth)),
            "F1": to_percent(micro_f1(scores, truth)),
        }
        rows.append(row | {"kept for a category": round(kept)} | measured)
        advance()
    return _judge(rows)


def _judge(rows: list[Row]) -> Claim:
    words, richer = rows[0], rows[1:]
    tests = {
        "every richer set has the better break-even": all(row["break-even"] > words["break-even"] for row in richer),
        f"one has by more than chance (p < {LEVEL})": any(
            row["break-even"] > words["break-even"] and row["p"] < LEVEL for row in richer
        ),
        "one has the better F1 at the fixed threshold": any(row["F1"] > words["F1"] for row in richer),
    }
    figures = ", ".join(
        f"{row['features']} {row['break-even']:.1f} (F1 {row['F1']:.1f}, p {row['p']:.3f})" for row in richer
    )
    because = f"Break-even of words alone {words['break-even']:.1f} (F1 {words['F1']:.1f}); {figures}."
    numbers = [float(row["number"]) for row in rows]
    order = np.argsort(numbers, kind="stable")
    series = [
        Series(what, [numbers[i] for i in order], [float(rows[i][what]) for i in order])
        for what in ("break-even", "F1")
    ]
    plot = Plot("number of features", "per cent", series, log_x=True)
    claim = "Richer features than single words better the results."
    return Claim("richer_features", "2.2, 5, 6", claim, tests, because, rows, plot)
