"""Predictions for texts, and their format in output files."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.datasets.document import Document


class Prediction(NamedTuple):
    """A text's `categories` as (category, score, probability), best first; `empty` if no word of it is known."""

    categories: list[tuple[str, float, float]]
    empty: bool


def make_predictions(
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
    predictions = [Prediction([], is_empty) for is_empty in empty.tolist()]
    for document, number, score, chance in zip(*columns, strict=True):
        predictions[document].categories.append((categories[number], score, chance))
    return predictions


def mark_best(reported: NDArray[np.float64], top: int) -> NDArray[np.bool_]:
    """Return which entries are the `top` best of each row; ties go to the first."""
    is_best = np.zeros(reported.shape, dtype=np.bool_)
    order = np.argsort(-reported, axis=1, kind="stable")[:, :top]
    np.put_along_axis(is_best, order, True, axis=1)
    return is_best


OUTPUT_COLUMNS = ("id", "categories", "scores", "probabilities", "empty")


def format_prediction(document: Document, prediction: Prediction, format: str) -> dict[str, Any]:
    """Return a document's own columns and its prediction as one row of an output format."""
    convert = {"jsonl": to_json, "parquet": _to_columns}.get(format, _to_cells)
    return _add_input_columns(document, convert(document, prediction))


def to_json(document: Document, prediction: Prediction) -> dict[str, Any]:
    """Return a prediction as a JSON object."""
    categories = [
        {"category": name, "score": score, "probability": probability}
        for name, score, probability in prediction.categories
    ]
    return {"id": document.id, "categories": categories} | ({"empty": True} if prediction.empty else {})


def _add_input_columns(document: Document, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the input's columns and the prediction's; an input column with the name of an output column is renamed."""
    given = dict(document.columns or {"text": document.text})
    if given.get("id") == answer["id"]:
        del given["id"]
    renamed: dict[str, Any] = {}
    for name, value in given.items():
        while name in OUTPUT_COLUMNS or name in renamed:
            name = f"given_{name}"
        renamed[name] = value
    return {"id": answer["id"]} | renamed | answer


def _to_columns(document: Document, prediction: Prediction) -> dict[str, Any]:
    """Return a prediction for a table: names, scores and probabilities in one column each."""
    return {
        "id": document.id,
        "categories": [name for name, _, _ in prediction.categories],
        "scores": [score for _, score, _ in prediction.categories],
        "probabilities": [probability for _, _, probability in prediction.categories],
        "empty": prediction.empty,
    }


def _to_cells(document: Document, prediction: Prediction) -> dict[str, Any]:
    """Return a prediction for a table whose cells are text."""
    rounded = {
        "scores": [f"{score:.4f}" for _, score, _ in prediction.categories],
        "probabilities": [f"{probability:.4f}" for _, _, probability in prediction.categories],
    }
    return _to_columns(document, prediction) | rounded | {"empty": "true" if prediction.empty else ""}
