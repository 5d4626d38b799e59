"""The options for reading a corpus, with their defaults and checks."""

import codecs
from dataclasses import dataclass

from thresher.errors import ParameterError
from thresher.support.settings import (
    SWITCH,
    Rule,
    check_settings,
    document_settings,
    one_of,
    optional,
    setting,
    whole_number,
)

DEFAULT_LONGEST, MAX_LONGEST = 1_000_000, 2**31 - 1
MAX_CATEGORIES = 1_000
_ANYTHING = Rule("any text", lambda value: True)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


@document_settings
@dataclass(frozen=True)
class ReadOptions:
    """The options for reading a corpus; each reader uses those that apply to it.

    Its parameters are those of `ReadOptions`.
    """

    text: tuple[str, ...] = setting(
        (),
        _ANYTHING,
        "Column with the text; may be given more than once. By default it is guessed by its name.",
        metavar="COLUMN",
    )
    categories: tuple[str, ...] = setting(
        (),
        _ANYTHING,
        "Column with the categories; may be given more than once. By default it is guessed by its name.",
        metavar="COLUMN",
    )
    id: str = setting(
        "",
        _ANYTHING,
        "Column with the document's id. By default it is guessed by its name, or else the line number is the id.",
        metavar="COLUMN",
    )
    separator: str | None = setting(
        None,
        optional(Rule("at least one character", _is_text)),
        """What separates categories in one cell. By default "|" in CSV and TSV, whitespace in LibMultiLabel files, and
        nothing elsewhere.""",
        metavar="TEXT",
    )
    delimiter: str | None = setting(
        None,
        optional(
            Rule("one character", lambda value: isinstance(value, str) and len(value) == 1 and value not in '\r\n"')
        ),
        "What separates columns. By default, the delimiter of the format.",
        metavar="CHARACTER",
    )
    quoting: bool = setting(True, SWITCH, "Whether quotes enclose fields in CSV and TSV.")
    encoding: str | None = setting(
        None,
        _ANYTHING,
        "Encoding of the input (utf-8). SGML is read as Latin-1 by default.",
        metavar="NAME",
    )
    decode_errors: str = setting(
        "strict",
        one_of("strict", "replace"),
        "What an invalid byte is: strict for an error, or replace for U+FFFD.",
        metavar="NAME",
    )
    labelled: bool = setting(False, SWITCH, "Whether a source without categories is an error.")
    allow_empty: bool = setting(False, SWITCH, "Accept input without documents.")
    skip_bad: bool = setting(
        False, SWITCH, "Skip records that cannot be read, and report their number. By default, the first is an error."
    )
    max_bad: int | None = setting(
        None, optional(whole_number(0)), "Skip at most this number of records that cannot be read.", metavar="N"
    )
    longest: int = setting(
        DEFAULT_LONGEST,
        Rule(f"1 to {MAX_LONGEST:,}", lambda value: type(value) is int and 1 <= value <= MAX_LONGEST, "whole number"),
        "Refuse longer records (1,000,000).",
        metavar="BYTES",
    )
    label_prefix: str = setting(
        "__label__",
        Rule("one word", lambda value: _is_text(value) and " " not in value),
        "What marks a category in fastText's format (__label__).",
        metavar="TEXT",
    )

    def __post_init__(self) -> None:
        for name in ("text", "categories"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        try:
            " ".encode(self.codec)  # codecs.lookup also accepts codecs that are not text encodings
        except (LookupError, ValueError):
            raise ParameterError.of("encoding", self.encoding, allowed="utf-8, latin-1, cp1252, ...") from None
        if codecs.lookup(self.codec).name == "utf-7":  # decoding it in pieces gives other text, or hides errors
            raise ParameterError.of("encoding", self.encoding, "it cannot be relied on: convert the file to utf-8")
        check_settings(vars(self), type(self))

    @property
    def is_utf8(self) -> bool:
        """Whether the encoding is UTF-8, so that bytes are read unchanged."""
        return codecs.lookup(self.codec).name == "utf-8"

    @property
    def codec(self) -> str:
        """The encoding; UTF-8 by default."""
        return "utf-8" if self.encoding is None else self.encoding
