"""Text in, categories out: features, learner, decisions and category names in the one object that every shell uses."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher.decisions import Decisions, calibrate, choose_policy, folds, tune_thresholds
from thresher.errors import ModelFileError, NotFittedError, TextError
from thresher.explanation import Change, Correction, Explanation, Word
from thresher.kernels.elementary import sigmoid
from thresher.kernels.rows import Labels, Rows
from thresher.learners.labels import as_labels
from thresher.learners.rows import select_rows, strengths
from thresher.reservoir import Reservoir, as_rows, kept
from thresher.settings import check_settings, complete_settings, new_learner
from thresher.text.analysers import Text
from thresher.text.features import TextFeatures, batches
from thresher.text.strengths import inverse_frequencies, late_frequency, tfidf

LONGEST_NAME = 200
MOST_TUNED = 10**8  # documents x categories that thresholds are tuned on
YOUNG, ROUNDS = 10, 10


class Step(NamedTuple):
    """How far a long call is: what it is doing, how much of it is done, and the mistakes made so far."""

    stage: str
    done: int
    total: int
    mistakes: int = 0


class Categorizer:
    """Sorts texts into categories, learns from every correction, and says which words decided.

    Parameters
    ----------
    preset : "paper" or "default"
        "paper" is BalancedWinnow+ exactly as published (sections 3 and 4 of the paper), on words. "default" averages the
        weights, widens the threshold range, and tunes a threshold for each category.
    **settings
        Any setting by name: `learner` ("balanced-winnow", "positive-winnow", "perceptron") and its parameters (see
        `thresher.BalancedWinnow`; `strength` may also be "tfidf"); `analyser`, `min_count`, `max_features` (see
        `thresher.text.features`); `policy` ("auto", "above", "at-least-one", "exactly-one", "at-most-K"); `thresholds`
        ("fixed" at theta, or tuned by cross-validation on the training documents for "f1", "break-even",
        "precision:P" or "recall:R"); `folds`.

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
        self.settings = complete_settings(preset, settings)
        check_settings(self.settings)
        self.features = self._new_features()
        self.learner = new_learner(self.settings)
        self.categories: list[str] = []
        self.decisions = Decisions(np.zeros(0), np.zeros(0), "above")
        self.idf: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        self.reservoir = Reservoir()

    def _new_features(self) -> TextFeatures:
        return TextFeatures(*(self.settings[name] for name in ("analyser", "min_count", "max_features")))

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
        features = self._new_features()
        rows = features.fit(_watched(texts, progress))
        named = [category_set(entry) for entry in categories]
        if len(named) != len(rows.indptr) - 1:
            raise TextError(f"there are {len(rows.indptr) - 1} texts and {len(named)} sets of categories")
        names = sorted({name for row in named for name in row})
        if not names:
            raise TextError("there are no categories: no text has one")
        numbers = {name: number for number, name in enumerate(names)}
        labels = [[numbers[name] for name in row] for row in named]
        idf = inverse_frequencies(rows) if self.settings["strength"] == "tfidf" else self.idf[:0]
        strong = tfidf(rows, idf) if len(idf) else rows
        learner = new_learner(self.settings)
        decisions = self._decide(strong, labels, len(names), progress)
        learner.fit(strong, labels, n_categories=len(names), progress=_reporter("learn", progress))
        self.features, self.learner, self.categories = features, learner, names
        self.decisions, self.idf, self.reservoir = decisions, idf, Reservoir.of(rows, labels)
        return self

    def _decide(
        self, rows: Rows, labels: list[list[int]], count: int, progress: Callable[[Step], None] | None
    ) -> Decisions:
        """Return thresholds, probabilities and policy, from cross-validation on the training documents alone."""
        policy, goal = self.settings["policy"], self.settings["thresholds"]
        if policy == "auto":
            policy = choose_policy([len(row) for row in labels])
        if goal == "fixed" or len(labels) < 2 * self.settings["folds"]:
            return Decisions(np.full(count, float(self.settings["theta"])), np.ones(count), policy)
        chosen = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), max(MOST_TUNED // count, 100))).astype(int))
        rows, labels = select_rows(rows, chosen), [labels[i] for i in chosen]
        truth = np.zeros((len(labels), count), dtype=np.bool_)
        for i, row in enumerate(labels):
            truth[i, row] = True
        scores = self._held_out_scores(rows, labels, truth, progress)
        thresholds = tune_thresholds(scores, truth, goal, float(self.settings["theta"]))
        return Decisions(thresholds, calibrate(scores, truth, thresholds), policy)

    def _held_out_scores(
        self, rows: Rows, labels: list[list[int]], truth: NDArray[np.bool_], progress: Callable[[Step], None] | None
    ) -> NDArray[np.float32]:
        """Return each document's scores by a learner that has not seen it."""
        scores = np.empty(truth.shape, dtype=np.float32)
        parts = folds(truth, self.settings["folds"])
        for fold in range(self.settings["folds"]):
            inside, outside = np.flatnonzero(parts != fold), np.flatnonzero(parts == fold)
            learner = new_learner(self.settings)
            report = _reporter(f"validate {fold + 1}/{self.settings['folds']}", progress)
            kept_labels = [labels[i] for i in inside]
            learner.fit(select_rows(rows, inside), kept_labels, n_categories=truth.shape[1], progress=report)
            scores[outside] = learner.score(select_rows(rows, outside))
        return scores

    def partial_fit(self, texts: Iterable[Text], categories: Iterable[str | Iterable[str]]) -> Self:
        """Go on learning, one pass in the order given; new words and categories may appear. A label set is complete."""
        listed, named = list(texts), [category_set(entry) for entry in categories]
        if len(listed) != len(named):
            raise TextError(f"there are {len(listed)} texts and {len(named)} sets of categories")
        if not listed:
            return self
        before = len(self.categories)
        names = self.categories + _new_names(named, self.categories)
        numbers = {name: number for number, name in enumerate(names)}
        labels = [[numbers[name] for name in row] for row in named]
        rows = self._grown_rows(listed)
        self._take(rows, as_labels(labels, len(labels)), names)
        for i, row in enumerate(labels):
            self.reservoir.add(kept(rows, i, row))
        self._teach_young({c for row in labels for c in row}, before)
        return self

    def learn(self, text: Text, accept: Iterable[str] = (), reject: Iterable[str] = ()) -> Correction:
        """Learn one correction: categories in neither list are left alone. Returns what changed.

        A category that is not known yet is added if it is accepted, and an error if it is rejected.
        """
        accepted, rejected = category_set(list(accept)), category_set(list(reject))
        self._check_correction(accepted, rejected)
        known = len(self.categories)
        names = self.categories + [name for name in accepted if name not in self.categories]
        rows = self._grown_rows([text])
        numbers = [names.index(name) for name in accepted + rejected]
        signs = [1] * len(accepted) + [-1] * len(rejected)
        judged = np.array(numbers, dtype=np.int32)
        labels = Labels(np.array([0, len(judged)]), judged, np.array(signs, dtype=np.int8), others=0)
        before = self._weights_at(rows, numbers, known)
        mistakes = self._take(rows, labels, names)
        self.reservoir.add(kept(rows, 0, [names.index(name) for name in accepted]))
        self._teach_young({names.index(name) for name in accepted}, known)
        return self._correction(rows, numbers, signs, before, mistakes, known)

    def _check_correction(self, accepted: list[str], rejected: list[str]) -> None:
        if not accepted and not rejected:
            raise TextError("a correction accepts or rejects at least one category")
        both = sorted(set(accepted) & set(rejected))
        if both:
            raise TextError(f"category {both[0]!r} is both accepted and rejected")
        for name in rejected:
            if name not in self.categories:
                raise TextError(
                    f"category {name!r} is unknown and cannot be rejected (known: {_some(self.categories)})"
                )

    def _grown_rows(self, texts: list[Text]) -> Rows:
        """Return rows of counts after taking up new words, if every text has a feature; else change nothing."""
        for i, parts in enumerate(zip(*(tokens.documents for tokens in self.features.analyser(texts)), strict=True)):
            if sum(parts) == 0:
                raise TextError(f"text {i}: no features in document, so there is nothing to learn from it")
        return self.features.rows(texts, grow=True)

    def _take(self, rows: Rows, labels: Labels, names: list[str]) -> NDArray[np.int64]:
        """Learn rows of counts, and make room for new categories; returns the mistakes by category."""
        before = np.zeros(len(names), dtype=np.int64)
        if self.categories:
            before[: len(self.categories)] = self.learner.online_mistakes_
        self.learner.partial_fit(self._strong(rows), labels, n_categories=len(names))
        added = len(names) - len(self.categories)
        self.categories = names
        self.decisions = self.decisions.extended(added, float(self.settings["theta"]), 1.0)
        return self.learner.online_mistakes_ - before

    def _teach_young(self, categories: set[int], known: int) -> None:
        """Set categories that were added after `fit`, and have few positives, against the documents kept.

        Without it, one example would leave a category that accepts whatever shares enough common words with it.
        """
        young = {c for c in categories if c >= known or self._is_young(c)}
        documents = self.reservoir.documents
        if not young or not documents:
            return
        rows = self._strong(as_rows(documents, self.features.vocabulary.count))
        order = sorted(young)
        judged = np.tile(np.array(order, dtype=np.int32), len(documents))
        signs = np.array(
            [1 if c in document.categories else -1 for document in documents for c in order], dtype=np.int8
        )
        labels = Labels(np.arange(len(documents) + 1) * len(order), judged, signs, others=0)
        for _ in range(ROUNDS):
            before = self.learner.online_mistakes_.sum()
            self.learner.partial_fit(rows, labels)
            if self.learner.online_mistakes_.sum() == before:
                break

    def _is_young(self, category: int) -> bool:
        late = category >= len(self.learner.n_passes_)
        return late and int(self.learner.positives_[category]) < YOUNG * ROUNDS

    def _weights_at(self, rows: Rows, numbers: list[int], known: int) -> dict[int, NDArray[np.float32]]:
        """Return the weights of a document's features for some categories."""
        found = {}
        for c in numbers:
            if c < known and self.learner.is_fitted:
                found[c] = self.learner.category_weights(c, rows.indices)
            else:
                found[c] = np.zeros(len(rows.indices), dtype=np.float32)
        return found

    def _correction(
        self,
        rows: Rows,
        numbers: list[int],
        signs: list[int],
        before: dict[int, NDArray[np.float32]],
        mistakes: NDArray[np.int64],
        known: int,
    ) -> Correction:
        names, after = self.features.names_of(rows.indices), self._weights_at(rows, numbers, len(self.categories))
        wrong = [c for c in numbers if mistakes[c] > 0]
        changes = {
            c: [
                Change(*change)
                for change in zip(names, before[c].tolist(), after[c].tolist(), strict=True)
                if change[1] != change[2]
            ]
            for c in wrong
        }
        signed = dict(zip(numbers, signs, strict=True))
        return Correction(
            [self.categories[c] for c in wrong],
            {self.categories[c]: changes[c] for c in wrong if signed[c] > 0},
            {self.categories[c]: changes[c] for c in wrong if signed[c] < 0},
            self.categories[known:],
        )

    # -- looking -----------------------------------------------------------------------------------------------------

    def _strong(self, rows: Rows) -> Rows:
        """Return rows of counts with tf-idf strengths, where the model was fitted with them."""
        if self.settings["strength"] != "tfidf":
            return rows
        if len(self.idf) == 0:
            return strengths(rows, "sqrt", normalize=False)
        if rows.n_features > len(self.idf):
            late = late_frequency(self.idf, self.features.n_documents, self.features.document_counts)
            self.idf = np.append(self.idf, np.full(rows.n_features - len(self.idf), late, dtype=np.float32))
        return tfidf(rows, self.idf)

    def _scored(self, texts: Iterable[Text]) -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
        """Yield the raw scores of batches of texts, and which texts have no feature."""
        if not self.learner.is_fitted:
            raise NotFittedError("this Categorizer has learned nothing yet (call fit, partial_fit or learn first)")
        for batch in batches(texts):
            rows = self.features.rows(batch)
            yield self.learner.score(self._strong(rows)), np.diff(rows.indptr) == 0

    def predict(self, texts: Iterable[Text]) -> list[list[str]]:
        """Return each text's categories by the decision policy, the best first; none where it has no known word."""
        found = []
        for scores, empty in self._scored(texts):
            accepted = self.decisions.accepted(scores)
            accepted[empty] = False
            order = np.argsort(-self.decisions.reported(scores), axis=1, kind="stable")
            found += [
                [self.categories[c] for c in best if taken[c]] for best, taken in zip(order, accepted, strict=True)
            ]
        return found

    def rank(self, texts: Iterable[Text], top: int | None = None) -> list[list[tuple[str, float, float]]]:
        """Return for each text (category, score, probability), the best first; a score above 1 is above the threshold."""
        found = []
        for scores, _ in self._scored(texts):
            reported, chances = self.decisions.reported(scores), self.decisions.probabilities(scores)
            order = np.argsort(-reported, axis=1, kind="stable")[:, :top]
            found += [
                [(self.categories[c], float(reported[i, c]), float(chances[i, c])) for c in best]
                for i, best in enumerate(order)
            ]
        return found

    def rank_documents(self, category: str, texts: Iterable[Text]) -> list[tuple[int, float, float]]:
        """Return (index, score, probability) of the texts for one category, the best first."""
        number = self._number(category)
        ranked = [entry for scores, _ in self._scored(texts) for entry in self._column(scores, number)]
        order = np.argsort([-score for score, _ in ranked], kind="stable")
        return [(int(i), *ranked[i]) for i in order]

    def _column(self, scores: NDArray[np.float32], number: int) -> Iterator[tuple[float, float]]:
        own = self.decisions.selected([number])
        column = scores[:, [number]]
        yield from zip(own.reported(column)[:, 0].tolist(), own.probabilities(column)[:, 0].tolist(), strict=True)

    def decision_function(self, texts: Iterable[Text], *, raw: bool = False) -> NDArray[np.float64]:
        """Return the reported scores, (texts, categories), accepted above 1; or the raw ones."""
        parts = [
            scores.astype(np.float64) if raw else self.decisions.reported(scores) for scores, _ in self._scored(texts)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.categories)))

    def predict_proba(self, texts: Iterable[Text], *, paper: bool = False) -> NDArray[np.float64]:
        """Return the calibrated probabilities, (texts, categories); or the paper's, 1 / (1 + e^-F) of the raw score."""
        parts = [
            sigmoid(scores) if paper else self.decisions.probabilities(scores) for scores, _ in self._scored(texts)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.categories)))

    def explain(self, text: Text, category: str | None = None) -> Explanation:
        """Return the words that made the score of a category, by default of the best one."""
        scores, empty = next(self._scored([text]))
        reported = self.decisions.reported(scores)[0]
        number = int(reported.argmax()) if category is None else self._number(category)
        rows = self.features.rows([text])
        strong = self.learner.strengths(self._strong(rows))
        weights = self.learner.category_weights(number, rows.indices)
        places = self.features.occurrences(text)
        words = [
            Word(name, float(np.float32(s) * np.float32(w)), float(s), float(w), places.get(name, []), int(feature))
            for name, s, w, feature in zip(
                self.features.names_of(rows.indices), strong.data, weights, rows.indices, strict=True
            )
        ]
        return Explanation(
            self.categories[number],
            bool(self.decisions.accepted(scores)[0, number] and not empty[0]),
            float(reported[number]),
            float(scores[0, number]),
            float(self.decisions.thresholds[number]),
            float(self.decisions.probabilities(scores)[0, number]),
            sorted(words, key=lambda word: (-abs(word.contribution), word.number)),
            len(places.keys() - {word.name for word in words}),
        )

    def strongest_words(self, category: str, top: int = 10) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """Return the words that speak most for a category, and most against it, with their weights."""
        number = self._number(category)
        weights = self.learner.category_weights(number, np.arange(self.features.vocabulary.count))
        order = np.argsort(-weights, kind="stable")
        names = self.features.names
        most = [(names[i], float(weights[i])) for i in order[:top] if weights[i] > 0]
        least = [(names[i], float(weights[i])) for i in order[::-1][:top] if weights[i] < 0]
        return most, least

    def _number(self, category: str) -> int:
        if category not in self.categories:
            raise TextError(f"category {category!r} is unknown (known: {_some(self.categories)})")
        return self.categories.index(category)

    # -- keeping -----------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> str:
        """Write the model to a file, whole or not at all, and return its digest."""
        from thresher import __version__, contents, store

        return store.write_model(path, *_with_about(contents.pack(self), {"thresher": __version__}))

    @classmethod
    def load(cls, path: str | PathLike[str], *, analyser: Any = None, n_threads: int | None = None) -> "Categorizer":
        """Read a model from a file. A function that served as analyser must be given again."""
        from thresher import contents, store

        settings, _, arrays = store.read_model(path)
        try:
            model = contents.unpack(settings, arrays, analyser)
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}") from None
        model.settings["n_threads"] = model.learner.n_threads = n_threads
        return model

    def digest(self) -> str:
        """Return a fingerprint of the settings, names and weights; versions, dates and threads play no part in it."""
        from thresher import contents, store

        return store.digest(*contents.pack(self))

    # -- categories --------------------------------------------------------------------------------------------------

    def rename_category(self, old: str, new: str) -> Self:
        """Give a category another name."""
        number, name = self._number(old), category_set([new])[0]
        if name in self.categories and name != old:
            raise TextError(f"category {name!r} exists already (merge_categories joins two)")
        self.categories = [name if i == number else other for i, other in enumerate(self.categories)]
        return self

    def retire_category(self, category: str) -> Self:
        """Forget a category: it is no longer predicted, and its name is free."""
        number = self._number(category)
        self._keep_categories([c for c in range(len(self.categories)) if c != number])
        return self

    def merge_categories(self, sources: Sequence[str], into: str) -> Self:
        """Join categories: the merged one weighs each word as the one that it speaks most for does.

        It then learns the documents kept once more, with the labels joined. `into` may be one of them or a new name.
        """
        numbers = sorted({self._number(name) for name in sources})
        name = category_set([into])[0]
        if len(numbers) < 2:
            raise TextError("merging takes at least two categories")
        if name in self.categories and self._number(name) not in numbers:
            raise TextError(f"category {name!r} exists already and is not one of those merged")
        first = numbers[0]
        self.learner.merge(numbers)
        joined = {c: first if c in numbers else c for c in range(len(self.categories))}
        self.reservoir = self.reservoir.renumbered(joined)
        self.categories = [name if c == first else other for c, other in enumerate(self.categories)]
        self._keep_categories([c for c in range(len(self.categories)) if c not in numbers[1:]])
        self._teach_young({first}, first)
        return self

    def _keep_categories(self, kept_numbers: list[int]) -> None:
        self.learner.select(kept_numbers)
        self.decisions = self.decisions.selected(kept_numbers)
        self.categories = [self.categories[c] for c in kept_numbers]
        self.reservoir = self.reservoir.renumbered({old: new for new, old in enumerate(kept_numbers)})


def category_set(entry: Any) -> list[str]:
    """Return a text's categories, sorted, each once: from one name or a collection of names."""
    if isinstance(entry, str):
        entry = [entry]
    if isinstance(entry, Mapping) or not isinstance(entry, Iterable):
        raise TextError(f"categories must be a name or a collection of names, not {type(entry).__name__}")
    names = list(entry)
    for name in names:
        if not isinstance(name, str):
            raise TextError(f"a category's name must be str, not {type(name).__name__}")
        if not name.strip() or len(name) > LONGEST_NAME or any(ord(letter) < 32 for letter in name):
            raise TextError(
                f"category {name[:50]!r}: a name has 1 to {LONGEST_NAME} characters, not only spaces and no control ones"
            )
    return sorted(set(names))


def _new_names(named: list[list[str]], known: list[str]) -> list[str]:
    """Return the names that are not known, in the order of first sight."""
    return [name for name in dict.fromkeys(name for row in named for name in row) if name not in set(known)]


def _with_about(packed: tuple[Any, Any], about: dict[str, Any]) -> tuple[Any, Any, Any]:
    return packed[0], about, packed[1]


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "") if names else "none"


def _watched(texts: Iterable[Text], progress: Callable[[Step], None] | None) -> Iterable[Text]:
    """Pass texts on, and report how many there were."""
    if progress is None or isinstance(texts, str | bytes):
        return texts

    def watched() -> Iterator[Text]:
        total = len(texts) if isinstance(texts, Sequence) else 0
        for done, text in enumerate(texts, 1):
            yield text
            if done % 1000 == 0 or done == total:
                progress(Step("read", done, total))

    return watched()


def _reporter(stage: str, progress: Callable[[Step], None] | None) -> Any:
    return None if progress is None else lambda state: progress(Step(stage, *state))
