"""The systems that `accuracy.py` compares the presets with: each reads documents into rows, and trains on rows.

`read(documents, truth)` returns the training documents as rows, which NumPy's indices select, and a function that
makes such rows of other documents. `train(rows, truth)` returns a function from rows to scores, documents x categories,
the higher the surer, with the system's own threshold at 0. Thresholds and policy are chosen by
the benchmark, in the same way for all.
"""

import re
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from thresher.datasets.document import Document
from thresher.kernels.csr import Rows
from thresher.model.decisions import Decisions, tune_decisions
from thresher.model.factories import new_features, strengthen_training_rows
from thresher.model.policies import choose_policy
from thresher.model.selection import choose_settings
from thresher.model.settings import WEIGHED, ModelSettings
from thresher.rows.folds import assign_folds
from thresher.support.parallel import count_threads
from thresher.text.tfidf import weigh_rows

Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]
Documents = Sequence[Document]
Score = Callable[[Any], Floats]
Read = Callable[[Documents, Truth], tuple[Any, Callable[[Documents], Any]]]
Train = Callable[[Any, Truth], Score]

Result = TypeVar("Result")

N_FOLDS, THRESHOLD = 5, 0.0
N_JOBS = count_threads(None)
# fastText gives each thread a tenth of the first weights to draw, and leaves the rest as memory happens to be: with
# fewer than ten threads it starts from garbage and ends at NaN now and then. With its usual twelve two runs differ a
# little. 50 passes and a rate of 1 were better than 25 and 0.5 on held-out training documents.
FASTTEXT = {"loss": "ova", "epoch": 50, "bucket": 200_000, "thread": 12, "verbose": 0}
FASTTEXT_RATES = (1.0, 0.5, 0.25, 0.1)
# FTRL was better than the usual adaptive steps on held-out training documents; 50 passes gain little over 20.
VOWPAL_WABBIT = "--ftrl --loss_function logistic --passes 20 --holdout_off"
LOGISTIC_C = 30.0  # scikit-learn's 1 lost five points to 10, 30 and 100 on held-out training documents
_WORD = re.compile(r"\w\w+")  # scikit-learn's


class Peer(NamedTuple):
    """A system: its name in tables, and its two functions."""

    name: str
    read: Read
    train: Train


# -- rows --------------------------------------------------------------------------------------------------------------


def tfidf(documents: Documents, _: Truth) -> tuple[Any, Callable[[Documents], Any]]:
    """Return rows by scikit-learn's vectoriser: 1 + ln count, idf, unit length."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    rows = vectorizer.fit_transform([document.text for document in documents])
    rows.sum_duplicates()  # sorts each row: what other processes are given they cannot sort any more
    return rows, lambda others: vectorizer.transform([document.text for document in others])


def choose_preset_settings(preset: str, documents: Documents, truth: Truth) -> ModelSettings:
    """Return a preset's settings, with those chosen from the documents, as `Categorizer.fit` does."""
    key = preset, tuple(map(id, documents))
    if key not in _CHOSEN:
        settings, contents = ModelSettings.complete(preset, {}), [document.content for document in documents]
        choice = choose_settings(settings, (), contents, list_labels(truth), truth.shape[1])
        _CHOSEN[key] = documents, settings.replace(choice.settings)  # the documents, so that their ids stay theirs
    return _CHOSEN[key][1]


_CHOSEN: dict[Any, tuple[Documents, ModelSettings]] = {}


def strengthen_rows(settings: ModelSettings, documents: Documents) -> tuple[Rows, Callable[[Documents], Rows]]:
    """Return the rows that a preset's learner is given, made as `Categorizer.fit` makes them."""
    features = new_features(settings)
    counts = features.fit([document.content for document in documents])
    strength, (strong, idf) = settings.strength, strengthen_training_rows(settings, counts)

    def read(others: Documents) -> Rows:
        rows = features.rows([document.content for document in others])
        return weigh_rows(rows, idf, strength, constant=settings.constant) if strength in WEIGHED else rows

    return strong, read


def make_our_features(documents: Documents, truth: Truth) -> tuple[Any, Callable[[Documents], Any]]:
    """Return the default preset's rows as scipy's."""
    rows, read = strengthen_rows(choose_preset_settings("default", documents, truth), documents)
    return as_csr(rows), lambda others: as_csr(read(others))


def as_csr(rows: Rows) -> Any:
    """Return rows as LIBLINEAR takes them: float64, and indices of 32 bits."""
    arrays = rows.data.astype(np.float64), rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return csr_matrix(arrays, shape=(len(rows.indptr) - 1, rows.n_features))


def list_labels(truth: Truth) -> list[list[int]]:
    """Return the numbers of each document's categories."""
    return [np.flatnonzero(row).tolist() for row in truth]


def words(documents: Documents, _: Truth) -> tuple[Any, Callable[[Documents], Any]]:
    """Return each document's words with spaces between them, the same words that the vectoriser finds."""

    def read(some: Documents) -> Any:
        return np.array([" ".join(_WORD.findall(document.text.lower())) for document in some], dtype=object)

    return read(documents), read


# -- trainers ----------------------------------------------------------------------------------------------------------


def one_vs_rest(classifier: Any) -> Train:
    """Return the trainer of one such classifier of scikit-learn's a category, on all cores."""

    def train(rows: Any, truth: Truth) -> Score:
        real = with_both(truth)
        model = OneVsRestClassifier(classifier, n_jobs=N_JOBS).fit(rows, truth[:, real].astype(np.int64))
        return lambda others: all_columns(model.decision_function(others).reshape(others.shape[0], -1), real, truth)

    return train


def with_both(truth: Truth) -> NDArray[np.int64]:
    """Return the categories that have both positives and negatives: the rest leave nothing to learn."""
    positives = np.count_nonzero(truth, axis=0)
    return np.flatnonzero((positives > 0) & (positives < len(truth)))


def all_columns(scores: Floats, real: NDArray[np.int64], truth: Truth) -> Floats:
    """Return scores of all categories: below all others where training had no positive, above where no negative."""
    full = np.full((len(scores), truth.shape[1]), scores.min(initial=0.0) - 1.0)
    full[:, truth.all(axis=0)] = scores.max(initial=0.0) + 1.0
    full[:, real] = scores
    return full


def fasttext_ova(n_words: int) -> Train:
    """Return the trainer of fastText's one-vs-all on words, and on sequences of up to `n_words`."""

    def train(lines: Any, truth: Truth) -> Score:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "train.txt"
            path.write_text("\n".join(map(_fasttext_line, lines, truth)), encoding="utf-8")
            model = _train_fasttext(path, n_words)
        numbers = np.array([int(name.removeprefix("__label__")) for name in model.labels])
        known = np.flatnonzero(numbers < truth.shape[1])
        weights = model.get_output_matrix()[known].astype(np.float64)

        def score(others: Any) -> Floats:
            # The same as `predict`, but before its sigmoid, which comes from a coarse table: many would be tied.
            vectors = [model.get_sentence_vector(line) for line in others]
            return all_columns(np.array(vectors, dtype=np.float64) @ weights.T, numbers[known], truth)

        return score

    return train


def train_fasttext_file(lines: Any, truth: Truth, path: Path) -> None:
    """Train fastText on words and write its model file."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "train.txt")
        source.write_text("\n".join(map(_fasttext_line, lines, truth)), encoding="utf-8")
        _train_fasttext(source, 1).save_model(str(path))


def _fasttext_line(line: str, row: Truth) -> str:
    # A text without labels is passed over in training; with one of its own it is a negative of all the others.
    numbers = np.flatnonzero(row).tolist() or [len(row)]
    return " ".join(f"__label__{number}" for number in numbers) + " " + line


def _train_fasttext(path: Path, n_words: int) -> Any:
    import fasttext

    for rate in FASTTEXT_RATES:
        try:
            return fasttext.train_supervised(str(path), lr=rate, wordNgrams=n_words, **FASTTEXT)
        except RuntimeError as error:
            if "NaN" not in str(error):
                raise
    raise SystemExit("fastText ended at NaN at every rate")


def vowpal_wabbit(rows: Any, truth: Truth) -> Score:
    """Train Vowpal Wabbit's `--multilabel_oaa`: a binary logistic learner for each category, all from one reading.

    By itself it predicts the labels whose score is above 0 and no scores. `--probabilities`, which its model does not
    remember, has it give one for each label, not normalised over them; their log-odds are its scores. It has one thread
    to learn and one to read.
    """
    from vowpalwabbit import Workspace

    n_categories, real = truth.shape[1], np.flatnonzero(truth.any(axis=0))
    with tempfile.TemporaryDirectory() as folder:
        train_vowpal_file(rows, truth, Path(folder, "model"))
        model = Workspace(f"--quiet -t -i {Path(folder, 'model')} --probabilities --loss_function logistic")

    def score(others: Any) -> Floats:
        probabilities = np.array(
            [model.predict(line)[-n_categories:] for line in _vowpal_lines(others)], dtype=np.float64
        )
        chances = np.clip(probabilities, 1e-12, 1 - 1e-7)  # float32 has no more digits below 1
        return all_columns(np.log(chances / (1 - chances))[:, real], real, truth)

    return score


def train_vowpal_file(rows: Any, truth: Truth, path: Path) -> None:
    """Train Vowpal Wabbit and write its model file."""
    from vowpalwabbit import Workspace

    n_categories = truth.shape[1]
    bits = min(max(int(np.ceil(np.log2(rows.shape[1] * n_categories))) + 1, 18), 26)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "train.txt")
        source.write_text("\n".join(_vowpal_lines(rows, truth)) + "\n", encoding="utf-8")
        files = f"-d {source} -k --cache_file {Path(folder, 'cache')} -f {path}"
        Workspace(f"--quiet --multilabel_oaa {n_categories} -b {bits} {VOWPAL_WABBIT} {files}").finish()


def _vowpal_lines(rows: Any, truth: Truth | None = None) -> list[str]:
    lines = []
    for i in range(rows.shape[0]):
        entries = slice(rows.indptr[i], rows.indptr[i + 1])
        pairs = zip(rows.indices[entries].tolist(), rows.data[entries].tolist(), strict=True)
        labels = "" if truth is None else ",".join(map(str, np.flatnonzero(truth[i]).tolist()))
        lines.append(f"{labels} | " + " ".join(f"{feature}:{strength:.6g}" for feature, strength in pairs))
    return lines


_LINEAR_SVC = one_vs_rest(LinearSVC(random_state=0))
PEERS: dict[str, Peer] = {
    "linearsvc": Peer("LinearSVC", tfidf, _LINEAR_SVC),
    "linearsvc-ours": Peer("LinearSVC, our features", make_our_features, _LINEAR_SVC),
    "sgd": Peer("SGD, hinge", tfidf, one_vs_rest(SGDClassifier(random_state=0))),
    "logistic": Peer("logistic regression", tfidf, one_vs_rest(LogisticRegression(C=LOGISTIC_C, solver="liblinear"))),
    "fasttext": Peer("fastText", words, fasttext_ova(1)),
    "fasttext-pairs": Peer("fastText, word pairs", words, fasttext_ova(2)),
    "vw": Peer("Vowpal Wabbit", tfidf, vowpal_wabbit),
}


# -- a peer on a collection --------------------------------------------------------------------------------------------


class Collection(NamedTuple):
    """Documents to train on and documents to test with; the categories of the training documents, and who has them."""

    name: str
    train: list[Document]
    test: list[Document]
    categories: list[str]
    truth: Truth


class Outcome(NamedTuple):
    """The scores and decisions of a system on the test documents, and the seconds of each stage."""

    scores: Floats
    accepted: Truth
    seconds: dict[str, float]


def time_stage(seconds: dict[str, float], stage: str, run: Callable[[], Result]) -> Result:
    """Return what `run` does; the seconds that it takes are added to those of a stage."""
    start = time.perf_counter()
    result = run()
    seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - start
    return result


def peer_outcome(peer: Peer, collection: Collection) -> Outcome:
    """Run a peer: read, hold out, tune, fit, decide."""
    seconds: dict[str, float] = {}
    if peer.read is make_our_features:
        choose_preset_settings("default", collection.train, collection.truth)  # not to be counted
    rows, read = time_stage(seconds, "read", lambda: peer.read(collection.train, collection.truth))
    decisions = time_stage(seconds, "tune", lambda: tune(peer.train, rows, collection.truth))
    score = time_stage(seconds, "fit", lambda: peer.train(rows, collection.truth))
    seconds["with thresholds"] = seconds["read"] + seconds.pop("tune") + seconds["fit"]
    scores = time_stage(seconds, "predict", lambda: _scores(score, read(collection.test)))
    return Outcome(decisions.reported_scores(scores), decisions.accept(scores), seconds)


def tune(train: Train, rows: Any, truth: Truth) -> Decisions:
    """Return thresholds and policy, tuned like those of the presets on held-out scores."""
    held_out, fold_of = np.empty(truth.shape, dtype=np.float32), assign_folds(truth, N_FOLDS)
    for fold in range(N_FOLDS):
        inside, outside = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        held_out[outside] = _scores(train(rows[inside], truth[inside]), rows[outside])
    policy = choose_policy(np.count_nonzero(truth, axis=1))
    return tune_decisions(held_out, truth, "f1", THRESHOLD, policy)


def _scores(score: Score, rows: Any) -> Any:
    return score(rows).astype(np.float32)  # as the learners' own
