"""Networks on latent semantic features: what they learn, from what, and that they learn it the same way each time."""

import numpy as np
import pytest

from support.corpora import made_up
from support.problems import dense_rows
from thresher.errors import NotFittedError, ParameterError, RowsError
from thresher.metrics import pooled_break_even
from thresher.text.vectorizer import TextFeatures
from thresher_reproduction.rivals.neural_network import (
    NeuralNetwork,
    _compute_idf,
    _compute_relevancy,
    _find_latent,
    _weight_documents,
)
from thresher_reproduction.rivals.tables import make_truth_table

NAMES = ["energy", "grain", "metals", "money", "ships", "trade"]


def learned(**settings: int | float) -> tuple[NeuralNetwork, np.ndarray, np.ndarray]:
    """Return a network that has learned 200 made-up texts, its scores of 100 others, and their truth."""
    corpus = made_up(300)
    features = TextFeatures(min_count=1)
    labels = [[NAMES.index(name) for name in chosen] for chosen in corpus.categories]
    rows = features.fit(corpus.texts[:200])
    network = NeuralNetwork(decay=0.1, **settings).fit(rows, labels[:200], n_categories=6)  # type: ignore[arg-type]
    return network, network.score(features.rows(corpus.texts[200:])), make_truth_table(labels[200:], 100, 6)


SHAPES = [
    {"dimensions": 30, "terms": 10},
    {"dimensions": 30, "terms": 0},
    {"dimensions": 0, "terms": 10, "hidden": 2},
    {"dimensions": 30, "terms": 10, "hidden": 0},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_learns_a_separable_collection_from_any_kind_of_input(shape: dict[str, int]) -> None:
    network, scores, truth = learned(**shape)
    assert scores.dtype == np.float32
    assert pooled_break_even(scores.astype(np.float64), truth) > 0.9
    assert network.size > 0
    assert 0 < network.features_kept <= 100


def test_the_same_seed_gives_the_same_bits_and_another_seed_others() -> None:
    first, again, other = (learned(dimensions=20, terms=5, seed=seed)[1] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_weights_of_words_worked_by_hand() -> None:
    # Word 0 is in both documents and tells nothing; words 1 and 2 are in one each.
    rows = dense_rows([[1, 4, 0], [1, 0, 1]])
    inverse = _compute_idf(rows)
    assert inverse == pytest.approx([0, np.log(2), np.log(2)])
    three = dense_rows([[4, 1, 0], [0, 0, 1]])
    weighted = _weight_documents(three, np.array([1, 1, 1], dtype=np.float32)).toarray()
    assert weighted == pytest.approx(np.array([[2 / 5**0.5, 1 / 5**0.5, 0], [0, 0, 1]]))


def test_relevancy_worked_by_hand() -> None:
    # Word 0: in all of 2 documents inside and in none of 2 outside; word 1: in half of both.
    rows = dense_rows([[1, 1], [1, 0], [0, 1], [0, 0]])
    relevancy = _compute_relevancy(rows, np.array([True, True, False, False]))
    assert relevancy == pytest.approx([np.log((1 + 1 / 6) / (1 / 6)), 0])


def test_latent_dimensions_are_the_singular_vectors() -> None:
    draw = np.random.default_rng(0)
    matrix = _weight_documents(
        dense_rows((draw.random((30, 12)) < 0.4).astype(int).tolist()), np.ones(12, dtype=np.float32)
    )
    found = _find_latent(matrix, 3, seed=0).axes
    true = np.linalg.svd(matrix.toarray())[2][:3]
    assert np.abs((found * true).sum(axis=1)) == pytest.approx([1, 1, 1], abs=1e-3)


def test_a_network_without_hidden_units_is_a_weighted_sum() -> None:
    rows = dense_rows([[1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1]])
    network = NeuralNetwork(dimensions=0, terms=2, hidden=0, decay=0.1)
    network = network.fit(rows, [[0], [], [0], []], n_categories=1)
    (own,) = network.networks_
    inputs = _weight_documents(rows, network.inverse_frequencies_).toarray()[:, own.terms] / own.spread
    assert len(own.weights) == 1
    assert network.score(rows)[:, 0] == pytest.approx((inputs @ own.weights[0] + own.biases[0])[:, 0])


def test_empty_documents_and_empty_or_full_categories_have_finite_scores() -> None:
    rows = dense_rows([[1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1]])
    network = NeuralNetwork(dimensions=2, terms=1).fit(rows, [[0, 2], [2], [2], [0, 2]], n_categories=3)
    scores = network.score(rows)
    assert np.isfinite(scores).all()
    assert scores[:, 1].tolist() == pytest.approx([np.log(1 / 5)] * 4)
    assert scores[:, 2].tolist() == pytest.approx([np.log(5)] * 4)


def test_documents_that_are_all_equal_or_empty_can_be_learned() -> None:
    for counts in ([[1, 1], [1, 1], [1, 1]], [[0, 0], [0, 0], [0, 0]], [[1, 2]]):
        rows = dense_rows(counts)
        network = NeuralNetwork().fit(rows, [[0], *[[]] * (len(counts) - 1)], n_categories=1)
        assert np.isfinite(network.score(rows)).all()


def test_faulty_calls_are_refused() -> None:
    rows = dense_rows([[1, 0], [0, 1]])
    for faulty in ({"dimensions": -1}, {"terms": 0.5}, {"hidden": -1}, {"decay": -1.0}, {"steps": 0}, {"seed": -1}):
        with pytest.raises(ParameterError, match=r"invalid .*allowed: "):
            NeuralNetwork(**faulty)
    with pytest.raises(NotFittedError):
        NeuralNetwork().score(rows)
    with pytest.raises(RowsError, match="3 features"):
        NeuralNetwork().fit(rows, [[0], []], n_categories=1).score(dense_rows([[1, 0, 0]]))
