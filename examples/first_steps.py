"""A first look at the learners: a dozen short messages, two overlapping categories, and one correction.

make demo
"""

from collections import Counter

import numpy as np

from thresher import BalancedWinnow, Rows

MESSAGES = [
    ("street lamp broken at the school corner", ["lighting"]),
    ("the lamp in our street is dark again", ["lighting"]),
    ("two lamps dark since monday near the bridge", ["lighting"]),
    ("pothole in front of the school", ["roads"]),
    ("deep pothole on the bridge damaged my car", ["roads"]),
    ("the road is full of holes after the winter", ["roads"]),
    ("dark road with potholes and no working lamp", ["lighting", "roads"]),
    ("pothole under the broken lamp near the station", ["lighting", "roads"]),
    ("when does the library open on saturday", []),
    ("rubbish was not collected in our street", []),
    ("the swimming pool water is cold", []),
    ("bins overflow at the station since monday", []),
]
CATEGORIES = ["lighting", "roads"]
NEW = ["another lamp is broken on the road to the station", "my car hit a pothole", "cold water in the library"]


def main() -> None:
    """Train, categorize three new messages with the words that decided, correct one mistake, look again."""
    vocabulary = {word: i for i, word in enumerate(sorted({w for text, _ in MESSAGES for w in text.split()}))}
    learner = BalancedWinnow(discard=False)
    learner.fit(rows_of([text for text, _ in MESSAGES], vocabulary), [numbers(names) for _, names in MESSAGES])
    passes = learner.mistakes_.sum(axis=1).tolist()
    print(f"Learned {len(MESSAGES)} messages, {len(vocabulary)} words; mistakes by pass: {passes}\n")
    for text in NEW:
        show(learner, text, vocabulary)
    print("\nThe second one is about the roads, someone says. After that one correction:\n")
    learner.partial_fit(rows_of(NEW[1:2], vocabulary), [numbers(["roads"])])
    show(learner, NEW[1], vocabulary)


def numbers(names: list[str]) -> list[int]:
    """Return the numbers of categories."""
    return [CATEGORIES.index(name) for name in names]


def rows_of(texts: list[str], vocabulary: dict[str, int]) -> Rows:
    """Count the known words of each text."""
    counts = [sorted(Counter(vocabulary[w] for w in text.split() if w in vocabulary).items()) for text in texts]
    pairs = np.array([pair for row in counts for pair in row]).reshape(-1, 2)
    return Rows(np.cumsum([0] + [len(row) for row in counts]), pairs[:, 0], pairs[:, 1], len(vocabulary))


def show(learner: BalancedWinnow, text: str, vocabulary: dict[str, int]) -> None:
    """Print the categories of a text, their scores and the words that weighed most."""
    row = rows_of([text], vocabulary)
    print(text)
    for category, score in enumerate(learner.score(row)[0]):
        weights = {word: learner.weights_[category, vocabulary[word]] for word in text.split() if word in vocabulary}
        strongest = sorted(weights.items(), key=lambda item: -abs(item[1]))[:3]
        mark = "yes" if score > learner.theta else "no "
        words = ", ".join(f"{word} {weight:+.2f}" for word, weight in strongest)
        print(f"   {mark} {CATEGORIES[category]:9} {score:5.2f}   {words}")


if __name__ == "__main__":
    main()
