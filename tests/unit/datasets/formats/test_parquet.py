"""Parquet: columns by name, every type of column either read or refused with its row, nothing damaged taken."""

import pickle
import random
import re
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thresher.datasets.document import Document
from thresher.datasets.reader import Reading, read_documents
from thresher.errors import DataError, MissingPackageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "f.parquet"


def write(path: Path, columns: dict[str, Any], **options: Any) -> None:
    pq.write_table(pa.table(columns), path, **options)


def reading(path: Path, **options: Any) -> Reading:
    return read_documents(path, **options)


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        list(reading(path, **options))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


# What is read.


def test_rows_become_documents_with_their_own_columns(path: Path) -> None:
    write(path, {"id": [7, 8], "text": ["oil", "gas"], "labels": [["a", "b"], []], "price": [1.5, None]})
    first, second = reading(path)
    columns = {"id": 7, "text": "oil", "labels": ["a", "b"], "price": 1.5}
    assert first == Document("oil", ("a", "b"), "7", columns=columns, place=f"{path}: row group 1, row 1")
    assert (second.categories, second.place) == ((), f"{path}: row group 1, row 2")


def test_places_count_row_groups_and_ids_go_on(path: Path) -> None:
    write(path, {"text": [str(i) for i in range(10)]}, row_group_size=4)
    found = list(reading(path))
    assert [document.id for document in found] == [str(i) for i in range(1, 11)]
    assert [document.place.removeprefix(f"{path}: ") for document in found[3:6]] == [
        "row group 1, row 4", "row group 2, row 1", "row group 2, row 2"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "texts",
    [
        pa.array(["oil", "gas", "oil"]),
        pa.array(["oil", "gas", "oil"]).dictionary_encode(),
        pa.array(["oil", "gas", "oil"], pa.large_string()),
        pa.array(["oil", "gas", "oil"], pa.string_view()),
    ],
    ids=["string", "dictionary", "large string", "string view"],
)
def test_every_kind_of_text_column_is_read(path: Path, texts: Any) -> None:
    write(path, {"text": texts, "label": texts})
    assert [(document.text, document.categories) for document in reading(path)] == [
        ("oil", ("oil",)), ("gas", ("gas",)), ("oil", ("oil",))
    ]  # fmt: skip


@pytest.mark.parametrize("label", ["NA", "null", "None", "nan", "true", "007", "1e5"])
def test_labels_are_kept_byte_for_byte(path: Path, label: str) -> None:
    write(path, {"text": ["oil"], "label": [label]})
    assert next(iter(reading(path))).categories == (label,)


def test_times_beyond_the_precision_or_range_of_python_become_text(path: Path) -> None:
    write(path, {"text": ["oil"], "when": pa.array([10**18], pa.timestamp("us"))})
    (found,) = reading(path)
    assert isinstance((found.columns or {})["when"], str)


def test_a_file_is_known_by_its_first_bytes(path: Path) -> None:
    bare = path.with_suffix("")
    write(bare, {"text": ["oil"], "label": ["a"]})
    found = reading(bare)
    assert (found.format, [document.text for document in found]) == ("parquet", ["oil"])
    with bare.open("rb") as file, pytest.raises(DataError, match="Parquet cannot be read from here"):
        read_documents(file)


def test_a_large_row_group_is_read_in_small_batches(path: Path) -> None:
    write(path, {"text": [f"{i} " + "wheat " * 50 for i in range(20_000)]}, row_group_size=20_000, compression="zstd")
    tracemalloc.start()
    try:
        assert len([document.id for document in reading(path)]) == 20_000
        assert tracemalloc.get_traced_memory()[1] < 15 * 2**20
    finally:
        tracemalloc.stop()


# What is refused.

BAD_TEXT = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xfc"))
UUID = pa.array([b"0123456789abcdef"] * 2, pa.binary(16))
NAME, NAMES = (f"field '{name}' must hold names of categories, " for name in ("label", "labels"))
REFUSED: dict[str, tuple[dict[str, Any], int, str]] = {
    "binary text": ({"text": pa.array([b"oil", b"gas"])}, 1, "field 'text' must hold text, not bytes"),
    "numbers for text": ({"text": [1, 2]}, 1, "field 'text' must hold text, not a number"),
    "null text": ({"text": ["oil", None]}, 2, "field 'text' must hold text, not null"),
    "a column of nulls": ({"text": pa.nulls(2)}, 1, "field 'text' must hold text, not null"),
    "extension type": (
        {"text": pa.ExtensionArray.from_storage(pa.uuid(), UUID)}, 1, "field 'text' must hold text, not UUID",
    ),
    "text that is no UTF-8": ({"text": BAD_TEXT}, 2, "field 'text' cannot be read: 'utf-8' codec can't decode"),
    "nested list label": (
        {"text": ["oil", "gas"], "labels": [[], [["a"]]]}, 2, NAMES + "not a list",
    ),
    "binary label": (
        {"text": ["oil", "gas"], "label": [b"a", b"b"]}, 1, NAME + "not bytes",
    ),
    "struct label": (
        {"text": ["oil", "gas"], "label": [{"a": 1}, None]}, 1, NAME + "not an object",
    ),
    "null in a list of labels": (
        {"text": ["oil", "gas"], "labels": [["a"], ["b", None]]}, 2, NAMES + "not null",
    ),
    "empty label": ({"text": ["oil", "gas"], "label": ["a", ""]}, 2, "a category without a name"),
    "label of 201 letters": ({"text": ["oil", "gas"], "label": ["a", "x" * 201]}, 2, "category 'xxx"),
    "10,000 labels": (
        {"text": ["oil", "gas"], "labels": [[], [str(i) for i in range(10_000)]]}, 2, "10,000 categories",
    ),
    "id of fractions": ({"text": ["oil", "gas"], "id": [1.5, 2.5]}, 1, "the id must be text or a whole number"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_row_is_refused_with_its_row_group_and_row(path: Path, case: str) -> None:
    columns, row, message = REFUSED[case]
    write(path, columns)
    assert refusal(path).startswith(f"row group 1, row {row}: {message}")
    found = reading(path, skip_bad=True, allow_empty=True)
    assert len(list(found)) + found.skipped == 2


def test_an_extension_type_runs_nothing(path: Path, tmp_path: Path) -> None:
    """As in CVE-2023-47248: a type of pyarrow's that was unpickled, once, by whoever read the file."""

    class Canary:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "canary",)

    for name in ("arrow.py_extension_type", "someone.else"):
        about = {"ARROW:extension:name": name, "ARROW:extension:metadata": pickle.dumps(Canary())}
        fields = [pa.field("text", pa.string(), metadata=about), pa.field("label", pa.string())]
        pq.write_table(pa.table([["oil"], ["a"]], schema=pa.schema(fields)), path)
        assert [document.text for document in reading(path)] == ["oil"]
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("column", ["text", "label", "other"])
def test_offsets_out_of_bounds_are_not_followed(column: str, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    good, ends = pa.array(["oil", "gas"]), pa.py_buffer(b"\0\0\0\0\xff\0\0\0\6\0\0\0")  # the first is past the end
    bad = pa.StringArray.from_buffers(2, ends, good.buffers()[2])
    columns = {name: bad if name == column else good for name in ("text", "label", "other")}
    write(path, {name: ["oil", "gas"] for name in columns})
    batches = [pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))]
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *_, **__: batches)
    assert refusal(path, skip_bad=True).startswith("is damaged or not a Parquet file: ")


def test_a_bad_row_further_down_can_be_skipped(path: Path) -> None:
    texts = [str(i) for i in range(50)]
    texts[36:37] = [None]  # type: ignore[list-item]
    write(path, {"text": texts}, row_group_size=20)
    assert refusal(path) == "row group 2, row 17: field 'text' must hold text, not null"
    assert len(list(reading(path, skip_bad=True))) == 49


def test_a_text_that_is_too_long_is_refused(path: Path) -> None:
    write(path, {"text": ["oil", "x" * 11]})
    assert refusal(path, longest=10).startswith("row group 1, row 2: text longer than 10 characters")


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"a": ["x"]}, {}, "no column holds the text (there are: 'a'; name it with text='COLUMN')"),
        ({"text": ["x"]}, {"labelled": True}, "no column holds the categories"),
        ({"text": ["x"]}, {"text": "body"}, "there is no column 'body'"),
        ({"text": pa.array([], pa.string())}, {}, "no documents (is it the right file?)"),
        ({}, {}, "no column holds the text (there are: none"),
    ],
    ids=["no text", "no categories", "no such column", "no rows", "no columns"],
)
def test_a_table_without_the_needed_columns_is_refused(
    path: Path, columns: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    write(path, columns)
    assert refusal(path, **options).startswith(message)


def test_a_column_that_occurs_twice_is_refused(path: Path) -> None:
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"]), path)
    assert refusal(path) == "column 'text' occurs twice (rename one)"


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"PAR1",
        lambda content: content[:-1],
        lambda content: content[:-8],
        lambda content: content[: len(content) // 2],
        lambda content: b"XXXX" + content[4:-4] + b"XXXX",
        lambda content: content[:-8] + b"\xff\xff\xff\x7fPAR1",
        lambda content: b"text,label\noil,a\n",
    ],
    ids=[
        "empty",
        "magic alone",
        "cut magic",
        "cut footer",
        "half",
        "wrong magic",
        "footer longer than all",
        "a CSV file",
    ],
)
def test_a_damaged_file_is_refused(path: Path, damage: Any) -> None:
    write(path, {"text": ["oil"] * 100, "label": ["a"] * 100})
    path.write_bytes(damage(path.read_bytes()))
    assert refusal(path, skip_bad=True).startswith("is damaged or not a Parquet file: ")


def test_a_file_with_changed_bytes_is_read_or_refused(path: Path) -> None:
    write(path, {"text": [f"oil {i}" for i in range(300)], "labels": [["a"]] * 300}, compression="snappy")
    content, draw = path.read_bytes(), random.Random(0)
    for _ in range(300):
        changed = bytearray(content)
        for _ in range(draw.choice((1, 1, 4))):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        path.write_bytes(changed)
        try:
            list(reading(path, skip_bad=True))
        except DataError as error:
            assert "\n" not in str(error)  # noqa: PT017


def test_errors_of_the_operating_system_are_not_changed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        list(reading(tmp_path / "missing.parquet"))


def test_without_pyarrow_the_message_names_what_to_install(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, {"text": ["oil"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=re.escape("pip install 'thresher-text[parquet]'")):
        list(reading(path))
