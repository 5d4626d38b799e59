"""What a model says, as JSON takes it: the objects that `thresher predict --json` prints, and more if asked."""

from typing import Any

import numpy as np

from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.explanation import Change, Explanation, is_piece
from thresher.journal import Record
from thresher.predicted import record
from thresher.text.analysers import Text
from thresher.web.pool import plain

EXCERPT = 400  # letters
_SHOWN_WORDS, _STRONGEST_WORDS = 12, 20


def categorized(
    model: Categorizer, texts: list[Text], ids: list[str], *, top: int | None = None, details: bool = False
) -> list[dict[str, Any]]:
    """Return the categories of texts: those accepted, or the `top` best."""
    if not model.categories or not model.learner.is_fitted:
        return [{"id": id, "categories": []} for id in ids]
    found = [record(Document("", id=id), one) for id, one in zip(ids, model.categorize(texts, top=top), strict=True)]
    if details:
        for answer, text in zip(found, texts, strict=True):
            _add_details(model, text, answer)
    return found


def _add_details(model: Categorizer, text: Text, answer: dict[str, Any]) -> None:
    """Add whether each category is accepted, its raw score and its threshold for this text."""
    raw, accepted = model.decision_function([text], raw=True)[0], set(model.predict([text])[0])
    cuts = np.broadcast_to(model.decisions.cuts(raw[np.newaxis].astype(np.float32)), (1, len(raw)))[0]
    for entry in answer["categories"]:
        number = model.number_of(entry["category"])
        entry |= {
            "accepted": entry["category"] in accepted,
            "raw": float(raw[number]),
            "threshold": float(cuts[number]),
        }


def explanations(model: Categorizer, text: Text, answer: dict[str, Any], wanted: bool | str) -> list[dict[str, Any]]:
    """Return the words that decided: of the category named, or of those accepted, or else of the best."""
    if not model.categories or not model.learner.is_fitted:
        return []
    if isinstance(wanted, str):
        names: list[str | None] = [wanted]
    else:
        names = [*(entry["category"] for entry in answer["categories"] if entry["score"] > 1)] or [None]
    return [_explained(model.explain(text, name), plain(text)) for name in names]


def _explained(found: Explanation, text: str) -> dict[str, Any]:
    words = [
        {"word": word.name, "contribution": word.contribution, "positions": word.positions}
        for word in found.whole_words(text)
        if word.contribution
    ]
    return found.verdict() | {"words": words}


def changed_words(changes: dict[str, list[Change]]) -> dict[str, list[dict[str, Any]]]:
    """Return the words whose weights a correction changed most, by category."""
    found = {}
    for name, own in changes.items():
        words = [change for change in own if not is_piece(change.name)] or own
        most = sorted(words, key=lambda change: -abs(change.after - change.before))[:_SHOWN_WORDS]
        found[name] = [{"word": change.name, "before": change.before, "after": change.after} for change in most]
    return found


def about(model: Categorizer) -> dict[str, Any]:
    """Return how a model was made, and how much it knows."""
    settings = {name: value for name, value in (model.settings | model.chosen).items() if not callable(value)}
    return {
        "preset": model.preset,
        "learner": model.settings["learner"],
        "policy": model.decisions.policy,
        "categories": len(model.categories),
        "features": model.features.vocabulary.count,
        "settings": settings,
    }


def category(model: Categorizer, name: str, rates: dict[str, Any]) -> dict[str, Any]:
    """Return what a model knows of a category, with the rates that were measured where it had documents."""
    number, learner = model.number_of(name), model.learner
    has_any = bool(rates.get("positives"))
    return {
        "name": name,
        "documents": int(learner.positives_[number]) if learner.is_fitted else 0,
        "threshold": float(model.decisions.thresholds[number]),
        "features": model.count_weights(name),
        **{rate: rates[rate] if has_any else None for rate in ("precision", "recall", "f1", "break_even")},
    }


def strongest_words(model: Categorizer, name: str) -> dict[str, Any]:
    """Return the words that speak most for a category and against it."""
    sides = model.strongest_words(name, _STRONGEST_WORDS) if model.learner.is_fitted else ([], [])
    told = [[{"word": word, "weight": weight} for word, weight in side] for side in sides]
    return dict(zip(("for", "against"), told, strict=True))


def recorded(kept: Record) -> dict[str, Any]:
    """Return a record of the journal as a person looks at it: the beginning of its text, and what it changed."""
    body = kept.body
    about: dict[str, Any] = {
        "seq": kept.seq,
        "id": kept.id,
        "kind": kept.kind,
        "time": kept.time,
        "user": kept.user,
        "undone_by": kept.undone_by,
    }
    if kept.kind == "correction":
        about |= {
            "accept": body.get("accept", []),
            "reject": body.get("reject", []),
            "categories": body.get("categories"),
            "document": body.get("document"),
            "text": None if kept.text is None else plain(kept.text)[:EXCERPT],
            "effect": kept.effect,
        }
    else:
        about |= {"change": body}
    return about
