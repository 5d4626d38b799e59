"""The SGML reader takes what the collection holds and refuses, by file and line, what would lose documents."""

import io
import time
from pathlib import Path
from typing import Any

import pytest

from thresher.datasets.corpora.reuters_sgml import read_sgml
from thresher.datasets.document import Document
from thresher.errors import DataError

DOCTYPE = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n'
HEAD = '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="1">\n'
WHOLE = (
    DOCTYPE
    + HEAD
    + """<DATE>26-FEB-1987 15:01:01.79</DATE>
<MKNOTE>mended</MKNOTE>
<TOPICS><D>grain</D><D>wheat</D></TOPICS>
<PLACES><D>usa</D></PLACES>
<PEOPLE></PEOPLE>
<ORGS><D>gatt</D></ORGS>
<EXCHANGES></EXCHANGES>
<COMPANIES></COMPANIES>
<UNKNOWN>
&#5;&#5;&#5;C T
&#22;&#22;&#1;f0704&#31;reute
u f BC-WHEAT   02-26 0105</UNKNOWN>
<TEXT>&#2;
<TITLE>WHEAT &lt;WHT> UP
  AT R&amp;D</TITLE>
<AUTHOR>    By A. Writer, Reuters</AUTHOR>
<DATELINE>    CHICAGO, Feb 26 - </DATELINE><BODY>Wheat rose.
    It fell &#127;later.
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
"""
)


def read(text: str | bytes, **options: Any) -> list[Document]:
    return list(read_sgml(text.encode("latin-1") if isinstance(text, str) else text, "f.sgm", **options))


def article(text: str, newid: str = "1", type: str = "") -> str:
    return f'<REUTERS NEWID="{newid}">\n<TEXT{type}>{text}</TEXT>\n</REUTERS>\n'


def test_an_article_becomes_a_document_with_fields_and_columns() -> None:
    (document,) = read(WHOLE)
    assert document.id == "1"
    assert document.place == "f.sgm:2"
    assert document.categories == ("grain", "wheat")
    assert document.fields == {
        "title": "WHEAT <WHT> UP AT R&D",
        "dateline": "CHICAGO, Feb 26 -",
        "body": "Wheat rose.\n    It fell  later.",
    }
    assert document.text == "WHEAT <WHT> UP AT R&D\nWheat rose.\n    It fell  later."
    assert document.columns == {
        "newid": "1",
        "oldid": "5544",
        "date": "26-FEB-1987 15:01:01.79",
        "lewissplit": "TRAIN",
        "cgisplit": "TRAINING-SET",
        "topics_attribute": "YES",
        "type": "NORM",
        "author": "By A. Writer, Reuters",
        "places": ("usa",),
        "people": (),
        "orgs": ("gatt",),
        "exchanges": (),
        "companies": (),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a&#3;b &#31;c", "a b  c"),
        ("&lt;b> &amp; &quot;c&quot; &#65;", '<b> & "c" A'),
        ("&amp;lt;", "&lt;"),
        ("&unknown; &#99999999; &lt", "&unknown; &#99999999; &lt"),
        ("a&#55296;b&#1114112;c", "a b c"),
        ("5 < 6 and <b>7 > 6</b> <>", "5 < 6 and <b>7 > 6</b> <>"),
        ("Gr\xfc\xdfe", "Gr\xfc\xdfe"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("Up.\n Reuter\n&#3;", "Up."),
        ("Up.\nREUTER...^M\n&#3;", "Up."),
        ("Said to Reuter", "Said to Reuter"),
        (" Reuter\n&#3;", ""),
    ],
)
def test_a_text_is_read_as(text: str, expected: str) -> None:
    (document,) = read(article(f"<BODY>{text}</BODY>"))
    assert document.text == expected


@pytest.mark.parametrize(
    ("page", "categories"),
    [
        ("<TOPICS></TOPICS>", ()),
        ("", ()),
        ("<TOPICS><D> oil </D>\n<D>gas</D></TOPICS>", ("oil", "gas")),
        ("<TOPICS><D>oil<D>gas</D></D></TOPICS>", ("oil", "gas")),
        ("<TOPICS><D>oil</D><D>oil</D><D></D></TOPICS>", ("oil",)),
        ("<topics><d>oil</d></topics>", ("oil",)),
        ("<TOPICS TYPE='DSET'><D>r&amp;d</D></TOPICS >", ("r&d",)),
    ],
)
def test_topics_are_read_as(page: str, categories: tuple[str, ...]) -> None:
    (document,) = read(f'<REUTERS NEWID="1">{page}<TEXT></TEXT></REUTERS>')
    assert document.categories == categories


@pytest.mark.parametrize("type", [' TYPE="UNPROC"', ' TYPE="BRIEF"', ""])
def test_a_text_without_title_and_body_is_kept_as_it_is(type: str) -> None:
    (document,) = read(article("&#2;\nM-1....736.7 up\n M-2\n\n Reuter\n&#3;\n\n", type=type))
    assert document.text == "M-1....736.7 up\n M-2"
    assert document.fields == {}


def test_the_filler_around_a_brief_title_is_left_out() -> None:
    (document,) = read(article("&#2;\n******<TITLE>OIL UP\n</TITLE>Blah blah blah.\n&#3;\n", type=' TYPE="BRIEF"'))
    assert (document.text, document.fields) == ("OIL UP", {"title": "OIL UP"})


@pytest.mark.parametrize(
    "tag",
    [
        '<REUTERS TOPICS="BYPASS" LEWISSPLIT="TEST" CGISPLIT="TRAINING-SET" CSECS="539010540" OLDID="2" NEWID="7">',
        '<REUTERS NEWID="7" OLDID="2" CSECS="1" CGISPLIT="" LEWISSPLIT="TEST" TOPICS="BYPASS">',
        "<reuters newid='7' topics=BYPASS lewissplit = 'TEST'>",
        '<Reuters\n  NewID="7"\n  Topics="BYPASS"\n  LewisSplit="TEST"\n>',
    ],
)
def test_attributes_may_be_in_any_order_and_case(tag: str) -> None:
    (document,) = read(f"{tag}<TEXT><TITLE>X</TITLE></TEXT></reuters>")
    assert document.columns is not None
    assert (document.id, document.columns["topics_attribute"]) == ("7", "BYPASS")
    assert document.columns["lewissplit"] == "TEST"


def test_a_title_and_a_body_may_be_outside_of_a_text_element() -> None:
    (document,) = read(HEAD + "<TITLE>x</TITLE>\n<BODY>y</BODY></REUTERS>")
    assert document.text == "x\ny"


def test_lower_case_tags_are_the_same_tags() -> None:
    (document,) = read("<reuters newid='1'><text><title>x</title><body>y</body></text></reuters>")
    assert document.fields == {"title": "x", "body": "y"}


@pytest.mark.parametrize(
    "prolog",
    [
        DOCTYPE,
        "\xef\xbb\xbf" + DOCTYPE,
        "<?xml version='1.0'?>\n<!-- a note -->\n" + DOCTYPE,
        '<!DOCTYPE lewis [\n<!ENTITY a "aaaa">\n<!ENTITY b "&a;&a;&a;">\n]>\n',
        "<!doctype lewis [ <!ENTITY b \"<REUTERS NEWID='9'></REUTERS>\"> ] >",
        "<!DOCTYPE lewis []>",
    ],
)
def test_a_doctype_is_skipped_and_its_entities_never_expanded(prolog: str) -> None:
    (document,) = read(prolog + article("<BODY>&b;</BODY>"))
    assert (document.id, document.text) == ("1", "&b;")


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (DOCTYPE + HEAD + "<TEXT><BODY>x</BODY></TEXT>\n", "f.sgm:2: unclosed <REUTERS>"),
        (DOCTYPE + HEAD + "<TEXT><BODY>x\n", "f.sgm:2: unclosed <REUTERS>"),
        (DOCTYPE + HEAD + "<TOPICS><D>oi", "f.sgm:2: unclosed <REUTERS>"),
        (DOCTYPE + HEAD, "f.sgm:2: unclosed <REUTERS>"),
        (DOCTYPE + HEAD + "trailing", "f.sgm:2: unclosed <REUTERS>"),
        (HEAD + article("x", "2"), "f.sgm:1: unclosed <REUTERS>"),
        (HEAD + "<TEXT>\n<BODY>x" + article("x", "2"), "f.sgm:1: unclosed <REUTERS>"),
        (HEAD + "<TEXT>\n<BODY>x\n</TEXT></REUTERS>", "f.sgm:3: unclosed <BODY>"),
        (HEAD + "<TEXT>\n<BODY>x\n</REUTERS>", "f.sgm:3: unclosed <BODY>"),
        (HEAD + "<TEXT>\n<TITLE>x</TITLE>\n</REUTERS>", "f.sgm:2: unclosed <TEXT>"),
        (HEAD + "<TOPICS><D>oil</D>\n</REUTERS>", "f.sgm:2: unclosed <TOPICS>"),
        (HEAD + "<TOPICS><D>oil</D>\n<PLACES></PLACES>", "f.sgm:3: <PLACES> within <TOPICS>"),
        (HEAD + "<TOPICS>\n oil</TOPICS>", "f.sgm:3: stray text 'oil'"),
        (article("x") + "\n" + article("y"), "f.sgm:5: NEWID 1 occurs twice"),
        (2 * article("x", "a\0b"), "f.sgm:4: NEWID a\\x00b occurs twice"),
        ("\n<REUTERS TOPICS='NO'></REUTERS>", "f.sgm:2: a <REUTERS> tag without NEWID"),
        ("\n<REUTERS NEWID=' '></REUTERS>", "f.sgm:2: a <REUTERS> tag without NEWID"),
        ('\n<REUTERS NEWID="1></REUTERS>', "f.sgm:2: a <REUTERS> tag without NEWID"),
        (article("x") + "\nmore\nof it\n" + article("y", "2"), "f.sgm:5: stray text 'more of it'"),
        (article("x") + "\nthe end", "f.sgm:5: stray text 'the end'"),
        ("plain text", "f.sgm:1: stray text 'plain text'"),
        (HEAD + "\nloose<TEXT></TEXT></REUTERS>", "f.sgm:3: stray text 'loose'"),
        (article("x") + "</REUTERS>", "f.sgm:4: </REUTERS> outside of <REUTERS>"),
        (HEAD + "<HEAD>", "f.sgm:2: <HEAD> is not known between elements"),
        ("<!DOCTYPE lewis [\n<!ENTITY a 'b'>\n" + article("x"), "f.sgm:2: the DOCTYPE is not closed"),
    ],
)
def test_faults_that_would_lose_documents_are_refused_with_file_and_line(page: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read(page)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(")")
    assert str(caught.value).isprintable()


def test_documents_before_a_fault_are_yielded() -> None:
    documents = read_sgml((article("x") + HEAD).encode(), "f.sgm")
    assert next(documents).text == "x"
    with pytest.raises(DataError, match="unclosed"):
        next(documents)


def test_a_newid_of_a_file_read_before_is_refused() -> None:
    seen: set[str] = set()
    read(article("x"), seen=seen)
    with pytest.raises(DataError, match="NEWID 1 occurs twice"):
        read(article("x"), seen=seen)


def test_an_empty_file_has_no_documents() -> None:
    assert read("") == read(" \n") == read(DOCTYPE) == []


def test_another_encoding_may_be_given_and_is_checked() -> None:
    (document,) = read(article("Grüße").encode("utf-8"), encoding="utf-8")
    assert document.text == "Grüße"
    with pytest.raises(DataError, match=r"f\.sgm:2: not utf-8"):
        read(article("Gr\xfc\xdfe"), encoding="utf-8")


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_pieces_of_any_size_give_the_same_documents(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.datasets.corpora.reuters_sgml._CHUNK", size)
    page = (WHOLE + article("Gr\xfc\xdfe <BODY>x", "2").replace("</TEXT>", "</BODY></TEXT>")).encode("latin-1")
    whole = read(page)
    assert len(whole) == 2
    assert list(read_sgml(io.BytesIO(page), "f.sgm")) == whole
    assert list(read_sgml((page[i : i + 3] for i in range(0, len(page), 3)), "f.sgm")) == whole


@pytest.mark.parametrize(
    "page",
    [
        HEAD + "<TEXT>" + "<" * 1_500_000,
        HEAD + "<TEXT>" + "<b" * 700_000,
        HEAD + "<TEXT>" + "<b>" * 400_000,
        HEAD + "<TEXT>" + "<b " * 400_000,
        HEAD + "<TEXT><BODY>" + "&" * 1_500_000,
        HEAD + "<TEXT><BODY>" + "&#1" * 500_000,
        HEAD + "<TOPICS>" + "<D>x</D>" * 150_000,
        "<REUTERS " + "a" * 1_500_000 + ">",
        "<REUTERS " + "a=" * 700_000 + ">",
        "<REUTERS " + "a='" * 500_000 + ">",
        "<REUTERS NEWID" + " " * 1_500_000 + ">",
        "<REUTERS" * 180_000,
        "<!DOCTYPE [" + "]" * 1_500_000,
        "<!DOCTYPE [" + "<!ENTITY a 'b'>" * 100_000,
        HEAD + "<TEXT>" + "\n" * 1_500_000,
    ],
    ids=lambda page: page[:120].replace("\n", " ")[-16:],
)
def test_hostile_files_are_refused_in_linear_time(page: str) -> None:
    start = time.process_time()
    with pytest.raises(DataError):
        read(page)
    assert time.process_time() - start < 5


def billion_laughs() -> str:
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">\n' for i in range(1, 10))
    return f'<!DOCTYPE lewis [\n<!ENTITY l0 "lol">\n{entities}]>\n' + article("<BODY>&l9;</BODY>")


def test_entities_are_neither_multiplied_nor_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("the secret")
    external = (
        f'<!DOCTYPE lewis SYSTEM "http://127.0.0.1:9/lewis.dtd" [\n<!ENTITY b SYSTEM "file://{tmp_path}/secret">]>'
    )
    opened: list[Any] = []
    monkeypatch.setattr(Path, "open", lambda *given, **_: opened.append(given))
    monkeypatch.setattr("builtins.open", lambda *given, **_: opened.append(given))
    monkeypatch.setattr("socket.socket", lambda *given, **_: opened.append(given))
    assert [document.text for document in read(billion_laughs())] == ["&l9;"]
    assert [document.text for document in read(external + article("<BODY>&b;</BODY>"))] == ["&b;"]
    assert not opened


@pytest.mark.parametrize("tag", ["<b>", "<REUTERS NEWID='2'>"])
def test_a_million_nested_tags_are_refused_quickly(tag: str) -> None:
    start = time.process_time()
    with pytest.raises(DataError):
        read(HEAD + "<TEXT>" + tag * 1_000_000)
    with pytest.raises(DataError):
        read(tag * 1_000_000)
    assert time.process_time() - start < 5


def test_a_document_of_absurd_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.datasets.corpora.reuters_sgml.MAX_ARTICLE", 1 << 19)
    with pytest.raises(DataError, match=r"f\.sgm:2: no tag in 524,288 characters"):
        read(article("x" * (1 << 20)))
    with pytest.raises(DataError, match=r"f\.sgm:1: a document of more than 524,288 characters"):
        read(article("x<b>" * (1 << 18)))


def test_reading_is_lazy() -> None:
    def endless() -> Any:
        number = 0
        while True:
            number += 1
            yield article("x", str(number)).encode()

    documents = read_sgml(endless(), "f.sgm")
    assert [next(documents).id for _ in range(3)] == ["1", "2", "3"]
