"""The kernels equal the paper's rules written with dicts, bit for bit, whatever the switches, widths and threads."""

from itertools import cycle, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import naive
from support.problems import (
    LEARNERS,
    SWITCHES,
    Problem,
    assert_equals_twin,
    assert_same_bits,
    choices,
    degenerate_problems,
    fit_both,
    problems,
    random_problem,
    settings_of,
)
from thresher import Labels
from thresher.kernels.compiler import COMPILED
from thresher.learners import training
from thresher.rows.labels import as_labels

EXAMPLES = 150 if COMPILED else 30
# Eleven layouts, a number that shares no factor with those of the switches: each meets every switch either way.
LAYOUTS = tuple(product((1, 4, 16, None), (1, 2, 4)))[:11]


@pytest.mark.parametrize("kind", degenerate_problems())
@pytest.mark.parametrize("name", LEARNERS)
def test_every_combination_of_switches_equals_the_naive_twin(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    combinations = list(product(*SWITCHES.values()))
    problem = degenerate_problems()[kind]
    for values, (width, threads), stage in zip(combinations, cycle(LAYOUTS), cycle((8, 1, 2, 3, 8)), strict=False):
        monkeypatch.setattr(training, "STAGE", stage)  # passes after which categories change their blocks
        monkeypatch.setattr(training, "MAX_BLOCK_WIDTH", stage)  # categories trained together where lists are kept
        monkeypatch.setattr(training, "GROUP_WEIGHTS", 1)
        choice = settings_of(dict(zip(SWITCHES, values, strict=True)))
        learner, twin = fit_both(name, choice | {"max_passes": 5, "block_width": width, "n_threads": threads}, problem)
        assert_equals_twin(learner, problem, twin)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.sampled_from(sorted(LEARNERS)), choices(), problems(), st.sampled_from(LAYOUTS))
def test_any_problem_equals_the_naive_twin(
    name: str, choice: dict[str, object], problem: Problem, layout: tuple[int | None, int]
) -> None:
    learner, twin = fit_both(name, choice | {"block_width": layout[0], "n_threads": layout[1]}, problem)
    assert_equals_twin(learner, problem, twin)


@settings(max_examples=EXAMPLES, deadline=None)
@given(choices(), problems(), st.sampled_from(LAYOUTS), st.data())
def test_scores_of_folds_that_are_held_out_equal_the_naive_twin(
    choice: dict[str, object], problem: Problem, layout: tuple[int | None, int], data: st.DataObject
) -> None:
    """The folds change nothing else, and any rows may have none."""
    name, own = "RegularizedWinnow", choice | {"average": False, "block_width": layout[0], "n_threads": layout[1]}
    n_rows = len(problem.documents)
    folds = data.draw(st.lists(st.integers(-1, 2), min_size=n_rows, max_size=n_rows))
    learner, _ = fit_both(name, own, problem)
    weights, settings = learner.weights_, learner.get_params()
    strong, labels = learner.strengths(problem.rows), as_labels(problem.labels, n_rows)
    scores = learner.fit_rows(strong, labels, problem.n_categories, folds=np.array(folds, dtype=np.int8))
    twin = naive.Learner(name, settings)
    twin.fit(problem.documents, problem.labels, problem.n_features, problem.n_categories, folds=folds)
    assert_same_bits(learner.weights_, weights)
    chosen = [i for i in range(n_rows) if folds[i] >= 0]
    expected = np.array([[own[i] for own in twin.held_out] for i in chosen], dtype=np.float32)
    assert_same_bits(scores, expected.reshape(len(chosen), problem.n_categories))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.sampled_from(sorted(LEARNERS)), choices(), problems(), problems(), st.booleans(), st.data())
def test_partial_fit_after_fit_equals_the_naive_twin(
    name: str, choice: dict[str, object], first: Problem, later: Problem, complete: bool, data: st.DataObject
) -> None:
    """New features, new categories, partial judgements, dropped features that may come back."""
    width, threads = data.draw(st.sampled_from(LAYOUTS))
    learner, twin = fit_both(name, choice | {"block_width": width, "n_threads": threads}, first)
    n_features, n_categories = (max(a, b) for a, b in zip(_shape(first), _shape(later), strict=True))
    later = Problem(later.documents, later.labels, n_features, n_categories)
    signs = st.sampled_from((1, -1))
    judged = [{c: data.draw(signs) for c in sorted(labels)} for labels in later.labels]
    labels = Labels(
        [0, *(sum(len(row) for row in judged[: i + 1]) for i in range(len(judged)))],  # type: ignore[arg-type]
        [c for row in judged for c in row],  # type: ignore[arg-type]
        [sign for row in judged for sign in row.values()],  # type: ignore[arg-type]
        others=-1 if complete else 0,
    )
    learner.partial_fit(later.rows, labels, n_categories=n_categories)
    twin.partial_fit(later.documents, judged, n_features, n_categories, complete)
    assert_same_bits(learner.weights_, twin.weights())
    assert_same_bits(learner.score(later.rows), twin.scores(later.documents))
    assert learner.discarded_.tolist() == [len(category.dropped) for category in twin.categories]


def _shape(problem: Problem) -> tuple[int, int]:
    return problem.n_features, problem.n_categories


@pytest.mark.parametrize("name", LEARNERS)
def test_weighted_rows_equal_the_naive_twin(name: str) -> None:
    problem, times = random_problem(2), [0.1, 0.5, 1.0, 2.0, 3.7, 1.0, 0.25] * 2
    learner = LEARNERS[name]().fit(problem.rows, problem.labels, n_categories=5, row_weight=times)
    twin = naive.Learner(name, learner.get_params()).fit(problem.documents, problem.labels, 7, 5, times)
    assert_equals_twin(learner, problem, twin)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("average", [False, True])
def test_many_categories_fill_several_blocks(name: str, average: bool) -> None:
    problem = random_problem(3, n_rows=20, n_features=9, n_categories=37)
    learner, twin = fit_both(name, {"average": average, "n_threads": 2}, problem)
    assert_equals_twin(learner, problem, twin)
