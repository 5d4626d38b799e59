"""News by topic: learn, measure on later stories, show the words that decided, and what is taken for what.

    python examples/news.py

With Reuters-21578 on this machine (`thresher fetch reuters21578`) these are newswire stories of 1987; without, the
messages of the project's own corpus, which needs no network.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

from thresher import Categorizer
from thresher.datasets.corpora.reuters21578 import find_collection, load, select
from thresher.datasets.document import Document
from thresher.datasets.reader import read_documents
from thresher.evaluation import Evaluation, evaluate
from thresher.model.explanations import Explanation

WIDTH, SHOWN_WORDS, SHOWN_STORIES, SHOWN_CATEGORIES = 100, 5, 3, 10


class Corpus(NamedTuple):
    """Documents to learn from and later ones to measure on, and which preset suits their number."""

    about: str
    training: list[Document]
    test: list[Document]
    preset: str


def corpus() -> Corpus:
    """Return Reuters where it is on this machine, or else the project's own corpus."""
    if find_collection() is None:
        about = "Messages to a city's service desk (thresher fetch reuters21578 brings real news)"
        return Corpus(about, list(read_documents("sample:train")), list(read_documents("sample:test")), "default")
    documents = load()
    training, test = list(select(documents, "modapte:train")), list(select(documents, "modapte:test"))
    return Corpus("Reuters newswire stories of 1987", training, test, "fast")


def main() -> None:
    """Learn, measure, explain a few unseen stories, and look at the commonest mistakes."""
    found = corpus()
    print(f"{found.about}: {len(found.training):,} to learn, {len(found.test):,} later ones to test on.")
    start = time.perf_counter()
    model = Categorizer(preset=found.preset)
    model.fit([story.content for story in found.training], [story.categories for story in found.training])
    seconds = time.perf_counter() - start
    known = f"{len(model.categories)} categories and {model.state.features.vocabulary.count:,} features"
    print(f"Learned {known} in {seconds:.1f} s.")
    evaluation = evaluate(model, found.test)
    show_measures(evaluation)
    print(
        "\nUnseen stories; the words that decided stand in *stars*, and a minus goes before those that spoke against:"
    )
    for story in telling(model, found.test):
        show_story(model, story)
    show_confusions(model, evaluation, found.test)


def show_measures(evaluation: Evaluation) -> None:
    """Print how much is right, in all and for the largest categories."""
    told = evaluation.summary()
    precision, recall, f1 = (100 * told["micro"][name] for name in ("precision", "recall", "f1"))
    print(f"Of what it says {precision:.0f} % is right, and it finds {recall:.0f} % of what is there:", end=" ")
    print(f"F1 {f1:.1f}, break-even {100 * evaluation.pooled_break_even:.1f}.\n")
    rows = sorted(told["per_category"], key=lambda row: -row["positives"])[:SHOWN_CATEGORIES]
    for row in rows:
        f1 = row["f1"] or 0.0
        print(f"  {row['category']:14} {row['positives']:5} stories   F1 {100 * f1:5.1f}  {'=' * round(40 * f1)}")


def telling(model: Categorizer, stories: Sequence[Document]) -> list[Document]:
    """Return short stories that get one or two categories each, none of them twice."""
    chosen: list[Document] = []
    seen: set[str] = set()
    for story, names in zip(stories, model.predict(story.content for story in stories), strict=True):
        if 1 <= len(names) <= 2 and not seen & set(names) and 80 <= len(story.text) <= 500:
            chosen.append(story)
            seen |= set(names)
        if len(chosen) == SHOWN_STORIES:
            break
    return chosen


def show_story(model: Categorizer, story: Document) -> None:
    """Print a story with the words that decided marked in it, for each category that it gets."""
    text = plain(story)
    print(f"\n{story.id}: {', '.join(story.categories) or 'no category'}, by people's judgement")
    for name in model.predict([story.content])[0]:
        why = model.explain(story.content, name)
        words = ", ".join(f"{word.name} {word.contribution:+.2f}" for word in why.whole_words(text)[:SHOWN_WORDS])
        print(f"  {name}, probability {why.probability:.2f}: {words}")
        for line in lines(marked(text, why)):
            print(f"    {line}")


def marked(text: str, why: Explanation) -> str:
    """Return a text with stars around the words that weighed most; of two that overlap, around the weightier one."""
    signs: dict[tuple[int, int], str] = {}
    for word in why.whole_words(text)[:SHOWN_WORDS]:
        for start, end in word.positions:
            if all(end <= other[0] or other[1] <= start for other in signs):
                signs[start, end] = "*" if word.contribution > 0 else "-*"
    for start, end in sorted(signs, reverse=True):
        text = f"{text[:start]}{signs[start, end]}{text[start:end]}*{text[end:]}"
    return text


def lines(text: str) -> list[str]:
    """Return a text in lines of a reader's width."""
    found = [""]
    for word in text.split():
        if len(found[-1]) + len(word) >= WIDTH:
            found.append("")
        found[-1] += f"{word} "
    return [line.rstrip() for line in found]


def show_confusions(model: Categorizer, evaluation: Evaluation, stories: Sequence[Document]) -> None:
    """Print which categories are given in the place of others, each with a story and the words that misled."""
    print("\nWhat is taken for what, most often:")
    column = {name: number for number, name in enumerate(evaluation.categories)}
    for right, wrong, count in evaluation.confusions(top=SHOWN_STORIES):
        missed = evaluation.truth[:, column[right]] & ~evaluation.accepted[:, column[right]]
        given = evaluation.accepted[:, column[wrong]] & ~evaluation.truth[:, column[wrong]]
        story = stories[int((missed & given).argmax())]
        why = model.explain(story.content, wrong).whole_words(plain(story))
        misled = [word.name for word in why if word.contribution > 0 and word.positions][:SHOWN_WORDS]
        print(f"  {right} for {wrong}, {count} times, as in {story.id}: {lines(plain(story))[0]} ...")
        print(f"    for {wrong} spoke: {', '.join(misled)}")


def plain(story: Document) -> str:
    """Return the text as the model counts its letters."""
    content = story.content
    return content if isinstance(content, str) else "\n".join(content.values())


if __name__ == "__main__":
    main()
