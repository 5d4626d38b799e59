"""Text in, categories out: features, learner, decisions and category names in the one object that every shell uses."""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from itertools import chain
from os import PathLike
from typing import Any, NamedTuple, Self, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from thresher import __version__, category_changes, contents, store
from thresher.category_names import category_set, category_sets, new_names, some
from thresher.choices import NO_CHOICE, Choice, Trial, choose_settings
from thresher.compression import Compression, compress
from thresher.decisions import Decisions
from thresher.errors import NotFittedError, ParameterError, TextError, ThresherError
from thresher.explanation import Correction, Explanation, weighed_words
from thresher.growing import extended
from thresher.kernels.elementary import sigmoid
from thresher.kernels.rows import Labels, Rows
from thresher.kernels.weights import LARGEST_WEIGHT
from thresher.learners.labels import as_labels, judgements
from thresher.learners.learner import MistakeDrivenLearner
from thresher.learners.rows import row_slices
from thresher.newcomers import is_young, teach_young
from thresher.prediction import Prediction, best, predictions
from thresher.reservoir import Kept, Reservoir, as_rows, kept
from thresher.settings import (
    CHOOSABLE,
    check_settings,
    complete_settings,
    constant_of,
    new_features,
    new_learner,
    sized,
    strengthened,
)
from thresher.spilling import SpillingTexts
from thresher.streaming import Streamed, stream
from thresher.text.analysers import Text
from thresher.text.features import TextFeatures, batches
from thresher.text.strengths import WEIGHED, late_frequency, weighed
from thresher.threads import ahead
from thresher.tuning import Step, reporter, tuned_decisions, watched

Scores = NDArray[np.float32]
Empty = NDArray[np.bool_]
Result = TypeVar("Result")
SCORES_AT_ONCE = 2**18  # documents x categories: what is made of them stays in a core's cache


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
        self._is_view = False

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
        """Become what was fitted, here or on a cluster."""
        self.features, self.learner, self.categories = fitted.features, fitted.learner, fitted.categories
        self.chosen, self.trials = fitted.choice.settings, fitted.choice.trials
        self.decisions, self.idf, self.reservoir = fitted.decisions, fitted.idf, fitted.reservoir
        self._is_view = False
        return self

    def partial_fit(self, texts: Iterable[Text], categories: Iterable[str | Iterable[str]]) -> Self:
        """Go on learning, one pass in the order given; new words and categories may appear. A label set is complete."""
        listed, named = [text for batch in batches(texts) for text in batch], category_sets(categories)
        if len(listed) != len(named):
            raise TextError(f"there are {len(listed)} texts and {len(named)} sets of categories")
        if not listed:
            return self
        before = len(self.categories)
        names = self.categories + new_names(named, self.categories)
        if not names:
            raise TextError("there are no categories: none is known, and no text has one")
        numbers = {name: number for number, name in enumerate(names)}
        labels = [[numbers[name] for name in row] for row in named]
        with self.all_or_nothing():
            rows = self._grown_rows(listed)
            self._take(rows, as_labels(labels, len(labels)), names)
        taught = [self.reservoir.add(kept(rows, i, row)) for i, row in enumerate(labels)]
        self.teach_young({c for row in labels for c in row}, before, taught)
        return self

    def stream(self, documents: Iterable[tuple[Text, str | Iterable[str]]]) -> Iterator[Streamed]:
        """Predict each document, then learn it with all its categories, as they come; yields what was predicted.

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
        """Learn one correction: categories in neither list are left alone. Returns what changed.

        A category that is not known yet is added if it is accepted, and an error if it is rejected. The constant
        feature learns too, but is no word and not reported. If what is accepted is `complete`, all other categories are
        rejected too, as `partial_fit` does; what changes is told of those in the lists.
        """
        accepted, rejected = category_set(accept), category_set(reject) if reject != () else []
        known, numbers = len(self.categories), self._numbers()
        self.check_correction(accepted, rejected, complete)
        new = [name for name in accepted if name not in numbers]
        names = self.categories + new if new else self.categories
        accepts = [numbers[name] if name in numbers else known + new.index(name) for name in accepted]
        signs = dict.fromkeys(accepts, 1) | {numbers[name]: -1 for name in rejected}
        with self.all_or_nothing():
            rows = self._grown_rows([text])
            before = self._weights_at(rows, list(signs))
            mistakes = self._take(rows, as_labels([sorted(accepts)], 1) if complete else judgements(signs), names)
        wrong = {c: sign for c, sign in signs.items() if mistakes[c] > 0}
        after = self._weights_at(rows, list(wrong))
        self.teach_young(set(accepts), known, [self.reservoir.add(kept(rows, 0, accepts, complete))])
        known_names = self.features.names_now()
        signed = {names[c]: sign for c, sign in wrong.items()}
        return Correction(signed, new, partial(known_names, rows.indices), before, after)

    def check_correction(self, accepted: list[str], rejected: list[str], complete: bool = False) -> None:
        """Raise a TextError for a correction that cannot be learned."""
        if complete and not accepted and not self.categories:
            raise TextError("there are no categories: none is known, and the text has none")
        if not accepted and not rejected and not complete:
            raise TextError("a correction accepts or rejects at least one category")
        both = sorted(set(accepted) & set(rejected)) if rejected else []
        if both:
            raise TextError(f"category {both[0]!r} is both accepted and rejected")
        for name in rejected:
            if name not in self._numbers():
                raise TextError(f"category {name!r} is unknown and cannot be rejected (known: {some(self.categories)})")

    def _grown_rows(self, texts: list[Text]) -> Rows:
        """Return rows of counts after taking up new words, if every text has a feature; else change nothing."""
        rows = self.features.rows(texts, grow=True)
        if (rows.indptr[1:] == rows.indptr[:-1]).any():
            empty = np.flatnonzero(np.diff(rows.indptr) == 0)
            raise TextError(f"text {empty[0]}: no features in document, so there is nothing to learn from it")
        return self._with_late_idf(rows)

    def _with_late_idf(self, rows: Rows) -> Rows:
        """Give features that came after `fit` their idf, the same for all; returns the rows."""
        new = rows.n_features - len(self.idf)
        if len(self.idf) and new > 0:
            late = self.idf[-1]
            if self.features.document_counts[len(self.idf) - 1] > 0:  # it is the first that came late
                late = late_frequency(self.idf, self.features.n_documents, self.features.document_counts)
            self.idf = extended(self.idf, new, late)
        return rows

    def _take(self, rows: Rows, labels: Labels, names: list[str]) -> NDArray[np.int64]:
        """Learn rows of counts, and make room for new categories; returns the mistakes by category."""
        mistakes = self.learner.learn_checked(self._strong(rows), labels, len(names))
        added = len(names) - len(self.categories)
        if added:
            self.categories = names
            self.decisions = self.decisions.extended(added, float(self.settings["theta"]), 1.0)
        return mistakes

    def view(self) -> Self:
        """Return a model for other threads to predict with while this one learns: neither waits for the other.

        It shares the weights, and knows the words and categories of now; take a new one after each correction. What it
        predicts in the midst of a correction is made of weights of which some are those before and some those after.
        Where weights are sparse it has a copy of them.
        """
        twin = copy(self)
        twin.features, twin.learner, twin._is_view = self.features.view(), self.learner.view(), True
        return twin

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Forget features that were taken up and then not learned, whatever came between."""
        if self._is_view:
            raise ThresherError("a view of a model cannot learn (teach the model itself)")
        try:
            yield
        except BaseException:
            known = self.learner.n_features_ if self.learner.is_fitted else int(self.features.has_constant)
            self.features.forget(known)
            self.idf = self.idf[:known]
            raise

    def teach_young(self, categories: set[int], known: int, taught: list[Kept]) -> None:
        """Set categories that were added after `fit`, and have few positives, against the documents kept."""
        young = sorted(c for c in categories if c >= known or is_young(self.learner, c))
        if not young:
            return
        new = {id(document) for document in taught}
        documents = [document for document in self.reservoir.documents if id(document) not in new] + taught
        rows = self._strong(as_rows(documents, self.features.vocabulary.count))
        teach_young(self.learner, rows, documents, young, len(taught), self.decisions.thresholds)

    def _weights_at(self, rows: Rows, categories: list[int]) -> dict[str, NDArray[np.float32]]:
        """Return the last weights of a document's features for those categories that are known."""
        found = {}
        for c in categories:
            if c < len(self.categories) and self.learner.is_fitted:
                known, weights = rows.indices, np.zeros(len(rows.indices), dtype=np.float32)
                if rows.n_features > self.learner.n_features_:
                    known = known[known < self.learner.n_features_]
                weights[: len(known)] = self.learner.category_weights(c, known, last=True)
                found[self.categories[c]] = weights
        return found

    # -- looking -----------------------------------------------------------------------------------------------------

    def _strong(self, rows: Rows) -> Rows:
        """Return rows of counts with strengths by frequency, where the model is to have them."""
        strength = self.settings["strength"]
        if strength not in WEIGHED:
            return rows
        # Before `fit` nothing is known of frequencies: all features count alike.
        idf = self.idf if len(self.idf) else np.ones(rows.n_features, dtype=np.float32)
        documents = self.features.document_counts if len(self.idf) else None
        constant = constant_of(self.settings)
        return weighed(rows, idf, strength, documents, constant if constant and self.features.has_constant else 0.0)

    def _scored(self, texts: Iterable[Text], use: Callable[[Scores, Empty], Result]) -> Iterator[Result]:
        """Yield what is made of the raw scores of batches of texts, and of which texts have no feature; on threads."""
        if not self.learner.is_fitted:
            raise NotFittedError("this Categorizer has learned nothing yet (call fit, partial_fit or learn first)")

        def score(batch: list[Text]) -> list[Result]:
            rows = self.features.rows(batch)
            parts = row_slices(self._strong(rows), max(SCORES_AT_ONCE // max(len(self.categories), 1), 1))
            return [use(self.learner.score_checked(part), np.diff(part.indptr) == 0) for part in parts]

        n_threads = 1 if self.features.analyser.remembers else self.features.n_threads
        yield from chain.from_iterable(ahead(score, batches(texts), n_threads))

    def predict(self, texts: Iterable[Text]) -> list[list[str]]:
        """Return each text's categories by the decision policy, the best first; none where it has no known word."""
        return list(chain.from_iterable(self._scored(texts, self._names)))

    def _names(self, scores: Scores, empty: Empty) -> list[list[str]]:
        """Return the categories accepted by each row of scores, the best first."""
        cuts = self.decisions.cuts(scores)
        accepted = self._accepted(scores, empty, cuts)
        documents, numbers = np.divmod(np.flatnonzero(accepted), accepted.shape[1])
        reached = cuts[numbers] if cuts.ndim == 1 else cuts[documents, numbers]
        best = np.lexsort((reached - scores[documents, numbers], documents))
        found: list[list[str]] = [[] for _ in range(len(scores))]
        for document, number in zip(documents.tolist(), numbers[best].tolist(), strict=True):
            found[document].append(self.categories[number])
        return found

    def _accepted(self, scores: Scores, empty: Empty, cuts: NDArray[np.float64] | None = None) -> NDArray[np.bool_]:
        """Return what the policy accepts; nothing for texts without features, and no late category below its threshold.

        A category that came after `fit` has a threshold that is not tuned beside the others': being best means little.
        """
        if 0 < len(self.learner.n_passes_) < scores.shape[1]:
            late = np.arange(scores.shape[1]) >= len(self.learner.n_passes_)
            scores = np.where(late & (scores <= self.decisions.thresholds), np.float32(-LARGEST_WEIGHT), scores)
        accepted = self.decisions.accepted(scores, cuts)
        accepted[empty] = False
        return accepted

    def categorize(self, texts: Iterable[Text], *, top: int | None = None) -> Iterator[Prediction]:
        """Yield for each text, as it comes, the categories that the policy accepts; or the `top` best of all."""
        _check_top(top)

        def found(scores: Scores, empty: Empty) -> list[Prediction]:
            cuts = self.decisions.cuts(scores)
            accepted = (
                self._accepted(scores, empty, cuts) if top is None else best(self.decisions.reported(scores), top)
            )
            documents, numbers = np.nonzero(accepted)
            told = self.decisions.told(scores, documents, numbers, cuts)
            return predictions(self.categories, documents, numbers, *told, empty)

        return chain.from_iterable(self._scored(texts, found))

    def empty(self, texts: Iterable[Text]) -> NDArray[np.bool_]:
        """Tell for each text whether it has no feature that the model knows: such a text gets no categories."""
        parts = [np.diff(self.features.rows(batch).indptr) == 0 for batch in batches(texts)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.bool_)

    def rank(self, texts: Iterable[Text], top: int | None = None) -> list[list[tuple[str, float, float]]]:
        """Return for each text (category, score, probability), the best first; a score above 1 is accepted."""
        most = len(self.categories) if top is None else top
        return [found.categories for found in self.categorize(texts, top=most)]

    def rank_documents(self, category: str, texts: Iterable[Text]) -> list[tuple[int, float, float]]:
        """Return (index, score, probability) of the texts for one category, the best first."""
        number = self.number_of(category)

        def column(scores: Scores, _: Empty) -> list[tuple[float, float]]:
            both = (self.decisions.reported(scores), self.decisions.probabilities(scores))
            return list(zip(*(found[:, number].tolist() for found in both), strict=True))

        ranked = list(chain.from_iterable(self._scored(texts, column)))
        order = np.argsort([-score for score, _ in ranked], kind="stable")
        return [(int(i), *ranked[i]) for i in order]

    def decision_function(self, texts: Iterable[Text], *, raw: bool = False) -> NDArray[np.float64]:
        """Return the reported scores, (texts, categories), accepted above 1; or the raw ones."""
        return self._matrix(texts, lambda scores: scores.astype(np.float64) if raw else self.decisions.reported(scores))

    def decide(self, texts: Iterable[Text]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the reported scores and what the policy accepts, both (texts, categories), from one scoring."""
        found = list(self._scored(texts, lambda *batch: (self.decisions.reported(batch[0]), self._accepted(*batch))))
        nothing = np.zeros((0, len(self.categories)))
        scores, accepted = zip((nothing, nothing.astype(np.bool_)), *found, strict=True)
        return np.concatenate(scores), np.concatenate(accepted)

    def decide_kept(self, documents: list[Kept]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return what `decide` does, of documents that a `Reservoir` keeps."""
        rows = as_rows(documents, self.features.vocabulary.count)
        scores = self.learner.score_checked(self._strong(rows))
        return self.decisions.reported(scores), self._accepted(scores, np.diff(rows.indptr) == 0)

    def predict_proba(self, texts: Iterable[Text], *, paper: bool = False) -> NDArray[np.float64]:
        """Return the calibrated probabilities, (texts, categories); or the paper's, 1 / (1 + e^-F) of the raw score."""
        return self._matrix(texts, sigmoid if paper else self.decisions.probabilities)

    def _matrix(self, texts: Iterable[Text], use: Callable[[Scores], NDArray[np.float64]]) -> NDArray[np.float64]:
        parts = list(self._scored(texts, lambda scores, _: use(scores)))
        return np.concatenate(parts) if parts else np.zeros((0, len(self.categories)))

    def explain(self, text: Text, category: str | None = None) -> Explanation:
        """Return the words that made the score of a category, by default of the best one."""
        if not self.categories and self.learner.is_fitted:
            raise TextError("there are no categories to explain")
        scores, empty = next(self._scored([text], lambda *found: found))
        reported = self.decisions.reported(scores)[0]
        number = int(reported.argmax()) if category is None else self.number_of(category)
        rows = self.features.rows([text])
        places, strong = self.features.occurrences(text), self._strong(rows)
        weights = self.learner.category_weights(number, strong.indices)
        words = weighed_words(self.features.names_of(strong.indices), self.learner.strengths(strong), weights, places)
        return Explanation(
            category=self.categories[number],
            accepted=bool(self._accepted(scores, empty)[0, number]),
            score=float(reported[number]),
            raw=float(scores[0, number]),
            threshold=float(np.broadcast_to(self.decisions.cuts(scores), scores.shape)[0, number]),
            probability=float(self.decisions.probabilities(scores)[0, number]),
            words=words,
            unknown=len(places.keys() - {word.name for word in words}),
        )

    def strongest_words(self, category: str, top: int = 10) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """Return the words that speak most for a category, and most against it, with their weights.

        Runs of letters, which are no words, are only listed where the model knows nothing else.
        """
        _check_top(top)
        number = self.number_of(category)
        weights = self.learner.category_weights(number, np.arange(self.features.vocabulary.count))
        words = self.features.is_word
        weights = np.where(words, weights, 0) if words.any() else weights
        order = np.argsort(-weights, kind="stable")
        most, least = order[:top][weights[order[:top]] > 0], order[::-1][:top][weights[order[::-1][:top]] < 0]
        strongest, weakest = (
            list(zip(self.features.names_of(chosen), weights[chosen].tolist(), strict=True)) for chosen in (most, least)
        )
        return strongest, weakest

    def count_weights(self, category: str) -> int:
        """Return how many features weigh something for a category."""
        if not self.learner.is_fitted:
            return 0
        every = np.arange(self.learner.n_features_)
        return int(np.count_nonzero(self.learner.category_weights(self.number_of(category), every)))

    def number_of(self, category: str) -> int:
        """Return the column of a category in arrays of scores."""
        number = self._numbers().get(category)
        if number is None:
            raise TextError(f"category {category!r} is unknown (known: {some(self.categories)})")
        return number

    def _numbers(self) -> dict[str, int]:
        """Return the column of each category, made anew when the list of names is another one."""
        if self._named[0] is not self.categories:
            self._named = self.categories, {name: number for number, name in enumerate(self.categories)}
        return self._named[1]

    # -- keeping -----------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, about: Mapping[str, str] | None = None) -> str:
        """Write the model to a file, whole or not at all, and return its digest; `about` stands beside the versions."""
        settings, arrays = contents.pack(self)
        versions = {"thresher": __version__, "numpy": np.__version__, "numba": numba.__version__}
        known = versions | {"python": platform.python_version()} | dict(about or {})
        return store.write_model(path, settings, known, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str], *, analyser: Any = None, n_threads: int | None = None) -> Self:
        """Read a model from a file. A function that served as analyser must be given again."""
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
        """Drop the weights that matter least until the model's file fits a size, as "2MB"; returns what that cost.

        Of the documents kept for new categories as many stay as there is room for.
        """
        if not self.learner.is_fitted:
            raise NotFittedError("this Categorizer has learned nothing yet (call fit, partial_fit or learn first)")
        return compress(self, size)

    # -- categories --------------------------------------------------------------------------------------------------

    def add_category(self, category: str) -> Self:
        """Make a category known, which accepts nothing until it is taught."""
        category_changes.add(self, category)
        return self

    def set_threshold(self, category: str, threshold: float) -> Self:
        """Let a category accept what has a raw score above this, or above this and its share of the best score."""
        category_changes.set_threshold(self, category, threshold)
        return self

    def rename_category(self, old: str, new: str) -> Self:
        """Give a category another name."""
        category_changes.rename(self, old, new)
        return self

    def retire_category(self, category: str) -> Self:
        """Forget a category: it is no longer predicted, and its name is free."""
        category_changes.retire(self, category)
        return self

    def merge_categories(self, sources: Sequence[str], into: str) -> Self:
        """Join categories: the merged one weighs each word as the one that it speaks most for does.

        It then learns the documents kept once more, with the labels joined. `into` may be one of them or a new name.
        """
        category_changes.merge(self, sources, into)
        return self


def _check_top(top: int | None) -> None:
    if top is not None and (not isinstance(top, int) or isinstance(top, bool) or top < 0):
        raise ParameterError(f"top={top!r} is out of range (allowed: None or a whole number from 0)")
