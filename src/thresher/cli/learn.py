"""`thresher learn`: corrections, taken up by a model file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.failures import UsageError
from thresher.cli.options import DataArgument, ForceOption, ModelArgument, Read
from thresher.cli.outputs import check_output
from thresher.cli.shell import Shell

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer
    from thresher.datasets.document import Document


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
        check_output(output, force)
    categorizer = Categorizer.load(model)
    before = categorizer.digest()
    reading = read(data)
    documents = list(reading)
    mistakes = sum(_learned(categorizer, document) for document in documents)
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


def _learned(model: "Categorizer", document: "Document") -> int:
    """Teach one correction; returns how many categories had it wrong."""
    from thresher.errors import DataError, TextError

    columns = document.columns or {}
    before = int(model.learner.online_mistakes_.sum()) if model.categories else 0
    try:
        if "accept" in columns or "reject" in columns:
            return len(model.learn(document.content, _names(columns, "accept"), _names(columns, "reject")).mistakes)
        if document.features is not None:
            raise UsageError(f"{document.place}: features instead of text, which a model of texts cannot learn")
        model.partial_fit([document.content], [document.categories])
    except TextError as error:
        raise DataError(f"{document.place}: {str(error).removeprefix('text 0: ')}") from None
    return int(model.learner.online_mistakes_.sum()) - before


def _names(columns: Any, name: str) -> list[str]:
    cell = columns.get(name)
    if isinstance(cell, str):
        return cell.split("|") if cell else []
    return list(cell or [])
