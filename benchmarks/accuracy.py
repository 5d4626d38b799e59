"""Compare the presets with LinearSVC, SGD, logistic regression, fastText and Vowpal Wabbit in quality and speed.

    THRESHER_DATA=FOLDER .venv/bin/python benchmarks/accuracy.py [NAME=TRAIN.jsonl,TEST.jsonl ...] [options]

FOLDER holds reuters21578.tar.xz and debtags.tar.xz. Every peer's thresholds are tuned for F1 on the held-out scores of
the same five folds by the same functions as the presets', and its policy is chosen alike. To develop a preset, add
--validation: then a fifth of the training documents is held out, and no test document is read.
"""

import argparse
import io
import json
import os
import sys
import tarfile
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from interleaving import table, time_interleaved
from pages import write_between
from peers import (
    N_FOLDS,
    PEERS,
    Collection,
    Documents,
    Floats,
    Outcome,
    Score,
    Truth,
    as_csr,
    choose_preset_settings,
    list_labels,
    peer_outcome,
    strengthen_rows,
    time_stage,
    tune,
)
from thresher import Categorizer, __version__
from thresher.datasets.document import Document
from thresher.datasets.reader import read_documents
from thresher.metrics import Counts, f1_of, micro_break_even, pooled_break_even
from thresher.metrics.significance import Interval, bootstrap_interval
from thresher.model.factories import new_learner
from thresher.model.presets import PRESETS
from thresher.model.settings import ModelSettings
from thresher.model.threshold_tuning import train_and_tune
from thresher.rows.folds import assign_folds
from thresher.rows.labels import as_truth, number_categories

REUTERS, DEBTAGS = ("modapte90", "aptemod"), "debtags"
COLLECTIONS = (*REUTERS, DEBTAGS, "sample")
USUAL = ",".join((*REUTERS, DEBTAGS))
SYSTEMS = (*PRESETS, *PEERS)
YARDSTICKS = ("linearsvc", "linearsvc-ours")  # what the presets are tested against
WARMING = 100  # documents on which every system runs once beforehand: compiling and starting processes is not timed
ALONE, PLAIN = "fit alone, on rows", "LinearSVC"
FIGURES = ("pooled break-even", "micro break-even", "micro F1", "macro F1")
TIMES = ("read", "fit", "with thresholds", "predict")
PACKAGES = ("numpy", "numba", "scikit-learn", "fasttext-numpy2-wheel", "vowpalwabbit")


# -- collections -------------------------------------------------------------------------------------------------------


def collection_of(name: str, train: list[Document], test: list[Document]) -> Collection:
    """Return a collection with the categories of its training documents."""
    categories = sorted({category for document in train for category in document.categories})
    return Collection(name, train, test, categories, truth_of(train, categories))


def truth_of(documents: Documents, categories: list[str]) -> Truth:
    """Return which of these categories each document has."""
    return as_truth(number_categories((document.categories for document in documents), categories), len(categories))


def read_collection(source: str, options: argparse.Namespace) -> Collection:
    """Return a collection by its name, or from NAME=TRAIN,TEST; with --validation its test part is not even read."""
    name, _, files = source.partition("=")

    def part(which: str) -> list[Document]:
        documents = _part(name, files, which)[: options.limit]
        return [document._replace(fields=None) for document in documents] if options.one_text else documents

    if options.validation:
        return hold_out_fifth(collection_of(name, part("train"), []))
    return collection_of(name, part("train"), part("test"))


def _part(name: str, files: str, part: str) -> list[Document]:
    if files:
        return list(read_documents(dict(zip(("train", "test"), files.split(","), strict=True))[part]))
    if name in REUTERS:
        return list(read_documents(f"reuters21578:{name}:{part}"))
    if name == DEBTAGS:
        return _debtags(part)
    return list(read_documents(f"{name}:{part}"))


def _debtags(part: str) -> list[Document]:
    with tarfile.open(Path(os.environ.get("THRESHER_DATA", "."), "debtags.tar.xz")) as archive:
        member = archive.extractfile(f"{part}.jsonl")
        return list(read_documents(io.BytesIO(member.read() if member else b""), format="jsonl"))


def hold_out_fifth(whole: Collection) -> Collection:
    """Return a collection whose test documents are a fifth of the training documents, which is left out of these."""
    fold_of = assign_folds(whole.truth, N_FOLDS).tolist()
    parts: tuple[list[Document], list[Document]] = ([], [])
    for document, fold in zip(whole.train, fold_of, strict=True):
        parts[fold == 0].append(document)
    return collection_of(whole.name, *parts)


# -- one system on one collection --------------------------------------------------------------------------------------


def run_system(system: str, collection: Collection) -> Outcome:
    """Train a preset or a peer on the training documents, and return its decisions on the test documents."""
    return peer_outcome(PEERS[system], collection) if system in PEERS else preset_outcome(system, collection)


def preset_outcome(preset: str, collection: Collection) -> Outcome:
    """Run a preset; reading and the final fit, which are parts of `Categorizer.fit`, are also timed alone."""
    seconds: dict[str, float] = {}
    settings = choose_preset_settings(preset, collection.train, collection.truth)
    rows, _ = time_stage(seconds, "read", lambda: strengthen_rows(settings, collection.train))
    labels, learner = list_labels(collection.truth), new_learner(settings)
    time_stage(seconds, "fit", lambda: learner.fit(rows, labels, n_categories=len(collection.categories)))
    model = time_stage(seconds, "with thresholds", _training(preset, collection))
    scores, accepted = time_stage(
        seconds, "predict", lambda: model.decide(document.content for document in collection.test)
    )
    return Outcome(scores, accepted, seconds)


# -- figures -----------------------------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """The truth of the test documents and what a system accepted, unknown categories at the end."""

    truth: Truth
    scores: Floats
    accepted: Truth


def judge(outcome: Outcome, collection: Collection) -> Judged:
    """Add the categories that only test documents have: no system accepts them, and each ranks them last."""
    named = {category for document in collection.test for category in document.categories}
    unknown = sorted(named - set(collection.categories))
    wider = ((0, 0), (0, len(unknown)))
    scores = np.pad(outcome.scores, wider, constant_values=float(outcome.scores.min(initial=0.0)) - 1.0)
    truth = truth_of(collection.test, collection.categories + unknown)
    return Judged(truth, scores, np.pad(outcome.accepted, wider))


def compute_figures(found: Judged) -> dict[str, float]:
    """Return the figures by name, from 0 to 1."""
    counts = Counts(found.truth.shape[1]).update(found.truth, found.accepted)
    pooled, micro = (measure(found.scores, found.truth) for measure in (pooled_break_even, micro_break_even))
    return dict(zip(FIGURES, (pooled, micro, counts.micro().f1, counts.macro().f1), strict=True))


def difference_interval(truth: Truth, first: Truth, second: Truth) -> Interval:
    """Return the confidence interval of the difference of two systems' micro F1, by the paired bootstrap."""
    ours, theirs = (_document_counts(truth, accepted) for accepted in (first, second))

    def difference(drawn: Any) -> float:
        return float(f1_of(*ours[drawn].sum(axis=0)) - f1_of(*theirs[drawn].sum(axis=0)))

    return bootstrap_interval(difference, len(truth))


def _document_counts(truth: Truth, accepted: Truth) -> Any:
    kinds = (truth & accepted, accepted & ~truth, truth & ~accepted)
    return np.column_stack([np.count_nonzero(kind, axis=1) for kind in kinds])


def differences(results: Mapping[str, Judged]) -> list[dict[str, Any]]:
    """Return the difference of each preset's micro F1 to LinearSVC's, with the paired bootstrap's 95 % interval."""
    rows = []
    for preset in (name for name in results if name in PRESETS):
        for peer in (name for name in YARDSTICKS if name in results):
            truth, one, other = results[preset].truth, results[preset].accepted, results[peer].accepted
            points = [compute_figures(results[name])["micro F1"] for name in (preset, peer)]
            interval = difference_interval(truth, one, other)
            rows.append({"preset": preset, "peer": peer, "difference": points[0] - points[1], "interval": [*interval]})
    return rows


# -- tables ------------------------------------------------------------------------------------------------------------


class Report(NamedTuple):
    """The results on a collection: its size, a row of figures and seconds for each system, and the differences."""

    size: dict[str, Any]
    rows: list[dict[str, Any]]
    differences: list[dict[str, Any]]


def report_on(collection: Collection, systems: Iterable[str], tell: Callable[[dict[str, Any]], None]) -> Report:
    """Run the systems one after the other, and print each row as soon as it is known."""
    n_documents = {"train": len(collection.train), "test": len(collection.test)}
    report = Report({"collection": collection.name, **n_documents, "categories": len(collection.categories)}, [], [])
    tell(report.size)
    results: dict[str, Judged] = {}
    for system in systems:
        outcome = run_system(system, collection)
        results[system] = judge(outcome, collection)
        row = {
            "collection": collection.name,
            "system": system,
            **compute_figures(results[system]),
            "seconds": outcome.seconds,
        }
        report.rows.append(row)
        tell(row)
    report.differences.extend({"collection": collection.name, **row} for row in differences(results))
    for row in report.differences:
        tell(row)
    return report


def format_title(system: str) -> str:
    """Return a system's name for the tables."""
    return PEERS[system].name if system in PEERS else f"thresher {system}"


def format_line(row: Mapping[str, Any]) -> str:
    """Return a row of a report for a terminal."""
    if "system" in row:
        figures = " ".join(f"{100 * row[name]:11.2f}" for name in FIGURES)
        return f"{format_title(row['system']):26} {figures} " + " ".join(
            f"{row['seconds'][name]:9.2f}" for name in TIMES
        )
    if "preset" in row:
        return _sentence(row)
    heads = " ".join(f"{name.replace('break-even', 'b-e'):>11}" for name in FIGURES)
    times = " ".join(f"{name.replace('with ', '+')[:9]:>9}" for name in TIMES)
    return f"\n{_size_of(row)}\n{'per cent, then seconds':26} {heads} {times}"


def _size_of(row: Mapping[str, Any]) -> str:
    sizes = f"{row['train']:,} documents to train, {row['test']:,} to test, {row['categories']} categories"
    return f"{row['collection']}: {sizes}"


def _sentence(row: Mapping[str, Any]) -> str:
    low, high = (100 * bound for bound in row["interval"])
    verdict = "better" if low > 0 else "worse" if high < 0 else "no difference beyond chance"
    names = f"{format_title(row['preset'])} less {format_title(row['peer'])}"
    return f"micro F1 of {names}: {100 * row['difference']:+.2f} [{low:+.2f}, {high:+.2f}], {verdict}"


def format_markdown(reports: Iterable[Report], about: str) -> str:
    """Return the reports as tables of Markdown."""
    parts = [about]
    for report in reports:
        heads = ["", *FIGURES, *(f"{name}, s" for name in TIMES)]
        lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
        for row in report.rows:
            cells = [f"{100 * row[name]:.2f}" for name in FIGURES] + [f"{row['seconds'][name]:.2f}" for name in TIMES]
            lines.append("| " + " | ".join([format_title(row["system"]), *cells]) + " |")
        parts += [f"### {_size_of(report.size)}", "\n".join(lines)]
        parts += ["\n".join(f"- {_sentence(row)}" for row in report.differences)] if report.differences else []
    return "\n\n".join(parts) + "\n"


def describe_run(validation: bool) -> str:
    """Return a description of the run: programs, machine and documents."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES if _is_installed(name))
    what = "a fifth of the training documents, held out" if validation else "the test documents"
    return f"Made by `benchmarks/accuracy.py` with thresher {__version__}, {versions}, on {what}."


def _is_installed(package: str) -> bool:
    return any(True for _ in metadata.distributions(name=package))


# -- times -------------------------------------------------------------------------------------------------------------


def timing(collection: Collection, rounds: int) -> None:
    """Print how fast the presets train compared with LinearSVC: fit alone, with thresholds, and from text."""
    groups = prepare_runs(collection, [name for name in ("default", "fast") if name in PRESETS])
    # One round runs all of them, so that the ratios between the groups hold as well.
    everything = {(title, name): run for title, group in groups.items() for name, run in group.items()}
    seconds = time_interleaved({f"{title}: {name}": run for (title, name), run in everything.items()}, rounds)
    for title, group in groups.items():
        print(f"\n{collection.name}, {title}; the peer is {PLAIN}")
        own = {name: seconds[f"{title}: {name}"] for name in group}
        table({PLAIN: seconds[f"{ALONE}: {PLAIN}"]} | own, PLAIN, len(collection.train), "texts")


def prepare_runs(collection: Collection, presets: list[str]) -> dict[str, dict[str, Callable[[], object]]]:
    """Return the functions to time, by group; LinearSVC gets the rows of the default preset where rows are used."""
    truth, train = collection.truth, PEERS["linearsvc-ours"].train
    settings = {name: choose_preset_settings(name, collection.train, truth) for name in presets}
    rows = {name: strengthen_rows(settings[name], collection.train)[0] for name in presets}
    csr = as_csr(rows["default"])
    return {
        ALONE: {PLAIN: lambda: train(csr, truth)}
        | {name: _fitting(settings[name], rows[name], truth) for name in presets},
        "with thresholds, on rows": {"LinearSVC, tuned": lambda: (tune(train, csr, truth), train(csr, truth))}
        | {f"{name}, tuned": _fitting(settings[name], rows[name], truth, thresholds=True) for name in presets},
        "from text": {"TfidfVectorizer, LinearSVC, not tuned": lambda: _plain(collection)}
        | {f"{name}, as it comes": _training(name, collection) for name in presets},
    }


def _plain(collection: Collection) -> Score:
    peer = PEERS["linearsvc"]
    return peer.train(peer.read(collection.train, collection.truth)[0], collection.truth)


def _fitting(settings: ModelSettings, rows: Any, truth: Truth, thresholds: bool = False) -> Callable[[], object]:
    labels = list_labels(truth)

    def run() -> None:
        learner = new_learner(settings)
        if thresholds:
            train_and_tune(settings, learner, rows, labels, truth.shape[1])
        else:
            learner.fit(rows, labels, n_categories=truth.shape[1])

    return run


def _training(preset: str, collection: Collection) -> Callable[[], Categorizer]:
    contents, categories = zip(*((document.content, document.categories) for document in collection.train), strict=True)
    return lambda: Categorizer(preset=preset).fit(contents, categories)


# -- command line ------------------------------------------------------------------------------------------------------


def parse_arguments(given: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="NAME=TRAIN,TEST", help="collections of your own, as JSONL files")
    parser.add_argument("--collections", help=f"of {','.join(COLLECTIONS)}; {USUAL} unless files are given")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="of %(default)s")
    parser.add_argument("--validation", action="store_true", help="test on a held-out fifth of the training documents")
    parser.add_argument("--one-text", action="store_true", help="give the presets text without fields, title first")
    parser.add_argument("--limit", type=int, help="take the first so many documents of each part")
    parser.add_argument("--timing", type=int, metavar="ROUNDS", help="time the training of presets and LinearSVC alone")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables into a page")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each row")
    options = parser.parse_args(given)
    wanted = USUAL if options.collections is None and not options.files else options.collections or ""
    options.sources = [name for name in wanted.split(",") if name] + options.files
    options.systems = [name for name in options.systems.split(",") if name]
    for kind, names, known in (
        ("collection", [name for name in options.sources if "=" not in name], COLLECTIONS),
        ("system", options.systems, SYSTEMS),
    ):
        for name in names:
            if name not in known:
                parser.error(f"{kind} {name!r} is unknown (allowed: {', '.join(known)})")
    return options


def main(given: list[str] | None = None) -> None:
    """Run the systems on the collections given."""
    options = parse_arguments(sys.argv[1:] if given is None else given)

    def tell(row: dict[str, Any]) -> None:
        print(json.dumps(row) if options.json else format_line(row), flush=True)

    if options.timing is None:
        warm_up(options.systems)
    reports = []
    for source in options.sources:
        collection = read_collection(source, options)
        if options.timing is not None:
            timing(collection, options.timing)
        else:
            reports.append(report_on(collection, options.systems, tell))
    if options.markdown is not None:
        write_between(options.markdown, "accuracy", format_markdown(reports, describe_run(options.validation)))


def warm_up(systems: Iterable[str]) -> None:
    """Run every system once on a few documents."""
    documents = list(read_documents("sample:train"))[:WARMING]
    for system in systems:
        run_system(system, collection_of("sample", documents, documents))


if __name__ == "__main__":
    main()
