"""JSON lines: an object a line; everything else is refused with its line, its field and the reason."""

import io
import json
import random
import time
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.datasets.document import Document
from thresher.datasets.reader import Reading, read_documents
from thresher.errors import DataError

GOOD = b'{"text": "oil", "labels": ["crude"]}\n'


CUT = "4: incomplete JSON (file truncated?)"


def reading(content: bytes, **options: Any) -> Reading:
    return read_documents(io.BytesIO(content), format="jsonl", **options)


def documents(content: bytes, **options: Any) -> list[Document]:
    return list(reading(content, **options))


def refusal(content: bytes, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        documents(content, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix("<stream>:")


def categories(value: str, **options: Any) -> tuple[str, ...]:
    return documents(b'{"text": "oil", "labels": %s}' % value.encode(), **options)[0].categories


# What is read.


def test_a_lack_of_memory_is_not_reported_as_a_bad_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_memory(line: bytes) -> None:
        raise orjson.JSONDecodeError("Not enough memory to allocate buffer for parsing", "", 0)

    monkeypatch.setattr("thresher.datasets.formats.jsonl.orjson.loads", without_memory)
    with pytest.raises(MemoryError):
        list(read_documents(io.BytesIO(b'{"text": "a"}'), format="jsonl", skip_bad=True))


def test_fields_are_found_by_name_and_kept() -> None:
    (found,) = documents(b'{"price": 3.5, "Tags": ["a", "b"], "body": "oil", "_id": 7, "x": {"y": null}}')
    record = {"price": 3.5, "Tags": ["a", "b"], "body": "oil", "_id": 7, "x": {"y": None}}
    assert found == Document("oil", ("a", "b"), "7", columns=record, place="<stream>:1")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('["a", "b"]', ("a", "b")),
        ('"a"', ("a",)),
        ('"a|b"', ("a|b",)),
        ("[]", ()),
        ("null", ()),
        ("7", ("7",)),
        ("[007]".replace("00", ""), ("7",)),
        ('["NA", "null", "None", "nan", "true", "007", "1e5"]', ("NA", "null", "None", "nan", "true", "007", "1e5")),
        (json.dumps(["x" * 200]), ("x" * 200,)),
        (json.dumps([str(i) for i in range(1000)]), tuple(str(i) for i in range(1000))),
    ],
    ids=[
        "list",
        "string",
        "bar",
        "none",
        "null",
        "number",
        "list of number",
        "look like values",
        "200 letters",
        "1,000",
    ],
)
def test_categories_may_be_a_list_or_a_name(value: str, expected: tuple[str, ...]) -> None:
    assert categories(value) == expected


def test_a_separator_splits_a_string_into_names() -> None:
    assert categories('"a;b"', separator=";") == ("a", "b")
    assert categories('""', separator=";") == ()


@pytest.mark.parametrize("number", [0, -5, 2**53 + 1, 2**63, 2**64 - 1])
def test_ids_may_be_large_numbers(number: int) -> None:
    assert documents(b'{"text": "oil", "id": %d}' % number)[0].id == str(number)


def test_an_id_beyond_64_bits_is_refused_rather_than_rounded() -> None:
    assert refusal(b'{"text": "oil", "id": %d}' % 2**64).startswith(
        "1: the id must be text or a whole number below 2**64"
    )


def test_documents_without_an_id_are_called_by_their_line() -> None:
    assert [document.id for document in documents(GOOD + b"\n" + GOOD)] == ["1", "3"]


def test_categories_that_only_a_later_record_has_are_found() -> None:
    found = reading(b'{"text": "gas"}\n' + GOOD + b'{"text": "tin"}\n')
    assert [document.categories for document in found] == [(), ("crude",), ()]
    assert found.columns is not None
    assert found.columns.categories == ("labels",)


def test_unicode_separators_in_a_text_do_not_end_a_line() -> None:
    text = "a\u2028b\u2029c\x85d\u001ce"
    (found,) = documents(json.dumps({"text": text}, ensure_ascii=False).replace("\\u001c", "\\u001c").encode())
    assert found.text == text


def test_a_mark_and_other_line_ends_change_nothing() -> None:
    plain = documents(GOOD * 2)
    assert documents(b"\xef\xbb\xbf" + GOOD * 2) == plain
    assert documents((GOOD * 2).replace(b"\n", b"\r\n")) == plain
    assert documents((GOOD * 2).replace(b"\n", b"\r")) == plain
    assert documents((GOOD * 2).strip()) == plain


def test_other_encodings_are_read_when_named() -> None:
    record = '{"text": "günstig"}\n{"text": "größer"}'
    for encoding in ("latin-1", "utf-16", "utf-16-be"):
        assert [d.text for d in documents(record.encode(encoding), encoding=encoding)] == ["günstig", "größer"]


# What is refused.


def test_a_truncated_last_line_is_refused_wherever_it_is_cut() -> None:
    last = '{"text": "grüße 😀 \\u00e9", "labels": ["a"], "x": [1.5e3, true, {"y": null}]}'.encode()
    for cut in range(1, len(last)):
        incomplete = "4: JSON that spans several lines (write one object per line)" if cut == 1 else CUT
        assert refusal(GOOD * 3 + last[:cut]) == incomplete


def test_bad_lines_can_be_skipped_and_their_number_is_reported() -> None:
    found = reading(GOOD * 9000 + GOOD[:20], skip_bad=True)
    assert len(list(found)) == 9000
    assert found.skipped == 1
    assert list(map(str, found.first_skipped)) == ["<stream>:9001: incomplete JSON (file truncated?)"]


DEEP = 100_000
NAMES = "field 'labels' must hold names of categories, "
REFUSED: dict[str, tuple[bytes, str]] = {
    "array on one line": (b'[{"text": "oil"}]', "an array, not an object"),
    "array over lines": (b'[\n{"text": "oil"},\n{"text": "gas"}\n]', "JSON that spans several lines"),
    "array over lines, first member first": (b'[{"text": "oil"},\n{"text": "gas"}]', "JSON that spans several lines"),
    "pretty-printed": (b'{\n  "text": "oil"\n}', "JSON that spans several lines"),
    "pretty-printed, with blanks": (b'{  \n  "text": "oil"\n}', "JSON that spans several lines"),
    "objects on one line": (b'{"text": "oil"}{"text": "gas"}', "several objects on one line"),
    "objects with a blank between": (b'{"text": "oil"} {"text": "gas"}', "several objects on one line"),
    "single value": (b'"oil"', "a single value, not an object"),
    "number": (b"7", "a single value, not an object"),
    "plain text": (b"oil rose", "not JSON: "),
    "single quotes": (b"{'text': 'oil'}", "not JSON: "),
    "NaN": (b'{"text": "oil", "x": NaN}', "not JSON: "),
    "Infinity": (b'{"text": "oil", "x": Infinity}', "not JSON: "),
    "minus Infinity": (b'{"text": "oil", "x": -Infinity}', "not JSON: "),
    "1e400": (b'{"text": "oil", "x": 1e400}', "not JSON: number is infinity"),
    "5,000 digits": (b'{"text": "oil", "x": ' + b"1" * 5000 + b"}", "not JSON: number is infinity"),
    "control character": (b'{"text": "o\x01il"}', "not JSON: unexpected control character"),
    "duplicate keys": (b'{"text": "oil", "text": "gas"}', "field 'text' occurs twice"),
    "duplicate keys, parted": (b'{"text": "oil", "a": 1, "text" \r\t: "gas"}', "field 'text' occurs twice"),
    "duplicate keys, escaped": (b'{"text": "oil", "te\\u0078t": "gas"}', "field 'text' occurs twice"),
    "duplicate keys within": (b'{"text": "oil", "x": {"a": 1, "a": 2}}', "field 'a' occurs twice"),
    "deep lists": (b'{"text": "oil", "x": ' + b"[" * DEEP + b"]" * DEEP + b"}", "not JSON: "),
    "deep objects": (b'{"text": "oil", "x": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}", "not JSON: "),
    "deep enough": (b'{"text": "oil", "x": ' + b'{"a":' * 200 + b"1" + b"}" * 200 + b"}", "nested too deeply"),
    "deep lists enough": (b'{"text": "oil", "x": ' + b"[" * 200 + b"]" * 200 + b"}", "nested too deeply"),
    "lone surrogate": (b'{"text": "\\ud800"}', "not JSON: no low surrogate in string"),
    "lone surrogate, low": (b'{"text": "\\udc00"}', "not JSON: "),
    "lone surrogate in bytes": (b'{"text": "\xed\xa0\x80"}', "byte 0xed at column 11 is not UTF-8"),
    "text null": (b'{"text": null}', "field 'text' must hold text, not null"),
    "text number": (b'{"text": 7}', "field 'text' must hold text, not a number"),
    "text true": (b'{"text": true}', "field 'text' must hold text, not true or false"),
    "text list": (b'{"text": ["oil"]}', "field 'text' must hold text, not a list"),
    "text object": (b'{"text": {"a": 1}}', "field 'text' must hold text, not an object"),
    "no text": (b'{"label": "a"}', "no column holds the text (there are: 'label'; name it with text='COLUMN')"),
    "no fields": (b"{}", "no column holds the text (there are: none"),
    "label empty": (b'{"text": "oil", "label": ""}', "a category without a name"),
    "label empty in list": (b'{"text": "oil", "labels": ["a", ""]}', "a category without a name"),
    "label blank": (b'{"text": "oil", "labels": [" "]}', "a category without a name"),
    "label null in list": (b'{"text": "oil", "labels": [null]}', NAMES + "not null"),
    "label true": (b'{"text": "oil", "labels": true}', NAMES + "not true or false"),
    "label fraction": (b'{"text": "oil", "labels": 1.5}', NAMES + "not a number"),
    "label object": (b'{"text": "oil", "labels": {"a": 1}}', NAMES + "not an object"),
    "label list in list": (b'{"text": "oil", "labels": [["a"]]}', NAMES + "not a list"),
    "label of two lines": (b'{"text": "oil", "labels": ["a\\nb"]}', "category 'a\\nb' is not a valid name"),
    "label of 201 letters": (b'{"text": "oil", "labels": ["%s"]}' % (b"x" * 201), "category 'xxx"),
    "10,000 labels": (
        b'{"text": "oil", "labels": %s}' % json.dumps([str(i) for i in range(10_000)]).encode(),
        "10,000 categories in one document are too many (allowed: 1,000)",
    ),
    "id true": (b'{"text": "oil", "id": true}', "the id must be text or a whole number"),
    "id fraction": (b'{"text": "oil", "id": 1.5}', "the id must be text or a whole number"),
    "id list": (b'{"text": "oil", "id": [1]}', "the id must be text or a whole number"),
    "not UTF-8": (b'{"text": "g\xfcnstig"}', "byte 0xfc at column 12 is not UTF-8"),
    "too long": (b'{"text": "%s"}' % (b"x" * 1_000_000), "line longer than 1,000,000 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_line_is_refused_with_its_number_and_the_reason(case: str) -> None:
    content, message = REFUSED[case]
    start = time.process_time()
    assert refusal(content + b"\n").startswith(f"1: {message}")
    assert time.process_time() - start < 1


@pytest.mark.parametrize("case", [case for case in REFUSED if b"\n" not in REFUSED[case][0]])
def test_a_bad_line_further_down_is_refused_and_can_be_skipped(case: str) -> None:
    good = b'{"text": "oil", "label%s": "a", "id": "i"}\n' % (b"" if case == "label empty" else b"s")
    content = b"\n" + good + REFUSED[case][0] + b"\n" + good
    assert refusal(content).startswith("3: ")
    assert [document.place for document in documents(content, skip_bad=True)] == ["<stream>:2", "<stream>:4"]


def test_a_file_that_must_be_labelled_needs_the_field_in_each_record() -> None:
    assert refusal(b'{"text": "oil"}', labelled=True).startswith("1: no column holds the categories")
    message = refusal(GOOD + b'{"text": "gas"}', labelled=True)
    assert message == "2: field 'labels' is missing (there are: 'text')"
    assert documents(GOOD + b'{"text": "gas", "labels": null}', labelled=True)[1].categories == ()


def test_a_field_missing_further_down_is_named() -> None:
    assert refusal(GOOD + b'{"note": "gas"}') == "2: field 'text' is missing (there are: 'note')"


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_at_most_the_given_number_of_bad_records_is_skipped(most: int) -> None:
    content = GOOD + b"{}\n[]\n" + GOOD
    if most < 2:
        message = refusal(content, max_bad=most)
        assert message.startswith(f"{most + 2}: ")
        assert f"that makes more than {most} bad records (" in message
        assert message.endswith("allow more with max_bad)")
    else:
        assert len(documents(content, max_bad=most)) == 2


def test_the_first_ten_bad_records_are_reported_and_all_are_counted() -> None:
    found = reading(GOOD + b"{}\n" * 25, skip_bad=True)
    list(found)
    assert found.skipped == 25
    assert [error.line for error in found.first_skipped] == list(range(2, 12))


def test_a_file_of_bad_records_alone_is_refused() -> None:
    assert refusal(b"[]\n[]\n", skip_bad=True) == " no documents: all 2 records are bad (is it the right file?)"


# Any records.

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.lists(st.dictionaries(TEXTS, JSON, max_size=4), min_size=1, max_size=5))
def test_any_record_comes_back_as_it_was(records: list[dict[str, Any]]) -> None:
    wanted = [record | {"body": "oil"} for record in records]
    content = "\n".join(json.dumps(record, ensure_ascii=False) for record in wanted).encode()
    found = documents(content, text="body", categories="body", id="body")
    assert [document.columns for document in found] == wanted


@given(st.dictionaries(st.sampled_from("abc"), JSON, max_size=3), st.randoms())
def test_a_key_that_occurs_twice_is_always_found(record: dict[str, Any], draw: random.Random) -> None:
    members = [f"{json.dumps(name)}{draw.choice(['', ' '])}:{json.dumps(value)}" for name, value in record.items()]
    members += ['"text":"oil"', '"text" : "oil"']
    draw.shuffle(members)
    assert refusal(("{" + ",".join(members) + "}").encode()) == "1: field 'text' occurs twice (keep one)"


def test_fields_that_only_later_records_have_are_read_too() -> None:
    first, third = b'{"title": "Brief", "tag": "x"}', b'{"title": "U", "tag": "z"}'
    lines = b"\n".join([first, b'{"title": "T", "body": "long text", "labels": ["y"]}', third])
    assert [document.text for document in documents(lines)] == ["Brief", "T\nlong text", "U"]
    assert [document.categories for document in documents(lines, labelled=True)] == [("x",), ("y",), ("z",)]


def test_a_text_is_found_under_the_name_that_its_own_record_has() -> None:
    plain, fields, body = b'{"text": "oil"}\n', b'{"title": "T", "body": "gas"}\n', b'{"body": "tin"}\n'
    assert [document.text for document in documents(plain + fields + body)] == ["oil", "T\ngas", "tin"]
    assert [document.text for document in documents(fields + plain + body)] == ["T\ngas", "oil", "tin"]
    assert [document.text for document in documents(body + plain + b'{"title": "U"}')] == ["tin", "oil", "U"]
    message = refusal(plain + body, text="text")
    assert message.endswith("2: field 'text' is missing (there are: 'body')")
