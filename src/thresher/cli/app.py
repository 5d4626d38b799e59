"""The verbs and their order; `main` runs them."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from thresher import __version__
from thresher.cli.data import audit, convert, fetch
from thresher.cli.demo import demo
from thresher.cli.doctor import doctor
from thresher.cli.evaluate import compare, evaluate
from thresher.cli.exit_codes import UsageError
from thresher.cli.explain import explain
from thresher.cli.inspect import compress, inspect
from thresher.cli.journal import journal, undo
from thresher.cli.learn import learn
from thresher.cli.options import REPEATABLE, with_options
from thresher.cli.predict import predict, rank
from thresher.cli.serve import serve
from thresher.cli.train import train
from thresher.cli.warm_up import warm_up
from thresher.errors import MissingPackageError

_VERBS = (
    fetch, train, predict, rank, evaluate, compare, explain, learn, undo, journal, audit, inspect, compress, convert,
    serve, doctor, warm_up, demo,
)  # fmt: skip
VERBS = {verb.__name__.replace("_", "-"): verb for verb in _VERBS}

# Commands that are in a package of their own.
PACKAGES = {"reproduce": "thresher-reproduction"}

app = typer.Typer(
    name="thresher",
    help="Sorts text into categories, learns from every correction, and says which words decided.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"thresher {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Take the options that come before the command."""


class Verb(TyperCommand):
    """A command that refuses an option given twice; typer would drop all but the last value silently."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; a flag has no value in the help."""
        parameters: list[Any] = super().get_params(ctx)
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line, after a look at the order of its options, which typer does not keep."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for one in order:
            if one.param_type_name == "option" and one.name not in REPEATABLE and order.count(one) > 1:
                raise UsageError(f"{'/'.join(one.opts + one.secondary_opts)} is given twice (give it once)")
        return super().parse_args(ctx, args)


def _add(name: str, verb: Callable[..., Any]) -> None:
    app.command(name, cls=Verb)(with_options(verb))


def add_installed_commands(asked: str = "") -> None:
    """Add the commands that other installed packages offer as entry points in the group `thresher.commands`.

    Looking for them takes some milliseconds, so this is done only for the help and for unknown commands.
    A command that cannot be imported is left out, unless it is the one that is `asked` for.
    """
    known = {command.name for command in app.registered_commands}
    for entry in entry_points(group="thresher.commands"):
        if entry.name in known:
            continue
        try:
            _add(entry.name, entry.load())
        except Exception as error:
            if entry.name == asked:
                package = PACKAGES.get(asked, entry.value.partition(":")[0])
                advice = f"pip install --upgrade thresher-text {package}"
                raise MissingPackageError(f"{asked} cannot be imported: {error} ({advice})") from error


for name, verb in VERBS.items():
    _add(name, verb)
