"""What every linear rival promises: it learns, gives the same bits again, and takes odd collections."""

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from support.corpora import made_up
from thresher import Rows
from thresher.errors import NotFittedError, ParameterError, RowsError
from thresher.metrics import pooled_break_even
from thresher.text.vectorizer import TextFeatures
from thresher_reproduction.rivals.bayes import Bayes
from thresher_reproduction.rivals.cosine import Cosine
from thresher_reproduction.rivals.exponentiated_gradient import ExponentiatedGradient
from thresher_reproduction.rivals.linear_rival import LinearRival, as_examples
from thresher_reproduction.rivals.linear_svm import LinearSVM
from thresher_reproduction.rivals.rocchio import Rocchio
from thresher_reproduction.rivals.sgd import SGD
from thresher_reproduction.rivals.widrow_hoff import WidrowHoff

RIVALS: list[Callable[[], LinearRival]] = [Rocchio, Cosine, Bayes, WidrowHoff, ExponentiatedGradient, LinearSVM, SGD]
every_rival = pytest.mark.parametrize("rival", RIVALS)


def problem() -> tuple[Rows, list[list[int]], Rows, np.ndarray, int]:
    """Return made-up texts as training rows with labels, and test rows with the truth."""
    corpus = made_up(600)
    names = sorted({name for categories in corpus.categories for name in categories})
    labels = [[names.index(name) for name in categories] for categories in corpus.categories]
    features = TextFeatures()
    rows = features.fit(corpus.texts[:400])
    test_rows = features.rows(corpus.texts[400:])
    truth = np.array([[c in row for c in range(len(names))] for row in labels[400:]])
    return rows, labels[:400], test_rows, truth, len(names)


@every_rival
def test_learns_categories_that_words_tell_apart(rival: Callable[[], LinearRival]) -> None:
    rows, labels, test_rows, truth, n_categories = problem()
    scores = rival().fit(rows, labels, n_categories=n_categories).score(test_rows)
    assert scores.shape == truth.shape
    assert scores.dtype == np.float32
    assert pooled_break_even(scores, truth) > 0.9


@every_rival
def test_the_same_documents_give_the_same_bits(rival: Callable[[], LinearRival]) -> None:
    rows, labels, test_rows, _, n_categories = problem()
    first, second = (rival().fit(rows, labels, n_categories=n_categories) for _ in range(2))
    assert first.weights_.tobytes() == second.weights_.tobytes()
    assert first.score(test_rows).tobytes() == second.score(test_rows).tobytes()
    assert (first.size, first.features_kept) == (second.size, second.features_kept)


@every_rival
def test_size_and_features_count_what_weighs(rival: Callable[[], LinearRival]) -> None:
    rows, labels, _, _, n_categories = problem()
    fitted = rival().fit(rows, labels, n_categories=n_categories)
    assert fitted.size == np.count_nonzero(fitted.weights_) + n_categories
    assert 0 < fitted.features_kept <= rows.n_features


@every_rival
def test_documents_without_words_and_categories_without_documents_are_taken(rival: Callable[[], LinearRival]) -> None:
    rows = Rows(np.array([0, 1, 1, 2, 3, 4]), np.array([0, 0, 1, 1]), np.ones(4, dtype=np.float32), 3)
    fitted = rival().fit(rows, [[0], [], [0], [1], [1]], n_categories=3)
    scores = fitted.score(rows)
    assert np.isfinite(scores).all()
    assert scores[0, 0] > scores[3, 0]
    assert scores[3, 1] > scores[0, 1]
    assert (scores[:, 2] < scores[[0, 0, 0, 3, 3], [0, 0, 0, 1, 1]]).all()


@every_rival
def test_a_single_document_is_enough(rival: Callable[[], LinearRival]) -> None:
    rows = Rows(np.array([0, 1]), np.array([0]), np.ones(1, dtype=np.float32), 1)
    assert np.isfinite(rival().fit(rows, [[0]], n_categories=2).score(rows)).all()


@every_rival
def test_rows_of_nothing_but_empty_documents_are_taken(rival: Callable[[], LinearRival]) -> None:
    rows = Rows(np.array([0, 0, 0, 0]), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32), 2)
    assert rival().fit(rows, [[0], [], [0]], n_categories=1).score(rows).shape == (3, 1)


@every_rival
def test_scoring_before_learning_is_refused(rival: Callable[[], LinearRival]) -> None:
    with pytest.raises(NotFittedError, match="call fit first"):
        rival().score(Rows(np.array([0]), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32), 1))


ONE_WORD = Rows(np.array([0, 1]), np.array([0], dtype=np.int32), np.ones(1, dtype=np.float32), 2)


def test_rows_of_other_features_are_refused() -> None:
    fitted = Cosine().fit(ONE_WORD, [[0]], n_categories=1)
    with pytest.raises(RowsError, match="rows have 3 features, and 2 were learned from"):
        fitted.score(ONE_WORD._replace(n_features=3))


def test_malformed_examples_are_refused() -> None:
    with pytest.raises(RowsError, match="n_categories is 1"):
        as_examples(ONE_WORD, [[1]], n_categories=1)
    with pytest.raises(RowsError, match="counts"):
        as_examples(ONE_WORD._replace(data=-ONE_WORD.data), [[0]], n_categories=1)
    with pytest.raises(RowsError, match="labels cover 2 rows"):
        as_examples(ONE_WORD, [[0], [0]], n_categories=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rocchio(beta=0),
        lambda: Rocchio(gamma=-1),
        lambda: Bayes(n_words=0),
        lambda: WidrowHoff(rate=0),
        lambda: WidrowHoff(max_passes=0),
        lambda: ExponentiatedGradient(total=0),
        lambda: ExponentiatedGradient(rate=float("nan")),
    ],
)
def test_parameters_out_of_range_are_refused(make: Callable[[], LinearRival]) -> None:
    with pytest.raises(ParameterError, match=r"invalid .*allowed: "):
        make()


def test_importing_a_rival_imports_neither_scipy_nor_scikit_learn() -> None:
    names = ["rocchio", "cosine", "bayes", "widrow_hoff", "exponentiated_gradient", "linear_svm", "sgd"]
    code = (
        f"import sys; {'; '.join(f'import thresher_reproduction.rivals.{name}' for name in names)}; print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy.sparse", "sklearn"} & set(loaded)
