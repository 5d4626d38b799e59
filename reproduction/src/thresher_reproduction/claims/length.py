"""Claim (d), section 4.1: long documents cross the threshold by their length, unless weights may be negative.

The paper says that a learner with only positive weights accepts long documents merely because they are long. Dividing
the strengths by their sum fixes this in part. Balanced Winnow does not need it, because the weights of uninformative
features average out.

Here the paper's basic versions (binary strengths, one threshold, no discarding) run on Reuters. Each uses the promotion
with the best break-even on the last third of the training documents. It then decides once on the test documents, which
are split into fifths by their number of active features.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.learners import BalancedWinnow, PositiveWinnow
from thresher.learners.base import MistakeDrivenLearner
from thresher.metrics import pooled_break_even
from thresher.support.progress import Report
from thresher_reproduction.claims.claim import Claim, Plot, group_series, track_stages
from thresher_reproduction.claims.collection import Split, fit_and_score, load_split, to_percent
from thresher_reproduction.claims.examples import BASIC

PLAIN, NORMALISED, BALANCED = "Positive Winnow", "Positive Winnow, normalised", "Balanced Winnow"
LEARNERS: dict[str, tuple[type[MistakeDrivenLearner], bool]] = {
    PLAIN: (PositiveWinnow, False),
    NORMALISED: (PositiveWinnow, True),
    BALANCED: (BalancedWinnow, False),
}
PROMOTIONS, QUICK_PROMOTIONS = (1.01, 1.02, 1.05, 1.1, 1.2), (1.02, 1.1)
N_LENGTHS = 5

Row = dict[str, Any]


def run(quick: bool = False, seed: int = 0, progress: Report | None = None) -> Claim:
    """Measure errors by length; the run is deterministic and ignores the seed."""
    promotions = QUICK_PROMOTIONS if quick else PROMOTIONS
    advance = track_stages("length", len(LEARNERS), progress)
    data = load_split("report", quick)
    rows: list[Row] = []
    overall = {}
    for name in LEARNERS:
        tried = [_measure_break_even(name, alpha, load_split("choose", quick)) for alpha in promotions]
        best = promotions[int(np.argmax(tried))]
        scores = fit_and_score(_make_learner(name, best), data)
        overall[name] = pooled_break_even(scores, data.held_out.truth)
        rows += _count_errors_by_length(name, best, scores > 1, data)
        advance()
    return _judge(rows, overall)


def _make_learner(name: str, alpha: float) -> MistakeDrivenLearner:
    kind, normalize = LEARNERS[name]
    steps = {"alpha": alpha, "beta": round(2 - alpha, 4), "normalize": normalize, "n_threads": None}
    return kind(**BASIC | steps)


def _measure_break_even(name: str, alpha: float, data: Split) -> float:
    return pooled_break_even(fit_and_score(_make_learner(name, alpha), data), data.held_out.truth)


def _count_errors_by_length(name: str, alpha: float, accepted: NDArray[np.bool_], data: Split) -> list[Row]:
    """Return false positives and misses per 100 documents, by fifths of the document length."""
    lengths, truth = np.diff(data.held_out.rows.indptr), data.held_out.truth
    rows = []
    for number, chosen in enumerate(np.array_split(np.argsort(lengths, kind="stable"), N_LENGTHS), 1):
        wrong = np.count_nonzero(accepted[chosen] & ~truth[chosen]) / len(chosen)
        missed = np.count_nonzero(truth[chosen] & ~accepted[chosen]) / len(chosen)
        length = float(np.median(lengths[chosen]))
        row = {"learner": name, "alpha": alpha, "fifth": number, "median length": length}
        rows.append(row | {"wrongly accepted, per 100": to_percent(wrong), "missed, per 100": to_percent(missed)})
    return rows


def _judge(rows: list[Row], overall: dict[str, float]) -> Claim:
    wrong = {name: [row["wrongly accepted, per 100"] for row in rows if row["learner"] == name] for name in LEARNERS}
    rise = {name: rates[-1] - rates[0] for name, rates in wrong.items()}
    tests = {
        "unnormalised, wrong acceptances rise most from the shortest to the longest fifth": (
            rise[PLAIN] > max(rise[NORMALISED], rise[BALANCED])
        ),
        "Balanced Winnow errs no more than twice as often on the longest fifth as on the middle one": (
            wrong[BALANCED][-1] <= 2 * wrong[BALANCED][len(wrong[BALANCED]) // 2]
        ),
        "normalisation raises Positive Winnow's break-even": overall[NORMALISED] > overall[PLAIN],
        "Balanced Winnow is better than unnormalised Positive Winnow": overall[BALANCED] > overall[PLAIN],
        "Balanced Winnow is better than normalised Positive Winnow": overall[BALANCED] > overall[NORMALISED],
    }
    because = "; ".join(
        f"{name}: {wrong[name][0]:.1f} wrong acceptances per 100 of the shortest and {wrong[name][-1]:.1f} of the "
        f"longest documents, break-even {to_percent(overall[name]):.1f}"
        for name in LEARNERS
    )
    series = group_series(rows, "learner", "median length", "wrongly accepted, per 100")
    plot = Plot("median number of active features", "wrongly accepted, per 100 documents", series, log_x=True)
    claim = "Long documents are accepted merely by their length, unless strengths are normalised or weights negative."
    return Claim("length", "4.1", claim, tests, because + ".", rows, plot)
