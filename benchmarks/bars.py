"""The speeds of a benchmark's tables as bars, for a page of the docs."""

from pathlib import Path
from typing import NamedTuple

import matplotlib
from matplotlib.figure import Figure

OURS, PEERS, INK, GRID = "#1b6ca8", "#b9bec5", "#1f2933", "#e4e7eb"
HEIGHT, TITLE = 0.3, 0.75  # inches of a bar, and of what stands above and below a panel


class Panel(NamedTuple):
    """What is compared, and how many times as fast as the peer each system is."""

    title: str
    peer: str
    ratios: dict[str, float]


def draw(panels: list[Panel], path: Path) -> None:
    """Write the panels one below the other, the fastest at the top, on a logarithmic axis."""
    matplotlib.rcParams.update({"svg.hashsalt": "thresher", "svg.fonttype": "none", "font.family": "sans-serif"})
    heights = [HEIGHT * len(panel.ratios) + TITLE for panel in panels]
    figure = Figure(figsize=(8.4, sum(heights)), layout="constrained")
    figure.patch.set_facecolor("white")  # readable on dark pages as well
    for axes, panel in zip(
        figure.subplots(len(panels), 1, height_ratios=heights, squeeze=False)[:, 0], panels, strict=True
    ):
        ordered = sorted(panel.ratios.items(), key=lambda item: item[1])
        names, values = [name for name, _ in ordered], [value for _, value in ordered]
        colours = [OURS if name.startswith("thresher") else PEERS for name in names]
        axes.barh(names, values, color=colours, height=0.72, left=min(0.05, min(values) / 2))
        axes.set_xscale("log")
        axes.set_xlim(left=min(0.05, min(values) / 2), right=max(values) * 2)
        for place, value in enumerate(values):
            axes.annotate(
                f"{value:.3g}", (value, place), xytext=(4, 0), textcoords="offset points", va="center", size=9
            )
        axes.set_title(f"{panel.title}: times as fast as {panel.peer}", loc="left", size=10.5, color=INK)
        axes.tick_params(axis="y", length=0, labelsize=9, labelcolor=INK)
        axes.tick_params(axis="x", labelsize=8, labelcolor=INK)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(True, axis="x", color=GRID)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
    figure.savefig(path, format="svg", metadata={"Date": None})
