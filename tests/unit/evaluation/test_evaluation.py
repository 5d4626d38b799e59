"""Held-out, cross-validated and prequential evaluation, on made-up corpora; and what JSON gets of it."""

import json
import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from support.corpora import Corpus, made_up
from thresher import metrics
from thresher.categorizer import Categorizer
from thresher.datasets.document import Document
from thresher.errors import DataError, NotFittedError, ParameterError, RowsError, TextError
from thresher.evaluation import Evaluation, Prequential, compare, cross_validate, evaluate, prequential
from thresher.metrics import significance
from thresher.support.progress import Step


def blurred(corpus: Corpus) -> Corpus:
    """Give every fifth text the categories of the one before, so that no model gets all of them right."""
    labels = [corpus.categories[i - (i % 5 == 4)] for i in range(len(corpus.texts))]
    return Corpus(corpus.texts, labels)


TRAIN, TEST = blurred(made_up(300, seed=0)), blurred(made_up(120, seed=1))


def documents_of(corpus: Corpus) -> list[Document]:
    pairs = zip(corpus.texts, corpus.categories, strict=True)
    return [Document(text, tuple(names), f"d{number}") for number, (text, names) in enumerate(pairs)]


@cache
def model() -> Categorizer:
    """Return a model that no test may teach."""
    return Categorizer().fit(*TRAIN)


@cache
def held_out() -> Evaluation:
    return evaluate(model(), documents_of(TEST))


def worked(fold_of: Any = None) -> Evaluation:
    """Return an evaluation small enough to be worked by hand; the third category has no positive."""
    truth = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]], dtype=np.bool_)
    scores = np.array([[1.5, 0.2, 0.1], [0.8, 1.2, 0.0], [1.1, 0.9, 1.3], [0.5, 0.4, 0.3]])
    return Evaluation(["energy", "grain", "ships"], truth, scores, scores > 1, list("abcd"), {}, fold_of)


# -- held-out documents ------------------------------------------------------------------------------------------------


def test_arrays_hold_what_the_model_says_and_the_documents_have() -> None:
    found = held_out()
    assert found.categories == model().categories
    assert found.ids == [f"d{number}" for number in range(120)]
    assert (found.scores == model().decision_function(TEST.texts)).all()
    names = [sorted(found.categories[c] for c in np.flatnonzero(row)) for row in found.accepted]
    assert names == [sorted(predicted) for predicted in model().predict(TEST.texts)]
    assert [[found.categories[c] for c in np.flatnonzero(row)] for row in found.truth] == TEST.categories


def test_decide_gives_scores_and_decisions_of_one_scoring() -> None:
    scores, accepted = model().decide(iter(TEST.texts))
    assert (scores == model().decision_function(TEST.texts)).all()
    assert (accepted == (scores > 1)).all()  # the policy of this corpus is "above"
    assert [part.shape for part in model().decide([])] == [(0, 6), (0, 6)]
    with pytest.raises(NotFittedError):
        Categorizer().decide(["oil"])


def test_accepted_follows_the_policy() -> None:
    single = made_up(100, seed=2, single=True)
    choosy = Categorizer().fit(*single)
    found = evaluate(choosy, documents_of(single.part(0, 50)))
    assert choosy.state.decisions.policy == "exactly-one"
    assert (found.accepted.sum(axis=1) == 1).all()


def test_a_text_without_a_known_word_is_accepted_nowhere() -> None:
    found = evaluate(model(), [Document("zzz", ("grain",)), Document("", ())])
    assert not found.accepted.any()
    assert found.counts().false_negatives.sum() == 1


def test_evaluating_twice_is_the_same_and_teaches_nothing() -> None:
    before = model().digest()
    assert evaluate(model(), documents_of(TEST)).summary() == held_out().summary()
    assert model().digest() == before


def test_documents_may_come_as_a_stream_of_any_length() -> None:
    def stream() -> Iterator[Document]:
        for _ in range(10):
            yield from documents_of(TEST)

    found = evaluate(model(), stream())
    assert found.truth.shape == (1200, 6)
    assert (found.scores[-120:] == held_out().scores).all()
    assert found.pooled_break_even == held_out().pooled_break_even


def test_fields_are_read_where_there_are_some() -> None:
    titled = Categorizer(analyser=["words", "title"], min_count=1).fit(
        [{"title": "oil", "body": "rose"}, {"title": "wheat", "body": "fell"}] * 5, ["energy", "grain"] * 5
    )
    found = evaluate(titled, [Document("", ("grain",), fields={"title": "wheat", "body": "rose"})])
    assert found.scores.tolist() == titled.decision_function([{"title": "wheat", "body": "rose"}]).tolist()


def test_documents_without_a_name_are_called_by_place_or_number() -> None:
    found = evaluate(model(), [Document("oil", place="news.csv:2"), Document("oil"), Document("oil", id="z")])
    assert found.ids == ["news.csv:2", "2", "z"]


def test_unknown_categories_are_reported_and_count_as_missed() -> None:
    documents = [Document("oil crude", ("energy", "weather")), Document("snow", ("weather", "sports"))]
    found = evaluate(model(), documents)
    assert found.unknown_categories == {"sports": 1, "weather": 2}
    assert found.categories == [*model().categories, "sports", "weather"]
    assert not found.accepted[:, -2:].any()
    assert found.scores[:, -2:].max() < found.scores[:, :-2].min()
    summary = found.summary()
    assert summary["unknown_categories"] == {"sports": 1, "weather": 2}
    assert summary["micro"]["recall"] == 0.25
    assert found.of_categories(model().categories).summary()["micro"]["recall"] == 1.0
    assert found.of_categories(model().categories).unknown_categories == {}
    assert found.of_documents([0]).unknown_categories == {"weather": 1}


def test_progress_reports_how_many_documents_are_read() -> None:
    steps: list[Step] = []
    evaluate(model(), documents_of(TEST) * 10, progress=steps.append)
    assert steps == [Step("evaluate", 1000, 1200), Step("evaluate", 1200, 1200)]


def test_no_documents_and_unfitted_models_are_refused() -> None:
    with pytest.raises(DataError, match="no documents"):
        evaluate(model(), [])
    with pytest.raises(NotFittedError):
        evaluate(Categorizer(), documents_of(TEST))


# -- the measures ------------------------------------------------------------------------------------------------------


def test_summary_by_hand() -> None:
    found = worked().summary()
    assert (found["documents"], found["categories"]) == (4, 3)
    assert found["micro"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5}
    assert found["macro"] == {"precision": 0.75, "recall": 0.5, "f1": (0.5 + 2 / 3) / 2}
    assert found["pooled_break_even"] == 0.5  # the best four pairs: 1.5 right, 1.3, 1.2 right, 1.1
    assert found["micro_break_even"] == found["macro_break_even"] == 0.75
    assert found["exactly_right"] == 0.5
    assert found["ranking"]["precision_at_1"] == 2 / 3
    assert found["unknown_categories"] == {}
    assert "folds" not in found
    assert "intervals" not in found


def test_rows_of_categories_by_hand() -> None:
    energy, grain, ships = worked().summary()["per_category"]
    assert energy == {
        "category": "energy",
        "positives": 2,
        "accepted": 2,
        "true_positives": 1,
        "false_positives": 1,
        "false_negatives": 1,
        "true_negatives": 1,
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "break_even": 0.5,
        "average_precision": pytest.approx(1 / 2 + 1 / 2 * 2 / 3),
    }
    assert (grain["break_even"], grain["average_precision"]) == (1.0, 1.0)
    assert (ships["break_even"], ships["average_precision"], ships["f1"]) == (None, None, 0.0)


def plain(value: Any) -> bool:
    """Tell whether a value holds nothing but what JSON has."""
    if isinstance(value, dict):
        return all(type(name) is str and plain(part) for name, part in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    return value is None or type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value))


def test_summaries_are_plain_json_without_nan() -> None:
    no = np.zeros((2, 1), dtype=np.bool_)
    nothing = Evaluation(["x"], no, np.zeros((2, 1)), no, ["a", "b"])
    for found in (held_out(), worked(np.array([0, 1, 0, 1])), nothing):
        assert plain(found.summary(intervals=True))
        json.dumps(found.summary(), allow_nan=False)
    assert plain(nothing.of_documents([]).summary())
    assert plain(prequential(Categorizer(), documents_of(TEST.part(0, 10))).summary())
    assert plain(prequential(Categorizer(), []).summary())


def test_measures_are_those_of_the_arrays() -> None:
    found, summary = held_out(), held_out().summary()
    assert summary["micro_break_even"] == metrics.micro_break_even(found.scores, found.truth)
    assert summary["macro_break_even"] == metrics.macro_break_even(found.scores, found.truth)
    assert summary["pooled_break_even"] == metrics.pooled_break_even(found.scores, found.truth) > 0.7


def test_the_summary_includes_intervals_on_request() -> None:
    summary = held_out().summary(intervals=True)
    assert summary["intervals"].keys() == {"pooled_break_even", "micro_f1", "macro_f1"}
    for name, point in (
        ("pooled_break_even", summary["pooled_break_even"]),
        ("micro_f1", summary["micro"]["f1"]),
        ("macro_f1", summary["macro"]["f1"]),
    ):
        assert summary["intervals"][name]["low"] <= point <= summary["intervals"][name]["high"]
    narrow = held_out().intervals(level=0.5, n_samples=200, seed=3)["micro_f1"]
    assert narrow.high - narrow.low < summary["intervals"]["micro_f1"]["high"] - summary["intervals"]["micro_f1"]["low"]


def test_confusions_pair_the_missed_with_what_was_accepted_instead() -> None:
    truth = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=np.bool_)
    accepted = np.array([[0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=np.bool_)
    found = Evaluation(["a", "b", "c"], truth, np.where(accepted, 2.0, 0.0), accepted, list("12345"))
    assert found.confusions() == [("a", "b", 2), ("b", "c", 2), ("a", "c", 1)]
    assert found.confusions(1) == [("a", "b", 2)]
    assert worked().confusions() == [("grain", "energy", 1), ("grain", "ships", 1)]


def test_an_evaluation_can_be_restricted_to_documents_or_categories() -> None:
    found = worked(np.array([0, 1, 0, 1]))
    few = found.of_documents(np.array([2, 0]))
    assert (few.ids, few.truth.tolist()) == (["c", "a"], found.truth[[2, 0]].tolist())
    assert few.fold_of is not None
    assert few.fold_of.tolist() == [0, 0]
    turned = found.of_categories(["ships", "energy"])
    assert (turned.scores == found.scores[:, [2, 0]]).all()
    assert [part.ids for part in found.by_fold()] == [["a", "c"], ["b", "d"]]
    assert worked().by_fold()[0].ids == list("abcd")


def test_arrays_that_do_not_fit_are_refused() -> None:
    one = np.ones((1, 1), dtype=np.bool_)
    with pytest.raises(DataError, match="do not fit 2 documents and 1 categories"):
        Evaluation(["x"], one, np.ones((1, 1)), one, ["a", "b"])
    with pytest.raises(RowsError, match="shapes differ"):
        Evaluation(["x"], one, np.ones((2, 1)), one, ["a"])


# -- cross-validation --------------------------------------------------------------------------------------------------


@cache
def cross_validated() -> Evaluation:
    return cross_validate(documents_of(TRAIN.part(0, 150)), folds=3)


def test_each_document_is_scored_by_a_model_of_the_other_folds() -> None:
    found, documents = cross_validated(), documents_of(TRAIN.part(0, 150))
    assert found.ids == [document.id for document in documents]
    assert found.fold_of is not None
    assert np.bincount(found.fold_of).tolist() == [50, 50, 50]
    inside, outside = np.flatnonzero(found.fold_of != 1), np.flatnonzero(found.fold_of == 1)
    alone = Categorizer().fit([TRAIN.texts[i] for i in inside], [TRAIN.categories[i] for i in inside])
    scores, accepted = alone.decide([TRAIN.texts[i] for i in outside])
    assert (found.scores[outside] == scores).all()
    assert (found.accepted[outside] == accepted).all()


def test_cross_validated_break_even_is_below_that_of_resubstitution() -> None:
    documents = documents_of(TRAIN.part(0, 150))
    resubstituted = evaluate(Categorizer().fit(*TRAIN.part(0, 150)), documents)
    assert 0.6 < cross_validated().pooled_break_even < resubstituted.pooled_break_even


def test_folds_have_summaries_of_their_own() -> None:
    summary = cross_validated().summary()
    assert [fold["documents"] for fold in summary["folds"]] == [50, 50, 50]
    right = [fold["pooled_break_even"] for fold in summary["folds"]]
    assert min(right) <= summary["pooled_break_even"] + 0.05
    assert len(set(right)) > 1


def test_cross_validating_twice_is_the_same() -> None:
    assert cross_validate(documents_of(TRAIN.part(0, 150)), folds=3).summary() == cross_validated().summary()


def test_settings_and_preset_reach_the_models() -> None:
    documents = documents_of(TRAIN.part(0, 60))
    found = cross_validate(documents, folds=2, preset="paper", policy="exactly-one", max_passes=2)
    assert (found.accepted.sum(axis=1) == 1).all()
    with pytest.raises(ParameterError, match="no_such"):
        cross_validate(documents, folds=2, no_such=1)


def test_a_category_of_one_fold_alone_is_missed_and_reported() -> None:
    rare = [*documents_of(TRAIN.part(0, 40)), Document("snow and rain", ("weather",))]
    found = cross_validate(rare, folds=2, preset="paper")
    assert found.unknown_categories == {"weather": 1}
    assert found.categories == sorted(found.categories)
    weather = found.categories.index("weather")
    assert not found.accepted[-1, weather]
    assert found.counts().recall()[weather] == 0.0
    assert found.ids[-1] == "41"
    assert np.isfinite(found.scores).all()


def test_progress_names_the_fold() -> None:
    steps: list[Step] = []
    cross_validate(documents_of(TRAIN.part(0, 40)), folds=2, preset="paper", progress=steps.append)
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages[0].startswith("fold 1/2: ")
    assert stages[-1] == "fold 2/2: evaluate"


@pytest.mark.parametrize("folds", [0, 1, -3, 2.0, True, "5"])
def test_folds_are_a_whole_number_from_two(folds: Any) -> None:
    with pytest.raises(ParameterError, match=r"invalid folds: .*"):
        cross_validate(documents_of(TEST), folds=folds)


def test_too_few_documents_for_the_folds_are_refused() -> None:
    with pytest.raises(DataError, match="2 documents, too few for 3 folds"):
        cross_validate(documents_of(TEST)[:2], folds=3)
    with pytest.raises(DataError, match="0 documents"):
        cross_validate([])


# -- learning one by one -----------------------------------------------------------------------------------------------


def test_prequential_evaluation_may_start_with_an_untrained_model() -> None:
    learner = Categorizer(preset="paper")
    found = prequential(learner, documents_of(made_up(200, single=True)), window=50)
    curve = found.curve()
    assert found.counts.shape == (200, 3)
    assert curve[-1] > curve[49] + 0.1
    first, last = found.mistakes[49], found.mistakes[-1] - found.mistakes[-51]
    assert last < first
    assert sorted(learner.categories) == ["energy", "grain", "metals", "money", "ships", "trade"]


def test_predicting_and_learning_equals_doing_so_by_hand() -> None:
    documents = documents_of(TEST.part(0, 30))
    tried, twin = Categorizer(preset="paper").fit(*TRAIN), Categorizer(preset="paper").fit(*TRAIN)
    found = prequential(tried, documents)
    for counts, document in zip(found.counts.tolist(), documents, strict=True):
        predicted, true = set(twin.predict([document.text])[0]), set(document.categories)
        assert counts == [len(predicted & true), len(predicted - true), len(true - predicted)]
        twin.partial_fit([document.text], [document.categories])
    assert tried.digest() == twin.digest()


def test_the_first_document_of_a_new_category_is_a_miss() -> None:
    documents = [
        Document("crude oil", ("energy",)),
        Document("snow rain", ("weather",)),
        Document("snow rain", ("weather",)),
    ]
    found = prequential(Categorizer(preset="paper"), documents)
    assert found.counts[:, 2].tolist() == [1, 1, 0]
    assert found.mistakes.tolist()[:2] == [1, 2]


def test_documents_with_nothing_to_learn_are_counted_as_empty() -> None:
    documents = [
        Document("of no category, while none is known"),
        Document("", ("grain",)),
        Document("wheat harvest", ("grain",)),
        Document("... !", ("grain",)),
        Document("wheat harvest", ("grain",)),
    ]
    learner = Categorizer(preset="paper")
    found = prequential(learner, documents)
    assert found.empty == 3
    assert found.counts[:, 2].tolist() == [0, 1, 1, 1, 0]
    assert learner.categories == ["grain"]


def test_a_document_that_cannot_be_learned_for_another_reason_is_an_error() -> None:
    with pytest.raises(TextError, match="is not a valid name"):
        prequential(Categorizer(), [Document("", ("a\nb",))])
    unreadable: Any = 7
    with pytest.raises(TextError, match="must be str"):
        prequential(Categorizer(), [Document(unreadable, ("grain",))])


def test_the_curve_looks_back_over_the_window_alone() -> None:
    counts = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 0, 0], [1, 1, 0]])
    found = Prequential(counts, window=2, empty=0)
    assert found.curve().tolist() == [0.0, 0.0, 0.5, 1.0, 0.8]
    assert found.mistakes.tolist() == [1, 2, 2, 2, 3]
    assert (found.documents_wrong, found.decisions_wrong) == (3, 4)
    assert Prequential(counts, window=9).curve()[-1] == found.summary()["micro_f1"] == 0.6
    assert [point["documents"] for point in found.summary()["curve"]] == [1, 2, 3, 4, 5]


def test_a_long_curve_is_thinned_for_json() -> None:
    found = Prequential(np.ones((5000, 3), dtype=np.int64), window=500)
    points = [point["documents"] for point in found.summary()["curve"]]
    assert (len(points), points[0], points[-1]) == (100, 1, 5000)


def test_progress_counts_documents_and_mistakes() -> None:
    steps: list[Step] = []
    found = prequential(Categorizer(preset="paper"), documents_of(TEST), progress=steps.append)
    assert [(step.stage, step.done, step.total) for step in steps] == [
        ("prequential", 100, 120),
        ("prequential", 120, 120),
    ]
    assert steps[-1].mistakes == found.documents_wrong


@pytest.mark.parametrize("window", [0, -1, 1.5, True, None])
def test_windows_are_whole_numbers_from_one(window: Any) -> None:
    with pytest.raises(ParameterError, match=r"invalid window: .*"):
        prequential(Categorizer(), [], window=window)


# -- two systems -------------------------------------------------------------------------------------------------------


def test_comparing_finds_the_better_of_two_models() -> None:
    weak = evaluate(Categorizer(preset="paper", max_passes=1).fit(*TRAIN.part(0, 12)), documents_of(TEST))
    found = compare(held_out(), weak, n_samples=200)
    assert found.keys() == {"pooled_break_even", "micro_f1"}
    for test in found.values():
        assert test.difference > 0.1
        assert test.p_value < 0.02
    assert compare(held_out(), weak, n_samples=200) == found
    assert compare(held_out(), held_out(), n_samples=20)["micro_f1"].p_value == 1.0


def test_models_with_other_categories_can_be_compared() -> None:
    other = Categorizer().fit(TRAIN.texts, [[name for name in names if name != "grain"] for names in TRAIN.categories])
    less = evaluate(other, documents_of(TEST))
    found = compare(held_out(), less, n_samples=100)
    assert less.unknown_categories.keys() == {"grain"}
    assert found["micro_f1"].difference > 0
    aligned = less.of_categories(held_out().categories)
    direct = significance.paired_test(held_out().truth, held_out().accepted, aligned.accepted, n_samples=100)
    assert found["micro_f1"] == direct


def test_only_evaluations_of_the_same_documents_are_compared() -> None:
    with pytest.raises(DataError, match="not of the same documents"):
        compare(held_out(), held_out().of_documents([1, 2]))
    other = Evaluation(*(getattr(worked(), name) for name in ("categories", "accepted", "scores", "accepted", "ids")))
    with pytest.raises(DataError, match="differ in the documents' categories"):
        compare(worked(), other)


def test_an_evaluation_reads_what_a_prediction_reads() -> None:
    """A dateline tells of a text, and is no part of it, for whoever reads it."""
    corpus = made_up(80)
    documents = [
        Document(text, tuple(names), fields={"title": text[:20], "dateline": "oil oil oil", "body": text[20:]})
        for text, names in zip(*corpus, strict=True)
    ]
    model = Categorizer().fit([d.content for d in documents], [d.categories for d in documents])
    accepted = evaluate(model, documents).accepted
    predicted = model.predict([d.content for d in documents])
    assert [{model.categories[c] for c in np.flatnonzero(row)} for row in accepted] == [set(row) for row in predicted]


def test_one_category_may_be_given_as_one_name() -> None:
    documents = [Document("crude oil", "energy"), Document("wheat", "grain")] * 5  # type: ignore[arg-type]
    assert prequential(Categorizer(), documents).counts.sum(axis=0).tolist() == [8, 0, 2]
