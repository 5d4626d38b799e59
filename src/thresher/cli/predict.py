"""`thresher predict` and `thresher rank`: the categories of documents, and the documents of a category."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thresher.cli.console import Shell
from thresher.cli.exit_codes import UsageError
from thresher.cli.loading import load_model
from thresher.cli.options import (
    DATA_HELP,
    ClusterOptions,
    DataArgument,
    ForceOption,
    ModelArgument,
    Read,
    ThreadsOption,
    read_all_documents,
    top_option,
)
from thresher.cli.output_files import check_output, output_file, output_format

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer
    from thresher.datasets.document import Document
    from thresher.model.predictions import Prediction


def predict(
    shell: Shell,
    read: Read,
    cluster: ClusterOptions,
    model: ModelArgument,
    files: Annotated[list[str] | None, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .jsonl, .csv, .tsv or .parquet file.")
    ] = None,
    top: Annotated[int | None, top_option("The K best categories, accepted or not.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All categories, accepted or not.")] = False,
    threads: ThreadsOption = None,
    force: ForceOption = False,
) -> None:
    """Predict the categories of documents.

    thresher predict desk.thresher sample:test -o found.csv
    """

    if top is not None and everything:
        raise UsageError("--top and --all exclude each other")
    if cluster.address is not None:
        _predict_there(shell, read, model, files or [], output, cluster, -1 if everything else top)
        return
    if output is not None:
        check_output(output, force)
    categorizer = load_model(model, threads)
    most = len(categorizer.categories) if everything else top
    answers = predict_sources(shell, read, categorizer, files or ["-"], most)
    if output is not None:
        count = _write(output, answers)
        shell.answer({"documents": count, "output": str(output)}, f"Wrote {count:,} documents to {output}")
    elif shell.json:
        from thresher.model.predictions import to_json

        for document, prediction in answers:
            shell.emit(to_json(document, prediction))
    else:
        rows = (
            [document.id, _format_categories(prediction), _excerpt(document.text)] for document, prediction in answers
        )
        shell.table("", ["id", "categories", "text"], rows)


def _predict_there(
    shell: Shell,
    read: Read,
    model: Path,
    files: list[str],
    output: Path | None,
    options: ClusterOptions,
    top: int | None,
) -> None:
    """Predict on a cluster, one file per partition; files of an earlier run are kept."""
    from thresher.categorizer import Categorizer
    from thresher.cli.cluster_options import connect_cluster, partition_source
    from thresher.cluster.prediction import predict as predict_there

    if output is None or not files or "-" in files:
        raise UsageError("--cluster takes files or folders, and writes to a folder (name a new one with --output)")
    format = "parquet" if output.suffix == ".parquet" else "jsonl"
    if top == -1:
        top = len(Categorizer.load(model).categories)
    with connect_cluster(shell, options) as cluster:
        parts = [part for source in files for part in partition_source(read, source)]
        with shell.progress() as progress:
            counts = predict_there(model, parts, cluster, output, format=format, top=top, progress=progress)
    written = [count for count in counts if count >= 0]
    left = len(counts) - len(written)
    known = f"; {left:,} parts were there already" if left else ""
    shell.answer(
        {"documents": sum(written), "parts": len(written), "left": left, "folder": str(output)},
        f"Wrote {sum(written):,} documents in {len(written):,} parts to {output}{known}",
    )


def predict_sources(
    shell: Shell, read: Read, model: "Categorizer", sources: list[str], top: int | None
) -> "Iterator[tuple[Document, Prediction]]":
    """Yield the documents of the sources with their predictions, as they are read."""
    from thresher.model.scoring import categorize_documents

    for source in sources:
        reading = read(source)
        yield from categorize_documents(model.state, reading, top)
        shell.remarks_on(reading)


def _write(output: Path, answers: "Iterator[tuple[Document, Prediction]]") -> int:
    from thresher.datasets.writer import write_to
    from thresher.model.predictions import format_prediction

    format = output_format(output)
    with output_file(output) as file:
        return write_to(
            file, (format_prediction(document, prediction, format) for document, prediction in answers), format
        )


def _format_categories(prediction: "Prediction") -> str:
    if prediction.empty:
        return "(no known word)"
    return ", ".join(f"{name} {probability:.2f}" for name, _, probability in prediction.categories) or "-"


def _excerpt(text: str) -> str:
    return " ".join(text[:1000].split())


def rank(
    shell: Shell,
    read: Read,
    model: ModelArgument,
    category: Annotated[str, typer.Argument(metavar="CATEGORY", help="One of the model's categories.")],
    data: DataArgument,
    top: Annotated[int | None, top_option("Only the K best.")] = None,
    threads: ThreadsOption = None,
) -> None:
    """Rank documents by their score for a category, the best first.

    thresher rank desk.thresher noise sample:test --top 5
    """

    categorizer = load_model(model, threads)
    documents = read_all_documents(shell, read(data))
    ranked = categorizer.rank_documents(category, [document.content for document in documents])[:top]
    if shell.json:
        for i, score, probability in ranked:
            shell.emit({"id": documents[i].id, "score": score, "probability": probability})
    else:
        rows = [
            [documents[i].id, f"{score:.3f}", f"{probability:.2f}", _excerpt(documents[i].text)]
            for i, score, probability in ranked
        ]
        shell.table("", ["id", " score", " probability", "text"], rows)
