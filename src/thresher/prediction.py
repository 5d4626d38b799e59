"""What a model says of a text; `Categorizer` makes it, shells show it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Prediction(NamedTuple):
    """A text's `categories` as (category, score, probability), the best first; `empty` if it has no known word."""

    categories: list[tuple[str, float, float]]
    empty: bool


def predictions(
    categories: list[str],
    documents: NDArray[np.int64],
    numbers: NDArray[np.int64],
    reported: NDArray[np.float64],
    chances: NDArray[np.float64],
    empty: NDArray[np.bool_],
) -> list[Prediction]:
    """Return the categories of each document by name, the best first and equals in their order.

    `documents` and `numbers` say which category each score is of, the documents in their order; `empty` which of them
    are.
    """
    order = np.lexsort((-reported, documents))
    columns = (array[order].tolist() for array in (documents, numbers, reported, chances))
    found = [Prediction([], is_empty) for is_empty in empty.tolist()]
    for document, number, score, chance in zip(*columns, strict=True):
        found[document].categories.append((categories[number], score, chance))
    return found


def best(reported: NDArray[np.float64], top: int) -> NDArray[np.bool_]:
    """Return which are the best of each row, and the first of equals."""
    chosen = np.zeros(reported.shape, dtype=np.bool_)
    order = np.argsort(-reported, axis=1, kind="stable")[:, :top]
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen
