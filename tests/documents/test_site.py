"""The documentation as a site: it builds without a warning, links are valid, and it loads nothing from other hosts."""

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from playwright.sync_api import sync_playwright

from support.paths import ROOT

ASKING = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "audio": "src",
    "video": "src",
    "link": "href",
}


class Page(HTMLParser):
    """The links of a page, its anchors, and the addresses that a browser would load."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.asked: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors.add(found.get("id") or "")
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        if tag in ASKING and found.get(ASKING[tag]) and found.get("rel") != "canonical":
            self.asked.append(found[ASKING[tag]] or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built by the first process that needs it; any output of the build is an error."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    said = folder.with_suffix(".txt")
    try:
        folder.mkdir()
    except FileExistsError:  # another process builds it
        while not said.exists():
            time.sleep(0.1)
    else:
        said.with_suffix(".new").write_text(built(folder))
        said.with_suffix(".new").rename(said)
    assert said.read_text() == ""
    return folder


def built(folder: Path) -> str:
    """Build the site, and return what went wrong."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environment = dict(os.environ) | {"NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200)
    return f"{ended.stdout}{ended.stderr}{f'exit {ended.returncode}' if ended.returncode else ''}"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Its pages, read."""
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def in_nav(nav: list[Any]) -> Iterator[str]:
    """Yield the pages that a navigation names."""
    for entry in nav:
        target = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(target, list):
            yield from in_nav(target)
        else:
            yield target


def test_every_page_is_in_the_nav_once() -> None:
    named = list(in_nav(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    written = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert written <= set(named)
    assert len(named) == len(set(named))


def test_links_and_anchors_hold(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path.relative_to(site)}: {link}"
            if parts.fragment and target.suffix == ".html":
                assert unquote(parts.fragment) in pages[target].anchors, f"{path.relative_to(site)}: {link}"


def test_no_page_loads_anything_from_another_host(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        assert [asked for asked in page.asked if urlsplit(asked).netloc] == [], path.relative_to(site)
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", style.read_text()), style.name


def test_equations_are_mathml(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert "arithmatex" not in path.read_text(), path.relative_to(site)
    assert (site / "learners.html").read_text().count("<math") > 20


def test_the_reference_shows_inherited_parameters(site: Path) -> None:
    page = (site / "reference" / "learners.html").read_text()
    assert page.count("The promotion: a mistake on a positive document multiplies the weights by it.") == 2
    assert "Its parameters are those of" not in page
    assert not re.search(r"<span[^>]*>setting</span>", page), "a signature shows a declaration, not a default"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that keeps no log."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def test_a_browser_shows_the_site_without_other_hosts(site: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium")
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as driver:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_port}/"
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for name in ("index", "learners", "reference/categorizer"):
            page.goto(f"{here}{name}.html")
        page.goto(f"{here}learners.html")
        box = page.locator("math[display=block]").first.bounding_box()
        assert box is not None
        assert box["height"] > 20
        page.locator(".md-search__input").press_sequentially("break-even")
        page.locator(".md-search-result__item").first.wait_for()
        browser.close()
        server.shutdown()
    assert asked
    assert [url for url in asked if not url.startswith((here, "blob:", "data:"))] == []
