"""The class `Categorizer`: train, predict, correct and save. Its methods call the functions in `model`."""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import chain
from os import PathLike
from typing import Any, Self

import numba
import numpy as np
from numpy.typing import NDArray

from thresher.errors import NotFittedError
from thresher.kernels.reproducible_math import sigmoid
from thresher.model import category_edits, explanations, fitting, online_learning, scoring
from thresher.model.explanations import Correction, Explanation
from thresher.model.predictions import Prediction
from thresher.model.scoring import Empty, Scores, score_batches
from thresher.model.selection import Trial
from thresher.model.state import ModelState
from thresher.model.streaming import Streamed, stream
from thresher.model.thread_safety import lesson, reading, view
from thresher.model_file import io, packing
from thresher.model_file.compress import Compression, compress
from thresher.support.progress import Step
from thresher.support.version import __version__
from thresher.text.analysers import Text


class Categorizer:
    """A text categorizer that learns from every correction and explains its decisions.

    Parameters
    ----------
    preset : "fast", "default", "best" or "paper"
        "paper" is BalancedWinnow+ exactly as published (sections 3 and 4 of the paper), on words. The others are
        Regularized Winnow on rows of unit length, with tuned thresholds. "fast" uses words, in few passes. "default"
        chooses the analyser by quick trials on held-out training documents, and "best" by thorough trials.
    **settings
        Any setting by name:

        - `learner`: "balanced-winnow", "regularized-winnow", "positive-winnow" or "perceptron"; and its parameters, see
          `thresher.BalancedWinnow`. `strength` may also be "tfidf" or "cosine", see `thresher.text.tfidf`.
        - `analyser`, `min_count`, `max_features`: the features of a text, see `thresher.text.vectorizer`.
        - `bias`: the strength of a feature that every document has.
        - `policy`: "auto", "above", "at-least-one", "exactly-one" or "at-most-K".
        - `thresholds`: "fixed" at theta, or tuned by cross-validation on the training documents for "f1", "macro-f1",
          "break-even", "precision:P" or "recall:R"; and `folds`, the number of parts.
        - `choose`: what trials may choose: "nothing", or settings by "quick" or "thorough" trials.
        - `memory`: what the features of the training documents may take, as "128MB", before they go to files.
        - `sparse`: whether to store only the weights that matter. By default, if there are more than a hundred million
          pairs of feature and category.

    Notes
    -----
    A word that appears after `fit` has the weight 0 until the model makes a mistake on a document with it. A category
    that appears after `fit` is also trained against a sample of earlier documents, which the model keeps. So it does
    not accept documents that were learned before it.

    Examples
    --------
    >>> texts = ["crude oil rose", "oil and gas", "wheat harvest", "corn and wheat"] * 3
    >>> model = Categorizer().fit(texts, ["energy", "energy", "grain", "grain"] * 3)
    >>> model.predict(["oil prices", "the wheat market"])
    [['energy'], ['grain']]
    >>> model.explain("oil prices").words[0].name
    'oil'
    """

    def __init__(self, *, preset: str = "default", **settings: Any) -> None:
        self.state = ModelState.new(preset, settings)

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.state = copy(self.state)
        return twin

    @property
    def categories(self) -> list[str]:
        """The names of the categories, in the order of the columns of score matrices."""
        return self.state.categories

    @property
    def settings(self) -> dict[str, Any]:
        """All settings by name: those given, then the preset's, then the defaults."""
        return self.state.settings.as_dict()

    @property
    def trials(self) -> list[Trial]:
        """The trials that chose settings, with their results."""
        return self.state.trials

    @property
    def chosen(self) -> dict[str, Any]:
        """The settings that trials have chosen."""
        return self.state.chosen

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(
        self,
        texts: Iterable[Text],
        categories: Iterable[str | Iterable[str]],
        *,
        progress: Callable[[Step], None] | None = None,
    ) -> Self:
        """Train from scratch; whatever the model has learned before is lost.

        Parameters
        ----------
        texts : iterable of str, or of mappings from field names to str
        categories : iterable
            For each text, its category or all of its categories. The text is a negative for all others.
        progress : callable, optional
            Called with a `Step` from time to time.
        """
        fitting.fit(self.state, texts, categories, progress)
        return self

    def partial_fit(self, texts: Iterable[Text], categories: Iterable[str | Iterable[str]]) -> Self:
        """Continue training with one pass over `texts` and their `categories`, in the order given.

        New words and categories are added. As in `fit`, a text is a negative for all categories that it does not have.
        """
        with lesson(self.state):
            online_learning.learn_all(self.state, texts, categories)
        return self

    def stream(self, documents: Iterable[tuple[Text, str | Iterable[str]]]) -> Iterator[Streamed]:
        """Predict each of the `documents`, pairs of text and categories, and then learn it.

        The results are those of `predict` and `partial_fit` for one document at a time, but many times faster. The
        method reads and learns up to a thousand documents ahead of what it has yielded.

        >>> model = Categorizer()
        >>> [document.predicted for document in model.stream([("crude oil", "energy"), ("oil", "energy")])]
        [[], ['energy']]
        """
        return stream(self.state, documents)

    def learn(
        self, text: Text, accept: Iterable[str] = (), reject: Iterable[str] = (), *, complete: bool = False
    ) -> Correction:
        """Learn which categories of a `text` to `accept` and to `reject`, and return what changed.

        Other categories do not change. An accepted category that is unknown is added; rejecting an unknown one is an
        error. With `complete`, all other categories are rejected too, as in `partial_fit`; the result lists only the
        categories that you name. The constant feature learns too, but it is not a word, so the result leaves it out.
        """
        with lesson(self.state):
            return online_learning.learn(self.state, text, accept, reject, complete)

    def view(self) -> Self:
        """Return a view of the model, with which other threads can predict while this one learns, without waiting.

        The view shares the weights, or has a copy of them if they are sparse. It knows the current words and
        categories, so make a new view after each correction. During a correction, its predictions may mix old and new
        weights.

        Make the view on the thread that teaches. If another thread makes it during a correction, it may be incomplete,
        and then it raises an error when it is used.
        """
        twin = copy(self)
        twin.state = view(self.state)
        return twin

    # -- predicting --------------------------------------------------------------------------------------------------

    def predict(self, texts: Iterable[Text]) -> list[list[str]]:
        """Return the accepted categories of each of the `texts`, the best first; none if no word of a text is known."""
        return scoring.predict(self.state, texts)

    def categorize(self, texts: Iterable[Text], *, top: int | None = None) -> Iterator[Prediction]:
        """Yield the accepted categories of each of the `texts`, or the `top` best, with scores and probabilities.

        Texts are scored in batches of some hundreds as they arrive. The model may be taught between two batches.
        """
        return scoring.categorize(self.state, texts, top, lazily=not self.state.is_view)

    def empty(self, texts: Iterable[Text]) -> NDArray[np.bool_]:
        """Return which of the `texts` have no known feature; such texts get no categories."""
        return scoring.are_empty(self.state, texts)

    def rank(self, texts: Iterable[Text], top: int | None = None) -> list[list[tuple[str, float, float]]]:
        """Return the `top` best categories of each of the `texts` as (category, score, probability); by default all.

        Scores above 1 are above the category's threshold.
        """
        most = len(self.categories) if top is None else top
        return [prediction.categories for prediction in self.categorize(texts, top=most)]

    def rank_documents(self, category: str, texts: Iterable[Text]) -> list[tuple[int, float, float]]:
        """Return the `texts` ranked for one `category`, as (index, score, probability), the best first."""
        number = self.state.number_of(category)

        def column(scores: Scores, _: Empty) -> list[tuple[float, float]]:
            decisions = self.state.decisions  # of this batch: the model may be taught between two
            both = (decisions.reported_scores(scores), decisions.probabilities(scores))
            return list(zip(*(values[:, number].tolist() for values in both), strict=True))

        ranked = list(chain.from_iterable(score_batches(self.state, texts, column)))
        order = np.argsort([-score for score, _ in ranked], kind="stable")
        return [(int(i), *ranked[i]) for i in order]

    def decision_function(self, texts: Iterable[Text], *, raw: bool = False) -> NDArray[np.float64]:
        """Return the reported or the `raw` scores of `texts`, as an array (texts, categories).

        A reported score is above 1 if it is above the category's threshold.
        """
        if raw:
            return self._matrix(texts, lambda scores: scores.astype(np.float64))
        return self._matrix(texts, lambda scores: self.state.decisions.reported_scores(scores))

    def decide(self, texts: Iterable[Text]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the reported scores of `texts` and the accepted categories, as two arrays (texts, categories)."""
        return scoring.decide(self.state, texts)

    def predict_proba(self, texts: Iterable[Text], *, paper: bool = False) -> NDArray[np.float64]:
        """Return the calibrated probabilities of `texts`, as an array (texts, categories).

        With `paper`, return the probabilities of the paper: 1 / (1 + e^-F) of the raw score F.
        """
        return self._matrix(texts, sigmoid if paper else lambda scores: self.state.decisions.probabilities(scores))

    def _matrix(self, texts: Iterable[Text], use: Callable[[Scores], NDArray[np.float64]]) -> NDArray[np.float64]:
        parts = list(score_batches(self.state, texts, lambda scores, _: use(scores)))
        return np.concatenate(parts) if parts else np.zeros((0, len(self.categories)))

    def explain(self, text: Text, category: str | None = None) -> Explanation:
        """Return the words of a `text` and their contributions to its score for a `category`, by default the best."""
        with reading(self.state):
            return explanations.explain(self.state, text, category)

    def strongest_words(self, category: str, top: int = 10) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """Return the `top` words for a `category` and the `top` words against it, with their weights.

        Letter n-grams are listed only if the model has no words.
        """
        scoring.check_top(top)
        with reading(self.state):
            return explanations.strongest_words(self.state, category, top)

    def count_weights(self, category: str) -> int:
        """Return the number of features with a nonzero weight for a `category`."""
        with reading(self.state):
            return explanations.count_weights(self.state, category)

    # -- saving and loading ------------------------------------------------------------------------------------------

    def save(
        self, path: str | PathLike[str], *, about: Mapping[str, str] | None = None, mode: int | None = None
    ) -> str:
        """Write the model to the file `path` atomically, and return its digest.

        `about` holds texts that are saved with the versions of the packages. `mode` holds the widest permissions that
        the file may get, as 0o600. By default, they are those of the replaced file, or those that the umask allows.
        """
        settings, arrays = packing.pack(self.state)
        versions = {"thresher": __version__, "numpy": np.__version__, "numba": numba.__version__}
        versions |= {"lemmatizers": self.state.lemmatizers} if self.state.lemmatizers else {}
        known = versions | {"python": platform.python_version()} | dict(about or {})
        return io.write_model(path, settings, known, arrays, mode)

    @classmethod
    def load(cls, path: str | PathLike[str], *, analyser: Any = None, n_threads: int | None = None) -> Self:
        """Read a model from the file `path`.

        If the model's `analyser` is a function, pass it again: a file does not hold code. Nor does it hold `n_threads`,
        the number of threads.
        """
        packed, about, arrays = io.read_model(path)
        with packing.convert_errors(path):
            model = cls(**packing.unpack_settings(packed, analyser), n_threads=n_threads)
            packing.unpack(packed, arrays, model.state)
            packing.check_same(packed, arrays, model.state)
            packing.unpack_lemmatizers(about, model.state)
        packing.check_lemmatizers(path, model.state)
        return model

    def digest(self) -> str:
        """Return a fingerprint of the settings, names and weights; it does not depend on versions, dates or threads."""
        return io.digest(*packing.pack(self.state))

    def compress(self, size: str | int) -> Compression:
        """Drop the least important weights until the model's file fits a `size`, as "2MB", and return the cost.

        The sample of documents for new categories is reduced to the room that is left.
        """
        if not self.state.learner.is_fitted:
            raise NotFittedError(
                "this Categorizer has learned nothing yet", hint="call fit, partial_fit or learn first"
            )
        with lesson(self.state):
            return compress(self.state, size)

    # -- categories --------------------------------------------------------------------------------------------------

    def add_category(self, category: str) -> Self:
        """Add a `category`, which accepts nothing until it is taught."""
        with lesson(self.state):
            category_edits.add(self.state, category)
        return self

    def set_threshold(self, category: str, threshold: float) -> Self:
        """Set the `threshold` of a `category`: the raw score above which it accepts a text.

        If tuning has added a share of each text's best score to the threshold, that share is still added.
        """
        with lesson(self.state):
            category_edits.set_threshold(self.state, category, threshold)
        return self

    def rename_category(self, old: str, new: str) -> Self:
        """Rename the category `old` to `new`."""
        with lesson(self.state):
            category_edits.rename(self.state, old, new)
        return self

    def retire_category(self, category: str) -> Self:
        """Remove a `category`; its name may be used again."""
        with lesson(self.state):
            category_edits.retire(self.state, category)
        return self

    def merge_categories(self, sources: Sequence[str], into: str) -> Self:
        """Merge the categories `sources` into one; `into` may be one of them or a new name.

        The merged category has the largest weight of each word among the sources. It then learns the sampled documents
        once more with the merged labels.
        """
        with lesson(self.state):
            category_edits.merge(self.state, sources, into)
        return self
