"""Train a model from scratch on labelled texts."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.datasets.category_names import normalize_each
from thresher.errors import TextError
from thresher.learners.base import MistakeDrivenLearner
from thresher.model.decisions import Decisions
from thresher.model.factories import fit_to_size, new_features, new_learner, strengthen_training_rows
from thresher.model.reservoir import Reservoir
from thresher.model.selection import NO_CHOICE, Choice, choose_settings
from thresher.model.state import ModelState
from thresher.model.thread_safety import lesson
from thresher.model.threshold_tuning import train_and_tune
from thresher.rows.spilled import SpillingTexts
from thresher.support.progress import Report, report_reading
from thresher.text.analysers import Text
from thresher.text.batches import split_texts
from thresher.text.lemmas import list_lemmatizers
from thresher.text.vectorizer import TextFeatures


class FittedParts(NamedTuple):
    """The parts of a model that `fit` replaces."""

    features: TextFeatures
    learner: MistakeDrivenLearner
    categories: list[str]
    choice: Choice
    decisions: Decisions
    idf: NDArray[np.float32]
    reservoir: Reservoir


def fit(
    model: ModelState,
    texts: Iterable[Text],
    categories: Iterable[str | Iterable[str]],
    progress: Report | None = None,
) -> None:
    """Train the model from scratch; see `Categorizer.fit`."""
    named = normalize_each(categories)
    names = sorted({name for row in named for name in row})
    numbers = {name: number for number, name in enumerate(names)}
    labels = [[numbers[name] for name in row] for row in named]
    del named  # frees the names, one list per document
    choice, memory = NO_CHOICE, model.settings.memory
    if model.settings.choose != "nothing" and names:
        if not isinstance(texts, list | SpillingTexts):
            texts = SpillingTexts((text for batch in split_texts(texts) for text in batch), memory // 8)
        if len(texts) == len(labels):
            choice = choose_settings(model.settings, model.given, texts, labels, len(names), progress)
    settings = model.settings.replace(choice.settings)
    if choice.fitted is None:
        features = new_features(settings)
        rows = features.fit(report_reading(texts, progress), memory)
    else:
        features, rows = choice.fitted
    if len(labels) != len(rows.indptr) - 1:
        raise TextError(f"there are {len(rows.indptr) - 1} texts and {len(labels)} sets of categories")
    if not names:
        raise TextError("there are no categories: no text has one")
    settings = fit_to_size(settings, rows.n_features, len(names))
    reservoir = Reservoir.of(rows, labels)
    strong, idf = strengthen_training_rows(settings, rows)
    del rows  # if strengths are computed, the counts are not needed any more
    learner = new_learner(settings)
    decisions = train_and_tune(settings, learner, strong, labels, len(names), progress)
    install(model, FittedParts(features, learner, names, choice, decisions, idf, reservoir))


def install(model: ModelState, fitted: FittedParts) -> None:
    """Install the parts that were fitted, here or on a cluster, in the model."""
    with lesson(model):
        model.features, model.learner, model.categories = fitted.features, fitted.learner, fitted.categories
        model.chosen, model.trials = fitted.choice.settings, fitted.choice.trials
        model.decisions, model.idf, model.reservoir = fitted.decisions, fitted.idf, fitted.reservoir
        model.lemmatizers = list_lemmatizers(fitted.features.analyser.name)
        model.is_view = model.is_torn = False
