"""Arrays that grow by a few entries at a time without a copy each time, as used for per-feature data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_GROWTH = 1.5


def extend(array: NDArray[Any], count: int, value: Any) -> NDArray[Any]:
    """Return a 1-D array with `count` more entries, all set to `value`.

    The returned array has spare capacity, which the next call writes into. So do not use an array after you have
    extended it.

    >>> longer = extend(extend(np.array([1, 2]), 1, 5), 1, 7)
    >>> longer.tolist()
    [1, 2, 5, 7]
    """
    length, room = len(array) + count, array.base
    if not isinstance(room, np.ndarray) or room.ndim != 1 or room.dtype != array.dtype or len(room) < length:
        room = np.empty(int(length * _GROWTH) + 16, dtype=array.dtype)
        room[: len(array)] = array
    elif room.ctypes.data != array.ctypes.data or not room.flags.owndata or not room.flags.writeable:
        return extend(array.copy(), count, value)
    room[len(array) : length] = value
    return room[:length]
