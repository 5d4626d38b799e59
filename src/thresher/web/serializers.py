"""Convert predictions, explanations and records to JSON objects; predictions look as in `thresher predict --json`."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.journal.record import Record
from thresher.model import predictions
from thresher.model.explanations import Correction, Explanation, explain_all
from thresher.text.analysers import Text
from thresher.web.errors import Problem
from thresher.web.review_documents import display_text

EXCERPT = 400  # letters
MAX_DETAILED = 1000  # documents per request with details or explanations
MAX_EXPLAINED = 20  # categories per document
MAX_EXPLAINED_LETTERS = 500_000  # per request: the letters of each text, counted once per explained category
MIN_EXPLAINED_LETTERS = 200  # letters that each explanation counts as at least
_ENTRIES_AT_ONCE = 50_000  # documents x categories converted before the first result is yielded
_TEXTS_AT_ONCE = 3072
_SHOWN_WORDS, _STRONGEST_WORDS = 12, 20
_TOO_MUCH = (
    f"explanations are given for {MAX_EXPLAINED_LETTERS:,} letters at a time, a text counted once for each category "
    "(send less)"
)


def answer_texts(
    model: Categorizer, texts: list[Text], ids: list[str], *, top: int | None, details: bool, explain: bool | str
) -> Iterator[dict[str, Any]]:
    """Yield the categories of texts, with explanations if requested; computed for a batch of texts at a time."""
    if (details or explain is not False) and len(texts) > MAX_DETAILED:
        said = f"details and explanations are given for {MAX_DETAILED:,} documents at a time"
        raise Problem(422, f"{said} (send fewer, or stream them)")
    most, left = min(top or len(model.categories), len(model.categories)), MAX_EXPLAINED_LETTERS
    step = max(min(_ENTRIES_AT_ONCE // max(most, 1), _TEXTS_AT_ONCE), 1)
    for first in range(0, len(texts), step):
        some = texts[first : first + step]
        answers = predict_texts(model, some, ids[first : first + step], top=top, details=details)
        for answer, text in zip(answers, some, strict=True):
            if explain is not False:
                names = _names_to_explain(model, answer, explain)
                each = max(len(display_text(text)), MIN_EXPLAINED_LETTERS)
                names = names[: max(left // each, 1)]  # the best that fit; the best one must
                left -= len(names) * each
                if left < 0:
                    raise Problem(422, _TOO_MUCH)
                answer["explanations"] = explain_text(model, text, names)
            yield answer


def predict_texts(
    model: Categorizer, texts: list[Text], ids: list[str], *, top: int | None = None, details: bool = False
) -> list[dict[str, Any]]:
    """Return the categories of texts: those accepted, or the `top` best."""
    if not model.categories or not model.state.learner.is_fitted:
        return [{"id": id, "categories": []} for id in ids]
    predicted = zip(ids, model.categorize(texts, top=top), strict=True)
    answers = [predictions.to_json(Document("", id=id), prediction) for id, prediction in predicted]
    if details:
        for answer, text in zip(answers, texts, strict=True):
            _add_details(model, text, answer)
    return answers


def _add_details(model: Categorizer, text: Text, answer: dict[str, Any]) -> None:
    """Add whether each category is accepted, its raw score and its threshold for this text."""
    raw, accepted = model.decision_function([text], raw=True)[0], set(model.predict([text])[0])
    cuts = np.broadcast_to(model.state.decisions.cuts(raw[np.newaxis].astype(np.float32)), (1, len(raw)))[0]
    for entry in answer["categories"]:
        number = model.state.number_of(entry["category"])
        entry |= {
            "accepted": entry["category"] in accepted,
            "raw": float(raw[number]),
            "threshold": float(cuts[number]),
        }


def _names_to_explain(model: Categorizer, answer: dict[str, Any], wanted: bool | str) -> list[str | None]:
    """Return the categories to explain: the given one, the best accepted ones, or else the best one (None)."""
    if not model.categories or not model.state.learner.is_fitted:
        return []
    if isinstance(wanted, str):
        return [wanted]
    accepted = (entry["category"] for entry in answer["categories"] if entry["score"] > 1)
    return list(islice(accepted, MAX_EXPLAINED)) or [None]


def explain_text(model: Categorizer, text: Text, names: Sequence[str | None]) -> list[dict[str, Any]]:
    """Return an explanation for each of the categories; None means the best one."""
    if not names:
        return []
    return [_describe_explanation(one, display_text(text)) for one in explain_all(model.state, text, names)]


def _describe_explanation(explanation: Explanation, text: str) -> dict[str, Any]:
    words = [
        {"word": word.name, "contribution": word.contribution, "positions": word.positions}
        for word in explanation.whole_words(text)
        if word.contribution
    ]
    return explanation.verdict() | {"words": words}


def list_changed_words(correction: Correction) -> dict[str, list[dict[str, Any]]]:
    """Return the words whose weights a correction changed most, by category."""
    largest = correction.largest_changes(_SHOWN_WORDS)
    return {
        name: [{"word": change.name, "before": change.before, "after": change.after} for change in changes]
        for name, changes in largest.items()
    }


def describe_model(model: Categorizer) -> dict[str, Any]:
    """Return how a model was trained, and its size."""
    settings = {name: value for name, value in (model.settings | model.chosen).items() if not callable(value)}
    return {
        "preset": model.state.preset,
        "learner": model.state.settings.learner,
        "policy": model.state.decisions.policy,
        "categories": len(model.categories),
        "features": model.state.features.vocabulary.count,
        "settings": settings,
    }


def describe_category(model: Categorizer, name: str, rates: dict[str, Any]) -> dict[str, Any]:
    """Return what a model knows of a category, with the measured rates if it had documents."""
    number, learner = model.state.number_of(name), model.state.learner
    has_any = bool(rates.get("positives"))
    return {
        "name": name,
        "documents": int(learner.positives_[number]) if learner.is_fitted else 0,
        "threshold": float(model.state.decisions.thresholds[number]),
        "features": model.count_weights(name),
        **{rate: rates[rate] if has_any else None for rate in ("precision", "recall", "f1", "break_even")},
    }


def list_strongest_words(model: Categorizer, name: str) -> dict[str, Any]:
    """Return the words that speak most for a category and against it."""
    sides = model.strongest_words(name, _STRONGEST_WORDS) if model.state.learner.is_fitted else ([], [])
    words = [[{"word": word, "weight": weight} for word, weight in side] for side in sides]
    return dict(zip(("for", "against"), words, strict=True))


def describe_record(record: Record) -> dict[str, Any]:
    """Return a record of the journal for display: the beginning of its text, and its effect."""
    body = record.body
    about: dict[str, Any] = {
        "seq": record.seq,
        "id": record.id,
        "kind": record.kind,
        "time": record.time,
        "user": record.user,
        "undone_by": record.undone_by,
    }
    if record.kind == "correction":
        about |= {
            "accept": body.get("accept", []),
            "reject": body.get("reject", []),
            "categories": body.get("categories"),
            "document": body.get("document"),
            "text": None if record.text is None else display_text(record.text)[:EXCERPT],
            "effect": record.effect,
        }
    else:
        about |= {"change": body}
    return about
