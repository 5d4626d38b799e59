"""Predictions as records, for files and pipes: command line, service and workers of a cluster write the same."""

from typing import Any

from thresher.datasets.document import Document
from thresher.prediction import Prediction

OURS = ("id", "categories", "scores", "probabilities", "empty")


def written(document: Document, found: Prediction, format: str) -> dict[str, Any]:
    """Return a document's own columns and what is said of it, as a format takes them."""
    answer = {"jsonl": record, "parquet": _columns}.get(format, _cells)
    return _with_own(document, answer(document, found))


def record(document: Document, found: Prediction) -> dict[str, Any]:
    """Return what is said of a document, as JSON has it."""
    categories = [
        {"category": name, "score": score, "probability": probability} for name, score, probability in found.categories
    ]
    return {"id": document.id, "categories": categories} | ({"empty": True} if found.empty else {})


def _with_own(document: Document, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the input's own columns and the answer; a column of theirs with one of our names is kept as given_NAME."""
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
    """Return the answer for a table: names, scores and probabilities in a column each."""
    return {
        "id": document.id,
        "categories": [name for name, _, _ in found.categories],
        "scores": [score for _, score, _ in found.categories],
        "probabilities": [probability for _, _, probability in found.categories],
        "empty": found.empty,
    }


def _cells(document: Document, found: Prediction) -> dict[str, Any]:
    """Return the answer for a table whose cells are texts."""
    rounded = {
        "scores": [f"{score:.4f}" for _, score, _ in found.categories],
        "probabilities": [f"{probability:.4f}" for _, _, probability in found.categories],
    }
    return _columns(document, found) | rounded | {"empty": "true" if found.empty else ""}
