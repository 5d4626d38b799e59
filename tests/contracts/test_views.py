"""Threads that predict with views of a model while another thread teaches it: nobody waits, and nothing breaks."""

from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from thresher import Categorizer
from thresher.errors import RowsError, ThresherError
from thresher.model.thread_safety import reading
from thresher.web.quality import evaluate_kept

TEXTS = ["crude oil rose", "oil and gas", "wheat harvest", "corn and wheat", "gold mine", "silver and gold"] * 5
CATEGORIES = ["energy", "energy", "grain", "grain", "metal", "metal"] * 5
SETTINGS: list[dict[str, Any]] = [
    {},
    {"preset": "paper"},
    {"sparse": True},
    {"sparse": True, "average": True},
    {"analyser": "nouns-and-verbs"},
    {"learner": "perceptron"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_readers_see_a_consistent_model_while_it_learns(settings: dict[str, Any]) -> None:
    model = Categorizer(min_count=1, **settings).fit(TEXTS, CATEGORIES)
    current, ended, failures, seen = [model.view()], Event(), list[BaseException](), set[int]()

    def read() -> None:
        try:
            while not ended.is_set():
                view = current[0]
                scores = view.decision_function([*TEXTS[:6], "words new1 new2 new50 that come late"])
                assert scores.shape == (7, len(view.categories))
                assert np.isfinite(scores).all()
                assert all(set(found) <= set(view.categories) for found in view.predict(TEXTS[:6]))
                seen.add(len(view.categories))
        except BaseException as error:
            failures.append(error)

    readers = [Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for i in range(120):
        model.learn(f"words new{i} new{i + 1} of kind {i % 7}", accept=[f"kind {i % 7 + i // 20}"])
        current[0] = model.view()
    ended.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert len(seen) > 1
    assert current[0].predict(TEXTS) == model.predict(TEXTS)
    assert current[0].digest() == model.digest()


def test_a_view_keeps_its_words_and_categories() -> None:
    model = Categorizer(min_count=1).fit(TEXTS, CATEGORIES)
    view = model.view()
    model.learn("tin and zinc", accept=["tin"])
    assert view.categories == ["energy", "grain", "metal"]
    assert view.empty(["zinc"]).tolist() == [True]
    assert model.empty(["zinc"]).tolist() == [False]


def test_a_view_omits_documents_with_words_it_does_not_know() -> None:
    """The kernels look up the weights of features without asking whether there are so many."""
    model = Categorizer(min_count=1).fit(TEXTS, CATEGORIES)
    view = model.view()
    model.learn("tin and zinc and lead", accept=["tin"], complete=True)
    model.learn(TEXTS[0], accept=["tin"], complete=True)  # in place of what was known of it
    words = view.state.features.vocabulary.count
    assert model.state.features.vocabulary.count > words
    assert max(document.indices.max() for document in view.state.reservoir.documents) < words
    assert {c for document in view.state.reservoir.documents for c in document.categories} == {0, 1, 2}
    assert evaluate_kept(view).categories == ["energy", "grain", "metal"]


def test_a_view_cannot_be_taught() -> None:
    model = Categorizer(min_count=1).fit(TEXTS, CATEGORIES)
    digest, view = model.digest(), model.view()
    for teach in (
        lambda: view.learn("tin and zinc", accept=["tin"]),
        lambda: view.partial_fit(["tin"], ["metal"]),
        lambda: list(view.stream([("tin", "metal")])),
    ):
        with pytest.raises(ThresherError, match=r"a view of a model cannot learn \(teach the model itself\)"):
            teach()
    assert model.digest() == digest


def test_a_view_may_be_changed_without_the_model() -> None:
    model = Categorizer(min_count=1).fit(TEXTS, CATEGORIES)
    digest = model.digest()
    model.view().merge_categories(["energy", "grain"], "energy")
    model.view().retire_category("energy")
    assert model.digest() == digest
    view = model.view().fit(TEXTS, CATEGORIES)
    view.learn("tin", accept=["metal"])
    assert model.digest() == digest


def test_a_new_category_of_a_view_does_not_occupy_a_place_in_the_model() -> None:
    model = Categorizer(min_count=1).fit(TEXTS, CATEGORIES)
    view = model.view()
    model.learn("crude harvest mine", accept=["mixed"])  # known words: the weights stay where they are
    digest = model.digest()
    view.add_category("x")
    assert (model.digest(), view.categories[-1]) == (digest, "x")
    assert model.predict(["crude harvest mine"]) == [["mixed"]]


def test_a_view_of_sparse_weights_never_changes() -> None:
    model = Categorizer(preset="paper", learner="perceptron", average=True, discard=False, sparse=True, min_count=1)
    model.fit(TEXTS, CATEGORIES)
    view = model.view()
    before = view.decision_function(TEXTS)
    for category in ("energy", "metal", "new"):
        model.learn("oil wheat gold", accept=[category])
    np.testing.assert_array_equal(view.decision_function(TEXTS), before)


class Lesson:
    """A model that another thread teaches; its lesson ends in the moment in which the count of lessons is read."""

    is_torn = False

    def __init__(self) -> None:
        self._teacher, self._count, self.ends = -1, 0, False

    @property
    def lessons(self) -> int:
        before = self._count
        if self.ends:
            self._count += 1
            del self._teacher
        return before


def test_learning_that_ends_during_a_failed_read_is_noticed() -> None:
    model = Lesson()
    look = reading(model)  # type: ignore[arg-type]
    model.ends = True
    with pytest.raises(RowsError, match="another thread is teaching this model"):
        look.__exit__(IndexError, IndexError(), None)
