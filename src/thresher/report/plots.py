"""Draw the plots of the report as SVG markup."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from thresher.report.svg import (
    AGAINST,
    BAND,
    FOR,
    INK,
    MUTED,
    PAPER,
    open_plot,
    set_count_axis,
    set_number_axis,
    set_percent_axes,
)

Floats = NDArray[np.float64]
MAX_POINTS = 500
FEW_POINTS = 60  # up to this number, each point has a marker
MANY_TIMES = 100  # from this ratio of the first to the smallest positive count on, an axis is logarithmic
SMALL = {"size": (256, 170), "margins": (44, 8, 36, 6)}


class Point(NamedTuple):
    """Precision and recall at one threshold."""

    precision: float
    recall: float


def plot_precision_recall(recall: Floats, precision: Floats, break_even: float, decided: Point) -> str:
    """Return a plot of precision against recall, with the break-even point and that of the model's thresholds."""
    order = np.argsort(recall, kind="stable")
    chosen = order[_choose_points(recall[order])]
    description = f"Precision against recall; break-even at {100 * break_even:.1f} %"
    with open_plot("curve", description, (420, 396), (52, 14, 44, 14)) as drawing:
        axes = drawing.axes
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1, dashes=(2, 3))
        axes.plot(recall[chosen], precision[chosen], color=FOR, linewidth=2, solid_joinstyle="round")
        on_top: dict[str, Any] = {"clip_on": False, "zorder": 5, "linestyle": "none"}
        axes.plot([decided.recall], [decided.precision], "D", mfc=PAPER, mec=AGAINST, mew=2, ms=8, **on_top)
        axes.plot([break_even], [break_even], "o", color=INK, mec=PAPER, mew=1.5, ms=9, **on_top)
        set_percent_axes(axes)
        axes.set(xlabel="recall, %", ylabel="precision, %")
    return drawing.markup


def _choose_points(recall: Floats) -> NDArray[np.intp]:
    """Return the indices of the points to draw: few enough for a page, evenly spaced in recall, with both ends."""
    if len(recall) <= MAX_POINTS:
        return np.arange(len(recall))
    wanted = np.searchsorted(recall, np.linspace(recall[0], recall[-1], MAX_POINTS))
    return np.unique(np.concatenate(([0], np.minimum(wanted, len(recall) - 1), [len(recall) - 1])))


class Histogram(NamedTuple):
    """Counts of positives and negatives by reported score, with the bin edges; 1 is one of the edges."""

    edges: Floats
    positives: NDArray[np.int64]
    negatives: NDArray[np.int64]


def count_bins(scores: Floats, truth: NDArray[np.bool_], n_bins: int) -> Histogram:
    """Return a histogram of scores; bins exclude their lower edge, as acceptance does, and the outermost are open."""
    low, high = _choose_ends(scores, truth)
    width = (high - low) / n_bins
    edges = 1 + width * np.arange(np.floor((low - 1) / width), np.ceil((high - 1) / width) + 1)
    bins = np.clip(np.searchsorted(edges, scores, side="left") - 1, 0, len(edges) - 2)
    return Histogram(edges, *(np.bincount(bins[side], minlength=len(edges) - 1) for side in (truth, ~truth)))


def _choose_ends(scores: Floats, truth: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the lower and upper end of a range with nearly all scores and some room around the threshold."""
    low, high = np.quantile(scores, [0.001, 0.999])
    if truth.any():
        low, high = min(low, np.quantile(scores[truth], 0.005)), max(high, np.quantile(scores[truth], 0.995))
    return min(float(low), 0.5), max(float(high), 1.5)


def plot_histogram(name: str, bins: Histogram, band: tuple[float, float] | None, small: bool = False) -> str:
    """Return a plot of counts on a log scale, with the threshold at 1 and the threshold range `band` if given."""
    most = int(max(bins.positives.max(), bins.negatives.max()))
    layout: dict[str, Any] = SMALL if small else {"size": (560, 270), "margins": (82, 14, 44, 10)}
    with open_plot(name, "Positives and negatives by reported score, counts on a log scale", **layout) as drawing:
        axes = drawing.axes
        if band:
            axes.axvspan(*band, color=BAND, linewidth=0, zorder=0)
        for counts, colour in ((bins.negatives, AGAINST), (bins.positives, FOR)):
            axes.stairs(counts, bins.edges, fill=True, color=colour, alpha=0.18, linewidth=0)
            axes.stairs(counts, bins.edges, baseline=None, color=colour, linewidth=1.5)
        axes.axvline(1, color=INK, linewidth=1.2)
        set_count_axis(axes, most, log=True)
        axes.set_xlim(bins.edges[0], bins.edges[-1])
        axes.xaxis.set_major_locator(MaxNLocator(4 if small else 9, integer=True, steps=[1, 2, 5, 10]))
        axes.set_xlabel("reported score")
        if not small:
            axes.set_ylabel("pairs")
    return drawing.markup


def plot_counts(name: str, numbers: NDArray[np.int64], counts: NDArray[np.int64], along: str, label: str) -> str:
    """Return a plot of counts against a growing number, on a log scale if they fall by orders of magnitude."""
    numbers, counts = _thin(numbers), _thin(counts)
    some = counts[counts > 0]
    log = bool(len(some) and some[0] >= MANY_TIMES * some.min())
    with open_plot(name, f"{label} by {along}", (460, 260)) as drawing:
        axes = drawing.axes
        drawn = np.where(counts > 0, counts, np.nan) if log else counts
        marker: dict[str, Any] = {"marker": "o", "ms": 4} if len(counts) <= FEW_POINTS else {}
        axes.plot(numbers, drawn, color=FOR, linewidth=1.8, clip_on=False, zorder=3, **marker)
        set_count_axis(axes, float(counts.max()), log, float(some.min()) if log else 0.6)
        set_number_axis(axes, int(numbers[-1]))
        axes.set(xlabel=along, ylabel=label)
    return drawing.markup


def plot_rate(name: str, numbers: NDArray[np.int64], values: Floats, along: str, label: str) -> str:
    """Return a plot of a fraction, as a percentage, against a growing number."""
    with open_plot(name, f"{label} by {along}", (460, 260)) as drawing:
        axes = drawing.axes
        axes.plot(_thin(numbers), _thin(values), color=FOR, linewidth=1.8, clip_on=False, zorder=3)
        set_percent_axes(axes)
        axes.grid(False, axis="x")
        set_number_axis(axes, int(numbers[-1]))
        axes.set(xlabel=along, ylabel=label)
    return drawing.markup


def _thin(values: NDArray[Any]) -> NDArray[Any]:
    """Return evenly spaced values with the first and the last, few enough for a page."""
    chosen = np.linspace(0, len(values) - 1, min(len(values), MAX_POINTS))
    return values[np.round(chosen).astype(np.intp)]
