"""A few hundred documents that a model keeps, so that a new category learns what it is not. `Categorizer` holds one."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.rows import Rows

KEPT = 400


class Kept(NamedTuple):
    """One document: its features, their counts, the categories that it has, and whether those are all of them."""

    indices: NDArray[np.int32]
    counts: NDArray[np.float32]
    categories: frozenset[int]
    complete: bool

    @property
    def text(self) -> bytes:
        """The features and their counts: the same for the same text."""
        return self.indices.tobytes() + self.counts.tobytes()


class Reservoir:
    """A sample of the documents learned: evenly spread over those of `fit`, then each later one with a fair chance.

    The choice is made by arithmetic on the document's number, so that the same documents give the same sample.
    """

    def __init__(self, documents: Iterable[Kept] = (), seen: int = 0) -> None:
        self.documents = list(documents)
        self.seen = seen
        self._places: dict[bytes, list[int]] | None = None  # of each text, once they are asked for

    @classmethod
    def of(cls, rows: Rows, labels: list[list[int]]) -> "Reservoir":
        """Return a sample of the documents of a corpus."""
        n_rows = len(labels)
        chosen = np.unique(np.linspace(0, n_rows - 1, min(KEPT, n_rows)).astype(np.int64))
        return cls([kept(rows, int(i), labels[i]) for i in chosen], n_rows)

    def add(self, document: Kept) -> Kept:
        """See one more document: keep it while there is room, then in place of another, ever more rarely.

        What is known of a text that is kept already is put together. Returns the document with all that is known of it.
        """
        self.seen += 1
        text, places = document.text, self._texts()
        if text in places:
            place = places[text][0]
            old = self.documents[place]
            joined = document.categories if document.complete else old.categories | document.categories
            self.documents[place] = document._replace(categories=joined, complete=old.complete or document.complete)
            return self.documents[place]
        if len(self.documents) < KEPT:
            self.documents.append(document)
            places[text] = [len(self.documents) - 1]
        elif (place := scattered(self.seen) % self.seen) < KEPT:
            former = self.documents[place].text
            places[former].remove(place)
            if not places[former]:
                del places[former]
            self.documents[place], places[text] = document, [place]
        return document

    def add_row(self, rows: Rows, row: int, categories: Iterable[int]) -> None:
        """See one more document with all its categories, as `add` does; only one that is kept is copied."""
        if len(self.documents) == KEPT and scattered(self.seen + 1) % (self.seen + 1) >= KEPT:
            own = slice(rows.indptr[row], rows.indptr[row + 1])
            if rows.indices[own].tobytes() + rows.data[own].tobytes() not in self._texts():
                self.seen += 1
                return
        self.add(kept(rows, row, categories))

    def _texts(self) -> dict[bytes, list[int]]:
        """Return the places of each text among the documents."""
        if self._places is None:
            self._places = {}
            for place, document in enumerate(self.documents):
                self._places.setdefault(document.text, []).append(place)
        return self._places

    def rows(self, n_features: int) -> Rows:
        """Return the documents as rows."""
        return as_rows(self.documents, n_features)

    def with_features(self, chosen: NDArray[np.int64]) -> "Reservoir":
        """Return the reservoir with only the chosen features, renumbered in that order, which must increase."""
        documents = []
        for document in self.documents:
            inside = np.isin(document.indices, chosen)
            numbers = np.searchsorted(chosen, document.indices[inside]).astype(np.int32)
            documents.append(document._replace(indices=numbers, counts=document.counts[inside]))
        return Reservoir(documents, self.seen)

    def renumbered(self, numbers: dict[int, int]) -> "Reservoir":
        """Return the reservoir with categories renumbered; those without a number are forgotten."""
        return Reservoir(
            (
                document._replace(categories=frozenset(numbers[c] for c in document.categories if c in numbers))
                for document in self.documents
            ),
            self.seen,
        )


def scattered(number: int) -> int:
    """Return a number that looks drawn at random, always the same for the same one (the finisher of splitmix64).

    >>> scattered(1), scattered(2)
    (6238072747940578789, 15839785061582574730)
    """
    mask = 2**64 - 1
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & mask
    number = (number ^ number >> 27) * 0x94D049BB133111EB & mask
    return number ^ number >> 31


def kept(rows: Rows, row: int, categories: Iterable[int], complete: bool = True) -> Kept:
    """Return one row of counts with its categories."""
    own = slice(rows.indptr[row], rows.indptr[row + 1])
    return Kept(rows.indices[own].copy(), rows.data[own].copy(), frozenset(categories), complete)


def as_rows(documents: list[Kept], n_features: int) -> Rows:
    """Return documents as rows."""
    lengths = [len(document.indices) for document in documents]
    return Rows(
        np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64))),
        np.concatenate([np.zeros(0, dtype=np.int32), *(document.indices for document in documents)]),
        np.concatenate([np.zeros(0, dtype=np.float32), *(document.counts for document in documents)]),
        n_features,
    )
