"""The exceptions that the library raises, with fields that the command line and the service format."""

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, Self

_VALUE = re.compile(r"\{(\w+)\}")
_PARAMETER = re.compile(r"\{\{|\}\}|\{(\w+)(?:=([^{}]*))?\}")

NameParameter = Callable[[str, str | None], str]  # shows a parameter, with a value for it or None


def as_argument(name: str, value: str | None = None) -> str:
    """Return a parameter as it is written in a call.

    >>> as_argument("encoding", "latin-1"), as_argument("skip_bad", "True"), as_argument("text")
    ("encoding='latin-1'", 'skip_bad=True', 'text')
    """
    if value is None:
        return name
    return f"{name}={value}" if value in ("True", "False") else f"{name}={value!r}"


class ThresherError(Exception):
    """The root of every exception of the library's own. Its text is "PATH:LINE: PROBLEM (HINT)".

    Parameters
    ----------
    problem : str
        What is wrong. `{name}` in it is replaced by one of the `values`.
    path, line : str, int or None
        Where: a file or another source, and the line.
    hint : str
        What to do, or what is allowed. `{name}` and `{name=value}` in it name a parameter, unless there is a value of
        that name. `escape_braces` protects data in it.
    **values
        The values that the problem quotes. They may come from a request, so the service does not repeat them.

    Examples
    --------
    >>> error = ThresherError("{byte} is not UTF-8", hint="use {encoding=latin-1}", byte="0xff").at("a.csv", 3)
    >>> str(error)
    "a.csv:3: '0xff' is not UTF-8 (use encoding='latin-1')"
    >>> error.line, error.parameters()
    (3, ['encoding'])
    """

    def __init__(
        self, problem: str = "", *, path: object = "", line: int | None = None, hint: str = "", **values: Any
    ) -> None:
        super().__init__(problem)
        self.problem, self.hint, self.values = problem, hint, values
        self.path, self.line = str(path), line

    def at(self, path: object, line: int | None = None) -> Self:
        """Return this error after noting its `path` and `line`; a place that is known already stays."""
        if not self.path:
            self.path, self.line = str(path), line
        return self

    def parameters(self) -> list[str]:
        """Return the parameters that the hint names."""
        names = [match[1] for match in _PARAMETER.finditer(self.hint) if match[1]]
        return [name for name in names if name not in self.values]

    def message(self, name_parameter: NameParameter = as_argument, *, with_values: bool = True) -> str:
        """Return problem and hint, without the place.

        `name_parameter` writes the parameters in the hint. Unless `with_values`, nothing of a request is repeated.
        """
        show = _show if with_values else _leave_out

        def show_part(match: re.Match[str]) -> str:
            name, value = match.groups()
            if name is None:
                return match[0][0]
            return show(self.values[name]) if name in self.values else name_parameter(name, value)

        problem, hint = self._problem(name_parameter, show), _PARAMETER.sub(show_part, self.hint)
        text = f"{problem} ({hint})" if hint else problem
        return text if with_values else " ".join(text.split())

    def template(self) -> tuple[str, dict[str, Any]]:
        """Return the problem with its place, for another error that quotes it, and the values that it quotes."""
        place = self.place()
        return (f"{place}: {self.problem}" if place else self.problem), self.values

    def _problem(self, name_parameter: NameParameter, show: Callable[[Any], str]) -> str:
        known = self.values
        return _VALUE.sub(lambda match: show(known[match[1]]) if match[1] in known else match[0], self.problem)

    def place(self) -> str:
        """Return where it occurred, as "PATH:LINE"; empty if unknown."""
        return self.path if self.line is None else f"{self.path}:{self.line}"

    def __str__(self) -> str:
        place, message = self.place(), self.message()
        return f"{place}: {message}" if place else message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


def escape_braces(text: str) -> str:
    """Return a text that a hint shows as it is, even if something in it looks like a parameter.

    >>> print(ThresherError("no such column", hint="there are: " + escape_braces("{id}")))
    no such column (there are: {id})
    """
    return text.replace("{", "{{").replace("}", "}}")


def _leave_out(value: Any) -> str:
    return ""


def _show(value: Any) -> str:
    if isinstance(value, PurePath):
        return str(value)
    return f"{value:,}" if type(value) is int else repr(value)


class ParameterError(ThresherError, ValueError):
    """A parameter is unknown or out of range; the message names it, its value and what is allowed.

    Attributes
    ----------
    parameter : str
        The name of the parameter; empty if the error concerns several.
    value : object
        Its value.
    """

    parameter: str = ""
    value: object = None

    @classmethod
    def of(cls, parameter: str, value: object, hint: str = "", *, allowed: str = "") -> Self:
        """Return the error for a `parameter` with its `value`: a `hint`, and what is `allowed` instead.

        >>> str(ParameterError.of("folds", 1, allowed="2 to 100"))
        'invalid folds: 1 (allowed: 2 to 100)'
        """
        error = cls(f"invalid {parameter}", hint="; ".join(filter(None, (hint, allowed and f"allowed: {allowed}"))))
        error.parameter, error.value = parameter, value
        return error

    def template(self) -> tuple[str, dict[str, Any]]:
        """Return the problem with its place, for another error that quotes it, and the values that it quotes."""
        problem, values = super().template()
        return (f"{problem}: {{value}}", values | {"value": self.value}) if self.parameter else (problem, values)

    def _problem(self, name_parameter: NameParameter, show: Callable[[Any], str]) -> str:
        if not self.parameter:
            return super()._problem(name_parameter, show)
        name, value = name_parameter(self.parameter, None), show(self.value)
        return f"invalid {name}: {self.value!r}" if value else f"invalid {name}"


class RowsError(ThresherError, ValueError):
    """The rows or labels given to a learner are malformed; the message says where and what to do."""


class NotFittedError(ThresherError, ValueError):
    """A learner was asked for scores before it had learned anything."""


class TextError(ThresherError, ValueError):
    """A text or category name cannot be used as it is; the message says why and what to change.

    Parameters
    ----------
    problem : str
        What is wrong, as for `ThresherError`.
    index : int, optional
        Which one of several texts it is, counted from 0.
    **fields
        Those of `ThresherError`.
    """

    def __init__(self, problem: str = "", *, index: int | None = None, **fields: Any) -> None:
        super().__init__(problem, **fields)
        self.index = index

    def place(self) -> str:
        """Return where it occurred: a place in a file or, if that is not known, the number of the text."""
        return super().place() or (f"text {self.index}" if self.index is not None else "")


class ModelFileError(ThresherError, ValueError):
    """A model file is damaged, foreign or newer than this library, or would not be readable; the message names it."""


class LemmatizerError(ModelFileError):
    """A model was trained with other versions of its lemmatizers; the message names them and says what to install."""


class SpillError(ThresherError, OSError):
    """A temporary file, for what does not fit into memory, cannot be written; the message says where and what to do."""


class JournalError(ThresherError):
    """A journal is damaged, foreign or does not fit its model, or cannot be written; the message names it."""


class JournalBusyError(JournalError):
    """Another process has the journal open; the message names the process."""


class JournalBrokenError(JournalError):
    """The disk failed: the last record may or may not be saved, and no more are saved until a restart."""


class JournalFullError(JournalError):
    """The disk has too little room for a record: it is neither saved nor applied, and may be sent again."""


class JournalMemoryError(JournalError, MemoryError):
    """A record is saved, but memory does not suffice to apply it; the message names it and says what to do."""


class RepeatedIdError(ThresherError):
    """An id was used before with other content."""


class DataError(ThresherError, ValueError):
    """A corpus cannot be read as it is; the message names file and line, what is wrong and what to do."""


class MissingPackageError(ThresherError, ImportError):  # type: ignore[misc]  # both have a path
    """A part of the library needs a package that is not installed; the message names the extra that installs it."""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error is a lack of memory; if Python has none for a frame, only this message says so."""
    return isinstance(error, MemoryError) or (
        isinstance(error, SystemError) and str(error) == "error return without exception set"
    )


def printable(text: str) -> str:
    """Return a text with escapes for characters that break lines, control a terminal or cannot be encoded.

    >>> printable("two\\nlines")
    'two\\\\nlines'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
