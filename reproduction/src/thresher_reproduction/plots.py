"""SVG plots of the paper's claims, for the report of `thresher reproduce`."""

from html import escape
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from thresher.report.svg import AGAINST, FOR, INK, MUTED, open_plot
from thresher_reproduction.claims.claim import Claim

SIZE, MARGINS = (560.0, 330.0), (78.0, 16.0, 46.0, 12.0)
LEGEND_ROW = 20.0  # pixels per row of the legend, which has two series
COLOURS, DASHES, MARKERS = (FOR, AGAINST, INK, MUTED), ((1, 0), (5, 2), (1.5, 2)), ("o", "s", "^", "D")
MAX_MARKED = 30
MAX_RATIO_WITH_STEPS = 500  # an axis with a smaller ratio of its ends also has ticks between the powers of ten


def plot_claim(claim: Claim) -> str:
    """Return the plot of a claim as SVG markup, with the legend below the axes."""
    legend = LEGEND_ROW * -(-len(claim.plot.series) // 2)
    size, margins = (SIZE[0], SIZE[1] + legend), (*MARGINS[:2], MARGINS[2] + legend + 8, MARGINS[3])
    description = escape(f"{claim.plot.y_label} by {claim.plot.x_label}: {claim.claim}", quote=True)
    with open_plot(f"claim-{claim.name}", description, size, margins) as drawing:
        for number, series in enumerate(claim.plot.series):
            drawing.axes.plot(
                series.x, series.y, label=series.label, **_make_style(number, len(series.x), claim.plot.cycle)
            )
        _scale_axes(drawing.axes, claim.plot.log_x, claim.plot.log_y)
        drawing.axes.set(xlabel=claim.plot.x_label, ylabel=claim.plot.y_label)
        below = (-0.06, -46 / (SIZE[1] - MARGINS[2] - MARGINS[3]))
        drawing.axes.legend(
            loc="upper left", bbox_to_anchor=below, ncols=2, frameon=False, fontsize=11, handlelength=2.4
        )
    return drawing.markup


def _make_style(number: int, n_points: int, cycle: int) -> dict[str, Any]:
    """Return the style of a line by its number: colors vary first, then dashes."""
    group, member = divmod(number, min(cycle, len(COLOURS)))
    style: dict[str, Any] = {"color": COLOURS[member], "linewidth": 1.8, "dashes": DASHES[group % len(DASHES)]}
    if n_points <= MAX_MARKED:
        style |= {"marker": MARKERS[group % len(MARKERS)], "ms": 4.5}
    return style


def _scale_axes(axes: Axes, log_x: bool, log_y: bool) -> None:
    """Make the axes logarithmic where asked, with plain numbers at the ticks."""
    axes.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
    for axis, log in ((axes.xaxis, log_x), (axes.yaxis, log_y)):
        if log:
            low, high = axis.get_view_interval()
            axis.set_major_locator(
                LogLocator(10, (1.0,) if high > MAX_RATIO_WITH_STEPS * low else (1.0, 2.0, 5.0), numticks=9)
            )
            axis.set_minor_locator(NullLocator())
            axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.grid(True, axis="y")
