"""Find documents that are probably mislabelled, judged by models that have not seen them.

A category that is not given is "missing" if its held-out score is above theta. One that is given is "wrong" if its
score is below. The suspicion is the distance from theta, plus half of the distance by which the document's other side
is contradicted, since a wrong label usually replaces a right one (docs/audit.md has the trial).
"""

from collections import Counter
from collections.abc import Iterator
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.errors import TextError
from thresher.kernels.csr import Rows
from thresher.kernels.reproducible_math import sigmoid
from thresher.learners.base import MistakeDrivenLearner
from thresher.metrics import break_even
from thresher.model.decisions import calibrate
from thresher.model.factories import new_learner, strengthen_training_rows
from thresher.model.settings import ModelSettings
from thresher.model.threshold_tuning import held_out_scores, make_local_scorer
from thresher.model.thresholds import Scores, Truth, tune_thresholds
from thresher.rows.folds import assign_folds
from thresher.rows.labels import as_truth, make_labels, number_categories
from thresher.rows.validation import select_rows
from thresher.support.progress import Report, make_reporter
from thresher.text.analysers import Text
from thresher.text.vectorizer import TextFeatures

Ints = NDArray[np.int64]

MIN_DOCUMENTS = 5
MAX_JUDGED = 10**8  # limit for documents x categories
MAX_WORDS = 5
LEFT_OUT = 0.02  # share of documents, the most suspicious, that the second round does not learn from
OTHER_SIDE = 0.5


class Suspect(NamedTuple):
    """A doubtful label: the document's number, the category, "missing" or "wrong", and the decisive words."""

    document: int
    category: str
    kind: str
    probability: float
    suspicion: float
    words: list[tuple[str, float]]


class Judgement(NamedTuple):
    """The suspects, the worst first, and the break-even point of each judged category on held-out documents."""

    suspects: list[Suspect]
    break_evens: dict[str, float]


class Collection(NamedTuple):
    """The documents and categories to judge: rows, label sets, and the same labels as an array."""

    rows: Rows
    labels: list[list[int]]
    truth: Truth


class Doubts(NamedTuple):
    """Pairs of document and category where label and model differ; `words` are numbers of features."""

    documents: Ints
    categories: Ints
    suspicion: Scores
    words: list[list[tuple[int, float]]]


def judge(
    settings: ModelSettings, texts: list[Text], named: list[list[str]], notes: list[str], report: Report | None
) -> Judgement:
    """Return the doubtful labels of the texts, or raise a TextError that says why none can be judged.

    If only some are judged, `notes` says which.
    """
    _check_enough(len(texts), settings.folds)
    names = _select_categories(named, notes)
    features = TextFeatures(settings.analyser, settings.min_count, settings.max_features, settings.parameters.n_threads)
    rows = features.fit(texts)
    present = np.flatnonzero(np.diff(rows.indptr))
    _check_enough(len(present), settings.folds)
    collection = _make_collection(settings, select_rows(rows, present), [named[i] for i in present], names)
    scores, doubts = _judge_twice(settings, collection, report)
    probabilities, disagrees = _probabilities(doubts, scores, collection.truth, settings.parameters.theta)
    suspects = compress(_make_suspects(doubts, collection.truth, probabilities, names, features), disagrees)
    return Judgement(
        [suspect._replace(document=int(present[suspect.document])) for suspect in suspects],
        _break_evens(scores, collection.truth, names),
    )


def _check_enough(n_documents: int, n_folds: int) -> None:
    if n_documents < n_folds:
        raise TextError(f"{n_documents} documents with words are fewer than {n_folds} folds")


def _select_categories(named: list[list[str]], notes: list[str]) -> list[str]:
    """Return the categories with enough documents, in order; only the largest if all would not fit in memory."""
    counts = Counter(name for names in named for name in names)
    enough = sorted((name for name in counts if counts[name] >= MIN_DOCUMENTS), key=lambda name: (-counts[name], name))
    if not enough:
        raise TextError(f"no category has {MIN_DOCUMENTS} documents")
    most = max(MAX_JUDGED // len(named), 1)
    if len(enough) > most:
        notes.append(f"only the labels of the {most} largest categories were judged, of {len(enough)}")
    return sorted(enough[:most])


def _make_collection(settings: ModelSettings, rows: Rows, named: list[list[str]], names: list[str]) -> Collection:
    labels = number_categories(named, names)
    strong, _ = strengthen_training_rows(settings.replace({"bias": 0.0}), rows)
    return Collection(strong, labels, as_truth(labels, len(names)))


def _compute_suspicions(scores: Scores, truth: Truth, theta: float) -> Scores:
    """Return the suspicion of each label, given or not; minus infinity if the model agrees with the label.

    The other side of a category that is not given are the given ones, and vice versa. The strongest doubt about that
    side raises the suspicion. If there is no such doubt, the margin of its weakest confirmation lowers it.
    """
    against = np.where(truth, theta - scores, scores - theta).astype(np.float32)
    nothing = np.float32(-np.inf)
    given = np.where(truth, against, nothing).max(axis=1, keepdims=True, initial=nothing)
    others = np.where(truth, nothing, against).max(axis=1, keepdims=True, initial=nothing)
    other_side = np.where(truth, others, given)
    other_side[np.isneginf(other_side)] = 0
    return np.where(against > 0, against + np.float32(OTHER_SIDE) * other_side, nothing)


def _find_worst(suspicions: Scores) -> Truth:
    """Return which documents the second round leaves out: the most suspicious, if the model doubts them at all."""
    worst = suspicions.max(axis=1)
    chosen = np.zeros(len(worst), dtype=np.bool_)
    chosen[np.argsort(-worst, kind="stable")[: int(LEFT_OUT * len(worst))]] = True
    chosen &= worst > 0
    return chosen


def _judge_twice(settings: ModelSettings, collection: Collection, report: Report | None) -> tuple[Scores, Doubts]:
    """Return held-out scores and doubts after two rounds; the second does not learn from the worst of the first."""
    rows, labels, truth = collection
    score_fold = make_local_scorer(lambda: new_learner(settings), rows, labels, truth.shape[1])
    scores = held_out_scores(settings.folds, truth, np.arange(len(labels)), score_fold, report)
    worst = _find_worst(_compute_suspicions(scores, truth, settings.parameters.theta))
    return _judge_again(settings, collection, worst, report)


def _judge_again(
    settings: ModelSettings, collection: Collection, left_out: Truth, report: Report | None
) -> tuple[Scores, Doubts]:
    """Return held-out scores by models trained on trusted documents only, and where they differ from the labels."""
    rows, _, truth = collection
    scores = np.empty(truth.shape, dtype=np.float32)
    doubts = []
    for learner, outside in _train_learners(settings, collection, left_out, report):
        held_out = select_rows(rows, outside)
        scores[outside] = learner.score_rows(held_out)
        suspicions = _compute_suspicions(scores[outside], truth[outside], settings.parameters.theta)
        documents, categories = np.nonzero(np.isfinite(suspicions))
        signs = np.where(truth[outside[documents], categories], -1, 1)
        pairs = zip(documents.tolist(), categories.tolist(), signs.tolist(), strict=True)
        words = [_find_words(learner, held_out, *doubt) for doubt in pairs]
        doubts.append(Doubts(outside[documents], categories, suspicions[documents, categories], words))
    return scores, _join_doubts(doubts)


def _train_learners(
    settings: ModelSettings, collection: Collection, left_out: Truth, report: Report | None
) -> Iterator[tuple[MistakeDrivenLearner, Ints]]:
    """Yield for each fold a learner trained on the trusted documents outside it, and the documents inside."""
    rows, labels, truth = collection
    count, parts = settings.folds, assign_folds(truth, settings.folds)
    for fold in range(count):
        taught = np.flatnonzero((parts != fold) & ~left_out)
        progress = make_reporter(f"judge {fold + 1}/{count}", report)
        learner = new_learner(settings)
        trusted = make_labels([labels[i] for i in taught])
        learner.fit_rows(select_rows(rows, taught), trusted, truth.shape[1], progress)
        yield learner, np.flatnonzero(parts == fold)


def _find_words(
    learner: MistakeDrivenLearner, rows: Rows, row: int, category: int, sign: int
) -> list[tuple[int, float]]:
    """Return the few features that speak most for a category (sign 1) or against it (-1), with their contributions."""
    one = select_rows(rows, np.array([row]))
    contributions = one.data * learner.category_weights(category, one.indices)
    best = np.argsort(-sign * contributions, kind="stable")[:MAX_WORDS]
    return [(int(one.indices[i]), float(contributions[i])) for i in best if sign * contributions[i] > 0]


def _join_doubts(doubts: list[Doubts]) -> Doubts:
    """Return the doubts of all folds, the most suspicious first."""
    documents, categories, suspicion = (np.concatenate([part[i] for part in doubts]) for i in range(3))
    words = [own for part in doubts for own in part.words]
    order = np.lexsort((categories, documents, -suspicion))
    return Doubts(documents[order], categories[order], suspicion[order], [words[i] for i in order])


def _probabilities(doubts: Doubts, scores: Scores, truth: Truth, theta: float) -> tuple[list[float], list[bool]]:
    """Return the probability of each doubtful category, and whether label and model still differ by it.

    Held-out documents score lower than documents that were learned. So the decision is not at theta but at the
    thresholds that separate the held-out documents best.
    """
    thresholds = tune_thresholds(scores, truth, "f1", theta)
    slopes, midpoints = calibrate(scores, truth, thresholds)
    own = scores[doubts.documents, doubts.categories]
    margins = own - thresholds[doubts.categories]
    given = truth[doubts.documents, doubts.categories]
    chances = sigmoid(slopes[doubts.categories] * (own - midpoints[doubts.categories]))
    return chances.tolist(), ((margins > 0) != given).tolist()


def _break_evens(scores: Scores, truth: Truth, names: list[str]) -> dict[str, float]:
    present = np.flatnonzero(truth.any(axis=0))
    return {names[c]: break_even(scores[:, c], truth[:, c]) for c in present}


def _make_suspects(
    doubts: Doubts, truth: Truth, probabilities: list[float], names: list[str], features: TextFeatures
) -> Iterator[Suspect]:
    """Yield the doubts with the names of categories and words; documents keep their numbers."""
    for document, category, probability, suspicion, words in zip(
        doubts.documents.tolist(),
        doubts.categories.tolist(),
        probabilities,
        doubts.suspicion.tolist(),
        doubts.words,
        strict=True,
    ):
        kind = "wrong" if truth[document, category] else "missing"
        spelled = features.names_of(np.array([feature for feature, _ in words], dtype=np.int64))
        contributions = list(zip(spelled, [contribution for _, contribution in words], strict=True))
        yield Suspect(document, names[category], kind, probability, suspicion, contributions)
