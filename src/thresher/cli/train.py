"""`thresher train`: train a model on labelled documents and write it to a file."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.console import Shell
from thresher.cli.exit_codes import UsageError
from thresher.cli.option_values import integer
from thresher.cli.options import (
    ClusterOptions,
    DataArgument,
    ForceOption,
    Read,
    Settings,
    SharedOption,
    ThreadsOption,
    read_all_documents,
)
from thresher.cli.output_files import check_model_output, format_size
from thresher.support.units import pluralize

_FEW_FEATURES = 100

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer
    from thresher.datasets.document import Document
    from thresher.evaluation import Evaluation
    from thresher.rows.spilled import SpillingTexts


def train(
    shell: Shell,
    read: Read,
    settings: Settings,
    cluster: ClusterOptions,
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the model.", show_default=False)],
    valid: Annotated[str | None, typer.Option(help="Evaluate on these documents too.", metavar="DATA")] = None,
    folds: Annotated[
        int | None,
        typer.Option(help="Also cross-validate in this number of parts.", metavar="K", parser=integer(2)),
    ] = None,
    threads: ThreadsOption = None,
    shared: SharedOption = None,
    force: ForceOption = False,
) -> None:
    """Learn from labelled documents, and write a model.

    thresher train sample:train -o desk.thresher
    """
    from thresher.categorizer import Categorizer
    from thresher.model.compile_ahead import start_compiling

    check_model_output(output, force)
    model = Categorizer(preset=settings.preset, n_threads=threads, **settings.given)
    if cluster.address is not None:
        if valid is not None or folds is not None:
            raise UsageError("--valid and --folds are for training here (thresher evaluate --cluster measures there)")
        _train_there(shell, read, data, model, cluster, shared, output)
        return
    if shared is not None:
        raise UsageError("--shared is for training on a cluster (add --cluster)")
    start_compiling()
    texts, categories = _read_texts(shell, read, data, model.state.settings.memory)
    if folds is not None and folds > len(texts):
        raise UsageError(f"invalid --folds: {folds}", hint=f"allowed: up to the {len(texts)} documents")
    held_out = read_labelled_documents(shell, read, valid) if valid is not None else None
    start = time.perf_counter()
    with shell.progress() as progress:
        model.fit(texts, categories, progress=progress)
    seconds = time.perf_counter() - start
    evaluations = {}
    if held_out is not None:
        from thresher.evaluation import evaluate

        evaluations["valid"] = evaluate(model, held_out)
    if folds is not None:
        evaluations["cross_validation"] = _cross_validate(shell, texts, categories, folds, settings)
    digest = model.save(output)
    record = _summarize(model, len(texts)) | {"seconds": round(seconds, 3), "model": str(output), "digest": digest}
    _show(shell, model, record, evaluations, output)


def _train_there(
    shell: Shell,
    read: Read,
    data: str,
    model: "Categorizer",
    options: ClusterOptions,
    shared: Path | None,
    output: Path,
) -> None:
    """Train on a cluster; the model is the same."""
    from thresher.cli.cluster_options import connect_cluster, partition_source
    from thresher.cluster.training import fit

    start = time.perf_counter()
    with connect_cluster(shell, options) as cluster:
        parts = partition_source(read, data, labelled=True)
        with shell.progress() as progress:
            fit(model, parts, cluster, shared, progress=progress)
        seconds = time.perf_counter() - start
        digest = model.save(output)
        peaks = cluster.peaks()
    record = _summarize(model, model.state.features.n_documents)
    record |= {"seconds": round(seconds, 3), "model": str(output), "digest": digest, "partitions": len(parts)}
    _show(shell, model, record | {"worker_peak_memory": peaks}, {}, output)
    shell.remark(f"most memory of a worker: {', '.join(format_size(peak) for peak in sorted(peaks.values()))}")


def read_labelled_documents(shell: Shell, read: Read, source: str) -> "list[Document]":
    """Return the documents of a source that has categories and text."""
    return read_all_documents(shell, read(source, labelled=True))


def _read_texts(shell: Shell, read: Read, source: str, memory: int) -> "tuple[SpillingTexts, list[tuple[str, ...]]]":
    """Return the texts of a source, in a temporary file if they are many, and the categories of each."""
    from thresher.rows.spilled import SpillingTexts

    reading, texts, categories = read(source, labelled=True), SpillingTexts(limit=memory // 8), list[tuple[str, ...]]()
    names: dict[str, str] = {}
    for document in reading:
        texts.append(document.content)
        categories.append(tuple(names.setdefault(name, name) for name in document.categories))
    shell.remarks_on(reading)
    if len(names) == 1:
        shell.remark(f"there is one category alone, {min(names)!r}: nothing to distinguish")
    for separator in (", ", ",", ";", "/"):
        if joined := [name for name in names if separator in name and names.keys() >= set(name.split(separator))]:
            remedy = f"--separator {separator!r} separates them"
            shell.remark(f"{joined[0]!r} is one category, and so is each of its parts: {remedy}")
            break
    return texts, categories


def _cross_validate(
    shell: Shell, texts: "SpillingTexts", categories: list[tuple[str, ...]], folds: int, settings: Settings
) -> "Evaluation":
    from thresher.datasets.document import Document
    from thresher.evaluation import cross_validate

    documents = [
        Document("", names, fields=text) if isinstance(text, dict) else Document(text, names)
        for text, names in zip(texts, categories, strict=True)
    ]
    given = {name: value for name, value in settings.given.items() if name != "folds"}
    with shell.progress() as progress:
        return cross_validate(documents, folds=folds, preset=settings.preset, progress=progress, **given)


def _summarize(model: "Categorizer", n_documents: int) -> dict[str, Any]:
    mistakes = model.state.learner.mistakes_
    return {
        "documents": n_documents,
        "categories": len(model.categories),
        "features": model.state.features.vocabulary.count,
        "preset": model.state.preset,
        "learner": model.state.settings.learner,
        "policy": model.state.decisions.policy,
        "passes": int(model.state.learner.n_passes_.max(initial=0)),
        "first_mistakes": int(mistakes[0].sum()) if len(mistakes) else 0,
        "last_mistakes": int(mistakes[-1].sum()) if len(mistakes) else 0,
        "analyser": model.state.features.analyser.name,
        "trials": [trial._asdict() for trial in model.trials],
    }


def _show(
    shell: Shell, model: "Categorizer", record: dict[str, Any], evaluations: "dict[str, Evaluation]", output: Path
) -> None:
    from thresher.model.selection import describe_trials

    if shell.json:
        shell.emit(record | {name: evaluation.summary() for name, evaluation in evaluations.items()})
        return
    shell.say(
        f"Learned {record['documents']:,} documents: {pluralize(record['categories'], 'category', 'categories')}, "
        f"{record['features']:,} features, {record['passes']} passes in {record['seconds']:.1f} s"
    )
    shell.say(f"Mistakes: {record['first_mistakes']:,} in the first pass, {record['last_mistakes']:,} in the last")
    for line in describe_trials(model.trials):
        shell.say(line)
    if record["features"] < _FEW_FEATURES and model.state.settings.min_count > 1:
        shell.remark("few features were seen often enough: --min-count 1 keeps them all")
    for name, evaluation in evaluations.items():
        from thresher.cli.evaluate import show_summary

        show_summary(shell, evaluation, name.replace("_", " "))
    shell.say(f"Wrote {output} ({format_size(output.stat().st_size)}, digest {record['digest'][:12]})")
