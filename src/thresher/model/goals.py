"""The goals of threshold tuning by name."""

import re
from typing import NamedTuple

from thresher.errors import ParameterError

GOALS = ("f1", "macro-f1", "break-even", "precision:P", "recall:R")
ALLOWED = f"{', '.join(GOALS)}; P and R above 0, up to 1"


class Goal(NamedTuple):
    """The goal of tuning: a measure and, for precision or recall, the value to reach."""

    measure: str
    wish: float = 0.0


def parse_goal(goal: str) -> Goal:
    """Return the goal that a setting names, or raise a ParameterError.

    >>> parse_goal("f1"), parse_goal("precision:0.9")
    (Goal(measure='f1', wish=0.0), Goal(measure='precision', wish=0.9))
    """
    if goal in GOALS[:3]:
        return Goal(goal)
    match = re.fullmatch(r"(precision|recall):([0-9]*\.?[0-9]+)", goal) if isinstance(goal, str) else None
    if match is None or not 0 < float(match[2]) <= 1:
        raise ParameterError.of("goal", goal, allowed=ALLOWED)
    return Goal(match[1], float(match[2]))


def is_goal(goal: object) -> bool:
    """Return whether this is the name of a goal."""
    try:
        parse_goal(goal)  # type: ignore[arg-type]
    except ParameterError:
        return False
    return True
