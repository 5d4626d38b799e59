"""Conversion of texts to tokens: encoding, normalization and the tokenizer kernel. Analysers call it."""

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thresher.errors import TextError
from thresher.kernels.ascii_tokenizer import STRIDE
from thresher.kernels.tokenizer import NONE, Tokens, find_uncomposed, tokenize_text
from thresher.text.unicode_table import COMBINING, NORMALIZE, SECOND, UNASSIGNED, compose, load_characters

_PADDING = bytes(STRIDE)
_ASCII, _NOT_ASCII = np.ones(1, dtype=np.bool_), np.zeros(1, dtype=np.bool_)


def tokenize(texts: Sequence[str], positions: bool = False) -> Tokens:
    """Return the tokens of the texts: lowercase words, or pairs of characters in a script without spaces.

    >>> decode_words(tokenize(["Oil prices rose 3.5%", "Ölpreise"]))
    [['oil', 'prices', 'rose', '3', '5'], ['ölpreise']]
    """
    encoded = encode(texts)
    text = np.frombuffer(b" ".join([*encoded, _PADDING]), dtype=np.uint8)
    if len(encoded) == 1:
        ends, ascii_alone = np.array([len(encoded[0])]), _ASCII if texts[0].isascii() else _NOT_ASCII
    else:
        ends = np.array([len(part) + 1 for part in encoded], dtype=np.int64).cumsum() - 1
        ascii_alone = np.array([part.isascii() for part in texts], dtype=np.bool_)
    letters = np.empty(2 * len(text) + len(ends) + 8, dtype=np.uint8)
    most = len(text) // 2 + len(ends) + 1  # a token has a letter and a separator, or shares its characters with another
    room = np.empty((6 if positions else 3, most), dtype=np.int64)
    stops, keys, rests, *places = room
    starts, ordinals, sentences = places or (NONE, NONE, NONE)
    tokens = Tokens(letters, stops, keys, rests, starts, ordinals, sentences, ends)
    count = tokenize_text(text, *load_characters(), ascii_alone, tokens)
    letters = letters[: stops[count - 1] if count else 0]
    if positions:
        starts, ordinals, sentences = starts[:count], ordinals[:count], sentences[:count]
    return Tokens(letters, stops[:count], keys[:count], rests[:count], starts, ordinals, sentences, ends)


def encode(texts: Sequence[str]) -> list[bytes]:
    """Return the texts as UTF-8 in Unicode normalization form C."""
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        raise TextError("a text holds the lone surrogate {letter}", hint="decode it properly", letter=letter) from None
    except AttributeError:
        wrong = next(text for text in texts if not isinstance(text, str))
        raise TextError(f"texts must be str, not {type(wrong).__name__}") from None
    foreign = [i for i, text in enumerate(texts) if not text.isascii()]
    if foreign:
        parts = [encoded[i] for i in foreign]
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        changed = find_uncomposed(np.frombuffer(b"".join(parts), dtype=np.uint8), ends, load_characters().classes)
        for i in np.array(foreign)[changed]:
            encoded[i] = compose(texts[i]).encode()
    return encoded


def make_tokens(names: Sequence[str]) -> Tokens:
    """Return names as tokens, unchanged."""
    encoded = [name.encode() for name in names]
    stops = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    return Tokens(np.frombuffer(b"".join(encoded), dtype=np.uint8), stops)


def decode_words(tokens: Tokens) -> list[list[str]]:
    """Return the tokens of each document as strings."""
    flat = decode_names(tokens.letters, tokens.stops)
    bounds = [0, *tokens.documents.tolist()]
    return [flat[start:stop] for start, stop in itertools.pairwise(bounds)]


def decode_names(letters: NDArray[np.uint8], stops: NDArray[np.int64]) -> list[str]:
    """Return concatenated names as strings."""
    data, bounds = letters.tobytes(), [0, *stops.tolist()]
    if data.isascii():
        text = data.decode()
        return [text[start:stop] for start, stop in itertools.pairwise(bounds)]
    return [data[start:stop].decode() for start, stop in itertools.pairwise(bounds)]


def gather_names(
    letters: NDArray[np.uint8], stops: NDArray[np.int64], chosen: NDArray[np.integer]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the chosen ones of concatenated names, concatenated in that order."""
    return gather_spans(letters, np.where(chosen > 0, stops[chosen - 1], 0), stops[chosen])


def gather_spans(
    letters: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the letters from each start to its stop, concatenated, and where each ends."""
    lengths = stops - starts
    ends = np.cumsum(lengths)
    places = np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)
    return letters[places], ends


def locate_bytes(text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each byte that `encode` makes of a text, where its character starts and ends in the text.

    Characters that are composed into one share a range that covers all of them.
    """
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    flags = load_characters().classes[codes]
    is_start = flags & (COMBINING | SECOND) == 0
    is_start[:1] = True
    starts = np.flatnonzero(is_start)
    lengths = np.diff(np.append(starts, len(codes)))
    sizes = 1 + (codes > 0x7F) + (codes > 0x7FF) + (codes > 0xFFFF)
    unit = np.repeat(np.arange(len(starts)), lengths)
    begins, ends = np.arange(len(codes)), np.arange(1, len(codes) + 1)
    composed_sizes = np.zeros(len(starts), dtype=np.int64)
    composed_sizes[unit[flags & (NORMALIZE | UNASSIGNED) != 0]] = 1
    suspects = np.flatnonzero(composed_sizes)
    composed_sizes[suspects] = _measure_composed(text, starts[suspects], lengths[suspects])
    sizes[composed_sizes[unit] > 0] = 0
    changed = np.flatnonzero(composed_sizes)
    sizes[starts[changed]] = composed_sizes[changed]
    ends[starts[changed]] += lengths[changed] - 1
    return np.repeat(begins, sizes), np.repeat(ends, sizes)


def _measure_composed(text: str, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of bytes of each run of characters after composition, or 0 if that changes nothing.

    All runs are composed in one call, one line each, as no character composes with a line break.
    """
    runs = [
        text[first:last].replace("\n", " ")
        for first, last in zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
    ]
    results = compose("\n".join(runs)).split("\n") if runs else []
    return np.array(
        [0 if run == result else len(result.encode()) for run, result in zip(runs, results, strict=True)],
        dtype=np.int64,
    )
