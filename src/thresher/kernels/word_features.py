"""Kernels that find the features made of words by the numbers of the words, without writing any name.

`text.word_features` calls them. The features of a document come step by step: step 1 gives its words, steps 2 to 5
runs of as many words, step 0 the pieces of its words, and last come the words of its fields. A run of words is found by
a key made of two numbers, that of the run without its last word and that of its last word. A word of a field is found
by the numbers of the field and the word.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.hash_table import ABSENT, Table, find_names, make_keys, sort_entries
from thresher.kernels.ngrams import cut_names

LONG_RUN, FIELD = -(2**63), 2**31  # bits that tell the keys of runs of three and more words, and of fields
OF_FIELD = -1  # in `kinds`; the other features have the step that makes them


class Words(NamedTuple):
    """The numbers of the words of some documents, and of their fields with the field of each; the ends of each."""

    plain: NDArray[np.int32]
    ends: NDArray[np.int64]
    marked: NDArray[np.int32]
    fields: NDArray[np.int64]
    marked_ends: NDArray[np.int64]


class Known(NamedTuple):
    """The numbers of features by the word or piece they are, and by the keys in `slots`.

    The pieces of word n are `pieces` from `bounds[n]` to `bounds[n + 1]`. `seeds` are the random factors of the slots.
    """

    bounds: NDArray[np.int64]
    pieces: NDArray[np.int32]
    of_word: NDArray[np.int32]
    of_piece: NDArray[np.int32]
    slots: NDArray[np.int64]
    seeds: tuple[int, int]


class Origins(NamedTuple):
    """What each feature is: its word, piece or key, and its kind. If `grows`, new features are numbered."""

    values: NDArray[np.int64]
    kinds: NDArray[np.int8]
    grows: bool


@kernel
def find_key(key: int, slots: NDArray[np.int64], seeds: tuple[int, int]) -> int:
    """Return the slot of a key, or the empty slot where it belongs; see `hash_table.hash_name`."""
    mask = len(slots) - 1
    hashed = (key & 0xFFFFFFFF) * seeds[0] + (key >> 32) * seeds[1] & 0xFFFFFFFF
    slot = (hashed ^ hashed >> 15) & mask
    while slots[slot, 0] != key and slots[slot, 1] != ABSENT:
        slot = (slot + 1) & mask
    return slot


@kernel
def fill_key_slots(
    keys: NDArray[np.int64], numbers: NDArray[np.int64], slots: NDArray[np.int64], seeds: tuple[int, int]
) -> None:
    """Insert the keys of features, and their numbers, into slots; writes `slots`."""
    for i in range(len(keys)):
        slot = find_key(keys[i], slots, seeds)
        slots[slot, 0], slots[slot, 1] = keys[i], numbers[i]


@kernel
def number_words(
    words: NDArray[np.int32],
    known: Known,
    origins: Origins,
    n_features: int,
    numbers: NDArray[np.int64],
    met: int,
) -> tuple[int, int]:
    """Append the features that are words to the `met` numbers; return how many these are, and how many features."""
    of_word, (values, kinds, grows) = known.of_word, origins
    for word in words:
        if word == ABSENT:
            continue
        number = np.int64(of_word[word])
        if number == ABSENT and grows:
            number = np.int64(n_features)
            of_word[word], values[number], kinds[number] = number, word, 1
            n_features += 1
        if number != ABSENT:
            numbers[met] = number
            met += 1
    return met, n_features


@kernel
def number_pieces(
    words: NDArray[np.int32],
    known: Known,
    origins: Origins,
    n_features: int,
    numbers: NDArray[np.int64],
    met: int,
) -> tuple[int, int]:
    """Append the features of the pieces of words."""
    (bounds, pieces, _, of_piece, _, _), (values, kinds, grows) = known, origins
    for word in words:
        if word == ABSENT:
            continue
        for place in range(bounds[word], bounds[word + 1]):
            number = np.int64(of_piece[pieces[place]])
            if number == ABSENT and grows:
                number = np.int64(n_features)
                of_piece[pieces[place]], values[number], kinds[number] = number, pieces[place], 0
                n_features += 1
            if number != ABSENT:
                numbers[met] = number
                met += 1
    return met, n_features


@kernel
def number_runs(
    words: NDArray[np.int32],
    step: int,
    runs: NDArray[np.int64],
    known: Known,
    origins: Origins,
    n_features: int,
    numbers: NDArray[np.int64],
    met: int,
) -> tuple[int, int]:
    """Append the features of the runs of `step` words; `runs` holds those with one word less, and then these."""
    slots, seeds, (values, kinds, grows) = known.slots, known.seeds, origins
    for i in range(len(words) - step + 1):
        left = np.int64(words[i]) if step == 2 else runs[i]
        runs[i] = ABSENT
        if left == ABSENT or words[i + step - 1] == ABSENT:
            continue
        key = left << 32 | (0 if step == 2 else LONG_RUN) | words[i + step - 1]
        slot = find_key(key, slots, seeds)
        number = slots[slot, 1]
        if number == ABSENT and grows:
            number = np.int64(n_features)
            slots[slot, 0], slots[slot, 1], values[number], kinds[number] = key, number, key, step
            n_features += 1
        if number != ABSENT:
            runs[i] = numbers[met] = number
            met += 1
    return met, n_features


@kernel
def number_fields(
    words: NDArray[np.int32],
    fields: NDArray[np.int64],
    known: Known,
    origins: Origins,
    n_features: int,
    numbers: NDArray[np.int64],
    met: int,
) -> tuple[int, int]:
    """Append the features of the words of fields."""
    slots, seeds, (values, kinds, grows) = known.slots, known.seeds, origins
    for i in range(len(words)):
        if words[i] == ABSENT or fields[i] == ABSENT:
            continue
        key = fields[i] << 32 | FIELD | words[i]
        slot = find_key(key, slots, seeds)
        number = slots[slot, 1]
        if number == ABSENT and grows:
            number = np.int64(n_features)
            slots[slot, 0], slots[slot, 1], values[number], kinds[number] = key, number, key, OF_FIELD
            n_features += 1
        if number != ABSENT:
            numbers[met] = number
            met += 1
    return met, n_features


@kernel
def number_document(
    words: Words,
    document: int,
    steps: NDArray[np.int64],
    known: Known,
    origins: Origins,
    n_features: int,
    runs: NDArray[np.int64],
    numbers: NDArray[np.int64],
) -> tuple[int, int]:
    """Write the features of a document, with repetitions; return how many there are, and the number of features."""
    met = 0
    plain = words.plain[words.ends[document - 1] if document > 0 else 0 : words.ends[document]]
    for step in steps:
        if step == 1:
            met, n_features = number_words(plain, known, origins, n_features, numbers, met)
        elif step > 1:
            met, n_features = number_runs(plain, step, runs, known, origins, n_features, numbers, met)
        else:
            met, n_features = number_pieces(plain, known, origins, n_features, numbers, met)
    if len(words.marked_ends) > 0:
        start, stop = words.marked_ends[document - 1] if document > 0 else 0, words.marked_ends[document]
        marked, fields = words.marked[start:stop], words.fields[start:stop]
        met, n_features = number_fields(marked, fields, known, origins, n_features, numbers, met)
    return met, n_features


@kernel
def measure_documents(words: Words, steps: NDArray[np.int64], bounds: NDArray[np.int64]) -> tuple[int, int, int]:
    """Return the highest numbers of words and of features that a document may have, and that all may have together."""
    n_runs, has_pieces = 0, False
    for step in steps:
        n_runs += step != 0
        has_pieces |= step == 0
    longest = most = total = start = marked = 0
    for document in range(len(words.ends)):
        stop = words.ends[document]
        size = (stop - start) * n_runs
        if has_pieces:
            for word in words.plain[start:stop]:
                if word != ABSENT:
                    size += bounds[word + 1] - bounds[word]
        if len(words.marked_ends) > 0:
            size += words.marked_ends[document] - marked
            marked = words.marked_ends[document]
        longest, most, total, start = max(longest, stop - start), max(most, size), total + size, stop
    return longest, most, total


@kernel
def add_word_features(
    words: Words,
    steps: NDArray[np.int64],
    known: Known,
    origins: Origins,
    n_features: int,
    base: int,
    latest: NDArray[np.int64],
    entries: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> tuple[int, int]:
    """Count the features of each document into entries (number << 32 | count), and number the new ones.

    `latest` holds `base` plus the last entry of each feature, and at first -1. Write the end of each document's entries
    into `ends`. Return the numbers of entries and of features.
    """
    longest, most, _ = measure_documents(words, steps, known.bounds)
    runs, numbers = np.empty(longest, dtype=np.int64), np.empty(most, dtype=np.int64)
    filled = 0
    for document in range(len(ends)):
        begin = base + filled
        met, n_features = number_document(words, document, steps, known, origins, n_features, runs, numbers)
        for number in numbers[:met]:
            if latest[number] < begin:
                latest[number] = base + filled
                entries[filled] = number << 32
                filled += 1
            entries[latest[number] - base] += 1
        ends[document] = filled
    return filled, n_features


@kernel
def find_word_features(
    words: Words,
    letters: NDArray[np.uint8],
    stops: NDArray[np.int64],
    steps: NDArray[np.int64],
    sizes: tuple[int, int],
    known: Known,
    table: Table,
    n_features: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return some documents as rows of the known features.

    `letters` and `stops` are the names of the plain words, from which the pieces of unknown words are cut. The table
    holds the names of the pieces.
    """
    longest, most, total = measure_documents(words, steps, known.bounds)
    extra = np.empty(0, dtype=np.int32)
    extra_ends = np.zeros(len(words.ends), dtype=np.int64)
    for step in steps:
        if step == 0:
            extra = find_pieces_of_unknown(words, letters, stops, sizes, known, table, extra_ends)
    room = most + len(extra)
    runs, numbers = np.empty(longest, dtype=np.int64), np.empty(room, dtype=np.int64)
    scratch, nothing = np.empty(room, dtype=np.int64), np.empty(0, dtype=np.int64)
    origins = Origins(nothing, np.empty(0, dtype=np.int8), False)
    indptr = np.zeros(len(words.ends) + 1, dtype=np.int64)
    indices, counts = np.empty(total + len(extra), dtype=np.int32), np.empty(total + len(extra), dtype=np.float32)
    filled = first = 0
    for document in range(len(words.ends)):
        met, _ = number_document(words, document, steps, known, origins, n_features, runs, numbers)
        for i in range(first, extra_ends[document]):
            numbers[met] = extra[i]
            met += 1
        first = extra_ends[document]
        for i in range(met):
            numbers[i] <<= 32
        sort_entries(numbers[:met], scratch, n_features << 32)
        begin = filled
        for i in range(met):
            number = numbers[i] >> 32
            if filled == begin or indices[filled - 1] != number:
                indices[filled], counts[filled] = number, np.float32(0)
                filled += 1
            counts[filled - 1] += np.float32(1)
        indptr[document + 1] = filled
    return indptr, indices[:filled], counts[:filled]


@kernel
def find_pieces_of_unknown(
    words: Words,
    letters: NDArray[np.uint8],
    stops: NDArray[np.int64],
    sizes: tuple[int, int],
    known: Known,
    table: Table,
    ends: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Return the features that are pieces of unknown words; writes the end of each document's into `ends`."""
    n_unknown = n_letters = 0
    for i in range(len(words.plain)):
        if words.plain[i] == ABSENT:
            n_letters += stops[i] - (stops[i - 1] if i > 0 else 0)
            n_unknown += 1
    unknown, unknown_stops = np.empty(n_letters, dtype=np.uint8), np.empty(n_unknown, dtype=np.int64)
    document_of = np.empty(n_unknown, dtype=np.int64)
    place = count = i = 0
    for document in range(len(words.ends)):
        while i < words.ends[document]:
            if words.plain[i] == ABSENT:
                for letter in range(stops[i - 1] if i > 0 else 0, stops[i]):
                    unknown[place] = letters[letter]
                    place += 1
                unknown_stops[count], document_of[count] = place, document
                count += 1
            i += 1
    most = (sizes[1] - sizes[0] + 1) * (n_letters + 2 * n_unknown)
    cut, cut_stops, owners = (
        np.empty(most * (4 * sizes[1] + 1), np.uint8),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    n_cut = cut_names(unknown, unknown_stops, sizes, cut, cut_stops, owners)
    keys, rests, pieces = np.empty(n_cut, np.int64), np.empty(n_cut, np.int64), np.empty(n_cut, np.int32)
    make_keys(cut, cut_stops[:n_cut], keys, rests)
    find_names(cut, cut_stops[:n_cut], keys, rests, len(known.of_piece), table, pieces)
    filled = 0
    for i in range(n_cut):
        if pieces[i] != ABSENT:
            pieces[filled] = known.of_piece[pieces[i]]
            filled += 1
            ends[document_of[owners[i]]] = filled
    for document in range(1, len(ends)):
        ends[document] = max(ends[document], ends[document - 1])
    return pieces[:filled]
