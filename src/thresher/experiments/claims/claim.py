"""What an experiment on a claim returns: the claim, the tests that judge it, their verdict, a table and a plot."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from thresher.tuning import Report, Step

REPRODUCED, PARTLY, NOT_REPRODUCED = "reproduced", "partly", "not reproduced"


class Series(NamedTuple):
    """One line of a plot."""

    label: str
    x: list[float]
    y: list[float]


class Plot(NamedTuple):
    """What to draw: lines over one pair of axes, either of which may be logarithmic.

    Every `cycle`-th line has the same colour; those after the first `cycle` are dashed.
    """

    x_label: str
    y_label: str
    series: list[Series]
    log_x: bool = False
    log_y: bool = False
    cycle: int = 4


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and what became of it.

    Parameters
    ----------
    name, section, claim : str
        The experiment, where the paper claims it, and the claim in one sentence.
    tests : dict of str to bool
        What must hold, in words, and whether the figures say so. The verdict is "reproduced" where all of it holds,
        "partly" where some does, and "not reproduced" where nothing does.
    because : str
        The figures that decided, in one sentence.
    rows : list of dict
        The table.
    plot : Plot

    Examples
    --------
    >>> plot = Plot("features", "mistakes", [Series("Winnow", [1.0, 2.0], [3.0, 4.0])])
    >>> Claim("growth", "3.1", "It grows.", {"it grows": True, "slowly": False}, "3 to 4.", [], plot).verdict
    'partly'
    """

    name: str
    section: str
    claim: str
    tests: dict[str, bool]
    because: str
    rows: list[dict[str, Any]]
    plot: Plot
    verdict: str = field(init=False)

    def __post_init__(self) -> None:
        held = list(self.tests.values())
        object.__setattr__(self, "tests", {name: bool(test) for name, test in self.tests.items()})
        verdict = REPRODUCED if all(held) else PARTLY if any(held) else NOT_REPRODUCED
        object.__setattr__(self, "verdict", verdict)


def series_of(rows: list[dict[str, Any]], label: str, x: str, y: str) -> list[Series]:
    """Return a line for each value that the rows have under `label`, in the order of the rows.

    >>> series_of([{"who": "a", "n": 1, "m": 5}, {"who": "a", "n": 2, "m": 6}], "who", "n", "m")
    [Series(label='a', x=[1.0, 2.0], y=[5.0, 6.0])]
    """
    lines: dict[str, Series] = {}
    for row in rows:
        line = lines.setdefault(row[label], Series(row[label], [], []))
        line.x.append(float(row[x]))
        line.y.append(float(row[y]))
    return list(lines.values())


def stages(name: str, total: int, progress: Report | None) -> Callable[[], None]:
    """Return a function to call after each of `total` stages of an experiment; it reports how far that is."""
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(Step(name, done, total))

    return advance
