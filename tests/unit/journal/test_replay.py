"""What a record does to a model: the same when it is new and when it is replayed, from its text or its features."""

from pathlib import Path
from typing import Any

import pytest

from support.corpora import made_up
from thresher import Categorizer
from thresher.errors import TextError
from thresher.journal.journaled_model import JournaledModel
from thresher.journal.prepared_correction import PreparedCorrection, digest_features, prepare_record
from thresher.journal.record import Record
from thresher.journal.replay import apply, apply_and_describe, change_categories, find_mistakes, select_needed_features
from thresher.model.explanations import Correction
from thresher.text.vectorizer import FeatureCounts

TEXTS = ["crude oil rose", "oil and gas", "wheat harvest", "corn and wheat", "gold mine", "silver and gold"] * 5
CATEGORIES = ["energy", "energy", "grain", "grain", "metal", "metal"] * 5


def taught() -> Categorizer:
    return Categorizer(min_count=1).fit(TEXTS, CATEGORIES)


def correction(text: Any, features: FeatureCounts | None = None, **body: Any) -> Record:
    found = features or taught().state.features.count_features(text)
    pairs = list(zip(*found, strict=True))
    return Record(7, "a", "correction", "", "", body, text, pairs, digest_features(found), None)


def prepared(model: Categorizer, record: Record) -> PreparedCorrection | None:
    return prepare_record(model.state, record, [])


def change(**body: Any) -> Record:
    return Record(8, "b", "categories", "", "", body, None, None, "", None)


def test_features_stand_for_their_text() -> None:
    for settings in ({}, {"preset": "paper"}, {"analyser": "words+ngrams:2+title"}, {"sparse": True}):
        one, other = (Categorizer(min_count=1, **settings).fit(TEXTS, CATEGORIES) for _ in range(2))
        for text in ("tin tin mine\nnew words new", {"title": "gold", "body": "zinc gold gold"}):
            found = one.state.features.count_features(text)
            one.learn(text, accept=["tin"])
            other.learn(found, accept=["tin"])  # type: ignore[arg-type]
            one.partial_fit([text], [["metal"]])
            other.partial_fit([found], [["metal"]])  # type: ignore[list-item]
        assert one.digest() == other.digest()


# Applying.


def test_some_categories_are_learned_and_others_left_alone() -> None:
    one, other = taught(), taught()
    record = correction("gold and wheat", accept=["grain"], reject=["metal"])
    found = apply(one, record, prepared(one, record))
    assert found == other.learn("gold and wheat", accept=["grain"], reject=["metal"])
    assert one.digest() == other.digest()


def test_a_complete_correction_reports_changes_of_watched_categories() -> None:
    one, other, third = taught(), taught(), taught()
    record = correction("gold and silver", categories=["grain"])
    found = apply(one, record, prepared(one, record), watched=["metal", "grain"])
    assert found is not None
    assert (list(found.promoted), list(found.demoted)) == (["grain"], ["metal"])
    untold = apply(third, record, prepared(third, record))
    assert untold is not None
    assert untold.demoted == {}
    other.learn("gold and silver", ["grain"], ["metal"], complete=True)
    assert one.digest() == other.digest() == third.digest()


def test_a_change_of_categories_is_applied_and_reports_no_effect() -> None:
    model = taught()
    assert apply(model, change(change="new", names=["bees"]), None) is None
    assert apply_and_describe(model, change(change="rename", names=["bees"], into="wasps"), None) == (None, None)
    assert model.categories == ["energy", "grain", "metal", "wasps"]


@pytest.mark.parametrize("kind", ["undo", "skip"])
def test_an_undo_record_does_nothing_itself(kind: str) -> None:
    model = taught()
    before = model.digest()
    assert apply_and_describe(model, Record(9, "c", kind, "", "", {"seqs": [1]}, None, None, "", None), None) == (
        None,
        None,
    )
    assert model.digest() == before


@pytest.mark.parametrize(
    ("body", "categories"),
    [
        ({"change": "new", "names": ["bees"]}, ["energy", "grain", "metal", "bees"]),
        ({"change": "rename", "names": ["grain"], "into": "crops"}, ["energy", "crops", "metal"]),
        ({"change": "merge", "names": ["grain", "metal"], "into": "goods"}, ["energy", "goods"]),
        ({"change": "retire", "names": ["grain"]}, ["energy", "metal"]),
        ({"change": "threshold", "names": ["grain"], "threshold": 0.5}, ["energy", "grain", "metal"]),
    ],
)
def test_changes_of_categories(body: dict[str, Any], categories: list[str]) -> None:
    model = taught()
    before = model.digest()
    change_categories(model, body)
    assert sorted(model.categories) == sorted(categories)
    assert model.digest() != before


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"change": "burn", "names": ["metal"], "problem": "p", "line": 7}, r"^'burn' is not a change of categories "),
        ({"change": "burn", "names": ["metal"]}, r"^'burn' is not a change of categories "
         r"\(allowed: new, rename, merge, retire, threshold\)$"),
        ({"change": "new", "names": ["a", "b"]}, "^'new' takes one category"),
        ({"change": "retire", "names": []}, "^'retire' takes one category"),
        ({"change": "merge", "names": ["metal", "grain"]}, "^to merge needs a name to change into$"),
        ({"change": "rename", "names": ["metal"], "into": ""}, "^to rename needs a name to change into$"),
        ({"change": "retire", "names": ["wood"]}, "wood"),
    ],
)  # fmt: skip
def test_an_invalid_change_of_categories_changes_nothing(body: dict[str, Any], message: str) -> None:
    model = taught()
    before = model.digest()
    with pytest.raises(TextError, match=message):
        change_categories(model, body)
    assert model.digest() == before


# What is told.


def test_an_effect_has_the_prediction_before_and_the_changes() -> None:
    model, text = taught(), "gold and silver"
    record = correction(text, accept=["grain"], reject=["metal", "energy"])
    found, effect = apply_and_describe(model, record, prepared(model, record))
    assert effect is not None
    assert found is not None
    assert effect["predicted"] == ["metal"]
    assert effect["mistakes"] == ["grain", "metal"]
    assert effect["promoted"] == {"grain": len(found.promoted["grain"])} == {"grain": 3}
    assert effect["demoted"]["metal"] == 3


def test_words_are_counted_and_runs_of_letters_only_where_there_is_nothing_else() -> None:
    texts, names = made_up(60, single=True)
    model = Categorizer(preset="fast", min_count=1, analyser="words+chars:3-3").fit(texts, names)
    text = "wheat oil"
    record = correction(text, model.state.features.count_features(text), categories=["trade"])
    found, effect = apply_and_describe(model, record, prepared(model, record))
    assert found is not None
    assert effect is not None
    changed = [change.name for change in found.promoted["trade"]]
    assert len(changed) > 2
    assert effect["promoted"]["trade"] == 2
    letters = Categorizer(preset="fast", min_count=1, analyser="chars:3-3").fit(texts, names)
    record = correction(text, letters.state.features.count_features(text), categories=["trade"])
    found, effect = apply_and_describe(letters, record, prepared(letters, record))
    assert found is not None
    assert effect is not None
    assert effect["promoted"]["trade"] == len(found.promoted["trade"]) > 2


@pytest.mark.parametrize("analyser", ["words", "words+chars:3-3", "chars:3-3"])
def test_words_are_counted_and_ranked_as_in_a_list_of_all_changes(analyser: str) -> None:
    texts, names = made_up(60, single=True)
    model = Categorizer(preset="fast", min_count=1, analyser=analyser).fit(texts, names)
    found = model.learn("wheat oil and a few new words, oil", ["trade", "bees", "money"], ["grain", "energy"])
    assert len(found.promoted) > 1
    for name, changes in (found.promoted | found.demoted).items():
        words = [change for change in changes if not change.name.startswith("#")] or changes
        largest = sorted(words, key=lambda change: -abs(change.after - change.before))
        assert (found.count_promoted() | found.count_demoted())[name] == len(words)
        for most in (1, 3, 1000):
            assert found.largest_changes(most)[name] == largest[:most]


def test_a_correction_whose_effect_does_not_fit_into_memory_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    model, record = taught(), correction("gold and silver", accept=["grain"], reject=[])
    expected = taught()
    apply(expected, record, prepared(expected, record))

    def count(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Correction, "count_promoted", count)
    assert apply_and_describe(model, record, prepared(model, record)) == (None, None)
    assert model.digest() == expected.digest()


def test_a_model_that_knows_nothing_predicted_nothing() -> None:
    model, record = Categorizer(min_count=1), correction("gold", categories=["metal"])
    _, effect = apply_and_describe(model, record, prepared(model, record))
    assert effect is not None
    assert (effect["predicted"], effect["mistakes"]) == ([], ["metal"])


def test_mistakes_are_the_difference_of_prediction_and_correction() -> None:
    body = {"accept": ["a", "b"], "reject": ["c", "d"]}
    assert find_mistakes(["b", "c", "e"], body) == {"a", "c"}


def test_a_replay_needs_all_features_and_the_order_of_those_that_the_first_model_did_not_know() -> None:
    first, model, text = taught(), taught(), "silver zinc gold ore and zinc dust"
    room = first.state.features.vocabulary.count - first.state.features.has_constant + 2
    model.state.features.max_features = first.state.features.max_features = room
    model.learn(text, ["metal"])
    record = correction(text, model.state.features.count_features(text), accept=["metal"], reject=[])
    needed = select_needed_features(record, first)
    assert needed == [("and", 1), ("gold", 1), ("silver", 1), ("zinc", 2), ("ore", 1), ("dust", 1)]
    apply(first, record, prepared(first, record._replace(text=None, features=needed)))
    assert first.digest() == model.digest()
    assert select_needed_features(record._replace(undone_by=9), taught()) == []


def test_undo_gives_the_same_model_though_a_text_was_forgotten_while_the_vocabulary_was_full(tmp_path: Path) -> None:
    digests = []
    for is_forgotten in (False, True):
        path = tmp_path / f"{is_forgotten}.thresher"
        Categorizer(min_count=1, max_features=14).fit(TEXTS, CATEGORIES).save(path)
        with JournaledModel(path) as journaled_model:
            journaled_model.correct("a", "ships sail harbour pier dock crude", accept=["metal"])
            journaled_model.correct("b", "bosun mast keel crude", accept=["grain"])
            assert "bosun" not in journaled_model.model.state.features.names
            if is_forgotten:
                journaled_model.forget_text(2)
            journaled_model.undo("c", [1])
            assert "bosun" in journaled_model.model.state.features.names
            digests.append(journaled_model.model.digest())
    assert digests[0] == digests[1]


def test_a_correction_is_applied_though_there_is_no_memory_to_predict_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Categorizer, texts: Any) -> Any:
        raise MemoryError

    one, other, record = taught(), taught(), correction("tin mine", accept=["tin"], reject=[])
    apply(one, record, prepared(one, record))
    monkeypatch.setattr(Categorizer, "predict", fail)
    found, effect = apply_and_describe(other, record, prepared(other, record))
    assert found is not None
    assert effect is None
    assert one.digest() == other.digest()
