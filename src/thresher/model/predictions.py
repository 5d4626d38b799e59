"""Predictions for texts, and their format in output files."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.datasets.document import Document


class Prediction(NamedTuple):
    """A text's `categories` as (category, score, probability), best first; `empty` if no word of it is known."""

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
    """Return the categories of each document by name, the best first; ties keep their order.

    `documents` and `numbers` name the document and the category of each score. `documents` is sorted. `empty` says
    which documents have no known word.
    """
    order = np.lexsort((-reported, documents))
    columns = (array[order].tolist() for array in (documents, numbers, reported, chances))
    found = [Prediction([], is_empty) for is_empty in empty.tolist()]
    for document, number, score, chance in zip(*columns, strict=True):
        found[document].categories.append((categories[number], score, chance))
    return found


def best(reported: NDArray[np.float64], top: int) -> NDArray[np.bool_]:
    """Return which entries are the `top` best of each row; ties go to the first."""
    chosen = np.zeros(reported.shape, dtype=np.bool_)
    order = np.argsort(-reported, axis=1, kind="stable")[:, :top]
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen


OURS = ("id", "categories", "scores", "probabilities", "empty")


def written(document: Document, found: Prediction, format: str) -> dict[str, Any]:
    """Return a document's own columns and its prediction as one row of an output format."""
    answer = {"jsonl": record, "parquet": _columns}.get(format, _cells)
    return _with_own(document, answer(document, found))


def record(document: Document, found: Prediction) -> dict[str, Any]:
    """Return a prediction as a JSON object."""
    categories = [
        {"category": name, "score": score, "probability": probability} for name, score, probability in found.categories
    ]
    return {"id": document.id, "categories": categories} | ({"empty": True} if found.empty else {})


def _with_own(document: Document, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the input's own columns and the prediction; an input column with one of our names becomes given_NAME."""
    own = dict(document.columns or {"text": document.text})
    if own.get("id") == answer["id"]:
        del own["id"]
    named: dict[str, Any] = {}
    for name, value in own.items():
        while name in OURS or name in named:
            name = f"given_{name}"
        named[name] = value
    return {"id": answer["id"]} | named | answer


def _columns(document: Document, found: Prediction) -> dict[str, Any]:
    """Return a prediction for a table: names, scores and probabilities in one column each."""
    return {
        "id": document.id,
        "categories": [name for name, _, _ in found.categories],
        "scores": [score for _, score, _ in found.categories],
        "probabilities": [probability for _, _, probability in found.categories],
        "empty": found.empty,
    }


def _cells(document: Document, found: Prediction) -> dict[str, Any]:
    """Return a prediction for a table whose cells are text."""
    rounded = {
        "scores": [f"{score:.4f}" for _, score, _ in found.categories],
        "probabilities": [f"{probability:.4f}" for _, _, probability in found.categories],
    }
    return _columns(document, found) | rounded | {"empty": "true" if found.empty else ""}
