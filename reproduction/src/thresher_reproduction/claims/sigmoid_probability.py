"""Claim (l), section 4.2: the sigmoid of the score is the probability that the document is in the category.

The paper says that under some assumptions on the dependencies among features this probability is 1 / (1 + exp(-F)),
where F is the score.

Here BalancedWinnow+ learns from ModApte's training documents and scores its test documents. The paper's probability is
compared with three others. The first is the same sigmoid around the threshold, 1 / (1 + exp(theta - F)). The second is
the library's calibrated probability. Its thresholds and slopes come from the scores of the last third of the training
documents, by a learner trained on the first two thirds. The third is the share of the category in the training
documents, whatever the text.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.reproducible_math import sigmoid
from thresher.learners import BalancedWinnow
from thresher.model.decisions import Decisions, calibrate, fit_tail
from thresher.model.thresholds import tune_thresholds
from thresher.support.progress import Report
from thresher_reproduction.claims.claim import Claim, Plot, Series, track_stages
from thresher_reproduction.claims.collection import fit_and_score, load_split, to_percent

PAPER, SHIFTED, CALIBRATED, SHARE = "sigmoid of F", "sigmoid of F - theta", "calibrated", "share of the category"
N_BINS, MIN_PAIRS = 10, 50  # bins of the reliability diagram; pairs that a bin needs to be drawn and judged
MAX_GAP, MAX_LOSS_RATIO = 0.1, 1.1  # largest gap between a bin's frequency and probability; largest ratio of losses
MIN_PROBABILITY = 1e-6  # probabilities are clipped this far from 0 and 1 for the log loss

Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]
Row = dict[str, Any]


def run(quick: bool = False, seed: int = 0, progress: Report | None = None) -> Claim:
    """Compare probabilities with observed frequencies; the run is deterministic and ignores the seed."""
    advance = track_stages("sigmoid_probability", 2, progress)
    chosen, data = load_split("choose", quick), load_split("report", quick)
    decisions = _tune_decisions(chosen.categories, data.categories, quick)
    advance()
    scores = fit_and_score(BalancedWinnow(), data)
    truth = data.held_out.truth
    probabilities = {
        PAPER: sigmoid(scores.astype(np.float64)),
        SHIFTED: sigmoid(scores.astype(np.float64) - 1),
        CALIBRATED: decisions.probabilities(scores),
        SHARE: np.broadcast_to(data.train.truth.mean(axis=0), truth.shape),
    }
    advance()
    return _judge({name: _measure(name, values, truth) for name, values in probabilities.items()}, probabilities, truth)


def _tune_decisions(names: list[str], categories: list[str], quick: bool) -> Decisions:
    """Return decisions tuned on held-out training documents, for the categories in the order of `categories`."""
    data = load_split("choose", quick)
    scores, truth = fit_and_score(BalancedWinnow(), data), data.held_out.truth
    thresholds = tune_thresholds(scores, truth)
    slopes, midpoints = calibrate(scores, truth, thresholds)
    tail = fit_tail(slopes * (scores - midpoints), truth)
    places = {name: number for number, name in enumerate(names)}
    late = len(names)  # a category that the first two thirds lack gets the median calibration of the others
    arrays = (np.append(values, np.median(values)) for values in (thresholds, slopes, midpoints))
    thresholds, slopes, midpoints = arrays
    known = Decisions(thresholds, slopes, midpoints=midpoints, tail=tail)
    return known.select_categories([places.get(name, late) for name in categories])


def _measure(name: str, values: Floats, truth: Truth) -> Row:
    """Return the Brier score, log loss and calibration error over all pairs of document and category."""
    safe = np.clip(values, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    loss = -np.where(truth, np.log(safe), np.log1p(-safe)).mean()
    bins = _bin_probabilities(values, truth)
    error = sum(count * abs(mean - frequency) for count, mean, frequency in bins) / values.size
    measured = {"Brier": round(float(((values - truth) ** 2).mean()), 5), "log loss": round(float(loss), 5)}
    return {"probability": name} | measured | {"calibration error": round(float(error), 5)}


def _bin_probabilities(values: Floats, truth: Truth) -> list[tuple[int, float, float]]:
    """Return the number of pairs, their mean probability and their share of positives, by bins of the probability."""
    places = np.minimum((values * N_BINS).astype(np.int64), N_BINS - 1).ravel()
    counts = np.bincount(places, minlength=N_BINS)
    sums, hits = (np.bincount(places, weights=part.ravel(), minlength=N_BINS) for part in (values, truth))
    return [
        (int(n), float(total / n), float(hit / n)) for n, total, hit in zip(counts, sums, hits, strict=True) if n > 0
    ]


def _judge(measured: dict[str, Row], probabilities: dict[str, Floats], truth: Truth) -> Claim:
    bins = {
        name: [b for b in _bin_probabilities(values, truth) if b[0] >= MIN_PAIRS]
        for name, values in probabilities.items()
    }
    farthest = {name: max(abs(mean - frequency) for _, mean, frequency in rows) for name, rows in bins.items()}
    tests = {
        f"in every tenth of the sigmoid's range the frequency is within {MAX_GAP} of it": farthest[PAPER] <= MAX_GAP,
        "its Brier score is better than that of the category's share": (
            measured[PAPER]["Brier"] < measured[SHARE]["Brier"]
        ),
        f"its log loss is at most {MAX_LOSS_RATIO} times that of the calibrated probability": (
            measured[PAPER]["log loss"] <= MAX_LOSS_RATIO * measured[CALIBRATED]["log loss"]
        ),
    }
    figures = ", ".join(f"{name} {row['Brier']:.4f} ({row['log loss']:.3f})" for name, row in measured.items())
    because = (
        f"Brier score (and log loss): {figures}; the sigmoid lies up to {to_percent(farthest[PAPER]):.0f} points from "
        "the frequency in a tenth of its range, the calibrated probability up to "
        f"{to_percent(farthest[CALIBRATED]):.0f}."
    )
    table = list(measured.values())
    for name in (PAPER, SHIFTED, CALIBRATED):
        table += [
            {"probability": name, "pairs": n, "mean": round(mean, 4), "frequency": round(frequency, 4)}
            for n, mean, frequency in _bin_probabilities(probabilities[name], truth)
        ]
    series = [Series(n, [b[1] for b in bins[n]], [b[2] for b in bins[n]]) for n in (PAPER, SHIFTED, CALIBRATED)]
    plot = Plot("probability", "frequency of the category", [*series, Series("perfect", [0.0, 1.0], [0.0, 1.0])])
    claim = "The probability of a category is the sigmoid of its score."
    return Claim("sigmoid_probability", "4.2", claim, tests, because, table, plot)
