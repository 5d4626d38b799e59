"""Passes over the documents in short slices, for the two rivals that learn one document at a time."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.kernels.shuffle import make_state, shuffle_rows
from thresher.support.settings import MAX_NUMBER
from thresher_reproduction.rivals.tables import Progress

ROWS_AT_ONCE = 256  # takes a fraction of a second even for the exponentials of hundreds of categories

LearnRows = Callable[[NDArray[np.int64]], None]


def check_passes(rate: float, max_passes: int) -> None:
    """Raise a ParameterError unless the rate is above 0 and there is at least one pass."""
    if not 0 < rate <= MAX_NUMBER or max_passes < 1:
        allowed = f"above 0 and up to {MAX_NUMBER:g}, and from 1"
        raise ParameterError(f"invalid rate or max_passes: {rate!r}, {max_passes!r}", hint=f"allowed: {allowed}")


def run_passes(n_rows: int, max_passes: int, seed: int, learn: LearnRows, progress: Progress) -> None:
    """Call `learn` with all rows in each pass, slice by slice, in a new random order.

    Between slices, the user can interrupt with Ctrl-C and `progress` is called.

    >>> run_passes(3, 1, 0, lambda rows: print(sorted(rows.tolist())), lambda done, total: print(done, "of", total))
    [0, 1, 2]
    3 of 3
    """
    order, state = np.arange(n_rows), make_state(seed)
    for number in range(max_passes):
        shuffle_rows(order, state)
        for start in range(0, n_rows, ROWS_AT_ONCE):
            part = order[start : start + ROWS_AT_ONCE]
            learn(part)
            progress(number * n_rows + start + len(part), max_passes * n_rows)
