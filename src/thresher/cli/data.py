"""`thresher fetch`, `thresher convert` and `thresher audit`: download data, convert them, check their labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.console import Shell
from thresher.cli.options import DataArgument, ForceOption, Read, Settings, top_option
from thresher.cli.output_files import check_output, output_file, output_format
from thresher.cli.train import read_labelled_documents

if TYPE_CHECKING:
    from thresher.audit import Audit


def fetch(
    shell: Shell,
    name: Annotated[str | None, typer.Argument(help="A corpus; leave it out to list those that are known.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Download it again.")] = False,
) -> None:
    """Download a corpus, or list those that are known.

    thresher fetch reuters21578
    """
    from thresher.datasets.corpora import download

    if name is None:
        for known in download.KNOWN:
            shell.answer({"name": known}, f"{known}: thresher fetch {known}")
        return
    if name in download.KNOWN:
        shell.remark(f"looking for {name}, and downloading it if need be ...")
    path = download.fetch(name, force=force)
    shell.answer({"name": name, "path": str(path)}, f"{name} is at {path}")


def convert(
    shell: Shell,
    read: Read,
    data: DataArgument,
    output: Annotated[Path, typer.Argument(metavar="OUT", help="A .jsonl, .csv, .tsv or .parquet file.")],
    force: ForceOption = False,
) -> None:
    """Write documents in another format, with their own columns.

    thresher convert sample:test messages.csv
    """
    from thresher.datasets.writer import make_record, write_to

    check_output(output, force)
    format = output_format(output)
    reading = read(data)
    separator = read.options.get("separator") or "|"
    with output_file(output) as file:
        count = write_to(file, (make_record(document, reading.columns) for document in reading), format, separator)
    shell.remarks_on(reading)
    shell.answer({"documents": count, "output": str(output)}, f"Wrote {count:,} documents to {output}")


def audit(
    shell: Shell,
    read: Read,
    settings: Settings,
    data: DataArgument,
    test: Annotated[str | None, typer.Option(help="Look for documents that are in these too.", metavar="DATA")] = None,
    top: Annotated[int | None, top_option("Show this number of each kind.")] = None,
) -> None:
    """Look for labels that are probably wrong, near-duplicates, and categories that cannot be learned.

    thresher audit sample:train --test sample:test
    """
    from thresher.audit import audit as audit_documents

    documents = read_labelled_documents(shell, read, data)
    held_out = read_labelled_documents(shell, read, test) if test is not None else None
    with shell.progress() as progress:
        result = audit_documents(documents, held_out, preset=settings.preset, progress=progress, **settings.given)
    if shell.json:
        shell.emit(result.summary(top))
    else:
        _show(shell, result, top or 10)


def _show(shell: Shell, result: "Audit", most: int) -> None:
    counts = result.summary(0)["counts"]
    without = f"{result.without_categories:,} documents without one"
    shell.say(f"{result.documents:,} documents, {result.categories:,} categories, {without}")
    shell.table(
        f"{counts['findings']:,} labels where a model of the other documents differs, the most suspicious first",
        ["document", "label", "", " probability", "words that say so"],
        [
            [
                Path(one.place).name or one.id,
                one.category,
                one.kind,
                f"{one.probability:.2f}",
                ", ".join(word for word, _ in one.words),
            ]
            for one in result.findings[:most]
        ],
    )
    _show_others(shell, result, most)
    for note in result.notes:
        shell.say(note)


def _show_others(shell: Shell, result: "Audit", most: int) -> None:
    if result.duplicates:
        shell.table(
            f"{len(result.duplicates):,} groups of documents have nearly the same words",
            ["documents", " alike", ""],
            [_group(group) for group in result.duplicates[:most]],
        )
    if result.overlaps:
        shell.table(
            f"{len(result.overlaps):,} test documents are in the training documents",
            ["test", "training", " alike"],
            [[one.test_id, one.training_id, f"{one.alike:.2f}"] for one in result.overlaps[:most]],
        )
    if result.remarks:
        shell.table(
            f"{len(result.remarks):,} remarks on categories",
            ["", "categories", " documents"],
            [[one.kind, ", ".join(one.categories), str(one.documents)] for one in result.remarks[:most]],
        )


def _group(group: Any) -> list[str]:
    differ = "their categories differ" if group.categories_differ else ""
    return [", ".join(group.ids), f"{group.alike:.2f}", differ]
