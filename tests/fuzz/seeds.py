"""What fuzzers begin with: good and crafted inputs of each target."""

import gzip
import io
import json
import lzma
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from thresher.datasets.compression import import_zstd

TABLE = (
    'id,title,text,labels\n1,Oil,It rose,crude|gas\n2,,\'=1+1,"a, b"\n',
    '"text","label"\n"two\nlines","a ""b"""\n=1,\n',
    "text,label 1,label_2\nwheat,a,b\n",
    "text;label\na;b\n",
    "sep=;\r\ntext;label\r\na;b\r\n",
    'text,label\n"open,a\n',
    "text\n\n \n'\n",
)
JSONL = (
    '{"text": "oil rose", "labels": ["crude", "a"], "id": 7}\n{"text": "", "labels": "x"}\n',
    '{"title": "Oil", "body": "rose\\u2028", "tags": null, "price": 1.5}\r\n{"title": "Gas"}',
    '{"text": "a", "text": "b"}\n{"text": "\\ud800"}\n{"text": [1e400, NaN]}\n',
    '[{"text": "a"},\n{"text": "b"}]',
    '{"text": {"a": [[[]]]}, "labels": [{"category": "x"}]}',
    '{"text": "cut of',
)
SGML = (
    '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1"><DATE>1-JAN</DATE>'
    "<TOPICS><D>grain</D><D>wheat</D></TOPICS><PLACES></PLACES><TEXT>&#2;<TITLE>WHEAT &lt;UP></TITLE>"
    "<DATELINE>ROME</DATELINE><BODY>It rose.\n Reuter\n&#3;</BODY></TEXT></REUTERS>",
    '<reuters newid=2><text type="BRIEF">A&amp;B<author>X</author></text></reuters>',
    "<!DOCTYPE a [<!ENTITY x 'y'><!ENTITY lol '&x;&x;'>]><REUTERS NEWID='3'><TITLE>&lol;</TITLE></REUTERS>",
    '<REUTERS NEWID="1"></REUTERS><REUTERS NEWID="1"></REUTERS>',
    '<REUTERS NEWID="4"><TOPICS><D>a<D>b</TOPICS><BODY>x</REUTERS>',
)
LINES = (
    b"\x00\x00__label__a __label__b oil rose\nno label",
    b"\x00\x08text,label\na,b\n",
    b"\x04\x00__label__a x\n",
    b"\x04\x00a __label__ b\n",
    b"\x05\x00" + b"7\ta b\toil rose\na\ttext\n",
    b"\x06\x01gr\xf6\xdfer\r\xfc\r",
    b"\x00\x02" + '{"text": "größer"}\n'.encode("utf-16"),
    b'\x02\x09a;text\nb;"c"\n',
    b"\x01\x0a" + b'{"a": "x", "b": "y", "c": ["z"], "e": 1}\n',
    b"\x06\x0b" + b"x" * 21 + b"\nshort\n",
    b"\xef\xbb\xbftext\n\xff\xfe",
)
BODIES: tuple[dict[str, Any], ...] = (
    {"text": "wheat rose", "top": 3, "details": True, "explain": "grain"},
    {"documents": ["wheat", {"id": "7", "text": {"title": "oil", "body": "gas"}}], "all": True},
    {"id": "x", "text": "wheat", "accept": ["grain"], "reject": ["metals"], "user": "ada"},
    {"id": "y", "document": "1", "categories": ["grain"], "create_category": True},
    {"id": "z", "change": "new", "name": "bees", "words": ["bee", "hive"]},
    {"change": "merge", "names": ["grain", "metals"], "into": "both"},
    {"change": "rename", "name": "grain", "into": "cereals"},
    {"change": "threshold", "name": "grain", "threshold": 0.5},
    {"change": "retire", "name": "grain"},
    {"state": "unsure"},
    {"new_journal": False},
)
ODD_BODIES = (
    b"", b"null", b"[]", b'"x"', b"NaN", b'{"id": 1e400}', b'{"id": 9223372036854775808}', b'{"id": "\\ud800"}',
    b'{"text": "a", "text": "b"}', b"\xef\xbb\xbf{}", b"[" * 300, b'{"a": -0.0, "b": 1E+2, "c": "\\u0000"}',
)  # fmt: skip
QUERIES = (
    b"\x08order=random&category=grain&q=wheat&state=open&limit=2&offset=0", b"\x09limit=2&newest=true&before=9",
    b"\x0agrain", b"\x0bc1", b"\x0c1", b"\x0a%ff%00..%2f", b"\x09after=-1&limit=%d9%a3",
)  # fmt: skip
RECORDS = (
    ["correction", '{"accept": ["grain"], "reject": ["metals"]}', '"wheat"', '[["wheat", 1]]'],
    ["correction", '{"categories": ["new"]}', '{"title": "oil", "body": "oil gas"}', '[["oil", 2], ["gas", 1]]'],
    ["categories", '{"change": "new", "names": ["bees"]}', "", ""],
    ["categories", '{"change": "rename", "names": ["bees"], "into": "wasps"}', "", ""],
    ["categories", '{"change": "merge", "names": ["wasps", "ships"], "into": "ships"}', "", ""],
    ["categories", '{"change": "threshold", "names": ["ships"], "threshold": 0.25}', "", ""],
    ["categories", '{"change": "retire", "names": ["ships"]}', "", ""],
    ["correction", '{"categories": []}', "", '[["oil", 1]]', "", "9", '{"mistakes": ["grain"], "predicted": []}'],
    ["undo", '{"seqs": [8]}', "", ""],
    ["skip", '{"seqs": [8]}', "", ""],
)
CORRECTIONS = (
    '{"text": "wheat rose", "accept": ["grain"], "reject": "metals"}\n{"text": "oil", "categories": ["new", "grain"]}',
    '{"title": "Oil", "body": "gas", "labels": []}\n{"text": "x", "accept": "a|b"}',
    '{"text": "...", "accept": ["grain"]}',
    '{"text": "wheat", "accept": [1]}\n{"text": "wheat", "reject": ["unheard of"]}',
)
TEXTS = (
    "Oil prices rose 3.5% in März. 漢字かな! and\nmore lines",
    "a" * 70,
    "q\u0316\u0301 \u0344",
    "👩\u200d👩\u200d👧 x\u00ady",
    "ΌΣΟΣ ﬁ ＡＢ １２ ไทย မြန်",
    "\u0301" * 40,
    "a\u0378b \U000e0100",
    "\ud800a",
)


@cache
def seeds(name: str) -> list[bytes]:
    """Return the inputs that a target begins with."""
    if name in ("csv", "tsv"):
        return [table.replace(",", "\t" if name == "tsv" else ",").encode() for table in TABLE]
    if name in _MAKERS:
        return _MAKERS[name]()
    written = {"jsonl": JSONL, "sgml": SGML, "corrections": CORRECTIONS, "words": TEXTS}[name]
    return [text.encode("utf-8", "surrogatepass") for text in written]


def _packed() -> list[bytes]:
    texts = [b"", b"wheat\noil\n" * 20, bytes(3000)]
    whole = [pack(text) for text in texts for pack in (gzip.compress, lzma.compress, import_zstd().compress)]
    return [*whole, whole[3][:-3], whole[4][:40], whole[3] + whole[3], whole[5] + b"garbage", b"\x1f\x8b"]


def _parquet() -> list[bytes]:
    import pyarrow
    from pyarrow import parquet

    tables: tuple[dict[str, Any], ...] = (
        {"text": ["oil", "größer"], "labels": [["a"], ["b", "c"]], "id": [1, 2]},
        {"text": [b"oil"], "label": pyarrow.array(["a"]).dictionary_encode()},
    )
    files = [io.BytesIO() for _ in tables]
    for file, table in zip(files, tables, strict=True):
        parquet.write_table(pyarrow.table(table), file, store_schema=False)
    return [file.getvalue() for file in files] + [b"PAR1", files[0].getvalue()[:-9]]


def _models() -> list[bytes]:
    from fuzz.models import contents_of, packed
    from fuzz.mutants import mutant, originals

    settings, _, arrays = contents_of(originals()[2]) or ({}, {}, {})
    senseless = packed(settings, arrays | {"weights.positive": np.full_like(arrays["weights.positive"], np.nan)})
    return [*originals(), senseless or b"", *map(mutant, range(20)), b"", bytes(10), b"\x80\x04"]


def _journals() -> list[bytes]:
    """Return the files of journals, with pages that are as small as SQLite has them."""
    from fuzz.journals import empty_journal, folder_of, write
    from thresher.journal.database import FILE

    found = []
    for count in (0, 3, len(RECORDS)):
        with folder_of(empty_journal()) as model, tempfile.TemporaryDirectory() as folder:
            connection = sqlite3.connect(model.with_name("m.journal") / FILE)
            for seq, record in enumerate(RECORDS[:count], 1):
                write(connection, seq, list(record))
            connection.commit()
            connection.execute("PRAGMA journal_mode=delete")
            connection.execute("PRAGMA page_size=512")
            connection.execute("VACUUM INTO ?", (f"{folder}/small",))
            connection.close()
            found.append((Path(folder) / "small").read_bytes())
    whole = found[-1]
    damages = (
        (b'"accept"', b'"accepu"'),
        (b"CREATE TABLE records (", b"CREATE TABLE records \x1b"),
        (b"TEXT", b"T\xacXT"),
    )
    return [*found, whole[:-600], whole[:100], *(whole.replace(old, new) for old, new in damages)]


def _records() -> list[bytes]:
    rows = ["\x1f".join(record) for record in RECORDS]
    return ["\x1e".join(rows).encode(), *(row.encode() for row in rows), b"", b"correction\x1f{"]


def _requests() -> list[bytes]:
    first = (0, 0, 1, 1, 3, 3, 3, 3, 3, 4, 5)
    sent = [bytes([route]) + json.dumps(body).encode() for route, body in zip(first, BODIES, strict=True)]
    lines = b'{"id": "a", "text": "wheat"}\n"oil"\n'
    odd = [bytes([number % 6]) + body for number, body in enumerate(ODD_BODIES)]
    return [*sent, b'\x02{"documents": ["oil"]}', b"\x06" + lines, b"\x07" + lines, *odd, *QUERIES]


_MAKERS = {
    "lines": lambda: list(LINES),
    "packed": _packed,
    "parquet": _parquet,
    "model": _models,
    "journal": _journals,
    "records": _records,
    "body": lambda: [*(json.dumps(body).encode() for body in BODIES), *ODD_BODIES],
    "service": _requests,
}
