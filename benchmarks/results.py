"""Measure the table of results in the README: presets and peers on Reuters, in one run.

THRESHER_DATA=FOLDER .venv/bin/python benchmarks/results.py [--markdown README.md]

Accuracy and times are those of `accuracy.py`: all thresholds are tuned in the same way, and training includes that.
The size is that of the file that each system writes: a model file, a pickle, or fastText's own.
"""

import argparse
import pickle
import tempfile
from pathlib import Path
from types import SimpleNamespace

from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from accuracy import format_title, read_collection, report_on, warm_up
from pages import write_between
from peers import PEERS, Collection, train_fasttext_file
from thresher import Categorizer

SYSTEMS = ("default", "fast", "paper", "linearsvc", "sgd", "fasttext")
CLASSIFIERS = {"linearsvc": LinearSVC(random_state=0), "sgd": SGDClassifier(random_state=0)}


def measure_size(system: str, data: Collection) -> int:
    """Return the bytes of the file that a trained system writes."""
    if system in CLASSIFIERS:
        vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
        rows = vectorizer.fit_transform([document.text for document in data.train])
        return len(pickle.dumps((vectorizer, OneVsRestClassifier(clone(CLASSIFIERS[system])).fit(rows, data.truth))))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        if system in PEERS:
            rows, _ = PEERS[system].read(data.train, data.truth)
            train_fasttext_file(rows, data.truth, path)
        else:
            texts, categories = [one.content for one in data.train], [one.categories for one in data.train]
            Categorizer(preset=system).fit(texts, categories).save(path)
        return path.stat().st_size


def main() -> None:
    """Run the systems, print the table, and write it into a page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    warm_up(SYSTEMS)
    data = read_collection("aptemod", SimpleNamespace(limit=None, one_text=False, validation=False))  # type: ignore[arg-type]
    rows = report_on(data, SYSTEMS, lambda row: None).rows
    lines = [
        "| Reuters ApteMod, 90 categories | micro F1 | macro F1 | train | predict | size |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        seconds, name = row["seconds"], format_title(row["system"])
        name = f"**Thresher `{row['system']}`**" if name.startswith("thresher") else name
        figures = f"{100 * row['micro F1']:.1f} | {100 * row['macro F1']:.1f} | {seconds['with thresholds']:.1f} s"
        rate, size = len(data.test) / seconds["predict"], measure_size(row["system"], data) / 1e6
        lines.append(f"| {name} | {figures} | {float(f'{rate:.2g}'):,.0f}/s | {size:.1f} MB |")
    print("\n".join(lines))
    if options.markdown:
        write_between(options.markdown, "results", "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
