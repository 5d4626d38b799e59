"""A first look: a dozen short messages, two overlapping categories, and one correction.

make demo
"""

from thresher import Categorizer

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
NEW = ["another lamp is broken on the road to the station", "a hole damaged my bicycle", "cold water in the library"]


def main() -> None:
    """Train, categorize three new messages with the words that decided, correct one mistake, look again."""
    model = Categorizer(preset="paper", discard=False, min_count=1)
    model.fit([text for text, _ in MESSAGES], [categories for _, categories in MESSAGES])
    mistakes = model.state.learner.mistakes_.sum(axis=1).tolist()
    print(f"Learned {len(MESSAGES)} messages, {len(model.state.features.names)} words; mistakes by pass: {mistakes}\n")
    for text in NEW:
        show(model, text)
    print("\nThe second one is about the roads, someone says. After that one correction:\n")
    model.learn(NEW[1], accept=["roads"])
    show(model, NEW[1])


def show(model: Categorizer, text: str) -> None:
    """Print the categories of a text, their scores and the words that weighed most."""
    print(text)
    for category in model.categories:
        why = model.explain(text, category)
        mark = "yes" if why.accepted else "no "
        words = ", ".join(f"{word.name} {word.contribution:+.2f}" for word in why.words[:3])
        print(f"   {mark} {category:9} {why.score:5.2f}   {words}")


if __name__ == "__main__":
    main()
