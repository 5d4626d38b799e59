"""The options that verbs share.

A verb takes single options by annotated types such as `ForceOption`. It takes a group of options by a parameter of the
type `Read`, `Settings`, `ClusterOptions` or `Shell`: `with_options` replaces it by the options, and makes it of their
values. The options for reading and for settings are generated from the declarations in the library.
"""

import errno
import inspect
import logging
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.console import Shell
from thresher.cli.exit_codes import UsageError
from thresher.cli.option_values import PARSERS, integer
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
    Path | None, typer.Option("--shared", help="A folder that all machines of the cluster can read.", metavar="FOLDER")
]
JournalOption = Annotated[
    Path | None, typer.Option("--journal", help="Folder of the journal (default: next to MODEL).", metavar="FOLDER")
]
NewJournalOption = Annotated[bool, typer.Option("--new-journal", help="Start a new journal if it is missing.")]
JournalAnywayOption = Annotated[
    bool,
    typer.Option(
        "--journal-anyway",
        help="Use a journal on a network file system, or in a folder that others can write to, at your own risk.",
    ),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option("--threads", help="Number of threads; never changes the result.", metavar="N", parser=integer(1)),
]


def top_option(text: str) -> Any:
    """Return the option --top with its help."""
    return typer.Option("--top", help=text, metavar="K", parser=integer(1))


# --labelled is not an option: each verb knows whether it needs categories.
READING = {name: one for name, one in settings_of(ReadOptions).items() if name != "labelled"}
REPEATABLE = ("text", "categories")
_OPTION_NAMES = {"folds": "tuning_folds"}  # `train` has --folds, for another purpose
# --threads is where a model runs, and not a setting of it.
SETTINGS = {_OPTION_NAMES.get(name, name): one for name, one in all_settings().items() if name != "n_threads"}


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


# The parameters of the library that have an option, which errors name.
FLAGS = {name: _flag(name) for name in (*READING, *SETTINGS, "format", "preset", "shared", "top")} | {
    "folds": "--tuning-folds", "folder": "--journal", "anyway": "--journal-anyway", "new": "--new-journal"
}  # fmt: skip


def as_option(name: str, value: str | None = None) -> str:
    """Return a parameter of the library, and a value for it, as it is written on the command line.

    >>> as_option("decode_errors", "replace"), as_option("quoting", "False"), as_option("skip_bad"), as_option("goal")
    ('--decode-errors replace', '--no-quoting', '--skip-bad', 'goal')
    """
    if name not in FLAGS:
        return as_argument(name, value)
    if value is None or value == "True":
        return FLAGS[name]
    if value == "False":
        return FLAGS[name].replace("--", "--no-", 1)
    return f"{FLAGS[name]} {shlex.quote(value) if value.isprintable() else repr(value)}"


def is_path(text: str) -> bool:
    """Return whether this is the path of an existing file, and not a text."""
    try:
        return len(text) < 4096 and Path(text).exists()
    except (OSError, ValueError):
        return False


_FORMATS = "jsonl, csv, tsv, parquet, fasttext, libmultilabel, text, sgml, folders or files"
_INPUT, _MODEL = "Input options", "Model settings"
_input_option = partial(typer.Option, rich_help_panel=_INPUT, show_default=False)
_model_option = partial(typer.Option, rich_help_panel=_MODEL, show_default=False)
_cluster_option = partial(typer.Option, rich_help_panel="Dask cluster", show_default=False)


class Read:
    """Reads data with the options of the command line; a group of options."""

    def __init__(
        self,
        format: Annotated[str | None, _input_option(help=f"Format of the data: {_FORMATS}.", metavar="NAME")] = None,
        **options: Any,
    ) -> None:
        self.format = format
        self.options = {name: value for name, value in options.items() if value is not None}
        if self.options.get("delimiter") == "\\t":
            self.options["delimiter"] = "\t"
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


def read_all_documents(shell: Shell, reading: "Reading") -> "list[Document]":
    """Return all documents of a reading, and write its remarks."""
    documents = list(reading)
    shell.remarks_on(reading)
    return documents


class Settings:
    """A preset, and the settings given in addition, in a file or as options; a group of options."""

    def __init__(
        self,
        preset: Annotated[
            str | None,
            _model_option(help=f"Where the settings start from: {', '.join(PRESETS)}.", metavar="NAME"),
        ] = None,
        file: Annotated[
            Path | None, _model_option("--settings", help="A TOML file with settings by these names.", metavar="FILE")
        ] = None,
        **options: Any,
    ) -> None:
        from_file = _read_settings(file) if file else {}
        from_options = {name: value for name, value in {"preset": preset, **options}.items() if value is not None}
        self.file, self._from_file = file, from_file.keys() - from_options.keys()
        self.given = {name: _setting_value(value) for name, value in (from_file | from_options).items()}
        self.preset: str = self.given.pop("preset", "default")
        for name, option in _OPTION_NAMES.items():
            if option in self.given:
                self.given[name] = self.given.pop(option)

    def check_source(self, error: ParameterError) -> None:
        """Raise a UsageError that names the file, if the invalid setting comes from it."""
        if _OPTION_NAMES.get(error.parameter, error.parameter) in self._from_file:
            message = error.message(lambda name, _: _OPTION_NAMES.get(name, name))
            raise UsageError(message, path=self.file) from error


def _read_settings(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        settings = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        what, _, line = str(error).partition(" (at line ")
        place = f"{path}:{line.partition(',')[0]}" if line else path
        raise UsageError(f"{place}: not TOML: {what} (a line is as: alpha = 1.1)") from None
    known = ["preset", *SETTINGS]
    unknown = next((name for name in settings if name not in known), None)
    if unknown is not None:
        raise UsageError(f"{path}: {unknown!r} is not a setting (allowed: {', '.join(known)})")
    return settings


def _setting_value(value: Any) -> Any:
    """Return a value of TOML or of an option as a setting: lists become tuples, and "none" becomes None."""
    if isinstance(value, list):
        return tuple(value)
    return None if isinstance(value, str) and value.lower() == "none" else value


@dataclass(frozen=True)
class ClusterOptions:
    """The address of a cluster, or None, and the files for a scheduler with TLS; a group of options."""

    address: Annotated[
        str | None,
        _cluster_option(
            "--cluster", help="Work on a Dask cluster: its address, as tls://HOST:PORT, or local.", metavar="ADDRESS"
        ),
    ] = None
    ca: Annotated[
        Path | None,
        _cluster_option(
            "--cluster-ca", help="CA certificate for tls:// (default: from Dask's configuration).", metavar="FILE"
        ),
    ] = None
    certificate: Annotated[
        Path | None,
        _cluster_option(
            "--cluster-cert", help="Your certificate for tls:// (default: from Dask's configuration).", metavar="FILE"
        ),
    ] = None
    key: Annotated[
        Path | None,
        _cluster_option(
            "--cluster-key",
            help="The key of your certificate (default: from Dask's configuration).",
            metavar="FILE",
        ),
    ] = None

    def __post_init__(self) -> None:
        if any(self.files) and not (self.address or "").startswith("tls://"):
            options = "--cluster-ca, --cluster-cert and --cluster-key"
            raise UsageError(f"{options} are for TLS (add --cluster tls://HOST:PORT)")

    @property
    def files(self) -> tuple[Path | None, Path | None, Path | None]:
        """The CA, the certificate and the key."""
        return self.ca, self.certificate, self.key


def _option_for(name: str, one: Setting, panel: str) -> Parameter:
    """Return the option of a setting that the library declares."""
    option = partial(typer.Option, help=one.help, rich_help_panel=panel, show_default=False)
    kind: Any = str | None
    if one.rule.kind == "switch":
        on, off = _flag(name), _flag(f"no_{name}")
        kind, info = bool | None, option(on if name in ("allow_empty", "skip_bad") else f"{on}/{off}")
    elif name in REPEATABLE:
        kind, info = list[str] | None, option(_flag(name), metavar=one.metavar)
    else:
        info = option(_flag(name), metavar=one.metavar, parser=PARSERS.get(one.rule.kind))
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, info])


def _options_of(group: type, declared: Mapping[str, Setting], panel: str = "") -> list[Parameter]:
    """Return the options of a group: the parameters of its class, then one for each setting that is declared."""
    parameters = inspect.signature(group).parameters.values()
    single = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters if one.kind is not Parameter.VAR_KEYWORD]
    return single + [_option_for(name, one, PAPER if one.group == PAPER else panel) for name, one in declared.items()]


_EVERYDAY_FIRST = dict(sorted(SETTINGS.items(), key=lambda item: item[1].group == PAPER))
_GROUPS: dict[type, list[Parameter]] = {
    Read: _options_of(Read, READING, _INPUT),
    Settings: _options_of(Settings, _EVERYDAY_FIRST, _MODEL),
    ClusterOptions: _options_of(ClusterOptions, {}),
    Shell: _options_of(Shell, {}),
}


def with_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Return a verb with the options of each group in place of the parameter that takes the group."""
    parameters = inspect.signature(verb).parameters
    groups = {name: one.annotation for name, one in parameters.items() if one.annotation in _GROUPS}

    @wraps(verb)
    def run(**given: Any) -> None:
        arguments = {
            name: group(**{option.name: given.pop(option.name) for option in _GROUPS[group]})
            for name, group in groups.items()
        }
        try:
            verb(**arguments, **given)
        except ParameterError as error:
            if "settings" in arguments:
                arguments["settings"].check_source(error)
            raise
        finally:
            if "read" in arguments:
                arguments["read"].close()

    single = [one.replace(kind=Parameter.KEYWORD_ONLY) for name, one in parameters.items() if name not in groups]
    options = [*single, *(option for group in groups.values() for option in _GROUPS[group])]
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run
