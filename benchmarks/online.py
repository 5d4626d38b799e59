"""Predict, compare and learn documents one by one, next to scikit-learn's and river's learners.

    THRESHER_DATA=FOLDER .venv/bin/python benchmarks/online.py [--documents N] [--warm N] [--streams NAME ...]
        [--systems PART ...] [--markdown | --json]

FOLDER holds reuters21578.tar.xz (the training documents of ModApte, 90 categories, in time order) and debtags.tar.xz
(in the order of its file); the sample corpus is always available. "warm": all systems first learn the documents
before the stretch, each in its usual way: `fit` in scikit-learn and here, one pass in river. "cold": the stretch is the
beginning, and nothing is known before. Of a stream too short for both parts, the first half is learned beforehand.

The peers are binary learners, one a category. Two things favour them. A category that turns up late starts as
a learner that has seen every earlier document as a negative, as if it had been announced. Where every document learned
beforehand has a category, the best one is accepted where none is, as our model does. scikit-learn's vectors have log
counts, unit length and idf from all documents so far, or none where it says "hashed". The peers' settings were the best
of a few tried on these very streams; their thresholds are not tuned, as ours are in `fit`. Algebra runs on one thread.
"""

import argparse
import copy
import io
import json
import os
import sys
import tarfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Perceptron, SGDClassifier
from threadpoolctl import threadpool_limits

from thresher import Categorizer
from thresher.datasets.document import Document
from thresher.datasets.reader import read_documents
from thresher.metrics import f1_of
from thresher.model.policies import choose_policy

STREAMS = {"reuters": "reuters21578:modapte90:train", "debtags": "debtags.tar.xz", "sample": "sample:train"}
INTERCEPT_RATE = 0.1  # of river's logistic regression: with the rate of the weights, the intercept drowns them
N_HASHED = 2**16  # columns of a peer's vectors: few enough for a dense row a category, and for hardly any collisions
ALWAYS = float("inf")
Found = set[str]


class Thresher:
    """Our model: it learns each document's complete set of categories or, with `only_corrections`, just its errors."""

    def __init__(self, only_corrections: bool = False, **settings: Any) -> None:
        self.only_corrections = only_corrections
        self.model = Categorizer(**settings)

    def fit(self, documents: Sequence[Document]) -> None:
        """Learn documents beforehand."""
        self.model.fit([document.content for document in documents], [document.categories for document in documents])

    def predict(self, document: Document) -> Found:
        """Return the categories of a document; none before anything is learned."""
        return set(self.model.predict([document.content])[0]) if self.model.categories else set()

    def learn(self, document: Document, predicted: Found) -> None:
        """Learn a document, or its errors; a document without words or known categories is left out."""
        true = set(document.categories)
        if not (true or self.model.categories) or not document.text.strip():
            return
        if not self.only_corrections:
            self.model.partial_fit([document.content], [document.categories])
        elif true != predicted:
            self.model.learn(document.content, accept=sorted(true - predicted), reject=sorted(predicted - true))


class Peer:
    """One binary model a category, over vectors that all share.

    What `vectors` makes turns texts into vectors (`of`) and takes notice of texts (`notice`). `binary` makes a model
    (`make`), teaches it many vectors or one (`fit`, `learn`), and scores one, above 0 where accepted (`score`).
    """

    def __init__(self, vectors: Callable[[], Any], binary: Any) -> None:
        self.vectors, self.binary = vectors(), binary
        self.models: dict[str, Any] = {}
        self.blank = binary.make()  # has seen every document as a negative: what a late category starts from
        self.policy = "above"
        self._now: tuple[str, Any] = ("", None)

    def fit(self, documents: Sequence[Document]) -> None:
        """Learn documents beforehand, and whether each has a category at least."""
        texts = [plain_text(document) for document in documents]
        self.vectors.notice(texts)
        vectors = self.vectors.of(texts)
        self.policy = choose_policy([len(document.categories) for document in documents])
        for name in sorted({name for document in documents for name in document.categories}):
            self.models[name] = self.binary.make()
            self.binary.fit(self.models[name], vectors, [name in document.categories for document in documents])
        self.binary.fit(self.blank, vectors, [False] * len(documents))

    def predict(self, document: Document) -> Found:
        """Return the categories of a document."""
        vector = self._vector(document)
        scores = {name: self.binary.score(model, vector) for name, model in self.models.items()}
        above = {name for name, score in scores.items() if score > 0}
        if self.policy == "exactly-one" or (self.policy == "at-least-one" and not above):
            return {max(scores, key=scores.__getitem__)}
        return above

    def learn(self, document: Document, predicted: Found) -> None:
        """Let every category learn a document, as a positive or as a negative."""
        vector = self._vector(document)
        for name in sorted(set(document.categories) - self.models.keys()):
            self.models[name] = copy.deepcopy(self.blank)
        for name, model in self.models.items():
            self.binary.learn(model, vector, name in document.categories)
        self.binary.learn(self.blank, vector, False)
        self.vectors.notice([plain_text(document)])

    def _vector(self, document: Document) -> Any:
        """Return a document's vector; it is the same when a document is learned as when it was predicted."""
        text = plain_text(document)
        if self._now[0] != text:
            self._now = text, self.vectors.of([text])
        return self._now[1]


def plain_text(document: Document) -> str:
    """Return what our model reads of a document, as one string."""
    content = document.content
    return content if isinstance(content, str) else "\n".join(content.values())


# -- scikit-learn and river --------------------------------------------------------------------------------------------


class HashedTfidf:
    """Hashed words as TfidfVectorizer(sublinear_tf=True) has them, with idf from all documents so far, or without."""

    def __init__(self, idf: bool = True) -> None:
        self.idf = idf
        self.vectorizer = HashingVectorizer(n_features=N_HASHED, alternate_sign=False, norm=None)
        self.n_documents, self.counts = 0, np.zeros(N_HASHED)

    def of(self, texts: Sequence[str]) -> Any:
        """Return rows of unit length."""
        rows = self.vectorizer.transform(texts)
        idf = 1 + np.log((1 + self.n_documents) / (1 + self.counts))
        rows.data = (1 + np.log(rows.data)) * idf[rows.indices]
        lengths = np.sqrt(np.maximum(rows.multiply(rows).sum(axis=1), 1e-12))
        return sparse.csr_matrix(rows.multiply(1 / np.asarray(lengths).reshape(-1, 1)))

    def notice(self, texts: Sequence[str]) -> None:
        """Count in how many documents each word occurs."""
        if self.idf:
            self.n_documents += len(texts)
            self.counts += np.bincount(self.vectorizer.transform(texts).indices, minlength=N_HASHED)


class ScikitLearn:
    """A linear classifier of scikit-learn as the model of a category.

    `changes_below` is the margin from which on an example changes nothing: that spares thousands of idle calls.
    """

    def __init__(self, make: Callable[[], BaseEstimator], changes_below: float = ALWAYS) -> None:
        self.make, self.changes_below = make, changes_below

    def fit(self, model: Any, vectors: Any, truth: list[bool]) -> None:
        """Fit as usual or, where all rows are of one class, in one pass."""
        if len(set(truth)) == 2:
            model.fit(vectors, truth)
        else:
            model.partial_fit(vectors, truth, classes=[False, True])

    def learn(self, model: Any, vector: Any, truth: bool) -> None:
        """Learn one row."""
        known = hasattr(model, "coef_")
        if not known or (1 if truth else -1) * self.score(model, vector) <= self.changes_below:
            model.partial_fit(vector, [truth], **({} if known else {"classes": [False, True]}))

    def score(self, model: Any, vector: Any) -> float:
        """Return the decision function without its checks, which cost more than the sum."""
        return float(model.coef_[0, vector.indices] @ vector.data + model.intercept_[0])


SCIKIT_LEARN = {
    "SGDClassifier, hinge": ScikitLearn(partial(SGDClassifier, loss="hinge", alpha=1e-5, random_state=0)),
    "SGDClassifier, log_loss": ScikitLearn(partial(SGDClassifier, loss="log_loss", alpha=1e-5, random_state=0)),
    "Perceptron": ScikitLearn(partial(Perceptron, random_state=0), 0.0),
    # What PassiveAggressiveClassifier was before it was deprecated.
    "passive-aggressive": ScikitLearn(
        partial(SGDClassifier, loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, random_state=0), 1.0
    ),
}


class River:
    """A transformer of river for texts, and a binary linear model of it for each category."""

    def __init__(self, transformer: Any, make: Callable[[], Any]) -> None:
        self.transformer, self.make = transformer, make

    def of(self, texts: Sequence[str]) -> Any:
        """Return one dictionary or, of several texts, a list of them."""
        vectors = [self.transformer.transform_one(text) for text in texts]
        return vectors[0] if len(vectors) == 1 else vectors

    def notice(self, texts: Sequence[str]) -> None:
        """Take notice of texts one by one."""
        for text in texts:
            self.transformer.learn_one(text)

    def fit(self, model: Any, vectors: Any, truth: list[bool]) -> None:
        """Learn one by one: river knows nothing else."""
        for vector, true in zip(vectors, truth, strict=True):
            model.learn_one(vector, true)

    def learn(self, model: Any, vector: Any, truth: bool) -> None:
        """Learn one dictionary."""
        model.learn_one(vector, truth)

    def score(self, model: Any, vector: Any) -> float:
        """Return the probability of the category above one half."""
        return float(model.predict_proba_one(vector).get(True, 0.0)) - 0.5


def river_systems() -> dict[str, Callable[[], "System"]]:
    """Return river's linear models over its tf-idf or counts, none where it is not installed."""
    try:
        from river import feature_extraction, linear_model, optim
    except ImportError:
        return {}

    def peer(vectors: Callable[[], Any], make: Callable[[], Any]) -> Peer:
        return Peer(lambda: River(vectors(), make), River(vectors(), make))

    logistic = partial(linear_model.LogisticRegression, intercept_lr=INTERCEPT_RATE)
    tfidf, counts = feature_extraction.TFIDF, feature_extraction.BagOfWords
    return {
        "river LogisticRegression, SGD 10, tf-idf": partial(peer, tfidf, lambda: logistic(optim.SGD(10.0))),
        "river LogisticRegression, SGD 30, tf-idf": partial(peer, tfidf, lambda: logistic(optim.SGD(30.0))),
        "river LogisticRegression, AdaGrad, tf-idf": partial(peer, tfidf, lambda: logistic(optim.AdaGrad(1.0))),
        "river PAClassifier, tf-idf": partial(peer, tfidf, linear_model.PAClassifier),
        "river PAClassifier, counts": partial(peer, counts, linear_model.PAClassifier),
        "river Perceptron, tf-idf": partial(peer, tfidf, linear_model.Perceptron),
        "river Perceptron, counts": partial(peer, counts, linear_model.Perceptron),
    }


System = Thresher | Peer


def systems() -> dict[str, Callable[[], System]]:
    """Return all systems by name, as functions that make a new one."""
    known: dict[str, Callable[[], System]] = {
        "thresher, default": Thresher,
        "thresher, default, corrections only": partial(Thresher, only_corrections=True),
    }
    for name, binary in SCIKIT_LEARN.items():
        known[f"scikit-learn {name}, tf-idf"] = partial(Peer, HashedTfidf, binary)
    known["scikit-learn Perceptron, hashed"] = partial(Peer, partial(HashedTfidf, False), SCIKIT_LEARN["Perceptron"])
    return known | river_systems()


# -- the run -----------------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """The errors of a system on a stretch, and its speed.

    `error` is 1 - micro F1; `documents_wrong` the fraction of documents whose set is not exactly right; `pairs_wrong`
    counts what was missed or wrongly accepted; `late_error` is the error in the second half of the stretch.
    """

    system: str
    error: float
    documents_wrong: float
    pairs_wrong: int
    missed: int
    wrongly_accepted: int
    late_error: float
    seconds_a_document: float


def run(name: str, system: System, before: Sequence[Document], stretch: Sequence[Document]) -> Outcome:
    """Let a system learn the documents before a stretch, then predict and learn the stretch one by one."""
    if before:
        system.fit(before)
    start, counts = time.perf_counter(), []
    for document in stretch:
        predicted, true = system.predict(document), set(document.categories)
        counts.append((len(true & predicted), len(predicted - true), len(true - predicted)))
        system.learn(document, predicted)
    result = outcome(name, np.array(counts), (time.perf_counter() - start) / len(stretch))
    print(*cells(result), sep="  ", file=sys.stderr, flush=True)
    return result


def outcome(name: str, counts: Any, seconds_a_document: float) -> Outcome:
    """Return the measures of counts (documents, 3): right, wrongly accepted and missed."""
    sums, late = counts.sum(axis=0), counts[len(counts) // 2 :].sum(axis=0)
    _, wrong, missed = sums.tolist()
    documents_wrong = float(counts[:, 1:].any(axis=1).mean())
    error, late_error = (1 - float(f1_of(*part)) for part in (sums, late))
    return Outcome(name, error, documents_wrong, wrong + missed, missed, wrong, late_error, seconds_a_document)


def parts(documents: Sequence[Document], n_warm: int, n_documents: int) -> dict[str, tuple[Any, Any]]:
    """Return what is learned beforehand and the stretch, of both settings."""
    if len(documents) < n_warm + n_documents:
        n_warm = min(n_warm, len(documents) // 2)
    return {
        "warm": (documents[:n_warm], documents[n_warm : n_warm + n_documents]),
        "cold": (documents[:0], documents[:n_documents]),
    }


def read_stream(name: str, most: int) -> list[Document]:
    """Return the first documents of a stream."""
    source = STREAMS[name]
    if not source.endswith(".tar.xz"):
        return list(islice(read_documents(source), most))
    with tarfile.open(Path(os.environ["THRESHER_DATA"]) / source) as archive:
        member = archive.extractfile("train.jsonl")
        lines = b"".join(islice(member or io.BytesIO(), most))
    return list(read_documents(io.BytesIO(lines), format="jsonl"))


def compare(
    documents: Sequence[Document], chosen: Mapping[str, Callable[[], System]], n_warm: int, n_documents: int
) -> dict[str, list[Outcome]]:
    """Return every system's outcome in both settings, the least error first."""
    comparison = {}
    for setting, (before, stretch) in parts(documents, n_warm, n_documents).items():
        outcomes = [run(name, make(), before, stretch) for name, make in chosen.items()]
        comparison[setting] = sorted(outcomes, key=lambda one: (one.error, one.system))
    return comparison


# -- showing -----------------------------------------------------------------------------------------------------------

HEADS = ["system", "error", "documents wrong", "pairs wrong", "missed", "wrongly accepted", "late error", "ms each"]


def cells(one: Outcome) -> list[str]:
    """Return an outcome as a row of a table: rates in %."""
    rates = (f"{100 * rate:.1f}" for rate in (one.error, one.documents_wrong))
    numbers = (str(number) for number in (one.pairs_wrong, one.missed, one.wrongly_accepted))
    return [one.system, *rates, *numbers, f"{100 * one.late_error:.1f}", f"{1000 * one.seconds_a_document:.1f}"]


def table(outcomes: Iterable[Outcome], markdown: bool) -> str:
    """Return a table of outcomes, plain or in Markdown."""
    rows = [cells(one) for one in outcomes]
    if markdown:
        return "\n".join("| " + " | ".join(row) + " |" for row in (HEADS, ["---"] + ["---:"] * (len(HEADS) - 1), *rows))
    return "\n".join(f"{row[0]:60}" + "".join(f"{cell:>17}" for cell in row[1:]) for row in (HEADS, *rows))


def title(stream: str, setting: str, documents: Sequence[Document], args: argparse.Namespace) -> str:
    """Return the title of a table."""
    before, stretch = parts(documents, args.warm, args.documents)[setting]
    known, met = ({name for document in part for name in document.categories} for part in (before, stretch))
    counts = f"{len(before)} documents before, {len(stretch)} one by one; {len(met - known)} new categories"
    return f"{stream}, {setting}: {counts}"


def options() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description="test, then train, one by one")
    parser.add_argument("--documents", type=int, default=1000, help="documents one by one (1000)")
    parser.add_argument("--warm", type=int, default=2000, help="documents learned before, when warm (2000)")
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=["sample"], help="sample by default")
    parser.add_argument("--systems", nargs="+", default=[""], help="only systems whose name holds one of these")
    parser.add_argument("--markdown", action="store_true", help="tables in Markdown")
    parser.add_argument("--json", action="store_true", help="all figures as JSON")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all systems on all streams, and print a table of each setting."""
    args = options().parse_args(arguments)
    chosen = {name: make for name, make in systems().items() if any(part in name for part in args.systems)}
    everything: dict[str, Any] = {}
    with threadpool_limits(1, "blas"):
        for stream in args.streams:
            documents = read_stream(stream, args.warm + args.documents)
            comparison = compare(documents, chosen, args.warm, args.documents)
            everything[stream] = {
                setting: [one._asdict() for one in outcomes] for setting, outcomes in comparison.items()
            }
            for setting, outcomes in comparison.items() if not args.json else ():
                print(f"{title(stream, setting, documents, args)}\n\n{table(outcomes, args.markdown)}\n", flush=True)
    if args.json:
        print(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
