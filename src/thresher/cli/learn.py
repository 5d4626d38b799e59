"""`thresher learn`: corrections, taken up by a model file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.options import DataArgument, ForceOption, ModelArgument, Read, check_is_text
from thresher.cli.outputs import check_model_output
from thresher.cli.shell import Shell

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer
    from thresher.datasets.document import Document
    from thresher.datasets.reading import Reading


def learn(
    shell: Shell,
    read: Read,
    model: ModelArgument,
    data: DataArgument,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write here, and leave MODEL as it is.")] = None,
    force: ForceOption = False,
) -> None:
    """Learn corrections, in their order: full sets of categories, or columns "accept" and "reject" with some.

    thresher learn desk.thresher corrections.jsonl
    """
    from thresher.categorizer import Categorizer

    if output is not None:
        check_model_output(output, force)
    categorizer = Categorizer.load(model)
    before = categorizer.digest()
    reading = read(data, labelled=Path(data).is_dir())
    documents = list(reading)
    separator = read.options.get("separator") or "|"
    mistakes = sum(_learned(categorizer, document, reading, separator) for document in documents)
    shell.remarks_on(reading)
    digest = categorizer.save(output or model)
    record = {
        "documents": len(documents),
        "mistakes": mistakes,
        "categories": len(categorizer.categories),
        "digest_before": before,
        "digest": digest,
        "model": str(output or model),
    }
    if shell.json:
        shell.emit(record)
    else:
        shell.say(f"Learned {len(documents):,} corrections: {mistakes:,} wrong decisions mended")
        shell.say(f"Wrote {output or model} (digest {before[:12]} before, {digest[:12]} now)")


def _learned(model: "Categorizer", document: "Document", reading: "Reading", separator: str) -> int:
    """Teach one correction; returns how many categories had it wrong."""
    from thresher.errors import DataError, TextError

    check_is_text(document)
    columns = document.columns or {}
    before = int(model.learner.online_mistakes_.sum()) if model.categories else 0
    try:
        if "accept" in columns or "reject" in columns:
            accept, reject = (_names(columns.get(name), name, separator) for name in ("accept", "reject"))
            return len(model.learn(document.content, accept, reject).mistakes)
        _check_is_labelled(document, reading)
        model.partial_fit([document.content], [document.categories])
    except TextError as error:
        raise DataError(f"{document.place}: {str(error).removeprefix('text 0: ')}") from None
    return int(model.learner.online_mistakes_.sum()) - before


def _names(cell: Any, column: str, separator: str) -> list[str]:
    from thresher.errors import TextError

    if isinstance(cell, str):
        return cell.split(separator) if cell else []
    if cell is not None and not isinstance(cell, list):
        raise TextError(f"{column!r} must be a name or a list of names, not {type(cell).__name__}")
    return cell or []


def _check_is_labelled(document: "Document", reading: "Reading") -> None:
    """Refuse a document that says nothing of categories; learned as it is, it would be a negative for all of them."""
    from thresher.errors import TextError

    columns = reading.columns.categories if reading.columns else None
    silent = reading.format == "text" if columns is None else not set(columns) & (document.columns or {}).keys()
    if silent and not document.categories:
        raise TextError('there are neither categories nor columns "accept" or "reject" (name them with --categories)')
