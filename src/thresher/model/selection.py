"""Choose settings by trials on held-out training documents, within a budget of work.

Work is counted as passes x active features x categories, never timed: the same documents give the same model on every
machine. If the budget does not cover all documents, every trial uses the same evenly spaced sample.
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
from thresher.model.threshold_tuning import MAX_TUNED_CELLS
from thresher.rows.folds import assign_folds
from thresher.rows.labels import as_truth, make_labels
from thresher.rows.validation import select_rows
from thresher.support.progress import Report, make_reporter
from thresher.text.analysers import Text

PAIRS_AND_LETTERS = "words+ngrams:2+chars:4-4"
_HIGHER_COUNT = 5  # min_count for a view that would otherwise have too many features
_PARTS, _MIN_PARTS = 5, 3
_MIN_DOCUMENTS = 100  # the minimum number of documents for trials
_PEEK = 400  # documents used to estimate the work of a trial
_MAX_TITLE = 200  # characters
_MAX_ACTIVE = 3e7  # active features over all documents of a sample: about 3 GB


class Effort(NamedTuple):
    """The budget for choosing settings, and the gain that a costlier setting must bring."""

    work: float  # budget for one side of one comparison
    weights: float  # features x categories of the largest model
    gain: float  # minimum gain in the share of right decisions, for a costlier setting
    errors: float  # the gain must also exceed this number of standard errors
    views: tuple[str, ...]  # to try after plain words, the costliest last


EFFORTS = {
    "quick": Effort(2e9, 8.5e7, 0.002, 1.0, (PAIRS_AND_LETTERS,)),
    "thorough": Effort(6e10, 2.8e8, 0.0, 0.25, ("words+ngrams:2", PAIRS_AND_LETTERS, "words+ngrams:3+chars:3-5")),
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
    """The chosen settings, two trials per comparison, and the held-out scores of the chosen settings by fold."""

    settings: dict[str, Any]
    trials: list[Trial]
    held_out: dict[int, NDArray[np.float32]]


NO_CHOICE = Choice({}, [], {})


class Sample(NamedTuple):
    """The documents of the trials, and their folds."""

    texts: list[Text]
    labels: list[list[int]]
    truth: NDArray[np.bool_]
    parts: NDArray[np.int64]
    one_each: bool
    n_documents: int  # number of documents before sampling


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
        sample = _draw_sample(settings, given, texts, labels, n_categories, effort)
        return _choose(settings, given, sample, effort, progress)
    except TextError:  # a sample without features
        return NO_CHOICE


def _choose(
    settings: ModelSettings, given: Collection[str], sample: Sample, effort: Effort, progress: Report | None
) -> Choice:
    if len(sample.texts) < _MIN_DOCUMENTS:
        return NO_CHOICE
    rounds, trials, best = Rounds(settings, sample, effort), list[Trial](), dict[str, Any]()
    for change in _list_changes(settings, sample, effort):
        tried = rounds.add_change(best, change(settings.as_dict() | best), given)
        if tried is None:
            continue
        compared = rounds.compare(best, tried, progress)
        better = compared.after - compared.before > max(effort.gain, effort.errors * compared.error)
        trials.append(Trial(best, compared.before, compared.documents, not better))
        trials.append(Trial(tried, compared.after, compared.documents, better))
        best = tried if better else best
        rounds.forget_all_but(best)
    return Choice(best, trials, rounds.held_out_scores(best))


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


def _list_changes(settings: ModelSettings, sample: Sample, effort: Effort) -> list[Change]:
    """Return the changes to try in turn, each on top of those chosen before; an empty change is skipped."""

    def view(name: str) -> Change:
        return lambda current: {"analyser": name} if current["analyser"] != name else {}

    def title(current: Mapping[str, Any]) -> dict[str, Any]:
        return {"analyser": f"{current['analyser']}+title"} if _have_titles(sample.texts) else {}

    def cap(value: float) -> Change:
        return lambda current: {"positive_cap": value} if "positive_cap" in current else {}

    frequent = np.count_nonzero(sample.truth) > sample.truth.size / 4
    caps = [cap(1.0), cap(4.0)] if settings.choose == "thorough" else [cap(1.0)] if frequent else []
    return [*map(view, effort.views), title, *caps]


def _have_titles(texts: list[Text]) -> bool:
    return sum(map(_has_title, texts)) > len(texts) / 2


def _has_title(text: Text) -> bool:
    if not isinstance(text, str):
        return bool(str(text.get("title") or "").strip())
    first, _, rest = text.strip().partition("\n")
    return bool(rest) and len(first) <= _MAX_TITLE


# -- documents of the trials -------------------------------------------------------------------------------------------


def _draw_sample(
    settings: ModelSettings,
    given: Collection[str],
    texts: Sequence[Text],
    labels: list[list[int]],
    n_categories: int,
    effort: Effort,
) -> Sample:
    """Return as many documents as budget and memory allow for the costliest view."""
    peeked = _fetch(texts, _space_evenly(len(texts), _PEEK))
    costliest = settings.analyser if "analyser" in given else effort.views[-1]
    counts = new_features(settings.replace({"analyser": costliest, "min_count": 1})).fit(peeked)
    active = len(counts.indices) / len(peeked)
    work = _halve(settings.parameters.max_passes) * (1 + active) * n_categories  # per document
    most = min(effort.work / work, _MAX_ACTIVE / (1 + active), MAX_TUNED_CELLS / n_categories)
    chosen = _space_evenly(len(texts), int(most))
    chosen_labels = [labels[i] for i in chosen]
    one_each = choose_policy([len(row) for row in chosen_labels]) == "exactly-one"
    truth = as_truth(chosen_labels, n_categories)
    return Sample(_fetch(texts, chosen), chosen_labels, truth, assign_folds(truth, _PARTS), one_each, len(texts))


def _fetch(texts: Sequence[Text], numbers: list[int]) -> list[Text]:
    """Return some of the texts; stored texts are fetched all at once."""
    fetched: list[Text] | None = texts.at(numbers) if hasattr(texts, "at") else None
    return [texts[i] for i in numbers] if fetched is None else fetched


def _halve(passes: int) -> int:
    """Return half the passes, for trials that cannot afford all: half show just as well which view is better."""
    return (passes + 1) // 2


def _space_evenly(count: int, most: int) -> list[int]:
    """Return the numbers of at most `most` documents, evenly spaced."""
    numbers: list[int] = np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64)).tolist()
    return numbers


# -- trials ------------------------------------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """The shares of right decisions of two settings on the same documents, and the standard error of the difference."""

    before: float
    after: float
    error: float
    documents: int


class Rounds:
    """Comparisons of settings on the same held-out documents; rows and scores are cached."""

    def __init__(self, settings: ModelSettings, sample: Sample, effort: Effort) -> None:
        self.settings, self.sample, self.effort = settings, sample, effort
        self._rows: dict[tuple[str, int], Rows] = {}
        self._scores: dict[tuple[str, int, int], NDArray[np.float32]] = {}

    def add_change(self, best: dict[str, Any], change: dict[str, Any], given: Collection[str]) -> dict[str, Any] | None:
        """Return the best settings with the change, or None if the change is empty or the model would be too large."""
        higher = change | {"min_count": _HIGHER_COUNT} if "analyser" in change and "min_count" not in given else change
        for wanted in (change, higher):
            if wanted and not wanted.keys() & set(given) and self._is_small(best | wanted):
                return best | wanted
        return None

    def _is_small(self, chosen: dict[str, Any]) -> bool:
        """Return whether the model stays small enough: features grow about as documents to the power 4 / 5.

        Both sides are raised to the fifth power, in integers: a power of 0.8 is not the same on every machine.
        """
        weights = int(self._strong_rows(chosen).n_features) * self.sample.truth.shape[1]
        most = int(self.effort.weights)
        return bool(weights**5 * self.sample.n_documents**4 <= most**5 * len(self.sample.texts) ** 4)

    def compare(self, before: dict[str, Any], after: dict[str, Any], progress: Report | None = None) -> Comparison:
        """Compare two settings on as many held-out documents as the budget allows."""
        passes = self.settings.parameters.max_passes
        n_parts = min(self._count_affordable(before, passes), self._count_affordable(after, passes))
        if n_parts < _MIN_PARTS:
            passes = _halve(passes)
            n_parts = min(self._count_affordable(before, passes), self._count_affordable(after, passes))
        held_out = self.sample.parts < n_parts
        truth, right = self.sample.truth[held_out], []
        for chosen in (before, after):
            scores = np.empty(truth.shape, dtype=np.float32)
            for part in range(n_parts):
                scores[self.sample.parts[held_out] == part] = self._score_fold(chosen, passes, part, progress)
            right.append(_count_right(scores, truth, self.sample.one_each))
        decisions = max(np.count_nonzero(truth), 1)
        shares = [float(counts.sum() / decisions) for counts in right]
        error = float(np.sqrt(((right[1] - right[0]) ** 2).sum()) / decisions)
        return Comparison(shares[0], shares[1], error, len(truth))

    def _count_affordable(self, chosen: dict[str, Any], passes: int) -> int:
        work = passes * len(self._strong_rows(chosen).indices) * self.sample.truth.shape[1]
        return int(np.clip(self.effort.work // max(work, 1), 1, _PARTS))

    def held_out_scores(self, chosen: dict[str, Any]) -> dict[int, NDArray[np.float32]]:
        """Return the held-out scores of the chosen settings that threshold tuning would compute again."""
        whole = len(self.sample.texts) == self.sample.n_documents and self.settings.folds == _PARTS
        wanted = (describe_settings(chosen), self.settings.parameters.max_passes)
        return {part: scores for (*key, part), scores in self._scores.items() if whole and tuple(key) == wanted}

    def forget_all_but(self, chosen: dict[str, Any]) -> None:
        """Drop the scores and rows of all other settings."""
        name, key = describe_settings(chosen), self._key(chosen)
        self._scores = {trial: scores for trial, scores in self._scores.items() if trial[0] == name}
        self._rows = {other: rows for other, rows in self._rows.items() if other == key}

    def _strong_rows(self, chosen: dict[str, Any]) -> Rows:
        settings, key = self.settings.replace(chosen), self._key(chosen)
        if key not in self._rows:
            self._rows[key], _ = strengthen_training_rows(settings, new_features(settings).fit(self.sample.texts))
        return self._rows[key]

    def _key(self, chosen: dict[str, Any]) -> tuple[str, int]:
        settings = self.settings.replace(chosen)
        return str(settings.analyser), settings.min_count

    def _score_fold(
        self, chosen: dict[str, Any], passes: int, part: int, progress: Report | None = None
    ) -> NDArray[np.float32]:
        """Return the scores of a fold by a learner that has not seen it."""
        key = (describe_settings(chosen), passes, part)
        if key not in self._scores:
            rows, sample = self._strong_rows(chosen), self.sample
            inside, outside = np.flatnonzero(sample.parts != part), np.flatnonzero(sample.parts == part)
            labels = [sample.labels[i] for i in inside]
            settings = self.settings.replace(chosen | {"max_passes": passes})
            learner = new_learner(fit_to_size(settings, rows.n_features, sample.truth.shape[1]))
            report = make_reporter(f"choose: {describe_settings(chosen) or self.settings.analyser}", progress)
            learner.fit_rows(select_rows(rows, inside), make_labels(labels), sample.truth.shape[1], report)
            self._scores[key] = learner.score_rows(select_rows(rows, outside))
        return self._scores[key]


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
