"""A record of the journal, with functions to serialize it and to validate it when it is read.

SQLite has no checksums, so a disk error can change a record silently. Therefore each record has a seal, a SHA-256 of
all its columns.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from thresher.support import strict_json
from thresher.text.feature_checks import is_count, is_name

KINDS = ("correction", "categories", "undo", "skip")
_COLUMNS = (int, str, str, str, str, str, str | None, bytes | None, str, int | None)  # from `seq` to `undone_by`
_HARMLESS, _RATIO = 2**26, 200  # size limit of features: bytes, plus this multiple of their compressed size


class DamagedError(Exception):
    """Part of a journal is damaged; the message does not name the file."""


class Entry(NamedTuple):
    """The contents of a new record; the log adds its number and its time.

    Parameters
    ----------
    id, kind, user, body, text, features, digest
        As in `Record`.
    """

    id: str
    kind: str
    user: str
    body: dict[str, Any]
    text: Any = None
    features: list[tuple[str, int]] | None = None
    digest: str = ""


class Record(NamedTuple):
    """One record of the journal.

    Parameters
    ----------
    seq : int
        The sequence number, from 1 on without gaps.
    id : str
        The id chosen by the client. A repeated id means the same correction.
    kind : str
        One of KINDS.
    time, user : str
        The time in ISO 8601, and the user.
    body : dict
        The content: for a correction {"accept", "reject"} or {"categories"}.
    text : str, dict or None
        The text or its fields; None if there was no text or it has been forgotten.
    features : list of (name, count), or None
        The features of the text with their counts, in order of first occurrence.
    digest : str
        The digest of the features.
    undone_by : int or None
        The number of the record that undid it.
    effect : dict or None
        The effect of a correction, if known: {"predicted", "mistakes", "promoted", "demoted"}.
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
    """Return a value as JSON for a text column, or None for None."""
    return None if value is None else json.dumps(value, ensure_ascii=False)


def pack_features(features: list[tuple[str, int]] | None) -> bytes | None:
    """Return features as compressed JSON for their column, or None for None."""
    return None if features is None else zlib.compress(json.dumps(features).encode())


def seal(*columns: Any) -> str:
    """Return the SHA-256 of the columns of a record, from `seq` to `undone_by`."""
    return hashlib.sha256(json.dumps(columns, default=bytes.hex).encode()).hexdigest()


def unpack(row: tuple[Any, ...]) -> Record:
    """Return the record of a row, or raise a DamagedError.

    The row has all columns of the record, the seal and the effect. The seal is None if the row lacks some of the sealed
    columns. A damaged record that was skipped has an empty seal, and is returned with an empty body and without text,
    features and effect.
    """
    seq, id, kind, time, user, body, text, features, digest, undone_by, sealed, effect = row
    if undone_by is not None and sealed == "":
        return Record(seq, id, kind, time, user, {}, None, None, digest, undone_by)
    with _name_damage(f"record {seq}", seq):
        if sealed is not None and sealed != seal(*row[:10]):
            raise DamagedError("its seal does not match")
        if not all(isinstance(value, kinds) for value, kinds in zip(row, _COLUMNS, strict=False)):
            raise DamagedError("a column has the wrong type")
        parts = _parse_body(kind, body), _parse_text(text), _parse_features(features), _parse_effect(effect)
    return Record(seq, id, kind, time, user, *parts[:3], digest, undone_by, parts[3])


def unpack_body(seq: int, kind: str, packed: str) -> dict[str, Any]:
    """Return the body of a record, or raise a DamagedError."""
    with _name_damage(f"record {seq}", seq):
        return _parse_body(kind, packed)


def unpack_document(id: str, packed: str) -> Any:
    """Return the text of a document to review, or raise a DamagedError."""
    with _name_damage(f"document {str(id)[:50]!r} to review"):
        return _parse_text(packed)


@contextmanager
def _name_damage(what: str, seq: int | None = None) -> Iterator[None]:
    """Turn errors in the block into a DamagedError that names the damaged item and says what to do."""
    try:
        yield
    except (DamagedError, ValueError, zlib.error) as error:
        advice = "take a backup" if seq is None else f"thresher journal skip MODEL {seq} leaves it out"
        raise DamagedError(f"{what} is damaged: {str(error).splitlines()[0]} ({advice})") from None


def _parse_body(kind: str, packed: str) -> dict[str, Any]:
    body = _load_json(packed)
    if kind not in _IS_BODY_OF or not isinstance(body, dict) or not _IS_BODY_OF[kind](body):
        raise DamagedError(f"its body does not fit a record of kind {str(kind)[:20]!r}")
    return body


def _is_correction(body: dict[str, Any]) -> bool:
    lists = ("categories",) if "categories" in body else ("accept", "reject")
    return all(_are_strings(body.get(name)) for name in lists) and isinstance(body.get("document", ""), str)


def _is_change(body: dict[str, Any]) -> bool:
    named = isinstance(body.get("change"), str) and _are_strings(body.get("names"))
    threshold = body.get("threshold", None if body.get("change") == "threshold" else 0.0)
    return named and isinstance(body.get("into", ""), str) and isinstance(threshold, float)


def _is_undo(body: dict[str, Any]) -> bool:
    seqs = body.get("seqs")
    return isinstance(seqs, list) and all(type(seq) is int for seq in seqs)


_IS_BODY_OF: dict[str, Callable[[dict[str, Any]], bool]] = dict(
    zip(KINDS, (_is_correction, _is_change, _is_undo, _is_undo), strict=True)
)


def _parse_text(packed: str | None) -> Any:
    text = None if packed is None else _load_json(packed)
    if text is None or isinstance(text, str) or (isinstance(text, dict) and _are_strings(list(text.values()))):
        return text
    raise DamagedError("its text is not valid")


def _parse_features(packed: bytes | None) -> list[tuple[str, int]] | None:
    if packed is None:
        return None
    pairs = _load_json(_decompress(packed).decode("ascii"))
    if not isinstance(pairs, list) or not all(map(_is_feature, pairs)) or len({name for name, _ in pairs}) < len(pairs):
        raise DamagedError("its features are not distinct names with counts")
    return [(name, count) for name, count in pairs]


def _decompress(packed: bytes) -> bytes:
    """Return decompressed features; limit the size against decompression bombs, as real features compress far less."""
    engine = zlib.decompressobj()
    unpacked = engine.decompress(packed, _HARMLESS + _RATIO * len(packed))
    if not engine.eof or engine.unused_data:
        raise DamagedError("its features are incomplete or have data after their end")
    return unpacked


def _is_feature(pair: Any) -> bool:
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    return is_name(pair[0]) and is_count(pair[1])


def _parse_effect(packed: str | None) -> dict[str, Any] | None:
    effect = None if packed is None else _load_json(packed)
    if effect is None or (isinstance(effect, dict) and _are_strings(effect.get("mistakes"))):
        return effect
    raise DamagedError("its effect is not valid")


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _load_json(packed: str) -> Any:
    if not isinstance(packed, str):
        raise DamagedError("expected text in a column")
    return strict_json.parse(packed)
