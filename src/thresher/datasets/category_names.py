"""Validate category names, and normalize the categories that callers pass for a text."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from thresher.errors import TextError

MAX_NAME_LENGTH = 200


def normalize_categories(entry: Any) -> list[str]:
    """Return the sorted, unique categories of a text from one name or a collection of names.

    Results for tuples are cached, as few of them differ in a corpus.

    >>> normalize_categories("grain"), normalize_categories({"wheat", "grain"})
    (['grain'], ['grain', 'wheat'])
    """
    try:
        return list(_normalize_tuple(entry)) if type(entry) is tuple else _normalize(entry)
    except TypeError:  # an unhashable entry is not a name either, and raises the right error here
        return _normalize(entry)


@lru_cache(maxsize=2**12)
def _normalize_tuple(names: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(_normalize(names))


def _normalize(entry: Any) -> list[str]:
    if isinstance(entry, str):
        entry = [entry]
    if isinstance(entry, Mapping) or not isinstance(entry, Iterable):
        raise TextError(f"categories must be a name or a collection of names, not {type(entry).__name__}")
    names = list(entry)
    for name in names:
        if not isinstance(name, str):
            raise TextError(f"a category's name must be str, not {type(name).__name__}")
        check_name(name)
    return sorted(set(names))


def normalize_each(entries: Any) -> list[list[str]]:
    """Return the sorted, unique categories of each text."""
    if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):
        raise TextError(
            "categories must hold an entry for each text, and this is a single one", hint="put it into a list"
        )
    return [normalize_categories(entry) for entry in entries]


@lru_cache(maxsize=2**16)
def check_name(name: str) -> None:
    """Raise a TextError if a category may not have this name."""
    if not name.strip() or len(name) > MAX_NAME_LENGTH or any(ord(letter) < 32 for letter in name):
        allowed = f"1 to {MAX_NAME_LENGTH} characters, not only spaces and none of them a control character"
        raise TextError("category {name} is not a valid name", hint=f"allowed: {allowed}", name=name[:50])
    if any(0xD800 <= ord(letter) < 0xE000 for letter in name):
        raise TextError("category {name} holds a lone surrogate", name=name[:50])


def find_new_names(rows: list[list[str]], known: list[str]) -> list[str]:
    """Return the names that are not in `known`, in order of first occurrence."""
    present = set(known)
    return [name for name in dict.fromkeys(name for row in rows for name in row) if name not in present]


def abbreviate(names: list[str]) -> str:
    """Return the first five names as text, for a message."""
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "") if names else "none"
