"""Which words made a score, which ones speak for a category, and what they weigh; `Categorizer` calls it."""

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thresher.errors import TextError
from thresher.explanation import Explanation, is_piece, weighed_words
from thresher.kernels.rows import Rows
from thresher.scoring import decided, scored, strong_rows
from thresher.text.analysers import Text

if TYPE_CHECKING:
    from thresher.categorizer import Categorizer


def explain(model: "Categorizer", text: Text, category: str | None) -> Explanation:
    """Return the words that made the score of a category, by default of the best one."""
    return next(explain_all(model, text, [category]))


def explain_all(model: "Categorizer", text: Text, categories: Iterable[str | None]) -> Iterator[Explanation]:
    """Yield the words that made the score of each category, None being the best; the text is read once."""
    if not model.categories and model.learner.is_fitted:
        raise TextError("there are no categories to explain")
    scores, empty = next(scored(model, [text], lambda *found: found))
    reported, accepted = model.decisions.reported(scores)[0], decided(model, scores, empty)[0]
    cuts = np.broadcast_to(model.decisions.cuts(scores), scores.shape)[0]
    probabilities = model.decisions.probabilities(scores)[0]
    places, strong = model.features.occurrences(text), strong_rows(model, model.features.rows([text]))
    names, strengths = model.features.names_of(strong.indices), model.learner.strengths(strong)
    unknown = len(_single_words(places) - set(names))
    for category in categories:
        number = int(reported.argmax()) if category is None else model.number_of(category)
        weights = model.learner.category_weights(number, strong.indices)
        yield Explanation(
            category=model.categories[number],
            accepted=bool(accepted[number]),
            score=float(reported[number]),
            raw=float(scores[0, number]),
            threshold=float(cuts[number]),
            probability=float(probabilities[number]),
            words=weighed_words(names, strengths, weights, places),
            unknown=unknown,
        )


def _single_words(places: Collection[str]) -> set[str]:
    """Return those features of a text that are words: not pairs, pieces, or words once more with the field's name."""
    return {name for name in places if " " not in name and not is_piece(name) and name.partition(":")[2] not in places}


def strongest_words(
    model: "Categorizer", category: str, top: int
) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Return the words that speak most for a category, and most against it, with their weights.

    Runs of letters, which are no words, are only listed where the model knows nothing else.
    """
    number = model.number_of(category)
    weights = model.learner.category_weights(number, np.arange(model.features.vocabulary.count))
    words = model.features.is_word
    weights = np.where(words, weights, 0) if words.any() else weights
    order = np.argsort(-weights, kind="stable")
    most, least = order[:top][weights[order[:top]] > 0], order[::-1][:top][weights[order[::-1][:top]] < 0]
    strongest, weakest = (
        list(zip(model.features.names_of(chosen), weights[chosen].tolist(), strict=True)) for chosen in (most, least)
    )
    return strongest, weakest


def count_weights(model: "Categorizer", category: str) -> int:
    """Return how many features weigh something for a category."""
    if not model.learner.is_fitted:
        return 0
    every = np.arange(model.learner.n_features_)
    return int(np.count_nonzero(model.learner.category_weights(model.number_of(category), every)))


def weights_at(model: "Categorizer", rows: Rows, categories: list[int]) -> dict[str, NDArray[np.float32]]:
    """Return the last weights of a document's features for those categories that are known."""
    found = {}
    for c in categories:
        if c < len(model.categories) and model.learner.is_fitted:
            known, weights = rows.indices, np.zeros(len(rows.indices), dtype=np.float32)
            if rows.n_features > model.learner.n_features_:
                known = known[known < model.learner.n_features_]
            weights[: len(known)] = model.learner._fitted().category_weights(c, known, last=True)
            found[model.categories[c]] = weights
    return found
