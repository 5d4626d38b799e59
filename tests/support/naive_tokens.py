"""The tokeniser's rules as a reader would write them, one character at a time."""

import unicodedata

from thresher.text.unicode_table import BIGRAM, CLASS, IGNORED, MARK, SEPARATOR, UNASSIGNED, WORD, load_characters

LONGEST_WORD, MOST_MARKS = 64, 30
UNSPACED = {
    "Thai and Lao": (0x0E00, 0x0EFF),
    "Myanmar": (0x1000, 0x109F),
    "Khmer": (0x1780, 0x17FF),
    "iteration mark, closing mark, zero": (0x3005, 0x3007),
    "Hiragana, Katakana, Bopomofo": (0x3040, 0x312F),
    "Bopomofo Extended": (0x31A0, 0x31BF),
    "Katakana Phonetic Extensions": (0x31F0, 0x31FF),
    "CJK Unified Ideographs Extension A": (0x3400, 0x4DBF),
    "CJK Unified Ideographs": (0x4E00, 0x9FFF),
    "CJK Compatibility Ideographs": (0xF900, 0xFAFF),
    "halfwidth Katakana": (0xFF66, 0xFF9F),
    "Kana Supplement and Extensions": (0x1B000, 0x1B16F),
    "the ideographic planes": (0x20000, 0x3FFFD),
}


def class_of(character: str) -> int:
    """What a character does; by the project's table where Python's own is not of Unicode 14."""
    if unicodedata.unidata_version != "14.0.0":
        return int(load_characters().classes[ord(character)]) & CLASS
    category = unicodedata.category(character)
    if category == "Cf" and character != "\u200b":
        return IGNORED
    if "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef":
        return IGNORED
    if character == "\u3007":
        return BIGRAM
    if category[0] in "LM" and any(low <= ord(character) <= high for low, high in UNSPACED.values()):
        return BIGRAM
    if category[0] == "L" or category in ("Nd", "Nl"):
        return WORD
    return MARK if category[0] == "M" else SEPARATOR


def known(character: str) -> bool:
    if unicodedata.unidata_version != "14.0.0":
        return not load_characters().classes[ord(character)] & UNASSIGNED
    return unicodedata.category(character) != "Cn"


def combines(character: str) -> bool:
    """Whether canonical ordering may move a character, or what it is made of."""
    return unicodedata.combining(unicodedata.normalize("NFD", character)[0]) != 0


def composed(text: str) -> str:
    """Normal form C of the characters that Unicode 14 knows, with at most thirty combining marks in a row."""
    kept, marks = [], 0
    for character in text:
        marks = marks + 1 if known(character) and combines(character) else 0
        if marks <= MOST_MARKS:
            kept.append(character if known(character) else " ")
    return unicodedata.normalize("NFC", "".join(kept))


def lowered(character: str) -> str:
    if "０" <= character <= "９" or "Ａ" <= character <= "Ｚ" or "ａ" <= character <= "ｚ":
        character = chr(ord(character) - ord("Ａ") + ord("A"))
    return "σ" if character == "ς" else character.lower()[0]


def finished(run: str, kind: int) -> list[str]:
    if kind == WORD:
        return [run[:LONGEST_WORD]]
    if kind == BIGRAM:
        return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return []


def tokens(text: str) -> list[str]:
    found: list[str] = []
    run, kind = "", SEPARATOR
    for character in composed(text) + " ":
        now = class_of(character)
        if now == IGNORED:
            continue
        if now == MARK:
            now = kind
        if now != kind:
            found += finished(run, kind)
            run, kind = "", now
        if kind != SEPARATOR:
            run += lowered(character)
    return found
