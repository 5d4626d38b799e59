"""The options for reading a corpus, with their defaults and checks."""

import codecs
from dataclasses import dataclass

from thresher.errors import ParameterError

LONGEST_DOCUMENT, MOST_BYTES = 1_000_000, 2**31 - 1
MOST_CATEGORIES = 1_000


@dataclass(frozen=True)
class ReadOptions:
    """The options for reading a corpus; each reader uses those that apply to it.

    Parameters
    ----------
    text, categories : tuple of str
        The fields or columns that hold the text and the categories. If empty, they are guessed by name.
    id : str
        The field or column that holds the id. If empty, it is guessed by name, or else the line number is the id.
    separator : str or None
        The separator between categories in one cell. None means "|" in CSV and TSV, a comma in svmlight files,
        whitespace in LibMultiLabel files, and no separator elsewhere.
    delimiter : str or None
        The delimiter between columns. None means that of the format.
    quoting : bool
        Whether quotes enclose fields in CSV and TSV, or are ordinary characters.
    encoding, decode_errors : str or None, str
        The encoding, where None means UTF-8, or Latin-1 for SGML. An invalid byte is an error with "strict" and
        becomes U+FFFD with "replace".
    labelled : bool
        Whether to raise an error for a source without categories, such as plain text or CSV without their column.
    allow_empty : bool
        Whether to accept a source without documents.
    skip_bad, max_bad : bool, int or None
        Whether to skip records that cannot be read, and the maximum number of them. By default, the first one is an
        error.
    longest : int
        The maximum size of a record in bytes, less than 2 GB.
    label_prefix : str
        The prefix of categories in the fastText format.
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
            " ".encode(self.codec)  # codecs.lookup also accepts codecs that are not text encodings
        except (LookupError, ValueError):
            allowed = "utf-8, latin-1, cp1252, ..."
            raise ParameterError.of("encoding", self.encoding, f"is unknown (allowed: {allowed})") from None
        if codecs.lookup(self.codec).name == "utf-7":  # decoding it in pieces gives other text, or hides errors
            raise ParameterError.of("encoding", self.encoding, "cannot be relied on (convert it to utf-8 first)")
        if self.decode_errors not in ("strict", "replace"):
            raise ParameterError.of("decode_errors", self.decode_errors, "is unknown (allowed: strict, replace)")
        if not self.label_prefix or " " in self.label_prefix:
            raise ParameterError.of("label_prefix", self.label_prefix, "marks nothing (allowed: one word)")
        if self.separator == "":
            raise ParameterError.of("separator", "", "separates nothing (allowed: None or at least one character)")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '\r\n"'):
            raise ParameterError.of("delimiter", self.delimiter, "is out of range (allowed: one character)")
        for name, least in (("longest", 1), ("max_bad", 0)):
            number = getattr(self, name)
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < least):
                raise ParameterError.of(name, number, f"is out of range (allowed: a whole number from {least})")
        if self.longest > MOST_BYTES:
            raise ParameterError.of("longest", self.longest, f"is out of range (allowed: up to {MOST_BYTES:,})")

    @property
    def is_utf8(self) -> bool:
        """Whether the encoding is UTF-8, so that bytes are read unchanged."""
        return codecs.lookup(self.codec).name == "utf-8"

    @property
    def codec(self) -> str:
        """The encoding; UTF-8 by default."""
        return "utf-8" if self.encoding is None else self.encoding
