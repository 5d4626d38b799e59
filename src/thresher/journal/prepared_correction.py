"""A correction that is ready to be written and learned: made once, and passed from the journal to the model."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from thresher.datasets.category_names import normalize_categories
from thresher.errors import JournalError, TextError
from thresher.journal.record import Entry, Record
from thresher.model.online_learning import check_correction, check_size, check_words, reserve
from thresher.model.state import ModelState
from thresher.text.analysers import Text
from thresher.text.vectorizer import FeatureCounts


class PreparedCorrection(NamedTuple):
    """A correction with valid names and the features of its text.

    Parameters
    ----------
    id, user : str
        The id that the client chose, and the user.
    body : dict
        As in `Record`; each list of categories is sorted and names each once.
    text : str, dict or None
        The text or its fields; None if it has been forgotten.
    features : FeatureCounts
        The features of the text. The model learns from these.
    digest : str
        The digest of the features.
    """

    id: str
    user: str
    body: dict[str, Any]
    text: Text | None
    features: FeatureCounts
    digest: str

    @property
    def is_complete(self) -> bool:
        """Whether the correction names all categories of the text."""
        return "categories" in self.body

    @property
    def accepted(self) -> list[str]:
        """The categories that the text has."""
        names: list[str] = self.body["categories" if self.is_complete else "accept"]
        return names

    @property
    def rejected(self) -> list[str]:
        """The categories that the text does not have; empty if the correction is complete."""
        return [] if self.is_complete else self.body["reject"]

    def entry(self) -> Entry:
        """Return the entry for the log."""
        pairs = list(zip(*self.features, strict=True))
        return Entry(self.id, "correction", self.user, self.body, self.text, pairs, self.digest)


def prepare_correction(
    model: ModelState,
    id: str,
    text: Text,
    *,
    accept: Iterable[str] = (),
    reject: Iterable[str] = (),
    categories: Iterable[str] | None = None,
    user: str = "",
    document: str | None = None,
    seeds_of: int | None = None,
) -> PreparedCorrection:
    """Return a new correction for a `model`, after checking its names; see `JournaledModel.correct`."""
    accepted, rejected = normalize_categories(accept), normalize_categories(reject)
    body: dict[str, Any] = {"accept": accepted, "reject": rejected}
    if categories is not None:
        if accepted or rejected:
            raise TextError("a correction names all categories, or some to accept and reject: not both")
        body = {"categories": normalize_categories(categories)}
    body |= {} if document is None else {"document": document}
    body |= {} if seeds_of is None else {"seeds_of": seeds_of}
    features = model.features.count_features(text)
    return PreparedCorrection(id, user, body, text, features, digest_features(features))


def check_new(model: ModelState, correction: PreparedCorrection) -> None:
    """Raise the errors that a new correction would cause, and allocate its memory, before it is written."""
    features, accepted, rejected = correction.features, correction.accepted, correction.rejected
    check_words(model, features, accepted)
    check_correction(model, accepted, rejected, correction.is_complete)
    check_size(model, features, accepted, rejected)
    reserve(model, features, accepted)


def prepare_record(model: ModelState, record: Record, remarks: list[str]) -> PreparedCorrection | None:
    """Return the correction of a `record` for a replay by a `model`, or None if it is of another kind.

    Its features are those of the text or, if the text is forgotten or now has others, those in the record. The latter
    case adds a line to `remarks`.
    """
    if record.kind != "correction":
        return None
    features = _features_of(model, record, remarks)
    lists: dict[str, Any] = {
        name: normalize_categories(record.body[name])
        for name in ("categories", "accept", "reject")
        if name in record.body
    }
    correction = PreparedCorrection(record.id, record.user, lists, record.text, features, record.digest)
    check_correction(model, correction.accepted, correction.rejected, correction.is_complete)
    return correction


def _features_of(model: ModelState, record: Record, remarks: list[str]) -> FeatureCounts:
    current = None if record.text is None else model.features.count_features(record.text)
    if current is not None and digest_features(current) == record.digest:
        return current
    pairs = record.features or []
    features = FeatureCounts([name for name, _ in pairs], [count for _, count in pairs])
    # Only the features that a replay needs are left of a forgotten text, so their digest differs.
    if record.features is None or (current is not None and digest_features(features) != record.digest):
        raise JournalError("its features differ from the recorded ones")
    if current is not None:
        remarks.append(f"record {record.seq}: its text now has other features; the recorded ones are used")
    return features


def digest_features(features: FeatureCounts) -> str:
    """Return the SHA-256 of the features of a text and their counts."""
    return hashlib.sha256(json.dumps([features.names, features.counts]).encode()).hexdigest()
