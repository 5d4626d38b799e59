"""Text in, categories out: the one object that every shell uses, over the functions in `model`."""

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
from thresher.model.thread_safety import lesson, looking, view
from thresher.model_file import io, packing
from thresher.model_file.compress import Compression, compress
from thresher.support.progress import Step
from thresher.support.version import __version__
from thresher.text.analysers import Text


class Categorizer:
    """Sorts texts into categories, learns from every correction, and says which words decided.

    Parameters
    ----------
    preset : "fast", "default", "best" or "paper"
        "paper" is BalancedWinnow+ exactly as published (sections 3 and 4 of the paper), on words. The others are
        Regularized Winnow on strengths of unit length, with tuned thresholds: "fast" on words, in few passes; "default"
        on those views of the text that quick trials on held-out training documents favour; "best" after thorough ones.
    **settings
        Any setting by name: `learner` ("balanced-winnow", "regularized-winnow", "positive-winnow", "perceptron") and
        its parameters (see `thresher.BalancedWinnow`; `strength` may also be "tfidf" or "cosine", see
        `thresher.text.tfidf`); `analyser`, `min_count`, `max_features` (see `thresher.text.vectorizer`); `bias`, the
        strength of a feature that every document has; `policy` ("auto", "above", "at-least-one", "exactly-one",
        "at-most-K"); `thresholds` ("fixed" at theta, or tuned by cross-validation on the training documents for "f1",
        "macro-f1", "break-even", "precision:P" or "recall:R"); `folds`; `choose` ("nothing", "quick", "thorough");
        `memory`, what the features of the training documents may take of it ("128MB") before they go to files;
        `sparse`, to keep only the weights that matter (None: where features x categories pass a hundred million).

    Notes
    -----
    A category or word that appears after `fit` weighs nothing until a mistake meets it. A new category is set against a
    sample of the documents learned before, which the model keeps, so that it accepts nothing that it was not taught.

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
        """Learn from the start.

        Parameters
        ----------
        texts : iterable of str, or of mappings from field names to str
        categories : iterable
            For each text its category, or all of its categories: every other one is a negative.
        progress : callable, optional
            Called with a `Step` now and then.
        """
        fitting.fit(self.state, texts, categories, progress)
        return self

    def partial_fit(self, texts: Iterable[Text], categories: Iterable[str | Iterable[str]]) -> Self:
        """Go on learning, one pass in the order given: `texts` and their `categories`, as `fit` takes them.

        New words and categories may appear. A label set is complete.
        """
        with lesson(self.state):
            online_learning.learn_all(self.state, texts, categories)
        return self

    def stream(self, documents: Iterable[tuple[Text, str | Iterable[str]]]) -> Iterator[Streamed]:
        """Predict each of the `documents`, (text, categories), then learn it with all of these, as they come.

        It gives what `predict` and `partial_fit` would give one document at a time, many times faster. For that it
        reads, and learns, up to a thousand documents ahead of what it has yielded.

        >>> model = Categorizer()
        >>> [found.predicted for found in model.stream([("crude oil", "energy"), ("oil", "energy")])]
        [[], ['energy']]
        """
        return stream(self.state, documents)

    def learn(
        self, text: Text, accept: Iterable[str] = (), reject: Iterable[str] = (), *, complete: bool = False
    ) -> Correction:
        """Learn a correction of a `text`: categories to `accept` and to `reject`; others are left alone.

        Returns what changed.

        A category that is not known yet is added if it is accepted, and an error if it is rejected. The constant
        feature learns too, but it is not a word and not reported. If `complete`, all other categories are rejected too,
        as `partial_fit` does; the result only lists the categories that you name.
        """
        with lesson(self.state):
            return online_learning.learn(self.state, text, accept, reject, complete)

    def view(self) -> Self:
        """Return a model for other threads to predict with while this one learns: neither waits for the other.

        It shares the weights, and knows the words and categories of now; take a new one after each correction. What it
        predicts in the midst of a correction is made of weights of which some are those before and some those after.
        Where weights are sparse it has a copy of them. Make it on the thread that teaches: one made on another in the
        midst of a correction may know a category by half, and then refuses to look at texts.
        """
        twin = copy(self)
        twin.state = view(self.state)
        return twin

    # -- looking -----------------------------------------------------------------------------------------------------

    def predict(self, texts: Iterable[Text]) -> list[list[str]]:
        """Return the categories of each of the `texts` by the policy, the best first; none where no word is known."""
        return scoring.predict(self.state, texts)

    def categorize(self, texts: Iterable[Text], *, top: int | None = None) -> Iterator[Prediction]:
        """Yield for each of the `texts`, as it comes, the categories that the policy accepts; or the `top` best.

        The model may be taught meanwhile; some hundreds of texts are looked at together, with what it knows then.
        """
        return scoring.categorize(self.state, texts, top, lazily=not self.state.is_view)

    def empty(self, texts: Iterable[Text]) -> NDArray[np.bool_]:
        """Return which of the `texts` have no feature that the model knows; those get no categories."""
        return scoring.are_empty(self.state, texts)

    def rank(self, texts: Iterable[Text], top: int | None = None) -> list[list[tuple[str, float, float]]]:
        """Return for each of the `texts` (category, score, probability), the `top` best first; accepted is above 1."""
        most = len(self.categories) if top is None else top
        return [found.categories for found in self.categorize(texts, top=most)]

    def rank_documents(self, category: str, texts: Iterable[Text]) -> list[tuple[int, float, float]]:
        """Return (index, score, probability) of the `texts` for one `category`, the best first."""
        number = self.state.number_of(category)

        def column(scores: Scores, _: Empty) -> list[tuple[float, float]]:
            decisions = self.state.decisions  # of this batch: the model may be taught between two
            both = (decisions.reported_scores(scores), decisions.probabilities(scores))
            return list(zip(*(found[:, number].tolist() for found in both), strict=True))

        ranked = list(chain.from_iterable(score_batches(self.state, texts, column)))
        order = np.argsort([-score for score, _ in ranked], kind="stable")
        return [(int(i), *ranked[i]) for i in order]

    def decision_function(self, texts: Iterable[Text], *, raw: bool = False) -> NDArray[np.float64]:
        """Return the reported scores of `texts`, (texts, categories), accepted above 1; or the `raw` ones."""
        if raw:
            return self._matrix(texts, lambda scores: scores.astype(np.float64))
        return self._matrix(texts, lambda scores: self.state.decisions.reported_scores(scores))

    def decide(self, texts: Iterable[Text]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the reported scores of `texts` and what the policy accepts, both (texts, categories), made at once."""
        return scoring.decide(self.state, texts)

    def predict_proba(self, texts: Iterable[Text], *, paper: bool = False) -> NDArray[np.float64]:
        """Return the calibrated probabilities of `texts`, (texts, categories).

        Or those of the `paper`: 1 / (1 + e^-F) of the raw score.
        """
        return self._matrix(texts, sigmoid if paper else lambda scores: self.state.decisions.probabilities(scores))

    def _matrix(self, texts: Iterable[Text], use: Callable[[Scores], NDArray[np.float64]]) -> NDArray[np.float64]:
        parts = list(score_batches(self.state, texts, lambda scores, _: use(scores)))
        return np.concatenate(parts) if parts else np.zeros((0, len(self.categories)))

    def explain(self, text: Text, category: str | None = None) -> Explanation:
        """Return the words that made the score of a `text` for a `category`, by default the best one."""
        with looking(self.state):
            return explanations.explain(self.state, text, category)

    def strongest_words(self, category: str, top: int = 10) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """Return the `top` words that speak most for a `category`, and most against it, with their weights.

        Letter n-grams are only listed if the model knows nothing else.
        """
        scoring.check_top(top)
        with looking(self.state):
            return explanations.strongest_words(self.state, category, top)

    def count_weights(self, category: str) -> int:
        """Return how many features weigh something for a `category`."""
        with looking(self.state):
            return explanations.count_weights(self.state, category)

    # -- keeping -----------------------------------------------------------------------------------------------------

    def save(
        self, path: str | PathLike[str], *, about: Mapping[str, str] | None = None, mode: int | None = None
    ) -> str:
        """Write the model to the file `path`, whole or not at all, and return its digest.

        `about` is saved next to the versions. `mode` holds the widest permissions that the file may get, as
        0o600; by default those of the file that is replaced, or what the umask leaves.
        """
        settings, arrays = packing.pack(self.state)
        versions = {"thresher": __version__, "numpy": np.__version__, "numba": numba.__version__}
        versions |= {"lemmatizers": self.state.lemmatizers} if self.state.lemmatizers else {}
        known = versions | {"python": platform.python_version()} | dict(about or {})
        return io.write_model(path, settings, known, arrays, mode)

    @classmethod
    def load(cls, path: str | PathLike[str], *, analyser: Any = None, n_threads: int | None = None) -> Self:
        """Read a model from the file `path`. A function that served as `analyser` must be given again.

        `n_threads` is where it runs, not what it is: a file does not hold it.
        """
        packed, about, arrays = io.read_model(path)
        with packing.one_line_refusals(path):
            model = cls(**packing.unpack_settings(packed, analyser), n_threads=n_threads)
            packing.unpack(packed, arrays, model.state)
            packing.check_same(packed, arrays, model.state)
            packing.unpack_lemmatizers(about, model.state)
        packing.check_lemmatizers(path, model.state)
        return model

    def digest(self) -> str:
        """Return a fingerprint of the settings, names and weights; versions, dates and threads play no part in it."""
        return io.digest(*packing.pack(self.state))

    def compress(self, size: str | int) -> Compression:
        """Drop the weights that matter least until the model's file fits a `size`, as "2MB"; returns what that cost.

        Of the documents kept for new categories as many stay as there is room for.
        """
        if not self.state.learner.is_fitted:
            raise NotFittedError(
                "this Categorizer has learned nothing yet", hint="call fit, partial_fit or learn first"
            )
        with lesson(self.state):
            return compress(self.state, size)

    # -- categories --------------------------------------------------------------------------------------------------

    def add_category(self, category: str) -> Self:
        """Make a `category` known, which accepts nothing until it is taught."""
        with lesson(self.state):
            category_edits.add(self.state, category)
        return self

    def set_threshold(self, category: str, threshold: float) -> Self:
        """Let a `category` accept what has a raw score above a `threshold`, or above that and its share of the best."""
        with lesson(self.state):
            category_edits.set_threshold(self.state, category, threshold)
        return self

    def rename_category(self, old: str, new: str) -> Self:
        """Give the category `old` the name `new`."""
        with lesson(self.state):
            category_edits.rename(self.state, old, new)
        return self

    def retire_category(self, category: str) -> Self:
        """Forget a `category`: it is no longer predicted, and its name is free."""
        with lesson(self.state):
            category_edits.retire(self.state, category)
        return self

    def merge_categories(self, sources: Sequence[str], into: str) -> Self:
        """Join the categories `sources`: the merged one weighs each word as the one that it speaks most for does.

        It then learns the documents kept once more, with the labels joined. `into` may be one of them or a new name.
        """
        with lesson(self.state):
            category_edits.merge(self.state, sources, into)
        return self
