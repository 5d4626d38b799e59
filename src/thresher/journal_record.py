"""One line of the journal, and how it is kept: `pack` and `unpack`, which refuses what no journal would have written.

SQLite keeps no checksums of what it holds, so a disk may change a letter of a record without a word. So each record has
a seal, a fingerprint of all its columns.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from thresher.feature_checks import is_count, is_name

KINDS = ("correction", "categories", "undo", "skip")
_COLUMNS = (int, str, str, str, str, str, str | None, bytes | None, str, int | None)  # from `seq` to `undone_by`
_HARMLESS, _RATIO = 2**26, 200  # bytes that features may always take, and times as many as they are compressed


class DamagedError(Exception):
    """Something in a journal is not as it was written; the message says what, but not in which file."""


class Record(NamedTuple):
    """One line of the journal.

    Parameters
    ----------
    seq : int
        Its place, from 1 on without a gap.
    id : str
        Made by whoever sent it: the same one twice is the same correction.
    kind : str
        One of KINDS.
    time, user : str
        When, in ISO 8601, and who.
    body : dict
        What is to be done: for a correction {"accept", "reject"} or {"categories"}.
    text : str, dict or None
        The text, or its fields; None where there was none or it has been forgotten.
    features : list of (name, count), or None
        What was found in the text, in the order of first sight.
    digest : str
        Of the features.
    undone_by : int or None
        The record that undid it.
    effect : dict or None
        What it changed, where that has been told: {"predicted", "mistakes", "promoted", "demoted"}.
    """

    seq: int
    id: str
    kind: str
    time: str
    user: str
    body: dict[str, Any]
    text: Any
    features: list[tuple[str, int]] | None
    digest: str
    undone_by: int | None
    effect: dict[str, Any] | None = None


def pack(value: Any) -> str | None:
    """Return what a column of text holds of a value."""
    return None if value is None else json.dumps(value, ensure_ascii=False)


def pack_features(features: list[tuple[str, int]] | None) -> bytes | None:
    """Return what the column of features holds."""
    return None if features is None else zlib.compress(json.dumps(features).encode())


def seal(*columns: Any) -> str:
    """Return a fingerprint of a record as its columns hold it, from `seq` to `undone_by`."""
    return hashlib.sha256(json.dumps(columns, default=bytes.hex).encode()).hexdigest()


def unpack(row: tuple[Any, ...]) -> Record:
    """Return a row as a record, or raise a DamagedError; of one that was skipped, as it is damaged, next to nothing.

    The row has all columns of the record, its seal or, where not all that it seals is there, None, and the effect. A
    record that was skipped though damaged has no seal.
    """
    seq, id, kind, time, user, body, text, features, digest, undone_by, sealed, effect = row
    if undone_by is not None and sealed == "":
        return Record(seq, id, kind, time, user, {}, None, None, digest, undone_by)
    with _damage_of(f"record {seq}", seq):
        if sealed is not None and sealed != seal(*row[:10]):
            raise DamagedError("it is not what was written")
        if not all(isinstance(value, kinds) for value, kinds in zip(row, _COLUMNS, strict=False)):
            raise DamagedError("it holds what no column of its kind does")
        parts = _body(kind, body), _text(text), _features(features), _effect(effect)
    return Record(seq, id, kind, time, user, *parts[:3], digest, undone_by, parts[3])


def unpack_body(seq: int, kind: str, packed: str) -> dict[str, Any]:
    """Return the body of a record, or raise a DamagedError."""
    with _damage_of(f"record {seq}", seq):
        return _body(kind, packed)


def unpack_document(id: str, packed: str) -> Any:
    """Return the text of a document to review, or raise a DamagedError."""
    with _damage_of(f"document {str(id)[:50]!r} to review"):
        return _text(packed)


@contextmanager
def _damage_of(what: str, seq: int | None = None) -> Iterator[None]:
    """Say of what a damage is, and what to do."""
    try:
        yield
    except (DamagedError, ValueError, RecursionError, zlib.error) as error:
        advice = "take a backup" if seq is None else f"thresher journal skip MODEL {seq} leaves it out"
        raise DamagedError(f"{what} is damaged: {str(error).splitlines()[0]} ({advice})") from None


def _body(kind: str, packed: str) -> dict[str, Any]:
    body = _loaded(packed)
    if kind not in _BODIES or not isinstance(body, dict) or not _BODIES[kind](body):
        raise DamagedError(f"its body is none of a record of kind {str(kind)[:20]!r}")
    return body


def _corrects(body: dict[str, Any]) -> bool:
    lists = ("categories",) if "categories" in body else ("accept", "reject")
    return all(_are_texts(body.get(name)) for name in lists) and isinstance(body.get("document", ""), str)


def _changes(body: dict[str, Any]) -> bool:
    named = isinstance(body.get("change"), str) and _are_texts(body.get("names"))
    threshold = body.get("threshold", None if body.get("change") == "threshold" else 0.0)
    return named and isinstance(body.get("into", ""), str) and isinstance(threshold, float)


def _undoes(body: dict[str, Any]) -> bool:
    seqs = body.get("seqs")
    return isinstance(seqs, list) and all(type(seq) is int for seq in seqs)


_BODIES: dict[str, Callable[[dict[str, Any]], bool]] = dict(
    zip(KINDS, (_corrects, _changes, _undoes, _undoes), strict=True)
)


def _text(packed: str | None) -> Any:
    text = None if packed is None else _loaded(packed)
    if text is None or isinstance(text, str) or (isinstance(text, dict) and _are_texts(list(text.values()))):
        return text
    raise DamagedError("its text is none")


def _features(packed: bytes | None) -> list[tuple[str, int]] | None:
    if packed is None:
        return None
    pairs = _loaded(_decompressed(packed).decode("ascii"))
    if not isinstance(pairs, list) or not all(map(_is_feature, pairs)) or len({name for name, _ in pairs}) < len(pairs):
        raise DamagedError("its features are not names with counts, each once")
    return [(name, count) for name, count in pairs]


def _decompressed(packed: bytes) -> bytes:
    """Return what was compressed, but for what was made to take all memory: names and counts shrink far less."""
    engine = zlib.decompressobj()
    found = engine.decompress(packed, _HARMLESS + _RATIO * len(packed))
    if not engine.eof or engine.unused_data:
        raise DamagedError("its features do not end where they should")
    return found


def _is_feature(pair: Any) -> bool:
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    return is_name(pair[0]) and is_count(pair[1])


def _effect(packed: str | None) -> dict[str, Any] | None:
    effect = None if packed is None else _loaded(packed)
    if effect is None or (isinstance(effect, dict) and _are_texts(effect.get("mistakes"))):
        return effect
    raise DamagedError("its effect is none")


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _loaded(packed: str) -> Any:
    if not isinstance(packed, str):
        raise DamagedError("it holds no text where that must be")
    found = json.loads(packed)
    if "\\u" in packed:  # the only way to write half a letter
        json.dumps(found, ensure_ascii=False).encode()
    return found
