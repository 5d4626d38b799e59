"""The estimators keep scikit-learn's contract and its habits."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import check_estimator

from support.problems import random_problem
from thresher import BalancedWinnow
from thresher.sklearn import (
    BalancedWinnowClassifier,
    PerceptronClassifier,
    PositiveWinnowClassifier,
    RegularizedWinnowClassifier,
    TextClassifier,
    TextVectorizer,
)

ESTIMATORS = [
    BalancedWinnowClassifier(),
    PositiveWinnowClassifier(),
    PerceptronClassifier(),
    RegularizedWinnowClassifier(),
]
parametrized = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)


def sparse_problem(n_categories: int = 3) -> tuple[Any, Any]:
    problem = random_problem(5, n_rows=60, n_features=12, n_categories=n_categories)
    rows = problem.rows
    indicator = np.array([[int(c in labels) for c in range(n_categories)] for labels in problem.labels])
    return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(60, 12)), indicator


@parametrized
def test_estimator_passes_every_check_of_scikit_learn(estimator: Any) -> None:
    results = check_estimator(clone(estimator), on_skip=None, expected_failed_checks={})
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    assert skipped == {"check_classifiers_multilabel_output_format_predict_proba"}  # they give no probabilities
    assert len(results) > 55


@parametrized
def test_multilabel_targets_give_an_indicator(estimator: Any) -> None:
    X, Y = sparse_problem()
    X = normalize(X) if isinstance(estimator, RegularizedWinnowClassifier) else X  # it wants rows of one length
    model = clone(estimator).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert (model.predict(X) == Y).mean() > 0.8
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))


@parametrized
def test_dense_sparse_and_unsorted_input_give_the_same(estimator: Any) -> None:
    X, Y = sparse_problem()
    reversed_rows = X.copy()
    for start, stop in zip(X.indptr, X.indptr[1:], strict=False):
        reversed_rows.indices[start:stop] = X.indices[start:stop][::-1]
        reversed_rows.data[start:stop] = X.data[start:stop][::-1]
    reversed_rows.has_sorted_indices = False
    before = reversed_rows.indices.copy()
    models = [clone(estimator).fit(data, Y) for data in (X, X.toarray(), X.tocsc(), reversed_rows)]
    for model in models[1:]:
        np.testing.assert_array_equal(models[0].coef_, model.coef_)
    np.testing.assert_array_equal(before, reversed_rows.indices)


def test_decision_is_linear_in_the_strengths_and_centred_on_zero() -> None:
    X, Y = sparse_problem()
    model = BalancedWinnowClassifier(theta=2.0).fit(X, Y)
    assert model.intercept_.tolist() == [-2.0] * 3
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-4)


def test_several_classes_go_to_the_highest_score() -> None:
    X, Y = sparse_problem()
    y = np.array(["none", "first", "second", "third"])[np.where(Y.any(axis=1), Y.argmax(axis=1) + 1, 0)]
    model = BalancedWinnowClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    assert model.coef_.shape == (4, 12)


def test_two_classes_have_one_column() -> None:
    X, Y = sparse_problem()
    model = BalancedWinnowClassifier().fit(X, np.where(Y[:, 0], "yes", "no"))
    assert model.coef_.shape == (1, 12)
    assert model.decision_function(X).shape == (60,)
    np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) > 0, "yes", "no"))


def test_partial_fit_equals_the_learner_underneath() -> None:
    X, Y = sparse_problem()
    model = BalancedWinnowClassifier()
    for start in range(0, 60, 20):
        model.partial_fit(X[start : start + 20], Y[start : start + 20])
    learner = BalancedWinnow(strength="linear")
    for start in range(0, 60, 20):
        learner.partial_fit(
            X[start : start + 20], [np.flatnonzero(row) for row in Y[start : start + 20]], n_categories=3
        )
    np.testing.assert_array_equal(model.coef_, learner.weights_)


def test_partial_fit_refuses_classes_that_were_not_named() -> None:
    X, Y = sparse_problem()
    model = BalancedWinnowClassifier().partial_fit(X, Y[:, 0], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="not named at the first call"):
        model.partial_fit(X, Y[:, 0] + 7)
    with pytest.raises(ValueError, match="not the same as on the first call"):
        model.partial_fit(X, Y[:, 0], classes=[0, 1])


@pytest.mark.parametrize("classifier", [BalancedWinnowClassifier, PerceptronClassifier, RegularizedWinnowClassifier])
def test_a_heavier_class_is_accepted_more_often(classifier: Any) -> None:
    X, Y = sparse_problem()
    X = normalize(X) if classifier is RegularizedWinnowClassifier else X
    accepted = [
        classifier(class_weight={0: 1.0, 1: weight}, max_passes=1, discard=False).fit(X, Y[:, 0]).predict(X).sum()
        for weight in (0.2, 1.0, 5.0)
    ]
    assert accepted == sorted(accepted)
    assert accepted[0] < accepted[2]


def test_class_weight_of_multilabel_targets_is_refused() -> None:
    X, Y = sparse_problem()
    with pytest.raises(ValueError, match="class_weight"):
        BalancedWinnowClassifier(class_weight="balanced").fit(X, Y)


@parametrized
def test_one_class_is_refused_with_the_reason(estimator: Any) -> None:
    X, _ = sparse_problem()
    with pytest.raises(ValueError, match="at least two classes are needed"):
        clone(estimator).fit(X, np.ones(60))


@parametrized
def test_estimator_works_in_pipelines_and_searches(estimator: Any) -> None:
    texts = ["wheat and corn", "corn crop", "oil prices up", "crude oil", "wheat harvest", "oil well"] * 5
    y = ["grain", "grain", "crude", "crude", "grain", "crude"] * 5
    pipeline = make_pipeline(CountVectorizer(), clone(estimator))
    assert cross_val_score(pipeline, texts, y, cv=3).mean() > 0.9
    name = type(estimator).__name__.lower()
    search = GridSearchCV(pipeline, {f"{name}__max_passes": [1, 5], f"{name}__average": [False, True]}, cv=2)
    assert search.fit(texts, y).best_score_ > 0.9


def test_sparse_indicators_mean_what_their_dense_forms_mean() -> None:
    X, Y = sparse_problem()
    with_zeros = sparse.csr_array(np.where(Y == 0, 7, Y))
    with_zeros.data[with_zeros.data == 7] = 0
    dense, padded = (BalancedWinnowClassifier().fit(X, y) for y in (Y, with_zeros))
    np.testing.assert_array_equal(dense.coef_, padded.coef_)
    with pytest.raises(ValueError, match="only 0 and 1"):
        BalancedWinnowClassifier().fit(X, sparse.csr_array(np.where(Y == 0, -1, Y)))


def test_refused_calls_leave_an_estimator_as_it_was() -> None:
    X, Y = sparse_problem()
    model = BalancedWinnowClassifier().fit(X, Y[:, 0])
    before, expected = sorted(model.__dict__), model.predict(X)
    model.set_params(alpha=0.5)
    for verb in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="alpha"):
            verb(X[:, :6] if verb == model.fit else X, Y[:, 0])
    assert sorted(model.__dict__) == before
    np.testing.assert_array_equal(model.predict(X), expected)
    fresh = BalancedWinnowClassifier(alpha=0.5)
    with pytest.raises(ValueError, match="alpha"):
        fresh.partial_fit(X, Y)
    assert not hasattr(fresh, "classes_")


NAN, INF = float("nan"), float("inf")
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "NaN": ([[1.0, NAN, 0.0], [0.0, 1.0, 1.0]], [0, 1], "NaN"),
    "infinity": ([[1.0, INF, 0.0], [0.0, 1.0, 1.0]], [0, 1], "infinity|inf"),
    "no rows": (np.zeros((0, 3)), [], "0 sample"),
    "no features": (np.zeros((2, 0)), [0, 1], "0 feature"),
    "complex values": ([[1j, 0, 0], [0, 1, 1]], [0, 1], "[Cc]omplex"),
    "NaN in y": ([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], [0.0, NAN], "NaN"),
    "infinity in y": ([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], [0.0, INF], "infinity"),
    "fractions in y": ([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], [0.3, 1.7], "continuous"),
    "other features": ([[1.0, 1.0], [0.0, 1.0]], [0, 1], "features"),
    "too few labels": ([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], [0], "inconsistent"),
}


def state_of(estimator: Any) -> tuple[list[str], bytes, list[Any]]:
    parts = (estimator.coef_, estimator.learner_.mistakes_, estimator.learner_.online_mistakes_)
    return sorted(estimator.__dict__), b"".join(part.tobytes() for part in parts), estimator.classes_.tolist()


@parametrized
@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array], ids=["dense", "csr", "csc"])
def test_what_scikit_learn_refuses_is_refused_by_every_verb_and_changes_nothing(
    estimator: Any, case: str, form: Any
) -> None:
    X, y, word = REFUSED[case]
    model = clone(estimator).fit([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [2.0, 0.0, 0.0]], [0, 1, 0])
    before = state_of(model)
    for verb in (model.fit, model.partial_fit):
        if verb == model.fit and case == "other features":
            continue
        with pytest.raises(ValueError, match=word):
            verb(form(X), y)
    if "y" not in case and "labels" not in case:
        with pytest.raises(ValueError, match=word):
            model.predict(form(X))
    assert state_of(model) == before
    fresh = clone(estimator)
    if case != "other features":
        for verb in (fresh.fit, fresh.partial_fit):
            with pytest.raises(ValueError, match=word):
                verb(form(X), y)
    with pytest.raises(NotFittedError):
        fresh.predict([[1.0, 1.0, 0.0]])


def test_parameters_set_between_calls_hold_from_the_next_call_on() -> None:
    X, Y = sparse_problem()
    model = BalancedWinnowClassifier().partial_fit(X, Y)
    learner = BalancedWinnow(strength="linear", discard=False)
    labels = [np.flatnonzero(row) for row in Y]
    learner.partial_fit(X, labels, n_categories=3)
    learner.alpha = 3.0
    np.testing.assert_array_equal(
        model.set_params(alpha=3.0).partial_fit(X, 1 - Y).coef_,
        learner.partial_fit(X, [np.flatnonzero(row == 0) for row in Y]).weights_,
    )


def test_an_indicator_after_plain_classes_is_refused() -> None:
    X, Y = sparse_problem()
    model = BalancedWinnowClassifier().partial_fit(X, Y[:, 0], classes=[0, 1])
    with pytest.raises(ValueError, match="indicator"):
        model.partial_fit(X, Y)


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_class_weights_must_be_positive(weight: float) -> None:
    X, Y = sparse_problem()
    with pytest.raises(ValueError, match="class_weight"):
        BalancedWinnowClassifier(class_weight={0: 1.0, 1: weight}).fit(X, Y[:, 0])


TEXTS = ["wheat and corn", "corn crop", "oil prices up", "crude oil", "wheat harvest", "oil well"] * 5
CLASSES = ["grain", "grain", "crude", "crude", "grain", "crude"] * 5


text_estimators = pytest.mark.parametrize(
    "estimator", [TextVectorizer(), TextClassifier()], ids=lambda e: type(e).__name__
)


@text_estimators
def test_text_estimators_pass_the_checks_that_apply_to_text(estimator: Any) -> None:
    with pytest.warns(SkipTestWarning, match="Can't test estimator"):  # scikit-learn leaves out what needs numbers
        results = check_estimator(estimator, on_skip=None, expected_failed_checks={})
    assert {result["status"] for result in results} <= {"passed", "skipped"}


@text_estimators
def test_text_estimators_follow_the_conventions_that_scikit_learn_does_not_check(estimator: Any) -> None:
    with pytest.raises(NotFittedError):
        (estimator.transform if hasattr(estimator, "transform") else estimator.predict)(TEXTS)
    before = repr(estimator.get_params())
    one, two = (clone(estimator).fit(TEXTS, CLASSES) for _ in range(2))
    assert repr(one.get_params()) == before
    verb = "transform" if hasattr(estimator, "transform") else "decision_function"
    outputs = [sparse.csr_array(getattr(model, verb)(TEXTS)).toarray() for model in (one, two, one)]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    np.testing.assert_array_equal(outputs[0], outputs[2])
    for wrong in ("one string", [], [1, 2]):
        with pytest.raises(ValueError, match="text"):
            clone(estimator).fit(wrong, CLASSES[: len(wrong)])


def test_text_vectorizer_counts_as_scikit_learn_does() -> None:
    ours, theirs = TextVectorizer(), CountVectorizer()
    found, expected = ours.fit_transform(TEXTS), theirs.fit_transform(TEXTS)
    columns = [theirs.vocabulary_[name] for name in ours.get_feature_names_out()]
    np.testing.assert_array_equal(found.toarray(), expected.toarray()[:, columns])
    np.testing.assert_array_equal(ours.transform(TEXTS[:3]).toarray(), found.toarray()[:3])


def test_text_estimators_work_in_pipelines_and_searches() -> None:
    pipeline = make_pipeline(TextVectorizer(analyser="words+ngrams:2"), BalancedWinnowClassifier())
    assert cross_val_score(pipeline, TEXTS, CLASSES, cv=3).mean() > 0.9
    search = GridSearchCV(pipeline, {"textvectorizer__min_count": [1, 2]}, cv=2).fit(TEXTS, CLASSES)
    assert search.best_score_ > 0.9
    assert cross_val_score(TextClassifier(), TEXTS, CLASSES, cv=3).mean() > 0.9


def test_text_classifier_takes_indicators_too() -> None:
    Y = np.array([[name == "grain", name == "crude", False] for name in CLASSES], dtype=int)
    model = TextClassifier(settings={"thresholds": "fixed"}).fit(TEXTS, Y)
    np.testing.assert_array_equal(model.predict(TEXTS), Y)
    assert model.decision_function(TEXTS).shape == (30, 3)
    with pytest.raises(ValueError, match="one class"):
        model.fit(TEXTS, ["grain"] * 30)
    np.testing.assert_array_equal(model.predict(TEXTS), Y)  # as it was
