"""A correction that is prepared once: valid names, the features of its text, and the same again from its record."""

from pathlib import Path
from typing import Any

import pytest

from support.journaled_models import CATEGORIES, TEXTS, new_small_model
from thresher import Categorizer
from thresher.datasets.category_names import normalize_categories
from thresher.errors import JournalError, TextError
from thresher.journal import prepared_correction
from thresher.journal.journaled_model import JournaledModel
from thresher.journal.prepared_correction import check_new, digest_features, prepare_correction, prepare_record
from thresher.journal.record import Record
from thresher.model import online_learning
from thresher.text.analysers import Analyser
from thresher.text.vectorizer import FeatureCounts


def taught() -> Categorizer:
    return Categorizer(min_count=1).fit(TEXTS, CATEGORIES)


def as_record(text: Any, features: FeatureCounts | None = None, **body: Any) -> Record:
    found = features or taught().state.features.count_features(text)
    pairs = list(zip(*found, strict=True))
    return Record(7, "a", "correction", "", "", body, text, pairs, digest_features(found), None)


def test_names_are_sorted_and_occur_once() -> None:
    state = taught().state
    some = prepare_correction(state, "a", "tin", accept=["metal", "grain", "metal"], reject=["energy"], user="ada")
    assert (some.body, some.is_complete) == ({"accept": ["grain", "metal"], "reject": ["energy"]}, False)
    assert (some.accepted, some.rejected) == (["grain", "metal"], ["energy"])
    whole = prepare_correction(state, "a", "tin", categories=("metal", "grain"), document="d", seeds_of=3)
    assert whole.body == {"categories": ["grain", "metal"], "document": "d", "seeds_of": 3}
    assert (whole.accepted, whole.rejected, whole.is_complete) == (["grain", "metal"], [], True)
    with pytest.raises(TextError, match="not both"):
        prepare_correction(state, "a", "tin", accept=["metal"], categories=[])
    with pytest.raises(TextError, match="not a valid name"):
        prepare_correction(state, "a", "tin", reject=[" "])


def test_an_entry_holds_what_the_correction_holds() -> None:
    correction = prepare_correction(taught().state, "a", "tin mine tin", accept=["metal"], user="ada")
    assert correction.features == FeatureCounts(["tin", "mine"], [2, 1])
    entry = correction.entry()
    assert (entry.id, entry.kind, entry.user, entry.body) == ("a", "correction", "ada", correction.body)
    assert (entry.text, entry.features) == ("tin mine tin", [("tin", 2), ("mine", 1)])
    assert entry.digest == digest_features(correction.features) == correction.digest


@pytest.mark.parametrize(
    ("text", "lists", "message"),
    [
        ("", {"accept": ["metal"]}, "no features in document"),
        ("tin", {"accept": ["metal"], "reject": ["metal"]}, "both accepted and rejected"),
        ("tin", {"accept": [], "reject": ["wood"]}, "'wood' is unknown"),
        ("tin", {}, "accepts or rejects at least one category"),
    ],
)
def test_a_new_correction_that_cannot_be_learned_is_refused(text: str, lists: dict[str, Any], message: str) -> None:
    model = taught()
    before = model.digest()
    with pytest.raises(TextError, match=message):
        check_new(model.state, prepare_correction(model.state, "a", text, **lists))
    assert model.digest() == before


class Counter:
    """Counts the calls of a function."""

    def __init__(self, function: Any) -> None:
        self.function, self.count = function, 0

    def __call__(self, *given: Any, **more: Any) -> Any:
        self.count += 1
        return self.function(*given, **more)


def test_a_correction_is_tokenized_checked_and_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with JournaledModel(new_small_model(tmp_path), new=True) as journaled_model:
        statements: list[str] = []
        connection = journaled_model.journal.database._connection
        tokenize, check = Counter(Analyser.__call__), Counter(online_learning.check_correction)
        normalize = Counter(normalize_categories)
        monkeypatch.setattr(Analyser, "__call__", lambda *given, **more: tokenize(*given, **more))
        for module in (prepared_correction, online_learning):
            monkeypatch.setattr(module, "check_correction", check)
            monkeypatch.setattr(module, "normalize_categories", normalize)
        connection.set_trace_callback(statements.append)
        result = journaled_model.correct("a", "gold and wheat", accept=["grain"], reject=["metal"])
        connection.set_trace_callback(None)
        assert result.record.effect is not None  # the prediction before is part of it
        assert (tokenize.count, check.count) == (1, 1)
        assert normalize.count == 2  # the names to accept, and those to reject
        assert sum("WHERE id =" in statement for statement in statements) == 1


# The same again from a record.


def test_a_text_with_the_recorded_features_is_learned() -> None:
    remarks: list[str] = []
    state = taught().state
    correction = prepare_correction(state, "a", "tin mine", accept=["metal"])
    assert prepare_record(state, as_record("tin mine", accept=["metal"], reject=[]), remarks) == correction
    change = Record(8, "b", "categories", "", "", {"change": "retire", "names": ["grain"]}, None, None, "", None)
    assert prepare_record(state, change, remarks) is None
    assert remarks == []


def test_recorded_features_replace_those_of_a_missing_or_changed_text() -> None:
    remarks: list[str] = []
    kept = FeatureCounts(["tin", "mine"], [2, 1])
    for text, said in ((None, 0), ("other words", 1)):
        correction = prepare_record(taught().state, as_record(text, kept, accept=["metal"], reject=[]), remarks)
        assert correction is not None
        assert (correction.features, len(remarks)) == (kept, said)
    assert remarks == ["record 7: its text now has other features; the recorded ones are used"]


def test_features_that_differ_from_the_recorded_ones_are_refused() -> None:
    record = as_record("tin", FeatureCounts(["tin"], [1]), accept=["metal"], reject=[])
    for other in ([("tin", 2)], [], None):
        changed = record._replace(text="lead", features=other)
        with pytest.raises(JournalError, match=r"^its features differ from the recorded ones$"):
            prepare_record(taught().state, changed, [])
    with pytest.raises(JournalError, match=r"^its features differ from the recorded ones$"):
        prepare_record(taught().state, record._replace(text=None, features=None), [])


def test_a_record_that_the_model_cannot_learn_is_refused() -> None:
    bodies: list[dict[str, Any]] = [{"accept": ["metal"], "reject": ["wood"]}, {"accept": [" "], "reject": []}]
    for body in bodies:
        with pytest.raises(TextError):
            prepare_record(taught().state, as_record("tin", **body), [])


def test_the_digest_of_features_depends_on_names_counts_and_order() -> None:
    found = [FeatureCounts(["a", "b"], [1, 2]), FeatureCounts(["b", "a"], [2, 1]), FeatureCounts(["a", "b"], [1, 3])]
    assert len({digest_features(one) for one in found}) == 3
