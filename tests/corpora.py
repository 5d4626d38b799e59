"""Corpora for tests: a made-up one, the same on every machine, and the first documents of Reuters where they are."""

import html
import os
import random
import re
import tarfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

WORDS = {
    "energy": "oil crude gas barrel pipeline refinery opec fuel drilling petroleum",
    "grain": "wheat corn harvest bushel maize barley crop silo farmer flour",
    "metals": "gold silver copper mine ore ounce smelter zinc bullion tin",
    "money": "bank interest dollar currency rate loan deposit yen treasury bond",
    "ships": "port vessel cargo tanker freight dock crew harbour strike shipping",
    "trade": "tariff export import surplus quota deficit customs embargo treaty sanctions",
}
COMMON = (
    "the of and to in a said for that on is by from it with was market year week new after would which last prices "
    "company month rose fell more than about ministry officials expected report government"
)


class Corpus(NamedTuple):
    """Texts, and the categories of each."""

    texts: list[str]
    categories: list[list[str]]

    def part(self, start: int, stop: int | None = None) -> "Corpus":
        return Corpus(self.texts[start:stop], self.categories[start:stop])


@cache
def made_up(n_texts: int = 300, seed: int = 0, single: bool = False) -> Corpus:
    """Draw short texts, each of one category or of up to three that overlap."""
    draw = random.Random(seed)
    texts, categories = [], []
    for _ in range(n_texts):
        chosen = draw.sample(sorted(WORDS), 1 if single else draw.choice((0, 1, 1, 1, 2, 2, 3)))
        words = draw.choices(COMMON.split(), k=12)
        for name in chosen:
            words += draw.choices(WORDS[name].split(), k=4)
        draw.shuffle(words)
        texts.append(" ".join(words))
        categories.append(sorted(chosen))
    return Corpus(texts, categories)


@cache
def reuters(n_texts: int) -> Corpus:
    """Return the first documents of Reuters-21578 that have a body; skip the test where the collection is not."""
    found = sorted(Path(os.environ.get("THRESHER_DATA", "/nowhere")).glob("reuters21578.tar.*"))
    if not found:
        pytest.skip("needs Reuters-21578: set THRESHER_DATA to the folder of reuters21578.tar.xz")
    texts: list[str] = []
    categories: list[list[str]] = []
    with tarfile.open(found[0]) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".sgm") else None
            for document in file.read().decode("latin-1").split("</REUTERS>") if file else ():
                body = re.search("<BODY>(.*)</BODY>", document, re.DOTALL)
                topics = re.search("<TOPICS>(.*)</TOPICS>", document)
                if body and topics:
                    texts.append(html.unescape(body[1]))
                    categories.append(re.findall("<D>(.*?)</D>", topics[1]))
            if len(texts) >= n_texts:
                break
    return Corpus(texts[:n_texts], categories[:n_texts])
