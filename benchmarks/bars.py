"""Draw the ratios of a page's tables as bars.

    .venv/bin/python benchmarks/bars.py docs/benchmarks.md docs/benchmarks.svg

Draws each table between the marks that `speed.py` writes between whose second column is "× PEER".
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib
from matplotlib.figure import Figure

OURS, PEERS, INK, GRID = "#1b6ca8", "#b9bec5", "#1f2933", "#e4e7eb"
WIDTH, BAR, SPACE = 8.4, 0.28, 0.75  # inches: of the picture, of a bar, and of the space above and below a panel


class Panel(NamedTuple):
    """A comparison: its title, the peer, and how many times as fast as the peer each system is."""

    title: str
    peer: str
    ratios: dict[str, float]


def read_panels(page: str) -> list[Panel]:
    """Return the tables of ratios.

    >>> panels_of("**Reading. More.**\\n\\n|  | × them | s |\\n|---|---:|---:|\\n| ours | 2.5 | 1 |\\n")
    [Panel(title='Reading', peer='them', ratios={'ours': 2.5})]
    """
    panels: list[Panel] = []
    title, peer = "", ""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("**"):
            title, peer = line.strip("*").partition(".")[0], ""
        elif line.startswith("|  | × ") and "rows and weights" not in line:
            peer = cells[1].removeprefix("× ")
            panels.append(Panel(title, peer, {}))
        elif peer and len(cells) > 2 and re.fullmatch(r"[\d,.]+", cells[1]):
            panels[-1].ratios[cells[0].replace("`", "")] = float(cells[1].replace(",", ""))
    return panels


def draw(panels: list[Panel], path: Path) -> None:
    """Write the panels one below the other, each with the fastest at the top."""
    matplotlib.rcParams.update({"svg.hashsalt": "thresher", "svg.fonttype": "none", "font.family": "sans-serif"})
    heights = [BAR * len(panel.ratios) + SPACE for panel in panels]
    figure = Figure(figsize=(WIDTH, sum(heights)), facecolor="white")  # readable on dark pages as well
    top = 1.0
    for height, panel in zip(heights, panels, strict=True):
        share = height / sum(heights)
        bottom, inner = top - share * (1 - 0.3 / height), share * (1 - SPACE / height)
        axes = figure.add_axes((0.36, bottom, 0.58, inner))
        ordered = sorted(panel.ratios.items(), key=lambda item: item[1])
        names, values = [name for name, _ in ordered], [value for _, value in ordered]
        axes.barh(names, values, color=[OURS if name.startswith("thresher") else PEERS for name in names], height=0.72)
        for place, value in enumerate(values):
            axes.annotate(f"{value:g}", (value, place), xytext=(4, 0), textcoords="offset points", va="center", size=9)
        figure.text(0.01, bottom + inner + 0.12 / sum(heights), f"{panel.title}: × {panel.peer}", size=10, color=INK)
        axes.tick_params(axis="y", length=0, labelsize=9, labelcolor=INK)
        axes.tick_params(axis="x", labelsize=8, labelcolor=INK)
        axes.grid(True, axis="x", color=GRID)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        top -= share
    figure.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    marked = Path(sys.argv[1]).read_text("utf-8").split("<!-- speed: start -->")[1].split("<!-- speed: end -->")[0]
    draw(read_panels(marked), Path(sys.argv[2]))
