"""`thresher inspect` and `thresher compress`: show the contents of a model, and make it smaller."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.console import Shell
from thresher.cli.exit_codes import UsageError
from thresher.cli.loading import load_model
from thresher.cli.option_values import integer
from thresher.cli.options import ForceOption, ModelArgument, Read
from thresher.cli.output_files import check_model_output, format_size

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer


def inspect(
    shell: Shell,
    read: Read,
    path: Annotated[str, typer.Argument(metavar="MODEL|DATA", help="A model file, or data.")],
    words: Annotated[
        int,
        typer.Option(help="Strongest words of each category to show.", metavar="K", parser=integer(0)),
    ] = 5,
) -> None:
    """Show the contents of a model; or, for data, what would be read and how.

    thresher inspect desk.thresher
    """
    if not path.endswith(".thresher") and not _is_model(path):
        _show_data(shell, read, path)
        return

    model = load_model(path)
    record = _describe_model(model, Path(path), words)
    if shell.json:
        shell.emit(record)
    else:
        _show(shell, model, record)


def _is_model(path: str) -> bool:
    """Return whether a file begins like a model: a length, and a header in braces."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(9)
    except (OSError, ValueError):
        return False
    return len(head) == 9 and head[8:] == b"{" and head[4:8] == bytes(4)


def _show_data(shell: Shell, read: Read, source: str) -> None:
    from thresher.datasets.reader import look

    preview = look(source, format=read.format, **read.options)
    if shell.json:
        columns = preview.columns._asdict() if preview.columns else None
        shell.emit(
            {"name": preview.name, "format": preview.format, "columns": columns, "documents": preview.documents,
             "whole": preview.whole, "categories": preview.categories, "warnings": preview.warnings}
        )  # fmt: skip
    else:
        shell.say(preview.describe())


def _describe_model(model: "Categorizer", path: Path, words: int) -> dict[str, Any]:
    settings = {name: value for name, value in (model.settings | model.chosen).items() if not callable(value)}
    return {
        "digest": model.digest(),
        "preset": model.state.preset,
        "learner": model.state.settings.learner,
        "categories": len(model.categories),
        "features": model.state.features.vocabulary.count,
        "bytes": path.stat().st_size,
        "policy": model.state.decisions.policy,
        "settings": settings,
        "trials": [trial._asdict() for trial in model.trials],
        "per_category": [_describe_category(model, number, words) for number in range(len(model.categories))],
    }


def _describe_category(model: "Categorizer", number: int, words: int) -> dict[str, Any]:
    name = model.categories[number]
    strongest, weakest = model.strongest_words(name, words) if words else ([], [])
    return {
        "category": name,
        "positives": int(model.state.learner.positives_[number]),
        "threshold": float(model.state.decisions.thresholds[number]),
        "rivalry": float(model.state.decisions.rivalry[number]),
        "for": [{"word": word, "weight": weight} for word, weight in strongest],
        "against": [{"word": word, "weight": weight} for word, weight in weakest],
    }


def _show(shell: Shell, model: "Categorizer", record: dict[str, Any]) -> None:
    from thresher.model.selection import describe_trials

    size = format_size(record["bytes"])
    shell.say(f"{record['learner']}, preset {record['preset']}, digest {record['digest']}, {size}")
    shell.say(f"{record['categories']:,} categories, {record['features']:,} features, policy {record['policy']}")
    rows = [
        [
            row["category"], f"{row['positives']:,}", f"{row['threshold']:.2f}",
            ", ".join(entry["word"] for entry in row["for"]), ", ".join(entry["word"] for entry in row["against"]),
        ]
        for row in sorted(record["per_category"], key=lambda row: -row["positives"])
    ]  # fmt: skip
    shell.table("", ["category", " documents", " threshold", "words for it", "words against it"], rows)
    for line in describe_trials(model.trials):
        shell.say(line)
    shell.say("Settings: " + ", ".join(f"{name} {value}" for name, value in sorted(record["settings"].items())))


def compress(
    shell: Shell,
    model: ModelArgument,
    size: Annotated[str, typer.Option(help="The largest size, as 2MB or 500kB.", show_default=False)],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write here, and leave MODEL as it is.")] = None,
    force: ForceOption = False,
) -> None:
    """Drop the weights that matter least until the model fits a size, and say what that cost.

    thresher compress desk.thresher --size 500kB -o small.thresher
    """

    if output is None and not force:
        raise UsageError("compressing drops weights for good (name another file with -o, or --force to replace MODEL)")
    if output is not None:
        check_model_output(output, force)
    before, target = model.stat().st_size, output or model
    categorizer = load_model(model)
    cost = categorizer.compress(size)
    digest = categorizer.save(target)
    now = target.stat().st_size
    if shell.json:
        sizes = {"size_before": before, "size": now}
        shell.emit(cost._asdict() | sizes | {"model": str(target), "digest": digest})
        return
    stay = "" if cost.agreement is None else f"; {100 * cost.agreement:.1f} % of the decisions on kept documents stay"
    shell.say(f"{before:,} bytes before, {now:,} now{stay}")
    weights, features = f"{cost.weights:,} of {cost.weights_before:,}", f"{cost.features:,} of {cost.features_before:,}"
    shell.say(f"{weights} weights, {features} features")
    shell.say(f"Wrote {target} (digest {digest[:12]})")
