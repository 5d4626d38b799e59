"""Text to counts, training and prediction from raw text, beside scikit-learn and fastText, interleaved in one run.

    THRESHER_DATA=FOLDER .venv/bin/python benchmarks/text.py [rounds]

Reuters-21578, ModApte: 9,603 documents to train, 3,299 to predict, and the 90 categories that have both.
"""

import sys
import tempfile
import time
from pathlib import Path

import fasttext
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from interleaved import interleaved, table
from reuters import documents
from thresher import Categorizer
from thresher.text.features import TextFeatures
from thresher.text.tokens import tokenize

REPEATS = 4  # of the texts to predict, so that the start of threads does not count


def main(rounds: int = 5) -> None:
    """Print the three tables."""
    texts, topics = documents("train")
    unseen, unseen_topics = documents("test")
    both = {name for row in topics for name in row} & {name for row in unseen_topics for name in row}
    labels = [[name for name in row if name in both] for row in topics]
    megabytes = sum(map(len, texts)) / 1e6
    parts = [texts[i : i + 500] for i in range(0, len(texts), 500)]
    print(f"tokenising and counting {len(texts)} texts, {megabytes:.1f} MB")
    peer = "scikit-learn CountVectorizer"
    seconds = interleaved(
        {
            peer: lambda: CountVectorizer().fit_transform(texts),
            "scikit-learn TfidfVectorizer": lambda: TfidfVectorizer().fit_transform(texts),
            "thresher, tokens alone, one thread": lambda: sum(len(tokenize(batch).stops) for batch in parts),
            "thresher, counts, one thread": lambda: TextFeatures(n_threads=1).fit(texts),
            "thresher, counts": lambda: TextFeatures().fit(texts),
        },
        rounds,
    )
    table(seconds, peer, megabytes, "MB")
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        fast = train_fasttext(write_fasttext(Path(folder) / "train.txt", texts, labels))
        print(f"\ntraining {len(both)} categories from raw text; fastText once, {time.perf_counter() - start:.1f} s")
    peer = "thresher, preset paper"
    training = {
        peer: lambda: Categorizer(preset="paper").fit(texts, labels),
        "thresher, preset default": lambda: Categorizer().fit(texts, labels),
    }
    table(interleaved(training, rounds), peer, len(texts), "texts")
    print(f"\npredicting {len(unseen)} texts {REPEATS} times over; fastText has one thread")
    ours = {preset: Categorizer(preset=preset, n_threads=1).fit(texts, labels) for preset in ("paper", "default")}
    both_cores = Categorizer(preset="paper").fit(texts, labels)
    unseen = unseen * REPEATS
    lines = [text.replace("\n", " ") for text in unseen]
    peer = "fastText predict, a list"
    seconds = interleaved(
        {
            peer: lambda: fast.predict(lines, k=-1, threshold=0.5),
            "fastText predict, all 90 scores": lambda: fast.predict(lines, k=90),
            "thresher paper, one thread": lambda: ours["paper"].predict(unseen),
            "thresher default, one thread": lambda: ours["default"].predict(unseen),
            "thresher paper": lambda: both_cores.predict(unseen),
            "thresher paper, all 90 scores": lambda: both_cores.decision_function(unseen),
        },
        rounds,
    )
    table(seconds, peer, len(unseen), "texts")


def write_fasttext(path: Path, texts: list[str], labels: list[list[str]]) -> Path:
    """Write the texts as fastText reads them."""
    rows = zip(texts, labels, strict=True)
    lines = (" ".join(f"__label__{name}" for name in row) + " " + text.replace("\n", " ") for text, row in rows if row)
    path.write_text("\n".join(lines))
    return path


def train_fasttext(path: Path) -> fasttext.FastText:
    """Train fastText for several labels a text, on one thread; since it may end at NaN, at a lower rate if need be."""
    for rate in (0.25, 0.1, 0.05, 0.02):
        try:
            return fasttext.train_supervised(str(path), loss="ova", epoch=25, lr=rate, thread=1, verbose=0)
        except RuntimeError as error:
            print(f"fastText at a rate of {rate}: {error}")
    raise SystemExit("fastText did not train")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
