"""Pictures of the workbench for the docs: the demo, a few corrections, every view. Needs Chromium and Playwright.

.venv/bin/python tools/screenshots.py [docs/workbench]
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from PIL import Image
from playwright.sync_api import sync_playwright

from thresher.datasets.reader import read_documents

TOKEN = "a-token-for-pictures"
TEXT = "The street lamp on the corner of Mill Lane has gone dark, and a car drove straight into the pothole under it."
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


def teach(url: str) -> None:
    """Correct two thirds of the documents to review, as three people would."""
    people = ("ada", "grace", "mary")
    for i, document in enumerate(list(read_documents("sample:test"))[::2][:60]):
        correction = {"id": f"first-{i}", "document": document.id, "categories": list(document.categories)}
        ask(url, "/v1/corrections", correction | {"user": people[i % 3]})
    document = list(read_documents("sample:test"))[100]
    for name, said in (("ada", "accept"), ("grace", "reject")):
        ask(url, "/v1/corrections", {"id": name, "document": document.id, said: ["noise"], "user": name})


def ask(url: str, path: str, body: Any) -> None:
    """Send a body."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    with urlopen(Request(url + path, json.dumps(body).encode(), headers)) as answer:
        answer.read()


def take(page: Any, url: str, folder: Path, name: str) -> None:
    """Go through the views, and keep a picture of each."""
    page.goto(f"{url}/#token={TOKEN}")
    page.goto(f"{url}/#categorize")
    page.locator("#text").fill(TEXT)
    page.locator(".rank").first.wait_for()
    page.locator("#lit mark").first.wait_for()
    shot(page, folder, f"categorize{name}")
    page.keyboard.press("Escape")
    page.locator(".rank[data-category=roads]").click()
    page.keyboard.press("a")
    page.locator("#changed").get_by_text("promoted").first.wait_for()
    page.wait_for_timeout(600)
    shot(page, folder, f"corrected{name}")
    for view, waits in (
        ("review", ".toggle"),
        ("categories", "tr[data-category]"),
        ("category/lighting", "#threshold-handle"),
        ("history", "#history > li"),
    ):
        page.goto(f"{url}/#{view}")
        page.locator(waits).first.wait_for()
        page.wait_for_timeout(400)
        shot(page, folder, f"{view.partition('/')[0]}{name}")


def shot(page: Any, folder: Path, name: str) -> None:
    """Keep a picture of what is seen, in as few colours as it has to the eye."""
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    picture.save(folder / f"{name}.png", optimize=True)


def main() -> None:
    """Serve the demo, and take the pictures: wide and light, wide and dark, and as a phone shows it."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/workbench")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data:
        environment = dict(os.environ) | {"XDG_DATA_HOME": data}
        command = [sys.executable, "-m", "thresher", "serve", "--demo", "--port", "0", "--token", TOKEN, "--json"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process, sync_playwright() as driver:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            teach(url)
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for name, size, scheme in (("", WIDE, "light"), ("-dark", WIDE, "dark"), ("-phone", PHONE, "light")):
                context: Any = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
                take(context.new_page(), url, folder, name)
                context.close()
            browser.close()
            process.terminate()


if __name__ == "__main__":
    main()
