"""A growable hash table from names to numbers, and kernels that count documents into rows with it.

`text.vocabulary` holds one. Numbers are assigned in order of first occurrence. The slot of a name depends on a seed
drawn for each process, so that nobody can prepare names that collide.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.ascii_tokenizer import KEY_LETTERS
from thresher.kernels.compiler import kernel
from thresher.kernels.tokenizer import combine_key_and_size, take_letters

ABSENT = -1
MAX_NAME_NUMBER = 2**31 - 1  # also masks the number in a slot


class Table(NamedTuple):
    """A hash table with open addressing.

    A slot holds hash << 31 | number, and the name's key. The letters of number n end at `stops[n]`. `seeds` are the
    factors of the hash, drawn for each process.
    """

    slots: NDArray[np.int64]
    keys: NDArray[np.int64]
    hashes: NDArray[np.int64]
    stops: NDArray[np.int64]
    letters: NDArray[np.uint8]
    seeds: tuple[int, int]


@kernel
def hash_name(key: int, rest: int, seeds: tuple[int, int]) -> int:
    """Return a 32-bit hash of a name.

    It is linear in the halves of the name's key, with random factors, so that nobody can plan collisions.
    """
    number = ((key & 0xFFFFFFFF) * seeds[0] + (key >> 32) * seeds[1] + rest) & 0xFFFFFFFF
    return number ^ number >> 15


@kernel
def is_same_name(
    left: NDArray[np.uint8], left_start: int, right: NDArray[np.uint8], right_start: int, length: int
) -> bool:
    """Return whether two names of the same length have the same letters."""
    i = 0
    while i < length and left[left_start + i] == right[right_start + i]:
        i += 1
    return i == length


@kernel
def find_slot(
    letters: NDArray[np.uint8], start: int, stop: int, key: int, hashed: int, table: Table
) -> tuple[int, int]:
    """Return the slot of a name and its entry, or the empty slot where the name belongs and -1.

    The slot is read once, so that a thread may look up names while another adds some. It may miss a name that is being
    added, but the number that it returns always has the letters that it looked for.
    """
    slots, _, _, stops, kept_letters, _ = table
    mask, length = len(slots) - 1, stop - start
    slot = hashed & mask
    entry = slots[slot, 0]
    while entry != ABSENT:
        if entry >> 31 == hashed and slots[slot, 1] == key:
            number = entry & MAX_NAME_NUMBER
            first = stops[number - 1] if number > 0 else 0
            if stops[number] - first == length and is_same_name(letters, start, kept_letters, first, length):
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
    """Write the number of each name, or ABSENT if it is not among the first `known`; return how many are absent.

    This inlines `find_slot`, because passing the table to a call would count references to its arrays for every name. A
    short name is identified by its key alone.
    """
    slots, _, _, stops, kept_letters, seeds = table
    mask, start, missing = len(slots) - 1, 0, 0
    for i in range(len(ends)):
        key, length = keys[i], ends[i] - start
        hashed = hash_name(key, rests[i], seeds)
        slot = hashed & mask
        entry = slots[slot, 0]
        while entry != ABSENT:
            if entry >> 31 == hashed and slots[slot, 1] == key:
                number = entry & MAX_NAME_NUMBER
                first = stops[number - 1] if number > 0 and length > KEY_LETTERS else 0
                if length <= KEY_LETTERS or (
                    stops[number] - first == length and is_same_name(letters, start, kept_letters, first, length)
                ):
                    break
            slot = (slot + 1) & mask
            entry = slots[slot, 0]
        is_known = entry != ABSENT and entry & MAX_NAME_NUMBER < known
        numbers[i] = entry & MAX_NAME_NUMBER if is_known else ABSENT
        missing += not is_known
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
    """Assign numbers to names without one, from `first` on, while fewer than `most` are known; writes `numbers`.

    It stops early when the table is full. Return the index it reached, and the number of known names.
    """
    room = min(len(table.slots) // 2, len(table.stops))
    for i in range(first, len(ends)):
        if numbers[i] != ABSENT:
            continue
        start = ends[i - 1] if i > 0 else 0
        hashed = hash_name(keys[i], rests[i], table.seeds)
        slot, entry = find_slot(letters, start, ends[i], keys[i], hashed, table)
        if entry == ABSENT and known >= most:
            continue
        if entry == ABSENT:
            place = table.stops[known - 1] if known > 0 else 0
            end = place + ends[i] - start
            if known >= room or end > len(table.letters):
                return i, known
            for j in range(end - place):
                table.letters[place + j] = letters[start + j]
            table.keys[known], table.hashes[known], table.stops[known] = keys[i], hashed, end
            entry = hashed << 31 | known
            table.slots[slot, 1] = keys[i]
            table.slots[slot, 0] = entry
            known += 1
        numbers[i] = entry & MAX_NAME_NUMBER
    return len(ends), known


@kernel
def fill_slots(known: int, table: Table) -> None:
    """Insert the known names into empty slots; writes `slots`."""
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
    """Write the key and the rest of each name, as the tokenizer computes them."""
    start = 0
    for i in range(len(ends)):
        key, rest = take_letters(letters, start, ends[i], 0, 0, 0)
        keys[i], rests[i] = combine_key_and_size(key, ends[i] - start), rest
        start = ends[i]


@kernel
def hash_names(known: int, rests: NDArray[np.int64], table: Table) -> None:
    """Hash the known names from their keys and rests; writes `hashes`."""
    for number in range(known):
        table.hashes[number] = hash_name(table.keys[number], rests[number], table.seeds)


@kernel
def count_entries(
    numbers: NDArray[np.int32], documents: NDArray[np.int64], latest: NDArray[np.int64], entries: NDArray[np.int64]
) -> int:
    """Count the numbers of each document into entries (number << 32 | count), without ABSENT ones.

    `latest` must hold -1 for each number at the first call. Within a document, entries are in order of first
    occurrence. Write the end of each document's entries into `documents`, and return the number of entries.
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
    """Sort entries by number, in place, with a radix sort; all entries must be below `most`."""
    bits, count = 0, len(entries)
    while 1 << 32 + bits < most:
        bits += 1
    most_bits = 10 if count > 200 else 8  # of a round: its counts must be few against the entries
    width = -(-bits // max(-(-bits // most_bits), 1))  # the smallest width that takes no more rounds
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
        for i in range(count):
            entries[i] = scratch[i]


@kernel
def count_few(numbers: NDArray[np.int32], indices: NDArray[np.int32], counts: NDArray[np.float32]) -> int:
    """Write the distinct numbers of one document, sorted, and their counts; skip ABSENT ones.

    Return how many there are. Unlike `count_entries`, this needs no array as long as the vocabulary.
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

    This is `find_names`, `add_names` and `count_few` in one call. Return the index that numbering reached, the number
    of known names, and the number of distinct names of the document, which is 0 if the table was full before the end.
    """
    done = len(ends)
    if find_names(letters, ends, keys, rests, known, table, numbers) > 0 and known < most:
        done, known = add_names(letters, ends, keys, rests, 0, known, most, table, numbers)
    if done < len(ends):
        return done, known, 0
    return done, known, count_few(numbers, indices, counts)


@kernel
def make_rows(
    documents: NDArray[np.int64],
    renumbered: NDArray[np.int64],
    n_names: int,
    entries: NDArray[np.int64],
    indices: NDArray[np.int32],
    counts: NDArray[np.float32],
) -> None:
    """Write the renumbered, sorted indices of the rows and their counts; skip names renumbered to ABSENT.

    New numbers are below `n_names`. If `renumbered` is empty, all names keep their numbers. Writes the ends of the rows
    into `documents`, and sorts `entries` in place.
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
