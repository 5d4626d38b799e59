"""Choose settings by trials on held-out training documents, within a budget of work.

Work is counted as passes x active features x categories, never timed: the same documents give the same model on every
machine. Both sides of a comparison learn the same evenly spaced sample, and as many categories as the effort allows.
Each learns it once, and is then judged on documents that it holds out (see `learners.training.Training`).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.errors import TextError
from thresher.kernels.csr import Rows
from thresher.model.factories import fit_to_size, new_features, new_learner, strengthen_training_rows
from thresher.model.policies import choose_policy
from thresher.model.settings import ModelSettings
from thresher.model.threshold_tuning import score_held_out
from thresher.rows.folds import assign_folds
from thresher.rows.labels import as_truth, list_labels
from thresher.rows.spilled import SpillingArray, count_documents_by_feature
from thresher.support.progress import Report, make_reporter
from thresher.text.analysers import Text
from thresher.text.limits import MEMORY
from thresher.text.tokens import gather_names
from thresher.text.vectorizer import TextFeatures
from thresher.text.vocabulary import Vocabulary
from thresher.text.word_features import classify_names

PAIRS_AND_LETTERS = "words+ngrams:2+chars:4-4"
_HIGHER_COUNT = 5  # min_count for a view that would otherwise have too many features
_FOLDS = 5  # of a sample; two or more are held out, until `_MANY` documents are judged
_MANY = 3000  # documents
_TOLERANCE = 0.1  # of trials on more than `_MANY` documents: they take two thirds of the time, and choose the same
_MIN_DOCUMENTS = 100  # the minimum number of documents for trials
_PEEK = 100  # documents used to estimate the work of a trial
_MAX_TITLE = 200  # characters
_MAX_ACTIVE = 3e7  # active features over all documents of a sample: about 3 GB
READING = 200  # the work of reading an active feature, in features x categories x passes
_KINDS = {"title": "is_title", "ngrams": "is_run", "chars": "is_piece"}  # which names are features of a part alone
_MAX_SAMPLE_CELLS = 2 * 10**7  # documents x categories of a sample


class Effort(NamedTuple):
    """The budget for choosing settings, and the gain that a costlier setting must bring."""

    work: float  # budget for the training of one side of one comparison
    categories: int  # the maximum number of categories in a trial
    weights: float  # features x categories of the largest model
    gain: float  # minimum gain in the share of right decisions, for a costlier setting
    errors: float  # the gain must also exceed this number of standard errors
    views: tuple[str, ...]  # to try after plain words, the costliest last


EFFORTS = {
    "quick": Effort(3e8, 48, 8.5e7, 0.002, 0.5, (PAIRS_AND_LETTERS,)),
    "thorough": Effort(
        1e10, 10**9, 2.8e8, 0.0, 0.25, ("words+ngrams:2", PAIRS_AND_LETTERS, "words+ngrams:3+chars:3-5")
    ),
}


class Trial(NamedTuple):
    """The result of one set of settings on held-out training documents.

    Parameters
    ----------
    settings : dict
        The settings that differ from the model's own.
    right, documents : float, int
        The share of right decisions, and the number of documents.
    chosen : bool
        Whether the settings were chosen.
    """

    settings: dict[str, Any]
    right: float
    documents: int
    chosen: bool


class Choice(NamedTuple):
    """The chosen settings, two trials per comparison, and features and rows of all documents if a trial had them."""

    settings: dict[str, Any]
    trials: list[Trial]
    fitted: tuple[TextFeatures, Rows] | None = None


NO_CHOICE = Choice({}, [])


class Sample(NamedTuple):
    """The documents of a trial, with those of their categories that the trial judges."""

    texts: list[Text]
    labels: list[list[int]]
    truth: NDArray[np.bool_]
    one_each: bool


Change = Callable[[Mapping[str, Any]], dict[str, Any]]


def choose_settings(
    settings: ModelSettings,
    given: Collection[str],
    texts: Sequence[Text],
    labels: list[list[int]],
    n_categories: int,
    progress: Report | None = None,
) -> Choice:
    """Return the settings chosen by trials among those not `given`, as the setting "choose" allows."""
    effort = EFFORTS.get(settings.choose)
    if effort is None or len(texts) < _MIN_DOCUMENTS:
        return NO_CHOICE
    try:
        return _choose(Trials(settings, texts, labels, n_categories, effort), given, progress)
    except TextError:  # a sample without features
        return NO_CHOICE


def _choose(trials: "Trials", given: Collection[str], progress: Report | None) -> Choice:
    done, best, effort = list[Trial](), dict[str, Any](), trials.effort
    for change, is_costly in _list_changes(trials):
        tried = trials.add_change(best, change(trials.settings.as_dict() | best), given)
        if tried is None:
            continue
        compared = trials.compare(best, tried, progress)
        if compared is None:
            continue
        least = max(effort.gain, effort.errors * compared.error) if is_costly else 0.0
        better = compared.after - compared.before > least
        done.append(Trial(best, compared.before, compared.documents, not better))
        done.append(Trial(tried, compared.after, compared.documents, better))
        best = tried if better else best
    return Choice(best, done, trials.get_fitted(best))


def describe_settings(chosen: Mapping[str, Any]) -> str:
    """Return settings as one line of text.

    >>> describe_settings({"analyser": "words+title", "positive_cap": 1.0})
    'words+title, positive_cap 1.0'
    """
    return ", ".join(str(value) if name == "analyser" else f"{name} {value}" for name, value in chosen.items())


def describe_trials(trials: Sequence[Trial]) -> list[str]:
    """Return one line of text per comparison.

    >>> describe_trials([Trial({}, 0.91, 500, False), Trial({"analyser": "words+title"}, 0.92, 500, True)])
    ['Tried words+title: 92.0 % right on 500 held-out documents, 91.0 % without: taken']
    """
    lines = []
    for before, after in zip(trials[::2], trials[1::2], strict=True):
        change = {name: value for name, value in after.settings.items() if before.settings.get(name) != value}
        share, other = (f"{100 * trial.right:.1f} %" for trial in (after, before))
        shares = f"{share} right on {after.documents:,} held-out documents, {other} without"
        lines.append(f"Tried {describe_settings(change)}: {shares}: {'taken' if after.chosen else 'left'}")
    return lines


# -- candidate settings ------------------------------------------------------------------------------------------------


def _list_changes(trials: "Trials") -> list[tuple[Change, bool]]:
    """Return the changes to try in turn, and whether each is costly; an empty change is skipped.

    Each is tried on top of those chosen before. Cheap changes come first, so that a costly one must gain what they do
    not. The words of titles cost little and seldom hurt, so that any gain will do for them.
    """

    def view(name: str) -> Change:
        return lambda current: {"analyser": name + "+title" * str(current["analyser"]).endswith("+title")}

    def title(current: Mapping[str, Any]) -> dict[str, Any]:
        return {"analyser": f"{current['analyser']}+title"} if _have_titles(trials.peeked) else {}

    def cap(value: float) -> Change:
        return lambda current: {"positive_cap": value} if "positive_cap" in current else {}

    frequent = 4 * sum(map(len, trials.labels)) > len(trials.labels) * trials.n_categories
    caps = [cap(1.0), cap(4.0)] if trials.settings.choose == "thorough" else [cap(1.0)] if frequent else []
    return [(title, False), *((change, True) for change in [*map(view, trials.effort.views), *caps])]


def _have_titles(texts: list[Text]) -> bool:
    return sum(map(_has_title, texts)) > len(texts) / 2


def _has_title(text: Text) -> bool:
    if not isinstance(text, str):
        return bool(str(text.get("title") or "").strip())
    first, _, rest = text.strip().partition("\n")
    return bool(rest) and len(first) <= _MAX_TITLE


# -- documents of the trials -------------------------------------------------------------------------------------------


def _fetch(texts: Sequence[Text], numbers: list[int]) -> list[Text]:
    """Return some of the texts; stored texts are fetched all at once."""
    fetched: list[Text] | None = texts.at(numbers) if hasattr(texts, "at") else None
    return [texts[i] for i in numbers] if fetched is None else fetched


def count_trial_passes(passes: int) -> int:
    """Return half the passes, for trials: half show just as well which view is better."""
    return (passes + 1) // 2


def _space_evenly(count: int, most: int) -> list[int]:
    """Return the numbers of at most `most` documents, evenly spaced."""
    numbers: list[int] = np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64)).tolist()
    return numbers


def select_categories(truth: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Return the numbers of at most `most` categories, drawn evenly along the positives, largest category first.

    A category with more than its share of the positives is always among them, a small one only sometimes.

    >>> truth = np.repeat(np.eye(4, dtype=bool), [6, 3, 2, 1], axis=0)
    >>> select_categories(truth, 2), select_categories(truth, 9)
    (array([0, 2]), array([0, 1, 2, 3]))
    """
    positives = np.count_nonzero(truth, axis=0)
    if np.count_nonzero(positives) <= most:
        return np.flatnonzero(positives)
    order = np.argsort(-positives, kind="stable")
    ends = np.cumsum(positives[order])
    wanted = (2 * np.arange(most) + 1) * int(ends[-1]) // (2 * most)  # the middle of each of `most` equal parts
    first = np.unique(np.searchsorted(ends, wanted, side="right"))
    rest = np.setdiff1d(np.arange(len(order)), first)[: most - len(first)]
    return np.sort(order[np.concatenate((first, rest))])


# -- trials ------------------------------------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """The shares of right decisions of two settings on the same documents, and the standard error of the difference."""

    before: float
    after: float
    error: float
    documents: int


class Counted(NamedTuple):
    """Documents as rows of counts, with the names of the features."""

    settings: ModelSettings
    rows: Rows
    letters: NDArray[np.uint8]
    stops: NDArray[np.int64]


def _has_part(counted: Counted, settings: ModelSettings) -> bool:
    """Return whether these rows have all features of a view, and the names tell which ones they are."""
    richer = counted.settings
    if not isinstance(settings.analyser, str) or not isinstance(richer.analyser, str):
        return False
    parts, others = settings.analyser.split("+"), richer.analyser.split("+")
    is_cut = counted.rows.n_features >= richer.max_features
    one_kind = all(sum(part.startswith(kind) for part in others) <= 1 for kind in _KINDS)
    more = set(others) - set(parts)
    is_marked = set(parts) <= set(others) and all(part.startswith(tuple(_KINDS)) for part in more)
    return is_marked and one_kind and not is_cut and settings.min_count >= richer.min_count


def _take_part(settings: ModelSettings, counted: Counted) -> Counted:
    """Return the rows of a view that is part of a richer one, the same as if the texts were read again."""
    rows, letters, stops = counted.rows, counted.letters, counted.stops
    parts = settings.analyser.split("+")
    dropped = {part for part in str(counted.settings.analyser).split("+") if part not in parts}
    totals = np.bincount(rows.indices, rows.data, rows.n_features)
    kept = totals >= settings.min_count
    kept[: int(settings.constant > 0)] = True
    kinds = classify_names(letters, stops)
    for part, kind in _KINDS.items():
        if any(own.startswith(part) for own in dropped):
            kept &= ~getattr(kinds, kind)
    chosen = np.flatnonzero(kept)
    if len(chosen) <= int(settings.constant > 0):
        raise TextError("no features are left")
    renumbered = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    inside = kept[rows.indices]
    indptr = np.append(0, np.cumsum(inside))[rows.indptr]
    own = Rows(indptr, renumbered[rows.indices[inside]], rows.data[inside], len(chosen))
    return Counted(settings, own, *gather_names(letters, stops, chosen))


def _make_features(counted: Counted) -> TextFeatures:
    """Return the features of rows that were taken from richer ones, as if they had been fitted to the texts."""
    features = new_features(counted.settings)
    features.vocabulary = Vocabulary.from_names(counted.letters, counted.stops, features.vocabulary.most)
    features.note_documents(len(counted.rows.indptr) - 1, count_documents_by_feature(counted.rows))
    return features


class Trials:
    """Comparisons of settings on held-out documents."""

    def __init__(
        self,
        settings: ModelSettings,
        texts: Sequence[Text],
        labels: list[list[int]],
        n_categories: int,
        effort: Effort,
    ) -> None:
        self.settings, self.texts, self.labels, self.n_categories = settings, texts, labels, n_categories
        self.effort = effort
        self.passes = count_trial_passes(settings.parameters.max_passes)
        self.peeked = _fetch(texts, _space_evenly(len(texts), _PEEK))
        self._active: dict[str, float] = {}
        self._samples: dict[int, Sample] = {}  # the last one
        self._counted: dict[tuple[str, int], Counted] = {}  # of the last sample
        self._whole: dict[tuple[str, int], tuple[TextFeatures, Rows]] = {}  # of samples with all documents

    def add_change(self, best: dict[str, Any], change: dict[str, Any], given: Collection[str]) -> dict[str, Any] | None:
        """Return the best settings with the change, or None if the change is empty or the model would be too large."""
        higher = change | {"min_count": _HIGHER_COUNT} if "analyser" in change and "min_count" not in given else change
        for wanted in (change, higher):
            if wanted and not wanted.keys() & set(given) and self._is_small(best, best | wanted):
                return best | wanted
        return None

    def _is_small(self, before: dict[str, Any], after: dict[str, Any]) -> bool:
        """Return whether the model stays small enough: features grow about as documents to the power 4 / 5.

        Both sides are raised to the fifth power, in integers: a power of 0.8 is not the same on every machine.
        """
        sample = self._draw_sample(before, after)
        counted = self._count_features(self.settings.replace(after), sample)
        weights = int(counted.rows.n_features) * self.n_categories
        most = int(self.effort.weights)
        return bool(weights**5 * len(self.texts) ** 4 <= most**5 * len(sample.texts) ** 4)

    def compare(
        self, before: dict[str, Any], after: dict[str, Any], progress: Report | None = None
    ) -> Comparison | None:
        """Compare two settings on as many documents as the budget allows; None if these are too few."""
        sample = self._draw_sample(before, after)
        if len(sample.texts) < _MIN_DOCUMENTS:
            return None
        n_judged = max(2, min(_FOLDS, -(-_FOLDS * _MANY // len(sample.texts))))
        folds = assign_folds(sample.truth, _FOLDS)
        folds[folds >= n_judged] = -1
        truth = sample.truth[folds >= 0]
        right = [
            _count_right(self._score(chosen, sample, folds, progress), truth, sample.one_each)
            for chosen in (before, after)
        ]
        decisions = max(np.count_nonzero(truth), 1)
        shares = [float(counts.sum() / decisions) for counts in right]
        error = float(np.sqrt(((right[1] - right[0]) ** 2).sum()) / decisions)
        return Comparison(shares[0], shares[1], error, len(truth))

    def _count_affordable(self, chosen: dict[str, Any]) -> int:
        """Return the number of documents that budget and memory allow."""
        active, n_categories = self._measure_active(chosen), min(self.n_categories, self.effort.categories)
        work = active * (self.passes * n_categories + READING)
        most = min(self.effort.work / work, _MAX_ACTIVE / active, _MAX_SAMPLE_CELLS / n_categories)
        return min(int(most), len(self.texts))

    def _measure_active(self, chosen: dict[str, Any]) -> float:
        """Return the average number of active features of a document, from some documents."""
        analyser = self.settings.replace(chosen).analyser
        if str(analyser) not in self._active:
            entries = SpillingArray(np.int64, MEMORY)
            new_features(self.settings.replace({"analyser": analyser})).count(self.peeked, entries)
            self._active[str(analyser)] = 1 + entries.length / len(self.peeked)
        return self._active[str(analyser)]

    def _draw_sample(self, before: dict[str, Any], after: dict[str, Any]) -> Sample:
        """Return evenly spaced documents to compare two settings on, as many as both can afford.

        If each document has one category, those with another category than the judged ones are left out.
        """
        count = min(self._count_affordable(before), self._count_affordable(after))
        if count not in self._samples:
            chosen = np.array(_space_evenly(len(self.texts), count), dtype=np.int64)
            labels = [self.labels[i] for i in chosen]
            one_each = choose_policy([len(row) for row in labels]) == "exactly-one"
            truth = as_truth(labels, self.n_categories)
            truth = truth[:, select_categories(truth, self.effort.categories)]
            if one_each:
                chosen, truth = chosen[truth.any(axis=1)], truth[truth.any(axis=1)]
            judged = list_labels(truth)
            self._samples = {count: Sample(_fetch(self.texts, chosen.tolist()), judged, truth, one_each)}
            self._counted.clear()
        return self._samples[count]

    def _count_features(self, settings: ModelSettings, sample: Sample) -> Counted:
        """Return the sampled documents as rows of counts; a view that is part of a known one is taken from it."""
        key = str(settings.analyser), settings.min_count
        if key not in self._counted:
            richer = [known for known in self._counted.values() if _has_part(known, settings)]
            is_whole, features = len(sample.texts) == len(self.texts), None
            if is_whole and key in self._whole:
                features, rows = self._whole[key]
                counted = Counted(settings, rows, features.vocabulary.letters, features.vocabulary.stops)
            elif richer:
                counted = _take_part(settings, richer[0])
            else:
                features = new_features(settings)
                rows = features.fit(sample.texts)
                counted = Counted(settings, rows, features.vocabulary.letters, features.vocabulary.stops)
            if is_whole:
                self._whole[key] = features or _make_features(counted), counted.rows
            self._counted[key] = counted
        return self._counted[key]

    def _scale_min_count(self, chosen: dict[str, Any], n_sampled: int) -> ModelSettings:
        """Return the chosen settings; a raised `min_count` is lower on a sample, where features occur less often."""
        settings, usual = self.settings.replace(chosen), self.settings.min_count
        least = min(settings.min_count, max(settings.min_count * n_sampled // len(self.texts), usual))
        return settings.replace({"min_count": least})

    def get_fitted(self, chosen: dict[str, Any]) -> tuple[TextFeatures, Rows] | None:
        """Return the features of the chosen settings and all documents as rows, if a sample had all of them."""
        settings = self.settings.replace(chosen)
        return self._whole.get((str(settings.analyser), settings.min_count))

    def _score(
        self, chosen: dict[str, Any], sample: Sample, folds: NDArray[np.int64], progress: Report | None
    ) -> NDArray[np.float32]:
        """Return the scores of the sampled documents that have a fold, by a learner that has not seen them."""
        settings = self._scale_min_count(chosen, len(sample.texts)).replace({"max_passes": self.passes})
        if len(self.texts) > _MANY:
            settings = settings.replace({"tolerance": _TOLERANCE})
        counts, n_categories = self._count_features(settings, sample).rows, sample.truth.shape[1]
        rows, _ = strengthen_training_rows(settings, counts._replace(data=counts.data.copy()))
        learner = new_learner(fit_to_size(settings, rows.n_features, n_categories))
        report = make_reporter(f"choose: {describe_settings(chosen) or self.settings.analyser}", progress)
        return score_held_out(learner, rows, sample.labels, folds, n_categories, report)


def _count_right(scores: NDArray[np.float32], truth: NDArray[np.bool_], one_each: bool) -> NDArray[np.int64]:
    """Return the number of right decisions for each document.

    If each document has exactly one category, its best category is right or wrong. Otherwise the count is taken at the
    break-even point over all pairs of document and category: as many are accepted as are true, ties going to the first.
    """
    if one_each:
        return np.asarray(truth[np.arange(len(truth)), scores.argmax(axis=1)], dtype=np.int64)
    flat, count = scores.reshape(-1), np.count_nonzero(truth)
    if count == 0:
        return np.zeros(len(truth), dtype=np.int64)
    lowest = np.partition(flat, len(flat) - count)[len(flat) - count]
    accepted = flat > lowest
    accepted[np.flatnonzero(flat == lowest)[: count - np.count_nonzero(accepted)]] = True
    return np.asarray(np.count_nonzero(accepted.reshape(truth.shape) & truth, axis=1))
