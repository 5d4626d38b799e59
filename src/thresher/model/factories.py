"""Make the parts of a model from its settings: the learner, the features, and the strengths of training rows."""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.csr import Rows
from thresher.learners import BalancedWinnow, Perceptron, PositiveWinnow, RegularizedWinnow
from thresher.learners.base import MistakeDrivenLearner
from thresher.model.settings import WEIGHED, ModelSettings
from thresher.rows.spilled import convert_rows
from thresher.rows.validation import to_strengths
from thresher.text.tfidf import compute_idf, weigh_rows
from thresher.text.vectorizer import TextFeatures

LEARNERS: dict[str, type[MistakeDrivenLearner]] = {
    "balanced-winnow": BalancedWinnow,
    "regularized-winnow": RegularizedWinnow,
    "positive-winnow": PositiveWinnow,
    "perceptron": Perceptron,
}
# Features x categories up to which weights are dense unless `sparse` is set: 13 bytes each.
MAX_DENSE = 10**8
# Weights of Regularized Winnow in this range contribute nothing; sparse models drop them (docs/scale.md).
SMALL_WEIGHTS = (-0.1, 0.1)


def new_learner(settings: ModelSettings) -> MistakeDrivenLearner:
    """Return a learner with these settings; tf-idf strengths are computed before the learner sees the rows."""
    return LEARNERS[settings.learner](**vars(settings.parameters))


def new_features(settings: ModelSettings) -> TextFeatures:
    """Return empty features with these settings."""
    return TextFeatures(
        settings.analyser,
        settings.min_count,
        settings.max_features,
        settings.parameters.n_threads,
        constant=settings.constant > 0,
    )


def fit_to_size(settings: ModelSettings, n_features: int, n_categories: int) -> ModelSettings:
    """Return the settings for a model of this size: whether weights are sparse, and whether small ones are dropped.

    >>> fit_to_size(ModelSettings.complete("fast", {}), 40_000, 10_000).parameters.discard_by_pass
    3
    """
    sparse, regularized = settings.sparse, settings.learner == "regularized-winnow"
    if sparse is None:
        sparse = regularized and n_features * n_categories > MAX_DENSE
    if not sparse or not regularized or settings.parameters.discard:
        return settings.replace({"sparse": sparse})
    by_pass = max(3 * settings.parameters.max_passes // 4, 1)
    small = {"discard": True, "discard_range": SMALL_WEIGHTS, "discard_below": 0.0, "discard_by_pass": by_pass}
    return settings.replace(small | {"sparse": True})


def strengthen_training_rows(settings: ModelSettings, rows: Rows) -> tuple[Rows, NDArray[np.float32]]:
    """Return rows of training counts as rows of strengths, and the idf of the features; may overwrite the counts."""
    idf = np.zeros(0, dtype=np.float32)
    if settings.strength in WEIGHED:
        idf = compute_idf(rows, settings.constant > 0)
        rows = weigh_rows(rows, idf, settings.strength, constant=settings.constant)
    strength, normalize = settings.parameters.strength, settings.parameters.normalize

    def convert(part: Rows) -> Rows:
        return to_strengths(part, strength, normalize, checked=True, out=part.data if part is rows else None)

    return convert_rows(rows, convert), idf
