"""The options that verbs share: reading data, model settings, and output.

A verb requests a group of options by the type of a parameter. `with_options` replaces the parameter by them.
"""

import errno
import inspect
import logging
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from thresher.cli.console import Shell
from thresher.cli.exit_codes import UsageError
from thresher.datasets.options import ReadOptions
from thresher.errors import ParameterError, as_argument
from thresher.learners.settings import PAPER
from thresher.model.presets import PRESETS
from thresher.model.settings import all_settings
from thresher.support.settings import Setting, settings_of

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
    """Return all documents of a reading, and write its remarks."""
    documents = list(reading)
    shell.remarks_on(reading)
    return documents


class Settings(NamedTuple):
    """A preset and the settings given in addition; `places` holds the file of each that comes from one."""

    preset: str
    given: dict[str, Any]
    places: dict[str, Path]


class ClusterOptions(NamedTuple):
    """The address of a cluster, or None, and the files for a scheduler with TLS: CA, certificate and key."""

    address: str | None
    files: tuple[Path | None, Path | None, Path | None]


# --labelled is not an option: each verb knows whether it needs categories.
READING = {name: one for name, one in settings_of(ReadOptions).items() if name != "labelled"}
_FORMATS = "jsonl, csv, tsv, parquet, fasttext, libmultilabel, text, sgml, folders or files"
REPEATABLE = ("text", "categories")
_MODEL = "Model settings"
# Settings that the command line has elsewhere: --threads is where a model runs, and not a setting of it.
_ELSEWHERE = {"n_threads"}
_OTHER_NAMES = {"folds": "tuning_folds"}  # `train` has --folds
SETTINGS = {_OTHER_NAMES.get(name, name): one for name, one in all_settings().items() if name not in _ELSEWHERE}
# The parameters of the library that have an option.
_JOURNAL_OPTIONS = {"folder": "journal", "anyway": "journal_anyway", "new": "new_journal"}
_NAMES = {
    *_JOURNAL_OPTIONS.values(),
    *READING,
    "format",
    *SETTINGS,
    *_OTHER_NAMES,
    "preset",
    "size",
    "shared",
    "top",
}


def _flag(name: str) -> str:
    return "--" + _OTHER_NAMES.get(name, name).replace("_", "-")


def as_option(name: str, value: str | None = None) -> str:
    """Return a parameter of the library, and a value for it, as it is written on the command line.

    >>> as_option("decode_errors", "replace"), as_option("quoting", "False"), as_option("skip_bad"), as_option("goal")
    ('--decode-errors replace', '--no-quoting', '--skip-bad', 'goal')
    """
    name = _JOURNAL_OPTIONS.get(name, name)
    if name not in _NAMES:
        return as_argument(name, value)
    if value in ("True", "False"):
        return _flag(name if value == "True" else f"no_{name}")
    if value is None:
        return _flag(name)
    return f"{_flag(name)} {shlex.quote(value) if value.isprintable() else repr(value)}"


def _option(name: str, kind: Any, default: Any, *declared: str, panel: str, **how: Any) -> inspect.Parameter:
    annotation = Annotated[kind, typer.Option(*declared, rich_help_panel=panel, show_default=False, **how)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _reading_parameters() -> list[inspect.Parameter]:
    panel = "Input options"
    format = _option("format", str | None, None, "--format", panel=panel, metavar="NAME",
                     help=f"Format of the data: {_FORMATS}.")  # fmt: skip
    return [format, *(_reading_option(name, one, panel) for name, one in READING.items())]


def _reading_option(name: str, one: Setting, panel: str) -> inspect.Parameter:
    if one.rule.kind == "switch":
        declared = "--quoting/--no-quoting" if name == "quoting" else _flag(name)
        return _option(name, bool, name == "quoting", declared, panel=panel, help=one.help)
    kind = list[str] | None if name in REPEATABLE else str | None
    return _option(name, kind, None, _flag(name), panel=panel, metavar=one.metavar, help=one.help)


def _settings_parameters() -> list[inspect.Parameter]:
    preset = _option("preset", str | None, None, "--preset", panel=_MODEL, metavar="NAME",
                     help=f"Where the settings start from: {', '.join(PRESETS)}.")  # fmt: skip
    toml = _option("settings_file", Path | None, None, "--settings", panel=_MODEL, metavar="FILE",
                   help="A TOML file with settings by these names.")  # fmt: skip
    options = [_setting_option(name, one) for name, one in SETTINGS.items()]
    return [preset, toml, *sorted(options, key=_panel_of)]  # those for every day first


def _setting_option(name: str, one: Setting) -> inspect.Parameter:
    panel, text = PAPER if one.group == PAPER else _MODEL, one.help
    if one.rule.kind == "switch":
        declared = f"{_flag(name)}/--no-{name.replace('_', '-')}"
        return _option(name, bool | None, None, declared, panel=panel, help=text)
    return _option(name, str | None, None, _flag(name), panel=panel, metavar=one.metavar, help=text)


def _panel_of(parameter: inspect.Parameter) -> bool:
    (option,) = parameter.annotation.__metadata__
    return bool(option.rich_help_panel == PAPER)


def _cluster_parameters() -> list[inspect.Parameter]:
    panel = "Dask cluster"
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
    panel = "Output options"
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
    kind = SETTINGS[name].rule.kind if name in SETTINGS else "text"
    if kind == "pair":
        parts = text.split(",")
        return tuple(_number(name, part, float) for part in parts) if len(parts) == 2 else _word(text)
    if kind == "whole number" and name != "memory":
        return _number(name, text, int)
    if kind == "number" and text.lower() != "none":
        return _number(name, text, float)
    return _word(text)


def _word(text: str) -> str | None:
    return None if text.lower() == "none" else text


def _number(name: str, text: str, kind: type) -> Any:
    """Return a number written with the digits 0 to 9; Python itself accepts the digits of every script."""
    pattern = r"[+-]?\d+" if kind is int else r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
    if not re.fullmatch(pattern, text.strip(), re.ASCII):
        what = "a whole number" if kind is int else "a number"
        raise UsageError(f"invalid {_flag(name)}: {text!r} (not {what})")
    return kind(text)


def whole_number(option: str, text: str | None, least: int = 1) -> int | None:
    """Return the whole number given with an option, or None if the option was not given."""
    if text is None:
        return None
    number: int = _number(option.removeprefix("--"), text, int)
    if number < least:
        raise UsageError(f"invalid {option}: {text} (allowed: a whole number from {least})")
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
    places = {name: path for name in settled if path is not None and given[name] is None}
    for name, value in given.items():
        if value is not None:
            settled[name] = parsed(name, value) if isinstance(value, str) else value
    for name, other in _OTHER_NAMES.items():
        for names in (settled, places):
            if other in names:
                names[name] = names.pop(other)
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
    known = ["preset", *SETTINGS]
    unknown = next((name for name in found if name not in known), None)
    if unknown is not None:
        raise UsageError(f"{path}: {unknown!r} is not a setting (allowed: {', '.join(known)})")
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
def _naming_file(settings: Settings | None) -> Iterator[None]:
    """Make an error on a setting name the file that set it."""
    try:
        yield
    except ParameterError as error:
        if settings is None or error.parameter not in settings.places:
            raise
        message = error.message(lambda name, _: _OTHER_NAMES.get(name, name))
        raise UsageError(message, path=settings.places[error.parameter]) from error


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
        with _naming_file(built.get("settings")):
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
