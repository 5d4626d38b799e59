"""Arrays that grow by a few entries at a time without being copied each time: what a model knows of words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_GROWTH = 1.5


def extended(array: NDArray[Any], count: int, value: Any) -> NDArray[Any]:
    """Return a flat array with `count` entries more, all of one value.

    What is returned has room to spare behind it, and the next call takes that: an array that was extended must have
    been given up by then.

    >>> longer = extended(extended(np.array([1, 2]), 1, 5), 1, 7)
    >>> longer.tolist()
    [1, 2, 5, 7]
    """
    length, room = len(array) + count, array.base
    if not isinstance(room, np.ndarray) or room.ndim != 1 or room.dtype != array.dtype or len(room) < length:
        room = np.empty(int(length * _GROWTH) + 16, dtype=array.dtype)
        room[: len(array)] = array
    elif room.ctypes.data != array.ctypes.data or not room.flags.owndata or not room.flags.writeable:
        return extended(array.copy(), count, value)
    room[len(array) : length] = value
    return room[:length]
