"""Make examples/data/answers.jsonl for examples/distilling.py: once, by hand; a test compares the file with it.

No large model was asked. The texts are the training messages of the sample corpus. Each answer is the true categories
with random mistakes of three kinds: a category is overlooked, a similar one is added, or, in all three answers, one is
replaced by a similar one, as by a model that misunderstands the question.
"""

import json
import random
from pathlib import Path

from thresher.datasets.reader import read_documents

SEED, ANSWERS = 4, 3
OVERLOOKED, ADDED, MISREAD = 0.10, 0.25, 0.10
NEIGHBOURS = {
    "accessibility": ("transport", "housing", "parks"),
    "animals": ("noise", "parks", "waste"),
    "housing": ("water", "noise", "taxes"),
    "lighting": ("roads", "parks", "housing"),
    "noise": ("animals", "permits", "housing"),
    "parking": ("roads", "permits", "transport"),
    "parks": ("animals", "waste", "lighting"),
    "permits": ("parking", "taxes", "noise"),
    "roads": ("parking", "transport", "water"),
    "schools": ("transport", "permits", "accessibility"),
    "taxes": ("housing", "permits", "waste"),
    "transport": ("roads", "accessibility", "schools"),
    "waste": ("animals", "parks", "roads"),
    "water": ("housing", "roads", "parks"),
}
FILE = Path(__file__).parents[1] / "examples" / "data" / "answers.jsonl"


def main() -> None:
    """Write the file."""
    FILE.write_text(make_lines(), encoding="utf-8")


def make_lines() -> str:
    """Return a line for each message: its id, its text, and for each label the share of the answers that gave it."""
    draw = random.Random(SEED)
    lines = []
    for document in read_documents("sample:train"):
        read = misread_some(document.categories, draw)
        answers = [draw_answer(read, draw) for _ in range(ANSWERS)]
        named = sorted({name for one in answers for name in one})
        labels = {name: round(sum(name in one for one in answers) / ANSWERS, 2) for name in named}
        lines.append(json.dumps({"id": document.id, "text": document.text, "labels": labels}, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def misread_some(categories: tuple[str, ...], draw: random.Random) -> tuple[str, ...]:
    """Return the categories, sometimes with one replaced by a similar one."""
    return tuple(draw.choice(NEIGHBOURS[name]) if draw.random() < MISREAD else name for name in categories)


def draw_answer(categories: tuple[str, ...], draw: random.Random) -> set[str]:
    """Return one answer: some categories are overlooked, and sometimes a similar one is added."""
    named = {name for name in categories if draw.random() >= OVERLOOKED}
    if categories and draw.random() < ADDED:
        named.add(draw.choice(NEIGHBOURS[draw.choice(categories)]))
    return named


if __name__ == "__main__":
    main()
