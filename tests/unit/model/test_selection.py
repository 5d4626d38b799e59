"""What the training documents choose of the settings, and that it is the same on every machine."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thresher import Categorizer
from thresher.datasets.reader import read_documents
from thresher.errors import ParameterError
from thresher.model import selection
from thresher.model.selection import EFFORTS, PAIRS_AND_LETTERS, choose_settings
from thresher.model.settings import ModelSettings
from thresher.support.progress import Step
from thresher.text.tokens import decode_names

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
HALVES = [["first"] if i % 2 else ["second"] for i in range(120)]


def shuffled(*more: str) -> list[str]:
    """Return texts of the same words in other orders; of the last ones each half has its own."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.permutation([*WORDS, *more[i % 2 : i % 2 + 1]])) for i in range(120)]


def titled() -> list[str]:
    """Return texts whose halves differ in nothing but whether a word stands in the title or in the body."""
    return [("yes\n" if i % 2 else "no\n") + body for i, body in enumerate(shuffled("yes", "no"))]


def in_pairs() -> list[str]:
    """Return texts whose halves differ in nothing but which words stand next to each other."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(120):
        own = [f"{a} {b}" for a, b in zip(WORDS[::2], WORDS[1::2] if i % 2 else [*WORDS[3::2], WORDS[1]], strict=True)]
        found.append(" ".join(rng.permutation(own)))
    return found


def chosen(texts: list[Any], categories: Any = HALVES, **settings: Any) -> Categorizer:
    given: dict[str, Any] = {"min_count": 1, "thresholds": "fixed"} | settings
    return Categorizer(**given).fit(texts, categories)


def allow(monkeypatch: pytest.MonkeyPatch, **limits: Any) -> None:
    monkeypatch.setitem(EFFORTS, "quick", EFFORTS["quick"]._replace(**limits))


def test_the_title_is_used_if_it_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, weights=100)  # too few for pairs of words, which would tell as well
    assert chosen(titled(), positive_cap=2.0).state.features.analyser.name == "words+title"


def test_fields_named_title_count_as_titles(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, weights=100)
    texts = [{"title": title, "body": body} for title, body in (text.split("\n") for text in titled())]
    assert chosen(texts).state.features.analyser.name == "words+title"


def test_pairs_of_words_are_used_if_they_help() -> None:
    assert chosen(in_pairs()).state.features.analyser.name == PAIRS_AND_LETTERS


def test_only_words_are_used_if_nothing_else_helps() -> None:
    model = chosen(["story\n" + text for text in shuffled("down", "up")], positive_cap=2.0)
    assert model.state.features.analyser.name == "words"
    assert model.chosen == {}
    assert len(model.trials) == 4
    assert [trial.chosen for trial in model.trials] == [True, False] * 2


def test_a_text_of_one_line_has_no_title_to_try() -> None:
    model = chosen(shuffled("down", "up"), positive_cap=2.0)
    assert [trial.settings for trial in model.trials] == [{}, {"analyser": PAIRS_AND_LETTERS}]


def test_settings_that_were_given_are_not_chosen() -> None:
    model = chosen(titled(), analyser="words", positive_cap=2.0)
    assert model.state.features.analyser.name == "words"
    assert model.trials == []


def test_frequent_categories_may_lower_the_push_of_positives() -> None:
    tried = {trial.settings.get("positive_cap") for trial in chosen(shuffled("down", "up")).state.trials}
    assert tried == {None, 1.0}


def test_thorough_trials_try_more() -> None:
    quick, thorough = (chosen(titled(), preset=preset) for preset in ("default", "best"))
    assert len(thorough.state.trials) > len(quick.state.trials)
    assert {trial.settings.get("positive_cap") for trial in thorough.state.trials} == {None, 1.0, 4.0}


def test_fast_and_paper_try_nothing() -> None:
    for preset in ("fast", "paper"):
        assert chosen(titled(), preset=preset).state.trials == []


def test_few_documents_choose_nothing() -> None:
    assert chosen(titled()[:60], HALVES[:60]).state.trials == []


def test_a_model_that_would_be_too_large_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, weights=50)
    assert chosen(in_pairs(), positive_cap=2.0).state.trials == []


def test_rare_features_are_left_out_of_a_large_model(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{text} few{i // 3}" for i, text in enumerate(in_pairs())]
    allow(monkeypatch, weights=200)
    model = Categorizer(thresholds="fixed", positive_cap=2.0).fit(texts, HALVES)
    assert model.chosen == {"analyser": PAIRS_AND_LETTERS, "min_count": 5}
    assert model.state.features.min_count == 5


def test_the_budget_is_counted_in_work(monkeypatch: pytest.MonkeyPatch) -> None:
    settings, labels = ModelSettings.complete("default", {"min_count": 1}), [[i % 2] for i in range(120)]

    def documents(work: float) -> set[int]:
        allow(monkeypatch, work=work)
        choice = choose_settings(settings, {"positive_cap"}, [*in_pairs()], labels, 2)
        return {trial.documents for trial in choice.trials}

    assert documents(1e9) == {120}
    active = selection.Trials(settings, in_pairs(), labels, 2, EFFORTS["quick"])._measure_active(
        {"analyser": PAIRS_AND_LETTERS}
    )
    per_document = active * (selection.count_trial_passes(settings.parameters.max_passes) * 2 + selection.READING)
    assert documents(110.5 * per_document) == {110}
    assert documents(1e3) == set()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_choices_do_not_depend_on_threads(n_threads: int) -> None:
    texts = titled()
    model, twin = chosen(texts, n_threads=n_threads), chosen(texts)
    assert model.trials == twin.state.trials
    assert model.digest() == twin.digest()


def test_choices_are_saved_and_a_loaded_model_chooses_again(tmp_path: Path) -> None:
    model = chosen(titled())
    digest = model.save(tmp_path / "m")
    twin = Categorizer.load(tmp_path / "m")
    assert (twin.state.chosen, twin.state.trials, twin.state.given) == (
        model.chosen,
        model.trials,
        model.state.given,
    )
    assert twin.digest() == digest
    assert twin.fit(in_pairs(), HALVES).digest() == chosen(in_pairs()).digest()


def test_progress_names_what_is_tried() -> None:
    steps: list[Step] = []
    Categorizer(min_count=1).fit(titled(), HALVES, progress=steps.append)
    assert f"choose: {PAIRS_AND_LETTERS}+title" in {step.stage for step in steps}


def test_an_unknown_way_to_choose_is_refused() -> None:
    with pytest.raises(ParameterError, match="invalid choose: 'slowly'"):
        Categorizer(choose="slowly")


def test_settings_are_described_in_one_line() -> None:
    assert selection.describe_settings({"analyser": "words", "min_count": 5}) == "words, min_count 5"


@pytest.mark.parametrize("is_title_taken", [True, False])
def test_features_that_a_trial_has_made_are_not_made_again_and_are_the_same(
    is_title_taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = titled() if is_title_taken else ["story\n" + text for text in shuffled("down", "up")]
    model = chosen(texts, thresholds="f1", positive_cap=2.0)
    assert bool(model.chosen) == is_title_taken
    monkeypatch.setattr(selection.Trials, "get_fitted", lambda *_: None)
    twin = chosen(texts, thresholds="f1", positive_cap=2.0)
    assert model.digest() == twin.digest()
    assert model.learn("down story", accept=["first"]) == twin.learn("down story", accept=["first"])
    assert model.digest() == twin.digest()


@pytest.mark.parametrize("richer", ["words+title", PAIRS_AND_LETTERS, f"{PAIRS_AND_LETTERS}+title"])
@pytest.mark.parametrize("min_count", [2, 5])
def test_a_view_taken_from_a_richer_one_equals_the_texts_read_again(richer: str, min_count: int) -> None:
    texts = [document.content for document in read_documents("sample:train")]
    trials = selection.Trials(ModelSettings.complete("default", {}), texts, [[0]] * len(texts), 1, EFFORTS["quick"])
    sample = trials._draw_sample({}, {})._replace(texts=texts)
    plain = trials.settings.replace({"min_count": min_count})
    read = trials._count_features(plain, sample)
    trials._counted.clear()
    trials._count_features(trials.settings.replace({"analyser": richer}), sample)
    taken = trials._count_features(plain, sample)
    assert decode_names(taken.letters, taken.stops) == decode_names(read.letters, read.stops)
    for one, other in zip(taken.rows, read.rows, strict=True):
        np.testing.assert_array_equal(one, other)


def test_categories_of_a_trial_share_the_positives() -> None:
    truth = np.repeat(np.eye(6, dtype=bool), [50, 30, 10, 5, 3, 2], axis=0)
    assert selection.select_categories(truth, 3).tolist() == [0, 1, 2]
    assert len(selection.select_categories(truth, 5)) == 5
    assert selection.select_categories(truth[:80], 5).tolist() == [0, 1]  # without those that have no document


def test_the_size_of_the_sample_is_estimated_with_a_given_analyser() -> None:
    marks = ["!!", "??"] * 60  # no words at all
    model = Categorizer(analyser=list, min_count=1).fit(marks, ["loud", "unsure"] * 60)
    assert model.predict(["!"]) == [["loud"]]


def test_a_sample_without_features_chooses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, work=120 * 20 * 200)  # about a hundred of the documents
    texts = shuffled("down", "up") * 4
    model = Categorizer(min_count=470, thresholds="fixed").fit(texts, HALVES * 4)
    assert model.trials == []


def test_trials_are_described_in_a_fixed_order() -> None:
    before = selection.Trial({}, 0.5, 10, False)
    after = selection.Trial({"analyser": "words", "min_count": 5, "positive_cap": 1.0}, 0.6, 10, True)
    shares = "60.0 % right on 10 held-out documents, 50.0 % without"
    described = selection.describe_trials([before, after])
    assert described == [f"Tried words, min_count 5, positive_cap 1.0: {shares}: taken"]
