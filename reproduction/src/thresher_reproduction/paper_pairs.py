"""The paper's pairs of training and test sets for comparing learners (section 2.3, Table 1).

The paper describes two disjoint pairs, each of 2,000 training and 1,000 test documents of Reuters, and a sample of ten
topical categories. It does not say which documents and categories it used, or whether the test documents were later
ones.
"""

import random
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from thresher.datasets.corpora.reuters21578 import select
from thresher.datasets.document import Document
from thresher.errors import ParameterError

CHOICES = ("largest", "random")
# Minimum numbers of documents in each pair for a category drawn at random.
# With fewer positives a break-even point says little.
MIN_TRAINING, MIN_TEST = 10, 5


class Pair(NamedTuple):
    """A training set `train`, its test set `test`, and the `categories` to learn."""

    train: list[Document]
    test: list[Document]
    categories: list[str]


def draw_pairs(
    documents: list[Document],
    seed: int = 0,
    choice: str = "largest",
    n_pairs: int = 2,
    n_train: int = 2000,
    n_test: int = 1000,
    n_categories: int = 10,
) -> list[Pair]:
    """Draw pairs of a training and a test set that share no document.

    Training documents are drawn at random, without replacement, from ModApte's training documents, and test documents
    from its test documents (TOPICS="YES" in both). Every test document is therefore later than every training document,
    as in the splits of the paper's final figures. Within a set, documents keep the order of the collection. They keep
    only the chosen categories; a document with none of them is a negative example for all.

    Parameters
    ----------
    documents : list of Document
        All of Reuters-21578, or all of ModApte: `reuters21578.load()`.
    seed : int
        Seed of the draws. The same seed draws the same documents for every `choice`.
    choice : str
        How to choose the categories, which are the same for all pairs. "largest": the categories with the most
        documents in ModApte, training and test together, largest first. "random": categories drawn with the seed among
        those with at least ten training and five test documents in every pair, sorted by name.
    n_pairs, n_train, n_test, n_categories : int
        Number of each; the defaults are the paper's.
    """
    if choice not in CHOICES:
        raise ParameterError.of("choice", choice, allowed=", ".join(CHOICES))
    draw = random.Random(seed)
    pools = select(documents, "modapte:train"), select(documents, "modapte:test")
    trains = _draw_sets(pools[0], n_pairs, n_train, draw, "n_train")
    tests = _draw_sets(pools[1], n_pairs, n_test, draw, "n_test")
    if choice == "largest":
        categories = _choose_largest([*pools[0], *pools[1]], n_categories)
    else:
        categories = _choose_at_random(trains, tests, n_categories, draw)
    return [
        Pair(_restrict(train, categories), _restrict(test, categories), categories)
        for train, test in zip(trains, tests, strict=True)
    ]


def _draw_sets(pool: list[Document], n_sets: int, size: int, draw: random.Random, name: str) -> list[list[Document]]:
    """Draw disjoint sets of documents, each in the order of the pool."""
    if n_sets < 1 or size < 1 or n_sets * size > len(pool):
        allowed = f"from 1, and n_pairs times it up to {len(pool):,}"
        raise ParameterError.of(name, size, f"with n_pairs={n_sets!r}", allowed=allowed)
    places = draw.sample(range(len(pool)), n_sets * size)
    return [[pool[place] for place in sorted(places[start : start + size])] for start in range(0, len(places), size)]


def _choose_largest(pool: Iterable[Document], number: int) -> list[str]:
    counts = _count_categories(pool)
    return _check_enough(sorted(counts, key=lambda category: (-counts[category], category)), number)[:number]


def _choose_at_random(
    trains: list[list[Document]], tests: list[list[Document]], number: int, draw: random.Random
) -> list[str]:
    """Draw categories among those with enough documents in every set."""
    sets = [(_count_categories(train), MIN_TRAINING) for train in trains] + [
        (_count_categories(test), MIN_TEST) for test in tests
    ]
    candidates = [name for name in sorted(sets[0][0]) if all(counts[name] >= minimum for counts, minimum in sets)]
    return sorted(draw.sample(_check_enough(candidates, number), number))


def _check_enough(candidates: list[str], number: int) -> list[str]:
    if not 1 <= number <= len(candidates):
        raise ParameterError.of("n_categories", number, allowed=f"from 1 to {len(candidates)}")
    return candidates


def _count_categories(documents: Iterable[Document]) -> Counter[str]:
    return Counter(category for document in documents for category in document.categories)


def _restrict(documents: list[Document], categories: list[str]) -> list[Document]:
    """Return the documents with only the chosen categories."""
    chosen = set(categories)
    return [
        document._replace(categories=tuple(category for category in document.categories if category in chosen))
        for document in documents
    ]
