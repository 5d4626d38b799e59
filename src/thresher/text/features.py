"""Texts to sparse rows of feature counts: analyser and vocabulary together; `Categorizer` holds one."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError, TextError
from thresher.kernels.rows import Rows
from thresher.kernels.tokens import Tokens
from thresher.kernels.vocabulary import rows_from_entries
from thresher.text.analysers import Analyser, Part, Text
from thresher.text.derived import document_of, gathered
from thresher.text.tokens import names
from thresher.text.vocabulary import Vocabulary, entries

BATCH_TEXTS, BATCH_LETTERS = 1024, 2**22
MOST_FEATURES = 2**20


class TextFeatures:
    """What an analyser finds in texts, as rows of counts.

    Parameters
    ----------
    analyser : str, function or list of them
        See `thresher.text.analysers`.
    min_count : int
        `fit` keeps the features that occur at least so often in all its texts together.
    max_features : int
        `fit` keeps at most so many, the most frequent; later, features beyond the cap are not taken up.

    Notes
    -----
    Features are numbered by frequency, the most frequent first and equally frequent ones in the order of first sight,
    which keeps the weights that are read most in the processor's cache. After `fit`, `rows(texts, grow=True)` takes a
    new feature up at its first sight: whoever teaches a single document wants its words to count.

    Examples
    --------
    >>> features = TextFeatures(min_count=1)
    >>> rows = features.fit(["oil and gas", "oil, oil!"])
    >>> features.names, rows.indices.tolist(), rows.data.tolist()
    (['oil', 'and', 'gas'], [0, 1, 2, 0], [1.0, 1.0, 1.0, 2.0])
    """

    def __init__(
        self, analyser: Part | list[Part] = "words", min_count: int = 3, max_features: int = MOST_FEATURES
    ) -> None:
        for name, value in (("min_count", min_count), ("max_features", max_features)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= 2**31 - 1:
                raise ParameterError(f"{name}={value!r} is out of range (allowed: a whole number from 1)")
        self.analyser = Analyser(analyser)
        self.min_count, self.max_features = int(min_count), int(max_features)
        self.vocabulary = Vocabulary(self.max_features)
        self.n_documents = 0
        self.document_counts = np.zeros(0, dtype=np.int64)

    @property
    def names(self) -> list[str]:
        """The features' names by their numbers."""
        return self.vocabulary.names

    def names_of(self, numbers: NDArray[np.integer]) -> list[str]:
        """Return the names of some features."""
        return names(*gathered(self.vocabulary.letters, self.vocabulary.stops, numbers))

    def fit(self, texts: Iterable[Text]) -> Rows:
        """Learn the features of the texts, and return the texts as rows of them."""
        seen = Vocabulary()
        counted = [self._entries(batch, seen, grow=True) for batch in batches(texts)]
        if not counted:
            raise TextError("there are no texts to learn from")
        found, ends = _concatenated(counted)
        chosen = self._choose(found, seen)
        self.vocabulary = seen.selected(chosen)
        self.vocabulary.most = self.max_features
        renumbered = np.full(seen.count, -1, dtype=np.int64)
        renumbered[chosen] = np.arange(len(chosen))
        rows = _rows(found, ends, renumbered, len(chosen))
        self.n_documents, self.document_counts = len(ends), np.bincount(rows.indices, minlength=len(chosen))
        return rows

    def _choose(self, found: NDArray[np.int64], seen: Vocabulary) -> NDArray[np.int64]:
        """Return the numbers of the features to keep, the most frequent first."""
        totals = np.bincount(found >> 32, weights=found & 0xFFFFFFFF, minlength=seen.count)
        chosen = np.argsort(-totals, kind="stable")[: self.max_features]
        chosen = chosen[totals[chosen] >= self.min_count]
        if len(chosen) == 0:
            what = f"{seen.count} different features were seen, none of them {self.min_count} times or more"
            raise TextError(f"no features are left: {what} (lower min_count, or give more text)")
        return chosen

    def rows(self, texts: Iterable[Text], grow: bool = False) -> Rows:
        """Return the texts as rows of the known features; if `grow`, new ones become known."""
        counted = [self._entries(batch, self.vocabulary, grow) for batch in batches(texts)]
        count = self.vocabulary.count
        found, ends = _concatenated(counted or [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))])
        if grow:
            self.document_counts = np.pad(self.document_counts, (0, count - len(self.document_counts)))
        return _rows(found, ends, np.arange(count), count)

    def _entries(
        self, texts: list[Text], vocabulary: Vocabulary, grow: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        parts = self.analyser(texts)
        numbers = [vocabulary.numbers(tokens, grow) for tokens in parts]
        merged, documents = _merged(parts, numbers)
        return entries(merged, documents, vocabulary.count)

    def occurrences(self, text: Text) -> dict[str, list[tuple[int, int]]]:
        """Return where each feature of a text stands, as (start, end) indices into it.

        Fields stand one below the other, in their order, as "\\n".join(text.values()) has them. A feature of a field
        stands where its word does within that field; what a function of the user's gives stands nowhere.
        """
        plain = text if isinstance(text, str) else "\n".join(text.values())
        place = places_in(plain)
        found: dict[str, list[tuple[int, int]]] = {}
        for tokens in self.analyser([plain], positions=True):
            flat = names(tokens.letters, tokens.stops)
            for i, name in enumerate(flat):
                where = [(int(place[tokens.starts[i]]), int(place[tokens.ends[i]]))] if len(tokens.starts) else []
                found.setdefault(name, []).extend(where)
        return found


def _merged(parts: list[Tokens], numbers: list[NDArray[np.int32]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the numbers of all parts document by document, and where each document's end."""
    if len(parts) == 1:
        return numbers[0], parts[0].documents
    order = np.argsort(np.concatenate([document_of(tokens) for tokens in parts]), kind="stable")
    return np.concatenate(numbers)[order], np.sum([tokens.documents for tokens in parts], axis=0)


def _concatenated(
    counted: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the entries of all batches in one, and where each document's end."""
    sizes = np.cumsum([0] + [len(found) for found, _ in counted])
    ends = [ends + size for (_, ends), size in zip(counted, sizes[:-1], strict=True)]
    return np.concatenate([found for found, _ in counted]), np.concatenate(ends)


def _rows(found: NDArray[np.int64], ends: NDArray[np.int64], renumbered: NDArray[np.int64], n_features: int) -> Rows:
    indices, counts = np.empty(len(found), dtype=np.int32), np.empty(len(found), dtype=np.float32)
    stops = ends.copy()
    rows_from_entries(stops, renumbered, found, indices, counts)
    filled = stops[-1] if len(stops) else 0
    return Rows(np.concatenate((np.zeros(1, dtype=np.int64), stops)), indices[:filled], counts[:filled], n_features)


def batches(texts: Iterable[Text]) -> Iterator[list[Text]]:
    """Yield the texts in lists of bounded length and size."""
    if isinstance(texts, str | bytes):
        raise TextError("texts must be a collection of texts, and this is a single one (put it into a list)")
    batch: list[Any] = []
    letters = 0
    for text in texts:
        batch.append(text)
        letters += len(text) if isinstance(text, str) else 2**12
        if len(batch) >= BATCH_TEXTS or letters >= BATCH_LETTERS:
            yield batch
            batch, letters = [], 0
    if batch:
        yield batch


def places_in(text: str) -> NDArray[np.int64]:
    """Return, for each byte of the text in UTF-8 and normal form C, the index of its character in the text as given."""
    from thresher.text.characters import NORMALIZE, characters, composed

    if text.isascii():
        return np.arange(len(text) + 1)
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    # Normal form C never reaches over a character that it leaves alone, so the text is cut before each of those.
    cuts = np.flatnonzero(np.append(characters().classes[codes] & NORMALIZE == 0, True))
    cuts = np.unique(np.append(0, cuts))
    sizes = [len(composed(text[a:b]).encode()) for a, b in itertools.pairwise(cuts)]
    return np.append(np.repeat(cuts[:-1], sizes), len(text))
