"""Tokenizer kernel: UTF-8 text to tokens, in one pass and linear time.

`text.tokens` calls it with the character tables.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.ascii_tokenizer import KEY_LETTERS, MAX_TOKEN_LETTERS, PRIME, find_edges, write_words
from thresher.kernels.compiler import kernel

SEPARATOR, WORD, MARK, BIGRAM, IGNORED, CLASS = 0, 1, 2, 3, 4, 7
ENDING, UNASSIGNED, NORMALIZE = 8, 16, 64


NONE = np.zeros(0, dtype=np.int64)


class Tokens(NamedTuple):
    """The tokens of some documents, or names alone, which have only `letters` and `stops`.

    `letters` holds the bytes of all tokens, concatenated. `stops` is where each token ends in them, and `documents` is
    where each document's tokens end. `keys` and `rests` hold numbers computed from each token's letters, or are empty.
    `starts` and `ends` are a token's byte positions in the text, and `sentences` is the number of its sentence.
    """

    letters: NDArray[np.uint8]
    stops: NDArray[np.int64]
    keys: NDArray[np.int64] = NONE
    rests: NDArray[np.int64] = NONE
    starts: NDArray[np.int64] = NONE
    ends: NDArray[np.int64] = NONE
    sentences: NDArray[np.int64] = NONE
    documents: NDArray[np.int64] = NONE


@kernel
def read_code_point(text: NDArray[np.uint8], i: int) -> tuple[int, int]:
    """Return the character that starts at byte `i` of valid UTF-8, and its number of bytes."""
    first = int(text[i])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | int(text[i + 1]) & 0x3F, 2
    middle = int(text[i + 1]) & 0x3F
    if first < 0xF0:
        return (first & 0x0F) << 12 | middle << 6 | int(text[i + 2]) & 0x3F, 3
    return (first & 0x07) << 18 | middle << 12 | (int(text[i + 2]) & 0x3F) << 6 | int(text[i + 3]) & 0x3F, 4


@kernel
def write_code_point(code: int, place: int, letters: NDArray[np.uint8]) -> int:
    """Write a character as UTF-8 into `letters` from `place` on; return the position after it."""
    if code < 0x80:
        letters[place] = code
        return place + 1
    if code < 0x800:
        letters[place] = 0xC0 | code >> 6
        letters[place + 1] = 0x80 | code & 0x3F
        return place + 2
    if code < 0x10000:
        letters[place] = 0xE0 | code >> 12
        letters[place + 1] = 0x80 | code >> 6 & 0x3F
        letters[place + 2] = 0x80 | code & 0x3F
        return place + 3
    letters[place] = 0xF0 | code >> 18
    letters[place + 1] = 0x80 | code >> 12 & 0x3F
    letters[place + 2] = 0x80 | code >> 6 & 0x3F
    letters[place + 3] = 0x80 | code & 0x3F
    return place + 4


@kernel
def find_uncomposed(
    text: NDArray[np.uint8], documents: NDArray[np.int64], classes: NDArray[np.uint8]
) -> NDArray[np.bool_]:
    """Return for each document whether it has a character that composition might change."""
    uncomposed = np.zeros(len(documents), dtype=np.bool_)
    start = 0
    for document in range(len(documents)):
        i = start
        while i < documents[document]:
            code, width = read_code_point(text, i)
            if classes[code] & (NORMALIZE | UNASSIGNED):
                uncomposed[document] = True
                break
            i += width
        start = documents[document]
    return uncomposed


@kernel
def take_letters(letters: NDArray[np.uint8], start: int, stop: int, key: int, rest: int, size: int) -> tuple[int, int]:
    """Return the key and the rest of a name of `size` letters, extended by some more letters.

    The key holds the first seven letters. The rest is an FNV hash of the letters that follow.
    """
    for i in range(start, stop):
        if size < KEY_LETTERS:
            key |= int(letters[i]) << 8 * size
        else:
            rest = ((rest ^ int(letters[i])) * PRIME) & 0xFFFFFFFF
        size += 1
    return key, rest


@kernel
def combine_key_and_size(key: int, size: int) -> int:
    """Return a key combined with the name's size.

    Names with the same combined key and at most seven letters are the same.
    """
    return key | min(size, KEY_LETTERS + 1) << 8 * KEY_LETTERS


@kernel
def _measure_longest(documents: NDArray[np.int64]) -> int:
    """Return the size of the longest document."""
    longest = start = 0
    for stop in documents:
        longest, start = max(longest, stop - start), stop
    return longest


@kernel
def tokenize_text(
    text: NDArray[np.uint8],
    plain: NDArray[np.uint8],
    classes: NDArray[np.uint8],
    lower: NDArray[np.int32],
    ascii_alone: NDArray[np.bool_],
    tokens: Tokens,
) -> int:
    """Write the tokens of the documents into `tokens`, and return their number.

    `tokens.documents` gives the end of each document, where a space must be, and receives the end of its tokens. 32
    bytes must follow the text. `ascii_alone` marks the documents that hold only ASCII.

    A word is a run of letters, digits and the marks that follow them, in lowercase and cut after 64 characters. A run
    of characters of a script without spaces becomes its bigrams, or one token if it is a single character. `plain` is a
    shortcut for ASCII: it holds the lowercase form of a letter or digit, 1 for a character that separates words, 2 for
    one that separates sentences too, and 0 for all else.
    """
    letters, stops, keys, rests, starts, ends, sentences, documents = tokens
    located = len(starts) > 0  # tuples are unpacked once: every access to a member counts references
    count = place = i = 0
    low, edges = np.zeros(len(text), dtype=np.uint8), np.empty(_measure_longest(documents) + 2, dtype=np.int64)
    for document in range(len(documents)):
        stop = documents[document]
        if ascii_alone[document] and not located:
            n_edges = find_edges(text, i, stop, low, edges)
            place = write_words(low, edges, n_edges, count, place, letters, stops, keys, rests)
            count, i = count + n_edges // 2, stop + 1
            documents[document] = count
            continue
        kind, length, sentence, key, rest = SEPARATOR, 0, 0, 0, 0
        begin, start, end, previous = place, i, i, i
        while i <= stop:
            letter = plain[text[i]]
            if letter > 2 and kind != BIGRAM and length < MAX_TOKEN_LETTERS:
                if kind == SEPARATOR:
                    kind, start, begin = WORD, i, place
                while letter > 2 and length < MAX_TOKEN_LETTERS:
                    letters[place] = letter
                    if place - begin < KEY_LETTERS:
                        key |= int(letter) << 8 * (place - begin)
                    else:
                        rest = ((rest ^ int(letter)) * PRIME) & 0xFFFFFFFF
                    place, length, i = place + 1, length + 1, i + 1
                    letter = plain[text[i]]
                end = i
            if 0 < letter <= 2 and kind != BIGRAM:
                if kind == WORD:
                    stops[count], keys[count], rests[count] = place, combine_key_and_size(key, place - begin), rest
                    if located:
                        starts[count], ends[count], sentences[count] = start, end, sentence
                    count, kind, length, key, rest = count + 1, SEPARATOR, 0, 0, 0
                sentence += letter == 2
                i += 1
                continue
            code, width = read_code_point(text, i)
            entry = classes[code]
            now = kind if entry & CLASS == MARK else entry & CLASS
            if now == IGNORED:
                i += width
                continue
            if now != kind:
                if kind == WORD or (kind == BIGRAM and length == 1):
                    stops[count], keys[count], rests[count] = place, combine_key_and_size(key, place - begin), rest
                    if located:
                        starts[count], ends[count], sentences[count] = start, end, sentence
                    count += 1
                elif kind == BIGRAM:
                    place = begin
                kind, length, begin, start, key, rest = now, 0, place, i, 0, 0
            if entry & ENDING:
                sentence += 1
            before = place
            if now == BIGRAM or (now == WORD and length < MAX_TOKEN_LETTERS):
                place = write_code_point(lower[code], place, letters)
                key, rest = take_letters(letters, before, place, key, rest, before - begin)
            if now == BIGRAM and length > 0:
                stops[count], keys[count], rests[count] = place, combine_key_and_size(key, place - begin), rest
                if located:
                    starts[count], ends[count], sentences[count] = previous, i + width, sentence
                count += 1
                begin = place
                place = write_code_point(lower[code], place, letters)
                key, rest = take_letters(letters, begin, place, 0, 0, 0)
            length += 1 if now != SEPARATOR else 0
            previous, end = i, i + width
            i += width
        documents[document] = count
    return count
