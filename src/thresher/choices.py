"""Settings that the training documents choose: trials on held-out ones, within a budget of work; `fit` calls it.

Work is counted, passes x active features x categories, never timed: the same documents give the same model on every
machine. Where the budget does not allow for all documents, every trial sees the same evenly drawn ones.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.decisions import choose_policy, folds
from thresher.kernels.rows import Rows
from thresher.learners.rows import select_rows
from thresher.settings import new_features, new_learner
from thresher.text.analysers import Text
from thresher.text.strengths import WEIGHED, inverse_frequencies, weighed
from thresher.tuning import Report, Step, truth_of

PAIRS_AND_LETTERS = "words+ngrams:2+chars:4-4"
_HIGHER_COUNT = 5  # the least occurrences of a feature where there would be too many otherwise
_PARTS = 5
_FEWEST = 100  # documents that trials need
_PEEK = 400  # documents from which the work of a trial is estimated
_LONGEST_TITLE = 200  # characters


class Effort(NamedTuple):
    """How much choosing may cost, and what it must bring."""

    work: float  # of one side of one comparison
    weights: float  # features x categories of the largest model
    gain: float  # of the share of right decisions, for what costs more


EFFORTS = {"quick": Effort(4e9, 6e7, 0.002), "thorough": Effort(6e10, 2e8, 0.0)}


class Trial(NamedTuple):
    """What was tried, and the share of right decisions on how many held-out training documents."""

    settings: dict[str, Any]
    right: float
    documents: int
    chosen: bool


class Sample(NamedTuple):
    """The documents of the trials, and which of them are held out together."""

    texts: list[Text]
    truth: NDArray[np.bool_]
    parts: NDArray[np.int64]
    one_each: bool
    n_documents: int  # that they were drawn from


Change = Callable[[Mapping[str, Any]], dict[str, Any]]


def choose_settings(
    settings: Mapping[str, Any],
    given: Collection[str],
    texts: list[Text],
    labels: list[list[int]],
    n_categories: int,
    progress: Report | None = None,
) -> tuple[dict[str, Any], list[Trial]]:
    """Return what the documents choose of the settings that were not `given`, as the setting "choose" says.

    Returns the settings chosen, and two trials for each comparison.
    """
    effort = EFFORTS.get(settings["choose"])
    sample = _sample(settings, texts, labels, n_categories, effort) if effort else None
    if effort is None or sample is None:
        return {}, []
    tests, trials, best = Tests(settings, sample, effort), list[Trial](), dict[str, Any]()
    for number, change in enumerate(changes := _changes(settings, sample)):
        tried = tests.fitting(best, change(dict(settings) | best), given)
        if tried is None:
            continue
        if progress is not None:
            progress(Step(f"choose: {described(tried)}", number, len(changes)))
        before, after, documents = tests.compare(best, tried)
        better = after > before + effort.gain
        trials += [Trial(best, before, documents, not better), Trial(tried, after, documents, better)]
        best = tried if better else best
    return best, trials


def described(chosen: Mapping[str, Any]) -> str:
    """Write settings in one line.

    >>> described({"analyser": "words+title", "positive_cap": 1.0})
    'words+title, positive_cap 1.0'
    """
    return ", ".join(str(value) if name == "analyser" else f"{name} {value}" for name, value in chosen.items())


# -- what may be chosen ------------------------------------------------------------------------------------------------


def _changes(settings: Mapping[str, Any], sample: Sample) -> list[Change]:
    """Return the changes to try in turn, each upon what was chosen before; an empty one is not tried."""

    def view(name: str) -> Change:
        return lambda current: {"analyser": name} if current["analyser"] != name else {}

    def title(current: Mapping[str, Any]) -> dict[str, Any]:
        return {"analyser": f"{current['analyser']}+title"} if _have_titles(sample.texts) else {}

    def cap(value: float) -> Change:
        return lambda current: {"positive_cap": value} if "positive_cap" in current else {}

    frequent = np.count_nonzero(sample.truth) > sample.truth.size / 4
    if settings["choose"] == "quick":
        return [view(PAIRS_AND_LETTERS), title, *([cap(1.0)] if frequent else [])]
    views = [view(name) for name in ("words+ngrams:2", PAIRS_AND_LETTERS, "words+ngrams:3+chars:3-5")]
    return [*views, title, cap(1.0), cap(4.0)]


def _have_titles(texts: list[Text]) -> bool:
    return sum(map(_has_title, texts)) > len(texts) / 2


def _has_title(text: Text) -> bool:
    if not isinstance(text, str):
        return bool(text.get("title", "").strip())
    first, _, rest = text.strip().partition("\n")
    return bool(rest) and len(first) <= _LONGEST_TITLE


# -- the documents of the trials ---------------------------------------------------------------------------------------


def _sample(
    settings: Mapping[str, Any], texts: list[Text], labels: list[list[int]], n_categories: int, effort: Effort
) -> Sample | None:
    """Return as many documents as the budget allows for the dearest view; None if that is too few."""
    peeked = [texts[i] for i in _spread(len(texts), _PEEK)]
    dearest = new_features(dict(settings) | {"analyser": PAIRS_AND_LETTERS, "min_count": 1})
    active = len(dearest.fit(peeked).indices) if peeked else 0
    work = settings["max_passes"] * (1 + active / max(len(peeked), 1)) * n_categories  # of one document
    chosen = _spread(len(texts), int(effort.work / work))
    if len(chosen) < _FEWEST:
        return None
    truth = truth_of([labels[i] for i in chosen], n_categories)
    one_each = choose_policy([len(labels[i]) for i in chosen]) == "exactly-one"
    return Sample([texts[i] for i in chosen], truth, folds(truth, _PARTS), one_each, len(texts))


def _spread(count: int, most: int) -> list[int]:
    """Return the numbers of at most so many documents, evenly drawn."""
    found: list[int] = np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64)).tolist()
    return found


# -- the trials --------------------------------------------------------------------------------------------------------


class Tests:
    """Comparisons of settings on the same held-out documents; what was found is kept."""

    def __init__(self, settings: Mapping[str, Any], sample: Sample, effort: Effort) -> None:
        self.settings, self.sample, self.effort = dict(settings), sample, effort
        self._rows: dict[tuple[Any, int], Rows] = {}
        self._right: dict[tuple[str, int], tuple[int, int]] = {}

    def fitting(self, best: dict[str, Any], change: dict[str, Any], given: Collection[str]) -> dict[str, Any] | None:
        """Return the best settings with the change; None if there is none, or if the model would be too large."""
        higher = change | {"min_count": _HIGHER_COUNT} if "analyser" in change and "min_count" not in given else change
        for wanted in (change, higher):
            if wanted and not wanted.keys() & set(given) and self._is_small(best | wanted):
                return best | wanted
        return None

    def _is_small(self, chosen: dict[str, Any]) -> bool:
        """Tell whether the model would not be too large: features grow about with the root of the documents."""
        growth = np.sqrt(self.sample.n_documents / len(self.sample.texts))
        return bool(self._strong(chosen).n_features * growth * self.sample.truth.shape[1] <= self.effort.weights)

    def compare(self, before: dict[str, Any], after: dict[str, Any]) -> tuple[float, float, int]:
        """Return the shares of right decisions, and on how many documents: as many as the budget allows for."""
        n_parts = min(self._affordable(before), self._affordable(after))
        shares = []
        for chosen in (before, after):
            found = [self._right_in(chosen, part) for part in range(n_parts)]
            shares.append(sum(right for right, _ in found) / max(sum(all_ for _, all_ in found), 1))
        return shares[0], shares[1], int(np.count_nonzero(self.sample.parts < n_parts))

    def _affordable(self, chosen: dict[str, Any]) -> int:
        settings = self.settings | chosen
        work = settings["max_passes"] * len(self._strong(chosen).indices) * self.sample.truth.shape[1]
        return int(np.clip(self.effort.work // max(work, 1), 1, _PARTS))

    def _strong(self, chosen: dict[str, Any]) -> Rows:
        settings = self.settings | chosen
        key = (str(settings["analyser"]), settings["min_count"])
        if key not in self._rows:
            rows = new_features(settings).fit(self.sample.texts)
            if settings["strength"] in WEIGHED:
                rows = weighed(rows, inverse_frequencies(rows), settings["strength"])
            self._rows[key] = rows
        return self._rows[key]

    def _right_in(self, chosen: dict[str, Any], part: int) -> tuple[int, int]:
        """Return how many decisions are right of how many, by a learner that has not seen the part.

        Where each document has one category, the best one is right or wrong. Otherwise it is the break-even point over
        all pairs of a document and a category: as many are accepted as there are true ones.
        """
        key = (described(chosen), part)
        if key not in self._right:
            rows, sample = self._strong(chosen), self.sample
            inside, outside = np.flatnonzero(sample.parts != part), np.flatnonzero(sample.parts == part)
            labels = [np.flatnonzero(sample.truth[i]).tolist() for i in inside]
            learner = new_learner(self.settings | chosen)
            learner.fit(select_rows(rows, inside), labels, n_categories=sample.truth.shape[1])
            scores = learner.score(select_rows(rows, outside))
            self._right[key] = _decided_right(scores, sample.truth[outside], sample.one_each)
        return self._right[key]


def _decided_right(scores: NDArray[np.float32], truth: NDArray[np.bool_], one_each: bool) -> tuple[int, int]:
    if one_each:
        return int(np.count_nonzero(truth[np.arange(len(truth)), scores.argmax(axis=1)])), len(truth)
    best = np.argsort(-scores, axis=None, kind="stable")[: np.count_nonzero(truth)]
    return int(np.count_nonzero(truth.reshape(-1)[best])), len(best)
