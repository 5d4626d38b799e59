"""What the tokeniser knows of each character, from a table that the project ships; tokens do not change with Python's.

The table was made from Unicode 14 (`tools/make_unicode_table.py`).
"""

import json
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

# What a character does, in the low three bits.
SEPARATOR, WORD, MARK, BIGRAM, IGNORED = 0, 1, 2, 3, 4
CLASS = 7
# What else is to be known of it.
ENDING, UNASSIGNED, COMBINING, NORMALIZE, SECOND = 8, 16, 32, 64, 128

_CODES = 0x110000
_MOST_MARKS = 30


class Characters(NamedTuple):
    """For every code point its class with its flags, and its lower case; `plain` has ASCII's words alone."""

    plain: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    lower: NDArray[np.int32]


@cache
def characters() -> Characters:
    """Return the tables, read once."""
    table = json.loads(files("thresher.text").joinpath("unicode.json").read_text(encoding="ascii"))
    starts, numbers = np.array(table["runs"], dtype=np.int64).T
    classes = np.repeat(numbers.astype(np.uint8), np.diff(starts, append=_CODES))
    lower = np.arange(_CODES, dtype=np.int32)
    codes, letters = np.array(table["lower"], dtype=np.int32).T
    lower[codes] = letters
    first = classes[:256]
    separates = np.where(first == SEPARATOR, 1, np.where(first == SEPARATOR | ENDING, 2, 0))
    plain = np.where(first == WORD, lower[:256], separates).astype(np.uint8)
    plain[128:] = 0
    return Characters(plain, classes, lower)


def composed(text: str) -> str:
    """Return the text in Unicode's normal form C, in time linear in its length.

    Characters that Unicode 14 does not know become separators, so that a newer Python's tables change nothing, and of a
    run of combining marks the first thirty are kept (as Unicode's Stream-Safe format has it): sorting a long run takes
    Python quadratic time.

    >>> composed("cafe\\u0301") == "café"
    True
    """
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    classes = characters().classes[codes]
    codes = np.where(classes & UNASSIGNED, ord(" "), codes)[_places_in_runs(classes & COMBINING != 0) < _MOST_MARKS]
    return normalize("NFC", codes.astype("<u4").tobytes().decode("utf-32-le"))


def _places_in_runs(marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return each marked place's number within its run of marked ones, and 0 for the others."""
    number = np.arange(1, len(marked) + 1)
    last_unmarked = np.maximum.accumulate(np.where(marked, 0, number))
    return np.maximum(number - last_unmarked - 1, 0)
