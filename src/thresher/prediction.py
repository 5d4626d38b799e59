"""What a model says of a text; `Categorizer` makes it, shells show it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Prediction(NamedTuple):
    """A text's categories as (category, score, probability), the best first; `empty` if it has no known word."""

    categories: list[tuple[str, float, float]]
    empty: bool


def predictions(
    categories: list[str],
    chosen: NDArray[np.bool_],
    reported: NDArray[np.float64],
    chances: NDArray[np.float64],
    empty: NDArray[np.bool_],
) -> list[Prediction]:
    """Return the chosen categories of each row by name, the best first and equals in their order."""
    found = []
    for row, scores, own_chances, is_empty in zip(chosen, reported, chances, empty.tolist(), strict=True):
        numbers = np.flatnonzero(row)
        numbers = numbers[np.argsort(-scores[numbers], kind="stable")].tolist()
        named = [(categories[c], float(scores[c]), float(own_chances[c])) for c in numbers]
        found.append(Prediction(named, is_empty))
    return found


def best(reported: NDArray[np.float64], top: int) -> NDArray[np.bool_]:
    """Return which are the best of each row, and the first of equals."""
    chosen = np.zeros(reported.shape, dtype=np.bool_)
    order = np.argsort(-reported, axis=1, kind="stable")[:, :top]
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen
