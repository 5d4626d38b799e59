"""How a corpus is to be read: what callers may settle, and what is guessed where they do not."""

import codecs
from dataclasses import dataclass

from thresher.errors import ParameterError

LONGEST_DOCUMENT, MOST_BYTES = 1_000_000, 2**31 - 1
MOST_CATEGORIES = 1_000


@dataclass(frozen=True)
class ReadOptions:
    """What a reader is told; every reader takes what concerns it.

    Parameters
    ----------
    text, categories : tuple of str
        The fields or columns that hold them; empty: guessed by name.
    id : str
        The field or column that names a document; empty: guessed, or else the number of its line.
    separator : str or None
        What separates several categories in one cell; None: "|" in cells of CSV and TSV, and nothing elsewhere.
    delimiter : str or None
        What separates columns; None: the format's own.
    quoting : bool
        Whether quotes in CSV and TSV enclose fields, or are characters like others.
    encoding, decode_errors : str or None, str
        How bytes become text: None is UTF-8, and Latin-1 for SGML. "strict" refuses a byte that does not fit,
        "replace" puts U+FFFD in its place.
    labelled : bool
        Refuse a source that has no place for categories.
    allow_empty : bool
        Take a source without documents.
    skip_bad, max_bad : bool, int or None
        Skip records that cannot be read, at most so many, instead of stopping at the first.
    longest : int
        The size in bytes beyond which a record is refused; less than 2 GB.
    label_prefix : str
        What marks a category in fastText's format.
    """

    text: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    id: str = ""
    separator: str | None = None
    delimiter: str | None = None
    quoting: bool = True
    encoding: str | None = None
    decode_errors: str = "strict"
    labelled: bool = False
    allow_empty: bool = False
    skip_bad: bool = False
    max_bad: int | None = None
    longest: int = LONGEST_DOCUMENT
    label_prefix: str = "__label__"

    def __post_init__(self) -> None:
        for name in ("text", "categories"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        try:
            " ".encode(self.codec)  # codecs.lookup knows some that are none for text
        except (LookupError, ValueError):
            allowed = "utf-8, latin-1, cp1252, ..."
            raise ParameterError(f"encoding={self.encoding!r} is unknown (allowed: {allowed})") from None
        if codecs.lookup(self.codec).name == "utf-7":  # in pieces Python reads other text, or sees no error
            raise ParameterError(f"encoding={self.encoding!r} cannot be relied on (convert it to utf-8 first)")
        if self.decode_errors not in ("strict", "replace"):
            raise ParameterError(f"decode_errors={self.decode_errors!r} is unknown (allowed: strict, replace)")
        if not self.label_prefix or " " in self.label_prefix:
            raise ParameterError(f"label_prefix={self.label_prefix!r} marks nothing (allowed: one word)")
        if self.separator == "":
            raise ParameterError("separator='' separates nothing (allowed: None or at least one character)")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '\r\n"'):
            raise ParameterError(f"delimiter={self.delimiter!r} is out of range (allowed: one character)")
        for name, least in (("longest", 1), ("max_bad", 0)):
            number = getattr(self, name)
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < least):
                raise ParameterError(f"{name}={number!r} is out of range (allowed: a whole number from {least})")
        if self.longest > MOST_BYTES:
            raise ParameterError(f"longest={self.longest} is out of range (allowed: up to {MOST_BYTES:,})")

    @property
    def is_utf8(self) -> bool:
        """Whether the bytes are read as they are."""
        return codecs.lookup(self.codec).name == "utf-8"

    @property
    def codec(self) -> str:
        """The encoding, where none is given the usual one."""
        return "utf-8" if self.encoding is None else self.encoding
