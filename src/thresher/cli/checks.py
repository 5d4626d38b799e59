"""One thing that `thresher doctor` looked at."""

from typing import NamedTuple


class Check(NamedTuple):
    """One thing that was looked at; `good` is False where something should be done, None where it is only told."""

    name: str
    found: str
    good: bool | None = None
    advice: str = ""
