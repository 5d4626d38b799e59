"""Find documents with nearly the same features without comparing every pair.

Two documents are alike if the Jaccard index of their feature sets reaches a level. Such a pair must share one of the
rarest features of each, so only documents that share one are compared. This is prefix filtering (Chaudhuri, Ganti and
Kaushik, ICDE 2006): it is exact, without sampling or hashing.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.rows.validation import select_rows

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MIN_ALIKE = 0.8
# Each document that shares a rare feature is compared with at most this number, next in size. Templates stay linear.
MAX_NEIGHBORS = 50
_COMPARED_AT_ONCE = 2**22  # features
_ROUNDING = 1e-9  # 0.8 * 15 is slightly more than 12


class Links(NamedTuple):
    """Pairs of documents by number, the lower one first, and their similarity: 1 if all features are shared."""

    first: Ints
    second: Ints
    alike: Floats


class Group(NamedTuple):
    """Documents linked to each other, and the similarity of the least similar linked pair."""

    documents: list[int]
    alike: float


def find_links(rows: Rows, least: float = MIN_ALIKE) -> Links:
    """Return the pairs of rows that share most of their features; counts are ignored, and empty rows are in no pair.

    Rows with the same features are linked to the first of them, and only that one is compared with others. It is fast
    if features are numbered by descending frequency, as in `TextFeatures.fit`.

    >>> rows = Rows(np.array([0, 5, 10, 12]), np.array([0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 5]), np.ones(12), 6)
    >>> find_links(rows)
    Links(first=array([0]), second=array([1]), alike=array([1.]))
    """
    originals = _find_originals(rows)
    copies = np.flatnonzero(originals != np.arange(len(originals)))
    copies = copies[originals[copies] >= 0]
    different = np.flatnonzero(originals == np.arange(len(originals)))
    first, second, alike = _find_alike(select_rows(rows, different), least)
    return Links(
        np.concatenate((originals[copies], different[first])),
        np.concatenate((copies, different[second])),
        np.concatenate((np.ones(len(copies)), alike)),
    )


def _find_originals(rows: Rows) -> Ints:
    """Return for each row the first row with the same features, or -1 if the row is empty."""
    first: dict[bytes, int] = {b"": -1}
    bounds = rows.indptr.tolist()
    numbers = (
        first.setdefault(rows.indices[start:stop].tobytes(), i) for i, (start, stop) in enumerate(pairwise(bounds))
    )
    return np.fromiter(numbers, dtype=np.int64, count=len(bounds) - 1)


def _find_alike(rows: Rows, least: float) -> Links:
    """Return the pairs among different rows that are alike enough."""
    pairs = [_compare_pairs(rows, part, least) for part in _parts(rows, _find_candidates(rows, least))]
    first, second, alike = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
    return Links(first, second, alike)


def _find_candidates(rows: Rows, least: float) -> NDArray[np.int64]:
    """Return the pairs of rows, (pairs, 2), that share one of their rarest features and are of similar size."""
    sizes = np.diff(rows.indptr)
    features, documents = _select_rarest(rows, least)
    order = np.lexsort((documents, sizes[documents], features))
    features, documents = features[order], documents[order]
    candidates = [np.zeros(0, dtype=np.int64)]
    for distance in range(1, MAX_NEIGHBORS + 1):
        places = np.flatnonzero(features[distance:] == features[:-distance])
        if len(places) == 0:
            break
        smaller, larger = documents[places], documents[places + distance]
        similar = sizes[smaller] >= least * sizes[larger] - _ROUNDING
        smaller, larger = smaller[similar], larger[similar]
        candidates.append(np.unique(np.minimum(smaller, larger) << 32 | np.maximum(smaller, larger)))
    pairs = np.unique(np.concatenate(candidates))
    return np.column_stack((pairs >> 32, pairs & 0xFFFFFFFF))


def _select_rarest(rows: Rows, least: float) -> tuple[Ints, Ints]:
    """Return the rarest features of each row, enough that alike rows must share one, and the row of each."""
    sizes = np.diff(rows.indptr)
    counts = sizes - np.ceil(least * sizes - _ROUNDING).astype(np.int64) + 1
    owners = np.repeat(np.arange(len(sizes)), counts)
    ends = np.cumsum(counts)
    places = np.arange(len(owners)) - np.repeat(ends, counts) + np.repeat(rows.indptr[1:], counts)
    return rows.indices[places].astype(np.int64), owners


def _parts(rows: Rows, pairs: Ints) -> Iterator[Ints]:
    """Yield the pairs in parts of bounded size, at least one part."""
    work = np.cumsum(np.diff(rows.indptr)[pairs].sum(axis=1))
    steps = np.arange(_COMPARED_AT_ONCE, work[-1] if len(work) else 0, _COMPARED_AT_ONCE)
    yield from np.split(pairs, np.searchsorted(work, steps))


def _compare_pairs(rows: Rows, pairs: Ints, least: float) -> Links:
    """Return the pairs that are alike enough."""
    one, other = select_rows(rows, pairs[:, 0]), select_rows(rows, pairs[:, 1])
    keys = np.concatenate([_owners(part) << 32 | part.indices for part in (one, other)])
    keys.sort()
    shared = np.bincount(keys[1:][keys[1:] == keys[:-1]] >> 32, minlength=len(pairs))
    alike = shared / np.maximum(np.diff(one.indptr) + np.diff(other.indptr) - shared, 1)
    kept = alike >= least
    return Links(pairs[kept, 0], pairs[kept, 1], alike[kept])


def _owners(rows: Rows) -> Ints:
    return np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))


def group_links(links: Links) -> list[Group]:
    """Return the groups of documents that links connect, directly or through others; sorted by first document.

    >>> group_links(Links(np.array([0, 4, 1]), np.array([4, 5, 2]), np.array([1.0, 0.9, 0.8])))
    [Group(documents=[0, 4, 5], alike=0.9), Group(documents=[1, 2], alike=0.8)]
    """
    leader: dict[int, int] = {}
    pairs = list(zip(links.first.tolist(), links.second.tolist(), strict=True))
    for pair in pairs:
        first, second = sorted(_find_leader(leader, document) for document in pair)
        leader[second] = first
    least: dict[int, float] = {}
    for (document, _), alike in zip(pairs, links.alike.tolist(), strict=True):
        least[_find_leader(leader, document)] = min(alike, least.get(_find_leader(leader, document), 1.0))
    members: dict[int, list[int]] = {}
    for document in sorted(leader):
        members.setdefault(_find_leader(leader, document), []).append(document)
    return [Group(documents, least[first]) for first, documents in members.items()]


def _find_leader(leader: dict[int, int], document: int) -> int:
    """Return the first document of a document's group, and shorten the path to it for later calls."""
    while leader.setdefault(document, document) != document:
        leader[document] = document = leader[leader[document]]
    return document
