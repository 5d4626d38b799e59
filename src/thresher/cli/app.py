"""The verbs and their order; `main` runs them."""

from typing import Annotated

import typer

from thresher import __version__
from thresher.cli.data import audit, convert, fetch
from thresher.cli.demo import demo
from thresher.cli.doctor import doctor
from thresher.cli.evaluate import compare, evaluate
from thresher.cli.explain import explain
from thresher.cli.inspect import compress, inspect
from thresher.cli.learn import learn
from thresher.cli.options import with_options
from thresher.cli.predict import predict, rank
from thresher.cli.train import train

VERBS = (
    fetch, train, predict, rank, evaluate, compare, explain, learn, audit, inspect, compress, convert, doctor, demo,
)  # fmt: skip

app = typer.Typer(
    name="thresher",
    help="Sorts text into categories, learns from every correction, and says which words decided.",
    no_args_is_help=True,
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
        bool, typer.Option("--version", help="Say which version this is.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Take what stands before the verb."""


for verb in VERBS:
    app.command(verb.__name__, no_args_is_help=verb.__name__ not in ("doctor", "demo", "fetch"))(with_options(verb))
