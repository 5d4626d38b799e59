"""Compare speed with other libraries: from raw text to scores, prediction, and learning one by one, in turns.

    THRESHER_DATA=FOLDER .venv/bin/python benchmarks/speed.py [--rounds N] [--parts NAME,...] [--markdown FILE]

FOLDER holds reuters21578.tar.xz; the documents are ModApte's with the 90 categories of both parts (9,603 and 3,299).
Compiling and importing come before, in a round that does not count. A peer's scores are cut at its own threshold.
"""

import argparse
import ctypes
import gc
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from accuracy import collection_of, read_collection, truth_of
from interleaving import time_interleaved
from pages import write_between
from peers import PEERS, Collection, tune
from synthetic_documents import draw, reuters
from thresher import Categorizer
from thresher.datasets.document import Document
from thresher.datasets.reader import read_documents
from thresher.learners.dense_weights import DenseWeights
from thresher.metrics import Counts
from thresher.model.selection import PAIRS_AND_LETTERS, describe_settings
from thresher.text.tokens import tokenize
from thresher.text.vectorizer import TextFeatures

REPEATS = 4  # of the texts to predict, so that the start of threads does not count
SLOW = ("fasttext", "vw")  # timed once
TRAINED = ("sgd", "linearsvc", *SLOW)
STREAMED, BY_RIVER = 3000, 150  # documents of the stream
PARTS = ("features", "training", "default", "prediction", "stream", "memory")
LONG_TEXTS, LONG = 7200, 190  # documents, five sixths of them to train, and their words


class Row(NamedTuple):
    """A row of a table: the name of a system, its seconds in each round, the amount of work, and a remark."""

    name: str
    seconds: list[float]
    amount: float
    remark: str = ""


class Table(NamedTuple):
    """Rows to compare with the peer of that name."""

    title: str
    unit: str
    peer: str
    rows: list[Row]

    def lines(self) -> list[str]:
        """Return the table in Markdown: ratios first."""
        rates = {row.name: row.amount / median(row.seconds) for row in self.rows}
        lines = [
            f"**{self.title}**\n",
            f"|  | × {self.peer} | {self.unit} a second | slowest | fastest | seconds |  |",
            "|---|---:|---:|---:|---:|---:|---|",
        ]
        for row in self.rows:
            rate, seconds = rates[row.name], median(row.seconds)
            spread = f"{row.amount / max(row.seconds):,.0f} | {row.amount / min(row.seconds):,.0f}"
            cells = f"{rate / rates[self.peer]:.1f} | {rate:,.0f} | {spread} | {seconds:.3g} | {row.remark}"
            lines.append(f"| {row.name} | {cells} |")
        return [*lines, ""]


# -- text to counts ----------------------------------------------------------------------------------------------------


def features(data: Collection, rounds: int) -> Table:
    """Tokenise and count the training texts."""
    from sklearn.feature_extraction.text import CountVectorizer

    texts = [document.text for document in data.train]
    parts, amount = [texts[i : i + 500] for i in range(0, len(texts), 500)], sum(map(len, texts)) / 1e6
    peer = "scikit-learn CountVectorizer"
    seconds = time_interleaved(
        {
            peer: lambda: CountVectorizer().fit_transform(texts),
            "thresher, tokens alone, one thread": lambda: sum(len(tokenize(batch).stops) for batch in parts),
            "thresher, counts, one thread": lambda: TextFeatures(n_threads=1).fit(texts),
            "thresher, counts": lambda: TextFeatures().fit(texts),
        },
        rounds,
    )
    return Table("Tokenising and counting", "MB", peer, [Row(name, times, amount) for name, times in seconds.items()])


# -- raw text in, scores out -------------------------------------------------------------------------------------------


def training(data: Collection, rounds: int) -> Table:
    """Train on the training texts and score the test texts; fastText and Vowpal Wabbit once."""
    truth = truth_of(data.test, data.categories)
    systems: dict[str, Callable[[], Any]] = {
        "thresher paper": lambda: ours("paper", data),
        "thresher fast": lambda: ours("fast", data),
        "thresher default": lambda: ours("default", data),
    }
    systems |= {PEERS[name].name: partial(theirs, name, data) for name in TRAINED}
    counts = {name: Counts(len(data.categories)).update(truth, accepted()) for name, accepted in systems.items()}
    figures = {name: counted.micro().f1 for name, counted in counts.items()}
    slow = {PEERS[name].name: systems.pop(PEERS[name].name) for name in SLOW}
    seconds = time_interleaved(systems, rounds) | time_interleaved(slow, 1, warm_up=False)
    amount = len(data.train) + len(data.test)
    rows = [Row(name, times, amount, f"micro F1 {100 * figures[name]:.1f}") for name, times in seconds.items()]
    near = [row for row in rows if figures[row.name] >= figures["thresher paper"] - 0.02 and "thresher" not in row.name]
    peer = min(near, key=lambda row: median(row.seconds)).name
    return Table("Raw text to a trained model to the scores of the test texts", "texts", peer, rows)


def ours(preset: str, data: Collection) -> Any:
    """Train a preset, and return the categories that it accepts."""
    model = Categorizer(preset=preset)
    model.fit((document.text for document in data.train), [document.categories for document in data.train])
    _, accepted = model.decide(document.text for document in data.test)
    return accepted[:, [model.state.number_of(name) for name in data.categories]]


def theirs(name: str, data: Collection) -> Any:
    """Train a peer, and return the categories that it accepts by its own threshold."""
    rows, read = PEERS[name].read(data.train, data.truth)
    return PEERS[name].train(rows, data.truth)(read(data.test)) > 0


# -- the default, from raw text to decisions ---------------------------------------------------------------------------


def default(_: Collection, rounds: int) -> list[str]:
    """Time the default on several collections next to what users would otherwise write, from raw text to decisions.

    SGD has its usual settings and thresholds; LinearSVC's thresholds are tuned by five-fold cross-validation, once.
    """
    lines = [
        "**The default preset, from raw text to decisions on the test documents, in seconds**\n",
        "| collection | documents to train | `default` | tf-idf + SGD | × | tf-idf + LinearSVC, tuned | × | chosen |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for data in (*map(read_whole, ("modapte90", "aptemod", "debtags")), long_texts()):
        chosen: list[str] = []
        gc.collect()
        gc.freeze()
        systems = {"default": partial(decide_by_default, data, chosen), "sgd": partial(theirs, "sgd", data)}
        seconds = {name: median(times) for name, times in time_interleaved(systems, rounds).items()}
        seconds["svm"] = time_interleaved({"svm": partial(tuned, "linearsvc", data)}, 1, warm_up=False)["svm"][0]
        own, sgd, svm = (seconds[name] for name in ("default", "sgd", "svm"))
        size = f"{len(data.train):,}"
        cells = f"{own:.2f} | {sgd:.2f} | {sgd / own:.2f} | {svm:.2f} | {svm / own:.1f} | {chosen[-1]}"
        lines.append(f"| {data.name} | {size} | {cells} |")
        print(lines[-1], flush=True)
    return [*lines, ""]


def read_whole(name: str) -> Collection:
    """Return a collection with its test documents."""
    return read_collection(name, argparse.Namespace(limit=None, one_text=False, validation=False))


def long_texts() -> Collection:
    """Return documents of about 190 words in 23 categories, drawn from Reuters' statistics."""
    drawn = draw(reuters(), 4 * LONG_TEXTS, 23)
    texts = [(" ".join(text for text, _ in four), four[0][1]) for four in zip(*[drawn] * 4, strict=True)]
    texts = [(" ".join(text.split()[:LONG]), labels) for text, labels in texts]
    documents = [Document(text, tuple(labels)) for text, labels in texts]
    share = 5 * len(documents) // 6
    return collection_of("long texts, drawn", documents[:share], documents[share:])


def decide_by_default(data: Collection, chosen: list[str]) -> None:
    """Train the default preset and decide the test documents; append what the trials chose."""
    model = Categorizer()
    model.fit([document.content for document in data.train], [document.categories for document in data.train])
    model.decide([document.content for document in data.test])
    chosen.append(describe_settings(model.chosen) or "words")


def tuned(name: str, data: Collection) -> Any:
    """Train a peer with thresholds tuned by cross-validation, and decide the test documents."""
    rows, read = PEERS[name].read(data.train, data.truth)
    decisions = tune(PEERS[name].train, rows, data.truth)
    return decisions.accept(PEERS[name].train(rows, data.truth)(read(data.test)).astype(np.float32))


# -- prediction --------------------------------------------------------------------------------------------------------


def prediction(data: Collection, rounds: int) -> Table:
    """Predict the test texts, each system on one thread."""
    texts = [document.text for document in data.test] * REPEATS
    labels = [document.categories for document in data.train]
    models = {
        preset: Categorizer(preset=preset, n_threads=1).fit([document.text for document in data.train], labels)
        for preset in ("paper", "fast", "default")
    }
    letters = Categorizer(analyser=PAIRS_AND_LETTERS, n_threads=1)
    models["letters"] = letters.fit([document.text for document in data.train], labels)
    fast, lines = train_fasttext(data), [text.replace("\n", " ") for text in texts]
    vectorizer, classifier = train_sgd(data)
    peer = "fastText, labels"
    seconds = time_interleaved(
        {
            peer: lambda: fast.predict(lines, k=-1, threshold=0.5),
            "fastText, all scores": lambda: fast.predict(lines, k=len(data.categories)),
            "scikit-learn, scores": lambda: classifier.decision_function(vectorizer.transform(texts)),
            "scikit-learn, labels": lambda: classifier.predict(vectorizer.transform(texts)),
            "thresher paper, labels": lambda: models["paper"].predict(texts),
            "thresher paper, all scores": lambda: models["paper"].decision_function(texts),
            "thresher fast, labels": lambda: models["fast"].predict(texts),
            "thresher fast, all scores": lambda: models["fast"].decision_function(texts),
            "thresher default, labels": lambda: models["default"].predict(texts),
            "thresher default with pairs and letters, labels": lambda: models["letters"].predict(texts),
        },
        rounds,
    )
    rows = [Row(name, times, len(texts)) for name, times in seconds.items()]
    return Table("Prediction from raw text in batches, one thread each", "texts", peer, rows)


def train_fasttext(data: Collection) -> Any:
    """Return fastText's model with its usual 5 passes: only its speed matters here."""
    import tempfile

    import fasttext

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.txt")
        marks = (" ".join(f"__label__{name}" for name in document.categories) for document in data.train)
        rows = zip(marks, data.train, strict=True)
        path.write_text("\n".join(f"{mark} {document.text.replace(chr(10), ' ')}" for mark, document in rows if mark))
        return fasttext.train_supervised(str(path), loss="ova", lr=0.1, epoch=5, thread=12, verbose=0)


def train_sgd(data: Collection) -> tuple[Any, Any]:
    """Return a vectoriser and one SGD classifier a category."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.multiclass import OneVsRestClassifier

    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    rows = vectorizer.fit_transform([document.text for document in data.train])
    return vectorizer, OneVsRestClassifier(SGDClassifier(random_state=0)).fit(rows, data.truth.astype(np.int64))


# -- one document at a time --------------------------------------------------------------------------------------------


def stream(data: Collection, rounds: int) -> Table:
    """Predict and then learn documents as they come, after the training documents before them."""
    before, later = data.train[:-STREAMED], data.train[-STREAMED:]
    pairs = [(document.text, document.categories) for document in later]
    timed: dict[str, list[float]] = {}
    amounts = {"river, a logistic regression a category": BY_RIVER}
    learns: dict[str, list[float]] = {preset: [] for preset in ("paper", "default")}
    for _ in range(rounds + 1):
        for preset in learns:
            texts, labels = [document.text for document in before], [document.categories for document in before]
            one, other = (Categorizer(preset=preset).fit(texts, labels) for _ in range(2))
            name = f"thresher {preset}, `stream`"
            timed.setdefault(name, []).append(seconds_of(partial(list, one.stream(pairs))))
            name = f"thresher {preset}, `predict` and `partial_fit`"
            few = pairs[:1000]
            amounts[name] = len(few)
            timed.setdefault(name, []).append(seconds_of(partial(one_by_one, other, few)))
            learns[preset] += learn_times(other, pairs[1000:2000])
        peer = "river, a logistic regression a category"
        river = River(data.categories, before[:300])
        timed.setdefault(peer, []).append(seconds_of(partial(river.stream, later[:BY_RIVER])))
    rows = [Row(name, times[1:], amounts.get(name, len(pairs))) for name, times in timed.items()]
    remarks = (
        f"{preset} {1e6 * median(times):.0f} µs (nine of ten below {1e6 * np.quantile(times, 0.9):.0f})"
        for preset, times in learns.items()
    )
    title = "A stream: predict, then learn, 90 categories. A single `learn` at the median: "
    return Table(title + ", ".join(remarks), "texts", peer, rows)


def one_by_one(model: Categorizer, pairs: list[tuple[str, Any]]) -> None:
    """Predict and learn by a call each."""
    for text, categories in pairs:
        model.predict([text])
        model.partial_fit([text], [categories])


def learn_times(model: Categorizer, pairs: list[tuple[str, Any]]) -> list[float]:
    """Return how long each correction took that accepts a document's categories."""
    times = []
    for text, names in pairs:
        if names:
            start = time.perf_counter()
            model.learn(text, names)
            times.append(time.perf_counter() - start)
    return times


def seconds_of(run: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


class River:
    """river's logistic regression for each category, over counts of words of unit length."""

    def __init__(self, categories: list[str], first: list[Document]) -> None:
        from river import linear_model

        self.models = {name: linear_model.LogisticRegression() for name in categories}
        self.stream(first)

    def stream(self, documents: list[Document]) -> None:
        """Predict and learn documents."""
        for document in documents:
            words = Counter(document.text.lower().split())
            length = sum(count * count for count in words.values()) ** 0.5
            vector: dict[Any, Any] = {word: count / length for word, count in words.items()}
            for name, model in self.models.items():
                model.predict_one(vector)
                model.learn_one(vector, name in document.categories)


# -- memory ------------------------------------------------------------------------------------------------------------


def memory(data: Collection, rounds: int) -> list[str]:
    """Return a table of the memory that training takes above the loaded texts, each system in a process of its own."""
    lines = [
        "**Peak memory of training above the loaded texts and imports, in the process itself**\n",
        "|  | MB | × rows and weights |",
        "|---|---:|---:|",
    ]
    for name in ("paper", "fast", "default", "sgd", "linearsvc", "fasttext", "vw"):
        command = [sys.executable, __file__, "--peak", name]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        above, needed = map(float, printed.split())
        title = PEERS[name].name if name in PEERS else f"thresher {name}"
        lines.append(f"| {title} | {above / 1e6:.0f} | {f'{above / needed:.2f}' if needed else ''} |")
    return [*lines, ""]


def print_peak(name: str) -> None:
    """Train once on few documents, then on all, and print how far memory went up, and what must be held."""
    data = collection()
    small = data._replace(train=data.train[:500], truth=data.truth[:500])
    train(name, small)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was freed is not to hide what is taken
    before = forgotten_peak()
    model = train(name, data)
    above, needed = peak() - before, 0
    if isinstance(model, Categorizer):
        blocks = model.state.learner.get_weights()
        rows = model.state.features.rows(document.text for document in data.train)
        weights = blocks.weights if isinstance(blocks, DenseWeights) else blocks.lists
        needed = sum(array.nbytes for array in (*weights, *rows[:3]))
    print(above, needed)


def train(name: str, data: Collection) -> Any:
    """Train a preset or a peer."""
    if name in PEERS:
        rows, _ = PEERS[name].read(data.train, data.truth)
        return PEERS[name].train(rows, data.truth)
    texts, labels = [document.text for document in data.train], [document.categories for document in data.train]
    return Categorizer(preset=name).fit(texts, labels)


def forgotten_peak() -> int:
    """Let Linux forget the most memory that this process ever had, and return what it has now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """Return the most memory that this process had since."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


# -- all of it ---------------------------------------------------------------------------------------------------------


def collection() -> Collection:
    """Return ModApte with the categories of both parts."""
    parts = {part: list(read_documents(f"reuters21578:modapte90:{part}")) for part in ("train", "test")}
    return collection_of("modapte90", parts["train"], parts["test"])


def main() -> None:
    """Run the parts, print them, and write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print_peak(options.peak)
        return
    data = collection()
    gc.freeze()  # nobody's time is to go into looking through what is loaded
    lines: list[str] = []
    for part in options.parts.split(","):
        result = globals()[part](data, options.rounds)
        part_lines = result.lines() if isinstance(result, Table) else result
        print("\n".join(part_lines), flush=True)
        lines += part_lines
    if options.markdown:
        write_between(options.markdown, "speed", "\n".join(lines))


if __name__ == "__main__":
    main()
