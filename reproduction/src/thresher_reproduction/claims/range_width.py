"""Claim (g), section 4.2: training with a threshold range helps, and helps ranking even more than deciding.

The paper counts scores within 0.9 to 1.1 as mistakes, a width that it found by experiment. It says that a "thick"
separator matters even more for ranking documents than for deciding on them.

Here the width tau goes from 0 to 4, around theta = 1, for the three learners with square-root strengths and no
discarding. They learn from the first two thirds of Reuters' training documents and score the last third. Micro F1
measures deciding, pooled break-even measures ranking.
"""

from typing import Any

from thresher.learners import BalancedWinnow, Perceptron, PositiveWinnow
from thresher.learners.base import MistakeDrivenLearner
from thresher.metrics import pooled_break_even
from thresher.support.progress import Report
from thresher_reproduction.claims.claim import Claim, Plot, Series, track_stages
from thresher_reproduction.claims.collection import fit_and_score, load_split, micro_f1, to_percent

LEARNERS: tuple[type[MistakeDrivenLearner], ...] = (BalancedWinnow, PositiveWinnow, Perceptron)
NAMES = ("Balanced Winnow", "Positive Winnow", "Perceptron")
WIDTHS, QUICK_WIDTHS = (0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0), (0.0, 0.2, 1.0)
PAPER_WIDTH = 0.2

Row = dict[str, Any]


def run(quick: bool = False, seed: int = 0, progress: Report | None = None) -> Claim:
    """Sweep the width; the run is deterministic and ignores the seed."""
    widths = QUICK_WIDTHS if quick else WIDTHS
    advance = track_stages("range_width", len(widths) * len(LEARNERS), progress)
    data = load_split("choose", quick)
    rows: list[Row] = []
    for name, learner in zip(NAMES, LEARNERS, strict=True):
        for width in widths:
            ends = (1 - width / 2, 1 + width / 2) if width else None
            scores = fit_and_score(learner(threshold_range=ends, discard=False), data)
            deciding, ranking = micro_f1(scores, data.held_out.truth), pooled_break_even(scores, data.held_out.truth)
            rows.append({"learner": name, "tau": width, "F1": to_percent(deciding), "break-even": to_percent(ranking)})
            advance()
    return _judge(rows)


def _judge(rows: list[Row]) -> Claim:
    measures = {(row["learner"], row["tau"]): (row["F1"], row["break-even"]) for row in rows}
    gains = {name: tuple(measures[name, PAPER_WIDTH][i] - measures[name, 0.0][i] for i in (0, 1)) for name in NAMES}
    best = {
        name: max((row for row in rows if row["learner"] == name), key=lambda row: row["break-even"]) for name in NAMES
    }
    tests = {
        f"a width of {PAPER_WIDTH} betters F1 for every learner": all(gain[0] > 0 for gain in gains.values()),
        "and break-even": all(gain[1] > 0 for gain in gains.values()),
        "the gain in break-even is the greater, in the mean of the learners": (
            sum(gain[1] for gain in gains.values()) > sum(gain[0] for gain in gains.values())
        ),
    }
    because = "; ".join(
        f"{name}: a width of {PAPER_WIDTH} changes F1 by {gains[name][0]:+.1f} and break-even by {gains[name][1]:+.1f}"
        f", the best break-even is {best[name]['break-even']:.1f} at {best[name]['tau']:g}"
        for name in NAMES
    )
    series = [
        Series(f"{name}, {what}", [row["tau"] for row in rows if row["learner"] == name], _get_column(rows, name, what))
        for what in ("break-even", "F1")
        for name in NAMES
    ]
    plot = Plot("width of the threshold range", "per cent", series, cycle=len(NAMES))
    claim = "Training with a threshold range helps, and helps ranking more than deciding."
    return Claim("range_width", "4.2", claim, tests, because + ".", rows, plot)


def _get_column(rows: list[Row], name: str, what: str) -> list[float]:
    return [row[what] for row in rows if row["learner"] == name]
