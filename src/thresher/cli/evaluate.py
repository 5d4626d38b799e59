"""`thresher evaluate` and `thresher compare`: evaluate a model, and test whether two differ."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.console import Shell
from thresher.cli.exit_codes import UsageError
from thresher.cli.loading import load_model
from thresher.cli.options import (
    ClusterOptions,
    DataArgument,
    ForceOption,
    ModelArgument,
    Read,
    ThreadsOption,
    top_option,
)
from thresher.cli.output_files import check_output, output_file
from thresher.cli.train import read_labelled_documents
from thresher.support.units import format_percent

if TYPE_CHECKING:
    from thresher.datasets.document import Document
    from thresher.evaluation import Evaluation

_MAX_CATEGORIES = 30
_percent = partial(format_percent, missing="-")


def evaluate(
    shell: Shell,
    read: Read,
    cluster: ClusterOptions,
    model: ModelArgument,
    data: DataArgument,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page too.", metavar="PAGE.html")] = None,
    intervals: Annotated[bool, typer.Option("--intervals", help="Add 95 % intervals, by the bootstrap.")] = False,
    threads: ThreadsOption = None,
    force: ForceOption = False,
) -> None:
    """Measure a model on labelled documents: break-even, precision, recall, F1, by category and together.

    thresher evaluate desk.thresher sample:test --report desk.html
    """
    from thresher.evaluation import evaluate as evaluate_model

    if report is not None:
        from thresher.report.page import check_packages

        check_packages()
        check_output(report, force)
    if cluster.address is not None:
        if report is not None:
            raise UsageError("--report shows documents, and is for evaluating here (leave it or --cluster out)")
        evaluation = _evaluate_there(shell, read, model, data, cluster)
    else:
        categorizer = load_model(model, threads)
        documents = read_labelled_documents(shell, read, data)
        if documents and not any(document.categories for document in documents):
            shell.remark(f"{data}: none of the documents has a category (is it the right file?)")
        with shell.progress() as progress:
            evaluation = evaluate_model(categorizer, documents, progress=progress)
    if report is not None:
        from thresher.report import make_report

        page = make_report(categorizer, documents, evaluation, title=f"{model.name} on {data}")
        with output_file(report) as file:
            file.write(page.encode())
    if shell.json:
        shell.emit(evaluation.summary(intervals=intervals))
        return
    show_summary(shell, evaluation, f"{model.name} on {data}", intervals)
    show_categories(shell, evaluation)
    if report is not None:
        shell.say(f"Wrote {report}")


def _evaluate_there(shell: Shell, read: Read, model: Path, data: str, options: ClusterOptions) -> "Evaluation":
    from thresher.cli.cluster_options import connect_cluster, partition_source
    from thresher.cluster.prediction import evaluate as evaluate_there

    with connect_cluster(shell, options) as cluster:
        parts = partition_source(read, data, labelled=True)
        with shell.progress() as progress:
            return evaluate_there(model, parts, cluster, progress=progress)


def show_summary(shell: Shell, evaluation: "Evaluation", title: str, intervals: bool = False) -> None:
    """Write the measures over all categories."""
    summary = evaluation.summary(intervals=intervals)
    rows = [
        ["pooled", _percent(summary["pooled_break_even"]), "", "", ""],
        *(
            [
                kind,
                _percent(summary[f"{kind}_break_even"]),
                *(_percent(summary[kind][of]) for of in ("precision", "recall", "f1")),
            ]
            for kind in ("micro", "macro")
        ),
    ]
    shell.table(
        f"{title}: {summary['documents']:,} documents, {summary['categories']:,} categories",
        ["", " break-even", " precision", " recall", " F1"],
        rows,
    )
    for name, ends in summary.get("intervals", {}).items():
        shell.say(f"{name.replace('_', ' ')}: {_percent(ends['low'])} to {_percent(ends['high'])} (95 %)")
    if evaluation.unknown_categories:
        names = ", ".join(list(evaluation.unknown_categories)[:5])
        shell.remark(f"the model does not know {len(evaluation.unknown_categories)} of the categories: {names}")


def show_categories(shell: Shell, evaluation: "Evaluation") -> None:
    """Write the measures of the largest categories, with bars."""
    rows = sorted(evaluation.summary()["per_category"], key=lambda row: -row["positives"])
    cells = [
        [
            row["category"], str(row["positives"]), _percent(row["break_even"]), _percent(row["precision"]),
            _percent(row["recall"]), _percent(row["f1"]), bar(row["f1"]),
        ]
        for row in rows[:_MAX_CATEGORIES]
    ]  # fmt: skip
    shell.table("", ["category", " documents", " break-even", " precision", " recall", " F1", ""], cells)
    if len(rows) > _MAX_CATEGORIES:
        shell.say(f"... and {len(rows) - _MAX_CATEGORIES} smaller categories (--json has them all)")


def bar(value: float | None, width: int = 15) -> str:
    """Return a fraction as a bar."""
    eighths = round((value or 0.0) * width * 8)
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")


def compare(
    shell: Shell,
    read: Read,
    first: ModelArgument,
    second: ModelArgument,
    data: DataArgument,
    top: Annotated[int, top_option("Show this number of documents that differ.")] = 10,
    threads: ThreadsOption = None,
) -> None:
    """Test whether two models differ on the same documents, and show where.

    thresher compare desk.thresher paper.thresher sample:test
    """
    from thresher.evaluation import compare as compare_evaluations
    from thresher.evaluation import evaluate as evaluate_model

    models = [load_model(path, threads) for path in (first, second)]
    documents = read_labelled_documents(shell, read, data)
    one, other = (evaluate_model(model, documents) for model in models)
    tests = compare_evaluations(one, other)
    differing = _find_differences(one, other, documents)
    figures = {
        "pooled_break_even": (one.pooled_break_even, other.pooled_break_even),
        "micro_f1": (one.counts().micro().f1, other.counts().micro().f1),
    }
    comparison = {
        "documents": len(documents),
        "tests": {
            name: {"first": figures[name][0], "second": figures[name][1], **test._asdict()}
            for name, test in tests.items()
        },
        "documents_that_differ": len(differing),
        "differences": differing[:top],
    }
    if shell.json:
        shell.emit(comparison)
    else:
        _show_comparison(shell, comparison, f"{first.name} and {second.name} on {data}")


def _show_comparison(shell: Shell, comparison: dict[str, Any], title: str) -> None:
    rows = [
        [
            name.replace("_", " "), _percent(test["first"]), _percent(test["second"]),
            f"{100 * test['difference']:+.1f}", f"{test['p_value']:.4f}",
        ]
        for name, test in comparison["tests"].items()
    ]  # fmt: skip
    shell.table(title, ["", " first", " second", " difference", " p"], rows)
    shell.say(
        f"They differ on {comparison['documents_that_differ']:,} of {comparison['documents']:,} documents", "bold"
    )
    cells = [
        [row["id"], ", ".join(row["categories"]), ", ".join(row["first"]), ", ".join(row["second"])]
        for row in comparison["differences"]
    ]
    if cells:
        shell.table("", ["id", "true", "first", "second"], cells)


def _find_differences(one: "Evaluation", other: "Evaluation", documents: "list[Document]") -> list[dict[str, Any]]:
    """Return the documents that the two decide differently, those with the largest difference in mistakes first."""
    differences = []
    for i, document in enumerate(documents):
        first, second = _accepted_names(one, i), _accepted_names(other, i)
        if set(first) != set(second):
            true = set(document.categories)
            gap = abs(len(set(first) ^ true) - len(set(second) ^ true))
            row = {"id": document.id, "categories": list(document.categories), "first": first, "second": second}
            differences.append((gap, i, row))
    return [row for _, _, row in sorted(differences, key=lambda entry: (-entry[0], entry[1]))]


def _accepted_names(evaluation: "Evaluation", i: int) -> list[str]:
    return [evaluation.categories[c] for c in evaluation.accepted[i].nonzero()[0]]
