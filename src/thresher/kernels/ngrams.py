"""Kernels that build names from other names: n-grams, pairs, prefixes and pieces of words.

`text.token_features` calls them.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel

HASH, UNDERSCORE = 35, 95


@kernel
def measure_joined(stops: NDArray[np.int64], members: NDArray[np.int64]) -> int:
    """Return the number of bytes of the joined names, with one mark between any two."""
    total = members.shape[0] * (members.shape[1] - 1)
    for row in range(members.shape[0]):
        for column in range(members.shape[1]):
            member = members[row, column]
            total += stops[member] - (stops[member - 1] if member > 0 else 0)
    return int(total)


@kernel
def is_before(letters: NDArray[np.uint8], stops: NDArray[np.int64], left: int, right: int) -> bool:
    """Return whether one name is before another in byte order."""
    i, j = stops[left - 1] if left > 0 else 0, stops[right - 1] if right > 0 else 0
    while i < stops[left] and j < stops[right]:
        if letters[i] != letters[j]:
            return bool(letters[i] < letters[j])
        i, j = i + 1, j + 1
    return bool(j < stops[right])


@kernel
def order_pairs(letters: NDArray[np.uint8], stops: NDArray[np.int64], pairs: NDArray[np.int64]) -> int:
    """Sort the two names of each pair by their bytes, and move pairs of different names to the front; writes `pairs`.

    Return the number of pairs of different names.
    """
    count = 0
    for row in range(len(pairs)):
        left, right = pairs[row, 0], pairs[row, 1]
        if is_before(letters, stops, right, left):
            left, right = right, left
        if is_before(letters, stops, left, right):
            pairs[count, 0], pairs[count, 1] = left, right
            count += 1
    return count


@kernel
def join_names(
    letters: NDArray[np.uint8],
    stops: NDArray[np.int64],
    members: NDArray[np.int64],
    mark: int,
    joined: NDArray[np.uint8],
    joined_stops: NDArray[np.int64],
) -> None:
    """Write the names of each row of `members` one after another, with the byte `mark` between any two."""
    place = 0
    for row in range(members.shape[0]):
        for column in range(members.shape[1]):
            member = members[row, column]
            if column > 0:
                joined[place] = mark
                place += 1
            for i in range(stops[member - 1] if member > 0 else 0, stops[member]):
                joined[place] = letters[i]
                place += 1
        joined_stops[row] = place


@kernel
def skip_character(letters: NDArray[np.uint8], i: int) -> int:
    """Return where the UTF-8 character after the one at `i` starts."""
    i += 1
    while i < len(letters) and letters[i] & 0xC0 == 0x80:
        i += 1
    return i


@kernel
def write_pieces(
    padded: NDArray[np.uint8], size: int, pieces: NDArray[np.uint8], stops: NDArray[np.int64], count: int
) -> int:
    """Append all runs of `size` characters of a padded name, each after a `#`, to the `count` existing pieces.

    Return the new count.
    """
    first, last = 0, 0
    for _ in range(size):
        if last >= len(padded):
            return count
        last = skip_character(padded, last)
    while True:
        place = stops[count - 1] if count > 0 else 0
        pieces[place] = HASH
        for i in range(first, last):
            pieces[place + 1 + i - first] = padded[i]
        stops[count] = place + 1 + last - first
        count += 1
        if last >= len(padded):
            return count
        first, last = skip_character(padded, first), skip_character(padded, last)


@kernel
def cut_names(
    letters: NDArray[np.uint8],
    ends: NDArray[np.int64],
    sizes: tuple[int, int],
    pieces: NDArray[np.uint8],
    stops: NDArray[np.int64],
    owners: NDArray[np.int64],
) -> int:
    """Write the pieces of sizes[0] to sizes[1] characters of each name, padded with a `_` at each end.

    Write the name of each piece into `owners`, and return the number of pieces.
    """
    padded = np.empty(len(letters) + 2, dtype=np.uint8)
    count = start = 0
    for name in range(len(ends)):
        length = ends[name] - start
        padded[0] = padded[length + 1] = UNDERSCORE
        for i in range(length):
            padded[1 + i] = letters[start + i]
        for size in range(sizes[0], sizes[1] + 1):
            before = count
            count = write_pieces(padded[: length + 2], size, pieces, stops, count)
            for piece in range(before, count):
                owners[piece] = name
        start = ends[name]
    return count
