"""Bad parameters and bad data are refused in fit and partial_fit, by name, and leave the learner as it was."""

from typing import Any

import numpy as np
import pytest

from support.problems import LEARNERS, as_rows, random_problem, state
from thresher import BalancedWinnow, PositiveWinnow
from thresher.errors import NotFittedError
from thresher.support.settings import settings_of

NAN, INF = float("nan"), float("inf")
BAD: dict[str, list[Any]] = {
    **{name: [0.0, -1.0, NAN, INF, "1", None, 1e7, True] for name in ("size", "rate", "cap", "positive_cap")},
    "tolerance": [-1.0, 1.5, NAN, INF, "1", None, True],
    "theta": [0.0, -1.0, NAN, INF, 1e7, "1", None, True, np.ones(2), 1j],
    "alpha": [1.0, 0.5, NAN, INF, -2.0, "2", 1e7],
    "beta": [0.0, 1.0, 1.5, -0.5, NAN, None],
    "threshold_range": [(1.1, 0.9), (1.0,), (0, 1, 2), (NAN, 1.0), (0.0, INF), "0.9,1.1", 1.0],
    "average_active": [0.0, -3.0, NAN, "5"],
    "strength": ["tf", "", None, 1],
    "normalize": [None, "yes", 1],
    "max_passes": [0, -1, 2.5, NAN, "5", True, None],
    "shuffle": ["no", 0],
    "seed": [-1, 0.5, None],
    "discard": [None, "initial"],
    "discard_range": ["none", (2.0, 1.0), (NAN, 0.0), None, 3],
    "discard_below": [-0.1, 1.1, NAN, None],
    "discard_by_pass": [0, 1.5, None],
    "discard_final": [None],
    "late_start": ["never", None, 0],
    "sparse": ["yes", 2],
    "average": ["mean", 2],
    "n_threads": [0, -1, 1.5, "all"],
    "block_width": [0, 3, 64, "8"],
}


def test_every_parameter_has_a_rule_and_bad_values() -> None:
    for learner in LEARNERS.values():
        assert set(learner().get_params()) == set(settings_of(learner))
    assert set(BAD) == {name for learner in LEARNERS.values() for name in settings_of(learner)}


@pytest.mark.parametrize("name", LEARNERS)
def test_an_error_names_the_parameter_its_value_and_its_range(name: str) -> None:
    problem = random_problem(20)
    learner = LEARNERS[name]().fit(problem.rows, problem.labels, n_categories=5)
    before = state(learner)
    for parameter in learner.get_params():
        good = getattr(learner, parameter)
        for value in BAD[parameter]:
            if name == "Perceptron" and parameter == "alpha" and value in (1.0, 0.5):
                continue
            setattr(learner, parameter, value)
            for learn in (learner.fit, learner.partial_fit):
                with pytest.raises(ValueError, match=rf"^invalid {parameter}: .*allowed: ") as caught:
                    learn(problem.rows, problem.labels)
                assert f"invalid {parameter}: {value!r}" in str(caught.value)
        setattr(learner, parameter, good)
    assert state(learner) == before


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(
    ("documents", "labels", "message"),
    [
        ([], [], "no rows"),
        ([{0: NAN}], [[0]], "NaN"),
        ([{0: INF}], [[0]], "infinity"),
        ([{0: 1.0}], [], "labels cover 0 rows"),
        ([{0: -1.0}], [[0]], "egative"),
    ],
)
def test_bad_data_is_refused_and_the_learner_unchanged(name: str, documents: Any, labels: Any, message: str) -> None:
    problem = random_problem(21)
    learner = LEARNERS[name]().fit(problem.rows, problem.labels, n_categories=5)
    before = state(learner)
    for learn in (learner.fit, learner.partial_fit):
        with pytest.raises(ValueError, match=message):
            learn(as_rows(documents, 7), labels)
    assert state(learner) == before


def test_a_refused_first_call_leaves_the_learner_unfitted() -> None:
    learner = BalancedWinnow()
    for rows, labels in ((as_rows([{0: 1.0}], 1), [[]]), (as_rows([{0: NAN}], 1), [[0]])):
        for learn in (learner.fit, learner.partial_fit):
            with pytest.raises(ValueError):
                learn(rows, labels)
        with pytest.raises(NotFittedError, match="call fit or partial_fit first"):
            learner.score(rows)


def test_no_features_and_no_categories_are_refused_with_a_hint() -> None:
    with pytest.raises(ValueError, match="n_features = 0"):
        BalancedWinnow().fit(as_rows([{}], 0), [[0]])
    for count in (None, 0, -4, 2.5, 10**12, "3"):
        for learn in (BalancedWinnow().fit, BalancedWinnow().partial_fit):
            with pytest.raises(ValueError, match="n_categories"):
                learn(as_rows([{0: 1.0}], 1), [[]], n_categories=count)  # type: ignore[arg-type]


def test_wrong_number_of_features_is_refused_on_score() -> None:
    learner = BalancedWinnow().fit(as_rows([{0: 1.0}], 3), [[0]])
    for n_features in (2, 4):
        with pytest.raises(ValueError, match=f"rows have {n_features} features, and the learner has 3"):
            learner.score(as_rows([{0: 1.0}], n_features))


def test_positive_winnow_explains_why_it_refuses_negative_strengths() -> None:
    with pytest.raises(ValueError, match="promotions of positive weights into demotions"):
        PositiveWinnow(strength="linear", normalize=False).fit(as_rows([{0: -1.0}], 1), [[0]])


@pytest.mark.parametrize("row_weight", [[1.0], [1.0, -1.0], [1.0, 0.0], [1.0, NAN], [1.0, 1e7], [1.0, 1j], ["a", "b"]])
def test_bad_row_weights_are_refused(row_weight: Any) -> None:
    with pytest.raises(ValueError, match="row_weight"):
        BalancedWinnow().fit(as_rows([{0: 1.0}] * 2, 1), [[0], []], row_weight=np.array(row_weight))


def test_a_name_may_be_a_string_of_numpy() -> None:
    problem = random_problem(22)
    learner = LEARNERS["BalancedWinnow"](strength=np.str_("sqrt"))
    assert learner.fit(problem.rows, problem.labels, n_categories=5).is_fitted
