"""The tokeniser does what its rules say in every script, in time linear in the text."""

import importlib.util
import json
import unicodedata
from collections.abc import Callable
from importlib.resources import files
from itertools import groupby, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support import naive_tokens
from support.paths import ROOT, TESTS
from thresher.errors import TextError
from thresher.kernels import tokenizer as kernels
from thresher.kernels.compiler import COMPILED
from thresher.kernels.hash_table import make_keys
from thresher.text import unicode_table as characters_module
from thresher.text.tokens import decode_words, encode, locate_bytes, tokenize
from thresher.text.unicode_table import (
    CLASS,
    COMBINING,
    ENDING,
    NORMALIZE,
    SECOND,
    SEPARATOR,
    UNASSIGNED,
    WORD,
    compose,
    load_characters,
)
from thresher.text.vectorizer import TextFeatures

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((TESTS / "support" / "pages").glob("*.txt"))}
MEGABYTE = 1_000_000 if COMPILED else 2_000
FEW = settings(max_examples=200 if COMPILED else 25, deadline=None)

every_page = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES.keys())
all_planes = st.text(st.characters(exclude_categories=["Cs"]))


def characters_in(*ranges: tuple[int, int]) -> st.SearchStrategy[str]:
    return st.one_of([st.characters(min_codepoint=low, max_codepoint=high) for low, high in ranges])


# Where the rules meet: letters, marks of several classes, format characters, scripts without spaces, what decomposes.
tricky = st.text(
    st.one_of(
        st.sampled_from("aBZ09 .\nßİıΣςſK\u00ad\u200b\u200c\u200d\u200f\ufeff\ufe0f\u20e3\U000e0101\u037e\u2000\u0378"),
        characters_in((0x0300, 0x036F), (0x0591, 0x05C7), (0x0610, 0x065F), (0x0900, 0x0963), (0x0F71, 0x0F84)),
        characters_in((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3000, 0x30FF), (0x4E00, 0x4E20)),
        characters_in((0x1100, 0x11FF), (0xAC00, 0xAC40), (0xF900, 0xF910), (0xFF00, 0xFFA0), (0x1F00, 0x1FFF)),
        characters_in((0x1F1E6, 0x1F1FF), (0x1F3FB, 0x1F3FF), (0x1F466, 0x1F469), (0x1D400, 0x1D410)),
    ),
    max_size=100,
)


def tokens_of(text: str) -> list[str]:
    return decode_words(tokenize([text]))[0]


@FEW
@given(all_planes)
def test_text_of_all_planes_gives_the_reference_s_tokens(text: str) -> None:
    assert tokens_of(text) == naive_tokens.tokens(text)


@FEW
@given(tricky)
@example("a" * 64 + "\u0301b")
@example("a" * 63 + "e\u0301b")
@example("漢\u0301字")
@example("a" + "\u0316\u0301" * 40)
@example("\u0f73" * 40)
def test_tricky_text_gives_the_reference_s_tokens(text: str) -> None:
    assert tokens_of(text) == naive_tokens.tokens(text)


plain_text = st.text(st.characters(max_codepoint=127), max_size=200) | st.lists(
    st.integers(0, 80).map(lambda size: "aZ09xyzQ" * (size // 8) + "bcdefgh"[: size % 8]), max_size=12
).map(" ".join)


@FEW
@given(st.lists(plain_text, max_size=5))
def test_plain_ascii_gives_the_reference_s_tokens_and_keys(texts: list[str]) -> None:
    found = tokenize(texts)
    assert decode_words(found) == [naive_tokens.tokens(text) for text in texts]
    keys, rests = np.empty_like(found.keys), np.empty_like(found.rests)
    make_keys(found.letters, found.stops, keys, rests)
    assert (found.keys.tolist(), found.rests.tolist()) == (keys.tolist(), rests.tolist())


def test_words_may_end_anywhere_in_a_stride() -> None:
    for before in range(70):
        for size in (1, 7, 8, 31, 32, 33, 63, 64, 65):
            text = " " * before + "A" * size
            assert tokens_of(text) == ["a" * min(size, 64)]
            assert tokens_of(f"{text} b") == ["a" * min(size, 64), "b"]


@every_page
def test_pages_give_the_reference_s_tokens(page: str) -> None:
    found = tokens_of(page)
    assert found == naive_tokens.tokens(page)
    assert len(found) > 100


@every_page
def test_normal_forms_of_a_page_give_the_same_tokens(page: str) -> None:
    twins = [unicodedata.normalize(form, page) for form in ("NFC", "NFD")]
    assert decode_words(tokenize(twins)) == [tokens_of(page)] * 2


@FEW
@given(st.text(st.one_of(st.sampled_from("aéǖ ṩ각が뮤ά\u1f71שׁक़"), characters_in((0x0300, 0x0345))), max_size=20))
def test_normal_forms_of_any_text_give_the_same_tokens(text: str) -> None:
    twins = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    assert decode_words(tokenize(twins)) == [tokens_of(text)] * 2


@FEW
@given(st.lists(tricky, max_size=6))
def test_a_batch_gives_what_its_documents_give_one_by_one(texts: list[str]) -> None:
    assert (
        decode_words(tokenize(texts))
        == decode_words(tokenize(texts, positions=True))
        == [tokens_of(text) for text in texts]
    )


def test_no_documents_have_no_tokens() -> None:
    assert decode_words(tokenize([])) == []
    assert decode_words(tokenize(["", "", " "])) == [[], [], []]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Oil rose 3.5% — don't ask", "oil rose 3 5 don t ask"),
        ("Ölpreise in GROẞEN Straßen", "ölpreise in großen straßen"),
        ("ΣΊΣΥΦΟΣ Σίσυφος", "σίσυφοσ σίσυφοσ"),
        ("Ёлка И̌", "ёлка и̌"),
        ("İstanbul I\u0307 DIŞ", "istanbul i diş"),
        ("أنّ ٢٠٢٥،", "أنّ ٢٠٢٥"),
        ("שָׁלוֹם", "שָׁלוֹם"),
        ("हिन्दी में", "हिन्दी में"),
        ("ไทย ๒๕", "ไท ทย ๒๕"),
        ("ក្ក", "ក្ \u17d2ក"),
        ("一 二三四。五", "一 二三 三四 五"),
        ("カタcat名", "カタ cat 名"),
        ("がく", "がく"),
        ("한국어 \u1112\u1161\u11ab", "한국어 한"),
        ("ＡＢｃ１２", "abc12"),
        ("Ⅷ ﬁn 10⁵", "ⅷ ﬁn 10"),
        ("👩‍👩‍👧 1\ufe0f\u20e3 🇩🇪 ok", "1\u20e3 ok"),
        ("𝐀𐐀", "𝐀𐐨"),
        ("snake_case #tag @me", "snake case tag me"),
    ],
)
def test_words_and_pairs_are_found_in_every_script(text: str, expected: str) -> None:
    assert tokens_of(text) == [unicodedata.normalize("NFC", token) for token in expected.split()]


@pytest.mark.parametrize(
    "code", [0xAD, 0x061C, 0x200C, 0x200D, 0x200E, 0x200F, 0x202A, 0x2060, 0xFEFF, 0xFE0F, 0xE0100]
)
def test_format_characters_and_variation_selectors_do_not_split(code: int) -> None:
    ignored = chr(code)
    assert tokens_of(f"{ignored}price{ignored}{ignored}s{ignored} 漢{ignored}字") == ["prices", "漢字"]


@pytest.mark.parametrize("code", [0, 1, 7, 9, 10, 13, 0x1C, 0x1E, 0x7F, 0x85, 0xA0, 0x200B, 0x2028, 0x2029, 0xE000])
def test_control_characters_and_spaces_split(code: int) -> None:
    assert tokens_of(f"oil{chr(code)}gas 漢{chr(code)}字") == ["oil", "gas", "漢", "字"]


@pytest.mark.parametrize("code", [0x0378, 0x11240, 0x1DF25, 0x1E4D0, 0x323B0, 0xFFFF, 0x10FFFF])
def test_characters_unknown_to_unicode_14_split(code: int) -> None:
    assert tokens_of(f"oil{chr(code)}gas e{chr(code)}\u0301") == ["oil", "gas", "e"]


def test_words_keep_their_first_64_characters() -> None:
    assert tokens_of("x" * 64 + " " + "y" * 65) == ["x" * 64, "y" * 64]
    assert tokens_of("é" * 100 + " b") == ["é" * 64, "b"]
    assert tokens_of("e\u0301" * 100) == ["é" * 64]
    assert tokens_of("x" * 63 + "q\u0301\u0302") == ["x" * 63 + "q"]


def test_marks_without_a_letter_do_not_make_a_word() -> None:
    assert tokens_of("\u0301 \u20e3abc \u0301") == ["abc"]


def test_thirty_marks_in_a_row_are_kept() -> None:
    assert tokens_of("q" + "\u0302" * 30) == ["q" + "\u0302" * 30]
    assert tokens_of("q" + "\u0302" * 31 + "r") == ["q" + "\u0302" * 30 + "r"]


@pytest.mark.parametrize("text", ["\ud800", "oil \udcff", "é\udfff"])
def test_lone_surrogates_are_refused_by_name(text: str) -> None:
    with pytest.raises(TextError, match=r"lone surrogate '\\ud"):
        tokenize(["fine", text])


@pytest.mark.parametrize(("text", "name"), [(None, "NoneType"), (b"oil", "bytes"), (3.5, "float"), (["oil"], "list")])
def test_texts_that_are_not_str_are_refused_by_type(text: Any, name: str) -> None:
    with pytest.raises(TextError, match=f"must be str, not {name}"):
        tokenize(["fine", text])


def assert_positions_are_right(text: str) -> None:
    """Assert that the text where a token is said to stand gives just this token, and that each one has a place."""
    found = TextFeatures().occurrences(text)
    for token, places in found.items():
        for start, end in places:
            assert naive_tokens.tokens(text[start:end]) == [token], (token, text[start:end])
            assert SEPARATOR not in (naive_tokens.class_of(text[start]), naive_tokens.class_of(text[end - 1]))
    assert sorted(token for token, places in found.items() for _ in places) == sorted(naive_tokens.tokens(text))


@every_page
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_words_of_pages_are_at_their_positions(page: str, form: Any) -> None:
    assert_positions_are_right(unicodedata.normalize(form, page))


@pytest.mark.parametrize(
    "text",
    [
        "price\u00ads of cafe\u0301s\u200f, e\u0301",
        "\u0301oil ﬁne",
        "oil \u0378 gás",  # unknown to Unicode 14, in text that is in normal form C
        "oil\u2000gas",  # a separator that normal form C changes
        "τι\u037e ναι",
        "\u1f71λλο \u1f71λλα",  # a letter that normal form C changes, at the beginning of a word
        "\u0958\u0959 \u0958",
        "天\uf900\uf901地",
        "\u1112\u1161\u11ab\u1100\u116e\u11a8 \u1100",
    ],
    ids=ascii,
)
def test_words_that_normal_form_c_changes_are_at_their_positions(text: str) -> None:
    assert_positions_are_right(text)


@FEW
@given(tricky | all_planes)
def test_places_cover_the_encoded_text_in_order(text: str) -> None:
    begins, ends = locate_bytes(text)
    assert len(begins) == len(ends) == len(encode([text])[0])
    assert (np.diff(begins) >= 0).all()
    assert (np.diff(ends) >= 0).all()
    assert (begins < ends).all()
    assert not len(ends) or (begins[0], ends[-1]) == (0, len(text))


def naive_places_in(text: str) -> tuple[list[int], list[int]]:
    """Do what `locate_bytes` does, one run of characters that may be composed after the other."""
    flags = [int(load_characters().classes[ord(letter)]) for letter in text]
    firsts = [i for i, flag in enumerate(flags) if i == 0 or not flag & (COMBINING | SECOND)]
    begins, ends = list[int](), list[int]()
    for first, last in pairwise([*firsts, len(text)]):
        unit = text[first:last]
        may_change = any(flag & (NORMALIZE | UNASSIGNED) for flag in flags[first:last])
        if may_change and compose(unit) != unit:
            size = len(compose(unit).encode())
            begins, ends = begins + [first] * size, ends + [last] * size
        else:
            for place, letter in enumerate(unit, first):
                size = len(letter.encode())
                begins, ends = begins + [place] * size, ends + [place + 1] * size
    return begins, ends


@FEW
@given(tricky | all_planes)
@example("")
@example("\n\u0301\n\u0301a")
@example("\u0301\n\u0378\n")
@example("a" + "\u0301" * 80 + "\n" + "\u0316\u0301" * 40)
@example("\u1112\u1161\u11ab" * 3 + "e\u0301 e\u0301")
def test_places_are_those_of_the_naive_twin(text: str) -> None:
    begins, ends = locate_bytes(text)
    assert (begins.tolist(), ends.tolist()) == naive_places_in(text)


class CountedText:
    """Bytes that count how often they are read."""

    def __init__(self, text: bytes) -> None:
        self.text, self.reads = text, 0

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, i: int) -> int:
        self.reads += 1
        return self.text[i]


def plain(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel as plain Python, compiled or not."""
    return getattr(kernel, "py_func", kernel)


LONG_TEXTS = {
    "one letter": "a",
    "one foreign letter": "é",
    "spaces": " ",
    "one combining mark": "\u0301",
    "marks of two classes": "\u0316\u0301",
    "marks that decompose": "\u0344\u0340",
    "a family of emoji": "👩\u200d👩\u200d👧",
    "Han characters": "漢字",
    "format characters": "\u200d\u00ad",
    "letters and marks": "q\u0316\u0301",
    "pairs cut by spaces": "漢 字字 ",
}
every_long_text = pytest.mark.parametrize("piece", LONG_TEXTS.values(), ids=LONG_TEXTS.keys())


@every_long_text
def test_each_byte_is_read_a_few_times_however_long_the_text(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "read_code_point", plain(kernels.read_code_point))
    monkeypatch.setattr(kernels, "write_code_point", plain(kernels.write_code_point))
    for name in ("take_letters", "combine_key_and_size"):
        monkeypatch.setattr(kernels, name, plain(getattr(kernels, name)))
    for size in (400, 800):
        data = (piece * (size // len(piece))).encode() + b" "
        text, room = CountedText(data), np.empty(2 * len(data) + 9, dtype=np.int64)
        letters, places = np.empty(len(room), dtype=np.uint8), [room.copy() for _ in range(6)]
        tokens = kernels.Tokens._make([letters, *places, np.array([len(data) - 1])])
        plain(kernels.tokenize_text)(text, *load_characters(), np.zeros(1, dtype=np.bool_), tokens)
        plain(kernels.find_uncomposed)(text, np.array([len(data)]), load_characters().classes)
        assert text.reads <= 5 * len(data) + 5


@every_long_text
def test_a_megabyte_of_anything_gives_what_a_short_text_does(piece: str) -> None:
    few = 50 // len(piece) * piece
    many = MEGABYTE // len(piece) * piece
    short, long = tokens_of(few), tokens_of(many)
    assert set(long) <= set(tokens_of(4 * few))
    assert max(map(len, long), default=0) <= 64
    assert bool(short) == bool(long)


@pytest.mark.parametrize(
    "piece", ["\u0301", "\u0316\u0301", "\u0344", "\u0f73", "\u0f73\u0f81", "\u0301\u0378"], ids=ascii
)
def test_no_long_run_of_marks_is_ever_sorted(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def normalize(form: str, text: str) -> str:
        given.append(text)
        return text

    monkeypatch.setattr(characters_module, "normalize", normalize)
    compose("a" + piece * 200)
    marks = (unicodedata.combining(mark) != 0 for one in given[0] for mark in unicodedata.normalize("NFD", one))
    assert max(len(list(run)) for combining, run in groupby(marks) if combining) <= 4 * 30


def the_maker_of_the_table() -> ModuleType:
    path = ROOT / "tools" / "make_unicode_table.py"
    spec = importlib.util.spec_from_file_location("make_unicode_table", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_of_unicode_14() -> None:
    assert json.loads(files("thresher.text").joinpath("unicode.json").read_text())["unicode"] == "14.0.0"


def test_ascii_letters_and_digits_are_words_and_all_else_separates() -> None:
    for code in range(128):
        kind = load_characters().classes[code] & CLASS
        assert kind == (WORD if chr(code).isalnum() else SEPARATOR)
        assert load_characters().lower[code] == ord(chr(code).lower())
        separates = 2 if chr(code) in ".!?\n" else 1
        assert load_characters().plain[code] == (ord(chr(code).lower()) if chr(code).isalnum() else separates)
        assert bool(load_characters().classes[code] & ENDING) == (chr(code) in ".!?\n")
    assert not load_characters().plain[128:].any()


def test_the_table_is_what_its_maker_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maker = the_maker_of_the_table()
    if unicodedata.unidata_version == "14.0.0":
        monkeypatch.setattr(maker, "TARGET", tmp_path / "unicode.json")
        maker.main()
        assert (tmp_path / "unicode.json").read_text() == files("thresher.text").joinpath("unicode.json").read_text()
    else:  # newer data knows more characters: those of the pages were known before
        for character in sorted(set("".join(PAGES.values()))):
            assert load_characters().classes[ord(character)] & CLASS == maker.class_of(ord(character))
            assert load_characters().lower[ord(character)] == maker.lower_case(ord(character))
