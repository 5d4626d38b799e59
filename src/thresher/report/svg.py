"""Turn Matplotlib figures into inline SVG with the page's fonts, its light and dark colors, and unique ids.

Plots contain only fixed labels and numbers. Category names and texts appear in the HTML around a plot, where the
template escapes them, so that their characters and markup cannot cause problems here.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from math import floor, log10

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

# Placeholder colors for the CSS variables of the page, which differ between the light and the dark scheme.
INK, MUTED, GRID, BAND = "#010101", "#020202", "#030303", "#040404"
FOR, AGAINST, PAPER = "#050505", "#060606", "#070707"
_VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", BAND: "band", FOR: "for", AGAINST: "against", PAPER: "paper"}

_STYLE = {
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "font.size": 12,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "thresher",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
}


_STEPS = [1, 2, 5, 10]


class Plot:
    """A plot being drawn, with its `axes` and, once finished, its `markup`."""

    def __init__(self, width: float, height: float, margins: tuple[float, float, float, float]) -> None:
        left, right, bottom, top = margins
        self._figure = Figure(figsize=(width / 72, height / 72), dpi=72)
        self.axes: Axes = self._figure.add_axes(
            (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
        )
        # Matplotlib would place the label by the size of its own fonts, but the page has others.
        self.axes.yaxis.set_label_coords((12 - left) / (width - left - right), 0.5)
        self.markup = ""

    def finish(self, name: str, description: str) -> None:
        """Set `markup`; `name` is the prefix that makes the ids of this plot unique on the page."""
        drawn = StringIO()
        self._figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None, "Format": None})
        self.markup = _inline(drawn.getvalue(), name, description)


@contextmanager
def open_plot(
    name: str,
    description: str,
    size: tuple[float, float] = (460, 300),
    margins: tuple[float, float, float, float] = (64, 18, 44, 10),
) -> Iterator[Plot]:
    """Open a plot to draw on; the size and the margins (left, right, bottom, top) are in pixels at natural size."""
    with matplotlib.style.context(["default", _STYLE]):
        drawing = Plot(*size, margins)
        yield drawing
        drawing.finish(name, description)


def _inline(svg: str, name: str, description: str) -> str:
    """Return only the svg element, with the fonts and colors of the page."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(
        r"<metadata>.*?</metadata>\s*|<defs>\s*<style.*?</style>\s*</defs>\s*|<!--.*?-->\s*", "", svg, flags=re.S
    )
    svg = re.sub(r'(<svg)[^>]*(viewBox="[^"]*")[^>]*>', rf'\1 \2 role="img" aria-label="{description}">', svg, count=1)
    svg = re.sub(r'(\sid="|url\(#|xlink:href="#)', rf"\g<1>{name}-", svg).replace("xlink:href", "href")
    svg = re.sub(r"font: (?:\d+ )?([\d.]+px) [^;\"]*", r"font-size: \1", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    return re.sub(r"\n\s*", "\n", svg)


def set_percent_axes(axes: Axes) -> None:
    """Set both axes to the range from 0 to 100 %."""
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[i / 5 for i in range(6)], yticks=[i / 5 for i in range(6)])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}"))
    axes.grid(True)


def set_count_axis(axes: Axes, most: float, log: bool, least: float = 0.6) -> None:
    """Set the vertical axis to counts: from 0, or on a log scale from the power of ten below `least`."""
    if log:
        axes.set_yscale("log")
        axes.set_ylim(0.6 if least < 1 else 10 ** floor(log10(least)), max(12, 1.6 * most))
        axes.yaxis.set_major_locator(LogLocator(10, numticks=6))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, max(1, 1.06 * most))
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True, steps=_STEPS))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.grid(True, axis="y")


def set_number_axis(axes: Axes, last: int) -> None:
    """Set the horizontal axis to whole numbers up to `last`."""
    axes.set_xlim(0.5 if last == 1 else 0, last + (last <= 100) * 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1, steps=_STEPS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
