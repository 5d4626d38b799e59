"""Draws docs/precision-recall.svg: precision against recall on Reuters ModApte, for the default preset and the paper's.

THRESHER_DATA=... .venv/bin/python tools/make_curve.py    # takes half a minute

It has the axes and colours of the report; here the colours follow the reader's light or dark scheme.
"""

from pathlib import Path

import numpy as np

from thresher import Categorizer
from thresher.datasets.corpora.reuters21578 import read_reuters
from thresher.evaluation import Evaluation, evaluate
from thresher.metrics import precision_recall_curve
from thresher.report.svg import AGAINST, FOR, INK, MUTED, PAPER, open_plot, set_percent_axes

OUTPUT = Path(__file__).parent.parent / "docs" / "precision-recall.svg"
POINTS = 160
PUBLISHED = 0.833  # the break-even of BalancedWinnow+ in the paper's Table 2, on the older collection
_PARTS = {
    "light": "--paper: #ffffff; --ink: #1b1f24; --muted: #5d666f; --grid: #e9ecef; --for: #0b65a8; --against: #b34505",
    "dark": "--paper: #14171a; --ink: #e6e9ec; --muted: #a3adb7; --grid: #262c31; --for: #62b3ef; --against: #f29559",
}
_STYLE = (
    f"<style>:root {{ {_PARTS['light']} }} "
    f"@media (prefers-color-scheme: dark) {{ :root {{ {_PARTS['dark']} }} }} "
    "svg { font-family: system-ui, sans-serif; background: var(--paper) }</style>"
)


def measure(preset: str) -> Evaluation:
    """Learn the training documents, and score the test documents."""
    training = read_reuters("modapte90:train")
    model = Categorizer(preset=preset).fit([one.content for one in training], [one.categories for one in training])
    return evaluate(model, read_reuters("modapte90:test"))


def draw(evaluations: dict[str, Evaluation]) -> str:
    """Return the picture as an SVG file."""
    points = {name: 100 * evaluation.pooled_break_even for name, evaluation in evaluations.items()}
    description = "; ".join(f"preset {name}: break-even at {point:.1f} per cent" for name, point in points.items())
    with open_plot(
        "curve", f"Precision against recall on Reuters ModApte. {description}", (520, 396), (52, 18, 44, 14)
    ) as drawing:
        axes = drawing.axes
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1, dashes=(2, 3))
        for (name, evaluation), colour in zip(evaluations.items(), (FOR, AGAINST), strict=True):
            curve = precision_recall_curve(evaluation.scores.ravel(), evaluation.truth.ravel())
            wanted = np.searchsorted(curve.recall, np.linspace(0, curve.recall[-1], POINTS))
            label = f"preset {name}: break-even {points[name]:.1f}"
            axes.plot(curve.recall[wanted], curve.precision[wanted], color=colour, linewidth=2, label=label)
            point = points[name] / 100
            axes.plot([point], [point], "o", color=colour, mec=PAPER, mew=1.5, ms=8, zorder=5)
        published = f"the paper, on the older collection: {100 * PUBLISHED:.1f}"
        axes.plot([PUBLISHED], [PUBLISHED], "x", color=INK, mew=2, ms=8, zorder=6, linestyle="none", label=published)
        set_percent_axes(axes)
        axes.set(xlabel="recall, per cent", ylabel="precision, per cent")
        axes.legend(loc="lower right", bbox_to_anchor=(0.89, 0.02), frameon=False, fontsize=11)
    opening, _, rest = drawing.markup.partition(">")
    return f"{opening.replace('<svg', SVG)}>{_STYLE}{rest}\n"


SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="520" height="396"'


def main() -> None:
    """Measure both presets, and write the picture."""
    OUTPUT.write_text(draw({preset: measure(preset) for preset in ("default", "paper")}))


if __name__ == "__main__":
    main()
