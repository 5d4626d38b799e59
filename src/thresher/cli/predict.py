"""`thresher predict` and `thresher rank`: the categories of documents, and the documents of a category."""

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.failures import UsageError
from thresher.cli.models import loaded_model
from thresher.cli.options import (
    DATA_HELP,
    DataArgument,
    ForceOption,
    ModelArgument,
    Read,
    ThreadsOption,
    check_is_text,
    text_documents,
    whole_number,
)
from thresher.cli.outputs import check_output, output_file, output_format
from thresher.cli.shell import Shell

OURS = ("id", "categories", "scores", "probabilities", "empty")

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer
    from thresher.datasets.document import Document
    from thresher.prediction import Prediction


def predict(
    shell: Shell,
    read: Read,
    model: ModelArgument,
    files: Annotated[list[str] | None, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .jsonl, .csv, .tsv or .parquet file.")
    ] = None,
    top: Annotated[str | None, typer.Option(help="The K best categories, accepted or not.", metavar="K")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All categories, accepted or not.")] = False,
    threads: ThreadsOption = None,
    force: ForceOption = False,
) -> None:
    """Say which categories documents belong to.

    thresher predict desk.thresher sample:test -o found.csv
    """

    count = whole_number("--top", top)
    if count is not None and everything:
        raise UsageError("--top and --all exclude each other")
    if output is not None:
        check_output(output, force)
    categorizer = loaded_model(model, threads)
    most = len(categorizer.categories) if everything else count
    answers = predictions(shell, read, categorizer, files or ["-"], most)
    if output is not None:
        count = _write(output, answers)
        shell.remark(f"wrote {count:,} documents to {output}")
    elif shell.json:
        for document, found in answers:
            shell.emit(_record(document, found))
    else:
        rows = ([document.id, _named(found), _excerpt(document.text)] for document, found in answers)
        shell.table("", ["id", "categories", "text"], rows)


def predictions(
    shell: Shell, read: Read, model: "Categorizer", sources: list[str], top: int | None
) -> "Iterator[tuple[Document, Prediction]]":
    """Yield the documents of the sources with what the model says of them, as they are read."""
    for source in sources:
        reading = read(source)
        waiting: deque[Document] = deque()

        def contents(reading: Any = reading, waiting: "deque[Document]" = waiting) -> Iterator[Any]:
            for document in reading:
                check_is_text(document)
                waiting.append(document)
                yield document.content

        for found in model.categorize(contents(), top=top):
            yield waiting.popleft(), found
        shell.remarks_on(reading)


def _record(document: "Document", found: "Prediction") -> dict[str, Any]:
    categories = [
        {"category": name, "score": score, "probability": probability} for name, score, probability in found.categories
    ]
    return {"id": document.id, "categories": categories} | ({"empty": True} if found.empty else {})


def _write(output: Path, answers: "Iterator[tuple[Document, Prediction]]") -> int:
    from thresher.datasets.writing import write_to

    format = output_format(output)
    answer = {"jsonl": _record, "parquet": _columns}.get(format, _cells)
    with output_file(output) as file:
        return write_to(file, (_with_own(document, answer(document, found)) for document, found in answers), format)


def _with_own(document: "Document", answer: dict[str, Any]) -> dict[str, Any]:
    """Return the input's own columns and the answer; a column of theirs with one of our names is kept as given_NAME."""
    own = dict(document.columns or {"text": document.text})
    if own.get("id") == answer["id"]:
        del own["id"]
    named: dict[str, Any] = {}
    for name, value in own.items():
        while name in OURS or name in named:
            name = f"given_{name}"
        named[name] = value
    return {"id": answer["id"]} | named | answer


def _columns(document: "Document", found: "Prediction") -> dict[str, Any]:
    """Return the answer for a table: names, scores and probabilities in a column each."""
    return {
        "id": document.id,
        "categories": [name for name, _, _ in found.categories],
        "scores": [score for _, score, _ in found.categories],
        "probabilities": [probability for _, _, probability in found.categories],
        "empty": found.empty,
    }


def _cells(document: "Document", found: "Prediction") -> dict[str, Any]:
    """Return the answer for a table whose cells are texts."""
    rounded = {
        "scores": [f"{score:.4f}" for _, score, _ in found.categories],
        "probabilities": [f"{probability:.4f}" for _, _, probability in found.categories],
    }
    return _columns(document, found) | rounded | {"empty": "true" if found.empty else ""}


def _named(found: "Prediction") -> str:
    if found.empty:
        return "(no known word)"
    return ", ".join(f"{name} {probability:.2f}" for name, _, probability in found.categories) or "-"


def _excerpt(text: str) -> str:
    return " ".join(text[:1000].split())


def rank(
    shell: Shell,
    read: Read,
    model: ModelArgument,
    category: Annotated[str, typer.Argument(metavar="CATEGORY", help="One of the model's categories.")],
    data: DataArgument,
    top: Annotated[str | None, typer.Option(help="Only the K best.", metavar="K")] = None,
    threads: ThreadsOption = None,
) -> None:
    """Put documents in order of their score for a category, the best first.

    thresher rank desk.thresher noise sample:test --top 5
    """

    count = whole_number("--top", top)
    categorizer = loaded_model(model, threads)
    documents = text_documents(shell, read(data))
    ranked = categorizer.rank_documents(category, [document.content for document in documents])[:count]
    if shell.json:
        for i, score, probability in ranked:
            shell.emit({"id": documents[i].id, "score": score, "probability": probability})
    else:
        rows = [
            [documents[i].id, f"{score:.3f}", f"{probability:.2f}", _excerpt(documents[i].text)]
            for i, score, probability in ranked
        ]
        shell.table("", ["id", " score", " probability", "text"], rows)
