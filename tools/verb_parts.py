"""The options of every verb as tables, made of the command line itself; `make_pages` puts them into the pages."""

from functools import cache
from typing import Any

import typer

from thresher.cli.app import add_installed_commands, app

SHARED = {
    "Input options": "input-options",
    "Model settings": "model-settings",
    "Model settings from the paper": "model-settings-from-the-paper",
    "Dask cluster": "dask-cluster",
    "Output options": "output-options",
}


@cache
def _commands() -> dict[str, Any]:
    add_installed_commands()
    command: Any = typer.main.get_command(app)
    return dict(command.commands)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _name(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper()).strip("[]")


def _spelling(parameter: Any) -> str:
    """Return how a parameter is written: `--output, -o FILE`, or the name of an argument."""
    if parameter.param_type_name == "argument":
        return " or ".join(f"`{name}`" for name in _name(parameter).split("|"))
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return f"`{_cell(names if parameter.is_flag else f'{names} {parameter.metavar or _value(parameter)}')}`"


def _value(parameter: Any) -> str:
    is_path = "Path" in str(parameter.type_descriptor.annotation)
    return "FILE" if is_path else "TEXT"


def _explanation(parameter: Any) -> str:
    """Return what a parameter is for, its default, and its environment variable."""
    said = [parameter.help or ""]
    if type(parameter.default) in (str, int) and parameter.default:
        said.append(f"Default: {parameter.default}.")
    if parameter.envvar:
        said.append(f"Or the variable `{parameter.envvar}`.")
    return _cell(" ".join(part for part in said if part))


def _table(parameters: list[Any]) -> list[str]:
    return ["| | |", "|---|---|", *(f"| {_spelling(one)} | {_explanation(one)} |" for one in parameters)]


def _usage(name: str, parameters: list[Any]) -> str:
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    needed = [one for one in parameters if one.param_type_name == "option" and one.required]
    words = [_name(one) if one.required else f"[{_name(one)}]" for one in arguments]
    words += [f"{one.opts[-1]} {one.metavar or _value(one)}" for one in needed]
    return f"`{' '.join(['thresher', name, *words])}`"


def options() -> dict[str, str]:
    """Return for each verb its usage and the table of its own options; shared options have their own page."""
    tables = {}
    for name, command in _commands().items():
        parameters = [one for one in command.params if one.name != "help"]
        single = [one for one in parameters if one.rich_help_panel not in SHARED]
        shared = dict.fromkeys(one.rich_help_panel for one in parameters if one.rich_help_panel in SHARED)
        lines = [_usage(name, single), ""]
        lines += [*_table(single), ""] if single else []
        links = [f"[{panel.lower()}](../command-line.md#{SHARED[panel]})" for panel in shared]
        tables[name] = "\n".join([*lines, f"In addition: {', '.join(links)}."])
    return tables


def verbs() -> str:
    """Return the table of the verbs."""
    rows = [
        f"| [`{name}`](how-to/{name}.md) | {_cell(command.help.partition(chr(10))[0])} |"
        for name, command in _commands().items()
    ]
    return "\n".join(["| verb | |", "|---|---|", *rows])


def shared_options() -> str:
    """Return the tables of the options that verbs share."""
    parts = []
    for panel in SHARED:
        known = {
            one.name: one for command in _commands().values() for one in command.params if one.rich_help_panel == panel
        }
        parts.append("\n".join([f"### {panel}", "", *_table(list(known.values()))]))
    return "\n\n".join(parts)
