"""The result of an experiment on a claim: the claim, the tests that judge it, the verdict, a table and a plot."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from thresher.support.progress import Report, Step

REPRODUCED, PARTLY, NOT_REPRODUCED = "reproduced", "partly", "not reproduced"


class Series(NamedTuple):
    """One line of a plot."""

    label: str
    x: list[float]
    y: list[float]


class Plot(NamedTuple):
    """Lines over one pair of axes, either of which may be logarithmic.

    Every `cycle`-th line has the same color; the lines after the first `cycle` are dashed.
    """

    x_label: str
    y_label: str
    series: list[Series]
    log_x: bool = False
    log_y: bool = False
    cycle: int = 4


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and the result of its experiment.

    Parameters
    ----------
    name, section, claim : str
        The experiment, the section of the paper, and the claim in one sentence.
    tests : dict of str to bool
        What must hold, in words, and whether the figures show it. The verdict is "reproduced" if all tests hold,
        "partly" if some do, and "not reproduced" if none does.
    because : str
        The figures behind the verdict, in one sentence.
    rows : list of dict
        The rows of the table.
    plot : Plot
        The plot of the figures.

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


def group_series(rows: list[dict[str, Any]], label: str, x: str, y: str) -> list[Series]:
    """Return one line for each value under `label`, in the order of the rows.

    >>> group_series([{"who": "a", "n": 1, "m": 5}, {"who": "a", "n": 2, "m": 6}], "who", "n", "m")
    [Series(label='a', x=[1.0, 2.0], y=[5.0, 6.0])]
    """
    lines: dict[str, Series] = {}
    for row in rows:
        line = lines.setdefault(row[label], Series(row[label], [], []))
        line.x.append(float(row[x]))
        line.y.append(float(row[y]))
    return list(lines.values())


def track_stages(name: str, total: int, progress: Report | None) -> Callable[[], None]:
    """Return a function to call after each of the `total` stages of an experiment, which reports the progress."""
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(Step(name, done, total))

    return advance
