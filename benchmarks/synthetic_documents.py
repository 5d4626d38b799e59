"""Draw documents from Reuters' statistics, in any number and with any number of categories; used by `scale.py`.

A document is drawn from one of Reuters' training documents: its length, most of its words from it and from another of
the same topic, the rest from all documents alike. Categories are Reuters' topics, by frequency, as long as there are
enough; beyond that each topic is split, and each part has additional words.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.datasets.reader import read_documents

OWN, TOPIC, MARKS = 0.6, 0.25, 0.05  # shares of the document's own words, of its topic's, and of its category's marks
N_MARKS = 8  # words of each category's own
BATCH = 10_000
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


class Drawing(NamedTuple):
    """Reuters as numbers: the words of all documents end to end, where each ends, and by topic which documents."""

    words: list[str]
    tokens: NDArray[np.int64]
    ends: NDArray[np.int64]
    topics: list[NDArray[np.int64]]


def reuters() -> Drawing:
    """Read Reuters' training documents that have topics."""
    documents = [document for document in read_documents("reuters21578:modapte90:train") if document.categories]
    numbers: dict[str, int] = {}
    tokens = [
        [numbers.setdefault(word, len(numbers)) for word in document.text.split()] or [0] for document in documents
    ]
    by_topic: dict[str, list[int]] = {}
    for i, document in enumerate(documents):
        by_topic.setdefault(document.categories[0], []).append(i)
    topics = [np.array(by_topic[name]) for name in sorted(by_topic, key=lambda name: -len(by_topic[name]))]
    ends = np.cumsum([len(row) for row in tokens])
    return Drawing(list(numbers), np.array([word for row in tokens for word in row]), ends, topics)


def draw(drawing: Drawing, n_documents: int, n_categories: int, seed: int = 0) -> Iterator[tuple[str, list[str]]]:
    """Yield texts with their categories; every category is drawn by Zipf's law, and about one in seven has two."""
    generator = np.random.default_rng(seed)
    shares = 1 / np.arange(1, n_categories + 1)
    starts = np.append(0, drawing.ends[:-1])
    lengths = drawing.ends - starts
    for first in range(0, n_documents, BATCH):
        count = min(BATCH, n_documents - first)
        chosen = generator.choice(n_categories, size=count, p=shares / shares.sum())
        others = np.where(generator.random(count) < 1 / 7, generator.choice(n_categories, size=count), chosen)
        for category, other in zip(chosen.tolist(), others.tolist(), strict=True):
            topic = drawing.topics[category % len(drawing.topics)]
            first, same = generator.choice(topic, size=2)
            size = int(lengths[first])
            part = generator.random(size)
            spread = generator.random(size)
            owned = starts[first] + (spread * lengths[first]).astype(np.int64)
            shared = starts[same] + (spread * lengths[same]).astype(np.int64)
            anywhere = (spread * len(drawing.tokens)).astype(np.int64)
            places = np.where(part < OWN, owned, np.where(part < OWN + TOPIC, shared, anywhere))
            words = [drawing.words[word] for word in drawing.tokens[places].tolist()]
            labels = sorted({category, other})
            split = [label for label in labels if label >= len(drawing.topics)]
            if split:
                marks = generator.integers(0, N_MARKS, size=max(int(MARKS * size), 2)).tolist()
                words += [make_word(split[i % len(split)] * N_MARKS + mark) for i, mark in enumerate(marks)]
            yield " ".join(words), [f"c{label}" for label in labels]


def make_word(number: int) -> str:
    """Return an invented word of four syllables for a number.

    >>> made_up_word(1), made_up_word(2)
    ('zonobeko', 'rezepipo')
    """
    scattered = (number * 2654435761 + 12345) % 2**32
    return "".join(_SYLLABLES[scattered // len(_SYLLABLES) ** k % len(_SYLLABLES)] for k in range(4))
