"""Count the features that are made of words by the numbers of the words: runs of words, pieces, and words of fields.

Names take most of the time and memory of such features, and few of them are kept. `WordFeatureCounter` counts the
features of training texts and gives the names of those that are kept; `WordFeatureIndex` finds the known features of
texts. Both give the same rows as looking up each name (see `text.vectorizer`).
"""

from collections.abc import Iterable, Sized
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.kernels.hash_table import ABSENT, add_counts
from thresher.kernels.ngrams import HASH
from thresher.kernels.tokenizer import Tokens
from thresher.kernels.word_features import (
    FIELD,
    LONG_RUN,
    OF_FIELD,
    Known,
    Origins,
    add_word_features,
    fill_key_slots,
    find_word_features,
)
from thresher.kernels.word_features import Words as Numbered
from thresher.rows.spilled import SpillingArray
from thresher.support.growable import extend
from thresher.support.parallel import map_ahead
from thresher.text.analysers import Analyser, Text, Words
from thresher.text.token_features import COLON, SPACE, cut_pieces, join_rows
from thresher.text.tokens import encode, gather_names, gather_spans
from thresher.text.vocabulary import SEEDS, Vocabulary

_NUMBER = 2**31 - 1  # the bits of a number in a key
_FIRST_ROOM = 2**12
_TITLE = b"title"
_FEATURES_PER_TEXT = 100  # making an index takes as long as looking up the names of a text for this many features


class WordFeatureCounter:
    """Counts the features of texts, and numbers them in order of first occurrence.

    >>> from thresher.text.tokens import decode_names
    >>> counter, entries = WordFeatureCounter(Analyser("words+ngrams:2")), SpillingArray(np.int64, 2**20)
    >>> ends, totals = counter.count([["oil and oil"]], entries)
    >>> decode_names(*counter.gather_names(np.arange(counter.n_features))), totals.tolist()
    (['oil', 'and', 'oil and', 'and oil'], [2, 1, 1, 1])
    """

    def __init__(self, analyser: Analyser, n_threads: int = 1) -> None:
        assert analyser.recipe is not None
        self.analyser, self.recipe = analyser, analyser.recipe
        self.n_threads = 1 if analyser.is_stateful else n_threads
        self.n_features = 0
        self._words, self._pieces = Vocabulary(), Vocabulary()
        self._fields = dict[str, int]()
        self._bounds, self._pieces_of_words = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
        self._of_word, self._of_piece = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        self._slots = np.full((_FIRST_ROOM, 2), ABSENT, dtype=np.int64)
        self._values, self._kinds = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int8)
        self._latest, self._base = np.empty(0, dtype=np.int64), 0

    def count(
        self, batches: Iterable[list[Text]], entries: SpillingArray
    ) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
        """Count the features of texts; adds the entries of each batch to `entries` as one piece.

        Return the ends of the documents of each batch in its piece, and the total count of each feature.
        """

        def analyse(batch: list[Text]) -> tuple[Words, NDArray[np.int32], NDArray[np.int32]]:
            words = self.analyser.split_words(batch)
            plain = self._words.look_up(words.plain, grow=False)
            return words, plain, self._words.look_up(words.marked, grow=False)

        ends, totals = list[NDArray[np.int64]](), np.zeros(0, dtype=np.int64)
        for words, plain, marked in map_ahead(analyse, batches, self.n_threads):
            self._words.add(words.plain, plain)
            self._words.add(words.marked, marked)
            counted, stops = self._count_batch(words, plain, marked)
            ends.append(stops)
            entries.append(counted)
            totals = _make_room(totals, self.n_features, 0)
            add_counts(counted, totals)
        return ends, totals[: self.n_features]

    def _count_batch(
        self, words: Words, plain: NDArray[np.int32], marked: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each document's counts as entries (number << 32 | count), and the end of each document."""
        steps, n_pieces = self.recipe.steps, 0
        n_joined = len(marked) + len(plain) * int(np.count_nonzero(steps > 1))
        if 0 in steps:
            self._cut_new_words()
            n_pieces = int((self._bounds[plain + 1] - self._bounds[plain]).sum())
        self._of_word = _make_room(self._of_word, self._words.count, ABSENT)
        self._of_piece = _make_room(self._of_piece, self._pieces.count, ABSENT)
        most = n_joined + len(plain) + n_pieces
        self._values = _make_room(self._values, self.n_features + most, 0)
        self._kinds = _make_room(self._kinds, self.n_features + most, 0)
        self._latest = _make_room(self._latest, self.n_features + most, ABSENT)
        self._make_slots(self.n_features + n_joined)
        fields = np.array([self._fields.setdefault(name, len(self._fields)) for name in words.fields], dtype=np.int64)
        numbered = Numbered(plain, words.plain.documents, marked, fields[words.which], words.marked.documents)
        known = Known(self._bounds, self._pieces_of_words, self._of_word, self._of_piece, self._slots, SEEDS)
        entries, ends = np.empty(most, dtype=np.int64), np.empty(len(words.plain.documents), dtype=np.int64)
        origins = Origins(self._values, self._kinds, True)
        filled, self.n_features = add_word_features(
            numbered, steps, known, origins, self.n_features, self._base, self._latest, entries, ends
        )
        self._base += filled
        return entries[:filled].copy(), ends  # without the spare room behind it

    def _cut_new_words(self) -> None:
        """Cut the words that are new since the last call into pieces, and number the pieces."""
        first, last = len(self._bounds) - 1, self._words.count
        if last > first:
            tokens = _take_each(self._words, np.arange(first, last))
            cut = cut_pieces(tokens, *self.recipe.sizes)
            numbers = self._pieces.look_up(cut)
            end = int(self._bounds[-1])
            self._bounds = extend(self._bounds, last - first, 0)
            self._bounds[first + 1 :] = cut.documents + end
            self._pieces_of_words = extend(self._pieces_of_words, len(numbers), 0)
            self._pieces_of_words[end:] = numbers

    def _make_slots(self, most: int) -> None:
        """Make the slots twice as many as the keys that there may be, at least."""
        if 2 * most > len(self._slots):
            known = self._slots[self._slots[:, 1] != ABSENT]
            self._slots = _fill_slots(np.ascontiguousarray(known[:, 0]), known[:, 1].copy(), 2 * most)

    def gather_names(self, chosen: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the names of some features, concatenated, and the end of each."""
        kinds, origins = self._kinds[chosen], self._values[chosen]
        letters, stops, places, length = [], [], [], 0
        for kind in np.unique(kinds).tolist():
            places.append(np.flatnonzero(kinds == kind))
            own = self._name_kind(kind, origins[places[-1]])
            letters.append(own[0])
            stops.append(own[1] + length)
            length += len(own[0])
        if not places:
            return np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int64)
        order = np.empty(len(chosen), dtype=np.int64)
        order[np.concatenate(places)] = np.arange(len(chosen))
        return gather_names(np.concatenate(letters), np.concatenate(stops), order)

    def _name_kind(self, kind: int, origins: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the names of features of one kind."""
        if kind == 0:
            return gather_names(self._pieces.letters, self._pieces.stops, origins)
        if kind == 1:
            return gather_names(self._words.letters, self._words.stops, origins)
        left, right = origins >> 32 & _NUMBER, origins & _NUMBER
        if kind == OF_FIELD:
            fields = encode(list(self._fields))
            before = np.frombuffer(b"".join(fields), dtype=np.uint8)
            bounds = np.cumsum([len(name) for name in fields], dtype=np.int64)
            letters = np.concatenate((before, self._words.letters))
            stops = np.concatenate((bounds, self._words.stops + len(before)))
            return join_rows(letters, stops, np.stack((left, right + len(fields)), axis=1), COLON)
        members = [right]
        for _ in range(kind - 2):
            left, right = self._values[left] >> 32 & _NUMBER, self._values[left] & _NUMBER
            members.append(right)
        return join_rows(self._words.letters, self._words.stops, np.stack([left, *members[::-1]], axis=1), SPACE)


class WordFeatureIndex(NamedTuple):
    """Finds the features of texts that a vocabulary has, by the numbers of their words."""

    analyser: Analyser
    n_features: int
    words: Vocabulary
    pieces: Vocabulary
    known: Known
    fields: dict[str, int]

    @classmethod
    def of(cls, vocabulary: Vocabulary, analyser: Analyser) -> Self | None:
        """Return an index of the vocabulary; None if it has a joined feature with a word that it lacks."""
        assert analyser.recipe is not None
        vocabulary = copy(vocabulary)  # another thread may add names
        letters, stops = vocabulary.letters, vocabulary.stops
        starts, kinds = np.append(0, stops)[:-1], classify_names(letters, stops)
        is_word = ~(kinds.is_field | kinds.is_run | kinds.is_piece)
        of_word, of_piece = np.flatnonzero(is_word), np.flatnonzero(kinds.is_piece)
        words, pieces = vocabulary.select(of_word), vocabulary.select(of_piece)
        bounds, numbers = np.zeros(words.count + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
        if 0 in analyser.recipe.steps:
            cut = cut_pieces(_take_each(words, np.arange(words.count)), *analyser.recipe.sizes)
            numbers = pieces.look_up(cut, grow=False)
            bounds = np.append(0, np.cumsum(numbers != ABSENT))[np.append(0, cut.documents)]
            numbers = numbers[numbers != ABSENT]
        runs, marked = np.flatnonzero(kinds.is_run), np.flatnonzero(kinds.is_field)
        marks = np.where(kinds.is_field, _find_last(letters, stops, COLON), _find_last(letters, stops, SPACE))
        lefts = Tokens(*gather_spans(letters, starts[runs], marks[runs]))
        is_long = _find_last(lefts.letters, lefts.stops, SPACE) >= 0
        left = np.where(is_long, vocabulary.look_up(lefts, grow=False), words.look_up(lefts, grow=False))
        fields = Vocabulary()
        left = np.append(left, fields.look_up(Tokens(*gather_spans(letters, starts[marked], marks[marked]))))
        joined = np.append(runs, marked)
        lasts = Tokens(*gather_spans(letters, marks[joined] + 1, stops[joined]))
        right = words.look_up(lasts, grow=False)
        if (left == ABSENT).any() or (right == ABSENT).any():
            return None
        flags = np.append(np.where(is_long, LONG_RUN, 0), np.full(len(marked), FIELD))
        keys = left.astype(np.int64) << 32 | flags | right
        names = {name: number for number, name in enumerate(fields.names)}
        features = of_word.astype(np.int32), of_piece.astype(np.int32)
        known = Known(bounds, numbers, *features, _fill_slots(keys, joined, 2 * len(keys)), SEEDS)
        return cls(analyser, vocabulary.count, words, pieces, known, names)

    def find(self, texts: list[Text]) -> Rows:
        """Return the texts as rows of the known features."""
        words, recipe = self.analyser.split_words(texts), self.analyser.recipe
        assert recipe is not None
        fields = np.array([self.fields.get(name, ABSENT) for name in words.fields], dtype=np.int64)
        plain, marked = (self.words.look_up(tokens, grow=False) for tokens in (words.plain, words.marked))
        numbered = Numbered(plain, words.plain.documents, marked, fields[words.which], words.marked.documents)
        found = find_word_features(
            numbered, words.plain.letters, words.plain.stops, recipe.steps, recipe.sizes, self.known, self.pieces.table,
            self.n_features,
        )  # fmt: skip
        return Rows(*found, self.n_features)


class IndexCache:
    """Keeps the index of a vocabulary, which it makes once enough texts were looked up since the vocabulary grew.

    Copies start empty.
    """

    def __init__(self) -> None:
        self._state = _Indexed(-1, np.empty(0, dtype=np.uint8), 0, None)  # replaced as a whole, for other threads

    def __reduce__(self) -> tuple[Any, ...]:
        return IndexCache, ()

    def get(self, vocabulary: Vocabulary, analyser: Analyser, texts: Iterable[Text]) -> WordFeatureIndex | None:
        """Return the index, or None where looking up each name takes less time than making it."""
        if analyser.recipe is None:
            return None
        state, least = self._state, vocabulary.count // _FEATURES_PER_TEXT
        if vocabulary.count != state.n_names or vocabulary.table.letters is not state.letters:
            state = _Indexed(vocabulary.count, vocabulary.table.letters, 0, None)
        if state.n_texts <= least:
            n_texts = state.n_texts + (len(texts) if isinstance(texts, Sized) else 1)
            index = WordFeatureIndex.of(vocabulary, analyser) if n_texts > least else None
            self._state = state = state._replace(n_texts=n_texts, made=index)
        return state.made


class _Indexed(NamedTuple):
    """The index of a vocabulary with `n_names`, which the letters begin with, and the texts looked up so far."""

    n_names: int
    letters: NDArray[np.uint8]
    n_texts: int
    made: WordFeatureIndex | None


def _make_room(array: NDArray[Any], size: int, value: int) -> NDArray[Any]:
    """Return the array with room for at least `size` entries, the new ones set to `value`."""
    return array if len(array) >= size else extend(array, size - len(array), value)


def _take_each(vocabulary: Vocabulary, numbers: NDArray[np.int64]) -> Tokens:
    """Return some names as tokens, each one a document."""
    letters, stops = gather_names(vocabulary.letters, vocabulary.stops, numbers)
    return Tokens(letters, stops, documents=np.arange(1, len(numbers) + 1))


def _fill_slots(keys: NDArray[np.int64], numbers: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """Return slots with these keys of features and their numbers."""
    slots = np.full((1 << max(least, _FIRST_ROOM).bit_length(), 2), ABSENT, dtype=np.int64)
    fill_key_slots(keys, numbers, slots, SEEDS)
    return slots


class NameKinds(NamedTuple):
    """Which names of features are the words of any field, of the title, runs of words, or pieces of words."""

    is_field: NDArray[np.bool_]
    is_title: NDArray[np.bool_]
    is_run: NDArray[np.bool_]
    is_piece: NDArray[np.bool_]


def classify_names(letters: NDArray[np.uint8], stops: NDArray[np.int64]) -> NameKinds:
    """Return the kinds of names of features; no word has the marks that tell them apart.

    >>> from thresher.text.tokens import make_tokens
    >>> tokens = make_tokens(["oil", "title:oil", "crude oil", "#_oil"])
    >>> [kind.tolist().index(True) for kind in classify_names(tokens.letters, tokens.stops)]
    [1, 1, 2, 3]
    """
    starts, colons = np.append(0, stops)[:-1], _find_last(letters, stops, COLON)
    is_field, is_piece = colons >= 0, (colons < 0) & (letters[starts] == HASH)
    is_title = colons - starts == len(_TITLE)
    for place, letter in enumerate(_TITLE):
        is_title[is_title] = letters[starts[is_title] + place] == letter
    return NameKinds(is_field, is_title, ~is_field & ~is_piece & (_find_last(letters, stops, SPACE) >= 0), is_piece)


def _find_last(letters: NDArray[np.uint8], stops: NDArray[np.int64], mark: int) -> NDArray[np.int64]:
    """Return where each name has the mark last, or -1."""
    places = np.flatnonzero(letters == mark)
    last = np.full(len(stops), -1, dtype=np.int64)
    last[np.searchsorted(stops, places, side="right")] = places
    return last
