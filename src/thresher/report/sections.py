"""Collect the contents of each section of the report from the model and the evaluation."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from thresher import metrics
from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.evaluation import Evaluation, Prequential
from thresher.learners.base import MistakeDrivenLearner
from thresher.report import plots
from thresher.report.filters import format_count
from thresher.report.tables import make_category_rows, make_setting_rows, make_version_rows, make_word_rows, to_fraction
from thresher.report.worst_errors import find_worst_errors
from thresher.support.units import format_percent

# Limits of the template, so that a browser opens the page quickly.
LIMITS = {"most_rows": 1000, "many_rows": 20, "most_word_rows": 200, "most_unknown": 20, "most_names": 12}
MAX_ERRORS = 10  # of either kind
MAX_CONFUSIONS = 10
MULTIPLES = 8
BINS, SMALL_BINS = 70, 30

POOLED = "The share that is right if as many pairs of document and category are accepted as are true, best first."
RANGE_SHARED = "Scores in the shaded range counted as mistakes in training."
RANGE_APART = (
    "Scores in the shaded range counted as mistakes in training. It is shown by category only: thresholds differ, and "
    "with them the place of the range among reported scores."
)

Range = tuple[float, float] | None


class Figure(NamedTuple):
    """A headline figure of the summary."""

    label: str
    value: str
    interval: str
    detail: str
    meaning: str


class Drawn(NamedTuple):
    """A plot and its caption."""

    markup: str
    caption: str


class Multiple(NamedTuple):
    """A small plot of one category."""

    category: str
    positives: int
    markup: str


def make_sections(
    model: Categorizer, documents: list[Document], evaluation: Evaluation, prequential: Prequential | None
) -> dict[str, Any]:
    """Return all variables of the template except the title."""
    summary = evaluation.summary(intervals=True)
    rows = make_category_rows(summary)
    return {
        **LIMITS,
        "documents": len(documents),
        "folds": 0 if evaluation.fold_of is None else len(np.unique(evaluation.fold_of)),
        "rows": rows,
        "figures": make_figures(summary),
        "unknown": sorted(evaluation.unknown_categories.items(), key=lambda item: -item[1]),
        "learning": plot_learning(model, prequential),
        "words": make_word_rows(model, [row.name for row in rows], LIMITS["most_word_rows"]),
        "errors": find_worst_errors(model, documents, evaluation, MAX_ERRORS),
        "confusions": evaluation.confusions(MAX_CONFUSIONS),
        "settings": make_setting_rows(model),
        "digest": model.digest(),
        "versions": make_version_rows(),
        **plot_curve(evaluation, summary),
        **plot_scores(model, evaluation),
    }


def make_figures(summary: Mapping[str, Any]) -> list[Figure]:
    """Return the headline figures of the summary, the pooled break-even first."""
    positive = sum(row["positives"] > 0 for row in summary["per_category"])
    documents, categories = format_count(summary["documents"]), format_count(summary["categories"])
    return [
        _make_figure(summary, "pooled_break_even", "Pooled break-even", POOLED),
        _make_figure(
            summary, "micro_break_even", "Micro break-even", "Each category’s own, weighted by its positives."
        ),
        _make_figure(summary, "macro_break_even", "Macro break-even", "The plain mean of the categories’ own."),
        _make_figure(
            summary, "exactly_right", "Exactly right", "Documents that got all their categories and no other."
        ),
        _make_decision_figure("micro", summary, "All decisions together: large categories weigh most."),
        _make_decision_figure("macro", summary, "The mean over categories that have a positive: each weighs the same."),
        Figure("Documents", documents, "", "", "Labelled documents that the model was tested on."),
        Figure("Categories", categories, "", "", f"{format_count(positive)} of them with a positive here."),
    ]


def _make_figure(summary: Mapping[str, Any], name: str, label: str, meaning: str) -> Figure:
    interval = _format_interval(summary["intervals"].get(name))
    return Figure(label, format_percent(summary[name]), interval, "", meaning)


def _make_decision_figure(kind: str, summary: Mapping[str, Any], meaning: str) -> Figure:
    """Return the F1 of the model's own decisions, with precision and recall.

    Macro F1 has no interval, because a bootstrap sample leaves rare categories out and so scores higher.
    """
    rates = {name: format_percent(value) for name, value in summary[kind].items()}
    interval = _format_interval(summary["intervals"]["micro_f1"]) if kind == "micro" else ""
    detail = f"precision {rates['precision']}, recall {rates['recall']}"
    return Figure(f"{kind.title()} F1", rates["f1"], interval, detail, meaning)


def _format_interval(interval: Mapping[str, Any] | None) -> str:
    if interval is None or interval["low"] is None:
        return ""
    return f"({format_percent(interval['low'])}–{format_percent(interval['high'])})"


def plot_curve(evaluation: Evaluation, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pooled precision-recall curve with its two points; the curve is empty if there are no positives."""
    break_even = to_fraction(summary["pooled_break_even"])
    decided = plots.Point(*(to_fraction(summary["micro"][name]) for name in plots.Point._fields))
    drawn = ""
    if evaluation.truth.any():
        curve = metrics.precision_recall_curve(evaluation.scores.ravel(), evaluation.truth.ravel())
        drawn = plots.plot_precision_recall(curve.recall, curve.precision, break_even, decided)
    return {"curve": Markup(drawn), "break_even": break_even, "decided": decided}


def plot_learning(model: Categorizer, prequential: Prequential | None) -> list[Drawn]:
    """Return the plots of the training passes and, if given, of the prequential evaluation."""
    drawn = _plot_passes(model.state.learner)
    if prequential is not None and len(prequential.counts):
        drawn += _plot_over_time(prequential)
    return drawn


def _plot_passes(learner: MistakeDrivenLearner) -> list[Drawn]:
    mistakes = learner.mistakes_
    if mistakes.size == 0:
        return []
    numbers = np.arange(1, len(mistakes) + 1)
    running = np.count_nonzero(learner.n_passes_ >= numbers[:, np.newaxis], axis=1)
    return [
        Drawn(
            Markup(plots.plot_counts("mistakes", numbers, mistakes.sum(axis=1), "pass", "mistakes")),
            "Mistakes in each pass of training, over all categories. A score within the threshold range is one too.",
        ),
        Drawn(
            Markup(plots.plot_counts("running", numbers, running, "pass", "categories")),
            "Categories still learning: each stops after a pass without a mistake.",
        ),
    ]


def _plot_over_time(prequential: Prequential) -> list[Drawn]:
    numbers = np.arange(1, len(prequential.counts) + 1)
    full = prequential.window - 1 if prequential.window < len(numbers) else 0  # earlier values are of too few documents
    wrong = f"{format_count(prequential.documents_wrong)} of {format_count(len(numbers))}"
    return [
        Drawn(
            Markup(plots.plot_counts("wrong", numbers, prequential.mistakes, "documents", "wrong so far")),
            f"Each document predicted before it was learned: documents predicted wrong so far, {wrong} at the end.",
        ),
        Drawn(
            Markup(plots.plot_rate("recent", numbers[full:], prequential.curve()[full:], "documents", "micro F1, %")),
            f"Micro F1 over the last {format_count(prequential.window)} of these documents.",
        ),
    ]


def plot_scores(model: Categorizer, evaluation: Evaluation) -> dict[str, Any]:
    """Return the histograms of reported scores for all categories of the model together, and for the largest."""
    ranges = find_training_ranges(model)
    known = [c for c, name in enumerate(evaluation.categories) if name in ranges]
    shared = len(set(ranges.values())) == 1
    context: dict[str, Any] = {"histogram": "", "multiples": [], "range_note": "", "range_drawn": any(ranges.values())}
    if not known:
        return context
    pooled = plots.count_bins(evaluation.scores[:, known].ravel(), evaluation.truth[:, known].ravel(), BINS)
    band = next(iter(ranges.values())) if shared else None
    context["histogram"] = Markup(plots.plot_histogram("pooled", pooled, band))
    if context["range_drawn"]:
        context["range_note"] = RANGE_SHARED if shared else RANGE_APART
    positives = np.count_nonzero(evaluation.truth, axis=0)
    largest = sorted(known, key=lambda c: -positives[c])[:MULTIPLES]
    if len(known) > 1:
        context["multiples"] = [_plot_multiple(evaluation, c, i, ranges) for i, c in enumerate(largest) if positives[c]]
    return context


def _plot_multiple(evaluation: Evaluation, c: int, i: int, ranges: Mapping[str, Range]) -> Multiple:
    name, truth = evaluation.categories[c], evaluation.truth[:, c]
    counted = plots.count_bins(evaluation.scores[:, c], truth, SMALL_BINS)
    drawn = plots.plot_histogram(f"scores{i}", counted, ranges[name], small=True)
    return Multiple(name, int(np.count_nonzero(truth)), Markup(drawn))


def find_training_ranges(model: Categorizer) -> dict[str, Range]:
    """Return the threshold range of training for each category, in terms of its reported scores.

    The range is one of raw scores, and a reported score is 1 + raw - threshold. So categories share a range only if
    their thresholds are equal; tuned thresholds differ. A category that is compared with the best score of a document
    has no range, since its threshold differs by document.
    """
    band = model.state.settings.parameters.threshold_range
    thresholds, rivalry = model.state.decisions.thresholds.tolist(), model.state.decisions.rivalry.tolist()
    return {
        name: None if band is None or share else (1 + band[0] - threshold, 1 + band[1] - threshold)
        for name, threshold, share in zip(model.categories, thresholds, rivalry, strict=True)
    }
