"""The options that verbs share: reading data, model settings, and output.

A verb requests a group of options by the type of a parameter. `with_options` replaces the parameter by them.
"""

import errno
import inspect
import logging
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from thresher.cli.console import Shell
from thresher.cli.exit_codes import UsageError
from thresher.errors import ParameterError

if TYPE_CHECKING:
    from thresher.datasets.document import Document
    from thresher.datasets.reader import Reading

_log = logging.getLogger(__name__)

DATA_HELP = "A file, a folder, - for standard input, or a corpus by name, as sample:train."
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
DataArgument = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")]
SharedOption = Annotated[
    Path | None, typer.Option("--shared", help="A folder that all of the cluster see.", metavar="FOLDER")
]
JournalOption = Annotated[
    Path | None, typer.Option("--journal", help="Folder of the journal (default: next to MODEL).", metavar="FOLDER")
]
JournalAnywayOption = Annotated[
    bool,
    typer.Option(
        "--journal-anyway",
        help="Use a journal on a network file system, or in a folder that others can write to, at your own risk.",
    ),
]
ThreadsOption = Annotated[str | None, typer.Option("--threads", help="Threads; never changes the result.", metavar="N")]


def is_path(text: str) -> bool:
    """Return whether this is the path of an existing file, and not a text."""
    try:
        return len(text) < 4096 and Path(text).exists()
    except (OSError, ValueError):
        return False


class Read:
    """Reads data with the options of the command line."""

    def __init__(self, format: str | None, options: dict[str, Any]) -> None:
        self.format, self.options = format, options
        self._readings: list[Reading] = []

    def __call__(self, source: str, **more: Any) -> "Reading":
        """Return the documents of a source."""
        from thresher.datasets.reader import read_documents

        if source == "-" and sys.stdin is None:
            raise FileNotFoundError(errno.ENOENT, "standard input is closed", "-")
        if source == "-" and sys.stdin.isatty():
            _log.info("reading from the keyboard, a text a line (Ctrl-D ends it) ...")
        if " " in source and not is_path(source):
            raise FileNotFoundError(
                errno.ENOENT, "No such file or directory (a text itself is piped in, with - for DATA)", source
            )
        self._readings.append(read_documents(source, format=self.format, **self.options, **more))
        return self._readings[-1]

    def close(self) -> None:
        """Close the readings that were not read to the end."""
        for reading in self._readings:
            reading.close()


def text_documents(shell: Shell, reading: "Reading") -> "list[Document]":
    """Return all documents of a reading, which must have text, and write its remarks."""
    documents = list(reading)
    shell.remarks_on(reading)
    for document in documents[:1]:
        check_is_text(document)
    return documents


def check_is_text(document: "Document") -> "Document":
    """Return the document, or raise an error if it has features instead of text, which a model cannot read."""
    if document.features is not None:
        advice = "the learners in Python take them, as thresher.BalancedWinnow"
        raise UsageError(f"{document.place}: features instead of text ({advice})")
    return document


class Settings(NamedTuple):
    """A preset and the settings given in addition; `places` says where those from a file were set."""

    preset: str
    given: dict[str, Any]
    places: dict[str, str]


class ClusterOptions(NamedTuple):
    """The address of a cluster, or None, and the files for a scheduler with TLS: CA, certificate and key."""

    address: str | None
    files: tuple[Path | None, Path | None, Path | None]


# name: (metavar, help)
READING = {
    "format": ("NAME", "jsonl, csv, tsv, parquet, fasttext, libmultilabel, svmlight, text, sgml, folders or files."),
    "text": ("COLUMN", "Column with the text; may be given more than once."),
    "categories": ("COLUMN", "Column with the categories; may be given more than once."),
    "id": ("COLUMN", "Column with the document's id."),
    "separator": ("TEXT", "What separates categories in one cell (| in CSV)."),
    "delimiter": ("CHARACTER", "What separates columns."),
    "encoding": ("NAME", "Encoding of the input (utf-8)."),
    "decode_errors": ("NAME", "strict, or replace bytes that do not fit."),
    "max_bad": ("N", "Skip at most this number of records that cannot be read."),
    "longest": ("BYTES", "Refuse longer records (1,000,000)."),
    "label_prefix": ("TEXT", "What marks a category in fastText's format (__label__)."),
}
READING_FLAGS = {
    "skip_bad": ("--skip-bad", "Skip records that cannot be read, and say how many."),
    "allow_empty": ("--allow-empty", "Take input without documents."),
    "quoting": ("--quoting/--no-quoting", "Whether quotes enclose fields in CSV and TSV."),
}
REPEATABLE = ("text", "categories")
_PRESETS = "fast, default, best or paper"
SETTINGS = {
    "preset": ("NAME", f"Where the settings start from: {_PRESETS}."),
    "learner": ("NAME", "balanced-winnow, regularized-winnow, positive-winnow or perceptron."),
    "analyser": ("SPEC", "Features, as words, words+ngrams:2+title or nouns-and-verbs."),
    "min_count": ("N", "Least occurrences of a feature."),
    "max_features": ("N", "Most features."),
    "strength": ("NAME", "binary, linear, sqrt, tfidf or cosine."),
    "theta": ("X", "The threshold."),
    "alpha": ("X", "The promotion."),
    "beta": ("X", "The demotion."),
    "size": ("X", "Regularized Winnow: where w+ and w- start."),
    "rate": ("X", "Regularized Winnow: how fast a document pushes."),
    "cap": ("X", "Regularized Winnow: how far a negative document may push."),
    "positive_cap": ("X", "Regularized Winnow: how far a positive document may push."),
    "bias": ("X", "Strength of a feature that every document has, with tfidf or cosine strengths."),
    "threshold_range": ("LOW,HIGH", "Scores that are mistakes in training, or none."),
    "average_active": ("X", "The average number of active features, or none to measure it."),
    "max_passes": ("N", "Most passes."),
    "seed": ("N", "Seed of the order of documents."),
    "discard_range": ("RANGE", "initial, zero or LOW,HIGH."),
    "discard_below": ("X", "Discard when mistakes fall below this share of the documents."),
    "discard_by_pass": ("N", "Discard after this pass at the latest."),
    "late_start": ("NAME", "What late features weigh: zero or initial."),
    "policy": ("NAME", "auto, above, at-least-one, exactly-one or at-most-K."),
    "thresholds": ("GOAL", "fixed, or tuned for f1, macro-f1, break-even, precision:P or recall:R."),
    "choose": ("HOW", "nothing, or settings by quick or thorough trials on held-out documents."),
    "tuning_folds": ("N", "Parts of the cross-validation that tunes thresholds."),
    "block_width": ("N", "Categories a block; never changes the result."),
    "memory": ("SIZE", "What features may take of memory, as 1GB, before they go to temporary files."),
}
SWITCHES = {
    "normalize": "Divide strengths by their sum.",
    "shuffle": "Draw a new order of documents for each pass.",
    "discard": "Drop features while training.",
    "discard_final": "Keep dropped features dropped.",
    "average": "Score with averaged weights.",
    "sparse": "Keep only the weights that matter, for very many categories.",
}
_WHOLE = {
    "min_count",
    "max_features",
    "max_passes",
    "seed",
    "discard_by_pass",
    "tuning_folds",
    "block_width",
    "max_bad",
    "longest",
}
_FRACTIONS = {
    "theta", "alpha", "beta", "average_active", "discard_below", "size", "rate", "cap", "positive_cap", "bias",
}  # fmt: skip
_PAIRS = {"threshold_range", "discard_range"}


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _option(name: str, kind: Any, default: Any, *declared: str, panel: str, **how: Any) -> inspect.Parameter:
    annotation = Annotated[kind, typer.Option(*declared, rich_help_panel=panel, show_default=False, **how)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _reading_parameters() -> list[inspect.Parameter]:
    panel = "How the data are read"
    found = [
        _option(name, list[str] | None if name in REPEATABLE else str | None, None, _flag(name), panel=panel,
                metavar=metavar, help=text)
        for name, (metavar, text) in READING.items()
    ]  # fmt: skip
    flags = [
        _option(name, bool, name == "quoting", declared, panel=panel, help=text)
        for name, (declared, text) in READING_FLAGS.items()
    ]
    return found + flags


def _settings_parameters() -> list[inspect.Parameter]:
    panel = "Settings of the model"
    toml = _option("settings_file", Path | None, None, "--settings", panel=panel, metavar="FILE",
                   help="A TOML file with settings by these names.")  # fmt: skip
    found = [
        _option(name, str | None, None, _flag(name), panel=panel, metavar=metavar, help=text)
        for name, (metavar, text) in SETTINGS.items()
    ]
    switches = [
        _option(name, bool | None, None, f"{_flag(name)}/--no-{name.replace('_', '-')}", panel=panel, help=text)
        for name, text in SWITCHES.items()
    ]
    return [toml, *found, *switches]


def _cluster_parameters() -> list[inspect.Parameter]:
    panel = "On a Dask cluster"
    address = _option("cluster", str | None, None, "--cluster", panel=panel, metavar="ADDRESS",
                      help="Work on a Dask cluster: its address, as tls://HOST:PORT, or local.")  # fmt: skip
    files = {
        "cluster_ca": "CA certificate for tls:// (default: from Dask's configuration).",
        "cluster_cert": "Your certificate for tls:// (default: from Dask's configuration).",
        "cluster_key": "The key of your certificate (default: from Dask's configuration).",
    }
    found = [
        _option(name, Path | None, None, _flag(name), panel=panel, metavar="FILE", help=text)
        for name, text in files.items()
    ]
    return [address, *found]


def _shell_parameters() -> list[inspect.Parameter]:
    panel = "How to speak"
    return [
        _option("json", bool | None, None, "--json/--no-json", panel=panel, help="JSON lines, as when piped."),
        _option("quiet", bool, False, "--quiet", "-q", panel=panel, help="No progress and no remarks."),
        _option("debug", bool, False, "--debug", panel=panel, help="A traceback with an error."),
    ]


def parsed(name: str, text: str) -> Any:
    """Return the value of a setting that was given on the command line.

    >>> parsed("threshold_range", "0.9,1.1"), parsed("min_count", "3"), parsed("learner", "perceptron")
    ((0.9, 1.1), 3, 'perceptron')
    """
    if name in _PAIRS:
        parts = text.split(",")
        return tuple(_number(name, part, float) for part in parts) if len(parts) == 2 else _word(text)
    if name in _WHOLE:
        return _number(name, text, int)
    if name in _FRACTIONS and text.lower() != "none":
        return _number(name, text, float)
    return _word(text)


def _word(text: str) -> str | None:
    return None if text.lower() == "none" else text


def _number(name: str, text: str, kind: type) -> Any:
    """Return a number written with the digits 0 to 9; Python itself accepts the digits of every script."""
    pattern = r"[+-]?\d+" if kind is int else r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
    if not re.fullmatch(pattern, text.strip(), re.ASCII):
        what = "a whole number" if kind is int else "a number"
        raise UsageError(f"{_flag(name)} {text!r} is not {what}")
    return kind(text)


def whole_number(option: str, text: str | None, least: int = 1) -> int | None:
    """Return the whole number given with an option, or None if the option was not given."""
    if text is None:
        return None
    number: int = _number(option.removeprefix("--"), text, int)
    if number < least:
        raise UsageError(f"{option} {text} is out of range (allowed: a whole number from {least})")
    return number


def _build_read(given: dict[str, Any]) -> Read:
    options = {name: value for name, value in given.items() if value is not None}
    if options.get("delimiter") == "\\t":
        options["delimiter"] = "\t"
    format = options.pop("format", None)
    for name in ("max_bad", "longest"):
        if name in options:
            options[name] = _number(name, options[name], int)
    return Read(format, options)


def _build_settings(given: dict[str, Any]) -> Settings:
    path = given.pop("settings_file")
    settled = _from_file(path) if path else {}
    places = {name: f"{path}: {name} =" for name in settled if given[name] is None}
    for name, value in given.items():
        if value is not None:
            settled[name] = parsed(name, value) if isinstance(value, str) else value
    for names in (settled, places):
        if "tuning_folds" in names:
            names["folds"] = names.pop("tuning_folds")
    return Settings(settled.pop("preset", "default"), settled, places)


def _build_cluster(given: dict[str, Any]) -> ClusterOptions:
    address, ca, cert, key = (given[name] for name in ("cluster", "cluster_ca", "cluster_cert", "cluster_key"))
    if any((ca, cert, key)) and not (address or "").startswith("tls://"):
        raise UsageError("--cluster-ca, --cluster-cert and --cluster-key are for TLS (add --cluster tls://HOST:PORT)")
    return ClusterOptions(address, (ca, cert, key))


def _from_file(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        what, _, line = str(error).partition(" (at line ")
        place = f"{path}:{line.partition(',')[0]}" if line else path
        raise UsageError(f"{place}: not TOML: {what} (a line is as: alpha = 1.1)") from None
    unknown = next((name for name in found if name not in SETTINGS and name not in SWITCHES), None)
    if unknown is not None:
        raise UsageError(f"{path}: {unknown!r} is not a setting (allowed: {', '.join([*SETTINGS, *SWITCHES])})")
    return {name: _toml_value(value) for name, value in found.items()}


def _toml_value(value: Any) -> Any:
    """Return a TOML value as a setting: lists become tuples, and "none" becomes None, which TOML lacks."""
    if isinstance(value, list):
        return tuple(value)
    return _word(value) if isinstance(value, str) else value


class _Group(NamedTuple):
    parameters: list[inspect.Parameter]
    build: Callable[[dict[str, Any]], Any]


_GROUPS: dict[Any, _Group] = {
    Read: _Group(_reading_parameters(), _build_read),
    Settings: _Group(_settings_parameters(), _build_settings),
    ClusterOptions: _Group(_cluster_parameters(), _build_cluster),
    Shell: _Group(_shell_parameters(), lambda given: Shell(given["json"], given["quiet"])),
}


@contextmanager
def _naming_options(settings: Settings | None) -> Iterator[None]:
    """Make an error on a parameter name the option, or the line in a file, that set it: alpha=1 becomes --alpha 1."""
    flags = {name: _flag(name) for name in (*READING, *READING_FLAGS, *SETTINGS, *SWITCHES, "size")}
    places = flags | {"folds": "--tuning-folds"} | (settings.places if settings else {})
    try:
        yield
    except ParameterError as error:
        if error.parameter not in places:
            raise
        raise UsageError(f"{places[error.parameter]} {error.value!r} {error.problem}") from error


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameters of a verb that are groups by the options of these groups."""
    own = inspect.signature(function).parameters.values()
    groups = {parameter.name: _GROUPS[parameter.annotation] for parameter in own if parameter.annotation in _GROUPS}

    @wraps(function)
    def run(**given: Any) -> None:
        built = {
            name: group.build({parameter.name: given.pop(parameter.name) for parameter in group.parameters})
            for name, group in groups.items()
        }
        with _naming_options(built.get("settings")):
            try:
                function(**built, **given)
            finally:
                for read in built.values():
                    if isinstance(read, Read):
                        read.close()

    plain = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own if parameter.name not in groups
    ]
    options = [parameter for group in groups.values() for parameter in group.parameters]
    run.__signature__ = inspect.Signature([*plain, *options])  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in [*plain, *options]}
    return run
