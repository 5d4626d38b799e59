"""Vocabulary of feature names and their numbers, in a growable hash table."""

import secrets
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.hash_table import (
    ABSENT,
    Table,
    add_names,
    count_entries,
    count_few,
    fill_slots,
    find_names,
    hash_names,
    make_keys,
    number_and_count,
)
from thresher.kernels.tokenizer import Tokens
from thresher.text.tokens import decode_names, gather_names

_FIRST_ROOM = 1024
# Drawn for each process, so that nobody can prepare names that collide.
SEEDS = (secrets.randbits(30) | 1, secrets.randbits(30) | 1)


class Vocabulary:
    """Numbers for names, in order of first occurrence, up to a cap; names beyond it stay unknown.

    >>> from thresher.text.tokens import tokenize
    >>> vocabulary = Vocabulary()
    >>> vocabulary.look_up(tokenize(["the cat", "the dog"])).tolist()
    [0, 1, 0, 2]
    >>> vocabulary.look_up(tokenize(["a dog"]), grow=False).tolist()
    [-1, 2]
    """

    def __init__(self, most: int = 2**31 - 1) -> None:
        self.most = most
        self.count = 0
        self._table = _new_table(_FIRST_ROOM, 8 * _FIRST_ROOM)

    @classmethod
    def from_names(cls, letters: NDArray[np.uint8], stops: NDArray[np.int64], most: int = 2**31 - 1) -> Self:
        """Return a vocabulary of concatenated names."""
        vocabulary = cls(most)
        vocabulary.count = len(stops)
        vocabulary._table = _new_table(len(stops), len(letters))
        vocabulary._table.stops[: len(stops)] = stops
        vocabulary._table.letters[: len(letters)] = letters
        rests = np.empty(len(stops), dtype=np.int64)
        make_keys(letters, stops, vocabulary._table.keys, rests)
        hash_names(vocabulary.count, rests, vocabulary._table)
        fill_slots(vocabulary.count, vocabulary._table)
        return vocabulary

    @property
    def stops(self) -> NDArray[np.int64]:
        """Where each name ends in `letters`."""
        count = self.count  # read before the table: another thread may add names, and a later table has no fewer
        return self._table.stops[:count]

    @property
    def table(self) -> Table:
        """The hash table, as kernels take it."""
        return self._table

    @property
    def letters(self) -> NDArray[np.uint8]:
        """The names as UTF-8, concatenated."""
        stops = self.stops
        return self._table.letters[: stops[-1] if len(stops) else 0]

    @property
    def names(self) -> list[str]:
        """The names, by number."""
        stops = self.stops  # read before the letters, which may grow
        return decode_names(self.letters, stops)

    def look_up(self, tokens: Tokens, grow: bool = True) -> NDArray[np.int32]:
        """Return the number of each token, or -1 if it is unknown; if `grow`, new tokens become known.

        Other threads may look up names (grow=False) while one grows. At worst they miss a name that is being added;
        they never see a wrong one.
        """
        numbers = np.empty(len(tokens.stops), dtype=np.int32)
        missing = find_names(tokens.letters, tokens.stops, *_get_keys(tokens), self.count, self._table, numbers)
        if grow and missing:
            self.add(tokens, numbers)
        return numbers

    def count_tokens(self, tokens: Tokens, grow: bool) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the distinct numbers of one document's tokens, sorted, and their counts."""
        size, keys = len(tokens.stops), _get_keys(tokens)
        numbers, indices, counts = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.float32)
        most = self.most if grow else 0
        done, known, filled = number_and_count(
            tokens.letters, tokens.stops, *keys, self.count, most, self._table, numbers, indices, counts
        )
        if grow:  # a lookup must not write: another thread may be adding names
            self.count = known
        if done < size:
            self._make_room(tokens, done)
            self.add(tokens, numbers)
            filled = count_few(numbers, indices, counts)
        return indices[:filled], counts[:filled]

    def add(self, tokens: Tokens, numbers: NDArray[np.int32]) -> None:
        """Assign numbers to the tokens without one, up to the cap; writes `numbers`."""
        done, keys = 0, _get_keys(tokens)
        while True:
            done, self.count = add_names(
                tokens.letters, tokens.stops, *keys, done, self.count, self.most, self._table, numbers
            )
            if done == len(numbers):
                return
            self._make_room(tokens, done)

    def _make_room(self, tokens: Tokens, done: int) -> None:
        """Double the table, with room for at least the next name."""
        old = self._table
        need = int(tokens.stops[done]) - (int(tokens.stops[done - 1]) if done else 0)
        self._table = _new_table(2 * len(old.stops), 2 * len(old.letters) + need, old.seeds)
        self._table.keys[: self.count] = old.keys[: self.count]
        self._table.hashes[: self.count] = old.hashes[: self.count]
        self._table.stops[: self.count] = old.stops[: self.count]
        self._table.letters[: len(old.letters)] = old.letters
        fill_slots(self.count, self._table)

    def join(self, letters: NDArray[np.uint8], stops: NDArray[np.int64]) -> "Vocabulary":
        """Return a vocabulary of these names, followed by other ones, which must be new."""
        stops = np.concatenate((self.stops, stops + len(self.letters)))
        return Vocabulary.from_names(np.concatenate((self.letters, letters)), stops, self.most)

    def select(self, chosen: NDArray[np.int64]) -> "Vocabulary":
        """Return a vocabulary of the names of the chosen numbers, in that order."""
        return Vocabulary.from_names(*gather_names(self.letters, self.stops, chosen), self.most)


def _get_keys(tokens: Tokens) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys and rests of the tokens, and compute them unless the tokenizer has done so."""
    if len(tokens.keys) == len(tokens.stops):
        return tokens.keys, tokens.rests
    keys, rests = np.empty(len(tokens.stops), dtype=np.int64), np.empty(len(tokens.stops), dtype=np.int64)
    make_keys(tokens.letters, tokens.stops, keys, rests)
    return keys, rests


def _new_table(n_names: int, n_letters: int, seeds: tuple[int, int] | None = None) -> Table:
    slots = 1 << max(2 * n_names, 8).bit_length()
    return Table(
        np.full((slots, 2), ABSENT, dtype=np.int64),
        np.zeros(max(n_names, 1), dtype=np.int64),
        np.zeros(max(n_names, 1), dtype=np.int64),
        np.zeros(max(n_names, 1), dtype=np.int64),
        np.zeros(max(n_letters, 1), dtype=np.uint8),
        seeds or SEEDS,  # the seeds of the existing hashes, which may be another process's
    )


def make_entries(
    numbers: NDArray[np.int32], documents: NDArray[np.int64], n_names: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each document's counts as entries (number << 32 | count), and the end of each document."""
    counted, ends = np.empty(len(numbers), dtype=np.int64), documents.copy()
    filled = count_entries(numbers, ends, np.full(n_names, -1, dtype=np.int64), counted)
    return counted[:filled], ends
