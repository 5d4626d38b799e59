"""Check category names as users type them: known names, allowed new names, and suggestions for unknown ones."""

import difflib
import unicodedata
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thresher.web.errors import Problem

MAX_COMPARED = 50  # names: comparing two takes long
MAX_COMPARED_LETTERS = 60  # letters
_MARKS = frozenset("\u061c\u200e\u200f")  # invisible direction marks for single letters, which some scripts need
_COUNTED = 64  # buckets in which letters and letter pairs are counted
_AT_ONCE = 4096


def clean(name: str) -> str:
    """Return a name as it is stored: NFC-normalized, without surrounding blanks."""
    return unicodedata.normalize("NFC", name).strip()


class CategoryNames:
    """The names of a model's categories, with fast lookup for any number of them.

    Parameters
    ----------
    names : sequence of str
        All names. Lookup tables are built on first use.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.names)

    @cached_property
    def _by_letters(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for name in self.names:
            names.setdefault(name.casefold(), []).append(name)
        return names

    @cached_property
    def _counts(self) -> NDArray[np.uint8]:
        parts = range(0, len(self.names), _AT_ONCE)
        return np.concatenate([_counts_of(self.names[first : first + _AT_ONCE]) for first in parts])

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def resolve(self, name: str, *, create: bool) -> str:
        """Return the stored form of a known name or, with `create`, of a new one."""
        new = clean(name)
        if name in self or new in self:
            return name if name in self else new
        self.check_new(new)
        if not create:
            raise Problem(422, "a category is unknown (create_category makes it)", nearest=self.nearest(new))
        return new

    def check_known(self, name: str) -> None:
        """Raise a Problem if no category has this name."""
        if name not in self:
            raise Problem(404, "there is no category of this name", nearest=self.nearest(name))

    def check_new(self, name: str, but: Sequence[str] = ()) -> None:
        """Raise a Problem if a new category may not have this name, or if the name exists in other letters.

        Names in `but` may be like it.
        """
        check_visible(name)
        twins = self._by_letters.get(name.casefold(), [])
        if [other for other in twins if other not in but and other != name]:
            raise Problem(409, "this category exists in other letters", nearest=twins)

    def nearest(self, name: str) -> list[str]:
        """Return the most similar names, compared by their beginnings; of many, only those that share most letters."""
        name, names = name[:MAX_COMPARED_LETTERS], list(self.names)
        if len(names) > MAX_COMPARED:
            names = [names[i] for i in self._most_alike(name)]
        whole: dict[str, list[str]] = {}
        for other in names:
            whole.setdefault(other[:MAX_COMPARED_LETTERS], []).append(other)
        beginnings = difflib.get_close_matches(name, list(whole), n=5, cutoff=0.5)
        return [other for beginning in beginnings for other in whole[beginning]][:5]

    def _most_alike(self, name: str) -> list[int]:
        """Return which names share most letters and letter pairs with this one, in their order."""
        letters, counts = _counts_of([name])[0], self._counts
        shared = np.concatenate(
            [
                np.minimum(counts[first : first + _AT_ONCE], letters).sum(axis=1, dtype=np.float32)
                for first in range(0, len(counts), _AT_ONCE)
            ]
        )
        alike = shared / (counts.sum(axis=1, dtype=np.float32) + letters.sum(dtype=np.float32))
        best = np.argpartition(-alike, MAX_COMPARED)[:MAX_COMPARED]
        return sorted(best.tolist())


def check_distinct(names: Sequence[str]) -> None:
    """Raise a Problem if two of these names differ only in capitals."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.casefold(), name)
        if other != name:
            raise Problem(409, "two of these categories differ only in capitals", nearest=[other])


def check_visible(name: str) -> None:
    """Raise a Problem if a name holds invisible characters, or ones that reverse the text after them."""
    unseen = [letter for letter in name if unicodedata.category(letter) in ("Cc", "Cf")]
    if not _MARKS.issuperset(unseen) or len(unseen) == len(name):
        raise Problem(422, "a category name has invisible characters")


def _counts_of(names: Sequence[str]) -> NDArray[np.uint8]:
    """Return how often each name's beginning has each letter and each letter pair, hashed into a few buckets."""
    letters = (
        np.array(names, dtype=f"U{MAX_COMPARED_LETTERS}").view(np.uint32).reshape(len(names), MAX_COMPARED_LETTERS)
    )
    pairs = letters[:, :-1] * np.uint32(31) + letters[:, 1:]
    rows = np.arange(len(names), dtype=np.int64)[:, np.newaxis] * 2 * _COUNTED
    placed = [
        (rows + codes % _COUNTED + shift)[there]
        for codes, there, shift in ((letters, letters > 0, 0), (pairs, letters[:, 1:] > 0, _COUNTED))
    ]
    counts = np.bincount(np.concatenate(placed), minlength=2 * _COUNTED * len(names))
    return counts.reshape(len(names), 2 * _COUNTED).astype(np.uint8)
