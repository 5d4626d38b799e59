"""`thresher learn`: teach corrections to a model file."""

from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from uuid import uuid4

import typer

from thresher.cli.console import Shell
from thresher.cli.loading import has_journal, load_model, open_journaled_model, report_saved_on_failure
from thresher.cli.options import (
    DataArgument,
    ForceOption,
    JournalAnywayOption,
    JournalOption,
    ModelArgument,
    NewJournalOption,
    Read,
)
from thresher.cli.output_files import check_model_output
from thresher.support.units import pluralize

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer
    from thresher.datasets.document import Document
    from thresher.datasets.reader import Reading
    from thresher.journal.journaled_model import JournaledModel


def learn(
    shell: Shell,
    read: Read,
    model: ModelArgument,
    data: DataArgument,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write here, and leave MODEL as it is.")] = None,
    force: ForceOption = False,
    user: Annotated[str, typer.Option(help="Who makes the corrections.", metavar="NAME")] = "",
    new_journal: NewJournalOption = False,
    journal: JournalOption = None,
    journal_anyway: JournalAnywayOption = False,
) -> None:
    """Learn corrections, in their order: full sets of categories, or columns "accept" and "reject" with some.

    thresher learn desk.thresher corrections.jsonl
    """

    if output is not None:
        check_model_output(output, force)
    from_file = output is not None or not has_journal(model, journal)  # rather than from its journal
    if from_file:
        categorizer = load_model(model)
    reading = read(data, labelled=Path(data).is_dir())
    corrections = [_read_correction(document, reading, read.options.get("separator") or "|") for document in reading]
    if from_file:  # do not create a journal unless all corrections can be learned
        before, known, right_before = _try_corrections(categorizer, corrections)
    if output is not None:
        digest = categorizer.save(output)
    else:
        new = True if new_journal else None
        with open_journaled_model(model, shell, new=new, folder=journal, anyway=journal_anyway) as journaled_model:
            categorizer = deepcopy(journaled_model.model)
            before, known, right_before = _try_corrections(categorizer, corrections)
            count = pluralize(len(corrections), "correction", "corrections")
            with report_saved_on_failure(journaled_model, shell, count):
                for correction in corrections:
                    correction.keep(journaled_model, user)
                digest = journaled_model.write_model()
    shell.remarks_on(reading)
    record = {
        "documents": len(corrections),
        "right_before": right_before,
        "right_now": sum(correction.agrees(categorizer) for correction in corrections),
        "new_categories": categorizer.categories[known:],
        "categories": len(categorizer.categories),
        "digest_before": before,
        "digest": digest,
        "model": str(output or model),
    }
    _show(shell, record)


def _try_corrections(model: "Categorizer", corrections: list["Correction"]) -> tuple[str, int, int]:
    """Teach all corrections; return the digest and number of categories before, and how many were right before."""
    before, known = model.digest(), len(model.categories)
    return before, known, sum(_learn_correction(model, correction) for correction in corrections)


def _show(shell: Shell, record: dict[str, Any]) -> None:
    if shell.json:
        shell.emit(record)
        return
    decided = f"{record['right_before']:,} decided so before, {record['right_now']:,} now"
    shell.say(f"Learned {pluralize(record['documents'], 'correction', 'corrections')}: {decided}")
    if record["new_categories"]:
        shell.say(f"New categories: {', '.join(record['new_categories'])}")
    digests = f"digest {record['digest_before'][:12]} before, {record['digest'][:12]} now"
    shell.say(f"Wrote {record['model']} ({digests})")


class Correction(NamedTuple):
    """A document and its correction: all of its categories, or some to accept and some to reject."""

    document: "Document"
    complete: bool
    accept: list[str]
    reject: list[str]

    def agrees(self, model: "Categorizer") -> bool:
        """Return whether the model's decision agrees with the correction."""
        if not model.categories:
            return False
        predicted = set(model.predict([self.document.content])[0])
        return (
            predicted == set(self.accept)
            if self.complete
            else predicted >= set(self.accept) and not predicted & set(self.reject)
        )

    def keep(self, journaled_model: "JournaledModel", user: str) -> None:
        """Teach a model that has a journal."""
        content, id = self.document.content, uuid4().hex
        if self.complete:
            journaled_model.correct(id, content, categories=self.accept, user=user)
        else:
            journaled_model.correct(id, content, accept=self.accept, reject=self.reject, user=user)


def _read_correction(document: "Document", reading: "Reading", separator: str) -> Correction:
    from thresher.errors import TextError

    columns = document.columns or {}
    try:
        if "accept" in columns or "reject" in columns:
            accept, reject = (_read_names(columns.get(name), name, separator) for name in ("accept", "reject"))
            return Correction(document, False, accept, reject)
        _check_is_labelled(document, reading)
    except TextError as error:
        raise error.at(document.place) from None
    return Correction(document, True, list(document.categories), [])


def _learn_correction(model: "Categorizer", correction: Correction) -> bool:
    """Teach one correction; return whether the model agreed with it before."""
    from thresher.errors import TextError

    agreed, content = correction.agrees(model), correction.document.content
    try:
        if correction.complete:
            model.partial_fit([content], [correction.accept])
        else:
            model.learn(content, correction.accept, correction.reject)
    except TextError as error:
        raise error.at(correction.document.place) from None
    return agreed


def _read_names(cell: Any, column: str, separator: str) -> list[str]:
    from thresher.datasets.columns import split_cell
    from thresher.errors import TextError

    if isinstance(cell, str):
        return split_cell(cell, separator)
    if cell is not None and not isinstance(cell, list):
        raise TextError(f"{column!r} must be a name or a list of names, not {type(cell).__name__}")
    return cell or []


def _check_is_labelled(document: "Document", reading: "Reading") -> None:
    """Refuse a document without information on categories; it would be learned as a negative for all of them."""
    from thresher.errors import TextError

    columns = reading.columns.categories if reading.columns else None
    silent = reading.format == "text" if columns is None else not set(columns) & (document.columns or {}).keys()
    if silent and not document.categories:
        hint = "name the column with {categories=COLUMN}"
        raise TextError('there are neither categories nor columns "accept" or "reject"', hint=hint)
