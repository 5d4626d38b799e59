"""A sample of a few hundred training documents, against which new categories are trained."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows, hash_rows

MAX_SAMPLED = 400


class SampledDocument(NamedTuple):
    """One document: its features, their counts, its categories, and whether those are all of them."""

    indices: NDArray[np.int32]
    counts: NDArray[np.float32]
    categories: frozenset[int]
    complete: bool

    @property
    def text(self) -> bytes:
        """The features and their counts as bytes, which are equal for equal texts."""
        return self.indices.tobytes() + self.counts.tobytes()


class Reservoir:
    """A sample of the training documents: evenly spaced over those of `fit`, then reservoir sampling.

    Sampling depends only on the document's number, so the same documents give the same sample.
    """

    def __init__(self, documents: Iterable[SampledDocument] = (), seen: int = 0) -> None:
        self.documents = list(documents)
        self.seen = seen
        self._places: dict[bytes, list[int]] | None = None  # the positions of each text, computed on first use

    @classmethod
    def of(cls, rows: Rows, labels: list[list[int]]) -> "Reservoir":
        """Return a sample of the documents of a corpus."""
        n_rows = len(labels)
        chosen = np.unique(np.linspace(0, n_rows - 1, min(MAX_SAMPLED, n_rows)).astype(np.int64))
        return cls([copy_row(rows, int(i), labels[i]) for i in chosen], n_rows)

    def add(self, document: SampledDocument) -> SampledDocument:
        """Count one more document: keep it while there is room, then let it replace another, ever more rarely.

        If the text is in the sample already, merge the categories. Return the document with all its known categories.
        """
        self.seen += 1
        text, places = document.text, self._texts()
        if text in places:
            place = places[text][0]
            old = self.documents[place]
            joined = document.categories if document.complete else old.categories | document.categories
            self.documents[place] = document._replace(categories=joined, complete=old.complete or document.complete)
            return self.documents[place]
        if len(self.documents) < MAX_SAMPLED:
            self.documents.append(document)
            places[text] = [len(self.documents) - 1]
        elif (place := splitmix64(self.seen) % self.seen) < MAX_SAMPLED:
            former = self.documents[place].text
            places[former].remove(place)
            if not places[former]:
                del places[former]
            self.documents[place], places[text] = document, [place]
        return document

    def add_rows(self, rows: Rows, labels: list[list[int]]) -> None:
        """Count more documents with all their categories, like `add`; visit only those that may enter the sample."""
        before = self.seen
        for row in self._find_candidates(rows):
            self.seen = before + row
            self.add(copy_row(rows, row, labels[row]))
        self.seen = before + len(labels)

    def _find_candidates(self, rows: Rows) -> list[int]:
        """Return the rows that are sampled, or whose text may be in the sample already or occur twice."""
        n_rows = len(rows.indptr) - 1
        if len(self.documents) < MAX_SAMPLED:
            return list(range(n_rows))
        numbers = np.arange(self.seen + 1, self.seen + n_rows + 1, dtype=np.uint64)
        drawn = splitmix64_of_all(numbers) % numbers < MAX_SAMPLED
        known, hashes = np.empty(MAX_SAMPLED, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
        hash_rows(*self.rows(rows.n_features)[:3], known)
        hash_rows(*rows[:3], hashes)
        _, places, counts = np.unique(hashes, return_inverse=True, return_counts=True)
        candidates: list[int] = np.flatnonzero(drawn | np.isin(hashes, known) | (counts[places] > 1)).tolist()
        return candidates

    def _texts(self) -> dict[bytes, list[int]]:
        """Return the positions of each text among the documents."""
        if self._places is None:
            self._places = {}
            for place, document in enumerate(self.documents):
                self._places.setdefault(document.text, []).append(place)
        return self._places

    def rows(self, n_features: int) -> Rows:
        """Return the documents as rows."""
        return make_rows(self.documents, n_features)

    def select_features(self, chosen: NDArray[np.int64]) -> "Reservoir":
        """Return a copy with only the `chosen` features, renumbered in that order, which must be increasing."""
        documents = []
        for document in self.documents:
            inside = np.isin(document.indices, chosen)
            numbers = np.searchsorted(chosen, document.indices[inside]).astype(np.int32)
            documents.append(document._replace(indices=numbers, counts=document.counts[inside]))
        return Reservoir(documents, self.seen)

    def renumber_categories(self, numbers: dict[int, int]) -> "Reservoir":
        """Return a copy with categories renumbered; those without a new number are dropped."""
        return Reservoir(
            (
                document._replace(categories=frozenset(numbers[c] for c in document.categories if c in numbers))
                for document in self.documents
            ),
            self.seen,
        )


def splitmix64(number: int) -> int:
    """Return a pseudo-random number that depends only on the input (the finalizer of splitmix64).

    >>> splitmix64(1), splitmix64(2)
    (6238072747940578789, 15839785061582574730)
    """
    mask = 2**64 - 1
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & mask
    number = (number ^ number >> 27) * 0x94D049BB133111EB & mask
    return number ^ number >> 31


def splitmix64_of_all(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return `splitmix64` of each number.

    >>> splitmix64_of_all(np.array([1, 2], dtype=np.uint64)).tolist()
    [6238072747940578789, 15839785061582574730]
    """
    numbers = (numbers ^ numbers >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ numbers >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return np.asarray(numbers ^ numbers >> np.uint64(31))


def copy_row(rows: Rows, row: int, categories: Iterable[int], complete: bool = True) -> SampledDocument:
    """Return one row of counts with its categories."""
    own = slice(rows.indptr[row], rows.indptr[row + 1])
    return SampledDocument(rows.indices[own].copy(), rows.data[own].copy(), frozenset(categories), complete)


def make_rows(documents: list[SampledDocument], n_features: int) -> Rows:
    """Return documents as rows."""
    lengths = [len(document.indices) for document in documents]
    return Rows(
        np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64))),
        np.concatenate([np.zeros(0, dtype=np.int32), *(document.indices for document in documents)]),
        np.concatenate([np.zeros(0, dtype=np.float32), *(document.counts for document in documents)]),
        n_features,
    )
