"""Batches of texts that fit into memory, whatever their number and length."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from thresher.errors import TextError
from thresher.text.analysers import Text

MAX_TEXTS, MAX_LETTERS = 768, 2**22


def split_texts(texts: Iterable[Text], most: int | None = None) -> Iterator[list[Text]]:
    """Yield the texts in lists of bounded length and, except for a single longer text, of bounded size."""
    if isinstance(texts, str | bytes | Mapping):
        raise TextError("texts must be a collection of texts, and this is a single one", hint="put it into a list")
    if not isinstance(texts, Iterable):
        raise TextError(f"texts must be a collection of texts, not {type(texts).__name__}")
    remaining = iter(texts)
    while batch := list(islice(remaining, most or MAX_TEXTS)):
        yield from _halve(batch)


def _size(batch: list[Any]) -> int:
    if set(map(type, batch)) == {str}:
        return sum(map(len, batch))
    parts = [
        part
        for text in batch
        for part in (text.values() if type(text) is dict or isinstance(text, Mapping) else [text])
    ]
    if set(map(type, parts)) == {str}:
        return sum(map(len, parts))
    return sum(len(part) for part in parts if isinstance(part, str))


def _halve(batch: list[Any]) -> Iterator[list[Any]]:
    if len(batch) == 1 or _size(batch) <= MAX_LETTERS:
        yield batch
    else:
        yield from _halve(batch[: len(batch) // 2])
        yield from _halve(batch[len(batch) // 2 :])
