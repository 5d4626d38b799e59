"""The contract for bad input: one line with the place, the exit code, and nothing changed.

The readers' own tests know each fault in detail. Here the faults of the matrix go through the verbs: a model with a
journal stays as it is, byte for byte, and no output appears, not even half of one.
"""

import gzip
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faults.ledger import begin_model
from support.command_line import Ended, Run, said
from thresher import Categorizer
from thresher.journal.journaled_model import JournaledModel

GOOD = b'{"text": "crude oil rose", "categories": ["energy"]}\n'
HEADER = b"text,categories\ncrude oil rose,energy\n"
MANY, NONE, ROW = [f"c{number}" for number in range(10_000)], pa.array([], pa.string()), ": row group 1, row"
BLANKS = b" " * 999_999 + b"\n"
ARTICLE = '<REUTERS NEWID="%d"><TOPICS><D>energy</D></TOPICS><TEXT><BODY>crude oil</BODY></TEXT></REUTERS>\n'


class Bad(NamedTuple):
    """A file that is refused: its name, its bytes, where the fault is, what is said, and if it can be skipped."""

    name: str
    content: bytes | Callable[[Path], None]
    place: str
    says: str
    can_skip: bool = False


def record(**fields: Any) -> bytes:
    return json.dumps({"text": "wheat harvest", "categories": ["grain"]} | fields).encode() + b"\n"


def table(**columns: Any) -> Callable[[Path], None]:
    return lambda path: pq.write_table(pa.table(columns), path)


def damaged(path: Path) -> None:
    pq.write_table(pa.table({"text": ["oil"] * 9, "categories": ["energy"] * 9}), path)
    path.write_bytes(path.read_bytes()[:-20])


BAD: dict[str, Bad] = {
    # any text
    "a byte that is not UTF-8": Bad("a.csv", HEADER + b"g\xfcnstig,energy\n", ":3", "byte 0xfc at column 2", True),
    "a mark of UTF-16": Bad("a.jsonl", GOOD.decode().encode("utf-16"), ":1", "UTF-16"),
    "a line of a megabyte": Bad("a.jsonl", GOOD + record(text="x" * 10**6), ":2", "longer than 1,000,000 bytes", True),
    "nothing": Bad("a.jsonl", b"", "", "no documents"),
    "blanks alone": Bad("a.csv", b"  \n\t\n\r\n", "", "no documents"),
    # delimited
    "a quote that never closes": Bad("a.csv", HEADER + b'"oil,energy\nmore,grain\n', ":3", "a quote opens here"),
    "too many columns": Bad("a.csv", HEADER + b"a,b,c\n", ":3", "3 columns, but the header has 2", True),
    "too few columns": Bad("a.tsv", HEADER.replace(b",", b"\t") + b"oil\n", ":3", "1 columns", True),
    "no header": Bad("a.csv", b"crude oil rose,energy\n", ":1", "no column holds the text"),
    "a column twice": Bad("a.csv", b"text,categories,text\na,b,c\n", ":1", "occurs twice in the header"),
    "a header alone": Bad("a.csv", b"text,categories\n", "", "no documents"),
    "semicolons": Bad("a.csv", b"text;categories\noil;energy\n", ":1", "--delimiter ';'"),
    "a category without a name": Bad("a.csv", HEADER + b"oil,a||b\n", ":3", "a category without a name", True),
    "a separator at the end": Bad("a.csv", HEADER + b"oil,a|\n", ":3", "a category without a name", True),
    # JSON lines
    "a line cut off": Bad("a.jsonl", GOOD + record() + GOOD[:30], ":3", "incomplete JSON (file truncated?)", True),
    "an array": Bad("a.jsonl", b"[" + GOOD.strip() + b"]\n", ":1", "an array, not an object"),
    "pretty-printed": Bad("a.jsonl", b'{\n"text": "oil"\n}\n', ":1", "spans several lines"),
    "two objects on a line": Bad("a.jsonl", GOOD.strip() * 2 + b"\n", ":1", "several objects on one line"),
    "NaN": Bad("a.jsonl", GOOD + b'{"text": "oil", "categories": [], "x": NaN}\n', ":2", "not JSON", True),
    "1e400": Bad("a.jsonl", GOOD + b'{"text": "oil", "categories": [], "x": 1e400}\n', ":2", "infinity", True),
    "a key twice": Bad("a.jsonl", GOOD + b'{"text": "a", "text": "b", "categories": []}\n', ":2", "occurs twice", True),
    "deep nesting": Bad(
        "a.jsonl", GOOD + b'{"text": "a", "categories": [], "x": ' + b"[" * 10**5 + b"]" * 10**5 + b"}\n", ":2",
        "not JSON", True,
    ),
    "5,000 digits": Bad("a.jsonl", GOOD + b'{"text": "a", "x": ' + b"9" * 5000 + b"}\n", ":2", "infinity", True),
    "half a surrogate pair": Bad("a.jsonl", GOOD + b'{"text": "\\ud800", "categories": []}\n', ":2", "surrogate", True),
    "text that is null": Bad("a.jsonl", GOOD + record(text=None), ":2", "field 'text' must hold text, not null", True),
    "text that is a list": Bad("a.jsonl", GOOD + record(text=["oil"]), ":2", "not a list", True),
    "an empty category": Bad("a.jsonl", GOOD + record(categories=[""]), ":2", "a category without a name", True),
    "10,000 categories": Bad("a.jsonl", GOOD + record(categories=MANY), ":2", "too many", True),
    "a name of 201 letters": Bad("a.jsonl", GOOD + record(categories=["x" * 201]), ":2", "category 'xxx", True),
    "a packed file cut off": Bad("a.jsonl.gz", gzip.compress(GOOD * 99)[:-9], "", "ends too early"),
    "garbage after a packed file": Bad("a.jsonl.gz", gzip.compress(GOOD * 99) + b"garbage", "", "compressed"),
    "a bomb": Bad("a.jsonl.gz", gzip.compress(BLANKS * 130), "", "more than 200 times its size"),
    # Parquet and SGML
    "a Parquet file cut off": Bad("a.parquet", damaged, "", "is damaged or not a Parquet file"),
    "a CSV file called Parquet": Bad("a.parquet", HEADER, "", "is damaged or not a Parquet file"),
    "bytes for text": Bad("a.parquet", table(text=[b"oil"], categories=["a"]), f"{ROW} 1", "not bytes", True),
    "no text at all": Bad("a.parquet", table(text=["oil", None], categories=["a", "a"]), f"{ROW} 2", "null", True),
    "lists in lists": Bad("a.parquet", table(text=["oil"], categories=[[["a"]]]), f"{ROW} 1", "list", True),
    "no rows": Bad("a.parquet", table(text=NONE, categories=NONE), "", "no documents"),
    "an article without its end": Bad("a.sgm", (ARTICLE % 1 + '<REUTERS NEWID="2"><TEXT>').encode(), ":2", "unclosed"),
    "a number twice": Bad("a.sgm", (ARTICLE % 1 * 2).encode(), ":2", "NEWID 1 occurs twice"),
}  # fmt: skip


class Kept(NamedTuple):
    """A model with a journal, and all of its bytes."""

    path: Path
    before: dict[str, bytes]

    def now(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(self.path.parent.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    path = begin_model(tmp_path_factory.mktemp("model"))
    with JournaledModel(path) as desk:
        desk.correct("1", "wheat harvest", accept=["grain"])
        desk.write_model()
    found = Kept(path, {})
    return Kept(path, found.now())


def written(bad: Bad, folder: Path) -> Path:
    path = folder / bad.name
    if isinstance(bad.content, bytes):
        path.write_bytes(bad.content)
    else:
        bad.content(path)
    return path


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_takes_one_line_and_changes_nothing(called: Run, kept: Kept, tmp_path: Path, case: str) -> None:
    bad, output = BAD[case], tmp_path / "output.jsonl"
    path = written(bad, tmp_path)
    for arguments in (
        ["learn", kept.path, path],
        ["learn", kept.path, path, "-o", output],
        ["train", path, "-o", output],
        ["evaluate", kept.path, path],
        ["predict", kept.path, path, "-o", output],
    ):
        line = said(called(*arguments), 65, f"{path}{bad.place}: ", bad.says)
        assert "Traceback" not in line
    assert kept.now() == kept.before
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("case", [case for case in BAD if BAD[case].can_skip])
def test_a_bad_record_can_be_skipped_and_is_counted(called: Run, kept: Kept, tmp_path: Path, case: str) -> None:
    path = written(BAD[case], tmp_path)
    ended = called("predict", kept.path, path, "--skip-bad", "--allow-empty", "--json")
    assert ended.code == 0
    skipped, count = ended.err.splitlines()
    assert skipped.startswith(f"skipped {path}{BAD[case].place}: ")
    assert f"{path}: 1 bad record" in count
    assert kept.now() == kept.before


@pytest.mark.parametrize("case", ["nothing", "blanks alone", "a header alone", "no rows"])
def test_input_without_documents_is_taken_if_that_is_allowed(
    called: Run, kept: Kept, tmp_path: Path, case: str
) -> None:
    path = written(BAD[case], tmp_path)
    assert called("predict", kept.path, path, "--allow-empty") == Ended(0, "", "")
    ended = called("learn", kept.path, path, "-o", tmp_path / "new", "--allow-empty")
    assert (ended.code, json.loads(ended.out)["documents"]) == (0, 0)
    said(called("train", path, "-o", tmp_path / "trained", "--allow-empty"), 65, "no texts to learn from")
    said(called("evaluate", kept.path, path, "--allow-empty"), 65, "no documents to evaluate")
    assert kept.now() == kept.before


def test_records_before_a_truncated_line_are_learned_on_request(called: Run, kept: Kept, tmp_path: Path) -> None:
    path = written(BAD["a line cut off"], tmp_path)
    ended = called("learn", kept.path, path, "-o", tmp_path / "new", "--skip-bad")
    assert (ended.code, json.loads(ended.out)["documents"]) == (0, 2)
    assert ended.err.endswith(f"{path}: 1 bad records skipped, 2 documents read\n")


def test_repeated_documents_are_reported(called: Run, kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(HEADER + b"crude oil rose,energy\ncrude oil rose,grain\noil,a|a\n")
    ended = called("predict", kept.path, path)
    assert ended.code == 0
    assert ended.err.splitlines() == [
        f"{path}:4: the same text as {path}:2, with other categories",
        f"{path}:5: a category occurs twice; it counts once",
        f"{path}: 2 documents repeat an earlier text",
    ]


TWINS: dict[str, Callable[[bytes], bytes]] = {
    "returns and newlines": lambda content: content.replace(b"\n", b"\r\n"),
    "returns alone": lambda content: content.replace(b"\n", b"\r"),
    "both": lambda content: content.replace(b"\n", b"\r\n", 2),
    "no last end": lambda content: content.rstrip(b"\n"),
    "a mark": lambda content: b"\xef\xbb\xbf" + content,
}


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl", (GOOD + record()) * 3), ("a.csv", HEADER + b"wheat harvest,grain\n" * 3)]
)
def test_line_endings_and_a_byte_order_mark_do_not_change_the_model(
    called: Run, tmp_path: Path, name: str, content: bytes, twin: str
) -> None:
    digests = set()
    for number, data in enumerate((content, TWINS[twin](content))):
        (tmp_path / name).write_bytes(data)
        output = tmp_path / f"{number}.thresher"
        assert called("train", tmp_path / name, "-o", output, "--preset", "paper", "--min-count", "1").code == 0
        digests.add(Categorizer.load(output).digest())
    assert len(digests) == 1


@pytest.mark.parametrize("text", ["", "   ", "😀👍🏽", "?!... --", "\u200f\u00ad", "\0\x1b"])
def test_a_document_without_words_has_no_categories_and_is_never_learned(
    called: Run, kept: Kept, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": text, "categories": ["energy"]}))
    told = json.loads(called("predict", kept.path, path).out)
    assert told == {"id": "1", "categories": [], "empty": True}
    said(called("learn", kept.path, path), 65, "a.jsonl:1: no features in document")
    assert kept.now() == kept.before


@pytest.mark.parametrize("text", ["12 345", "the of and", "unheard-of", "ｆｕｌｌ"])
def test_a_document_of_unknown_words_is_accepted(called: Run, kept: Kept, tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": text, "categories": ["energy"]}))
    assert called("predict", kept.path, path).code == 0
    assert called("learn", kept.path, path, "-o", tmp_path / "new").code == 0
    assert kept.now() == kept.before


def test_a_file_that_cannot_be_opened_is_reported(called: Run, kept: Kept, tmp_path: Path) -> None:
    loop, folder, pipe = tmp_path / "loop.jsonl", tmp_path / "empty", tmp_path / "pipe"
    loop.symlink_to(loop)
    folder.mkdir()
    said(called("learn", kept.path, loop), 66, "loop.jsonl: ")
    said(called("learn", kept.path, folder), 65, f"{folder}: ")
    said(called("learn", kept.path, kept.path.parent / "none.csv"), 66, "none.csv: No such file")
    said(called("predict", kept.path, "/proc/self/mem", "--format", "text"), 74, "/proc/self/mem: ")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(GOOD,))
    writer.start()
    assert json.loads(called("predict", kept.path, pipe).out)["id"] == "1"
    writer.join(10)
    assert kept.now() == kept.before
