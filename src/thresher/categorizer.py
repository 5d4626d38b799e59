"""Text in, categories out: features, learner, decisions and category names in the one object that every shell uses."""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import chain
from os import PathLike
from typing import Any, NamedTuple, Self

import numba
import numpy as np
from numpy.typing import NDArray

from thresher import __version__, category_changes, contents, explaining, store, teaching
from thresher.category_names import category_sets, some
from thresher.choices import NO_CHOICE, Choice, Trial, choose_settings
from thresher.compression import Compression, compress
from thresher.decisions import Decisions
from thresher.errors import NotFittedError, ParameterError, TextError
from thresher.explanation import Correction, Explanation
from thresher.kernels.elementary import sigmoid
from thresher.learners.learner import MistakeDrivenLearner
from thresher.prediction import Prediction, best, predictions
from thresher.reservoir import Kept, Reservoir, as_rows
from thresher.scoring import (
    Empty,
    Scores,
    accepted_names,
    decided,
    is_taught_elsewhere,
    looking,
    scored,
    strong_rows,
)
from thresher.settings import (
    CHOOSABLE,
    check_settings,
    complete_settings,
    new_features,
    new_learner,
    sized,
    strengthened,
)
from thresher.spilling import SpillingTexts
from thresher.streaming import Streamed, stream
from thresher.text.analysers import Text
from thresher.text.batches import batches
from thresher.text.features import TextFeatures
from thresher.tuning import Step, reporter, tuned_decisions, watched


class Fitted(NamedTuple):
    """What a model is made of after `fit`."""

    features: TextFeatures
    learner: MistakeDrivenLearner
    categories: list[str]
    choice: Choice
    decisions: Decisions
    idf: NDArray[np.float32]
    reservoir: Reservoir


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
        `thresher.text.strengths`); `analyser`, `min_count`, `max_features` (see `thresher.text.features`); `bias`, the
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
        self.preset = preset
        self.given = frozenset(settings) & CHOOSABLE
        self.settings = complete_settings(preset, settings)
        check_settings(self.settings)
        self.chosen: dict[str, Any] = {}
        self.trials: list[Trial] = []
        self.features = new_features(self.settings)
        self.learner = new_learner(self.settings)
        self.categories: list[str] = []  # replaced, never changed
        self._named: tuple[list[str], dict[str, int]] = [], {}
        policy = "above" if self.settings["policy"] == "auto" else self.settings["policy"]
        self.decisions = Decisions(np.zeros(0), np.zeros(0), policy=policy)
        self.idf: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        self.reservoir = Reservoir()
        self.is_view = self.is_torn = False
        self.lessons = 0

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
        named = category_sets(categories)
        names = sorted({name for row in named for name in row})
        numbers = {name: number for number, name in enumerate(names)}
        labels = [[numbers[name] for name in row] for row in named]
        del named  # many documents have many names
        choice, memory = NO_CHOICE, self.settings["memory"]
        if self.settings["choose"] != "nothing" and names:
            if not isinstance(texts, list | SpillingTexts):
                texts = SpillingTexts((text for batch in batches(texts) for text in batch), memory // 8)
            if len(texts) == len(labels):
                choice = choose_settings(self.settings, self.given, texts, labels, len(names), progress)
        settings = self.settings | choice.settings
        features = new_features(settings)
        rows = features.fit(watched(texts, progress), memory)
        if len(labels) != len(rows.indptr) - 1:
            raise TextError(f"there are {len(rows.indptr) - 1} texts and {len(labels)} sets of categories")
        if not names:
            raise TextError("there are no categories: no text has one")
        settings = sized(settings, rows.n_features, len(names))
        reservoir = Reservoir.of(rows, labels)
        strong, idf = strengthened(settings, rows)
        del rows  # where strengths are others, counts are needed no more
        learner = new_learner(settings)
        decisions = tuned_decisions(settings, strong, labels, len(names), progress, choice.held_out)
        learner.fit_checked(strong, labels, len(names), reporter("learn", progress))
        return self.adopt(Fitted(features, learner, names, choice, decisions, idf, reservoir))

    def adopt(self, fitted: "Fitted") -> Self:
        """Become what was `fitted`, here or on a cluster."""
        with teaching.lesson(self):
            self.features, self.learner, self.categories = fitted.features, fitted.learner, fitted.categories
            self.chosen, self.trials = fitted.choice.settings, fitted.choice.trials
            self.decisions, self.idf, self.reservoir = fitted.decisions, fitted.idf, fitted.reservoir
            self.is_view = self.is_torn = False
        return self

    def partial_fit(self, texts: Iterable[Text], categories: Iterable[str | Iterable[str]]) -> Self:
        """Go on learning, one pass in the order given: `texts` and their `categories`, as `fit` takes them.

        New words and categories may appear. A label set is complete.
        """
        with teaching.lesson(self):
            teaching.learn_all(self, texts, categories)
        return self

    def stream(self, documents: Iterable[tuple[Text, str | Iterable[str]]]) -> Iterator[Streamed]:
        """Predict each of the `documents`, (text, categories), then learn it with all of these, as they come.

        It gives what `predict` and `partial_fit` would give one document at a time, many times faster. For that it
        reads, and learns, up to a thousand documents ahead of what it has yielded.

        >>> model = Categorizer()
        >>> [found.predicted for found in model.stream([("crude oil", "energy"), ("oil", "energy")])]
        [[], ['energy']]
        """
        return stream(self, documents)

    def learn(
        self, text: Text, accept: Iterable[str] = (), reject: Iterable[str] = (), *, complete: bool = False
    ) -> Correction:
        """Learn a correction of a `text`: categories to `accept` and to `reject`; others are left alone.

        Returns what changed.

        A category that is not known yet is added if it is accepted, and an error if it is rejected. The constant
        feature learns too, but is no word and not reported. If what is accepted is `complete`, all other categories are
        rejected too, as `partial_fit` does; what changes is told of those in the lists.
        """
        with teaching.lesson(self):
            return teaching.learn(self, text, accept, reject, complete)

    def check_correction(self, accepted: list[str], rejected: list[str], complete: bool = False) -> None:
        """Raise a TextError for a correction that cannot be learned: what is `accepted`, `rejected`, or `complete`."""
        teaching.check_correction(self, accepted, rejected, complete)

    def view(self) -> Self:
        """Return a model for other threads to predict with while this one learns: neither waits for the other.

        It shares the weights, and knows the words and categories of now; take a new one after each correction. What it
        predicts in the midst of a correction is made of weights of which some are those before and some those after.
        Where weights are sparse it has a copy of them. Make it on the thread that teaches: one made on another in the
        midst of a correction may know a category by half, and then refuses to look at texts.
        """
        before = self.lessons
        twin = copy(self)
        twin.features, twin.learner, twin.is_view = twin.features.view(), twin.learner.view(), True
        if twin.learner.is_fitted:  # words that another thread has just taken up have no weights yet
            vocabulary = twin.features.vocabulary
            vocabulary.count = min(vocabulary.count, twin.learner.n_features_)
        twin.reservoir = Reservoir(twin.reservoir.documents, twin.reservoir.seen)  # with none that has later words
        twin.is_torn = is_taught_elsewhere(self) or self.lessons != before  # in this order, as in `looking`
        twin.__dict__.pop("_teacher", None)
        return twin

    # -- looking -----------------------------------------------------------------------------------------------------

    def predict(self, texts: Iterable[Text]) -> list[list[str]]:
        """Return the categories of each of the `texts` by the policy, the best first; none where no word is known."""
        return list(chain.from_iterable(scored(self, texts, partial(accepted_names, self))))

    def categorize(self, texts: Iterable[Text], *, top: int | None = None) -> Iterator[Prediction]:
        """Yield for each of the `texts`, as it comes, the categories that the policy accepts; or the `top` best.

        The model may be taught meanwhile; some hundreds of texts are looked at together, with what it knows then.
        """
        _check_top(top)

        def found(scores: Scores, empty: Empty) -> list[Prediction]:
            cuts = self.decisions.cuts(scores)
            accepted = decided(self, scores, empty, cuts) if top is None else best(self.decisions.reported(scores), top)
            documents, numbers = np.nonzero(accepted)
            told = self.decisions.told(scores, documents, numbers, cuts)
            return predictions(self.categories, documents, numbers, *told, empty)

        return chain.from_iterable(scored(self, texts, found, lazily=not self.is_view))

    def empty(self, texts: Iterable[Text]) -> NDArray[np.bool_]:
        """Tell for each of the `texts` whether it has no feature that the model knows: then it gets no categories."""
        parts = [np.diff(self.features.rows(batch).indptr) == 0 for batch in batches(texts)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.bool_)

    def rank(self, texts: Iterable[Text], top: int | None = None) -> list[list[tuple[str, float, float]]]:
        """Return for each of the `texts` (category, score, probability), the `top` best first; accepted is above 1."""
        most = len(self.categories) if top is None else top
        return [found.categories for found in self.categorize(texts, top=most)]

    def rank_documents(self, category: str, texts: Iterable[Text]) -> list[tuple[int, float, float]]:
        """Return (index, score, probability) of the `texts` for one `category`, the best first."""
        number = self.number_of(category)

        def column(scores: Scores, _: Empty) -> list[tuple[float, float]]:
            both = (self.decisions.reported(scores), self.decisions.probabilities(scores))
            return list(zip(*(found[:, number].tolist() for found in both), strict=True))

        ranked = list(chain.from_iterable(scored(self, texts, column)))
        order = np.argsort([-score for score, _ in ranked], kind="stable")
        return [(int(i), *ranked[i]) for i in order]

    def decision_function(self, texts: Iterable[Text], *, raw: bool = False) -> NDArray[np.float64]:
        """Return the reported scores of `texts`, (texts, categories), accepted above 1; or the `raw` ones."""
        return self._matrix(texts, lambda scores: scores.astype(np.float64) if raw else self.decisions.reported(scores))

    def decide(self, texts: Iterable[Text]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the reported scores of `texts` and what the policy accepts, both (texts, categories), made at once."""
        found = list(scored(self, texts, lambda *batch: (self.decisions.reported(batch[0]), decided(self, *batch))))
        nothing = np.zeros((0, len(self.categories)))
        scores, accepted = zip((nothing, nothing.astype(np.bool_)), *found, strict=True)
        return np.concatenate(scores), np.concatenate(accepted)

    def decide_kept(self, documents: list[Kept]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return what `decide` does, of `documents` that a `Reservoir` keeps."""
        with looking(self):
            rows = as_rows(documents, self.features.vocabulary.count)
            scores = self.learner.score_checked(strong_rows(self, rows))
            return self.decisions.reported(scores), decided(self, scores, np.diff(rows.indptr) == 0)

    def predict_proba(self, texts: Iterable[Text], *, paper: bool = False) -> NDArray[np.float64]:
        """Return the calibrated probabilities of `texts`, (texts, categories).

        Or those of the `paper`: 1 / (1 + e^-F) of the raw score.
        """
        return self._matrix(texts, sigmoid if paper else self.decisions.probabilities)

    def _matrix(self, texts: Iterable[Text], use: Callable[[Scores], NDArray[np.float64]]) -> NDArray[np.float64]:
        parts = list(scored(self, texts, lambda scores, _: use(scores)))
        return np.concatenate(parts) if parts else np.zeros((0, len(self.categories)))

    def explain(self, text: Text, category: str | None = None) -> Explanation:
        """Return the words that made the score of a `text` for a `category`, by default the best one."""
        with looking(self):
            return explaining.explain(self, text, category)

    def strongest_words(self, category: str, top: int = 10) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """Return the `top` words that speak most for a `category`, and most against it, with their weights.

        Runs of letters, which are no words, are only listed where the model knows nothing else.
        """
        _check_top(top)
        with looking(self):
            return explaining.strongest_words(self, category, top)

    def count_weights(self, category: str) -> int:
        """Return how many features weigh something for a `category`."""
        with looking(self):
            return explaining.count_weights(self, category)

    def number_of(self, category: str) -> int:
        """Return the column of a `category` in arrays of scores."""
        number = self.numbers().get(category)
        if number is None:
            raise TextError(f"category {category!r} is unknown (known: {some(self.categories)})")
        return number

    def numbers(self) -> dict[str, int]:
        """Return the column of each category, made anew when the list of names is another one."""
        named, categories = self._named, self.categories  # once each: another thread may replace them
        if named[0] is not categories:
            named = self._named = categories, {name: number for number, name in enumerate(categories)}
        return named[1]

    # -- keeping -----------------------------------------------------------------------------------------------------

    def save(
        self, path: str | PathLike[str], *, about: Mapping[str, str] | None = None, mode: int | None = None
    ) -> str:
        """Write the model to the file `path`, whole or not at all, and return its digest.

        What `about` says stands beside the versions. `mode` holds the widest permissions that the file may get, as
        0o600; by default those of the file that is replaced, or what the umask leaves.
        """
        settings, arrays = contents.pack(self)
        versions = {"thresher": __version__, "numpy": np.__version__, "numba": numba.__version__}
        known = versions | {"python": platform.python_version()} | dict(about or {})
        return store.write_model(path, settings, known, arrays, mode)

    @classmethod
    def load(cls, path: str | PathLike[str], *, analyser: Any = None, n_threads: int | None = None) -> Self:
        """Read a model from the file `path`. A function that served as `analyser` must be given again.

        `n_threads` is where it runs, not what it is: a file does not hold it.
        """
        packed, _, arrays = store.read_model(path)
        with contents.one_line_refusals(path):
            model = cls(**contents.unpack_settings(packed, analyser), n_threads=n_threads)
            contents.unpack(packed, arrays, model)
            contents.check_same(packed, arrays, model)
        return model

    def digest(self) -> str:
        """Return a fingerprint of the settings, names and weights; versions, dates and threads play no part in it."""
        return store.digest(*contents.pack(self))

    def compress(self, size: str | int) -> Compression:
        """Drop the weights that matter least until the model's file fits a `size`, as "2MB"; returns what that cost.

        Of the documents kept for new categories as many stay as there is room for.
        """
        if not self.learner.is_fitted:
            raise NotFittedError("this Categorizer has learned nothing yet (call fit, partial_fit or learn first)")
        with teaching.lesson(self):
            return compress(self, size)

    # -- categories --------------------------------------------------------------------------------------------------

    def add_category(self, category: str) -> Self:
        """Make a `category` known, which accepts nothing until it is taught."""
        with teaching.lesson(self):
            category_changes.add(self, category)
        return self

    def set_threshold(self, category: str, threshold: float) -> Self:
        """Let a `category` accept what has a raw score above a `threshold`, or above that and its share of the best."""
        with teaching.lesson(self):
            category_changes.set_threshold(self, category, threshold)
        return self

    def rename_category(self, old: str, new: str) -> Self:
        """Give the category `old` the name `new`."""
        with teaching.lesson(self):
            category_changes.rename(self, old, new)
        return self

    def retire_category(self, category: str) -> Self:
        """Forget a `category`: it is no longer predicted, and its name is free."""
        with teaching.lesson(self):
            category_changes.retire(self, category)
        return self

    def merge_categories(self, sources: Sequence[str], into: str) -> Self:
        """Join the categories `sources`: the merged one weighs each word as the one that it speaks most for does.

        It then learns the documents kept once more, with the labels joined. `into` may be one of them or a new name.
        """
        with teaching.lesson(self):
            category_changes.merge(self, sources, into)
        return self


def _check_top(top: int | None) -> None:
    if top is not None and (not isinstance(top, int) or isinstance(top, bool) or top < 0):
        raise ParameterError(f"top={top!r} is out of range (allowed: None or a whole number from 0)")
