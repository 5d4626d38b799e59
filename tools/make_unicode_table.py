"""Make src/thresher/text/unicode.json from this Python's Unicode data: once, by hand, with Python 3.11 (Unicode 14).

The table is a file of the project's so that tokens do not change with Python's minor version. A newer table is a new
version of the tokeniser, and of the model format.
"""

import json
import sys
import unicodedata
from pathlib import Path

from thresher.text.unicode_table import (
    BIGRAM,
    COMBINING,
    ENDING,
    IGNORED,
    MARK,
    NORMALIZE,
    SECOND,
    SEPARATOR,
    UNASSIGNED,
    WORD,
)

TARGET = Path(__file__).parent.parent / "src" / "thresher" / "text" / "unicode.json"
# Scripts written without spaces: Thai, Lao, Myanmar, Khmer; kana, Bopomofo and Han.
UNSPACED = [
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3005, 0x3007),
    (0x3040, 0x312F),
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFD),
]
ENDINGS = set(".!?\n\u0589\u061f\u06d4\u0964\u0965\u203d\u2026\u3002\uff01\uff0e\uff1f\uff61\u037e")
ZERO_WIDTH_SPACE = 0x200B


def main() -> None:
    """Write the table: runs of equal classes, and the characters that are written otherwise in lower case."""
    maybe = second_characters()
    runs: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        number = class_of(code) | flags_of(code, maybe)
        if not runs or runs[-1][1] != number:
            runs.append([code, number])
    lower = [[code, lower_case(code)] for code in range(sys.maxunicode + 1) if lower_case(code) != code]
    table = {"unicode": unicodedata.unidata_version, "runs": runs, "lower": lower}
    TARGET.write_text(json.dumps(table, separators=(",", ":")) + "\n")
    print(f"Unicode {unicodedata.unidata_version}: {len(runs)} runs, {len(lower)} lower-case letters")


def class_of(code: int) -> int:
    """Return what the tokeniser does with a character."""
    kind = unicodedata.category(chr(code))
    if (kind == "Cf" and code != ZERO_WIDTH_SPACE) or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return IGNORED
    if (kind[0] in "LM" and any(low <= code <= high for low, high in UNSPACED)) or code == 0x3007:
        return BIGRAM
    if kind[0] == "L" or kind in ("Nd", "Nl"):
        return WORD
    return MARK if kind[0] == "M" else SEPARATOR


def flags_of(code: int, maybe: set[int]) -> int:
    """Return what normalisation and sentences need to know of a character."""
    character = chr(code)
    flags = ENDING if character in ENDINGS else 0
    if unicodedata.category(character) == "Cn":
        flags |= UNASSIGNED
    if unicodedata.combining(unicodedata.normalize("NFD", character)[0]):
        flags |= COMBINING
    if code in maybe:
        flags |= SECOND
    if unicodedata.combining(character) or code in maybe or unicodedata.normalize("NFC", character) != character:
        flags |= NORMALIZE
    return flags


def second_characters() -> set[int]:
    """Return the characters that may combine with one before them."""
    characters = set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            characters.add(int(parts[1], 16))
    return characters


def lower_case(code: int) -> int:
    """Return one character's lower case; full-width letters and digits become plain, a final sigma the usual one."""
    if 0xFF10 <= code <= 0xFF5A:
        code -= 0xFEE0
    if code == 0x03C2:
        return 0x03C3
    lower = chr(code).lower()
    return ord(lower[0]) if unicodedata.category(chr(code)) != "Cs" else code


if __name__ == "__main__":
    main()
