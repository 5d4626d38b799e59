"""The paper's claims as experiments: verdicts from figures alone, the same each time, each with its plot."""

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from support.corpora import made_up
from thresher.datasets.corpora.reuters21578 import find_collection
from thresher.datasets.document import Document
from thresher.kernels.csr import Rows
from thresher.learners import BalancedWinnow
from thresher.rows.validation import as_rows
from thresher.support.progress import Step
from thresher_reproduction import claims
from thresher_reproduction.claims import CLAIMS, active_only, collection, mistake_driven
from thresher_reproduction.claims.claim import Claim, Plot, Series, group_series
from thresher_reproduction.claims.collection import Part, Split
from thresher_reproduction.claims.examples import (
    Target,
    count_online_mistakes,
    draw_examples,
    new_basic_learner,
    new_generator,
)

TINY: dict[str, dict[str, Any]] = {
    "attribute_efficiency": {"QUICK_SIZES": (100, 1000), "QUICK_EXAMPLES": 500, "SEPARATOR_SIZE": 1000},
    "noise": {"N_FEATURES": 1000, "N_ACTIVE": 50, "N_EXAMPLES": 300, "N_CLEAN": 200},
    "tracking": {"N_PHASES": 3, "PHASE": 300},
    "additive_multiplicative": {"QUICK_EXAMPLES": 300},
    "discarding": {"N_TRAIN": 200, "N_TEST": 50, "N_CATEGORIES": 4},
    "active_only": {"QUICK_SIZES": (30, 60)},
    "richer_features": {"QUICK_SAMPLES": 10},
    "sigmoid_probability": {"MIN_PAIRS": 1},
}


def run(name: str, seed: int = 0, progress: Callable[[Step], None] | None = None) -> Claim:
    found = import_module(CLAIMS[name]).run(quick=True, seed=seed, progress=progress)
    assert isinstance(found, Claim)
    return found


def check(claim: Claim, name: str) -> None:
    """Hold a claim to what its readers rely on."""
    assert claim.name == name
    assert claim.claim.endswith(".")
    assert claim.because.endswith(".")
    assert re.search(r"\d", claim.because)
    assert len(claim.tests) >= 2
    assert set(map(type, claim.tests.values())) == {bool}
    values = [value for row in claim.rows for value in row.values()]
    assert set(map(type, values)) <= {str, int, float}
    for series in claim.plot.series:
        assert len(series.x) == len(series.y) > 1
        assert np.isfinite(series.x).all()
        assert np.isfinite(series.y).all()


def check_plot(claim: Claim) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra report: pip install 'thresher-text[report]'")
    from thresher_reproduction.plots import plot_claim

    drawn = plot_claim(claim)
    assert drawn == plot_claim(claim)
    texts = " ".join(ElementTree.fromstring(drawn).itertext())
    for words in (claim.plot.x_label, claim.plot.y_label, *(series.label for series in claim.plot.series)):
        assert words in texts


def test_every_claim_has_a_file_and_every_file_a_claim() -> None:
    own = {"__init__", "claim", "collection", "examples"}
    assert {path.stem for path in Path(claims.__file__).parent.glob("*.py")} - own == set(CLAIMS)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make every claim small, and let those on text read a made-up collection."""
    for name, settings in TINY.items():
        for setting, value in settings.items():
            monkeypatch.setattr(import_module(CLAIMS[name]), setting, value)
    corpus = made_up(400)
    parts = {
        part: [
            Document(text, tuple(names), columns={"topics_attribute": "YES", "lewissplit": part})
            for text, names in zip(corpus.texts[start:stop], corpus.categories[start:stop], strict=True)
        ]
        for part, start, stop in (("TRAIN", 0, 300), ("TEST", 300, 400))
    }
    monkeypatch.setattr(collection, "_load_collection", lambda: (parts["TRAIN"], parts["TEST"]))
    collection.load_split.cache_clear()
    yield
    collection.load_split.cache_clear()


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_complete_and_the_same_each_time(name: str) -> None:
    steps: list[Step] = []
    claim = run(name, progress=steps.append)
    check(claim, name)
    check_plot(claim)
    assert claim == run(name)
    assert [step.done for step in steps] == list(range(1, steps[-1].total + 1))


@pytest.mark.usefixtures("tiny")
def test_another_seed_draws_other_examples() -> None:
    assert run("tracking").rows != run("tracking", seed=1).rows


@pytest.mark.parametrize("name", ["negative_features", "sigmoid_probability"])
def test_a_claim_on_reuters_is_complete(name: str) -> None:
    if find_collection() is None:
        pytest.skip("needs Reuters-21578: set THRESHER_DATA to the folder of reuters21578.tar.xz")
    claim = run(name)
    check(claim, name)
    check_plot(claim)


@pytest.mark.parametrize(
    ("held", "verdict"),
    [((True, True), "reproduced"), ((True, False), "partly"), ((False, False), "not reproduced")],
)
def test_the_verdict_follows_from_the_tests(held: tuple[bool, ...], verdict: str) -> None:
    tests = {str(number): value for number, value in enumerate(held)}
    claim = Claim("a", "1", "A.", tests, "B.", [], Plot("x", "y", []))
    assert claim.verdict == verdict
    assert asdict(claim)["verdict"] == verdict
    assert replace(claim, tests={"all": True}).verdict == "reproduced"


def test_rows_become_a_line_for_each_label_in_their_order() -> None:
    rows = [{"who": "b", "n": 1, "m": 2}, {"who": "a", "n": 1, "m": 3}, {"who": "b", "n": 2, "m": 4}]
    assert group_series(rows, "who", "n", "m") == [Series("b", [1.0, 2.0], [2.0, 4.0]), Series("a", [1.0], [3.0])]


@pytest.mark.parametrize("first", [0, 7])
def test_drawn_examples_obey_their_target(first: int) -> None:
    target = Target("2 of 5", 2, 5)
    rows, labels = draw_examples(new_generator(0), target, 50, 10, 200, first)
    checked = as_rows(rows)
    for label, start, stop in zip(labels, checked.indptr[:-1], checked.indptr[1:], strict=True):
        relevant = (checked.indices[start:stop] >= first) & (checked.indices[start:stop] < first + 5)
        assert label == (np.count_nonzero(relevant) >= 2)
    assert 0.3 < labels.mean() < 0.7


def test_online_mistakes_are_those_of_the_new_examples_alone() -> None:
    draw, target = new_generator(0), Target("disjunction of 5", 1, 5)
    examples = draw_examples(draw, target, 100, 10, 200)
    learner = new_basic_learner("Positive Winnow", 2.0)
    first, second = count_online_mistakes(learner, examples), count_online_mistakes(learner, examples)
    assert first + second == learner.online_mistakes_[0]
    assert 0 <= second < first


def tiny_split() -> Split:
    """Four documents of four features in two categories, learned from and held out."""
    rows = Rows(
        np.array([0, 2, 4, 6, 7]), np.array([0, 1, 1, 3, 0, 2, 1], dtype=np.int32), np.ones(7, dtype=np.float32), 4
    )
    truth = np.array([[True, False], [False, True], [True, False], [False, False]])
    part = Part(rows, [[0], [1], [0], []], truth)
    return Split(part, part, list("abcd"), ["first", "second"])


def test_updating_after_every_example_is_what_its_counts_say() -> None:
    data, alpha = tiny_split(), 1.1
    base = 4 / 7
    positive, negative = np.full((4, 2), 2 * base), np.full((4, 2), base)
    for number in range(4):
        active = data.train.rows.indices[data.train.rows.indptr[number] : data.train.rows.indptr[number + 1]]
        step = np.where(data.train.truth[number], alpha, alpha ** -np.array([2 / 2, 1 / 3]))
        positive[active] *= step
        negative[active] /= step
    weights = positive - negative
    expected = [weights[[0, 1]].sum(axis=0), weights[[1, 3]].sum(axis=0), weights[[0, 2]].sum(axis=0), weights[1]]
    np.testing.assert_allclose(mistake_driven._learn_after_every_example(alpha, data), expected)


@pytest.mark.parametrize("version", [active_only.DUPLICATED, active_only.ALL])
def test_versions_that_change_all_weights_separate_what_can_be_separated(version: str) -> None:
    data = tiny_split()
    found = active_only._train_dense(version, data, 1.1, passes=100)
    assert ((found.scores > 1) == data.held_out.truth).all()
    per_mistake = {active_only.DUPLICATED: 4, active_only.ALL: 8}[version]
    assert found.changed == per_mistake * found.mistakes > 0


def test_break_even_on_a_split_is_that_of_its_held_out_part() -> None:
    data = tiny_split()
    scores = collection.fit_and_score(BalancedWinnow(discard=False), data)
    assert scores.shape == (4, 2)
    assert collection.micro_f1(scores, data.held_out.truth) == 1.0
