"""A growable hash table from the bytes of a name to its number, and the rows of counts made with it.

`text.vocabulary` holds one. Numbers are given in the order of first sight. The place of a name in the table depends on
a seed drawn for each process, so that nobody can prepare names that collide.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel

ABSENT = -1
_PRIME = 16777619  # of the 32-bit FNV hash; products stay below 2**57


class Table(NamedTuple):
    """Open addressing: `slots` hold numbers; number n has the hash `hashes[n]` and the letters up to `stops[n]`."""

    slots: NDArray[np.int32]
    hashes: NDArray[np.int64]
    stops: NDArray[np.int64]
    letters: NDArray[np.uint8]
    seed: int


@kernel
def hash_name(letters: NDArray[np.uint8], start: int, stop: int, seed: int) -> int:
    """Return a 32-bit hash of a name."""
    number = np.int64(seed)
    for i in range(start, stop):
        number = ((number ^ np.int64(letters[i])) * _PRIME) & 0xFFFFFFFF
    return int(number ^ number >> 15)


@kernel
def same_name(
    left: NDArray[np.uint8], left_start: int, right: NDArray[np.uint8], right_start: int, length: int
) -> bool:
    """Tell whether two names of one length have the same letters."""
    i = 0
    while i < length and left[left_start + i] == right[right_start + i]:
        i += 1
    return i == length


@kernel
def number_names(
    letters: NDArray[np.uint8],
    ends: NDArray[np.int64],
    first: int,
    known: int,
    most: int,
    table: Table,
    numbers: NDArray[np.int32],
) -> tuple[int, int]:
    """Write the number of each name from `first` on, giving new ones while fewer than `most` are known.

    A name beyond that is ABSENT. Stops early when the table is full; returns how far it came and how many are known.
    """
    slots, hashes, stops, kept_letters, seed = table
    mask, room = len(slots) - 1, min(len(slots) // 2, len(stops))
    for i in range(first, len(ends)):
        start = ends[i - 1] if i > 0 else 0
        length = ends[i] - start
        name_hash = hash_name(letters, start, ends[i], seed)
        slot = name_hash & mask
        while slots[slot] != ABSENT:
            number = slots[slot]
            if hashes[number] == name_hash:
                other = stops[number - 1] if number > 0 else 0
                if stops[number] - other == length and same_name(letters, start, kept_letters, other, length):
                    break
            slot = (slot + 1) & mask
        if slots[slot] == ABSENT and known < most:
            place = stops[known - 1] if known > 0 else 0
            if known >= room or place + length > len(kept_letters):
                return i, known
            kept_letters[place : place + length] = letters[start : ends[i]]
            slots[slot], hashes[known], stops[known] = known, name_hash, place + length
            known += 1
        numbers[i] = slots[slot]
    return len(ends), known


@kernel
def fill_slots(known: int, table: Table) -> None:
    """Enter the known names into empty slots; writes `slots`."""
    mask = len(table.slots) - 1
    for number in range(known):
        slot = table.hashes[number] & mask
        while table.slots[slot] != ABSENT:
            slot = (slot + 1) & mask
        table.slots[slot] = number


@kernel
def hash_names(known: int, table: Table) -> None:
    """Hash the known names; writes `hashes`."""
    for number in range(known):
        first = table.stops[number - 1] if number > 0 else 0
        table.hashes[number] = hash_name(table.letters, first, table.stops[number], table.seed)


@kernel
def count_entries(
    numbers: NDArray[np.int32], documents: NDArray[np.int64], latest: NDArray[np.int64], entries: NDArray[np.int64]
) -> int:
    """Count the numbers of each document into entries (number << 32 | count); ABSENT ones are left out.

    `latest` holds -1 for each number at the first call. Writes the ends of the documents' entries into `documents`, and
    returns how many entries there are. Within a document they stand in the order of first sight.
    """
    filled = token = 0
    for document in range(len(documents)):
        begin = filled
        for i in range(token, documents[document]):
            number = np.int64(numbers[i])
            if number == ABSENT:
                continue
            if latest[number] < begin:
                latest[number] = filled
                entries[filled] = number << 32
                filled += 1
            entries[latest[number]] += 1
        token = documents[document]
        documents[document] = filled
    return filled


@kernel
def rows_from_entries(
    documents: NDArray[np.int64],
    renumbered: NDArray[np.int64],
    entries: NDArray[np.int64],
    indices: NDArray[np.int32],
    counts: NDArray[np.float32],
) -> None:
    """Write the rows' indices, renumbered and sorted, and their counts; a name renumbered to ABSENT is left out.

    Writes the ends of the rows into `documents`, and sorts `entries` in place.
    """
    filled = first = 0
    for document in range(len(documents)):
        begin = filled
        for i in range(first, documents[document]):
            number = renumbered[entries[i] >> 32]
            if number != ABSENT:
                entries[filled] = number << 32 | entries[i] & 0xFFFFFFFF
                filled += 1
        entries[begin:filled].sort()
        for i in range(begin, filled):
            indices[i] = entries[i] >> 32
            counts[i] = np.float32(entries[i] & 0xFFFFFFFF)
        first = documents[document]
        documents[document] = filled
