"""Strict JSON for model files, journals, request bodies and corpora: two readers of a text never disagree about it.

Refused are text that is not UTF-8, NaN and infinities, numbers beyond the floats, a key that occurs twice in an object,
lone surrogates, and more depth than the interpreter can read. The caller may also limit the digits of integers.
"""

import json
import re
from functools import cache, partial
from math import isfinite
from reprlib import repr as shown
from typing import Any, Never

MAX_DEPTH = 200  # levels that every Python version can read, and Thresher can write
_TOO_DEEP = "it is nested too deeply"
_SPACES = " \t\n\r"
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class JsonError(ValueError):
    """A text is not strict JSON.

    Attributes
    ----------
    message : str
        What is wrong, without quoting the text.
    position : int or None
        The number of the character, or of the byte if it is not UTF-8; None where the parser does not know it.
    quoted : str
        The key or the number that is wrong, or "".
    """

    def __init__(self, message: str, position: int | None = None, quoted: str = "") -> None:
        super().__init__(f"{message}: {shown(quoted)}" if quoted else message)
        self.message, self.position, self.quoted = message, position, quoted


def parse(source: bytes | str, *, max_digits: int | None = None) -> Any:
    """Return the value of a JSON text, whose integers have at most `max_digits` characters, the sign included.

    >>> parse(b'{"text": "oil"}')
    {'text': 'oil'}
    """
    text = _decode(source) if isinstance(source, bytes) else source
    if text.startswith("\ufeff"):
        raise JsonError("it begins with a byte order mark (leave it out)", 0)
    try:
        value, end = _make_decoder(max_digits).raw_decode(text, len(text) - len(text.lstrip(_SPACES)))
    except JsonError:
        raise
    except json.JSONDecodeError as error:
        raise JsonError(f"{error.msg.lower()} at character {error.pos}", error.pos) from None
    except ValueError:
        raise JsonError("a number has too many digits") from None
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None
    if end < len(text) and text[end:].strip(_SPACES):
        raise JsonError(f"something follows its end at character {end}", end)
    if "\\u" in text and _ESCAPED_SURROGATE.search(text):
        _check_characters(value)
    return value


def is_deeper(value: Any, max_depth: int) -> bool:
    """Return whether lists and objects are nested more than `max_depth` deep."""
    level = [value]
    for _ in range(max_depth + 1):
        level = [one for one in level if type(one) is dict or type(one) is list]
        if not level:
            return False
        level = [part for one in level for part in (one.values() if type(one) is dict else one)]
    return True


def check_keys(source: bytes | str) -> None:
    """Raise a JsonError if a key occurs twice in an object of a text that another parser has accepted."""
    _make_decoder(None).decode(_decode(source) if isinstance(source, bytes) else source)


def _decode(source: bytes) -> str:
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        raise JsonError(f"it is not UTF-8 at byte {error.start}", error.start) from None


@cache
def _make_decoder(max_digits: int | None) -> json.JSONDecoder:
    bounded = None if max_digits is None else partial(_parse_integer, max_digits=max_digits)
    return json.JSONDecoder(
        parse_constant=_refuse_constant, object_pairs_hook=_build_object, parse_int=bounded, parse_float=_parse_float
    )


def _refuse_constant(name: str) -> Never:
    raise JsonError(f"number {name} is not finite")


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonError("a key occurs twice", quoted=key)
            seen.add(key)
    return result


def _parse_integer(digits: str, max_digits: int) -> int:
    if len(digits) > max_digits:
        raise JsonError("a number is out of range", quoted=digits)
    return int(digits)


def _parse_float(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise JsonError("a number is not finite", quoted=digits)
    return number


def _check_characters(value: Any) -> None:
    """Raise a JsonError for a lone surrogate, half of a character, which only an escape can hold."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise JsonError("it holds a lone surrogate, which is half of a character") from None
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None
