"""`thresher train`: from labelled documents to a model file."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.failures import UsageError
from thresher.cli.options import (
    ClusterOptions,
    DataArgument,
    ForceOption,
    Read,
    Settings,
    SharedOption,
    ThreadsOption,
    check_is_text,
    text_documents,
    whole_number,
)
from thresher.cli.outputs import check_model_output, size_of
from thresher.cli.shell import Shell
from thresher.sizes import counted

_FEW_FEATURES = 100

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer
    from thresher.datasets.document import Document
    from thresher.evaluation import Evaluation
    from thresher.spilling import SpillingTexts


def train(
    shell: Shell,
    read: Read,
    settings: Settings,
    cluster: ClusterOptions,
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the model goes.", show_default=False)],
    valid: Annotated[str | None, typer.Option(help="Evaluate on these documents too.", metavar="DATA")] = None,
    folds: Annotated[str | None, typer.Option(help="Cross-validate in so many parts too.", metavar="K")] = None,
    threads: ThreadsOption = None,
    shared: SharedOption = None,
    mix: Annotated[
        str | None, typer.Option(help="Share the documents out in N parts; another algorithm.", metavar="N")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Learn from labelled documents, and write a model.

    thresher train sample:train -o desk.thresher
    """
    from thresher.categorizer import Categorizer

    check_model_output(output, force)
    n_folds = whole_number("--folds", folds, least=2)
    model = Categorizer(preset=settings.preset, n_threads=whole_number("--threads", threads), **settings.given)
    if cluster.address is not None:
        if valid is not None or n_folds is not None:
            raise UsageError("--valid and --folds are for training here (thresher evaluate --cluster measures there)")
        _train_there(shell, read, data, model, cluster, shared, whole_number("--mix", mix), output)
        return
    if mix is not None or shared is not None:
        raise UsageError("--mix and --shared are for training on a cluster (add --cluster)")
    texts, categories = _training_texts(shell, read, data, model.settings["memory"])
    if n_folds is not None and n_folds > len(texts):
        raise UsageError(f"--folds {n_folds} is out of range (allowed: up to the {len(texts)} documents)")
    held_out = labelled_documents(shell, read, valid) if valid is not None else None
    start = time.perf_counter()
    with shell.progress() as progress:
        model.fit(texts, categories, progress=progress)
    seconds = time.perf_counter() - start
    found = {}
    if held_out is not None:
        from thresher.evaluation import evaluate

        found["valid"] = evaluate(model, held_out)
    if n_folds is not None:
        found["cross_validation"] = _cross_validated(shell, texts, categories, n_folds, settings)
    digest = model.save(output)
    shown = _summary(model, len(texts)) | {"seconds": round(seconds, 3), "model": str(output), "digest": digest}
    _show(shell, model, shown, found, output)


def _train_there(
    shell: Shell,
    read: Read,
    data: str,
    model: "Categorizer",
    options: ClusterOptions,
    shared: Path | None,
    mix: int | None,
    output: Path,
) -> None:
    """Train on a cluster; the model is the same, unless the documents are shared out."""
    from thresher.cli.clusters import joined_cluster, source_parts
    from thresher.cluster.training import fit

    start = time.perf_counter()
    with joined_cluster(shell, options) as cluster:
        parts = source_parts(read, data, labelled=True)
        with shell.progress() as progress:
            fit(model, parts, cluster, shared, mix=mix, progress=progress)
        seconds = time.perf_counter() - start
        digest = model.save(output)
        peaks = cluster.peaks()
    shown = _summary(model, model.features.n_documents)
    shown |= {"seconds": round(seconds, 3), "model": str(output), "digest": digest, "partitions": len(parts)}
    _show(shell, model, shown | {"worker_peak_memory": peaks}, {}, output)
    shell.remark(f"most memory of a worker: {', '.join(size_of(peak) for peak in sorted(peaks.values()))}")


def labelled_documents(shell: Shell, read: Read, source: str) -> "list[Document]":
    """Return the documents of a source that has categories and text."""
    return text_documents(shell, read(source, labelled=True))


def _training_texts(
    shell: Shell, read: Read, source: str, memory: int
) -> "tuple[SpillingTexts, list[tuple[str, ...]]]":
    """Return the texts of a source, in a file where they are many, and the categories of each."""
    from thresher.spilling import SpillingTexts

    reading, texts, categories = read(source, labelled=True), SpillingTexts(limit=memory // 8), list[tuple[str, ...]]()
    names: dict[str, str] = {}
    for document in reading:
        if not categories:
            check_is_text(document)
        texts.append(document.content)
        categories.append(tuple(names.setdefault(name, name) for name in document.categories))
    shell.remarks_on(reading)
    if len(names) == 1:
        shell.remark(f"there is one category alone, {min(names)!r}: nothing to tell apart")
    for separator in (", ", ",", ";", "/"):
        if joined := [name for name in names if separator in name and names.keys() >= set(name.split(separator))]:
            remedy = f"--separator {separator!r} tells them apart"
            shell.remark(f"{joined[0]!r} is one category, and so is each of its parts: {remedy}")
            break
    return texts, categories


def _cross_validated(
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


def _summary(model: "Categorizer", n_documents: int) -> dict[str, Any]:
    mistakes = model.learner.mistakes_
    return {
        "documents": n_documents,
        "categories": len(model.categories),
        "features": model.features.vocabulary.count,
        "preset": model.preset,
        "learner": model.settings["learner"],
        "policy": model.decisions.policy,
        "passes": int(model.learner.n_passes_.max(initial=0)),
        "first_mistakes": int(mistakes[0].sum()) if len(mistakes) else 0,
        "last_mistakes": int(mistakes[-1].sum()) if len(mistakes) else 0,
        "analyser": model.features.analyser.name,
        "trials": [trial._asdict() for trial in model.trials],
    }


def _show(
    shell: Shell, model: "Categorizer", shown: dict[str, Any], found: "dict[str, Evaluation]", output: Path
) -> None:
    from thresher.choices import told

    if shell.json:
        shell.emit(shown | {name: evaluation.summary() for name, evaluation in found.items()})
        return
    shell.say(
        f"Learned {shown['documents']:,} documents: {counted(shown['categories'], 'category', 'categories')}, "
        f"{shown['features']:,} features, {shown['passes']} passes in {shown['seconds']:.1f} s"
    )
    shell.say(f"Mistakes: {shown['first_mistakes']:,} in the first pass, {shown['last_mistakes']:,} in the last")
    for line in told(model.trials):
        shell.say(line)
    if shown["features"] < _FEW_FEATURES and model.settings["min_count"] > 1:
        shell.remark("few features were seen often enough: --min-count 1 keeps them all")
    for name, evaluation in found.items():
        from thresher.cli.evaluate import show_summary

        show_summary(shell, evaluation, name.replace("_", " "))
    shell.say(f"Wrote {output} ({size_of(output.stat().st_size)}, digest {shown['digest'][:12]})")
