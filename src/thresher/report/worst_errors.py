"""Find the worst errors of an evaluation and the words that caused them, for the report."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.report.filters import format_signed
from thresher.report.highlights import Piece, make_excerpt

if TYPE_CHECKING:
    from thresher.evaluation import Evaluation

MAX_WORDS = 8
SAME_SCORE = 1e-6


class Error(NamedTuple):
    """A document on the wrong side of a category's threshold."""

    kind: str
    category: str
    score: float
    id: str
    true: list[str]
    predicted: list[str]
    pieces: list[Piece]
    words: list[tuple[str, str]]
    same_model: bool


def find_worst_errors(
    model: Categorizer, documents: list[Document], evaluation: "Evaluation", most: int
) -> dict[str, list[Error]]:
    """Return the wrongly accepted and the missed documents, each with its worst category, the widest margin first.

    Only categories of the model count, since it always misses the others.
    """
    known = np.isin(evaluation.categories, model.categories)
    wrongly = evaluation.accepted & ~evaluation.truth & known
    missed = evaluation.truth & ~evaluation.accepted & known
    return {
        kind: [
            _describe_error(kind, model, documents[i], evaluation, i, c) for i, c in _find_widest(wrong, margins, most)
        ]
        for kind, wrong, margins in (
            ("accepted", wrongly, evaluation.scores - 1),
            ("missed", missed, 1 - evaluation.scores),
        )
    }


def _find_widest(wrong: NDArray[np.bool_], margins: NDArray[np.float64], most: int) -> list[tuple[int, int]]:
    """Return the (document, category) pairs with the widest margins, each document once."""
    if wrong.size == 0:
        return []
    by_category = np.where(wrong, margins, -np.inf)
    category = by_category.argmax(axis=1)
    widest = np.argsort(-by_category.max(axis=1), kind="stable")[:most]
    return [(int(i), int(category[i])) for i in widest if wrong[i].any()]


def _describe_error(
    kind: str, model: Categorizer, document: Document, evaluation: "Evaluation", i: int, c: int
) -> Error:
    category, score = evaluation.categories[c], float(evaluation.scores[i, c])
    text = document.content
    plain = "\n".join(text.values()) if isinstance(text, Mapping) else text
    explained = model.explain(text, category)
    words = explained.whole_words(plain)
    return Error(
        kind=kind,
        category=category,
        score=score,
        id=evaluation.ids[i],
        true=sorted(document.categories),
        predicted=[evaluation.categories[k] for k in np.flatnonzero(evaluation.accepted[i])],
        pieces=make_excerpt(plain, words),
        words=[(word.name, format_signed(word.contribution)) for word in words[:MAX_WORDS] if word.contribution],
        same_model=abs(explained.score - score) <= SAME_SCORE * max(1, abs(score)),
    )
