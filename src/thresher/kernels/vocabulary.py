"""A growable hash table from the bytes of a name to its number, and the rows of counts made with it.

`text.vocabulary` holds one. Numbers are given in the order of first sight. The place of a name in the table depends on
a seed drawn for each process, so that nobody can prepare names that collide.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.plain_words import KEY_LETTERS
from thresher.kernels.tokens import sized, take_letters

ABSENT = -1
MOST = 2**31 - 1


class Table(NamedTuple):
    """Open addressing: a slot holds hash << 31 | number, and the name's key; the letters of number n end at `stops[n]`.

    `seeds` are the factors of the hash, drawn for each process.
    """

    slots: NDArray[np.int64]
    keys: NDArray[np.int64]
    hashes: NDArray[np.int64]
    stops: NDArray[np.int64]
    letters: NDArray[np.uint8]
    seeds: tuple[int, int]


@kernel
def name_hash(key: int, rest: int, seeds: tuple[int, int]) -> int:
    """Return a 32-bit hash of a name, linear in the halves of its key with random factors: none can plan collisions."""
    number = ((key & 0xFFFFFFFF) * seeds[0] + (key >> 32) * seeds[1] + rest) & 0xFFFFFFFF
    return number ^ number >> 15


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
def find_slot(
    letters: NDArray[np.uint8], start: int, stop: int, key: int, hashed: int, table: Table
) -> tuple[int, int]:
    """Return the slot where a name is, or the empty one where it belongs, and what that slot held: -1 if nothing.

    The slot is read once, so that a thread may look while another adds names: it may miss one that is being added, but
    the number that it returns has the letters that it looked for.
    """
    slots, _, _, stops, kept_letters, _ = table
    mask, length = len(slots) - 1, stop - start
    slot = hashed & mask
    entry = slots[slot, 0]
    while entry != ABSENT:
        if entry >> 31 == hashed and slots[slot, 1] == key:
            number = entry & MOST
            first = stops[number - 1] if number > 0 else 0
            if stops[number] - first == length and same_name(letters, start, kept_letters, first, length):
                break
        slot = (slot + 1) & mask
        entry = slots[slot, 0]
    return slot, entry


@kernel
def find_names(
    letters: NDArray[np.uint8],
    ends: NDArray[np.int64],
    keys: NDArray[np.int64],
    rests: NDArray[np.int64],
    known: int,
    table: Table,
    numbers: NDArray[np.int32],
) -> int:
    """Write the number of each name, ABSENT for one that is not among the first `known`; return how many are not.

    `find_slot` written out, for a call that is handed the table would count references to its arrays at every name;
    and a short name is known by its key alone.
    """
    slots, _, _, stops, kept_letters, seeds = table
    mask, start, missing = len(slots) - 1, 0, 0
    for i in range(len(ends)):
        key, length = keys[i], ends[i] - start
        hashed = name_hash(key, rests[i], seeds)
        slot = hashed & mask
        entry = slots[slot, 0]
        while entry != ABSENT:
            if entry >> 31 == hashed and slots[slot, 1] == key:
                number = entry & MOST
                first = stops[number - 1] if number > 0 and length > KEY_LETTERS else 0
                if length <= KEY_LETTERS or (
                    stops[number] - first == length and same_name(letters, start, kept_letters, first, length)
                ):
                    break
            slot = (slot + 1) & mask
            entry = slots[slot, 0]
        found = entry != ABSENT and entry & MOST < known
        numbers[i] = entry & MOST if found else ABSENT
        missing += not found
        start = ends[i]
    return missing


@kernel
def add_names(
    letters: NDArray[np.uint8],
    ends: NDArray[np.int64],
    keys: NDArray[np.int64],
    rests: NDArray[np.int64],
    first: int,
    known: int,
    most: int,
    table: Table,
    numbers: NDArray[np.int32],
) -> tuple[int, int]:
    """Give numbers to the names from `first` on that have none, while fewer than `most` are known; writes `numbers`.

    Stops early when the table is full; returns how far it came and how many are known.
    """
    room = min(len(table.slots) // 2, len(table.stops))
    for i in range(first, len(ends)):
        if numbers[i] != ABSENT:
            continue
        start = ends[i - 1] if i > 0 else 0
        hashed = name_hash(keys[i], rests[i], table.seeds)
        slot, entry = find_slot(letters, start, ends[i], keys[i], hashed, table)
        if entry == ABSENT and known >= most:
            continue
        if entry == ABSENT:
            place = table.stops[known - 1] if known > 0 else 0
            end = place + ends[i] - start
            if known >= room or end > len(table.letters):
                return i, known
            table.letters[place:end] = letters[start : ends[i]]
            table.keys[known], table.hashes[known], table.stops[known] = keys[i], hashed, end
            entry = hashed << 31 | known
            table.slots[slot, 1] = keys[i]
            table.slots[slot, 0] = entry
            known += 1
        numbers[i] = entry & MOST
    return len(ends), known


@kernel
def fill_slots(known: int, table: Table) -> None:
    """Enter the known names into empty slots; writes `slots`."""
    mask = len(table.slots) - 1
    for number in range(known):
        slot = table.hashes[number] & mask
        while table.slots[slot, 0] != ABSENT:
            slot = (slot + 1) & mask
        table.slots[slot, 1] = table.keys[number]
        table.slots[slot, 0] = table.hashes[number] << 31 | number


@kernel
def make_keys(
    letters: NDArray[np.uint8], ends: NDArray[np.int64], keys: NDArray[np.int64], rests: NDArray[np.int64]
) -> None:
    """Write the numbers made of each name's letters, as the tokeniser makes them on its way."""
    start = 0
    for i in range(len(ends)):
        key, rest = take_letters(letters, start, ends[i], 0, 0, 0)
        keys[i], rests[i] = sized(key, ends[i] - start), rest
        start = ends[i]


@kernel
def hash_names(known: int, rests: NDArray[np.int64], table: Table) -> None:
    """Hash the known names by their keys and rests; writes `hashes`."""
    for number in range(known):
        table.hashes[number] = name_hash(table.keys[number], rests[number], table.seeds)


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
def add_counts(entries: NDArray[np.int64], totals: NDArray[np.int64]) -> None:
    """Add the counts of entries to the totals of their numbers."""
    for entry in entries:
        totals[entry >> 32] += entry & 0xFFFFFFFF


@kernel
def sort_entries(entries: NDArray[np.int64], scratch: NDArray[np.int64], most: int) -> None:
    """Sort entries by their numbers, in place, a few bits at a time; entries stay below `most`."""
    bits, count = 0, len(entries)
    while 1 << 32 + bits < most:
        bits += 1
    width = -(-bits // max(-(-bits // 8), 1))  # the least for as many rounds as eight bits would take
    digits = (1 << width) - 1
    places = np.empty(digits + 2, dtype=np.int64)
    for shift in range(32, 32 + bits, max(width, 1)):
        places[:] = 0
        for i in range(count):
            places[(entries[i] >> shift & digits) + 1] += 1
        for digit in range(1, digits + 1):
            places[digit + 1] += places[digit]
        for i in range(count):
            digit = entries[i] >> shift & digits
            scratch[places[digit]] = entries[i]
            places[digit] += 1
        entries[:] = scratch[:count]


@kernel
def count_few(numbers: NDArray[np.int32], indices: NDArray[np.int32], counts: NDArray[np.float32]) -> int:
    """Write the numbers of one document, sorted and each once, and how often it has them; ABSENT ones are left out.

    Returns how many there are. It needs no array as long as the vocabulary, as `count_entries` does.
    """
    entries, scratch = np.empty(len(numbers), dtype=np.int64), np.empty(len(numbers), dtype=np.int64)
    known, highest = 0, np.int64(0)
    for number in numbers:
        if number != ABSENT:
            entries[known] = np.int64(number) << 32
            highest = max(highest, entries[known])
            known += 1
    sort_entries(entries[:known], scratch, int(highest) + 1)
    filled = 0
    for i in range(known):
        number = entries[i] >> 32
        if filled == 0 or indices[filled - 1] != number:
            indices[filled], counts[filled] = number, np.float32(0)
            filled += 1
        counts[filled - 1] += np.float32(1)
    return filled


@kernel
def number_and_count(
    letters: NDArray[np.uint8],
    ends: NDArray[np.int64],
    keys: NDArray[np.int64],
    rests: NDArray[np.int64],
    known: int,
    most: int,
    table: Table,
    numbers: NDArray[np.int32],
    indices: NDArray[np.int32],
    counts: NDArray[np.float32],
) -> tuple[int, int, int]:
    """Number the names of one document, new ones while fewer than `most` are known, and count them.

    `find_names`, `add_names` and `count_few` in one call. Returns how far numbering came, how many are known, and how
    many different ones the document has: none where the table was full before the end.
    """
    done = len(ends)
    if find_names(letters, ends, keys, rests, known, table, numbers) > 0 and known < most:
        done, known = add_names(letters, ends, keys, rests, 0, known, most, table, numbers)
    if done < len(ends):
        return done, known, 0
    return done, known, count_few(numbers, indices, counts)


@kernel
def rows_from_entries(
    documents: NDArray[np.int64],
    renumbered: NDArray[np.int64],
    n_names: int,
    entries: NDArray[np.int64],
    indices: NDArray[np.int32],
    counts: NDArray[np.float32],
) -> None:
    """Write the rows' indices, renumbered and sorted, and their counts; a name renumbered to ABSENT is left out.

    New numbers are below `n_names`; with no renumbering all names keep theirs.
    Writes the ends of the rows into `documents`, and sorts `entries` in place.
    """
    longest = start = 0
    for stop in documents:
        longest, start = max(longest, stop - start), stop
    scratch = np.empty(longest, dtype=np.int64)
    most = n_names << 32
    filled = first = 0
    for document in range(len(documents)):
        begin = filled
        for i in range(first, documents[document]):
            number = renumbered[entries[i] >> 32] if len(renumbered) > 0 else entries[i] >> 32
            if number != ABSENT:
                entries[filled] = number << 32 | entries[i] & 0xFFFFFFFF
                filled += 1
        sort_entries(entries[begin:filled], scratch, most)
        for i in range(begin, filled):
            indices[i] = entries[i] >> 32
            counts[i] = np.float32(entries[i] & 0xFFFFFFFF)
        first = documents[document]
        documents[document] = filled
