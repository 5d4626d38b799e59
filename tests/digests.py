"""Teaches models of every kind and prints a digest of each; `contracts/test_determinism.py` has it do so in many ways.

    python tests/digests.py here|cluster|journal THREADS RECORDS

prints for each model its name, its digest and one of what it tells of texts; the names are the same wherever it was
taught, and a journal's model is there twice, as it lives and as it is replayed.
"""

import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from faults.ledger import content_of, copied
from support.corpora import Corpus, made_up
from thresher import Categorizer
from thresher.datasets.document import Document
from thresher.evaluation import evaluate
from thresher.journal.journaled_model import JournaledModel

MODELS: dict[str, dict[str, Any]] = {
    "paper": {"preset": "paper", "min_count": 1},
    "default": {"preset": "default", "min_count": 1, "max_passes": 1},
    "views": {"preset": "fast", "analyser": "words+ngrams:2+chars:4-4+title", "max_passes": 1, "bias": 0.5},
    "fast": {"preset": "fast", "thresholds": "macro-f1"},
    "sparse": {"preset": "fast", "sparse": True, "thresholds": "precision:0.8"},
    "averaged": {"learner": "balanced-winnow", "preset": "fast", "strength": "tfidf", "folds": 2, "max_passes": 4},
    "perceptron": {"preset": "paper", "learner": "perceptron", "average": True, "shuffle": True, "strength": "sqrt"},
    "positive": {"preset": "paper", "learner": "positive-winnow", "normalize": True, "analyser": "words+ngrams:2"},
}
FOREIGN = ("Öl", "cafe\u0301", "ﬁnance", "İzmir", "小麦 油")
UNSEEN, TRUTH = made_up(40, seed=1)
DOCUMENTS = [Document(text, tuple(names)) for text, names in zip(UNSEEN, TRUTH, strict=True)]


def corpus() -> Corpus:
    """Return texts with titles and foreign words, and with so much noise in their categories that no learner ends."""
    made = made_up(110)
    texts = [f"{text.partition(' ')[0]} news\n{text[:90]} {FOREIGN[i % 5]}" for i, text in enumerate(made.texts)]
    return Corpus(texts, [[*names, "odd"] if i % 7 == 0 else names for i, names in enumerate(made.categories)])


def taught_here(n_threads: int) -> Iterator[tuple[str, Categorizer]]:
    """Yield a model of each kind."""
    for name, settings in MODELS.items():
        yield name, Categorizer(**settings, n_threads=n_threads).fit(*corpus())


def taught_by_cluster(n_workers: int) -> Iterator[tuple[str, Categorizer]]:
    """Yield the same models, taught by processes that share the categories."""
    from thresher.cluster.clients import Cluster
    from thresher.cluster.training import fit

    pairs = list(zip(*corpus(), strict=True))
    with Cluster("local", n_workers=n_workers) as cluster:
        for name, settings in MODELS.items():
            yield name, fit(Categorizer(**settings), [pairs[:33], pairs[33:80], pairs[80:]], cluster)


def corrected(n_threads: int, records: int) -> Iterator[tuple[str, Categorizer]]:
    """Yield a model that was corrected so often, as it lives and as its journal gives it from the first record."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "desk.thresher"
        Categorizer(preset="fast", min_count=1, n_threads=n_threads).fit(*made_up(60, single=True)).save(path)
        with JournaledModel(path) as desk:
            correct_often(desk, records)
            yield "journal", desk.model
        with copied(path, from_the_first=True) as copy, JournaledModel(copy) as desk:
            yield "journal", desk.model


def correct_often(desk: JournaledModel, records: int) -> None:
    """Correct, change the categories, and take something back."""
    for number in range(records):
        if number % 50 == 20:
            desk.change_categories(f"new {number}", "new", [f"newer {number}"])
        elif number % 50 == 21:
            desk.correct(f"first {number}", f"newer words {number}", accept=[f"newer {number - 1}"])
        elif number % 50 == 40:
            desk.change_categories(f"merge {number}", "merge", [f"newer {number - 20}", "ships"], into="ships")
        elif number % 50 == 41:
            desk.change_categories(f"threshold {number}", "threshold", ["trade"], threshold=0.1 + number / 10**5)
        elif number % (records // 3) == 1:
            desk.undo(f"undo {number}", [desk.position])
        else:
            desk.correct(f"a.{number}", **content_of(f"a.{number}"))


def digest_of_scores(model: Categorizer) -> str:
    """Return a fingerprint of all that is told of texts."""
    found = sha256(repr(model.predict(UNSEEN)).encode())
    for told in (model.decision_function(UNSEEN), model.predict_proba(UNSEEN), model.predict_proba(UNSEEN, paper=True)):
        found.update(np.ascontiguousarray(told).tobytes())
    found.update(repr([model.explain(text) for text in UNSEEN[:5]]).encode())
    found.update(repr(evaluate(model, DOCUMENTS).summary()).encode())
    return found.hexdigest()


def main(place: str, threads: int, records: int) -> None:
    """Print the digests."""
    ways = {
        "here": lambda: taught_here(threads),
        "cluster": lambda: taught_by_cluster(threads),
        "journal": lambda: corrected(threads, records),
    }
    for name, model in ways[place]():
        print(name, model.digest(), digest_of_scores(model), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
