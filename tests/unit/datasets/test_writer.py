"""Documents to files: what is written comes back, a user's own columns with it, and never half a file."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thresher.datasets.document import Document
from thresher.datasets.reader import read_documents
from thresher.datasets.spreadsheet_escape import escape_formula
from thresher.datasets.writer import guess_format, json_line, make_record, write_records, write_to
from thresher.errors import DataError, ParameterError

FORMATS = ("jsonl", "csv", "tsv", "parquet")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def written(records: list[dict[str, Any]], format: str, **options: Any) -> str:
    file = io.BytesIO()
    assert write_to(file, iter(records), format, **options) == len(records)
    return file.getvalue().decode()


# Formats.


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.jsonl", "jsonl"),
        ("a.NDJSON", "jsonl"),
        ("a.json", "jsonl"),
        ("a.csv", "csv"),
        ("a.tsv", "tsv"),
        ("a.parquet", "parquet"),
    ],
)
def test_the_extension_says_the_format(name: str, format: str) -> None:
    assert guess_format(name) == format


@pytest.mark.parametrize("name", ["a", "a.txt", "a.csv.gz", "-", ""])
def test_a_name_without_a_known_extension_is_refused_and_nothing_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="no format has this suffix"):
        write_records(tmp_path / name, [])
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_refused_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="invalid format: 'xls'"):
        write_records(tmp_path / "a.csv", [], format="xls")
    assert list(tmp_path.iterdir()) == []


def test_jsonl_has_one_record_per_line() -> None:
    records = [{"text": "a\nb\u2028", "labels": ["x"], "n": 2**53 + 1, "none": None}, {}]
    assert written(records, "jsonl") == '{"text":"a\\nb\u2028","labels":["x"],"n":9007199254740993,"none":null}\n{}\n'


def test_json_lines_hold_numpy_numbers_bytes_and_times() -> None:
    record = {
        "a": np.float32(0.5),
        "b": np.array([1, 2]),
        "c": b"oil",
        "d": np.datetime64("2024-02-29"),
        "e": float("nan"),
    }
    assert json.loads(json_line(record)) == {"a": 0.5, "b": [1, 2], "c": "oil", "d": "2024-02-29T00:00:00", "e": None}


def test_csv_has_a_header_and_joined_lists() -> None:
    records = [{"id": 1, "labels": ["a", "b"], "x": None}, {"id": 2, "labels": [], "y": {"z": [1, "é"]}, "x": -5}]
    assert written(records, "csv") == 'id,labels,x,y\n1,a|b,,\n2,,-5,"{""z"":[1,""é""]}"\n'
    assert written(records[:1], "csv", separator="; ") == "id,labels,x\n1,a; b,\n"


def test_tsv_has_tabs_and_quotes_where_they_are_needed() -> None:
    assert written([{"a": "x,y", "b": "x\ty"}], "tsv") == 'a\tb\nx,y\t"x\ty"\n'


def test_bytes_in_csv_are_their_text() -> None:
    assert written([{"a": b"oil", "b": True, "c": 1.5}], "csv") == "a,b,c\noil,True,1.5\n"


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_a_category_that_holds_the_separator_is_refused(format: str) -> None:
    with pytest.raises(DataError, match=r"'a\|b' holds the separator '\|' \(choose another separator\)"):
        written([{"labels": ["a|b"]}], format)
    assert "a|b;c" in written([{"labels": ["a|b", "c"]}], format, separator=";")


@pytest.mark.parametrize("name", [" a", "a "])
def test_a_category_with_a_blank_next_to_the_separator_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="begins or ends with a blank, which is lost next to a separator"):
        written([{"text": "t", "labels": [name, "b"]}], "csv")
    alone = written([{"text": "t", "labels": [name]}], "csv")
    assert [document.categories for document in read_documents(io.BytesIO(alone.encode()))] == [(name,)]


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "+A1",
        "-A1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "=",
        "-",
        "＝1",
        "＋1",
        "－A",
        "＠x",
        "=cmd|'/C calc'!A0",
        "-1+2",
    ],
)
def test_cells_that_a_spreadsheet_would_run_are_escaped(cell: str) -> None:
    for format in ("csv", "tsv"):
        content = written([{"text": cell, "labels": ["x"], cell: "y"}], format)
        (found,) = read_documents(io.BytesIO(content.encode()), format=format)
        assert content.count("'" + cell.replace('"', '""')) == 2  # in the header, and in the record
        assert found.text == cell
        assert cell in (found.columns or {})
    assert written([{"labels": [cell]}], "csv", separator="§").splitlines()[1].lstrip('"').startswith("'")


@pytest.mark.parametrize("cell", ["-5", "+3.5", "-1e5", "a=b", "'=x", " =x", "1-2", ""])
def test_numbers_and_harmless_cells_stay_as_they_are(cell: str) -> None:
    content = written([{"text": cell, "x": "y"}], "csv")
    (found,) = read_documents(io.BytesIO(content.encode()), format="csv")
    assert found.text == cell


def test_jsonl_and_parquet_escape_nothing(tmp_path: Path) -> None:
    assert written([{"text": "=1+1"}], "jsonl") == '{"text":"=1+1"}\n'
    write_records(tmp_path / "a.parquet", [{"text": "=1+1"}])
    assert next(iter(read_documents(tmp_path / "a.parquet"))).text == "=1+1"


def test_parquet_has_typed_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    records = [{"id": "1", "labels": [], "n": 1, "x": None}, {"id": "2", "labels": [], "n": 2, "y": 0.5}]
    assert write_records(path, records) == 2
    table = pq.read_table(path)
    assert [str(field.type) for field in table.schema] == [
        "string",
        "list<element: string>",
        "int64",
        "string",
        "double",
    ]
    assert table.to_pylist() == [{"id": "1", "labels": [], "n": 1, "x": None, "y": None}, records[1] | {"x": None}]


def test_many_records_are_written_in_batches_and_come_back(tmp_path: Path) -> None:
    for format in FORMATS:
        path = tmp_path / f"a.{format}"
        assert write_records(path, ({"id": str(i), "text": f"oil {i}"} for i in range(5000))) == 5000
        assert [document.id for document in read_documents(path)] == [str(i) for i in range(5000)]


@pytest.mark.parametrize("format", FORMATS)
def test_no_records_make_a_file_without_documents(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    assert write_records(path, []) == 0
    with pytest.raises(DataError, match=r"no documents|no column holds the text"):
        list(read_documents(path))


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet"])
def test_a_column_that_appears_too_late_is_refused(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    records = [{"text": "oil"}] * 1000 + [{"text": "gas", "new": "x"}]
    with pytest.raises(DataError, match="record 1001 has a column 'new' that the first 1000 do not have"):
        write_records(path, records)
    assert list(tmp_path.iterdir()) == []
    assert write_records(path, records[1:]) == 1000


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("values", [(1, "a"), ("a", 1), ([1], "a"), ({"a": 1}, 2), (1, 2**70)])
def test_parquet_refuses_values_of_different_types(tmp_path: Path, values: tuple[Any, Any], late: bool) -> None:
    records = [{"x": values[0]}] * (3000 if late else 1) + [{"x": values[1]}]
    with pytest.raises(DataError, match=r"a column holds values of different types: .*write JSONL instead") as caught:
        write_records(tmp_path / "a.parquet", records)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", FORMATS)
def test_a_lone_surrogate_is_refused_and_nothing_written(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    with pytest.raises(DataError, match="surrogate") as caught:
        write_records(path, [{"text": "oil"}, {"text": "\ud800"}])
    assert str(caught.value).encode()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [2**64, {1: 2}], ids=["65 bits", "key"])
def test_values_that_json_cannot_represent_are_refused(value: Any) -> None:
    with pytest.raises(DataError, match="cannot be written as JSON"):
        json_line({"x": value})


# Whole or not at all.


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("error", [DataError("f:7: bad"), KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_error_while_writing_leaves_the_old_file(tmp_path: Path, format: str, error: BaseException) -> None:
    path = tmp_path / f"a.{format}"
    path.write_text("old")

    def records() -> Iterator[dict[str, Any]]:
        for number in range(3000):
            yield {"text": str(number)}
        raise error

    with pytest.raises(type(error)) as caught:
        write_records(path, records())
    assert caught.value is error
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_corpus_can_be_written_onto_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\noil,a\ngas,b\n")
    reading = read_documents(path)
    assert write_records(path, (make_record(document, reading.columns) for document in reading)) == 2
    assert path.read_text() == "id,text,categories\n2,oil,a\n3,gas,b\n"


# What a document becomes.


def test_other_columns_follow_those_of_the_document() -> None:
    content = b"price,Labels,Headline,body,key\n3,a|b,Oil,It rose,k\n"
    reading = read_documents(io.BytesIO(content), format="csv")
    (found,) = (make_record(document, reading.columns) for document in reading)
    assert found == {"id": "k", "title": "Oil", "text": "It rose", "categories": ["a", "b"], "price": "3"}
    assert list(found) == ["id", "title", "text", "categories", "price"]


def test_a_column_with_the_same_content_is_not_written_twice() -> None:
    first = next(iter(read_documents("sample:train")))
    assert list(make_record(first)) == ["id", "text", "categories", "date", "channel"]


def test_a_text_with_only_a_dateline_as_field_is_kept() -> None:
    document = Document("loose text", ("a",), "1", {"dateline": "ROME"})
    assert make_record(document) == {"id": "1", "text": "loose text", "categories": ["a"], "dateline": "ROME"}


def test_a_column_that_was_not_a_title_does_not_become_one() -> None:
    (document,) = read_documents(
        io.BytesIO(b"Subject,body,labels\nre: hello,wheat rose,grain\n"), format="csv", text=["body"]
    )
    record = make_record(document, None)
    assert (record["text"], record["given_Subject"], "Subject" in record) == ("wheat rose", "re: hello", False)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "content",
    [
        '{"id": "1", "text": "oil, \\"crude\\"\\nrose", "labels": ["a", "b c"], "n": "7"}\n'
        '{"id": "2", "text": "", "labels": []}',
        '{"title": "Oil", "body": "It rose\\tmuch", "tags": ["NA", "007"]}\n{"title": "Gas", "body": "", "tags": null}',
    ],
    ids=["text", "title and body"],
)
def test_a_converted_corpus_has_the_same_documents(tmp_path: Path, format: str, content: str) -> None:
    reading = read_documents(io.BytesIO(content.encode()), format="jsonl")
    before = list(reading)
    path = tmp_path / f"a.{format}"
    write_records(path, (make_record(document, reading.columns) for document in before))
    for old, new in zip(before, read_documents(path), strict=True):
        assert (new.id, new.text, new.categories, new.fields) == (old.id, old.text, old.categories, old.fields)
        assert (new.columns or {}).get("n") in ((old.columns or {}).get("n"), "")


@settings(max_examples=50)
@given(st.lists(st.dictionaries(TEXTS, TEXTS | st.integers(-(2**63), 2**63) | st.lists(TEXTS), max_size=3), max_size=4))
def test_any_record_comes_back_from_jsonl(records: list[dict[str, Any]]) -> None:
    wanted = [record | {"the text": "oil"} for record in records]
    content = written(wanted, "jsonl").encode()
    reading = read_documents(io.BytesIO(content), format="jsonl", text="the text", categories="the text", id="the text",
                             allow_empty=True)  # fmt: skip
    assert [document.columns for document in reading] == wanted


def expected_cell(cell: str) -> str:
    """Return a cell as it comes back: all line ends newlines."""
    return cell.replace("\r\n", "\n")


CELLS = st.text(st.sampled_from("ab,;\t\"\n\r=+-@'\0 é\u2028|1")) | TEXTS


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1), st.sampled_from(["csv", "tsv"]))
@example([("a\rb", "c\r"), ("\r", "x\r\ny")], "csv")
@example([("", ""), (" ", "\t")], "tsv")
def test_any_cells_come_back_from_csv(rows: list[tuple[str, str]], format: str) -> None:
    content = written([{"text": text, "other": other} for text, other in rows], format)
    found = read_documents(io.BytesIO(content.encode()), format=format)
    assert [(document.text, (document.columns or {})["other"]) for document in found] == [
        (expected_cell(text), expected_cell(other)) for text, other in rows
    ]


@given(st.lists(CELLS, min_size=1))
def test_any_cells_of_one_column_come_back_from_csv(cells: list[str]) -> None:
    content = written([{"text": cell} for cell in cells], "csv")
    wanted = [
        expected_cell(cell) for cell in cells if not cell or escape_formula(cell).strip() or set(cell) & {"\n", "\r"}
    ]
    found = [document.text for document in read_documents(io.BytesIO(content.encode()), format="csv", allow_empty=True)]
    assert found == wanted


def test_documents_without_columns_are_written() -> None:
    assert make_record(Document("oil", ("a",), "1")) == {"id": "1", "text": "oil", "categories": ["a"]}


CONVERTED_COLUMNS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a third field of text": (
        "title,body,summary,labels\nT,B,S,x\n",
        {"text": ("title", "body", "summary")},
        "summary",
    ),
    "a field that is no body": ("title,notes,labels\nT,N,x\n", {"text": ("title", "notes")}, "notes"),
    "a text that was not chosen": ("text,body,labels\nown,B,x\n", {"text": "body"}, "given_text"),
    "an id that was not chosen": ("text,labels,id,key\nB,x,own,7\n", {"id": "key"}, "given_id"),
    "categories that were not chosen": (
        "text,labels,categories\nB,x,own\n",
        {"categories": "labels"},
        "given_categories",
    ),
}


@pytest.mark.parametrize("case", CONVERTED_COLUMNS)
def test_converting_loses_no_column(case: str) -> None:
    content, options, kept = CONVERTED_COLUMNS[case]
    reading = read_documents(io.BytesIO(content.encode()), format="csv", **options)
    (record,) = (make_record(document, reading.columns) for document in reading)
    assert record[kept] in ("S", "N", "own")
    assert record["text"] in ("B", "N")
    assert record["categories"] == ["x"]


def test_names_of_categories_survive_csv() -> None:
    content = written([{"text": "t", "labels": ["@vip", "-a"]}, {"text": "t", "labels": ["'=x"]}], "csv")
    found = read_documents(io.BytesIO(content.encode()), format="csv")
    assert [document.categories for document in found] == [("@vip", "-a"), ("'=x",)]
