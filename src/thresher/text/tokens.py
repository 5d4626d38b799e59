"""Texts to tokens: encoding, normal form, the tokeniser's kernel. Analysers call it."""

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thresher.errors import TextError
from thresher.kernels.plain_words import STRIDE
from thresher.kernels.tokens import Tokens, must_be_composed, tokenize_text
from thresher.text.characters import COMBINING, NORMALIZE, SECOND, UNASSIGNED, characters, composed

_PADDING = bytes(STRIDE)


def tokenize(texts: Sequence[str], positions: bool = False) -> Tokens:
    """Return the tokens of the texts: words in lower case, pairs of characters where a script has no spaces.

    >>> words(tokenize(["Oil prices rose 3.5%", "Ölpreise"]))
    [['oil', 'prices', 'rose', '3', '5'], ['ölpreise']]
    """
    encoded = encode(texts)
    text = np.frombuffer(b" ".join([*encoded, _PADDING]), dtype=np.uint8)
    sizes = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    ends = np.cumsum(sizes + 1) - 1
    ascii_alone = np.fromiter(map(str.isascii, texts), dtype=np.bool_, count=len(encoded))
    room = 2 * len(text) + len(ends) + 8
    most = len(text) // 2 + len(ends) + 1  # a token has a letter and a separator, or shares its characters with one
    starts, stops, sentences = (np.empty(most if positions else 0, dtype=np.int64) for _ in range(3))
    token_ends, keys, rests = (np.empty(most, dtype=np.int64) for _ in range(3))
    tokens = Tokens(np.empty(room, dtype=np.uint8), token_ends, keys, rests, starts, stops, sentences, ends)
    count = tokenize_text(text, *characters(), ascii_alone, tokens)
    return trimmed(tokens, count)


def trimmed(tokens: Tokens, count: int) -> Tokens:
    """Return the first `count` tokens without the room behind them."""
    letters = tokens.letters[: tokens.stops[count - 1] if count else 0]
    return Tokens._make([letters, *(array[:count] for array in tokens[1:7]), tokens.documents])


def encode(texts: Sequence[str]) -> list[bytes]:
    """Return the texts as UTF-8 in normal form C."""
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise TextError(f"a text holds the lone surrogate {error.object[error.start]!r} (decode it properly)") from None
    except AttributeError:
        wrong = next(text for text in texts if not isinstance(text, str))
        raise TextError(f"texts must be str, not {type(wrong).__name__}") from None
    lengths = zip(map(len, encoded), map(len, texts), strict=True)
    foreign = [i for i, (after, before) in enumerate(lengths) if after != before]
    if foreign:
        parts = [encoded[i] for i in foreign]
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        changed = must_be_composed(np.frombuffer(b"".join(parts), dtype=np.uint8), ends, characters().classes)
        for i in np.array(foreign)[changed]:
            encoded[i] = composed(texts[i]).encode()
    return encoded


def words(tokens: Tokens) -> list[list[str]]:
    """Return the tokens of each document as strings."""
    flat = names(tokens.letters, tokens.stops)
    bounds = [0, *tokens.documents.tolist()]
    return [flat[start:stop] for start, stop in itertools.pairwise(bounds)]


def names(letters: NDArray[np.uint8], stops: NDArray[np.int64]) -> list[str]:
    """Return names that stand end to end as strings."""
    data, bounds = letters.tobytes(), [0, *stops.tolist()]
    return [data[start:stop].decode() for start, stop in itertools.pairwise(bounds)]


def places_in(text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each byte that `encode` makes of a text, where its character begins in the text and where it ends.

    Characters that were composed into others share a place: all of them together.
    """
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    flags = characters().classes[codes]
    starts = np.flatnonzero(flags & (COMBINING | SECOND) == 0)
    starts = np.unique(np.append(0, starts)) if len(codes) else starts
    lengths = np.diff(np.append(starts, len(codes)))
    sizes = 1 + (codes > 0x7F) + (codes > 0x7FF) + (codes > 0xFFFF)
    unit = np.repeat(np.arange(len(starts)), lengths)
    begins, ends = np.arange(len(codes)), np.arange(1, len(codes) + 1)
    for i in np.unique(unit[flags & (NORMALIZE | UNASSIGNED) != 0]):
        first, last = int(starts[i]), int(starts[i] + lengths[i])
        if composed(text[first:last]) != text[first:last]:
            sizes[first:last] = 0
            sizes[first] = len(composed(text[first:last]).encode())
            ends[first] = last
    return np.repeat(begins, sizes), np.repeat(ends, sizes)
