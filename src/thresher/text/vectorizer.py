"""Vectorizer of texts: sparse rows of feature counts, from an analyser and a vocabulary; `Categorizer` holds one."""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from itertools import pairwise
from reprlib import repr as shown
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError, TextError
from thresher.kernels.csr import Rows
from thresher.kernels.hash_table import add_counts, make_rows
from thresher.kernels.tokenizer import NONE, Tokens
from thresher.rows.spilled import SpillingArray, count_documents_by_feature, join_rows, return_freed_memory
from thresher.support.growable import extend
from thresher.support.parallel import count_threads, map_ahead
from thresher.text.analysers import Analyser, Part, Text
from thresher.text.batches import split_texts
from thresher.text.feature_checks import CONSTANT, MAX_COUNT, is_count, is_name
from thresher.text.limits import MAX_FEATURES, MEMORY
from thresher.text.token_features import concatenate_parts
from thresher.text.tokens import decode_names, gather_names, locate_bytes, make_tokens
from thresher.text.vocabulary import Vocabulary, make_entries
from thresher.text.word_features import IndexCache, WordFeatureCounter

FIT_TEXTS = 256
_FIRST_TOTALS = 2**16

Entries = tuple[NDArray[np.int64], NDArray[np.int64]]
GatherNames = Callable[[NDArray[np.int64]], tuple[NDArray[np.uint8], NDArray[np.int64]]]


class CountedTexts(NamedTuple):
    """Texts whose features were counted: the ends of the documents of each batch, and each feature's total count.

    `gather_names` returns the names of some features, concatenated, and where each ends.
    """

    ends: list[NDArray[np.int64]]
    totals: NDArray[np.int64]
    gather_names: GatherNames


class FeatureCounts(NamedTuple):
    """The feature counts of one text: `names` in order of first occurrence, and the `counts` of each.

    It can replace its text where a model learns or predicts one document. Names are distinct, and counts are integers
    from 1 to 2**31 - 1.
    """

    names: list[str]
    counts: list[int]


class FoundFeatures(FeatureCounts):
    """The feature counts that `TextFeatures.count_features` returns: valid, and ready to be looked up several times.

    `tokens` and `amounts` are the names and counts as kernels take them. A changed copy has none, and is checked first.
    """

    tokens: Tokens | None = None
    amounts: NDArray[np.float32] | None = None


class TextFeatures:
    """Converts texts to rows of the counts of the features that an analyser finds.

    Parameters
    ----------
    analyser : str, function or list of them
        See `thresher.text.analysers`.
    min_count : int
        `fit` keeps the features that occur at least this often in all its texts together.
    constant : bool
        Whether feature 0 is `CONSTANT`, which no text has by itself and which the strengths fill in.
    max_features : int
        The maximum number of features. `fit` keeps the most frequent ones; later, features beyond the cap are not
        added.
    n_threads : int or None
        Number of threads that analyse texts. None: one per core. Does not change the result.

    Notes
    -----
    Features are numbered by frequency, the most frequent first and ties in order of first occurrence. This keeps the
    weights that are read most in the processor's cache. After `fit`, `rows(texts, grow=True)` adds a new feature at its
    first occurrence, so that the words of a single taught document count.

    Examples
    --------
    >>> features = TextFeatures(min_count=1)
    >>> rows = features.fit(["oil and gas", "oil, oil!"])
    >>> features.names, rows.indices.tolist(), rows.data.tolist()
    (['oil', 'and', 'gas'], [0, 1, 2, 0], [1.0, 1.0, 1.0, 2.0])
    """

    def __init__(
        self,
        analyser: Part | list[Part] = "words",
        min_count: int = 3,
        max_features: int = MAX_FEATURES,
        n_threads: int | None = None,
        constant: bool = False,
    ) -> None:
        for name, value in (("min_count", min_count), ("max_features", max_features)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= 2**31 - 1:
                raise ParameterError.of(name, value, allowed="a whole number from 1")
        self.analyser = Analyser(analyser)
        self.min_count, self.max_features = int(min_count), int(max_features)
        self.n_threads = count_threads(n_threads)
        self.vocabulary = _make_first_features(constant, self.max_features)
        self._indexes = IndexCache()
        self.n_documents = 0
        self.document_counts = np.zeros(self.vocabulary.count, dtype=np.int64)

    @property
    def has_constant(self) -> bool:
        """Whether feature 0 is `CONSTANT`, which every text has."""
        first = self.vocabulary.stops[:1]
        return bool(len(first)) and self.vocabulary.letters[: first[0]].tobytes() == CONSTANT.encode()

    @property
    def names(self) -> list[str]:
        """The names of the features, by number."""
        return self.vocabulary.names

    def names_of(self, numbers: NDArray[np.integer]) -> list[str]:
        """Return the names of some features."""
        return self.freeze_names()(numbers)

    def freeze_names(self) -> Callable[[NDArray[np.integer]], list[str]]:
        """Return a function from feature numbers to names that keeps the current numbering, whatever changes later."""
        vocabulary = self.vocabulary
        stops = vocabulary.stops  # read before the letters, which may grow
        return partial(_decode_numbers, vocabulary.letters, stops)

    @property
    def is_word(self) -> NDArray[np.bool_]:
        """A mask of the features that are words or made of words.

        Runs of characters, which begin with #, and the constant are excluded.
        """
        stops = self.vocabulary.stops
        mask = np.ones(len(stops), dtype=np.bool_)
        if any(part.startswith("chars") for part in self.analyser.parts):
            mask = self.vocabulary.letters[np.append(0, stops)[:-1]] != ord("#")
        mask[: int(self.has_constant)] = False
        return mask

    def fit(self, texts: Iterable[Text], memory: int = MEMORY) -> Rows:
        """Learn the features of the texts, and return the texts as rows.

        Rows that would take more than `memory` bytes are kept in temporary files.
        """
        entries = SpillingArray(np.int64, memory)
        counted = self.count(texts, entries)
        if not counted.ends:
            raise TextError("there are no texts to learn from")
        renumbered = self.keep(counted.totals, counted.gather_names)
        rows = _convert_all(entries, counted.ends, renumbered, self.vocabulary.count, memory)
        return_freed_memory(entries.length)
        self.note_documents(len(rows.indptr) - 1, count_documents_by_feature(rows))
        return rows

    def count(self, texts: Iterable[Text], entries: SpillingArray) -> CountedTexts:
        """Count the features of texts; adds the entries of each batch to `entries` as one piece."""
        if self.analyser.recipe is not None:
            counter = WordFeatureCounter(self.analyser, self.n_threads)
            counted = CountedTexts(*counter.count(split_texts(texts, FIT_TEXTS), entries), counter.gather_names)
            return_freed_memory(entries.length)
            return counted
        seen, ends, totals = Vocabulary(), list[NDArray[np.int64]](), np.zeros(_FIRST_TOTALS, dtype=np.int64)
        for batch, stops in self._entries(texts, seen, grow=True, most=FIT_TEXTS):
            ends.append(stops)
            entries.append(batch.copy())  # without the spare room behind it
            if seen.count > len(totals):
                totals = np.concatenate((totals, np.zeros(seen.count, dtype=np.int64)))
            add_counts(batch, totals)
        return_freed_memory(entries.length)
        return CountedTexts(ends, totals[: seen.count], partial(gather_names, seen.letters, seen.stops))

    def keep(self, totals: NDArray[np.int64], gather: GatherNames) -> NDArray[np.int64]:
        """Keep the features that occur often enough, and return the new number of each counted feature, or -1."""
        chosen = self._choose(totals)
        first = _make_first_features(self.has_constant, self.max_features)
        self.vocabulary = first.join(*gather(chosen))
        renumbered = np.full(len(totals), -1, dtype=np.int64)
        renumbered[chosen] = first.count + np.arange(len(chosen))
        return renumbered

    def note_documents(self, n_documents: int, counts: NDArray[np.int64]) -> None:
        """Store the number of documents, and the number of documents that have each feature."""
        self.n_documents, self.document_counts = n_documents, counts
        self.document_counts[: int(self.has_constant)] = n_documents

    def _choose(self, totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the features to keep, the most frequent first."""
        chosen = np.argsort(-totals, kind="stable")[: self.max_features]
        chosen = chosen[totals[chosen] >= self.min_count]
        if len(chosen) == 0:
            what = f"{len(totals)} different features were seen, none of them {self.min_count} times or more"
            raise TextError(
                f"no features are left: {what}",
                hint="lower {min_count}, or give more text",
            )
        return chosen

    def rows(self, texts: Iterable[Text], grow: bool = False) -> Rows:
        """Return the texts as rows of the known features; if `grow`, new features are added."""
        if not grow:
            return self._rows(texts, self.vocabulary, grow)
        before = self.vocabulary.count
        try:
            rows = self._rows(texts, self.vocabulary, grow)
            self._count_late()
        except BaseException:
            self.forget(before)
            raise
        return rows

    def _rows(self, texts: Iterable[Text], vocabulary: Vocabulary, grow: bool) -> Rows:
        index = None if grow else self._indexes.get(vocabulary, self.analyser, texts)
        if isinstance(texts, list) and len(texts) == 1 and (index is None or isinstance(texts[0], FeatureCounts)):
            return self._single_row(texts, vocabulary, grow)
        if index is not None:
            n_threads = 1 if self.analyser.is_stateful else self.n_threads
            parts = list(map_ahead(index.find, split_texts(texts), n_threads))
            return parts[0] if len(parts) == 1 else join_rows(iter(parts), vocabulary.count, MEMORY)
        counted = list(self._entries(texts, vocabulary, grow, FIT_TEXTS if grow else None))
        entries, ends = _concatenate(counted or [(NONE, NONE)])
        return convert_entries(entries, ends, NONE, vocabulary.count)

    def _single_row(self, texts: list[Text], vocabulary: Vocabulary, grow: bool) -> Rows:
        """Return the row of a single text, without the overhead of batches."""
        if isinstance(texts[0], FeatureCounts):
            indices, counts = _look_up_counts(texts[0], vocabulary, grow)
        else:
            parts = self.analyser(texts)
            indices, counts = vocabulary.count_tokens(parts[0] if len(parts) == 1 else concatenate_parts(parts), grow)
        return Rows(np.array([0, len(indices)]), indices, counts, vocabulary.count)

    def count_features(self, text: Text) -> FeatureCounts:
        """Return the feature counts of a text, whether the features are known or not."""
        numbers, seen = _number_tokens(self.analyser([text]))
        counts = np.bincount(numbers, minlength=seen.count)
        features = FoundFeatures(seen.names, counts.tolist())
        features.tokens, features.amounts = Tokens(seen.letters, seen.stops), counts.astype(np.float32)
        return features

    def limit(self, most: int) -> None:
        """Add no new feature once `most` or `max_features` features are known."""
        self.vocabulary.most = min(most, self.max_features) + int(self.has_constant)

    def can_use(self, features: FeatureCounts) -> bool:
        """Return whether a text has a feature that is known, or that would be if the text were learned."""
        has_room = self.vocabulary.count < self.vocabulary.most
        return bool(features.names) and (has_room or len(_look_up_counts(features, self.vocabulary, grow=False)[0]) > 0)

    def count_new(self, features: FeatureCounts) -> int:
        """Return how many features of a text would become known if the text were learned."""
        new = len(features.names) - len(_look_up_counts(features, self.vocabulary, grow=False)[0])
        return min(new, max(self.vocabulary.most - self.vocabulary.count, 0))

    def view(self) -> "TextFeatures":
        """Return features that share their state with these, but not what is learned later."""
        twin = copy(self)
        twin.vocabulary = copy(twin.vocabulary)
        return twin

    def _count_late(self) -> None:
        """Set the document counts of new features to 0, as no document of `fit` had them."""
        new = self.vocabulary.count - len(self.document_counts)
        if new > 0:
            self.document_counts = extend(self.document_counts, new, 0)

    def forget(self, count: int) -> None:
        """Keep only the first `count` features."""
        if count < self.vocabulary.count:
            self.vocabulary = self.vocabulary.select(np.arange(count))
            self.document_counts = self.document_counts[:count]

    def _entries(
        self, texts: Iterable[Text], vocabulary: Vocabulary, grow: bool, most: int | None = None
    ) -> Iterator[Entries]:
        """Yield the counts of batches of texts; while one batch is counted, threads analyse and look up the next."""

        def analyse(batch: list[Text]) -> list[Numbered]:
            return [_look_up(tokens, vocabulary, grow) for tokens in self.analyser(batch)]

        for parts in map_ahead(analyse, split_texts(texts, most), 1 if self.analyser.is_stateful else self.n_threads):
            if grow:
                _number_new(parts, vocabulary)
            merged, documents = _merge_parts(parts)
            yield make_entries(merged, documents, vocabulary.count)

    def occurrences(self, text: Text) -> dict[str, list[tuple[int, int]]]:
        """Return the positions of each feature of a text, as (start, end) indices into it.

        Fields are joined in their order, as in "\\n".join(text.values()). A feature of a field has the position of its
        word within that field. Features from a user's function, or given as `FeatureCounts`, have no positions.
        """
        if isinstance(text, FeatureCounts):
            return {name: [] for name in text.names}
        plain = text if isinstance(text, str) else "\n".join(text.values())
        begins, ends = locate_bytes(plain)
        parts = self.analyser([text], positions=True)
        numbers, seen = _number_tokens(parts)
        located = np.concatenate([np.full(len(part.stops), len(part.starts) > 0) for part in parts])
        numbers = numbers[located]
        order = np.argsort(numbers, kind="stable")
        firsts = begins[np.concatenate([part.starts for part in parts])[order]].tolist()
        lasts = ends[np.concatenate([part.ends for part in parts])[order] - 1].tolist()
        places = list(zip(firsts, lasts, strict=True))
        stops = np.cumsum(np.bincount(numbers, minlength=seen.count)).tolist()
        return {name: places[start:stop] for name, (start, stop) in zip(seen.names, pairwise([0, *stops]), strict=True)}


def _number_tokens(parts: list[Tokens]) -> tuple[NDArray[np.int32], Vocabulary]:
    """Return the number of each token of all parts, in order of first occurrence, and the vocabulary of these."""
    seen = Vocabulary()
    return seen.look_up(concatenate_parts(parts)), seen


def _look_up_counts(
    features: FeatureCounts, vocabulary: Vocabulary, grow: bool
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the numbers of the known features of a text, sorted, and their counts."""
    if isinstance(features, FoundFeatures) and features.tokens is not None and features.amounts is not None:
        tokens, amounts = features.tokens, features.amounts
    else:
        _check_counts(features)
        tokens, amounts = make_tokens(features.names), np.array(features.counts, dtype=np.float32)
    numbers = vocabulary.look_up(tokens, grow)
    order = np.argsort(numbers, kind="stable")
    order = order[numbers[order] >= 0]
    return numbers[order], amounts[order]


def _check_counts(features: FeatureCounts) -> None:
    """Raise a TextError unless these are distinct, valid names of features and valid counts."""
    names, counts = features
    if not isinstance(names, list | tuple) or not isinstance(counts, list | tuple) or len(names) != len(counts):
        raise TextError("FeatureCounts must be a list of names and a list of as many counts")
    for name, count in zip(names, counts, strict=True):
        if not is_name(name):
            raise TextError(f"{shown(name)} is not the name of a feature", hint=f"allowed: text, but not {CONSTANT!r}")
        if not is_count(count):
            raise TextError(f"feature {shown(name)} has the count {shown(count)}", hint=f"allowed: 1 to {MAX_COUNT}")
    if len(set(names)) < len(names):
        raise TextError("FeatureCounts must name each feature once")


def _decode_numbers(letters: NDArray[np.uint8], stops: NDArray[np.int64], numbers: NDArray[np.integer]) -> list[str]:
    return decode_names(*gather_names(letters, stops, numbers))


class Numbered(NamedTuple):
    """The numbers of a part's tokens, the end of each document, and the names that have no number yet."""

    numbers: NDArray[np.int32]
    documents: NDArray[np.int64]
    places: NDArray[np.int64]
    new: Tokens


def _look_up(tokens: Tokens, vocabulary: Vocabulary, grow: bool) -> Numbered:
    """Look up the tokens, and keep only the unknown ones, so that waiting batches stay small."""
    numbers = vocabulary.look_up(tokens, grow=False)
    places = np.flatnonzero(numbers < 0) if grow else NONE
    letters, stops = gather_names(tokens.letters, tokens.stops, places)
    keys, rests = (array[places] if len(array) else array for array in (tokens.keys, tokens.rests))
    return Numbered(numbers, tokens.documents, places, Tokens(letters, stops, keys, rests))


def _number_new(parts: list[Numbered], vocabulary: Vocabulary) -> None:
    """Assign numbers to the tokens without one, document by document across all parts."""
    if len(parts) == 1 or len(parts[0].documents) == 1:
        for part in parts:
            part.numbers[part.places] = vocabulary.look_up(part.new)
        return
    owners = np.concatenate([np.searchsorted(part.documents, part.places, side="right") for part in parts])
    order, new = np.argsort(owners, kind="stable"), concatenate_parts([part.new for part in parts])
    letters, ends = gather_names(new.letters, new.stops, order)
    numbers = np.empty(len(order), dtype=np.int32)
    numbers[order] = vocabulary.look_up(Tokens(letters, ends))
    for part, part_numbers in zip(
        parts, np.split(numbers, np.cumsum([len(part.places) for part in parts])[:-1]), strict=True
    ):
        part.numbers[part.places] = part_numbers


def _merge_parts(parts: list[Numbered]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the numbers of all parts, document by document, and the end of each document."""
    if len(parts) == 1:
        return parts[0].numbers, parts[0].documents
    together = np.concatenate([part.numbers for part in parts])
    ends = np.sum([part.documents for part in parts], axis=0)
    if len(ends) == 1:
        return together, ends
    owners = np.concatenate([np.repeat(np.arange(len(ends)), np.diff(part.documents, prepend=0)) for part in parts])
    return together[np.argsort(owners, kind="stable")], ends


def _concatenate(counted: list[Entries]) -> Entries:
    """Return the entries of all batches as one, and the end of each document."""
    if len(counted) == 1:
        return counted[0]
    sizes = np.cumsum([0] + [len(entries) for entries, _ in counted])
    ends = [ends + size for (_, ends), size in zip(counted, sizes[:-1], strict=True)]
    return np.concatenate([entries for entries, _ in counted]), np.concatenate(ends)


def convert_entries(
    entries: NDArray[np.int64], ends: NDArray[np.int64], renumbered: NDArray[np.int64], n_features: int
) -> Rows:
    """Return entries as rows; `renumbered` holds the new numbers of names, or is empty if they keep theirs."""
    indices, counts = np.empty(len(entries), dtype=np.int32), np.empty(len(entries), dtype=np.float32)
    indptr = np.zeros(len(ends) + 1, dtype=np.int64)
    indptr[1:] = ends
    make_rows(indptr[1:], renumbered, n_features, entries, indices, counts)
    return Rows(indptr, indices[: indptr[-1]], counts[: indptr[-1]], n_features)


def _convert_all(
    entries: SpillingArray, ends: list[NDArray[np.int64]], renumbered: NDArray[np.int64], n_features: int, memory: int
) -> Rows:
    """Return the entries of batches as rows, batch by batch, so that little is held twice."""
    if entries.is_spilled:
        batches = zip(entries.pieces(), ends, strict=True)
        parts = (convert_entries(piece, stops, renumbered, n_features) for piece, stops in batches)
        return join_rows(parts, n_features, memory)
    indices, counts = np.empty(entries.length, dtype=np.int32), np.empty(entries.length, dtype=np.float32)
    indptr, row, place = np.zeros(sum(map(len, ends)) + 1, dtype=np.int64), 1, 0
    for entries_of_batch, stops in zip(entries.pieces(), ends, strict=True):
        stops_of_rows = indptr[row : row + len(stops)]
        stops_of_rows[:] = stops
        make_rows(stops_of_rows, renumbered, n_features, entries_of_batch, indices[place:], counts[place:])
        stops_of_rows += place
        row, place = row + len(stops), int(stops_of_rows[-1])
    return Rows(indptr, indices[:place], counts[:place], n_features)


def _make_first_features(constant: bool, most: int) -> Vocabulary:
    """Return a vocabulary without words, which holds only the constant, if any."""
    letters = np.frombuffer(CONSTANT.encode() if constant else b"", dtype=np.uint8)
    return Vocabulary.from_names(letters, np.full(int(constant), len(letters), dtype=np.int64), most + constant)
