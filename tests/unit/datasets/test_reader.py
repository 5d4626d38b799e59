"""From a source to documents: formats by name, extension and first bytes, folders, and what is noticed on the way."""

import errno
import gzip
import io
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.datasets.document import Document
from thresher.datasets.options import ReadOptions
from thresher.datasets.reader import FORMATS, guess_format, look, read_documents
from thresher.errors import DataError, ParameterError


def documents(content: str, format: str | None = None, **options: Any) -> list[Document]:
    return list(read_documents(io.BytesIO(content.encode()), format=format, **options))


def refusal(source: Any, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        list(read_documents(source, **options))
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Formats.

CONTENTS = {
    "jsonl": '{"text": "oil", "labels": ["a"]}\n',
    "csv": "text,label\noil,a\n",
    "tsv": "text\tlabel\noil\ta\n",
    "fasttext": "__label__a oil\n",
    "text": "oil\n",
}


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("f.jsonl", "jsonl"), ("f.ndjson", "jsonl"), ("f.json", "jsonl"), ("f.JSONL", "jsonl"), ("f.csv", "csv"),
        ("f.tsv", "tsv"), ("f.tab", "tsv"), ("f.ft", "fasttext"), ("f.fasttext", "fasttext"), ("f.txt", "text"),
        ("f", "text"), ("a.csv.txt", "text"), (".csv", "csv"), ("a.b.csv", "csv"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_the_extension_says_the_format(tmp_path: Path, name: str, format: str, packed: str) -> None:
    path = tmp_path / (name + packed)
    content = CONTENTS[format].encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    reading = read_documents(path)
    assert reading.format == format
    assert len(list(reading)) == 1


@pytest.mark.parametrize("format", CONTENTS)
def test_a_named_format_comes_before_the_extension(tmp_path: Path, format: str) -> None:
    path = tmp_path / "f.parquet"
    path.write_text(CONTENTS[format])
    (found,) = read_documents(str(path), format=format)
    assert found.place == f"{path}:{2 if format in ('csv', 'tsv') else 1}"
    assert found.categories == (() if format == "text" else ("a",))


@pytest.mark.parametrize(
    ("head", "format"),
    [
        ('{"text": "oil"}', "jsonl"),
        ("\n\n  {", "jsonl"),
        ('[{"text": "oil"}]', "jsonl"),
        ("[\n", "jsonl"),
        ("[Reuters] Oil rose", "text"),
        ("__label__a oil", "fasttext"),
        ("<!DOCTYPE lewis>", "sgml"),
        ("<REUTERS TOPICS", "sgml"),
        ("id,text,label\r\n", "csv"),
        ('"Text","Label"\n', "csv"),
        ("label\ttext\n", "tsv"),
        ("text\n", "text"),
        ("oil, gas and tin\n", "text"),
        ("PAR1\x15", "parquet"),
        ("", "text"),
    ],
)
def test_the_first_bytes_say_the_format(head: str, format: str) -> None:
    assert guess_format(head.encode(), ReadOptions()) == format


def test_every_documented_format_is_known() -> None:
    for format in FORMATS:
        if format not in ("parquet", "folders", "files", "sgml"):
            assert read_documents(io.BytesIO(b"x"), format=format).format == format


def test_an_unknown_format_or_option_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"invalid format: .xls. .allowed: jsonl, csv, "):
        read_documents(io.BytesIO(b""), format="xls")
    with pytest.raises(TypeError, match="colour"):
        read_documents(io.BytesIO(b""), colour="red")


@pytest.mark.parametrize("format", ["parquet", "folders", "files"])
def test_formats_of_folders_cannot_be_read_from_a_stream(format: str) -> None:
    assert refusal(io.BytesIO(b"x"), format=format).startswith(f"<stream>: {format} cannot be read from here")


def test_a_reading_that_is_not_read_to_the_end_closes_its_file(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("oil\n" * 10)
    assert next(iter(read_documents(path))).text == "oil"  # warnings, as of files that stay open, are errors here


# Plain text, fastText, LibMultiLabel.


def test_plain_text_has_no_place_for_categories() -> None:
    (found,) = documents("oil rose", "text")
    assert found == Document("oil rose", (), "1", place="<stream>:1")
    assert refusal(io.BytesIO(b"oil"), format="text", labelled=True).startswith("<stream>:1: plain text has no place")


def test_plain_files_that_must_be_labelled_are_closed(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("oil")
    assert refusal(tmp_path / "f.txt", labelled=True).startswith(f"{tmp_path / 'f.txt'}:1: plain text")


@pytest.mark.parametrize(
    ("line", "text", "categories"),
    [
        ("__label__a oil rose", "oil rose", ("a",)),
        ("__label__a __label__b oil", "oil", ("a", "b")),
        ("__label__a\toil\tand gas", "oil\tand gas", ("a",)),
        ("oil __label__a rose __label__b", "oil rose", ("a", "b")),
        ("oil  rose", "oil  rose", ()),
        ("__label__007 x__label__y", "x__label__y", ("007",)),
        ("__label__a", "", ("a",)),
        ("__label__new\u00a0york,x oil", "oil", ("new\u00a0york,x",)),
    ],
)
def test_fasttext_marks_categories_with_a_prefix(line: str, text: str, categories: tuple[str, ...]) -> None:
    (found,) = documents(line, "fasttext")
    assert (found.text, found.categories, found.id) == (text, categories, "1")


def test_fasttext_may_have_another_prefix() -> None:
    assert documents("#a oil #b.c", "fasttext", label_prefix="#")[0].categories == ("a", "b.c")


def test_fasttext_refuses_a_prefix_without_a_name() -> None:
    assert refusal(io.BytesIO(b"__label__a x\n__label__ oil"), format="fasttext").startswith(
        "<stream>:2: a category without a name"
    )


def test_libmultilabel_puts_an_id_and_categories_before_the_text() -> None:
    found = documents("7\ta b\toil rose\nc\tgas\n\ttin\n8\t\tzinc", "libmultilabel")
    assert [(document.id, document.categories, document.text) for document in found] == [
        ("7", ("a", "b"), "oil rose"), ("2", ("c",), "gas"), ("3", (), "tin"), ("8", (), "zinc")
    ]  # fmt: skip
    assert documents("a b;c\toil", "libmultilabel", separator=";")[0].categories == ("a b", "c")
    assert [document.id for document in documents("\ta\toil\n\tb\tgas", "libmultilabel")] == ["1", "2"]


@pytest.mark.parametrize(("line", "count"), [("oil", 1), ("1\ta\toil\trose", 4)])
def test_libmultilabel_refuses_other_numbers_of_columns(line: str, count: int) -> None:
    message = refusal(io.BytesIO(b"1\ta\toil\n" + line.encode()), format="libmultilabel")
    assert message.startswith(f"<stream>:2: {count} columns instead of id, categories and text")


# Folders.


def fill(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def test_a_folder_of_folders_has_a_category_each(tmp_path: Path) -> None:
    fill(
        tmp_path, {"oil/b.txt": "B\n", "oil/a.txt": "\ufeffA", "gas/deep/x.txt": "X", "top.txt": "T", ".hidden/y": "Y"}
    )
    reading = read_documents(tmp_path)
    assert [(document.id, document.text, document.categories) for document in reading] == [
        ("gas/deep/x.txt", "X", ("gas/deep",)),
        ("oil/a.txt", "A", ("oil",)),
        ("oil/b.txt", "B\n", ("oil",)),
        ("top.txt", "T", ()),
    ]
    assert reading.format == "folders"
    assert "top.txt: is not in a category's folder" in refusal(tmp_path, labelled=True)


@pytest.mark.parametrize("suffix", [".key", ".labels"])
def test_categories_may_be_in_label_files_next_to_the_documents(tmp_path: Path, suffix: str) -> None:
    fill(tmp_path, {"1.txt": "oil", f"1{suffix}": "a\r\nb c\n\n", "2.txt": "gas", f"2{suffix}": "", "3.txt": "tin"})
    reading = read_documents(tmp_path)
    assert [(document.id, document.categories) for document in reading] == [
        ("1.txt", ("a", "b c")), ("2.txt", ()), ("3.txt", ())
    ]  # fmt: skip
    assert reading.format == "files"
    assert refusal(tmp_path, labelled=True).startswith(
        f"{tmp_path}/3.txt: no label file next to it (write them into 3.key; or name one file that holds all)"
    )


def test_a_bad_name_in_a_label_file_is_reported_with_that_file(tmp_path: Path) -> None:
    fill(tmp_path, {"1.txt": "oil", "1.key": "x" * 201})
    assert refusal(tmp_path).startswith(f"{tmp_path}/1.key: category 'xxx")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\ng\xfcnstig", ":2: byte 0xfc at column 2 is not UTF-8"),
        ("grüße ".encode() + b"\xfc", ":1: byte 0xfc at column 7 is not UTF-8"),
        ("\ufeffoil".encode("utf-16-le"), ":1: begins with the byte order mark of UTF-16 (use encoding='utf-16')"),
        (b"x" * 1_000_001, ": longer than 1,000,000 bytes"),
    ],
    ids=["byte", "byte after wider characters", "UTF-16", "too long"],
)
def test_a_bad_file_in_a_folder_is_refused_and_can_be_skipped(tmp_path: Path, content: bytes, message: str) -> None:
    fill(tmp_path, {"a/1.txt": "fine", "a/2.txt": content})
    assert refusal(tmp_path).startswith(f"{tmp_path}/a/2.txt{message}")
    assert [document.text for document in read_documents(tmp_path, skip_bad=True)] == ["fine"]


def test_other_encodings_in_folders_are_read_when_named(tmp_path: Path) -> None:
    fill(tmp_path, {"a/1.txt": b"g\xfcnstig"})
    assert next(iter(read_documents(tmp_path, encoding="latin-1"))).text == "günstig"
    assert next(iter(read_documents(tmp_path, decode_errors="replace"))).text == "g\ufffdnstig"


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    fill(tmp_path, {"a/1.txt": "oil"})
    os.mkfifo(tmp_path / "a" / "2.txt")
    assert refusal(tmp_path).startswith(f"{tmp_path}/a/2.txt: is not a file")
    assert len(list(read_documents(tmp_path, skip_bad=True))) == 1


def test_links_to_folders_are_not_followed_and_broken_ones_are_reported(tmp_path: Path) -> None:
    fill(tmp_path, {"a/1.txt": "oil"})
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert len(list(read_documents(tmp_path))) == 1
    (tmp_path / "a" / "gone.txt").symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match=r"gone\.txt"):
        list(read_documents(tmp_path))


def test_links_to_files_outside_of_the_folder_are_refused_and_can_be_skipped(tmp_path: Path) -> None:
    secret = fill(tmp_path, {"secret": "the key"}) / "secret"
    folder = fill(tmp_path / "corpus", {"a/1.txt": "oil"})
    for target in (str(secret), "../../secret", "../../nowhere"):
        (folder / "a" / "2.txt").symlink_to(target)
        message = refusal(folder)
        assert message.startswith(f"{folder}/a/2.txt: is a link to a file outside of the folder (copy the folder with")
        reading = read_documents(folder, skip_bad=True)
        assert [document.text for document in reading] == ["oil"]
        assert reading.skipped == 1
        (folder / "a" / "2.txt").unlink()


def test_categories_are_not_read_through_a_link_that_leads_out(tmp_path: Path) -> None:
    secret = fill(tmp_path, {"secret": "the key"}) / "secret"
    folder = fill(tmp_path / "corpus", {"1.txt": "oil"})
    (folder / "1.key").symlink_to(secret)
    assert refusal(folder).startswith(f"{folder}/1.key: is a link to a file outside of the folder")


def test_links_within_the_folder_are_read_by_whatever_name_the_folder_has(tmp_path: Path) -> None:
    folder = fill(tmp_path / "corpus", {"a/1.txt": "oil"})
    fill(folder, {"b/2.txt": "gas"})
    (folder / "a" / "2.txt").symlink_to("../b/2.txt")
    (tmp_path / "link").symlink_to(folder)
    for name in (folder, tmp_path / "link"):
        assert [(found.id, found.text) for found in read_documents(name)] == [
            ("a/1.txt", "oil"), ("a/2.txt", "gas"), ("b/2.txt", "gas")
        ]  # fmt: skip


@contextmanager
def deep_folder(top: Path, levels: int) -> Iterator[None]:
    """Make a folder with this number of levels and a text in the last one; no path names it if it is very deep."""
    descriptor = os.open(top, os.O_RDONLY)
    try:
        for _ in range(levels):
            os.mkdir("d", dir_fd=descriptor)
            below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        with os.fdopen(os.open("1.txt", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor), "w") as file:
            file.write("oil")
        yield
    finally:
        os.close(descriptor)
        subprocess.run(["rm", "-rf", str(top / "d")], check=True)  # what Python has for that recurses


def test_a_very_deep_folder_is_read(tmp_path: Path) -> None:
    with deep_folder(tmp_path, 1500):
        (found,) = read_documents(tmp_path, format="files")
        assert (found.id, found.text) == ("d/" * 1500 + "1.txt", "oil")
        assert "is not a valid name (allowed: 1 to 200 characters" in refusal(tmp_path)  # the name of the category


def test_a_folder_deeper_than_a_path_may_be_long_is_an_error_of_the_system(tmp_path: Path) -> None:
    with deep_folder(tmp_path, 2500), pytest.raises(OSError, match="name too long") as caught:
        list(read_documents(tmp_path))
    assert caught.value.errno == errno.ENAMETOOLONG


def test_a_file_that_vanishes_from_a_folder_keeps_its_own_error(tmp_path: Path) -> None:
    fill(tmp_path, {"a/1.txt": "oil", "a/2.txt": "gas"})
    found = iter(read_documents(tmp_path))
    next(found)
    (tmp_path / "a" / "2.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"2\.txt"):
        next(found)


def test_file_names_that_are_not_utf8_become_printable_ids(tmp_path: Path) -> None:
    fill(tmp_path, {"a/\udcff\n.txt": "oil"})
    (found,) = read_documents(tmp_path)
    assert found.id == "a/\\udcff\\n.txt"
    fill(tmp_path, {"b\udcff/1.txt": "gas"})
    assert "b\\udcff/1.txt: category 'b\\udcff' holds a lone surrogate" in refusal(tmp_path)


def test_an_empty_folder_and_a_folder_for_a_file_are_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path}: no documents (is it the right file?)"
    assert refusal(tmp_path, format="csv").startswith(f"{tmp_path}: is a folder, and csv needs a file")


# What is noticed.


def test_the_first_ten_warnings_are_kept_and_all_are_counted() -> None:
    reading = read_documents(io.BytesIO(b"__label__a __label__a oil\n" * 25), format="fasttext")
    assert len(list(reading)) == 25
    assert (len(reading.warnings), reading.n_warnings, reading.repeated) == (10, 25, 24)


def test_a_preview_shows_what_was_guessed(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("title,body,labels,price\nOil,It\trose,a|b,3\nGas,Fell,a,4\nTin,,,5\n")
    found = look(path)
    assert (found.name, found.format, found.documents, found.whole) == (str(path), "csv", 3, True)
    assert found.categories == {"a": 2, "b": 1}
    assert found.first.categories == ("a", "b")
    assert found.describe() == (
        f"{path}: csv: text from 'title' and 'body', categories from 'labels', no id (the line's number)\n"
        "all 3 documents have 2 categories: a (2), b (1)\n"
        "the first: a, b: Oil It rose"
    )


def test_a_preview_reads_no_more_than_requested() -> None:
    content = b"oil\n" * 5 + b"\xfc\n"
    found = look(io.BytesIO(content), format="text", most=3)
    assert (found.documents, found.whole) == (3, False)
    assert "the first 3 documents have 0 categories: none\nthe first: no category: oil" in found.describe()
    assert look(io.BytesIO(b"oil\n" * 3), format="text", most=3).whole


def test_a_preview_of_an_empty_source_may_be_allowed() -> None:
    assert look(io.BytesIO(b""), allow_empty=True).documents == 0
    with pytest.raises(DataError, match="no documents"):
        look(io.BytesIO(b""))


@given(st.lists(st.tuples(st.sampled_from(["oil", "gas", "tin"]), st.sets(st.sampled_from("abc")))))
def test_repeated_texts_are_counted_as_with_a_dict(rows: list[tuple[str, set[str]]]) -> None:
    lines = [" ".join([*(f"__label__{name}" for name in sorted(names)), text]) for text, names in rows]
    reading = read_documents(io.BytesIO("\n".join(lines).encode()), format="fasttext", allow_empty=True)
    assert [(document.text, set(document.categories)) for document in reading] == rows
    first: dict[str, set[str]] = {}
    for text, names in rows:
        first.setdefault(text, names)
    assert reading.repeated == len(rows) - len(first)
    assert reading.n_warnings == sum(names != first[text] for text, names in rows)


def test_a_reading_can_be_iterated_only_once() -> None:
    reading = read_documents("sample:train")
    assert len(list(reading)) == 400
    with pytest.raises(DataError, match="sample:train: has been read already"):
        list(reading)


def test_sgml_is_latin_1_unless_another_encoding_is_named() -> None:
    page = '<REUTERS NEWID="1"><TEXT><TITLE>Bär</TITLE></TEXT></REUTERS>'
    for encoding, named in (("latin-1", None), ("utf-8", "utf-8"), ("cp1252", "cp1252")):
        (found,) = read_documents(io.BytesIO(page.encode(encoding)), format="sgml", encoding=named)
        assert found.text == "Bär"


def test_an_invalid_topic_in_sgml_is_refused() -> None:
    page = f'<REUTERS NEWID="1"><TOPICS><D>{"x" * 300}</D></TOPICS><TEXT><TITLE>T</TITLE></TEXT></REUTERS>'
    with pytest.raises(DataError, match=r"<stream>:1: category 'xxx"):
        list(read_documents(io.BytesIO(page.encode()), format="sgml"))


def test_categories_without_their_document_are_refused(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("oil")
    for name in ("1.key", "2.key"):
        (tmp_path / name).write_text("crude\n")
    with pytest.raises(DataError, match=r"2\.key: a label file without its document"):
        list(read_documents(tmp_path))


@pytest.mark.parametrize("name", ["a.svm", "a.libsvm.gz"])
def test_a_file_of_features_is_not_taken_for_text(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"1 3:0.5 7:1\n")
    with pytest.raises(DataError, match="hold features instead of texts"):
        read_documents(tmp_path / name)
