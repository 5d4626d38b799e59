"""The one object that users meet: what each method takes, gives and changes."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.typing import NDArray

from support.corpora import Corpus, made_up, reuters
from support.paths import TESTS
from support.problems import assert_same_bits
from thresher import BalancedWinnow, Categorizer
from thresher.errors import TextError
from thresher.kernels.reproducible_math import logarithm
from thresher.model import online_learning
from thresher.text.feature_checks import CONSTANT
from thresher.text.vectorizer import TextFeatures

TRAIN, TEST = made_up(), made_up(200, seed=1)
SINGLE = made_up(single=True)
CHESS = "the new chess opening was a gambit and the grandmaster said the queen fell to the knight in a report"
LEARNERS = ("balanced-winnow", "regularized-winnow", "positive-winnow", "perceptron")
PRESETS = ("paper", "default")


def fitted(**settings: Any) -> Categorizer:
    return Categorizer(**settings).fit(*TRAIN)


def raw(model: Categorizer, categories: list[str] | None = None, texts: list[str] = TEST.texts) -> NDArray[np.float64]:
    """Return the raw scores of some categories, by default of all."""
    columns = [model.categories.index(name) for name in categories or model.categories]
    return model.decision_function(texts, raw=True)[:, columns]


def f1(predicted: list[list[str]], corpus: Corpus) -> float:
    right = sum(len({*found} & {*true}) for found, true in zip(predicted, corpus.categories, strict=True))
    return 2 * right / (sum(map(len, predicted)) + sum(map(len, corpus.categories)))


# What the methods give.


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_trained_model_categorizes_unseen_texts(preset: str, learner: str) -> None:
    strength = {"strength": "cosine"} if learner == "regularized-winnow" else {}  # it wants rows of one length
    assert f1(fitted(preset=preset, learner=learner, **strength).predict(TEST.texts), TEST) > 0.95


def test_methods_that_change_a_model_return_it() -> None:
    model = Categorizer()
    assert model.fit(*TRAIN) is model
    assert model.partial_fit(*TEST) is model
    assert model.rename_category("grain", "cereals") is model
    assert model.merge_categories(["energy", "metals"], "commodities") is model
    assert model.retire_category("ships") is model


def test_predict_lists_the_accepted_names_best_first() -> None:
    model = fitted()
    scores = model.decision_function(TEST.texts)
    for names, row in zip(model.predict(TEST.texts), scores, strict=True):
        order = sorted(range(len(row)), key=lambda c: -row[c])
        assert names == [model.categories[c] for c in order if row[c] > 1]


def test_scores_and_probabilities_have_one_row_per_text_and_one_column_per_category() -> None:
    model = fitted()
    for array in (
        model.decision_function(TEST.texts),
        model.decision_function(TEST.texts, raw=True),
        model.predict_proba(TEST.texts),
        model.predict_proba(TEST.texts, paper=True),
    ):
        assert array.shape == (200, 6)
        assert array.dtype == np.float64
    assert model.categories == sorted(model.categories)
    assert (model.predict([]), model.rank([]), model.rank_documents("grain", [])) == ([], [], [])
    assert model.decision_function([]).shape == model.predict_proba([]).shape == (0, 6)


def test_a_reported_score_is_one_plus_the_raw_score_minus_the_threshold() -> None:
    model = fitted()
    thresholds = model.state.decisions.thresholds
    assert len(set(thresholds.tolist())) > 1
    np.testing.assert_allclose(model.decision_function(TEST.texts), 1 + raw(model) - thresholds, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.decision_function(TEST.texts) > 1, raw(model) > thresholds)


def test_rank_gives_every_category_with_score_and_probability_best_first() -> None:
    model = fitted()
    scores, chances = model.decision_function(TEST.texts), model.predict_proba(TEST.texts)
    for i, ranked in enumerate(model.rank(TEST.texts)):
        assert sorted(name for name, _, _ in ranked) == model.categories
        assert [score for _, score, _ in ranked] == sorted(scores[i], reverse=True)
        for name, score, chance in ranked:
            assert (score, chance) == (
                scores[i, model.categories.index(name)],
                chances[i, model.categories.index(name)],
            )
    assert model.rank(TEST.texts, top=2) == [ranked[:2] for ranked in model.rank(TEST.texts)]


def test_rank_documents_orders_the_texts_by_one_category() -> None:
    model = fitted()
    ranked = model.rank_documents("grain", TEST.texts)
    column = model.categories.index("grain")
    assert sorted(i for i, _, _ in ranked) == list(range(200))
    assert [score for _, score, _ in ranked] == sorted((score for _, score, _ in ranked), reverse=True)
    for i, score, chance in ranked:
        assert score == model.decision_function([TEST.texts[i]])[0, column]
        assert chance == model.predict_proba([TEST.texts[i]])[0, column]


def test_the_paper_s_probability_is_the_sigmoid_of_the_raw_score() -> None:
    model = fitted()
    np.testing.assert_allclose(model.predict_proba(TEST.texts, paper=True), 1 / (1 + np.exp(-raw(model))), rtol=1e-12)


def test_the_goal_of_the_thresholds_leaves_the_probabilities_as_they_are() -> None:
    precise, thorough = (fitted(thresholds=goal, analyser="words") for goal in ("precision:0.95", "recall:0.95"))
    assert (precise.predict_proba(TEST.texts) == thorough.predict_proba(TEST.texts)).all()
    assert precise.predict(TEST.texts) != thorough.predict(TEST.texts)


def test_one_text_at_a_time_scores_as_all_at_once() -> None:
    for model in (fitted(), fitted(preset="paper")):
        alone = np.concatenate([model.decision_function([text], raw=True) for text in TEST.texts[:20]])
        assert alone.tobytes() == raw(model)[:20].tobytes()


# What learning takes.


@pytest.mark.parametrize("kind", [tuple, set, frozenset, lambda names: iter(reversed(names))])
def test_categories_come_in_any_collection_and_order(kind: Callable[[list[str]], Iterable[str]]) -> None:
    model = Categorizer(preset="paper").fit(TRAIN.texts, [kind(names) for names in TRAIN.categories])
    assert model.digest() == fitted(preset="paper").digest()


def test_one_name_is_a_collection_of_one() -> None:
    model = Categorizer(preset="paper").fit(SINGLE.texts, [names[0] for names in SINGLE.categories])
    assert model.digest() == Categorizer(preset="paper").fit(*SINGLE).digest()
    for accept in ("grain", ["grain"], ("grain",), {"grain"}, iter(["grain"])):
        assert fitted().learn(CHESS, accept=accept).mistakes == ["grain"]


def test_generators_are_accepted_like_lists() -> None:
    model = Categorizer().fit(iter(TRAIN.texts), iter(TRAIN.categories))
    assert model.digest() == fitted().digest()
    model.partial_fit(iter(TEST.texts), iter(TEST.categories))
    assert model.digest() == fitted().partial_fit(*TEST).digest()
    assert model.predict(iter(TEST.texts)) == model.predict(TEST.texts)


def test_the_order_of_sets_does_not_change_the_model() -> None:
    program = (
        "from support.corpora import made_up; from thresher import Categorizer; train, more = made_up(), "
        "made_up(30, seed=1)\n"
        "model = Categorizer(preset='paper').fit(train.texts, map(set, train.categories))\n"
        "model.partial_fit(more.texts, [{*names, 'one', 'two', 'three'} for names in more.categories])\n"
        "model.learn('some new words', accept={'four', 'five', 'six'}, reject={'one', 'two'}); print(model.digest())"
    )
    folder = str(TESTS)
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": folder},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_fields_other_than_title_and_body_are_features_of_their_own() -> None:
    texts = [{"body": text, "place": "oslo" if "grain" in c else "lima"} for text, c in zip(*TRAIN, strict=True)]
    model = Categorizer().fit(texts, TRAIN.categories)
    assert {"place:oslo", "place:lima", "oslo"} <= {*model.state.features.names}
    oslo, lima = model.decision_function([{"body": "", "place": "Oslo"}, {"body": "", "place": "Lima"}])
    assert oslo[1] > lima[1]
    plain = fitted()
    assert plain.predict([{"title": "crude oil", "body": "and wheat"}]) == plain.predict(["crude oil\nand wheat"])


def test_the_paper_s_preset_is_its_learner_run_by_hand() -> None:
    model = fitted(preset="paper")
    rows = TextFeatures(min_count=3).fit(TRAIN.texts)
    names = sorted({name for row in TRAIN.categories for name in row})
    learner = BalancedWinnow().fit(rows, [[names.index(name) for name in row] for row in TRAIN.categories])
    assert_same_bits(model.state.learner.weights_, learner.weights_)
    assert_same_bits(raw(model, texts=TRAIN.texts), learner.score(rows))
    accepted = [[names[c] for c in np.flatnonzero(row > 1)] for row in learner.score(rows)]
    assert [sorted(found) for found in model.predict(TRAIN.texts)] == accepted


def test_progress_reports_every_stage() -> None:
    steps: list[Any] = []
    Categorizer().fit(*TRAIN, progress=steps.append)
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages[0].startswith("choose: words")
    assert stages[-1] == "learn"
    assert all(0 <= step.done <= step.total for step in steps)
    without_trials: list[Any] = []
    Categorizer(preset="fast").fit(*TRAIN, progress=without_trials.append)
    assert list(dict.fromkeys(step.stage for step in without_trials)) == ["read", "learn"]


def test_fitting_again_forgets_what_was_learned() -> None:
    model = Categorizer().fit(*TEST)
    model.learn(CHESS, accept=["chess"])
    assert model.fit(*TRAIN).digest() == fitted().digest()


# Going on.


def test_new_words_and_categories_may_appear_at_any_time() -> None:
    model = Categorizer(min_count=1, bias=0)
    model.learn("oil prices", accept=["energy"])
    model.partial_fit(["wheat and corn"], ["grain"])
    assert model.categories == ["energy", "grain"]
    assert model.state.features.names == ["oil", "prices", "wheat", "and", "corn"]
    assert model.predict(["oil prices", "wheat and corn"]) == [["energy"], ["grain"]]
    assert model.fit(*TRAIN).partial_fit([CHESS], [["chess", "games"]]).categories[-2:] == ["chess", "games"]


def test_a_given_policy_applies_without_fit() -> None:
    model = Categorizer(policy="exactly-one").partial_fit(["crude oil", "wheat", "wheat market"], ["a", "b", "b"])
    assert [len(names) for names in model.predict(["oil wheat", "market", "crude"])] == [1, 1, 1]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_new_category_accepts_what_it_was_taught_and_nothing_else(preset: str, learner: str) -> None:
    model = fitted(preset=preset, learner=learner)
    model.learn(CHESS, accept=["chess"])
    assert model.predict([CHESS]) == [["chess"]]
    assert sum("chess" in names for names in model.predict(made_up(1000, seed=2).texts)) <= 10


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_new_category_accepts_few_other_news_stories(preset: str, learner: str, tmp_path: Path) -> None:
    stories = reuters(2000)
    Categorizer(preset=preset, learner=learner, max_passes=20).fit(*stories.part(0, 600)).save(tmp_path / "m")
    for text in stories.texts[600:1000:80]:  # long ones and short ones
        model = Categorizer.load(tmp_path / "m")
        model.learn(text, accept=["new"])
        assert "new" in model.predict([text])[0]
        others = [other for other in stories.texts[1000:2000] if other != text]
        assert sum("new" in names for names in model.predict(others)) <= 10


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", ["chess", "grain"])
def test_a_correction_leaves_the_scores_of_other_categories_alone(preset: str, name: str) -> None:
    model = fitted(preset=preset)
    others = [other for other in model.categories if other != name]
    before = raw(model, others, [*TEST.texts, CHESS])
    assert model.learn(CHESS, accept=[name]).mistakes == [name]
    assert raw(model, others, [*TEST.texts, CHESS]).tobytes() == before.tobytes()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_batch_is_as_good_as_one_text_after_another(preset: str) -> None:
    batch, singles = fitted(preset=preset).partial_fit(*TEST), fitted(preset=preset)
    for text, names in zip(*TEST, strict=True):
        singles.partial_fit([text], [names])
    assert singles.digest() == batch.digest()


def test_a_label_set_is_complete_but_a_correction_is_not() -> None:
    text, labels = SINGLE.texts[0], SINGLE.categories[0]
    model = fitted(preset="paper")
    model.partial_fit([text] * 30, [["grain"]] * 30)
    assert model.predict([text]) == [["grain"]]
    model = fitted(preset="paper")
    while model.learn(text, accept=["grain"]).mistakes:
        pass
    assert sorted(model.predict([text])[0]) == sorted({*labels, "grain"})


def test_an_empty_batch_changes_nothing() -> None:
    model = fitted()
    before = model.digest()
    assert model.partial_fit([], []).digest() == before
    assert Categorizer().partial_fit([], []).categories == []


# Corrections.


def weights_by_word(model: Categorizer, name: str) -> dict[str, float]:
    names = model.state.features.names
    weights = model.state.learner.category_weights(model.categories.index(name), np.arange(len(names)), last=True)
    return dict(zip(names, weights.tolist(), strict=True))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_correction_reports_what_it_changed(preset: str) -> None:
    model = fitted(preset=preset)
    text = "wheat corn harvest bushel and the novel sorghum"
    before = {name: weights_by_word(model, name) for name in ("grain", "ships", "money")}
    found = model.learn(text, accept=["ships", "malting"], reject=["grain", "money"])
    assert {"malting", "ships", "grain"} <= {*found.mistakes} <= {"malting", "ships", "grain", "money"}
    assert found.new_categories == ["malting"]
    assert {*found.promoted} == {"malting", "ships"}
    assert "grain" in found.demoted
    assert all(change.before == 0 < change.after for change in found.promoted["malting"])
    known = {"ships": found.promoted["ships"]} | found.demoted  # a new category learns on, from the documents kept
    for name, changes in known.items():
        after, old = weights_by_word(model, name), before[name]
        assert {change.name for change in changes} <= {*text.split()}
        assert all(change.before == old.get(change.name, 0.0) for change in changes)
        assert all(change.after == after[change.name] for change in changes)
        changed = {word for word in after if after[word] != old.get(word, 0.0)} & {*text.split()}
        assert {change.name for change in changes} == changed
    assert all(change.after > change.before for change in found.promoted["ships"])
    assert all(change.after < change.before for change in found.demoted["grain"])


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_correction_moves_the_score_in_its_direction_also_with_new_words(learner: str) -> None:
    model = fitted(preset="paper", learner=learner)
    unheard = " ".join(f"unheard{i}" for i in range(40))
    text = "wheat " * 30 + "flour " * 9 + unheard
    before = raw(model, ["grain", "ships"], [text])[0]
    model.learn(text, accept=["ships"], reject=["grain"])
    grain, ships = raw(model, ["grain", "ships"], [text])[0]
    assert grain < before[0]
    assert ships > before[1]
    assert "grain" not in model.predict([unheard])[0]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_correction_repeated_until_it_is_right_changes_nothing_more(preset: str, learner: str) -> None:
    model = fitted(preset=preset, learner=learner, average=False)
    for _ in range(300):  # Positive Winnow takes small steps
        found = model.learn(CHESS, accept=["grain"], reject=["energy"])
        if not found.mistakes:
            break
    assert "grain" in model.predict([CHESS])[0]
    before = raw(model)
    found = model.learn(CHESS, accept=["grain"], reject=["energy"])
    assert found.mistakes == found.new_categories == []
    assert found.promoted == found.demoted == {}
    assert raw(model).tobytes() == before.tobytes()


# Decisions.


def test_the_policy_follows_the_training_documents() -> None:
    several = Corpus(SINGLE.texts, [*SINGLE.categories[:-1], ["energy", "grain"]])
    assert fitted().state.decisions.policy == "above"  # some documents have no category
    assert Categorizer().fit(*SINGLE).state.decisions.policy == "exactly-one"
    assert Categorizer().fit(*several).state.decisions.policy == "at-least-one"
    assert Categorizer(policy="at-most-2").fit(*SINGLE).state.decisions.policy == "at-most-2"
    assert Categorizer(preset="paper").fit(*SINGLE).state.decisions.policy == "above"


def test_policies_bound_how_many_categories_a_text_gets() -> None:
    def counts(policy: str) -> set[int]:
        return {len(names) for names in fitted(policy=policy).predict(TEST.texts)}

    assert counts("exactly-one") == {1}
    assert 0 not in counts("at-least-one")
    assert counts("at-most-1") == {0, 1}
    assert max(counts("at-most-2")) == 2
    assert 0 in counts("above")


def test_thresholds_never_see_the_texts_that_are_predicted() -> None:
    first, second = fitted(), fitted()
    first.predict(TEST.texts)
    second.rank(made_up(50, seed=3).texts)
    assert first.state.decisions.thresholds.tobytes() == second.state.decisions.thresholds.tobytes()
    assert first.state.decisions.slopes.tobytes() == second.state.decisions.slopes.tobytes()
    tuned = first.state.decisions.thresholds.copy()
    first.predict(SINGLE.texts)
    first.predict_proba(TEST.texts)
    first.explain(TEST.texts[0])
    assert first.state.decisions.thresholds.tobytes() == tuned.tobytes()


def test_a_precision_goal_gives_higher_thresholds_than_a_recall_goal() -> None:
    noisy = Corpus(TRAIN.texts, [names if i % 4 else TRAIN.categories[i - 1] for i, names in enumerate(TRAIN[1])])

    def thresholds(goal: str) -> NDArray[np.float64]:
        return Categorizer(thresholds=goal).fit(*noisy).state.decisions.thresholds

    assert thresholds("fixed").tolist() == [0.7] * 6
    precise, complete = thresholds("precision:0.95"), thresholds("recall:0.95")
    assert (precise >= complete).all()
    assert np.count_nonzero(precise > complete) >= 5


# Looking.


@pytest.mark.parametrize(
    "settings", [{}, {"preset": "paper"}, {"strength": "tfidf"}, {"learner": "perceptron"}], ids=str
)
def test_predicting_and_explaining_change_nothing(settings: dict[str, Any], tmp_path: Path) -> None:
    model = fitted(**settings)
    model.learn(CHESS, accept=["chess"])
    before = model.digest()
    for text in made_up(1000, seed=4).texts:
        model.predict([text])
    for text in TEST.texts[:100]:
        model.explain(text + " unheard-of")
    for _ in range(20):
        assert model.save(tmp_path / "m") == before
    model.rank(TEST.texts)
    model.rank_documents("chess", TEST.texts)
    model.predict_proba(TEST.texts, paper=True)
    model.strongest_words("chess")
    for _ in range(100):
        with pytest.raises(TextError):
            model.learn("quite new words", reject=["nothing like it"])
        with pytest.raises(TextError):
            model.partial_fit(["other new words", ""], ["grain", "grain"])
    assert model.digest() == before


# Renaming, merging, retiring.


def test_a_renamed_category_keeps_all_but_its_name() -> None:
    model = fitted()
    before, predicted = raw(model), model.predict(TEST.texts)
    model.rename_category("grain", "cereals")
    assert raw(model).tobytes() == before.tobytes()
    renamed = [["cereals" if name == "grain" else name for name in names] for names in predicted]
    assert model.predict(TEST.texts) == renamed
    assert model.explain(TEST.texts[0], "cereals").category == "cereals"
    assert fitted().digest() == model.rename_category("cereals", "grain").digest()


def test_a_retired_category_leaves_the_others_alone() -> None:
    model = fitted()
    others = [name for name in model.categories if name != "grain"]
    before, predicted = raw(model, others), model.predict(TEST.texts)
    model.retire_category("grain")
    assert model.categories == others
    assert raw(model).tobytes() == before.tobytes()
    assert model.predict(TEST.texts) == [[name for name in names if name != "grain"] for names in predicted]
    assert model.learn("wheat", accept=["grain"]).new_categories == ["grain"]


def test_without_categories_nothing_is_predicted(tmp_path: Path) -> None:
    model = Categorizer(min_count=1).fit(["crude oil", "wheat"], ["energy", "grain"])
    model.retire_category("energy").retire_category("grain")
    assert model.predict(["crude oil"]) == [[]]
    with pytest.raises(TextError, match="no categories"):
        model.explain("crude oil")
    model.save(tmp_path / "m")
    assert Categorizer.load(tmp_path / "m").digest() == model.digest()
    model.learn("crude oil", accept=["fuel"])
    assert model.predict(["crude oil"]) == [["fuel"]]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_merged_category_accepts_the_texts_of_both(preset: str) -> None:
    model = fitted(preset=preset)
    others = ["metals", "money", "ships", "trade"]
    before = raw(model, others)
    model.merge_categories(["energy", "grain"], "commodities")
    assert model.categories == ["commodities", *others]
    assert raw(model, others).tobytes() == before.tobytes()
    joined = [
        list(dict.fromkeys("commodities" if name in ("energy", "grain") else name for name in names))
        for names in TEST.categories
    ]
    assert f1(model.predict(TEST.texts), Corpus(TEST.texts, joined)) > 0.9


def test_merging_into_one_of_them_keeps_its_name() -> None:
    assert fitted().merge_categories(["energy", "grain"], "grain").categories[0] == "grain"


# tf-idf.


def test_idf_is_frozen_at_fit_and_saved(tmp_path: Path) -> None:
    model = fitted(strength="tfidf")
    idf = model.state.idf.copy()
    assert idf[model.state.features.names.index("the")] < idf[model.state.features.names.index("oil")]
    model.partial_fit(*TEST)
    model.learn(CHESS, accept=["chess"])
    assert model.state.idf[: len(idf)].tobytes() == idf.tobytes()
    model.save(tmp_path / "m")
    assert Categorizer.load(tmp_path / "m").state.idf.tobytes() == model.state.idf.tobytes()


def test_a_new_word_counts_as_seen_in_one_document() -> None:
    model = Categorizer(strength="tfidf", min_count=1, bias=0).fit(
        ["oil gas oil", "oil rose", "wheat"], ["a", "a", "b"]
    )
    once = model.state.idf[model.state.features.names.index("wheat")]
    model.learn("barley barley", accept=["b"])
    assert model.state.idf[-1] == pytest.approx(once, rel=1e-6)
    assert once / model.state.idf[0] == pytest.approx((1 + logarithm(4 / 2)) / (1 + logarithm(4 / 3)), rel=1e-6)


def test_strengths_are_square_roots_where_there_was_no_fit() -> None:
    model = Categorizer(strength="tfidf", bias=0)
    model.learn("oil oil oil oil gas", accept=["energy"])
    strengths = {word.name: word.strength for word in model.explain("oil oil oil oil gas").words}
    assert strengths == {"oil": 2.0, "gas": 1.0}
    assert len(model.state.idf) == 0


# The constant feature.


def test_a_token_spelled_like_the_constant_is_left_out(tmp_path: Path) -> None:
    texts, labels = ["is (always) true", "is never true"] * 6, ["yes", "no"] * 6
    model = Categorizer(analyser=str.split, min_count=1).fit(texts, labels)
    model.learn("(always) so", accept=["yes"])
    assert model.state.features.names.count(CONSTANT) == 1
    model.save(tmp_path / "m")
    assert Categorizer.load(tmp_path / "m", analyser=str.split).digest() == model.digest()


def test_empty_texts_teach_nothing_in_fit() -> None:
    texts, labels = [*TRAIN.texts, *[""] * 50], [*TRAIN.categories, *[["energy"]] * 50]
    model, other = (Categorizer(thresholds="fixed", choose="nothing").fit(*data) for data in ((texts, labels), TRAIN))
    text = TEST.texts[0]
    assert model.decision_function([text])[0, 0] == pytest.approx(other.decision_function([text])[0, 0], abs=0.1)


def test_an_interrupted_first_correction_leaves_the_model_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Categorizer()
    digest = model.digest()
    monkeypatch.setattr(type(model.state.learner), "learn_rows", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        model.learn("oil rose", accept=["energy"])
    assert model.digest() == digest


def test_the_constant_is_not_counted_among_the_most_features() -> None:
    model = Categorizer(max_features=4, min_count=1).fit(*TRAIN)
    assert len(model.state.features.names) == 5
    cold = Categorizer(max_features=2)
    cold.partial_fit(["oil rose"], ["energy"])
    assert cold.state.features.names == [CONSTANT, "oil", "rose"]


def test_a_field_that_is_not_text_is_refused_in_one_line() -> None:
    texts: list[Any] = [{"title": None, "body": "oil"}] * 3
    for preset in ("fast", "default"):
        with pytest.raises(TextError, match="a text must be str or fields of str"):
            Categorizer(preset=preset).fit(texts, ["energy"] * 3)


@pytest.mark.parametrize("place", ["weights_at", "strengthen_rows", "extend_idf"])
def test_an_interrupt_while_new_words_are_added_leaves_the_model_as_it_was(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    model = fitted()
    before = model.digest()
    with monkeypatch.context() as patch:
        patch.setattr(online_learning, place, interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.learn("unheard of words zzzz yyyy wheat", accept=model.categories[:1])
    assert model.digest() == before
    fresh = fitted()
    assert (
        model.decision_function(["zzzz yyyy wheat"]).tobytes() == fresh.decision_function(["zzzz yyyy wheat"]).tobytes()
    )


def test_a_copy_does_not_change_with_the_original() -> None:
    model = Categorizer(preset="fast", min_count=1).fit(["oil", "wheat"], ["energy", "grain"])
    twin = copy(model)
    model.fit(["gold", "ship"], ["metals", "trade"])
    assert twin.categories == ["energy", "grain"]
    assert twin.predict(["oil"]) == [["energy"]]


def test_a_category_added_between_two_batches_is_scored_in_the_next() -> None:
    model = Categorizer(preset="fast", min_count=1).fit(["oil", "wheat"] * 3, ["energy", "grain"] * 3)

    def texts() -> Iterator[str]:
        model.add_category("new")
        yield "oil"

    assert model.decision_function(texts()).shape == (1, 3)
    assert [i for i, *_ in model.rank_documents("energy", iter(["oil"]))] == [0]
