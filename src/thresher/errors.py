"""The exceptions that the library raises. The command line and the service translate them."""

from typing import Self


class ThresherError(Exception):
    """The root of every exception of the library's own."""


class ParameterError(ThresherError, ValueError):
    """A parameter is unknown or out of range; the message names it, its value and what is allowed.

    Attributes
    ----------
    parameter : str or None
        The name of the parameter, or None if the error concerns several.
    value : object
        Its value.
    problem : str
        What is wrong with it, and what is allowed.
    """

    parameter: str | None = None
    value: object = None
    problem: str = ""

    @classmethod
    def of(cls, parameter: str, value: object, problem: str) -> Self:
        """Return the error for one `parameter` with its `value` and the `problem` with it.

        >>> ParameterError.of("folds", 1, "is out of range (allowed: 2 to 100)")
        ParameterError('folds=1 is out of range (allowed: 2 to 100)')
        """
        error = cls(f"{parameter}={value!r} {problem}")
        error.parameter, error.value, error.problem = parameter, value, problem
        return error


class RowsError(ThresherError, ValueError):
    """The rows or labels given to a learner are malformed; the message says where and what to do."""


class NotFittedError(ThresherError, ValueError):
    """A learner was asked for scores before it had learned anything."""


class TextError(ThresherError, ValueError):
    """A text, category name or corpus cannot be used as it is; the message says why and what to change."""


class ModelFileError(ThresherError, ValueError):
    """A model file is damaged, foreign or newer than this library, or would not be readable; the message names it."""


class LemmatizerError(ModelFileError):
    """A model was trained with other versions of its lemmatizers; the message names them and says what to install."""


class SpillError(ThresherError, OSError):
    """A temporary file, for what does not fit into memory, cannot be written; the message says where and what to do."""


class JournalError(ThresherError):
    """A journal is damaged, foreign or does not fit its model, or cannot be written; the message names it."""


class JournalBusyError(JournalError):
    """Another process has the journal; the message names it."""


class JournalBrokenError(JournalError):
    """The disk failed: what was to be written may be there or not, and nothing more is kept until a new start."""


class JournalFullError(JournalError):
    """There is no room for a record: it is neither kept nor applied, and may be sent again."""


class JournalMemoryError(JournalError, MemoryError):
    """A record is kept and there is not enough memory to apply it; the message names it and says what to do."""


class RepeatedIdError(ThresherError):
    """An id was used before for something else."""


class DataError(ThresherError, ValueError):
    """A corpus cannot be read as it is; the message names file and line, what is wrong and what to do."""


class MissingPackageError(ThresherError, ImportError):
    """A part of the library needs a package that is not installed; the message says which extra brings it."""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error is a lack of memory; if Python has none for a frame, only this message says so."""
    return isinstance(error, MemoryError) or (
        isinstance(error, SystemError) and str(error) == "error return without exception set"
    )


def printable(said: str) -> str:
    """Return a text for a message: what would break a line, steer a terminal or cannot be encoded is written out.

    >>> printable("two\\nlines")
    'two\\\\nlines'
    """
    return said if said.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in said)
