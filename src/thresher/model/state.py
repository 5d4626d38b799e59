"""The state of a model: its settings and what it has learned."""

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.datasets.category_names import abbreviate
from thresher.errors import TextError, escape_braces
from thresher.learners.base import MistakeDrivenLearner
from thresher.model.decisions import Decisions
from thresher.model.factories import new_features, new_learner
from thresher.model.reservoir import Reservoir
from thresher.model.selection import Trial
from thresher.model.settings import CHOOSABLE, ModelSettings
from thresher.text.lemmas import list_lemmatizers
from thresher.text.vectorizer import TextFeatures


@dataclass(eq=False)
class ModelState:
    """The contents of a model file, and the flags by which threads detect each other.

    Parameters
    ----------
    preset : str
        The preset that the settings are based on.
    settings : ModelSettings
        All settings.
    given : frozenset of str
        The settings that trials must not change, because the user has given them.
    features : TextFeatures
        The analyser and the vocabulary.
    learner : MistakeDrivenLearner
        The weights.
    decisions : Decisions
        The thresholds, the policy and the slopes of the probabilities.
    categories : list of str
        The names in the order of the columns. The list is replaced, never changed.
    chosen : dict
        The settings that trials have chosen.
    trials : list of Trial
        The trials and their results.
    idf : array
        The inverse document frequency of each feature; empty if the strengths do not need it.
    reservoir : Reservoir
        A sample of the documents that were learned, for new categories.
    lemmatizers : str
        The packages and versions that lemmas came from in training; empty if there are none, or they are not known.
    is_view : bool
        Whether this is a view, which cannot learn.
    is_torn : bool
        Whether this is a view that was made while another thread was teaching the model.
    lessons : int
        How many times the model was taught.
    """

    preset: str
    settings: ModelSettings
    given: frozenset[str]
    features: TextFeatures
    learner: MistakeDrivenLearner
    decisions: Decisions
    categories: list[str] = field(default_factory=list)
    chosen: dict[str, Any] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    idf: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    reservoir: Reservoir = field(default_factory=Reservoir)
    lemmatizers: str = ""
    is_view: bool = False
    is_torn: bool = False
    lessons: int = 0
    _numbers: tuple[list[str], dict[str, int]] = field(default_factory=lambda: ([], {}), repr=False)

    @classmethod
    def new(cls, preset: str, given: dict[str, Any]) -> "ModelState":
        """Return the state of a model that has learned nothing yet, after checking its settings."""
        settings = ModelSettings.complete(preset, given)
        policy = "above" if settings.policy == "auto" else settings.policy
        decisions = Decisions(np.zeros(0), np.zeros(0), policy=policy)
        fixed = frozenset(given) & CHOOSABLE
        features = new_features(settings)
        lemmatizers = list_lemmatizers(features.analyser.name)
        return cls(preset, settings, fixed, features, new_learner(settings), decisions, lemmatizers=lemmatizers)

    def numbers(self) -> dict[str, int]:
        """Return the column of each category; computed again only if the list of names was replaced."""
        named, categories = self._numbers, self.categories  # once each: another thread may replace them
        if named[0] is not categories:
            named = self._numbers = categories, {name: number for number, name in enumerate(categories)}
        return named[1]

    def number_of(self, category: str) -> int:
        """Return the column of a category in arrays of scores."""
        number = self.numbers().get(category)
        if number is None:
            raise TextError(
                "category {name} is unknown", name=category, hint=f"known: {escape_braces(abbreviate(self.categories))}"
            )
        return number

    def copy_for_reading(self) -> "ModelState":
        """Return a copy that shares the weights and knows the current words and categories."""
        twin = copy(self)
        twin.features, twin.learner, twin.is_view = twin.features.view(), twin.learner.view(), True
        if twin.learner.is_fitted:  # words that another thread has just added have no weights yet
            vocabulary = twin.features.vocabulary
            vocabulary.count = min(vocabulary.count, twin.learner.n_features_)
        twin.reservoir = Reservoir(twin.reservoir.documents, twin.reservoir.seen)  # without documents added later
        return twin
