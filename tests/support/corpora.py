"""Corpora for tests: a made-up one, the same on every machine, and the first documents of Reuters where they are."""

import random
from functools import cache
from typing import NamedTuple

import pytest

from thresher.datasets.corpora.reuters21578 import find_collection, load

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
    if find_collection() is None:
        pytest.skip("needs Reuters-21578: set THRESHER_DATA to the folder of reuters21578.tar.xz")
    found = [document for document in load() if document.fields and "body" in document.fields][:n_texts]
    return Corpus([(d.fields or {})["body"] for d in found], [list(d.categories) for d in found])
