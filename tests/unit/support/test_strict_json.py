"""Strict JSON: what two readers could take differently is refused with its reason, and the rest is taken as it is."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.support.strict_json import MAX_DEPTH, JsonError, check_keys, is_deeper, parse

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def refusal(source: bytes | str, **limits: int) -> JsonError:
    with pytest.raises(JsonError) as caught:
        parse(source, **limits)
    return caught.value


@given(VALUES, st.booleans())
def test_any_value_comes_back(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    if "\\ud" not in text:
        assert parse(data) == parse(f" \r\n\t{text}\n ") == value


@pytest.mark.parametrize(
    ("source", "message", "position"),
    [
        (b'{"a": "\xff"}', "it is not UTF-8 at byte 7", 7),
        (b'"\xed\xa0\x80"', "it is not UTF-8 at byte 1", 1),
        ("\ufeff{}".encode(), "it begins with a byte order mark (leave it out)", 0),
        (b"", "expecting value at character 0", 0),
        (b"[1 2]", "expecting ',' delimiter at character 3", 3),
        (b'"gr\xc3\xbcn" x', "something follows its end at character 6", 6),
        (b"{}\0", "something follows its end at character 2", 2),
        (b"{}\x0c", "something follows its end at character 2", 2),
        (b"NaN", "number NaN is not finite", None),
        (b"[-Infinity]", "number -Infinity is not finite", None),
        (b"[1e400]", "a number is not finite", None),
        (b"9" * 5000, "a number has too many digits", None),
        (b'{"a": 1, "b": {"c": 1, "c": 1}}', "a key occurs twice", None),
        (b'{"a": 1, "\\u0061": 1}', "a key occurs twice", None),
        (b'["\\ud800"]', "it holds a lone surrogate, which is half of a character", None),
        (b'{"\\uDFFF": 1}', "it holds a lone surrogate, which is half of a character", None),
        (b"[" * 100_000, "it is nested too deeply", None),
        (b"[" * 100_000 + b"]" * 100_000, "it is nested too deeply", None),
    ],
)
def test_other_text_is_refused_with_its_reason(source: bytes, message: str, position: int | None) -> None:
    error = refusal(source)
    assert (error.message, error.position) == (message, position)


def test_only_the_text_of_the_error_quotes_the_source() -> None:
    error = refusal('{"secret": 1, "secret": 2}')
    assert (error.message, error.quoted, str(error)) == ("a key occurs twice", "secret", "a key occurs twice: 'secret'")
    assert len(str(refusal(f"[{'9' * 400}.5]"))) < 100


@pytest.mark.parametrize("text", [r'"\ud83d\ude00"', r'"\\ud800"', r'"\u00e4"', '"😀"'])
def test_whole_characters_may_be_escaped(text: str) -> None:
    assert parse(text) == json.loads(text)


def test_the_caller_may_limit_the_digits_of_integers() -> None:
    assert parse("[999, -99, 1234.5]", max_digits=3) == [999, -99, 1234.5]
    for text in ("1000", "-100"):
        assert refusal(text, max_digits=3).message == "a number is out of range"
    assert parse("1000") == 1000


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_the_depth_counts_nested_lists_and_objects(opening: str) -> None:
    closing = {"[": "]", '{"a":': "}"}[opening]
    for depth in (1, 2, MAX_DEPTH):
        value = parse(opening * depth + "1" + closing * depth)
        assert not is_deeper(value, depth)
        assert is_deeper(value, depth - 1)
    assert not is_deeper(parse("[" + "[]," * MAX_DEPTH + "{}]"), 2)  # many are not deep


def test_keys_are_checked_alone_where_another_parser_was_faster() -> None:
    check_keys(b'{"a": {"a": 1}}')
    with pytest.raises(JsonError, match="a key occurs twice: 'a'"):
        check_keys(b'{"b": {"a": 1, "a": 2}}')


def test_a_repeated_key_among_many_is_found_quickly() -> None:
    keys = ",".join(f'"{number}":0' for number in range(100_000))
    start = time.process_time()
    assert refusal("{" + keys + ',"99999":0}').quoted == "99999"
    assert time.process_time() - start < 2
