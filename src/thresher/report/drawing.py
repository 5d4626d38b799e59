"""Matplotlib figures as SVG that lives inside a page: its fonts, its colours in both schemes, ids that never meet.

Only the project's own words and numbers are drawn. Names of categories and texts stand in the HTML around a plot,
where the template escapes them, so that no font or markup of theirs can matter here.
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

# Colours that stand for the page's CSS variables, which differ between the light and the dark scheme.
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
    """A plot being drawn: the axes, and at the end the markup."""

    def __init__(self, width: float, height: float, margins: tuple[float, float, float, float]) -> None:
        left, right, bottom, top = margins
        self._figure = Figure(figsize=(width / 72, height / 72), dpi=72)
        self.axes: Axes = self._figure.add_axes(
            (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
        )
        # Where matplotlib would put the label hangs on its own fonts, and the page has others.
        self.axes.yaxis.set_label_coords((12 - left) / (width - left - right), 0.5)
        self.markup = ""

    def finish(self, name: str, description: str) -> None:
        """Set `markup`; `name` tells this plot's ids from those of others on the page."""
        drawn = StringIO()
        self._figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None, "Format": None})
        self.markup = _inlined(drawn.getvalue(), name, description)


@contextmanager
def plot(
    name: str,
    description: str,
    size: tuple[float, float] = (460, 300),
    margins: tuple[float, float, float, float] = (64, 18, 44, 10),
) -> Iterator[Plot]:
    """Give a plot to draw on; sizes and margins (left, right, bottom, top) are in the pixels of its natural size."""
    with matplotlib.style.context(["default", _STYLE]):
        drawing = Plot(*size, margins)
        yield drawing
        drawing.finish(name, description)


def _inlined(svg: str, name: str, description: str) -> str:
    """Return the svg element alone, with the page's fonts and colours."""
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


def per_cent_axes(axes: Axes) -> None:
    """Let both axes run from 0 to 100 %."""
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[i / 5 for i in range(6)], yticks=[i / 5 for i in range(6)])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}"))
    axes.grid(True)


def count_axis(axes: Axes, most: float, log: bool, least: float = 0.6) -> None:
    """Let the vertical axis count: from 0, or in powers of ten from the one below the least."""
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


def number_axis(axes: Axes, last: int) -> None:
    """Let the horizontal axis run over whole numbers up to the last one."""
    axes.set_xlim(0.5 if last == 1 else 0, last + (last <= 100) * 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1, steps=_STEPS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
