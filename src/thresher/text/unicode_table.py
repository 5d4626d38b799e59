"""Character classes for the tokenizer, from a table that ships with the package.

So tokens do not depend on Python's version of Unicode. The table was made from Unicode 14
(`tools/make_unicode_table.py`).
"""

import json
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

# The class of a character, in the low three bits.
SEPARATOR, WORD, MARK, BIGRAM, IGNORED = 0, 1, 2, 3, 4
CLASS = 7
# Flags of a character.
ENDING, UNASSIGNED, COMBINING, NORMALIZE, SECOND = 8, 16, 32, 64, 128

_CODES = 0x110000
_MAX_MARKS = 30


class Characters(NamedTuple):
    """The class with its flags, and the lowercase form, of every code point; `plain` covers only ASCII words."""

    plain: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    lower: NDArray[np.int32]


@cache
def load_characters() -> Characters:
    """Return the tables, which are read once."""
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


def compose(text: str) -> str:
    """Return the text in Unicode normalization form C, in linear time.

    Characters that Unicode 14 does not know become separators, so that the tables of a newer Python change nothing. Of
    a run of combining marks, only the first thirty are kept (as in Unicode's Stream-Safe format), because Python takes
    quadratic time to sort a long run.

    >>> compose("cafe\\u0301") == "café"
    True
    """
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    classes = load_characters().classes[codes]
    codes = np.where(classes & UNASSIGNED, ord(" "), codes)[_number_in_runs(classes & COMBINING != 0) < _MAX_MARKS]
    return normalize("NFC", codes.astype("<u4").tobytes().decode("utf-32-le"))


def _number_in_runs(marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the index of each marked position within its run, and 0 for other positions."""
    number = np.arange(1, len(marked) + 1)
    last_unmarked = np.maximum.accumulate(np.where(marked, 0, number))
    return np.maximum(number - last_unmarked - 1, 0)
