"""CSV and TSV: cells stay what they are, and what is wrong is refused with the line where it begins."""

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.datasets.document import Document
from thresher.datasets.options import DEFAULT_LONGEST
from thresher.datasets.reader import Reading, read_documents
from thresher.datasets.spreadsheet_escape import unescape_formula
from thresher.errors import DataError


def reading(content: str | bytes, format: str = "csv", **options: Any) -> Reading:
    octets = content.encode() if isinstance(content, str) else content
    return read_documents(io.BytesIO(octets), format=format, **options)


def documents(content: str | bytes, format: str = "csv", **options: Any) -> list[Document]:
    return list(reading(content, format, **options))


def refusal(content: str | bytes, format: str = "csv", **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        documents(content, format, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix("<stream>:")


# What is read.


def test_columns_are_found_by_name_and_kept() -> None:
    (found,) = documents('price,Label,TEXT,id\n3,grain,"wheat, rose",7\n')
    assert found == Document(
        "wheat, rose", ("grain",), "7", columns={"price": "3", "Label": "grain", "TEXT": "wheat, rose", "id": "7"},
        place="<stream>:2",
    )  # fmt: skip


def test_title_and_body_are_told_apart() -> None:
    (found,) = documents("title,body\nWheat,It rose\n")
    assert found.fields == {"title": "Wheat", "body": "It rose"}
    assert found.text == "Wheat\nIt rose"


def test_columns_may_be_named() -> None:
    (found,) = documents("a,b,c,text\nx,y,z,t\n", text=("b", "a"), categories="c", id="text")
    assert found.text == "y\nx"
    assert (found.categories, found.id) == (("z",), "t")


def test_several_columns_of_categories_are_read_together() -> None:
    found = documents("text,label1,label_2,label 3\noil,a,,c\ngas,,,\n")
    assert [document.categories for document in found] == [("a", "c"), ()]


@pytest.mark.parametrize(
    "label", ["NA", "null", "None", "nan", "true", "007", "1e5", "1.0", "-1", " a b ", "é", "e\u0301", "#N/A"]
)
@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_labels_are_kept_byte_for_byte(label: str, format: str) -> None:
    delimiter = "," if format == "csv" else "\t"
    (found,) = documents(f"text{delimiter}label\noil{delimiter}{label}\n", format)
    assert found.categories == (label,)


@pytest.mark.parametrize(
    ("cell", "separator", "expected"),
    [
        ("a|b", None, ("a", "b")),
        ("a;b", None, ("a;b",)),
        ("a;b", ";", ("a", "b")),
        ("a, b", ", ", ("a", "b")),
        ("a|b", ";", ("a|b",)),
        ("", None, ()),
        ("", ";", ()),
    ],
)
def test_a_cell_may_hold_several_categories(cell: str, separator: str | None, expected: tuple[str, ...]) -> None:
    assert documents(f'text,labels\noil,"{cell}"\n', separator=separator)[0].categories == expected


@pytest.mark.parametrize("cell", ["a||b", "a|", "|a", "|", "a| |b", " "])
def test_an_empty_category_is_refused(cell: str) -> None:
    content = f"text,labels\ngas,a\noil,{cell}\n"
    assert refusal(content) == "3: a category without a name (remove it, or its separator)"


def test_a_category_that_occurs_twice_counts_once_with_a_warning() -> None:
    found = reading("text,labels\noil,a|b|a\n")
    assert next(iter(found)).categories == ("a", "b")
    assert found.warnings == ["<stream>:2: a category occurs twice; it counts once"]


def test_a_name_too_long_is_refused() -> None:
    assert refusal(f"text,labels\noil,{'x' * 201}\n").startswith("2: category 'xxx")
    assert documents(f"text,labels\noil,{'x' * 200}\n")[0].categories == ("x" * 200,)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["", "mark"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_line_ends_and_marks_change_nothing(end: str, mark: str, last: bool, format: str) -> None:
    rows = ["text,label", '"oil, crude",a', "gas,b"] if format == "csv" else ["text\tlabel", "oil, crude\ta", "gas\tb"]
    found = documents(mark + end.join(rows) + (end if last else ""), format)
    assert [(document.text, document.categories) for document in found] == [("oil, crude", ("a",)), ("gas", ("b",))]
    assert [document.place for document in found] == ["<stream>:2", "<stream>:3"]
    assert list(found[0].columns or ()) == ["text", "label"]


def test_newlines_in_quotes_belong_to_the_field_and_a_record_has_the_line_where_it_begins() -> None:
    content = 'text,label\n"one\n\ntwo",a\nnext,b\n"x\ny",c,d\n'
    found = reading(content, skip_bad=True)
    assert [(document.text, document.place) for document in found] == [
        ("one\n\ntwo", "<stream>:2"), ("next", "<stream>:5")
    ]  # fmt: skip
    assert list(map(str, found.first_skipped)) == ["<stream>:6: 3 columns, but the header has 2 (fix the line)"]


def test_doubled_quotes_are_one() -> None:
    assert documents('text,label\n"say ""oil""",a\n')[0].text == 'say "oil"'


def test_a_nul_is_kept() -> None:
    (found,) = documents("text,label\na\0b,c\n")
    assert found.text == "a\0b"


def test_escapes_in_tsv_are_plain_characters() -> None:
    assert documents("text\tlabel\na\\tb\\n\ta\n", "tsv")[0].text == "a\\tb\\n"


def test_quotes_may_be_plain_characters() -> None:
    content = 'text\tlabel\n"oil\ta\n5" disk\tb\n'
    assert [document.text for document in documents(content, "tsv", quoting=False)] == ['"oil', '5" disk']


def test_another_delimiter_may_be_named() -> None:
    assert documents("text;label\noil, gas;a\n", delimiter=";")[0].text == "oil, gas"


def test_blank_lines_are_not_records_but_an_empty_quoted_field_is() -> None:
    assert [document.id for document in documents('\n\ntext\n\n  \none\n""\n\n')] == ["6", "7"]


def test_empty_rows_before_the_header_are_skipped() -> None:
    assert documents(",,\n , ,\ntext,label,x\noil,a,b\n")[0].place == "<stream>:4"


def test_a_field_may_be_as_long_as_a_document() -> None:
    text = "x" * 900_000
    assert documents(f"text,label\n{text},a\n")[0].text == text


# What is refused.


def test_a_field_longer_than_a_document_is_refused_with_its_line() -> None:
    content = f"text,label\noil,a\n{'x' * (DEFAULT_LONGEST + 1)},b\ngas,c\n"
    message = "line longer than 1,000,000 bytes (split it, or allow more with longest)"
    assert refusal(content) == f"3: {message}"
    found = reading(content, skip_bad=True)
    assert [document.text for document in found] == ["oil", "gas"]
    assert documents(content, longest=2_000_000)[1].categories == ("b",)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ('oil,a\n"gas,b\nmore,c\n', 3),
        ('"two\nlines","gas\nmore,c\n', 3),
        ('a,"\n', 2),
        ('a,"b""\n\n\n', 2),
        ('"x",a\n"y\n"",b\n', 3),
    ],
)
@pytest.mark.parametrize("skip_bad", [False, True])
def test_a_quote_that_does_not_close_is_refused_with_the_line_where_it_opens(
    rows: str, line: int, skip_bad: bool
) -> None:
    message = refusal("text,label\n" + rows, skip_bad=skip_bad)
    assert message.startswith(f"{line}: a quote opens here and does not close")


def test_an_open_quote_does_not_swallow_more_than_a_document() -> None:
    rows = "oil and gas and more,a\n" * 1000
    message = refusal('text,label\nx,y\n"oil,b\n' + rows, longest=10_000)
    assert message.startswith("3: a quote opens here and does not close, or the record is longer than 10,000 bytes")
    message = refusal('text,label\n"oil,b\n' + "x" * 20_000 + '\n"', longest=10_000, skip_bad=True)
    assert message.startswith("2: a quote opens")


def test_a_record_that_closes_its_quote_at_the_wrong_place_is_refused_with_the_line_where_it_begins() -> None:
    assert refusal('text,label\nx,y\n"a","b\n"x","y"\n').startswith("3: ',' expected after '\"'")


def test_characters_after_a_closing_quote_are_refused() -> None:
    content = 'text,label\n"oil" and gas,a\nfine,b\n'
    assert refusal(content).startswith("2: ',' expected after '\"' (double the quotes")
    assert [document.text for document in documents(content, skip_bad=True)] == ["fine"]


def test_a_message_shows_a_tab_as_an_escape() -> None:
    message = refusal('text\tlabel\n"oil" and gas\ta\n', format="tsv")
    assert message.startswith(r"2: '\t' expected after")
    assert message.isprintable()


def test_a_return_within_a_field_is_refused_unless_quoted() -> None:
    assert refusal("text,label\na\rb,c\n") == "2: a return within a field (remove it, or put the field into quotes)"
    assert documents('text,label\n"a\rb",c\n')[0].text == "a\rb"


@pytest.mark.parametrize("format", ["csv", "tsv"])
@pytest.mark.parametrize(("row", "count"), [("oil", 1), ("oil,a,b", 3), ("oil,a,", 3)])
def test_another_number_of_columns_is_refused_with_both_numbers(format: str, row: str, count: int) -> None:
    content = f"text,label\nfine,a\n{row}\nfine,b\n"
    if format == "tsv":
        content = content.replace(",", "\t")
    assert refusal(content, format) == f"3: {count} columns, but the header has 2 (fix the line)"
    assert len(documents(content, format, max_bad=1)) == 2


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("wheat rose,grain\noil,crude\n", {}, "1: no column holds the text (there are: 'wheat rose', 'grain'; name it"),
        ("text,label,text\na,b,c\n", {}, "1: column 'text' occurs twice in the header (rename one)"),
        ("text;label\na;b\n", {}, "1: one column, 'text;label', in the header (use delimiter=';'?)"),
        ("text\tlabel\na\tb\n", {}, "1: one column, 'text\\tlabel', in the header (use delimiter='\\t'?)"),
        ("\n\nid,label\n1,b\n", {}, "3: no column holds the text (there are: 'id', 'label'"),
        ("text,x\na,b\n", {"labelled": True}, "1: no column holds the categories (there are: 'text', 'x'; name it"),
        ("text,x\na,b\n", {"text": "body"}, "1: there is no column 'body' (there are: 'text', 'x'"),
        ("text,x\na,b\n", {"categories": "y"}, "1: there is no column 'y'"),
        ("text,x\na,b\n", {"id": "z"}, "1: there is no column 'z'"),
        ('"text,label\na,b\n', {}, "1: a quote opens here and does not close"),
        (b"te\xfct,label\na,b\n", {}, "1: byte 0xfc at column 3 is not UTF-8"),
        ("text,label\n", {}, " no documents (is it the right file?)"),
        ("text,label", {}, " no documents (is it the right file?)"),
    ],
    ids=[
        "missing header", "duplicate header", "semicolons", "tabs", "no text", "no categories", "no such text",
        "no such categories", "no such id", "quote in the header", "byte in the header", "header only",
        "header only, no newline",
    ],
)  # fmt: skip
def test_a_header_without_the_needed_columns_is_refused(
    content: str | bytes, options: dict[str, Any], message: str
) -> None:
    assert refusal(content, **options).startswith(message)


def test_an_invalid_byte_spoils_only_its_record() -> None:
    content = b'text,label\none,a\n"two\nth\xfcs",b\nthree,c\n'
    assert refusal(content) == (
        "4: byte 0xfc at column 3 is not UTF-8 (use encoding='latin-1' or decode_errors='replace')"
    )
    assert [document.text for document in documents(content, skip_bad=True)] == ["one", "three"]
    assert documents(content, encoding="latin-1")[1].text == "two\nthüs"


def test_the_same_text_with_the_same_categories_is_counted() -> None:
    found = reading("text,labels\noil,a|b\ngas,c\noil,b|a\n")
    assert len(list(found)) == 3
    assert (found.repeated, found.n_warnings) == (1, 0)


def test_the_same_text_with_other_categories_is_kept_with_a_warning_that_names_both() -> None:
    found = reading("text,labels\noil,a\noil,b\n")
    assert [document.categories for document in found] == [("a",), ("b",)]
    assert found.warnings == ["<stream>:3: the same text as <stream>:2, with other categories"]
    assert found.repeated == 1


# Any cells.

CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1)


@given(
    st.lists(st.tuples(CELLS, CELLS), min_size=1), st.sampled_from([",", "\t", ";"]), st.sampled_from(["\n", "\r\n"])
)
def test_any_cells_that_the_csv_module_writes_come_back(rows: list[tuple[str, str]], delimiter: str, end: str) -> None:
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([("text", "other"), *rows])
    found = documents(file.getvalue(), delimiter=delimiter)
    read = [(document.text, (document.columns or {})["other"]) for document in found]
    assert read == [
        (unescape_formula(text), unescape_formula(other)) for text, other in rows
    ]  # as a spreadsheet would show them


def test_a_first_line_that_declares_the_delimiter_is_read_as_excel_does() -> None:
    for content in ("sep=;\r\ntext;label\r\noil, gas;crude\r\n", "\ufeffsep=;\ntext;label\noil, gas;crude\n"):
        (found,) = documents(content)
        assert (found.text, found.categories, found.place) == ("oil, gas", ("crude",), "<stream>:3")
    assert refusal("sep=;\ntext,label\noil,crude\n", delimiter=";").startswith("2: one column, 'text,label'")
